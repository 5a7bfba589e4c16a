// An evaluation compared with its parts: 100 episodes of terrain-walker under a task policy of the
// `small` preset, then the same physics and images alone (the recorded actions played again by the
// vector of environments on all threads), then the policy's inference alone (as many steps of as
// many wave members, on all threads). The ratio of the whole to the sum of the parts says what the
// evaluation adds; below 1 the overlap has filled gaps. Rounds are interleaved and the least time
// of each counts, because other programs run too; processor time, which they disturb less, stands
// next to it.
//
// usage: bench_eval [EPISODES] [STEPS] [ROUNDS] [BLOCK]
#include "base/machine.h"
#include "config/blocks.h"
#include "config/parts.h"
#include "eval/episodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAVE = WK_EVAL_WAVE_SIZE };

typedef struct bench {
    const wk_domain *domain;
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    int episodes, steps;
    float *actions; // [episodes,steps,A] as they were taken
} bench;

static void check(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_eval: %s\n", err->message);
    exit(1);
}

static void *room(size_t size)
{
    void *memory = calloc(1, size);
    if (memory) return memory;
    fprintf(stderr, "bench_eval: no memory\n");
    exit(1);
}

static float *action_at(const bench *b, int episode, int step)
{
    size_t row = (size_t)episode * (size_t)b->steps + (size_t)step;
    return b->actions + row * (size_t)b->domain->action_size;
}

static void open_learner(bench *b, const char *block)
{
    wk_error err = {0};
    wk_config_blocks *blocks;
    wk_merged_config *merged = room(sizeof *merged);
    wk_learner_config config;
    const char *names[] = {"terrain-walker", block};
    check(wk_config_blocks_create(&blocks, &err), &err);
    check(wk_config_blocks_add_embedded(blocks, &err), &err);
    check(wk_config_merge(blocks, names, 2, NULL, 0, merged, &err), &err);
    snprintf(merged->config.tasks, sizeof merged->config.tasks, "all");
    check(wk_domain_find("terrain-walker", &b->domain, &err), &err);
    check(wk_run_config_learner(&merged->config, b->domain, &config, &err), &err);
    check(wk_pool_create(0, &b->pool, &err), &err);
    check(wk_backend_cpu_create(b->pool, &b->backend, &err), &err);
    check(wk_learner_create(0, &config, b->backend, &b->learner, &err), &err);
    wk_config_blocks_destroy(blocks);
    free(merged);
}

static wk_status keep_action(void *context, const wk_eval_row *row, wk_error *err)
{
    const bench *b = context;
    (void)err;
    if (row->step > 0)
        memcpy(action_at(b, row->episode, row->step - 1), row->action,
               (size_t)b->domain->action_size * sizeof(float));
    return WK_OK;
}

// Seconds by the clock, and of processor time of all threads.
typedef struct spent {
    double wall, processor;
} spent;

