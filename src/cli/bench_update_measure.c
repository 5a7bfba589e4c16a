// The measurements of waker bench update.
#include "agent/synthetic_batch.h"
#include "base/array.h"
#include "base/clock.h"
#include "cli/bench_update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct bench {
    wk_pool *pool;
    wk_backend *backends[WK_POPULATION_MAX]; // an element for each run
    wk_learner *learners[WK_POPULATION_MAX];
    wk_synthetic_batch synthetic[WK_POPULATION_MAX];
    wk_learner_batch batches[WK_POPULATION_MAX];
    int runs;
    wk_learner *learner;    // the leader
    double *update, *tasks; // [iters] seconds
    double *graph, *task_graph, *both;
} bench;

static wk_status allocate(bench *b, size_t iters, wk_error *err)
{
    b->update = calloc(iters, sizeof *b->update);
    b->tasks = calloc(iters, sizeof *b->tasks);
    b->graph = calloc(iters, sizeof *b->graph);
    b->task_graph = calloc(iters, sizeof *b->task_graph);
    b->both = calloc(iters, sizeof *b->both);
    if (b->update && b->tasks && b->graph && b->task_graph && b->both) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for %zu times", iters);
}

static wk_status create_learners(bench *b, const wk_update_bench *what, wk_error *err)
{
    wk_learner_config configs[WK_POPULATION_MAX];
    for (int r = 0; r < b->runs; r++) {
        configs[r] = what->config;
        configs[r].seed += (uint64_t)r;
    }
    WK_TRY(wk_learner_create_population(WK_LEARNER_UPDATES, configs, b->backends, b->runs,
                                        b->learners, err));
    b->learner = b->learners[0];
    return WK_OK;
}

static wk_learner_memory memory_of(const bench *b)
{
    wk_learner_memory sum = {0};
    for (int r = 0; r < b->runs; r++) {
        wk_learner_memory memory = wk_learner_get_memory(b->learners[r]);
        sum.state += memory.state;
        sum.planned += memory.planned;
        sum.allocated = memory.allocated; // of the whole device
    }
    return sum;
}

static wk_status create_batches(bench *b, const wk_learner_config *config, wk_error *err)
{
    for (int r = 0; r < b->runs; r++) {
        WK_TRY(wk_synthetic_batch_create(config, b->backends[r], &b->synthetic[r], err));
        b->batches[r] = b->synthetic[r].batch;
    }
    return WK_OK;
}

static wk_status prepare(bench *b, const wk_update_bench *what, wk_update_speed *out, wk_error *err)
{
    b->runs = what->population;
    WK_TRY(allocate(b, (size_t)what->iters, err));
    WK_TRY(wk_pool_create(what->threads, &b->pool, err));
    out->threads = wk_pool_threads(b->pool);
    WK_TRY(wk_device_open_population(what->device, what->precision, b->runs, b->pool, b->backends,
                                     &out->device, err));
    double start = wk_clock_seconds();
    WK_TRY(create_learners(b, what, err));
    out->setup = wk_clock_seconds() - start;
    out->memory = memory_of(b);
    return create_batches(b, &what->config, err); // after what may be refused: it can be large
}

// Updates that are timed together. On a GPU updates overlap, so that only several in a row show how
// long one takes.
static int in_a_row(const bench *b)
{
    enum { SEVERAL = 4 };
    return wk_backend_is_async(b->backends[0]) ? SEVERAL : 1;
}

// The time of an update as a run has it: meanwhile the batch of the next is gathered, and the world
// model may begin with it. With `tasks`, their update too.
static wk_status update_once(bench *b, bool tasks, double *seconds, wk_error *err)
{
    wk_learner_metrics metrics[WK_POPULATION_MAX];
    int count = in_a_row(b);
    double start = wk_clock_seconds();
    for (int i = 0; i < count; i++) {
        WK_TRY(wk_learner_start(b->learner, err));
        if (tasks) WK_TRY(wk_learner_start_tasks(b->learner, err));
        WK_TRY(wk_learner_stage(b->learner, b->batches, err));
        WK_TRY(wk_learner_finish(b->learner, metrics, NULL, err));
    }
    *seconds = (wk_clock_seconds() - start) / count;
    return WK_OK;
}

// A population has no task updates by themselves.
static wk_status update_tasks_once(bench *b, double *seconds, wk_error *err)
{
    wk_task_metrics metrics;
    if (!wk_learner_task_program(b->learner) || b->runs > 1) return WK_OK;
    double start = wk_clock_seconds();
    WK_TRY(wk_learner_update_tasks(b->learner, b->batches, &metrics, err));
    *seconds = wk_clock_seconds() - start;
    return WK_OK;
}

// The programs of an update, which run in sequence, and that of a task update.
typedef struct programs {
    wk_program *update[2], *tasks[1];
} programs;

static programs programs_of(bench *b)
{
    return (programs){
        .update = {wk_learner_model_program(b->learner), wk_learner_update_program(b->learner)},
        .tasks = {wk_learner_task_program(b->learner)}};
}

static wk_status time_graphs(wk_program *const *list, size_t count, double *seconds, wk_error *err)
{
    double start = wk_clock_seconds();
    for (size_t i = 0; i < count; i++)
        if (list[i]) WK_TRY(wk_program_run(list[i], err));
    *seconds = wk_clock_seconds() - start;
    return WK_OK;
}

