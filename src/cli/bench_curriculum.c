// waker bench curriculum: the rules compared on environments with known learning curves, in seconds
// and without training anything.
#include "base/file.h"
#include "base/table.h"
#include "cli/cli.h"
#include "curriculum/benchmark.h"
#include "plot/plot.h"
#include "waker/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 64 };

typedef struct bench_values {
    const char *rules, *out;
    int episodes, seeds;
    wk_arg_seed seed;
    bool json;
} bench_values;

static const bench_values defaults = {.rules = "all", .episodes = 1000, .seeds = 10};

#define WK_VALUES bench_values
static const wk_arg args[] = {
    WK_OPT_TEXT("rules", rules, "NAME,...", "rules to compare with dr (default: all but fixed)"),
    WK_OPT_INT("episodes", episodes, "N", "episodes per run (default: 1000)", 100, 1000000),
    WK_OPT_INT("seeds", seeds, "N", "runs of each rule in each scenario (default: 10)", 1, 10000),
    WK_SEED_ARG_ROW(WK_VALUES, "everything random", "0"),
    WK_OPT_PATH("out", out, "DIR", "write the curves as CSV and figures to DIR"),
    WK_OPT_FLAG("json", json, "print JSON"),
};

static wk_status add_rule(const char *name, const wk_curriculum_rule **rules, size_t *count,
                          wk_error *err)
{
    const wk_curriculum_rule *rule;
    WK_TRY(wk_curriculum_rule_find(name, &rule, err));
    for (size_t i = 0; i < *count; i++)
        if (rules[i] == rule) return WK_OK;
    rules[(*count)++] = rule;
    return WK_OK;
}

// dr first; every rule once.
static wk_status choose_rules(const char *list, const wk_curriculum_rule **rules, size_t *count,
                              wk_error *err)
{
    *count = 0;
    WK_TRY(add_rule("dr", rules, count, err));
    if (strcmp(list, "all") == 0) {
        for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
            const char *name = wk_curriculum_rule_at(i)->name;
            if (strcmp(name, "fixed") != 0) WK_TRY(add_rule(name, rules, count, err));
        }
        return WK_OK;
    }
    for (const char *at = list;;) {
        char name[64];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        WK_TRY(add_rule(name, rules, count, err));
        if (!at[length]) return WK_OK;
        at += length + 1;
    }
}

// Mean and spread over the seeds of a rule's ratio to dr, in one scenario or (SIZE_MAX) the
// geometric mean over all.
static wk_status ratio_of(const wk_rule_benchmark *b, size_t scenario, size_t rule, double *mean,
                          double *sd, wk_error *err)
{
    int seeds = b->config.seeds;
    double *values = malloc((size_t)seeds * sizeof *values);
    if (!values) return wk_fail(err, WK_E_MEMORY, "no memory for %d ratios", seeds);
    size_t count = wk_rule_benchmark_scenario_count();
    for (int s = 0; s < seeds; s++) {
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sum += log(wk_rule_benchmark_ratio(b, k, rule, s)) / (double)count;
        values[s] = scenario == SIZE_MAX ? exp(sum) : wk_rule_benchmark_ratio(b, scenario, rule, s);
    }
    *mean = wk_stats_mean(values, (size_t)seeds);
    *sd = wk_stats_sd(values, (size_t)seeds);
    free(values);
    return WK_OK;
}

