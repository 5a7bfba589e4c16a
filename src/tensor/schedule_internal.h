// What the passes of wk_plan_schedule know of steps and chains. Steps are numbered in the recorded
// order throughout; only the last pass moves them.
//
//   cost.c              what every step costs, and what it must come after
//   schedule.c          which steps are on the critical path; chains of the others
//   schedule_places.c   idle time of stream 0, and memory, for each chain; its stream
//   schedule.c          the new order
#ifndef WK_TENSOR_SCHEDULE_INTERNAL_H
#define WK_TENSOR_SCHEDULE_INTERNAL_H

#include "tensor/cost.h"
#include "tensor/schedule.h"

/// A chain is not worth two waits between streams below this, in microseconds.
#define WK_WAITS_US 5.0
/// A chain may keep this part of the memory alive for this part of the run.
#define WK_LINGER 0.01

enum { WK_CHAIN_MAIN = -1, WK_CHAIN_DEFERRED = -2 }; // instead of a chain's index

typedef struct wk_step {
    wk_cost cost;
    double finish;   // microseconds until it is done, if nothing is short
    double tail;     // from its beginning to the end of the run
    double clock;    // when stream 0 reaches it
    double idle;     // of stream 0: microseconds of idle processors
    double used;     // as much of it as chains have got
    double taken;    // and as much as the chain that is being placed would get
    double live;     // bytes of temporaries
    int chain;       // index, WK_CHAIN_MAIN or WK_CHAIN_DEFERRED
    int after;       // the last step of stream 0 that it waits for, or -1
    int before;      // the first step of stream 0 that needs it, or the count
    int until;       // of a chain: the step of stream 0 with which it is expected to end
    int at;          // the position that it is moved after
    int rank;        // its place among those of one position
    bool deferrable; // only the optimiser or a store reads it, or nothing
    bool grouped;    // part of a group
    bool marked;     // goes back to stream 0
} wk_step;

/// Steps of one side stream, each after the one that it waited for longest.
typedef struct wk_chain {
    double time;      // of its steps
    int after;        // the step of stream 0 that the first of them waits for, or -1
    int before;       // the first step of stream 0 that needs one of them, or the count
    int begin, end;   // steps of stream 0 with which they are expected to begin and to end
    bool hoisted;     // they come before their place in the recorded order
    int memory_until; // the last step at which there is memory for them; the count: always
    int stream;       // 0: refused
} wk_chain;

typedef struct wk_scheduler {
    wk_plan *plan;
    int count;
    wk_dependencies needs;
    wk_step *step;  // count + 1
    double peak;    // bytes of temporaries at most
    int *last_read; // by tensor that stream 0 makes: the last step outside a chain that reads it
    int *last_use;  // by tensor: the last step that reads or makes it
    WK_ARRAY(wk_chain) chains;
    WK_ARRAY(int) order; // of chains
} wk_scheduler;

/// The steps that one must come after; `on` points to their numbers.
#define WK_EACH_NEED(on, s, i)                                                                     \
    for (const int *on = (s)->needs.steps.items + (s)->needs.begin[i];                             \
         on < (s)->needs.steps.items + (s)->needs.begin[(i) + 1]; on++)

static inline int wk_schedule_root(const wk_plan *plan, const wk_node *node, int input)
{
    return wk_info(plan->graph, wk_node_inputs(plan->graph, node)[input])->root;
}

/// Whether what stream 0 first needs at step `before` is needed at its end only, or never.
static inline bool wk_schedule_is_late(const wk_scheduler *s, int before)
{
    return s->step[s->count].clock - s->step[before].clock < 2 * WK_WAITS_US;
}

/// Finds for each step and chain its bounding steps on stream 0 (`after`, `before`), and when
/// stream 0 reaches each step (`clock`).
void wk_schedule_bounds(wk_scheduler *s);

/// Gives every chain a stream, or refuses it; false when memory ran out.
bool wk_schedule_place_chains(wk_scheduler *s);

#endif
