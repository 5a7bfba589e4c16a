// The plan of a program: which nodes run, in which order, and where every tensor is placed. Made
// once from a graph; read by backends.
//
// Temporaries with disjoint lifetimes share memory. Views are part of their root. A tensor that is
// only an input of a leading-axis concatenation is produced in its place there, and the result of
// an elementwise node overwrites an operand that is dead afterwards: neither copies. Results of
// nodes are 16-byte aligned; views begin anywhere. A tensor that is only stored is produced in its
// destination, if nothing else in the program touches that memory.
//
// A node of a side stream may run at any time from a little before the first of its neighbours
// there until another stream needs it or it should be done (finish_by). Its memory stays allocated
// through that window; otherwise the backend has to wait for it.
//
// A group of neighbouring steps runs as one kernel: what one of them needs stays alive through all.
//
// The result of a lazy node is never materialised: its readers read the node's inputs instead,
// which stay alive until then.
//
// A temporary takes the memory of its formats: float32, bf16, or both. Those in both come first in
// the temporary memory, followed by all their bf16 copies; those in one format share the rest. Its
// place says where its numbers lie in each format. Places are bytes of a region: backends make
// addresses from them.
#ifndef WK_TENSOR_PLAN_H
#define WK_TENSOR_PLAN_H

#include "tensor/backend.h"
#include "tensor/node.h"

#include <stdint.h>

/// Which memory a tensor lies in.
typedef enum wk_region {
    WK_REGION_NONE,      // not part of the program
    WK_REGION_TEMPORARY, // planned, shared over time
    WK_REGION_OWNED,     // the program's own: inputs, constants, unbound persistent tensors
    WK_REGION_BOUND,     // in the buffer the tensor is bound to
} wk_region;

/// A tensor's placement, in bytes from the beginning of its region (or its bound buffer).
typedef struct wk_place {
    wk_region region;
    size_t offset; // of its own type; WK_NOWHERE for a temporary in bf16 alone
    size_t bf16;   // of its bf16 numbers; WK_NOWHERE where there is no room for them
    int of;        // the persistent tensor in whose place a temporary is made, or 0
} wk_place;
#define WK_NOWHERE SIZE_MAX

/// Formats of a temporary.
enum {
    WK_FORMAT_F32 = 1,         // float32, or what its own type is
    WK_FORMAT_BF16 = 2,        // bf16, for matrix products
    WK_FORMAT_PADDED_BF16 = 4, // instead of floats, bf16 rows padded to whole 16 bytes
};

/// bf16 numbers in 16 bytes: rows of whole vectors are multiples of it.
enum { WK_ROW_UNIT = 8 };

/// Where an input of a concatenation is produced in place.
typedef struct wk_join {
    int into;  // tensor id of the result, 0 for none
    size_t at; // byte of the result
} wk_join;

/// Steps begin ... end, both included.
typedef struct wk_step_range {
    int begin, end;
} wk_step_range;

/// Steps that run as one kernel.
typedef struct wk_group {
    int begin, end; // both included
    void *what;     // what the backend knows of it: one block of memory, freed with the plan
} wk_group;

enum { WK_STREAMS_MAX = 4 }; // stream 0 and three side streams

struct wk_plan {
    const wk_graph *graph;
    int *nodes; // those that run, in order
    size_t node_count;
    int *streams;              // by step; all 0 unless the backend chooses others before placement
    int *finish_by;            // by step of a side stream: the last step that it should overlap
    WK_ARRAY(wk_group) groups; // in order; chosen by the backend before placement
    bool *lazy;                // by node of the graph; chosen by the backend too
    wk_join *joins;            // by root: where it is produced; set before formats are chosen
    unsigned char *formats;    // by root: WK_FORMAT_...; chosen by the backend, else float32
    wk_place *places;          // by tensor id
    size_t copied_size;        // bytes at the beginning of the temporaries that have copies
    size_t temporary_size, owned_size, live_peak, block_count;
    wk_priority priority;
    char slow_path[320];          // why the backend cannot run this at full speed; may be empty
    wk_buffer *temporary, *owned; // created by the program before the backend compiles the plan
};

/// The node that runs at a step.
static inline const wk_node *wk_plan_node(const wk_plan *plan, size_t step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
}

/// Plans what the graph's outputs and writing nodes need. The backend, which may be NULL, chooses
/// the groups, streams and lazy nodes.
wk_status wk_plan_create(const wk_graph *g, const wk_backend *backend, wk_plan **out,
                         wk_error *err);
/// NULL is allowed; the buffers are not the plan's.
void wk_plan_destroy(wk_plan *plan);

/// The buffer that a tensor lies in; NULL for one outside the program.
wk_buffer *wk_plan_buffer(const wk_plan *plan, int tensor);
/// Where a tensor is in its own type; NULL for no tensor.
void *wk_plan_address(const wk_plan *plan, int tensor);

/// Whether a step is part of a group.
bool wk_plan_is_grouped(const wk_plan *plan, int step);

/// Whether two plans run the same ops on the same shapes in the same places of their buffers. The
/// small numbers of the nodes are not compared.
bool wk_plan_is_congruent(const wk_plan *a, const wk_plan *b);

/// Bytes of a tensor in padded bf16 rows.
size_t wk_plan_padded_size(wk_shape shape);

/// Whether a node concatenates its inputs along the leading axis, where they may be produced in
/// place.
bool wk_plan_joins(const wk_graph *g, const wk_node *node);
/// Whether input i of such a node does.
bool wk_plan_is_joined(const wk_plan *plan, const wk_node *node, int i);

/// Memory that is needed from step `begin` to step `end`, both included.
typedef struct wk_block {
    size_t size; // bytes, a multiple of 64
    int begin, end;
    size_t offset; // the answer
} wk_block;

/// Gives every block an offset such that blocks needed at the same time do not overlap, and the
/// total size. `live_peak` receives the maximum sum of sizes needed at one step, a lower bound of
/// any placement. False when memory ran out.
bool wk_place_blocks(wk_block *blocks, size_t count, size_t *total, size_t *live_peak);

/// When the steps may run: in sequence, except those of side streams, which may run earlier or
/// later than their place in the list as far as dependencies allow. Fills windows (one for every
/// step): the steps of stream 0 that it may overlap. `spans` says which steps run as one with it.
/// False when memory ran out.
bool wk_plan_windows(const wk_plan *plan, const wk_step_range *spans, wk_step_range *windows);

/// A program: what program.c and trace.c share.
struct wk_program {
    wk_backend *backend;
    wk_plan *plan;
    wk_executable *executable;
    wk_buffer *temporary; // its own, or NULL where it is borrowed
    double *seconds;      // by step of the plan, summed over traced runs; NULL while not tracing
    size_t traced_runs;
};

#endif