static wk_status print_text(const wk_rule_benchmark *b, wk_text *out, wk_error *err)
{
    size_t scenarios = wk_rule_benchmark_scenario_count();
    wk_table table = {.columns = scenarios + 2, .align = "lrrrrrrrrrrrrrrrrr"};
    wk_text_printf(out,
                   "Learnable error of the worst tenth of the environments, mean over %d episode%s "
                   "and %d seed%s,\ndivided by that of dr: below 1 is better.\n\n",
                   b->config.episodes, wk_plural((uint64_t)b->config.episodes), b->config.seeds,
                   wk_plural((uint64_t)b->config.seeds));
    wk_table_cell(&table, "rule");
    for (size_t k = 0; k < scenarios; k++)
        wk_table_cell(&table, "%s", wk_rule_benchmark_scenario_name(k));
    wk_table_cell(&table, "all");
    for (size_t r = 0; r < b->config.count; r++) {
        wk_table_cell(&table, "%s", b->config.rules[r]->name);
        for (size_t k = 0; k <= scenarios; k++) {
            double mean = 0, sd = 0;
            WK_TRY(ratio_of(b, k < scenarios ? k : SIZE_MAX, r, &mean, &sd, err));
            wk_table_cell(&table, "%.2f", mean);
        }
    }
    wk_table_finish(&table, 0, out);
    wk_text_puts(out, "\n");
    for (size_t k = 0; k < scenarios; k++)
        wk_text_printf(out, "%s: %s\n", wk_rule_benchmark_scenario_name(k),
                       wk_rule_benchmark_scenario_summary(k));
    return WK_OK;
}

static wk_status print_json(const wk_rule_benchmark *b, wk_text *out, wk_error *err)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_integer(&json, "episodes", b->config.episodes);
    wk_json_integer(&json, "seeds", b->config.seeds);
    wk_json_array(&json, "ratios");
    for (size_t k = 0; k <= wk_rule_benchmark_scenario_count(); k++)
        for (size_t r = 0; r < b->config.count; r++) {
            bool all = k == wk_rule_benchmark_scenario_count();
            double mean = 0, sd = 0;
            WK_TRY(ratio_of(b, all ? SIZE_MAX : k, r, &mean, &sd, err));
            wk_json_object(&json, NULL);
            wk_json_string(&json, "scenario", all ? "all" : wk_rule_benchmark_scenario_name(k));
            wk_json_string(&json, "rule", b->config.rules[r]->name);
            wk_json_number(&json, "ratio_to_dr", mean);
            wk_json_number(&json, "sd", sd);
            wk_json_close(&json, '}');
        }
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
    return WK_OK;
}

static wk_status write_curves(const wk_rule_benchmark *b, const char *folder, wk_error *err)
{
    wk_text text = {0};
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, "%s/curves.csv", folder));
    wk_text_puts(&text, "scenario,rule,seed,episodes,worst_tenth\n");
    for (size_t k = 0; k < wk_rule_benchmark_scenario_count(); k++)
        for (size_t r = 0; r < b->config.count; r++)
            for (int s = 0; s < b->config.seeds; s++)
                for (int p = 0; p < WK_BENCHMARK_POINTS; p++)
                    wk_text_printf(&text, "%s,%s,%d,%d,%.17g\n", wk_rule_benchmark_scenario_name(k),
                                   b->config.rules[r]->name, s, wk_rule_benchmark_episodes(b, p),
                                   wk_rule_benchmark_curve(b, k, r, s)[p]);
    return wk_file_write_text(NULL, path, &text, err);
}

// Curves of the rules in one scenario, as many as there are styles.
static wk_status write_scenario(const wk_rule_benchmark *b, size_t scenario, const char *folder,
                                wk_error *err)
{
    enum { POINTS = WK_BENCHMARK_POINTS };
    double x[POINTS], y[WK_PLOT_STYLES][POINTS] = {0};
    wk_plot_series series[WK_PLOT_STYLES];
    size_t shown = 0;
    // Where not all fit, the oracles of the paper and what is close to a neighbour are left out.
    static const char *const first[] = {"dr",    "waker-m", "waker-r", "true-error",
                                        "accel", "sfl",     "ncc",     "traced"};
    for (size_t r = 0; r < b->config.count; r++) {
        bool chosen = b->config.count <= WK_PLOT_STYLES;
        for (size_t k = 0; k < sizeof first / sizeof *first; k++)
            chosen |= strcmp(first[k], b->config.rules[r]->name) == 0;
        if (!chosen || shown == WK_PLOT_STYLES) continue;
        series[shown] = (wk_plot_series){.name = b->config.rules[r]->name,
                                         .count = POINTS,
                                         .x = x,
                                         .y = y[shown],
                                         .style = (int)shown};
        for (int p = 0; p < POINTS; p++) {
            x[p] = wk_rule_benchmark_episodes(b, p);
            for (int s = 0; s < b->config.seeds; s++)
                y[shown][p] += wk_rule_benchmark_curve(b, scenario, r, s)[p] / b->config.seeds;
        }
        shown++;
    }
    char title[160];
    snprintf(title, sizeof title, "%s: %s", wk_rule_benchmark_scenario_name(scenario),
             wk_rule_benchmark_scenario_summary(scenario));
    wk_plot_lines plot = {.title = title,
                          .x = {.label = "episodes"},
                          .y = {.label = "learnable error, worst tenth", .log = true},
                          .series = series,
                          .count = shown};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_figure_save(figure, folder, wk_rule_benchmark_scenario_name(scenario), err);
}

