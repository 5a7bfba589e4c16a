// A program: a graph without its dead nodes, every tensor placed in memory, compiled by a backend.
// Running it allocates nothing. The graph, the backend and the buffers of persistent tensors are
// borrowed and must outlive the program; the graph must not be extended while a program of it
// lives.
#ifndef WK_TENSOR_PROGRAM_H
#define WK_TENSOR_PROGRAM_H

#include "tensor/backend.h"
#include "tensor/graph.h"

typedef struct wk_program wk_program;

/// Plans and compiles what the outputs and the writing nodes of the graph need. Fails when memory
/// ran out here or while the graph was recorded.
wk_status wk_program_create(const wk_graph *g, wk_backend *backend, wk_program **out,
                            wk_error *err);
/// wk_program_create in two parts, for programs that never run at the same time and share the
/// memory of their temporaries: planning says how much that is (wk_program_get_stats), compiling
/// places them in a buffer at least as large, which is borrowed, or in one of the program's own for
/// NULL. A run then overwrites what the others left there, outputs too.
wk_status wk_program_plan(const wk_graph *g, wk_backend *backend, wk_program **out, wk_error *err);
wk_status wk_program_compile(wk_program *program, wk_buffer *temporary, wk_error *err);
/// Compiles the programs of a population: `count` planned programs whose graphs were recorded alike
/// and may differ in the keys of their random streams. Each has its own memory; temporaries[r] is
/// as for wk_program_compile. Running or enqueueing programs[0], the leader, then runs them all,
/// as one wherever the device can; the others cannot be run. The backends are one backend for all,
/// or those of one population (wk_backend_cuda_create_population). Destroy the leader first.
wk_status wk_program_compile_population(wk_program *const *programs, wk_buffer *const *temporaries,
                                        int count, wk_error *err);
/// NULL is allowed.
void wk_program_destroy(wk_program *program);

/// Runs every node once and returns when the results are there.
wk_status wk_program_run(wk_program *program, wk_error *err);

/// Enqueues one run. Until it is done the program's tensors and the buffers they are bound to may
/// not be used outside the queue. While the program is traced the run is done on return.
wk_status wk_program_enqueue(wk_program *program, wk_queue *queue, wk_error *err);

/// Whose nodes are scheduled first among programs in flight at the same time. High is for short
/// programs that the host waits for. For a planned program that is not yet compiled.
void wk_program_set_priority(wk_program *program, wk_priority priority);

/// Where an input, output or persistent tensor lies, for copies in a queue; the buffer is NULL for
/// one that no node needs.
typedef struct wk_location {
    wk_buffer *buffer;
    size_t offset, size; // bytes
} wk_location;
wk_location wk_program_locate(const wk_program *program, wk_tensor x);

/// Fills an input or persistent tensor; `size` is its exact size in bytes. An input that no node
/// needs is accepted and ignored.
wk_status wk_program_upload(wk_program *program, wk_tensor x, const void *bytes, size_t size,
                            wk_error *err);
/// Copies out an output, input or persistent tensor; `size` is its exact size in bytes.
wk_status wk_program_download(const wk_program *program, wk_tensor x, void *bytes, size_t size,
                              wk_error *err);

/// Statistics of a program.
typedef struct wk_program_stats {
    size_t nodes;       // that run, of
    size_t recorded;    // in the graph
    size_t planned;     // bytes of the planned temporaries (the peak), in their formats
    size_t live_peak;   // bytes of the largest set of temporaries live at once: a lower bound
    size_t owned;       // bytes of inputs, constants and program-owned persistent tensors
    size_t temporaries; // placed blocks
} wk_program_stats;
wk_program_stats wk_program_get_stats(const wk_program *program);
/// Why the backend cannot run it as fast as it would other sizes, for users; "" where it can.
const char *wk_program_slow_path(const wk_program *program);

/// Measures every node from now on, or no longer; starting clears what was measured.
wk_status wk_program_trace(wk_program *program, bool on, wk_error *err);
/// Mean time a run of one section since tracing began.
typedef struct wk_section_time {
    const char *name; // "" for nodes recorded before the first section; belongs to the graph
    size_t nodes;     // of it that run
    double seconds;
} wk_section_time;
/// Number of sections of the graph, and the time of the i-th; 0 while not tracing.
size_t wk_program_section_count(const wk_program *program);
wk_section_time wk_program_section_time(const wk_program *program, size_t i);
/// Time by op and by section since tracing began, as a table.
void wk_program_trace_table(const wk_program *program, wk_text *out);
/// Mean time of each node since tracing began as Chrome trace events (chrome://tracing, Perfetto).
void wk_program_trace_json(const wk_program *program, wk_text *out);

/// What the environment variable WAKER_TRACE asks for: NULL for nothing, "1" for a table, else the
/// path of the trace file.
const char *wk_trace_request(void);

#endif
