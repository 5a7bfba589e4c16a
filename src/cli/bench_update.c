// waker bench update: time and memory of one update of the learner.
#include "cli/bench_update.h"
#include "base/pool.h"
#include "base/table.h"
#include "cli/cli.h"
#include "config/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ACTIONS = 6, DEFAULT_ITERS = 10 };

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
    WK_OPT_TEXT("exploration", exploration, "plan2explore|random",
                "exploration policy (default: plan2explore)"),
    WK_DEVICE_ARG_ROW(WK_VALUES, device, "cpu"),
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
    static const char *const names[] = {
        [WK_EXPLORE_PLAN2EXPLORE] = "plan2explore", [WK_EXPLORE_RANDOM] = "random"};
    for (int i = 0; i < 2; i++) {
        if (strcmp(names[i], v->exploration) != 0) continue;
        config->exploration = (wk_exploration)i;
        return WK_OK;
    }
    return wk_arg_unknown(err, "exploration", v->exploration, names, 2);
}

static double milliseconds(double seconds)
{
    return 1e3 * seconds;
}

static double mebibytes(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_times(const char *title, const wk_update_times *times, wk_text *out)
{
    double sum = 0;
    for (int i = 0; i < times->part_count; i++)
        sum += times->parts[i].seconds;
    wk_text_printf(out, "%s: %.2f ms (median), %.2f ms (min)\n\n", title,
                   milliseconds(times->median), milliseconds(times->min));
    if (times->graph > 0)
        wk_text_printf(out,
                       "  the graph alone: %.2f ms (median); parts are timed separately, which "
                       "overstates short ones\n\n",
                       milliseconds(times->graph));
    wk_table table;
    wk_table_begin(&table, "lrr", "part", "ms", "share");
    for (int i = 0; i < times->part_count; i++) {
        const wk_update_part *part = &times->parts[i];
        wk_table_cell(&table, "%s", part->name);
        wk_table_cell(&table, "%.2f", milliseconds(part->seconds));
        wk_table_cell(&table, "%.0f %%", sum > 0 ? 100 * part->seconds / sum : 0);
    }
    wk_table_finish(&table, 2, out);
    wk_text_puts(out, "\n");
}

static void print_head(const bench_values *v, const wk_update_speed *s, wk_text *out)
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

static void print_speed(const bench_values *v, const wk_update_speed *s,
                        const wk_update_speed *alone, wk_text *out)
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

static void json_times(wk_json *json, const char *key, const wk_update_times *times)
{
    wk_json_object(json, key);
    wk_json_number(json, "median_ms", milliseconds(times->median));
    wk_json_number(json, "least_ms", milliseconds(times->min));
    if (times->graph > 0) wk_json_number(json, "graph_ms", milliseconds(times->graph));
    wk_json_object(json, "parts_ms");
    for (int i = 0; i < times->part_count; i++)
        wk_json_number(json, times->parts[i].name, milliseconds(times->parts[i].seconds));
    wk_json_close(json, '}');
    wk_json_close(json, '}');
}

static void json_ratio(wk_json *json, const bench_values *v, const wk_update_speed *s,
                       const wk_update_speed *alone)
{
    double all = v->tasks > 0 ? s->both : s->update.median;
    double one = v->tasks > 0 ? alone->both : alone->update.median;
    wk_json_number(json, "alone_ms", milliseconds(one));
    wk_json_number(json, "per_run_ms", milliseconds(all) / v->population);
    wk_json_number(json, "ratio", all / one);
}

static void json_speed(const bench_values *v, const wk_update_speed *s,
                       const wk_update_speed *alone, wk_text *out)
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

// Other work on the machine shows in every number.
static void warn_if_busy(const wk_cli *cli, double load)
{
    if (cli->quiet || load < 0.5) return;
    fprintf(stderr, "the machine was busy (load %.1f on %d cores): times are too high\n", load,
            wk_cpu_count());
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const bench_values *v = given;
    wk_update_bench bench = {.population = 1,
                             .device = v->device,
                             .precision = v->precision,
                             .threads = cli->threads,
                             .iters = v->iters};
    WK_TRY(make_config(v, &bench.config, err));
    double load = 0;
    if (getloadavg(&load, 1) != 1) load = 0;
    if (!cli->quiet && !v->json)
        fprintf(stderr, "measuring %d update%s of preset %s ...\n", v->iters,
                wk_plural((uint64_t)v->iters), v->preset);
    wk_update_speed one, speed;
    WK_TRY(wk_update_speed_measure(&bench, &one, err));
    bench.population = v->population;
    if (v->population > 1) WK_TRY(wk_update_speed_measure(&bench, &speed, err));
    warn_if_busy(cli, load);
    wk_text out = {0};
    const bool several = v->population > 1;
    (v->json ? json_speed : print_speed)(v, several ? &speed : &one, several ? &one : NULL, &out);
    return wk_cli_print(&out, err);
}

const wk_command wk_command_bench_update = {
    .name = "bench update",
    .summary = "Measure how long an update of the learner takes, part by part",
    .usage = "bench update [--preset NAME] [--tasks N] [OPTIONS]",
    .details =
        "One update trains world model, ensemble and exploration policy on one batch; with\n"
        "--tasks, reward heads and task policies too, in an update of their own, which on a GPU\n"
        "overlaps the exploration. The peak memory covers the process since its start.\n"
        "--population N measures one run alone, then N runs updated together.\n",
    .examples = "bench update --preset small --iters 20\n"
                "bench update --preset paper --device cuda --tasks 5\n"
                "bench update --preset quick --tasks 5 --threads 1 --json\n"
                "bench update --preset small --device cuda --population 10",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
