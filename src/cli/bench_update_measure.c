// The measurement behind waker bench update.
#include "base/clock.h"
#include "base/rng.h"
#include "cli/bench_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { PIXELS = 64 * 64 * 3 };

typedef struct bench {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    uint8_t *images, *first;
    float *actions, *rewards;
    wk_learner_batch batch;
    double *update, *tasks; // [iters] seconds
} bench;

// A batch of noise: the time of an update does not depend on what it sees.
static wk_status make_batch(bench *b, const wk_learner_config *c, wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(c), numbers = rows * (size_t)c->action_size;
    size_t rewards = rows * (size_t)c->tasks;
    b->images = malloc(rows * PIXELS);
    b->first = calloc(rows, 1);
    b->actions = malloc(numbers * sizeof *b->actions);
    b->rewards = malloc((rewards + 1) * sizeof *b->rewards);
    if (!b->images || !b->first || !b->actions || !b->rewards)
        return wk_fail(err, WK_E_MEMORY, "no memory for a batch of %zu images", rows);
    wk_rng rng = wk_rng_stream(0, "bench-batch", 0);
    for (size_t i = 0; i < rows * PIXELS; i++)
        b->images[i] = (uint8_t)wk_rng_uniform(&rng, 0, 256);
    memset(b->first, 1, (size_t)c->batch);
    for (size_t i = 0; i < numbers; i++)
        b->actions[i] = (float)wk_rng_uniform(&rng, -1, 1);
    for (size_t i = 0; i < rewards; i++)
        b->rewards[i] = (float)wk_rng_uniform(&rng, 0, 1);
    b->batch = (wk_learner_batch){b->images, b->actions, b->first, b->rewards};
    return WK_OK;
}

static wk_status prepare(bench *b, const wk_learner_config *c, int threads, int iters,
                         wk_update_speed *out, wk_error *err)
{
    b->update = calloc((size_t)iters, sizeof *b->update);
    b->tasks = calloc((size_t)iters, sizeof *b->tasks);
    if (!b->update || !b->tasks) return wk_fail(err, WK_E_MEMORY, "no memory for %d times", iters);
    WK_TRY(make_batch(b, c, err));
    WK_TRY(wk_pool_create(threads, &b->pool, err));
    out->threads = wk_pool_threads(b->pool);
    WK_TRY(wk_backend_cpu_create(b->pool, &b->backend, err));
    double start = wk_clock_seconds();
    WK_TRY(wk_learner_create(c, b->backend, &b->learner, err));
    out->setup = wk_clock_seconds() - start;
    return WK_OK;
}

static wk_status update_once(bench *b, double *update, double *tasks, wk_error *err)
{
    double start = wk_clock_seconds();
    WK_TRY(wk_learner_update(b->learner, &b->batch, NULL, NULL, err));
    double middle = wk_clock_seconds();
    if (wk_learner_task_program(b->learner))
        WK_TRY(wk_learner_update_tasks(b->learner, &b->batch, NULL, err));
    *update = middle - start;
    *tasks = wk_clock_seconds() - middle;
    return WK_OK;
}

static wk_status run(bench *b, int iters, wk_error *err)
{
    wk_program *tasks = wk_learner_task_program(b->learner);
    WK_TRY(update_once(b, &b->update[0], &b->tasks[0], err));
    WK_TRY(wk_program_trace(wk_learner_program(b->learner), true, err));
    if (tasks) WK_TRY(wk_program_trace(tasks, true, err));
    for (int i = 0; i < iters; i++)
        WK_TRY(update_once(b, &b->update[i], &b->tasks[i], err));
    return WK_OK;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void summarise(double *seconds, int iters, const wk_program *program, wk_update_times *out)
{
    qsort(seconds, (size_t)iters, sizeof *seconds, by_size);
    out->least = seconds[0];
    out->median = (seconds[(iters - 1) / 2] + seconds[iters / 2]) / 2;
    for (size_t i = 0; i < wk_program_section_count(program); i++) {
        wk_section_time section = wk_program_section_time(program, i);
        if (section.nodes == 0 || out->part_count == WK_UPDATE_PARTS_MAX) continue;
        wk_update_part *part = &out->parts[out->part_count++];
        snprintf(part->name, sizeof part->name, "%s", section.name[0] ? section.name : "other");
        part->seconds = section.seconds;
    }
}

static size_t peak_resident(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * 1024 : 0;
}

static void free_bench(bench *b)
{
    wk_learner_destroy(b->learner);
    wk_backend_destroy(b->backend);
    wk_pool_destroy(b->pool);
    free(b->images);
    free(b->first);
    free(b->actions);
    free(b->rewards);
    free(b->update);
    free(b->tasks);
}

wk_status wk_update_speed_measure(const wk_learner_config *config, int threads, int iters,
                                  wk_update_speed *out, wk_error *err)
{
    *out = (wk_update_speed){.iters = iters};
    bench b = {0};
    wk_status status = prepare(&b, config, threads, iters, out, err);
    if (status == WK_OK) status = run(&b, iters, err);
    if (status == WK_OK) {
        summarise(b.update, iters, wk_learner_program(b.learner), &out->update);
        if (config->tasks > 0)
            summarise(b.tasks, iters, wk_learner_task_program(b.learner), &out->tasks);
        out->memory = wk_learner_get_memory(b.learner);
        out->resident = peak_resident();
    }
    free_bench(&b);
    return status;
}
