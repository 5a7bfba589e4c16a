// waker bench env: steps per second of the domains, alone and compared with MuJoCo's stock way.
#include "cli/bench_env.h"
#include "base/pool.h"
#include "base/table.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS_MAX = 32, DEFAULT_ENVS = 8 };

typedef struct bench_values {
    const char *domain, *plugin;
    wk_arg_texts options;
    int envs;
    double seconds;
    bool json;
} bench_values;

static const bench_values defaults = {.envs = DEFAULT_ENVS, .seconds = 5};

#define WK_VALUES bench_values
static const wk_arg args[] = {
    WK_OPT_TEXT("domain", domain, "DOMAIN|all", "a built-in domain, or all (default: all)"),
    WK_OPT_PATH("plugin", plugin, "FILE", "use the domain of this plug-in instead"),
    WK_PYTHON_ARG_ROW(WK_VALUES, plugin, "use the environments of this Python function"),
    WK_OPT_TEXTS("option", options, "NAME=CHOICE", "an option of the domain; may be repeated"),
    WK_OPT_INT("envs", envs, "N", "environments in the vector (default: 8)", 1, 4096),
    WK_OPT_NUMBER("seconds", seconds, "S", "time to spend on each domain (default: 5)", 0.01, 3600),
    WK_OPT_FLAG("json", json, "print JSON"),
};

// One line of the result.
typedef struct result {
    const char *domain;
    wk_env_speed speed;
} result;

static double rate(double seconds)
{
    return seconds > 0 ? 1 / seconds : 0;
}

static double ratio(const wk_env_speed *s)
{
    return (s->stock_physics + s->gl_image) / (s->physics + s->image);
}

static void print_own(const result *results, int count, wk_text *out)
{
    wk_table table;
    char physics_n[48], both_n[48];
    snprintf(physics_n, sizeof physics_n, "physics\n%d thread%s", results[0].speed.threads,
             wk_plural((uint64_t)results[0].speed.threads));
    snprintf(both_n, sizeof both_n, "with image\n%d thread%s", results[0].speed.threads,
             wk_plural((uint64_t)results[0].speed.threads));
    wk_table_begin(&table, "lrrrrrr", "domain", "physics\n1 thread", "with image\n1 thread",
                   physics_n, both_n, "reset\nms", "memory\nMiB/env");
    for (int i = 0; i < count; i++) {
        const wk_env_speed *s = &results[i].speed;
        wk_table_cell(&table, "%s", results[i].domain);
        wk_table_cell(&table, "%.0f", rate(s->physics));
        wk_table_cell(&table, "%.0f", rate(s->physics + s->image));
        wk_table_cell(&table, "%.0f", rate(s->vector_physics));
        wk_table_cell(&table, "%.0f", rate(s->vector_both));
        wk_table_cell(&table, "%.2f", 1e3 * s->reset);
        wk_table_cell(&table, "%.1f", s->bytes_per_env / (1 << 20));
    }
    wk_text_printf(out, "agent steps per second (%d environment%s in the vector)\n\n",
                   results[0].speed.envs, wk_plural((uint64_t)results[0].speed.envs));
    wk_table_finish(&table, 0, out);
}

static void print_comparison(const result *results, int count, wk_text *out)
{
    int compared = 0;
    for (int i = 0; i < count; i++)
        compared += results[i].speed.compared;
    if (compared == 0) {
        wk_text_printf(out, "\nno comparison with stock MuJoCo: %s\n", results[0].speed.why_not);
        return;
    }
    wk_table table;
    wk_table_begin(&table, "lrrrrr", "domain", "waker\nphysics us", "stock\nphysics us",
                   "waker\nimage us", "OpenGL\nimage us", "steps/s\nratio");
    for (int i = 0; i < count; i++) {
        const wk_env_speed *s = &results[i].speed;
        if (!s->compared) continue;
        wk_table_cell(&table, "%s", results[i].domain);
        wk_table_cell(&table, "%.0f", 1e6 * s->physics);
        wk_table_cell(&table, "%.0f", 1e6 * s->stock_physics);
        wk_table_cell(&table, "%.0f", 1e6 * s->image);
        wk_table_cell(&table, "%.0f", 1e6 * s->gl_image);
        wk_table_cell(&table, "%.1f", ratio(s));
    }
    wk_text_puts(
        out, "\none agent step on one thread, against stock MuJoCo and its image by OSMesa\n\n");
    wk_table_finish(&table, 0, out);
}