// Every rule over all scenarios.
static wk_status write_bars(const wk_rule_benchmark *b, const char *folder, wk_error *err)
{
    wk_plot_bar bars[RULES_MAX];
    for (size_t r = 0; r < b->config.count; r++) {
        double mean = 0, sd = 0;
        WK_TRY(ratio_of(b, SIZE_MAX, r, &mean, &sd, err));
        bars[r] = (wk_plot_bar){b->config.rules[r]->name, mean, mean - sd, mean + sd, (int)r};
    }
    wk_plot_bars plot = {.title = "Learnable error of the worst tenth, all scenarios",
                         .axis = {.label = "ratio to dr, geometric mean ± s.d. over seeds"},
                         .bars = bars,
                         .count = b->config.count,
                         .has_reference = true,
                         .reference = 1};
    wk_figure *figure;
    WK_TRY(wk_plot_bars_draw(&plot, &figure, err));
    return wk_figure_save(figure, folder, "rules", err);
}

static wk_status write_files(const wk_rule_benchmark *b, const char *folder, wk_error *err)
{
    WK_TRY(wk_dir_create(folder, err));
    WK_TRY(write_curves(b, folder, err));
    for (size_t k = 0; k < wk_rule_benchmark_scenario_count(); k++)
        WK_TRY(write_scenario(b, k, folder, err));
    return write_bars(b, folder, err);
}

static wk_status show(const wk_rule_benchmark *b, const bench_values *v, wk_error *err)
{
    wk_text text = {0};
    if (v->out) WK_TRY(write_files(b, v->out, err));
    wk_status status = v->json ? print_json(b, &text, err) : print_text(b, &text, err);
    return wk_cli_print_if(status, &text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const bench_values *v = values;
    const wk_curriculum_rule *rules[RULES_MAX];
    wk_rule_benchmark_config config = {
        .rules = rules, .episodes = v->episodes, .seeds = v->seeds, .seed = v->seed.value};
    wk_rule_benchmark benchmark = {0};
    wk_pool *pool = NULL;
    WK_TRY(choose_rules(v->rules, rules, &config.count, err));
    WK_TRY(wk_pool_create(cli->threads, &pool, err));
    wk_status status = wk_rule_benchmark_run(&config, pool, &benchmark, err);
    if (status == WK_OK) status = show(&benchmark, v, err);
    wk_rule_benchmark_free(&benchmark);
    wk_pool_destroy(pool);
    return status;
}

const wk_command wk_command_bench_rules = {
    .name = "bench curriculum",
    .summary = "Compare curriculum rules on environments with known learning curves",
    .usage = "bench curriculum [--rules NAME,...] [--episodes N] [--seeds N] [--out DIR] [--json]",
    .details =
        "Nothing is trained: in six scenarios, the error of each environment of a grid falls\n"
        "with the episodes spent there and nearby, and the rules see noisy estimates of it.\n"
        "Results depend on the options alone, not on --threads.\n",
    .examples = "bench curriculum --out bench-curriculum\n"
                "bench curriculum --rules waker-m,waker-r,plr --seeds 30",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
