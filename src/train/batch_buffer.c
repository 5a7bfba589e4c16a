#include "train/batch_buffer.h"

#include "base/observation.h"

#include <string.h>

wk_status wk_batch_buffer_create(const wk_run_config *config, const wk_domain *domain,
                                 wk_backend *backend, wk_batch_buffer *s, wk_error *err)
{
    size_t rows = (size_t)config->batch * (size_t)config->length;
    s->batch = config->batch;
    s->length = config->length;
    s->n_tasks = (size_t)domain->n_tasks;
    s->backend = backend;
    size_t pixels = wk_observation_image_bytes(domain->observation);
    if (pixels > 0) WK_TRY(wk_pinned_create(backend, rows * pixels, (void **)&s->images, err));
    s->first = wk_arena_alloc(&s->arena, rows);
    s->ends = wk_arena_alloc(&s->arena, rows);
    s->actions = wk_arena_alloc(&s->arena, rows * (size_t)domain->action_size * sizeof *s->actions);
    s->vectors =
        wk_arena_alloc(&s->arena, rows * (size_t)domain->observation.vector * sizeof *s->vectors);
    s->rewards = wk_arena_alloc(&s->arena, rows * s->n_tasks * sizeof *s->rewards);
    s->theta_indices = wk_arena_alloc(&s->arena, (size_t)s->batch * sizeof *s->theta_indices);
    s->theta =
        wk_arena_alloc(&s->arena, (size_t)s->batch * (size_t)domain->n_params * sizeof *s->theta);
    s->episodes = wk_arena_alloc(&s->arena, (size_t)s->batch * sizeof *s->episodes);
    s->starts = wk_arena_alloc(&s->arena, (size_t)s->batch * sizeof *s->starts);
    s->frames = wk_arena_alloc(&s->arena, rows * sizeof *s->frames);
    bool all = s->first && s->ends && s->actions && s->vectors && s->rewards && s->theta_indices &&
               s->theta && s->episodes && s->starts && s->frames;
    return all ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for a batch of %zu frames", rows);
}

void wk_batch_buffer_free(wk_batch_buffer *s)
{
    wk_pinned_destroy(s->backend, s->images);
    wk_arena_reset(&s->arena);
    *s = (wk_batch_buffer){0};
}

// Widens rows of the replay's own tasks to those of the domain, with the rewards that were added
// later. From the last row on: rows move back.
static void add_rewards(wk_batch_buffer *s, size_t stored)
{
    for (size_t i = (size_t)s->batch * (size_t)s->length; i-- > 0;) {
        size_t t = i / (size_t)s->batch, b = i % (size_t)s->batch;
        float *row = s->rewards + i * s->n_tasks;
        memmove(row, s->rewards + i * stored, stored * sizeof *row);
        for (size_t k = stored; k < s->n_tasks; k++) {
            uint64_t rows;
            const wk_reward_table *table = s->added[k - stored];
            const float *found = table ? wk_reward_table_find(table, s->episodes[b], &rows) : NULL;
            row[k] = found ? found[s->starts[b] + t] : 0;
        }
    }
}

wk_status wk_batch_buffer_draw(wk_batch_buffer *s, wk_replay *replay,
                               const wk_device_frames *device_frames, uint64_t seed,
                               uint64_t counter, wk_error *err)
{
    wk_replay_batch out = {.images = device_frames ? NULL : s->images,
                           .vectors = s->vectors,
                           .actions = s->actions,
                           .rewards = s->rewards,
                           .first = s->first,
                           .flags = s->ends,
                           .episodes = s->episodes,
                           .starts = s->starts,
                           .theta_indices = s->theta_indices,
                           .theta = s->theta};
    WK_TRY(wk_replay_sample(replay, seed, counter, s->batch, s->length, &out, err));
    for (size_t i = 0; i < (size_t)s->batch * (size_t)s->length; i++)
        s->ends[i] &= WK_IS_TERMINAL;
    size_t stored = (size_t)wk_replay_settings(replay)->n_tasks;
    if (stored < s->n_tasks) add_rewards(s, stored);
    s->on_device = device_frames != NULL;
    if (s->on_device)
        wk_device_frames_locate(device_frames, s->episodes, s->starts, s->batch, s->length,
                                s->frames);
    return WK_OK;
}

void wk_batch_buffer_choose_tasks(wk_batch_buffer *s, const int *tasks, int count)
{
    size_t rows = (size_t)s->batch * (size_t)s->length, chosen = (size_t)count;
    for (size_t i = 0; i < rows; i++) {
        float row[WK_TASKS_MAX];
        memcpy(row, s->rewards + i * s->n_tasks, s->n_tasks * sizeof *row);
        for (size_t k = 0; k < chosen; k++)
            s->rewards[i * chosen + k] = row[tasks[k]];
    }
}

wk_learner_batch wk_batch_buffer_view(const wk_batch_buffer *s)
{
    return (wk_learner_batch){.images = s->images,
                              .vectors = s->vectors,
                              .actions = s->actions,
                              .first = s->first,
                              .rewards = s->rewards,
                              .frames = s->on_device ? s->frames : NULL,
                              .ends = s->ends};
}