static void json_result(wk_json *json, const result *r)
{
    const wk_env_speed *s = &r->speed;
    wk_json_object(json, NULL);
    wk_json_string(json, "domain", r->domain);
    wk_json_integer(json, "envs", s->envs);
    wk_json_integer(json, "threads", s->threads);
    wk_json_integer(json, "worlds", s->worlds);
    wk_json_number(json, "physics_steps_per_s", rate(s->physics));
    wk_json_number(json, "image_steps_per_s", rate(s->physics + s->image));
    wk_json_number(json, "vector_physics_steps_per_s", rate(s->vector_physics));
    wk_json_number(json, "vector_image_steps_per_s", rate(s->vector_both));
    wk_json_number(json, "physics_s", s->physics);
    wk_json_number(json, "image_s", s->image);
    wk_json_number(json, "reset_s", s->reset);
    wk_json_number(json, "bytes_per_env", s->bytes_per_env);
    if (s->compared) {
        wk_json_number(json, "stock_physics_s", s->stock_physics);
        wk_json_number(json, "opengl_image_s", s->gl_image);
        wk_json_number(json, "ratio", ratio(s));
    } else
        wk_json_string(json, "not_compared", s->why_not);
    wk_json_close(json, '}');
}

// Other work on the machine shows in the columns timed by the wall clock.
static void warn_if_busy(const wk_cli *cli, double load)
{
    if (cli->quiet || load < 0.5) return;
    fprintf(stderr,
            "the machine was busy (load %.1f on %d cores): rates of several threads are too low\n",
            load, wk_cpu_count());
}

static wk_status print_results(const result *results, int count, bool as_json, wk_error *err)
{
    wk_text out = {0};
    if (as_json) {
        wk_json json = {.text = &out};
        wk_json_array(&json, NULL);
        for (int i = 0; i < count; i++)
            json_result(&json, &results[i]);
        wk_json_close(&json, ']');
    } else if (count > 0) {
        print_own(results, count, &out);
        print_comparison(results, count, &out);
    }
    return wk_cli_print(&out, err);
}

static wk_status measure(const wk_cli *cli, const char *domain, const bench_values *v, result *out,
                         wk_error *err)
{
    wk_chosen_domain chosen;
    WK_TRY(wk_chosen_domain_open(cli, domain, v->plugin, &v->options, &chosen, err));
    if (!cli->quiet && !v->json)
        fprintf(stderr, "measuring %s for %g s ...\n", chosen.domain->name, v->seconds);
    wk_status status =
        wk_env_speed_measure(&chosen, v->envs, cli->threads, v->seconds, &out->speed, err);
    // A plug-in's name goes with it.
    out->domain = chosen.plugin ? v->plugin : chosen.domain->name;
    wk_chosen_domain_close(&chosen);
    return status;
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const bench_values *v = given;
    result results[DOMAINS_MAX] = {0};
    int count = 0;
    double load = 0;
    if (getloadavg(&load, 1) != 1) load = 0;
    bool all = !v->plugin && (!v->domain || strcmp(v->domain, "all") == 0);
    if (!all) WK_TRY(measure(cli, v->domain, v, &results[count++], err));
    for (size_t i = 0; all && i < wk_domain_count() && i < DOMAINS_MAX; i++)
        WK_TRY(measure(cli, wk_domain_at(i)->name, v, &results[count++], err));
    warn_if_busy(cli, load);
    return print_results(results, count, v->json, err);
}

const wk_command wk_command_bench_env = {
    .name = "bench env",
    .summary = "Measure how fast environments step and render, compared with stock MuJoCo",
    .usage = "bench env [--domain DOMAIN|all] [OPTIONS]",
    .details =
        "Worlds are drawn from the domain's training distribution and are the same for every\n"
        "column; the columns take turns world by world, so that a busy machine slows all\n"
        "alike. Rates leave out resets, which have their own column. The comparison needs\n"
        "OSMesa ('waker doctor' shows whether it is installed).\n",
    .examples = "bench env --domain terrain-walker --seconds 10\nbench env --threads 8 --json",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
