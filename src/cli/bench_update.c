// waker bench update: time by part, and memory, of one update of the learner.
#include "agent/learner.h"
#include "agent/synthetic_batch.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/table.h"
#include "cli/cli.h"
#include "config/parts.h"
#include "run/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { DEFAULT_ACTIONS = 6, DEFAULT_ITERS = 10, PARTS_MAX = 16 };

typedef struct bench_values {
    const char *preset, *exploration, *device, *precision;
    int tasks, actions, batch, iters, population;
    bool json;
} bench_values;

static const bench_values defaults = {.preset = "quick",
                                      .exploration = "plan2explore",
                                      .device = "cpu",
                                      .precision = "auto",
                                      .population = 1,
                                      .actions = DEFAULT_ACTIONS,
                                      .iters = DEFAULT_ITERS};

#define WK_VALUES bench_values
static const wk_arg args[] = {
    WK_OPT_TEXT("preset", preset, "paper|small|quick", "sizes of the networks (default: quick)"),
    WK_OPT_CHOICE("exploration", exploration, "plan2explore|random",
                  "exploration policy (default: plan2explore)"),
    WK_DEVICE_ARG_ROW(device, "cpu"),
    WK_OPT_TEXT("precision", precision, "f32|bf16|auto",
                "precision of the computation; bf16 needs a GPU (default: auto)"),
    WK_OPT_INT("tasks", tasks, "N", "task policies trained alongside (default: 0)", 0,
               WK_LEARNER_TASKS_MAX),
    WK_OPT_INT("actions", actions, "N", "size of an action (default: 6)", 1, 32),
    WK_OPT_INT("batch", batch, "N", "sequences in a batch (default: the preset's)", 1, 1024),
    WK_OPT_INT("iters", iters, "N", "updates to time (default: 10)", 1, 100000),
    WK_OPT_INT("population", population, "N",
               "runs updated together, compared with one run alone (default: 1)", 1,
               WK_POPULATION_MAX),
    WK_OPT_FLAG("json", json, "print JSON"),
};

static wk_status make_config(const bench_values *v, wk_learner_config *config, wk_error *err)
{
    WK_TRY(wk_learner_config_of_blocks(&v->preset, 1, config, err));
    config->action_size = v->actions;
    config->tasks = v->tasks;
    if (v->batch > 0) config->batch = v->batch;
    config->exploration =
        strcmp(v->exploration, "random") == 0 ? WK_EXPLORE_RANDOM : WK_EXPLORE_PLAN2EXPLORE;
    return WK_OK;
}

// One part of an update: a section of its graph.
typedef struct part {
    char name[32];
    double seconds; // mean
} part;

// Times of one program.
typedef struct times {
    double median, min; // seconds, with everything around the graph
    double graph;       // median of the graph alone
    part parts[PARTS_MAX];
    int part_count;
} times;

// What was measured.
typedef struct speed {
    times update; // reward-free, of all runs
    times tasks;  // zero without tasks, and but for its graph with several runs
    double both;  // seconds, median: an update with its task update, as a run has them
    wk_device device;
    int threads, iters;
    double setup;             // seconds to build the networks and record the graphs
    wk_learner_memory memory; // of the device
    size_t resident;          // bytes, the peak of the whole process
} speed;

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

