// What the replay buffer costs with frames of a real domain: bytes and packing time per frame, and
// the time to sample 16 sequences of 50 from a large buffer, on one core.
//
// usage: bench_replay [DOMAIN [EPISODES [STEPS]]]     (terrain-walker, 8, 1000000)
//
// Half of the episodes move by uniform random actions, half by smooth ones, which show more motion.
// The buffer is filled to STEPS by repeating their packed blocks.
#include "base/machine.h"
#include "base/random.h"
#include "replay/store.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 16, T = 50, BATCHES = 100 };

static void must(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_replay: %s\n", err->message);
    exit(1);
}

static void *memory(size_t size)
{
    void *bytes = malloc(size);
    if (bytes) return bytes;
    fprintf(stderr, "bench_replay: no memory\n");
    exit(1);
}

// Blocks of the collected episodes, as the store recorded them.
typedef struct tape {
    WK_ARRAY(wk_rows_record) records;
} tape;

static wk_status ignore_begin(void *context, const wk_replay_episode *episode, wk_error *err)
{
    (void)context, (void)episode, (void)err;
    return WK_OK;
}

static wk_status ignore_evict(void *context, uint64_t episode, wk_error *err)
{
    (void)context, (void)episode, (void)err;
    return WK_OK;
}

static wk_status keep_rows(void *context, const wk_rows_record *record, wk_error *err)
{
    tape *all = context;
    wk_rows_record copy = *record;
    void *block = memory(record->size);
    memcpy(block, record->block, record->size);
    copy.block = block;
    if (!wk_array_push(&all->records, copy)) return wk_fail(err, WK_E_MEMORY, "no memory");
    return WK_OK;
}

static void choose_action(float *action, int size, uint64_t episode, int t, wk_rng *rng)
{
    for (int i = 0; i < size; i++) {
        double speed = 0.1 + 0.05 * (double)(episode % 7), phase = 2.4 * i;
        action[i] = episode % 2 ? (float)sin(speed * t + phase) : (float)wk_rng_uniform(rng, -1, 1);
    }
}

// One episode into slot 0; returns the seconds that appending took.
static double collect(wk_replay *replay, wk_env *env, const wk_space *space, uint64_t episode)
{
    static uint8_t image[WK_IMAGE_BYTES];
    float rewards[WK_TASKS_MAX], completion[WK_TASKS_MAX], action[WK_ACTION_MAX];
    double theta[WK_PARAMS_MAX], seconds = 0;
    wk_error err = {0};
    const wk_domain *domain = wk_env_domain(env);
    wk_replay_row row = {
        .image = image, .rewards = rewards, .completion = completion, .theta = theta};
    wk_frame frame = {
        .image = image, .rewards = rewards, .completion = completion, .flags = &row.flags};
    wk_rng rng = wk_rng_stream(1, "bench", episode);
    int64_t index = (int64_t)wk_space_sample(space, 1, episode, theta);
    must(wk_env_reset(env, theta, (size_t)domain->n_params, 1, episode, &frame, &err), &err);
    row.theta_index = index;
    for (int t = 0;; t++) {
        double start = wk_clock_thread_seconds();
        must(wk_replay_append(replay, &row, 1, &err), &err);
        seconds += wk_clock_thread_seconds() - start;
        if (row.flags & WK_IS_LAST) return seconds;
        choose_action(action, domain->action_size, episode, t, &rng);
        must(wk_env_step(env, action, &frame, &err), &err);
        row.action = action;
    }
}

static wk_replay *make(const wk_domain *domain, uint64_t steps)
{
    wk_error err = {0};
    wk_replay *replay;
    const wk_replay_config config = {
        .capacity = steps,
        .slots = 8,
        .action_size = domain->action_size,
        .n_tasks = domain->n_tasks,
        .n_params = domain->n_params,
        .frame_bytes = 4000, // room for any domain; the figures count what is used
    };
    must(wk_replay_create(&config, &replay, &err), &err);
    return replay;
}

