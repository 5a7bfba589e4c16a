// Which tasks of a sweep are started next, and what becomes of those that ended: the part of a
// launcher that has no processes, so that tests drive it without any.
#ifndef WK_SWEEP_QUEUE_H
#define WK_SWEEP_QUEUE_H

#include "sweep/state.h"

/// A task as the queue sees it.
typedef struct wk_sweep_entry {
    wk_sweep_state state;
    bool started;      // by this queue, and not ended
    int stalls;        // times in a row that it ended without having got further; those that
                       // failed are counted in its folder too, where that can be written
    uint64_t progress; // when it was last started
} wk_sweep_entry;

typedef struct wk_sweep_queue {
    const wk_sweep_plan *plan;
    const char *directory;
    int attempts;
    wk_sweep_entry *entries; // [plan->tasks.count]
} wk_sweep_queue;

/// Reads all states. Free it also after a failure.
wk_status wk_sweep_queue_open(const wk_sweep_plan *plan, const char *directory, int attempts,
                              wk_sweep_queue *out, wk_error *err);
void wk_sweep_queue_close(wk_sweep_queue *queue);

/// Chooses up to `max` selected tasks of one shape that are to be trained, or one whose training is
/// done, and notes that they are started; returns how many, 0: none is left.
int wk_sweep_queue_next(wk_sweep_queue *queue, int max, int *tasks);

/// Notes that a started task has ended; reads its state.
wk_status wk_sweep_queue_ended(wk_sweep_queue *queue, int task, wk_error *err);

/// Reads anew the tasks that others may have changed: those that other processes work on, and
/// those that have failed, which 'waker sweep retry' frees. Returns how many others still work on.
wk_status wk_sweep_queue_refresh(wk_sweep_queue *queue, int *others, wk_error *err);

/// How many selected tasks are in each phase; those that are started count as running.
typedef struct wk_sweep_counts {
    int phases[WK_SWEEP_PHASES];
    uint64_t steps, total; // done and to do, in all
} wk_sweep_counts;
wk_sweep_counts wk_sweep_count(const wk_sweep_plan *plan, const wk_sweep_entry *entries);

#endif