static wk_status trace(bench *b, bool on, wk_error *err)
{
    programs p = programs_of(b);
    for (int i = 0; i < 2; i++)
        WK_TRY(wk_program_trace(p.update[i], on, err));
    return p.tasks[0] ? wk_program_trace(p.tasks[0], on, err) : WK_OK;
}

// The last staged batch is learned from, so that nothing of it overlaps the next measurement.
static wk_status settle(bench *b, wk_error *err)
{
    if (!wk_backend_is_async(b->backends[0])) return WK_OK;
    WK_TRY(wk_learner_start(b->learner, err));
    return wk_learner_finish(b->learner, NULL, NULL, err);
}

// Update and task update by themselves, each many times.
static wk_status time_each(bench *b, int iters, wk_error *err)
{
    for (int i = 0; i < iters; i++)
        WK_TRY(update_once(b, false, &b->update[i], err));
    WK_TRY(settle(b, err));
    for (int i = 0; i < iters; i++)
        WK_TRY(update_tasks_once(b, &b->tasks[i], err));
    return wk_learner_stage(b->learner, b->batches, err);
}

// Updates with their task updates, as a run has them. On the CPU nothing overlaps: both are the sum
// of the two, where those are measured.
static wk_status time_both(bench *b, int iters, wk_error *err)
{
    if (!wk_learner_task_program(b->learner)) return WK_OK;
    if (!wk_backend_is_async(b->backends[0]) && b->runs == 1) return WK_OK;
    for (int i = 0; i < iters; i++)
        WK_TRY(update_once(b, true, &b->both[i], err));
    return WK_OK;
}

// On the CPU tracing costs nothing and nothing overlaps an update; on a GPU tracing puts events
// between the nodes, so the parts are measured after the whole.
static wk_status run(bench *b, int iters, wk_error *err)
{
    enum { TRACED = 3 };
    bool apart = strcmp(wk_backend_name(b->backends[0]), "cpu") != 0;
    double ignored;
    WK_TRY(wk_learner_stage(b->learner, b->batches, err));
    WK_TRY(update_once(b, false, &ignored, err));
    WK_TRY(update_tasks_once(b, &ignored, err));
    if (!apart) WK_TRY(trace(b, true, err));
    WK_TRY(time_each(b, iters, err));
    WK_TRY(time_both(b, iters, err));
    if (!apart) return WK_OK;
    WK_TRY(settle(b, err));
    programs p = programs_of(b);
    for (int i = 0; i < iters; i++) {
        WK_TRY(time_graphs(p.update, 2, &b->graph[i], err));
        WK_TRY(time_graphs(p.tasks, 1, &b->task_graph[i], err));
    }
    WK_TRY(trace(b, true, err));
    return time_each(b, TRACED, err);
}

static double median_of(double *seconds, int iters)
{
    qsort(seconds, (size_t)iters, sizeof *seconds, wk_compare_doubles);
    return (seconds[(iters - 1) / 2] + seconds[iters / 2]) / 2;
}

// The part of this name, a new one if there is none; NULL where there is no room for it.
static wk_update_part *part_named(wk_update_times *out, const char *name)
{
    for (size_t i = 0; i < (size_t)out->part_count; i++)
        if (strcmp(out->parts[i].name, name) == 0) return &out->parts[i];
    if (out->part_count == WK_UPDATE_PARTS_MAX) return NULL;
    wk_update_part *part = &out->parts[out->part_count++];
    snprintf(part->name, sizeof part->name, "%s", name);
    return part;
}

// Sections of the same name in several programs are one part.
static void add_parts(const wk_program *program, wk_update_times *out)
{
    for (size_t i = 0; i < wk_program_section_count(program); i++) {
        wk_section_time section = wk_program_section_time(program, i);
        if (section.nodes == 0) continue;
        wk_update_part *part = part_named(out, section.name[0] ? section.name : "other");
        if (part) part->seconds += section.seconds;
    }
}

static void summarise(double *seconds, double *graph, int iters, wk_program *const *list,
                      size_t count, wk_update_times *out)
{
    out->median = median_of(seconds, iters);
    out->min = seconds[0];
    out->graph = median_of(graph, iters);
    for (size_t i = 0; i < count; i++)
        add_parts(list[i], out);
}

static size_t peak_resident(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss * 1024 : 0;
}

static void free_bench(bench *b)
{
    for (int r = 0; r < b->runs; r++)
        wk_learner_destroy(b->learners[r]);
    for (int r = 0; r < b->runs; r++)
        wk_synthetic_batch_free(&b->synthetic[r]);
    wk_device_close_population(b->backends, b->runs);
    wk_pool_destroy(b->pool);
    free(b->update);
    free(b->tasks);
    free(b->graph);
    free(b->task_graph);
    free(b->both);
}

wk_status wk_update_speed_measure(const wk_update_bench *what, wk_update_speed *out, wk_error *err)
{
    *out = (wk_update_speed){.iters = what->iters};
    bench b = {0};
    wk_status status = prepare(&b, what, out, err);
    if (status == WK_OK) status = run(&b, what->iters, err);
    if (status == WK_OK) {
        programs p = programs_of(&b);
        summarise(b.update, b.graph, what->iters, p.update, 2, &out->update);
        if (what->config.tasks > 0)
            summarise(b.tasks, b.task_graph, what->iters, p.tasks, 1, &out->tasks);
        out->both = median_of(b.both, what->iters);
        if (out->both == 0) out->both = out->update.median + out->tasks.median;
        out->resident = peak_resident();
    }
    free_bench(&b);
    return status;
}