static void bench_frames(const wk_domain *domain, int episodes, tape *all)
{
    wk_error err = {0};
    wk_env *env;
    wk_space *space;
    wk_replay *replay = make(domain, 1000000);
    wk_journal journal = {all, ignore_begin, keep_rows, ignore_evict};
    must(wk_env_create(domain, NULL, &env, &err), &err);
    must(wk_space_create(domain, false, &space, &err), &err);
    replay->journal = &journal;
    double seconds = 0;
    for (int i = 0; i < episodes; i++)
        seconds += collect(replay, env, space, (uint64_t)i);
    wk_replay_stats stats = wk_replay_get_stats(replay);
    double rows = (double)stats.rows;
    printf("%s: %d episodes, %.0f rows\n", domain->name, episodes, rows);
    printf("  bytes per frame          %8.0f of %d\n", (double)stats.frame_bytes / rows,
           WK_IMAGE_BYTES);
    printf("  bytes per row in all     %8.0f\n", (double)stats.bytes_used / rows);
    printf("  packing per frame        %8.1f us\n", seconds / rows * 1e6);
    printf("  3,000,000 steps          %8.2f GB\n", (double)stats.bytes_used / rows * 3e6 / 1e9);
    wk_replay_destroy(replay);
    wk_space_destroy(space);
    wk_env_destroy(env);
}

// Repeats the recorded episodes until the buffer holds `steps`.
static wk_replay *fill(const wk_domain *domain, const tape *all, uint64_t steps)
{
    wk_error err = {0};
    wk_replay *replay = make(domain, steps + 10000);
    double theta[WK_PARAMS_MAX] = {0};
    bool running = false;
    for (size_t i = 0; wk_replay_get_stats(replay).steps < steps || running; i++) {
        wk_rows_record record = all->records.items[i % all->records.count];
        wk_replay_episode episode = {replay->next_id, 0, 0, 0, theta};
        if (!running) must(wk_replay_restore_begin(replay, &episode, &err), &err);
        record.episode = replay->next_id - 1;
        must(wk_replay_restore_rows(replay, &record, &err), &err);
        running = !record.ended;
    }
    return replay;
}

static void bench_sampling(const wk_domain *domain, const tape *all, uint64_t steps)
{
    wk_error err = {0};
    wk_replay *replay = fill(domain, all, steps);
    size_t A = (size_t)domain->action_size, K = (size_t)domain->n_tasks;
    wk_replay_batch out = {.images = memory((size_t)B * T * WK_IMAGE_BYTES),
                           .actions = memory((B * T * A + 1) * sizeof(float)),
                           .rewards = memory((B * T * K + 1) * sizeof(float)),
                           .first = memory(B * T)};
    double sum = 0, best = INFINITY;
    for (uint64_t i = 0; i < BATCHES + 5; i++) {
        double start = wk_clock_thread_seconds();
        must(wk_replay_sample(replay, 1, i, B, T, &out, &err), &err);
        double seconds = wk_clock_thread_seconds() - start;
        if (i < 5) continue;
        sum += seconds;
        if (seconds < best) best = seconds;
    }
    wk_replay_stats stats = wk_replay_get_stats(replay);
    printf("  buffer                   %8.2f GB for %llu steps\n", (double)stats.bytes_used / 1e9,
           (unsigned long long)stats.steps);
    printf("  sampling %d x %d         %8.2f ms on average, %.2f ms at best\n", B, T,
           sum / BATCHES * 1e3, best * 1e3);
    free(out.images);
    free(out.actions);
    free(out.rewards);
    free(out.first);
    wk_replay_destroy(replay);
}

int main(int argc, char **argv)
{
    wk_error err = {0};
    const wk_domain *domain;
    tape all = {0};
    must(wk_domain_find(argc > 1 ? argv[1] : "terrain-walker", &domain, &err), &err);
    bench_frames(domain, argc > 2 ? atoi(argv[2]) : 8, &all);
    bench_sampling(domain, &all, argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000);
    for (size_t i = 0; i < all.records.count; i++)
        free((void *)all.records.items[i].block);
    wk_array_free(&all.records);
    return 0;
}