// Learners and batches of `runs` runs that are updated together.
static wk_status prepare(bench *b, const bench_values *v, const wk_learner_config *config,
                         int threads, speed *out, wk_error *err)
{
    wk_learner_config configs[WK_POPULATION_MAX];
    double **lists[] = {&b->update, &b->tasks, &b->graph, &b->task_graph, &b->both};
    size_t count = sizeof lists / sizeof *lists, iters = (size_t)v->iters;
    double *seconds = calloc(count * iters, sizeof *seconds);
    if (!seconds) return wk_fail(err, WK_E_MEMORY, "no memory for %d times", v->iters);
    for (size_t i = 0; i < count; i++)
        *lists[i] = seconds + i * iters;
    WK_TRY(wk_pool_create(threads, &b->pool, err));
    out->threads = wk_pool_threads(b->pool);
    WK_TRY(wk_device_open_population(v->device, v->precision, b->runs, b->pool, b->backends,
                                     &out->device, err));
    double start = wk_clock_seconds();
    for (int r = 0; r < b->runs; r++) {
        configs[r] = *config;
        configs[r].seed += (uint64_t)r;
    }
    WK_TRY(wk_learner_create_population(WK_LEARNER_UPDATES, configs, b->backends, b->runs,
                                        b->learners, err));
    b->learner = b->learners[0];
    out->setup = wk_clock_seconds() - start;
    for (int r = 0; r < b->runs; r++) {
        wk_learner_memory memory = wk_learner_get_memory(b->learners[r]);
        out->memory.state += memory.state;
        out->memory.planned += memory.planned;
        out->memory.allocated = memory.allocated; // of the whole device
    }
    // After what may be refused: batches can be large.
    for (int r = 0; r < b->runs; r++) {
        WK_TRY(wk_synthetic_batch_create(config, b->backends[r], &b->synthetic[r], err));
        b->batches[r] = b->synthetic[r].batch;
    }
    return WK_OK;
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

// On the CPU tracing costs nothing and nothing overlaps an update; on a GPU tracing puts events
// between the nodes, so the parts are measured after the whole.
static wk_status time_all(bench *b, int iters, wk_error *err)
{
    enum { TRACED = 3 };
    bool apart = strcmp(wk_backend_name(b->backends[0]), "cpu") != 0;
    double ignored;
    WK_TRY(wk_learner_stage(b->learner, b->batches, err));
    WK_TRY(update_once(b, false, &ignored, err));
    WK_TRY(update_tasks_once(b, &ignored, err));
    if (!apart) WK_TRY(trace(b, true, err));
    WK_TRY(time_each(b, iters, err));
    // Updates with their task updates, as a run has them. On the CPU nothing overlaps: both are the
    // sum of the two, where those are measured.
    bool overlap = wk_backend_is_async(b->backends[0]) || b->runs > 1;
    for (int i = 0; wk_learner_task_program(b->learner) && overlap && i < iters; i++)
        WK_TRY(update_once(b, true, &b->both[i], err));
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

// Medians, and the parts: sections of the same name in several programs are one.
static void summarise(double *seconds, double *graph, int iters, wk_program *const *list,
                      size_t count, times *out)
{
    out->median = median_of(seconds, iters);
    out->min = seconds[0];
    out->graph = median_of(graph, iters);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < wk_program_section_count(list[i]); k++) {
            wk_section_time section = wk_program_section_time(list[i], k);
            const char *name = section.name[0] ? section.name : "other";
            int at = 0;
            while (at < out->part_count && strcmp(out->parts[at].name, name) != 0)
                at++;
            if (section.nodes == 0 || at == PARTS_MAX) continue;
            if (at == out->part_count)
                snprintf(out->parts[out->part_count++].name, sizeof out->parts->name, "%s", name);
            out->parts[at].seconds += section.seconds;
        }
}

// Updates new learners `iters` times, after one warm-up, on synthetic batches; every batch is
// copied to the device while the previous update runs, as in training.
static wk_status measure(const bench_values *v, const wk_learner_config *config, int runs,
                         int threads, speed *out, wk_error *err)
{
    *out = (speed){.iters = v->iters};
    bench b = {.runs = runs};
    wk_status status = prepare(&b, v, config, threads, out, err);
    if (status == WK_OK) status = time_all(&b, v->iters, err);
    if (status == WK_OK) {
        programs p = programs_of(&b);
        summarise(b.update, b.graph, v->iters, p.update, 2, &out->update);
        if (v->tasks > 0) summarise(b.tasks, b.task_graph, v->iters, p.tasks, 1, &out->tasks);
        out->both = median_of(b.both, v->iters);
        if (out->both == 0) out->both = out->update.median + out->tasks.median;
        struct rusage usage;
        if (getrusage(RUSAGE_SELF, &usage) == 0) out->resident = (size_t)usage.ru_maxrss * 1024;
    }
    for (int r = 0; r < runs; r++)
        wk_learner_destroy(b.learners[r]);
    for (int r = 0; r < runs; r++)
        wk_synthetic_batch_free(&b.synthetic[r]);
    wk_device_close_population(b.backends, runs);
    wk_pool_destroy(b.pool);
    free(b.update); // the first of all lists
    return status;
}

static double milliseconds(double seconds)
{
    return 1e3 * seconds;
}

static double mebibytes(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_times(const char *title, const times *t, wk_text *out)
{
    static const wk_column columns[] = {{WK_COLUMN_TEXT, NULL, "part", NULL, 0},
                                        {WK_COLUMN_NUMBER, NULL, "ms", "%.2f", 1e3},
                                        {WK_COLUMN_NUMBER, NULL, "share", "%.0f %%", 100}};
    double sum = 0;
    for (int i = 0; i < t->part_count; i++)
        sum += t->parts[i].seconds;
    wk_text_printf(out, "%s: %.2f ms (median), %.2f ms (min)\n\n", title, milliseconds(t->median),
                   milliseconds(t->min));
    if (t->graph > 0)
        wk_text_printf(out,
                       "  the graph alone: %.2f ms (median); parts are timed separately, which "
                       "overstates short ones\n\n",
                       milliseconds(t->graph));
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < t->part_count; i++) {
        wk_table_text(&table, t->parts[i].name);
        wk_table_number(&table, t->parts[i].seconds);
        wk_table_number(&table, sum > 0 ? t->parts[i].seconds / sum : 0);
    }
    wk_table_finish(&table, 2, out);
    wk_text_puts(out, "\n");
}

static void print_head(const bench_values *v, const speed *s, wk_text *out)
{
    wk_text_printf(out, "preset %s on ", v->preset);
    if (s->device.number < 0)
        wk_text_printf(out, "%d thread%s", s->threads, wk_plural((uint64_t)s->threads));
    else
        wk_text_puts(out, s->device.name);
    if (v->population > 1) wk_text_printf(out, ", %d runs together", v->population);
    wk_text_printf(out, ", %d update%s", s->iters, wk_plural((uint64_t)s->iters));
    if (s->device.number >= 0)
        wk_text_printf(out, ", %d task%s", v->tasks, wk_plural((uint64_t)v->tasks));
    wk_text_puts(out, "\n\n");
}

// An update of all runs, and the same of one run alone.
static void print_ratio(const bench_values *v, double all, double alone, wk_text *out)
{
    wk_text_printf(
        out,
        "%.3f ms per run; one run alone: %.2f ms, so %d take %.2f times as long, at %.2f "
        "times the throughput\n\n",
        milliseconds(all) / v->population, milliseconds(alone), v->population, all / alone,
        v->population * alone / all);
}

static void print_speed(const bench_values *v, const speed *s, const speed *alone, wk_text *out)
{
    print_head(v, s, out);
    print_times(alone ? "reward-free update of all runs" : "reward-free update", &s->update, out);
    if (alone) print_ratio(v, s->update.median, alone->update.median, out);
    if (v->tasks > 0) {
        if (!alone) print_times("task update", &s->tasks, out);
        wk_text_printf(out, "%s overlapped as in a run: %.2f ms (median)\n\n",
                       alone ? "with its task update," : "both,", milliseconds(s->both));
        if (alone) print_ratio(v, s->both, alone->both, out);
    }
    wk_text_printf(out,
                   "memory: %.1f MiB weights and optimiser, %.1f MiB planned temporaries and "
                   "inputs; %.1f MiB peak of the process\n",
                   mebibytes(s->memory.state), mebibytes(s->memory.planned),
                   mebibytes(s->resident));
    if (s->memory.allocated > 0)
        wk_text_printf(out,
                       "in use on the device: %.1f MiB, working memory and bf16 copies of weights "
                       "included\n",
                       mebibytes(s->memory.allocated));
    wk_text_printf(out, "set-up: %.0f ms\n", milliseconds(s->setup));
}

static void json_times(wk_json *json, const char *key, const times *t)
{
    wk_json_object(json, key);
    wk_json_number(json, "median_ms", milliseconds(t->median));
    wk_json_number(json, "least_ms", milliseconds(t->min));
    if (t->graph > 0) wk_json_number(json, "graph_ms", milliseconds(t->graph));
    wk_json_object(json, "parts_ms");
    for (int i = 0; i < t->part_count; i++)
        wk_json_number(json, t->parts[i].name, milliseconds(t->parts[i].seconds));
    wk_json_close(json, '}');
    wk_json_close(json, '}');
}

static void json_ratio(wk_json *json, const bench_values *v, const speed *s, const speed *alone)
{
    double all = v->tasks > 0 ? s->both : s->update.median;
    double one = v->tasks > 0 ? alone->both : alone->update.median;
    wk_json_number(json, "alone_ms", milliseconds(one));
    wk_json_number(json, "per_run_ms", milliseconds(all) / v->population);
    wk_json_number(json, "ratio", all / one);
}

static void json_speed(const bench_values *v, const speed *s, const speed *alone, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "preset", v->preset);
    wk_json_string(&json, "exploration", v->exploration);
    wk_json_integer(&json, "tasks", v->tasks);
    wk_json_integer(&json, "actions", v->actions);
    wk_json_integer(&json, "population", v->population);
    wk_json_string(&json, "device", s->device.name);
    wk_json_integer(&json, "threads", s->threads);
    wk_json_integer(&json, "iters", s->iters);
    json_times(&json, "update", &s->update);
    if (v->tasks > 0) {
        if (!alone) json_times(&json, "task_update", &s->tasks);
        wk_json_number(&json, "both_ms", milliseconds(s->both));
    }
    if (alone) json_ratio(&json, v, s, alone);
    wk_json_integer(&json, "state_bytes", (int64_t)s->memory.state);
    wk_json_integer(&json, "planned_bytes", (int64_t)s->memory.planned);
    wk_json_integer(&json, "device_bytes", (int64_t)s->memory.allocated);
    wk_json_integer(&json, "peak_resident_bytes", (int64_t)s->resident);
    wk_json_number(&json, "setup_ms", milliseconds(s->setup));
    wk_json_close(&json, '}');
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const bench_values *v = given;
    wk_learner_config config;
    WK_TRY(make_config(v, &config, err));
    double load = 0;
    if (getloadavg(&load, 1) != 1) load = 0;
    if (!cli->quiet && !v->json)
        fprintf(stderr, "measuring %d update%s of preset %s ...\n", v->iters,
                wk_plural((uint64_t)v->iters), v->preset);
    speed one, several;
    WK_TRY(measure(v, &config, 1, cli->threads, &one, err));
    bool both = v->population > 1;
    if (both) WK_TRY(measure(v, &config, v->population, cli->threads, &several, err));
    // Other work on the machine shows in every number.
    if (!cli->quiet && load >= 0.5)
        fprintf(stderr, "the machine was busy (load %.1f on %d cores): times are too high\n", load,
                wk_cpu_count());
    wk_text out = {0};
    (v->json ? json_speed : print_speed)(v, both ? &several : &one, both ? &one : NULL, &out);
    return wk_cli_print(&out, err);
}

const wk_command wk_command_bench_update = {
    .name = "bench update",
    .summary = "Measure how long an update of the learner takes, part by part",
    .usage = "bench update [--preset NAME] [--tasks N] [OPTIONS]",
    .details =
        "One update trains world model, ensemble and exploration policy on one batch; with\n"
        "--tasks, reward heads and task policies too, in an update of their own, which on a GPU\n"
        "overlaps the exploration. Parts are the sections of the recorded graph, gradients\n"
        "included. On a GPU the whole is timed first, then update and task update side by side as\n"
        "in a run, then the graphs alone, then the parts. The peak memory covers the process\n"
        "since its start.\n"
        "--population N measures one run alone, then N runs updated together.\n",
    .examples = "bench update --preset small --iters 20\n"
                "bench update --preset paper --device cuda --tasks 5\n"
                "bench update --preset quick --tasks 5 --threads 1 --json\n"
                "bench update --preset small --device cuda --population 10",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