static spent now(void)
{
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return (spent){wk_clock_seconds(), (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec};
}

static spent since(spent start)
{
    spent end = now();
    return (spent){end.wall - start.wall, end.processor - start.processor};
}

static spent time_whole(bench *b)
{
    wk_error err = {0};
    wk_eval_episode *episodes = room((size_t)b->episodes * sizeof *episodes);
    wk_eval_case dr = {WK_EVAL_DR, NULL, b->episodes};
    wk_eval_config config = {.domain = b->domain,
                             .task = 1,
                             .learner = b->learner,
                             .policy = 1,
                             .mode = WK_ACT_MODE,
                             .cases = &dr,
                             .n_cases = 1,
                             .steps = b->steps,
                             .on_row = keep_action,
                             .context = b};
    spent start = now();
    check(wk_evaluate(&config, episodes, &err), &err);
    spent seconds = since(start);
    free(episodes);
    return seconds;
}

// θ are drawn by another stream than the evaluation's, from the same distribution.
static void send_off(bench *b, wk_vec *vec, const wk_space *space, int first, int count)
{
    wk_error err = {0};
    double theta[WK_PARAMS_MAX];
    for (int i = 0; i < WAVE; i++) {
        if (i >= count) {
            wk_vec_plan_idle(vec, i);
            continue;
        }
        uint64_t episode = (uint64_t)(first + i);
        wk_space_sample(space, 0, episode, theta);
        check(wk_vec_plan_reset(vec, i, theta, (size_t)b->domain->n_params, 0, episode, &err),
              &err);
    }
}

static spent time_worlds(bench *b)
{
    wk_error err = {0};
    wk_vec *vec;
    wk_space *space;
    size_t width = (size_t)b->domain->action_size;
    float *actions = room(WAVE * width * sizeof *actions);
    spent start = now();
    check(wk_space_create(b->domain, false, &space, &err), &err);
    check(wk_vec_create(b->domain, NULL, WAVE, 0, &vec, &err), &err);
    for (int first = 0; first < b->episodes; first += WAVE) {
        int count = b->episodes - first < WAVE ? b->episodes - first : WAVE;
        send_off(b, vec, space, first, count);
        check(wk_vec_step(vec, actions, &err), &err);
        for (int t = 0; t < b->steps; t++) {
            for (int i = 0; i < WAVE; i++) {
                if (i >= count || (wk_vec_batch(vec)->flags[i] & WK_IS_LAST))
                    wk_vec_plan_idle(vec, i);
                else
                    memcpy(actions + (size_t)i * width, action_at(b, first + i, t),
                           width * sizeof *actions);
            }
            check(wk_vec_step(vec, actions, &err), &err);
        }
    }
    spent seconds = since(start);
    wk_vec_destroy(vec);
    wk_space_destroy(space);
    free(actions);
    return seconds;
}

static spent time_inference(bench *b)
{
    wk_error err = {0};
    wk_acting *acting;
    uint8_t *images = room((size_t)WAVE * WK_IMAGE_BYTES), first[WAVE] = {0};
    float *actions = room(WAVE * (size_t)b->domain->action_size * sizeof *actions);
    for (size_t i = 0; i < (size_t)WAVE * WK_IMAGE_BYTES; i++)
        images[i] = (uint8_t)(i * 2654435761u >> 24);
    wk_acting_rows rows = {
        .images = images, .previous = actions, .first = first, .actions = actions};
    spent start = now();
    check(wk_acting_create(b->learner, 1, WAVE, &acting, &err), &err);
    for (int i = 0; i < b->episodes; i += WAVE)
        for (int t = 0; t < b->steps; t++)
            check(wk_acting_step(acting, &rows, WK_ACT_MODE, &err), &err);
    spent seconds = since(start);
    wk_acting_destroy(acting);
    free(images);
    free(actions);
    return seconds;
}

static void keep_min(spent *min, spent one)
{
    if (min->wall == 0 || one.wall < min->wall) min->wall = one.wall;
    if (min->processor == 0 || one.processor < min->processor) min->processor = one.processor;
}

static void print(const char *what, spent s)
{
    printf("%-22s%8.3f s%12.3f s\n", what, s.wall, s.processor);
}

int main(int argc, char **argv)
{
    bench b = {.episodes = argc > 1 ? atoi(argv[1]) : 100, .steps = argc > 2 ? atoi(argv[2]) : 500};
    int rounds = argc > 3 ? atoi(argv[3]) : 3;
    open_learner(&b, argc > 4 ? argv[4] : "small");
    size_t rows = (size_t)b.episodes * (size_t)b.steps;
    b.actions = room(rows * (size_t)b.domain->action_size * sizeof *b.actions);
    spent whole = {0}, worlds = {0}, inference = {0};
    for (int i = 0; i < rounds; i++) {
        keep_min(&whole, time_whole(&b));
        keep_min(&worlds, time_worlds(&b));
        keep_min(&inference, time_inference(&b));
    }
    printf("%d episodes of %d steps on %d threads, least of %d rounds\n", b.episodes, b.steps,
           wk_pool_threads(b.pool), rounds);
    printf("%-22s%8s  %12s\n", "", "clock", "processor");
    print("evaluation", whole);
    print("physics and images", worlds);
    print("inference", inference);
    printf("evaluation / (physics and images + inference): clock %.2f, processor %.2f\n",
           whole.wall / (worlds.wall + inference.wall),
           whole.processor / (worlds.processor + inference.processor));
    free(b.actions);
    wk_learner_destroy(b.learner);
    wk_backend_destroy(b.backend);
    wk_pool_destroy(b.pool);
    return 0;
}
