// What a sweep takes, before it begins: from the time and memory of one update of each shape.
#include "sweep/sweep.h"

#include "config/parts.h"
#include "run/world.h"
#include <math.h>
#include <string.h>

// Bytes of the replay buffer in memory: the plan of what a run of this length fills.
static double replay_bytes(const wk_run_config *config)
{
    wk_run_world world;
    if (*config->plugin || wk_run_world_open(config, NULL, NULL, &world, NULL) != WK_OK)
        return (double)config->replay_frame_bytes * (double)config->steps;
    wk_replay_config replay = wk_run_config_replay(config, world.domain);
    if (replay.capacity > (uint64_t)config->steps) replay.capacity = (uint64_t)config->steps;
    return (double)wk_replay_plan(&replay);
}

wk_sweep_cost wk_sweep_cost_of(const wk_sweep_plan *plan, const wk_sweep_entry *entries, int shape,
                               const wk_sweep_rate *rate)
{
    const wk_sweep_shape *s = &plan->shapes.items[shape];
    wk_sweep_cost cost = {.runs = s->count};
    for (size_t i = 0; i < plan->tasks.count; i++) {
        const wk_sweep_task *task = &plan->tasks.items[i];
        const wk_sweep_state *state = &entries[i].state;
        if (task->left_out || task->shape != shape || state->trained) continue;
        uint64_t left = state->steps < task->steps ? task->steps - state->steps : 0;
        cost.left++;
        cost.steps += left;
        cost.updates += (uint64_t)((double)task->updates * (double)left / (double)task->steps);
    }
    cost.hours = (double)cost.updates * rate->seconds / 3600;
    if (cost.updates == 0) cost.hours = 0;
    cost.memory = replay_bytes(&s->config) + (double)rate->learner_bytes;
    return cost;
}

void wk_sweep_cost_add(wk_sweep_cost *sum, const wk_sweep_cost *cost)
{
    sum->runs += cost->runs;
    sum->left += cost->left;
    sum->steps += cost->steps;
    sum->updates += cost->updates;
    sum->hours += cost->hours;
    sum->memory = fmax(sum->memory, cost->memory);
}

bool wk_sweep_same_rate(const wk_run_config *a, const wk_run_config *b)
{
    static const char *const others[] = {"seed",        "steps",       "domain", "prefill",
                                         "train_every", "curriculum.", "env.",   "replay."};
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        bool other = wk_run_fields[i].role == WK_RUN_FREE || wk_run_fields[i].kind == WK_RUN_NUMBER;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            other |= strncmp(wk_run_keys[i], others[k], strlen(others[k])) == 0;
        if (!other && !wk_run_config_same(a, b, i)) return false;
    }
    return wk_run_config_same(a, b, WK_RUN_device_INDEX);
}
