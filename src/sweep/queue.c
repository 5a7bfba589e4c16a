#include "sweep/queue.h"

#include <stdlib.h>

wk_status wk_sweep_queue_open(const wk_sweep_plan *plan, const char *directory, int attempts,
                              wk_sweep_queue *out, wk_error *err)
{
    *out = (wk_sweep_queue){plan, directory, attempts > 0 ? attempts : WK_SWEEP_ATTEMPTS,
                            calloc(plan->tasks.count, sizeof *out->entries)};
    if (!out->entries) return wk_fail(err, WK_E_MEMORY, "no memory for the states of the runs");
    for (size_t i = 0; i < plan->tasks.count; i++)
        WK_TRY(wk_sweep_state_read(plan, directory, (int)i, attempts, &out->entries[i].state, err));
    return WK_OK;
}

void wk_sweep_queue_close(wk_sweep_queue *queue)
{
    free(queue->entries);
    *queue = (wk_sweep_queue){0};
}

static bool is_ready(const wk_sweep_queue *queue, size_t task)
{
    const wk_sweep_entry *entry = &queue->entries[task];
    wk_sweep_task_phase phase = entry->state.phase;
    return !queue->plan->tasks.items[task].left_out && !entry->started &&
           entry->stalls < queue->attempts &&
           (phase == WK_SWEEP_WAITING || phase == WK_SWEEP_STOPPED || phase == WK_SWEEP_TRAINED);
}

int wk_sweep_queue_next(wk_sweep_queue *queue, int max, int *tasks)
{
    int count = 0;
    for (size_t i = 0; i < queue->plan->tasks.count && count < max; i++) {
        wk_sweep_entry *entry = &queue->entries[i];
        if (!is_ready(queue, i)) continue;
        int shape = queue->plan->tasks.items[i].shape;
        bool fits = count == 0 ||
                    (queue->plan->tasks.items[tasks[0]].shape == shape && !entry->state.trained);
        if (!fits) continue;
        entry->started = true;
        entry->progress = wk_sweep_progress(&entry->state);
        tasks[count++] = (int)i;
        if (entry->state.trained) break;
    }
    return count;
}

wk_status wk_sweep_queue_ended(wk_sweep_queue *queue, int task, wk_error *err)
{
    wk_sweep_entry *entry = &queue->entries[task];
    entry->started = false;
    WK_TRY(wk_sweep_state_read(queue->plan, queue->directory, task, queue->attempts, &entry->state,
                               err));
    bool further = wk_sweep_progress(&entry->state) > entry->progress;
    entry->stalls = further ? 0 : entry->stalls + 1;
    return WK_OK;
}

wk_status wk_sweep_queue_refresh(wk_sweep_queue *queue, int *others, wk_error *err)
{
    *others = 0;
    for (size_t i = 0; i < queue->plan->tasks.count; i++) {
        wk_sweep_entry *entry = &queue->entries[i];
        wk_sweep_task_phase phase = entry->state.phase;
        if (queue->plan->tasks.items[i].left_out || entry->started) continue;
        if (phase != WK_SWEEP_RUNNING && phase != WK_SWEEP_FAILED) continue;
        WK_TRY(wk_sweep_state_read(queue->plan, queue->directory, (int)i, queue->attempts,
                                   &entry->state, err));
        if (phase == WK_SWEEP_FAILED && entry->state.phase != phase) entry->stalls = 0;
        *others += entry->state.phase == WK_SWEEP_RUNNING;
    }
    return WK_OK;
}

wk_sweep_counts wk_sweep_count(const wk_sweep_plan *plan, const wk_sweep_entry *entries)
{
    wk_sweep_counts counts = {0};
    for (size_t i = 0; i < plan->tasks.count; i++) {
        const wk_sweep_state *state = &entries[i].state;
        if (plan->tasks.items[i].left_out) continue;
        counts.phases[entries[i].started ? WK_SWEEP_RUNNING : state->phase]++;
        uint64_t steps = plan->tasks.items[i].steps;
        counts.total += steps;
        counts.steps += state->steps < steps ? state->steps : steps;
    }
    return counts;
}
