// waker curriculum: what a run's curriculum does: which environments it visits, how large the
// model's error is there, and what it will choose next. Reads the newest checkpoint, also while the
// run goes on. With --rules, what the rules are.
#include "base/table.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "plot/heatmap.h"
#include "run/saved_run.h"
#include "waker/stats.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct curriculum_values {
    bool json, rules;
    const char *out;
    int top;
} curriculum_values;

static const curriculum_values defaults = {.top = 5};

#define WK_VALUES curriculum_values
static const wk_arg args[] = {
    WK_OPT_FLAG("rules", rules, "explain all curriculum rules; no run is needed"),
    WK_OPT_PATH("out", out, "FILE.png", "also write the maps as an image"),
    WK_OPT_INT("top", top, "N",
               "how many of the most and least likely environments to list (default: 5)", 0,
               1000000),
    WK_OPT_FLAG("json", json, "print JSON: the numbers of every environment, or the rules"),
};

// One θ with its values.
typedef struct row {
    size_t index;
    double probability, error;
    uint64_t visits;
} row;

static int compare_rows(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->probability != y->probability) return x->probability < y->probability ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

// Statistics over the environments.
typedef struct summary {
    size_t visited, known;
    double mean, worst; // error of all, and of the worst 10 %
    double expected;    // mean error under the curriculum's distribution
} summary;

// Rows of all environments, the most probable first, and their statistics.
static wk_status list_rows(const wk_saved_run *run, row **out, size_t *count, summary *f,
                           wk_error *err)
{
    const wk_curriculum *c = run->curriculum;
    wk_curriculum_view view = wk_curriculum_get_view(c);
    row *rows = malloc(view.count * sizeof *rows);
    double *numbers = malloc(view.count * sizeof *numbers), mass = 0; // probabilities, then errors
    wk_status status = WK_OK;
    *f = (summary){0};
    *out = rows;
    *count = view.count;
    if (!rows || !numbers) {
        free(numbers);
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu environments", view.count);
    }
    wk_curriculum_distribution(c, numbers);
    for (size_t i = 0; i < view.count; i++)
        rows[i] = (row){i, numbers[i], view.error[i], view.visits[i]};
    qsort(rows, view.count, sizeof *rows, compare_rows);

    for (size_t i = 0; i < view.count; i++) {
        f->visited += rows[i].visits > 0;
        if (isnan(rows[i].error)) continue;
        numbers[f->known++] = rows[i].error;
        f->expected += rows[i].probability * rows[i].error;
        mass += rows[i].probability;
    }
    f->expected /= mass;
    f->mean = wk_stats_mean(numbers, f->known);
    f->worst = NAN;
    if (f->known > 0) status = wk_stats_cvar(numbers, f->known, 0.1, WK_WORST_HIGH, &f->worst, err);
    free(numbers);
    return status;
}

enum { COLUMNS_MAX = WK_PARAMS_MAX + 5 };

// A row for each environment: for people θ in one cell, for programs each parameter.
static void fill_table(const wk_saved_run *run, const row *rows, size_t count, const char *heading,
                       wk_column columns[COLUMNS_MAX], wk_table *table)
{
    const wk_domain *domain = run->world.domain;
    size_t n = 0;
    columns[n++] = (wk_column){WK_COLUMN_TEXT, NULL, heading, NULL, 0};
    for (int p = 0; p < domain->n_params; p++)
        columns[n++] = (wk_column){WK_COLUMN_NUMBER, domain->params[p].name, NULL, NULL, 0};
    columns[n++] = (wk_column){WK_COLUMN_NUMBER, "probability", "probability", "%.3f %%", 100};
    columns[n++] = (wk_column){WK_COLUMN_NUMBER, "default_probability", "under DR", "%.3f %%", 100};
    columns[n++] = (wk_column){WK_COLUMN_NUMBER, "error", "error", "%.4g", 0};
    columns[n++] = (wk_column){WK_COLUMN_NUMBER, "episodes", "episodes", NULL, 0};
    wk_table_start(table, columns, n);
    for (size_t i = 0; i < count; i++) {
        const double *theta = wk_space_params(run->space, rows[i].index);
        wk_text text = {0};
        wk_theta_text(domain, theta, &text);
        wk_table_cell(table, "%s", wk_text_get(&text));
        table->failed |= text.failed;
        wk_text_free(&text);
        for (int p = 0; p < domain->n_params; p++)
            wk_table_number(table, theta[p]);
        wk_table_number(table, rows[i].probability);
        wk_table_number(table, wk_space_probability(run->space, rows[i].index));
        wk_table_number(table, rows[i].error);
        wk_table_unsigned(table, rows[i].visits);
    }
}

static void print_text(const wk_saved_run *run, const wk_heatmap *map, const row *rows,
                       size_t count, const summary *f, int top, wk_text *out)
{
    wk_text_printf(out,
                   "%s, %s, at agent step %" PRIu64 " (control step %" PRIu64 "): %" PRIu64
                   " episode%s in %zu of %zu environment%s\n",
                   run->directory, wk_curriculum_get_rule(run->curriculum)->name,
                   run->summary.counters.steps,
                   run->summary.counters.steps * (uint64_t)run->world.domain->action_repeat,
                   run->summary.counters.episodes, wk_plural(run->summary.counters.episodes),
                   f->visited, count, wk_plural(count));
    if (f->known > 0)
        wk_text_printf(
            out, "error estimate: mean %.4g, worst 10 %% %.4g, expected at the next choice %.4g\n",
            f->mean, f->worst, f->expected);
    wk_text_puts(out, "\n");
    wk_heatmap_text(map, out);
    size_t most = (size_t)top < count ? (size_t)top : count;
    size_t least = count - most < most ? count - most : most;
    wk_column columns[COLUMNS_MAX];
    wk_table table;
    if (most == 0) return;
    fill_table(run, rows, most, "most likely next", columns, &table);
    wk_table_finish(&table, 0, out);
    if (least == 0) return;
    wk_text_puts(out, "\n");
    fill_table(run, rows + count - least, least, "least likely next", columns, &table);
    wk_table_finish(&table, 0, out);
}

static void print_json(const wk_saved_run *run, const row *rows, size_t count, const summary *f,
                       wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "run", run->directory);
    wk_json_string(&json, "domain", run->world.domain->name);
    wk_json_string(&json, "rule", wk_curriculum_get_rule(run->curriculum)->name);
    wk_json_integer(&json, "step", (int64_t)run->summary.counters.steps);
    wk_json_integer(&json, "episodes", (int64_t)run->summary.counters.episodes);
    wk_json_integer(&json, "visited", (int64_t)f->visited);
    wk_json_number(&json, "mean_error", f->mean);
    wk_json_number(&json, "worst_10_percent_error", f->worst);
    wk_json_number(&json, "expected_error", f->expected);
    wk_column columns[COLUMNS_MAX];
    wk_table table;
    fill_table(run, rows, count, NULL, columns, &table);
    wk_table_json(&table, "environments", &json);
    wk_table_free(&table);
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}

static wk_status show(const wk_saved_run *run, const curriculum_values *v, wk_error *err)
{
    row *rows = NULL;
    size_t count = 0;
    summary f = {0};
    wk_heatmap map = {0};
    wk_text text = {0};
    wk_status status = list_rows(run, &rows, &count, &f, err);
    if (status == WK_OK)
        status = wk_heatmap_create(run->world.domain, run->space, run->curriculum, &map, err);
    if (status == WK_OK && v->out) status = wk_heatmap_write(&map, v->out, err);
    if (status == WK_OK && v->json)
        print_json(run, rows, count, &f, &text);
    else if (status == WK_OK)
        print_text(run, &map, rows, count, &f, v->top, &text);
    wk_heatmap_free(&map);
    free(rows);
    return status == WK_OK ? wk_cli_print(&text, err) : status;
}

static void needs_text(const wk_curriculum_rule *rule, wk_text *out)
{
    static const struct {
        unsigned need;
        const char *text;
    } needs[] = {{WK_NEEDS_TIMES, "when θ were visited"},
                 {WK_NEEDS_RETURNS, "returns and completion of episodes"},
                 {WK_NEEDS_MODEL_ERROR, "prediction errors in episodes"}};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (rule->needs & needs[i].need)
            wk_text_printf(out, "%s%s", out->length ? ", " : "", needs[i].text);
}

static void list_rules(wk_text *out)
{
    wk_text_puts(
        out, "δ: error estimate, δ̄: its moving average, Δ̄: its reduction, e: error of predicted\n"
             "images, z: normalised over the known θ, η: curriculum.temperature. Unless a rule\n"
             "says 'always', curriculum.dr_probability of the episodes come from p_DR.\n");
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        wk_text needs = {0};
        needs_text(rule, &needs);
        wk_text_printf(out, "\n%s%s: %s\n  chooses  %s\n  source   %s\n", rule->name,
                       rule->always ? " (always)" : "", rule->summary, rule->formula, rule->source);
        if (needs.length > 0) wk_text_printf(out, "  needs    %s\n", wk_text_get(&needs));
        wk_text_free(&needs);
    }
}

static void json_rules(wk_text *out)
{
    static const wk_column columns[] = {WK_COLUMN_KEY("name"),    WK_COLUMN_KEY("summary"),
                                        WK_COLUMN_KEY("chooses"), WK_COLUMN_KEY("source"),
                                        WK_COLUMN_KEY("needs"),   WK_COLUMN_KEY("always")};
    wk_table table;
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        wk_text needs = {0};
        needs_text(rule, &needs);
        wk_table_text(&table, rule->name);
        wk_table_text(&table, rule->summary);
        wk_table_text(&table, rule->formula);
        wk_table_text(&table, rule->source);
        wk_table_text(&table, wk_text_get(&needs));
        wk_table_bool(&table, rule->always);
        wk_text_free(&needs);
    }
    wk_table_json(&table, NULL, &(wk_json){.text = out});
    wk_table_free(&table);
    wk_text_puts(out, "\n");
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const curriculum_values *v = values;
    if (v->rules != (cli->words.count == 0))
        return wk_fail(err, WK_E_INPUT,
                       v->rules ? "give a run or --rules, not both"
                                : "a run is required: give its directory, or --rules");
    if (v->rules) {
        wk_text text = {0};
        (v->json ? json_rules : list_rules)(&text);
        return wk_cli_print(&text, err);
    }
    if (v->out && !wk_path_ends_in(v->out, ".png"))
        return wk_fail(err, WK_E_INPUT, "--out '%s': the name must end in .png", v->out);
    wk_saved_run saved = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CURRICULUM, .own_tasks = true};
    wk_cli_warn_older(cli, cli->words.items[0]);
    wk_status status = wk_saved_run_open(cli->words.items[0], &options, &saved, err);
    if (status == WK_OK) status = show(&saved, v, err);
    wk_saved_run_close(&saved);
    return status;
}

const wk_command wk_command_curriculum = {
    .name = "curriculum",
    .summary = "Show which environments a run visits, their errors, and what it will choose next",
    .usage = "curriculum RUN|--rules [--out FILE.png] [--top N] [--json]",
    .details =
        "Prints maps of episodes, error and probability over the parameters, from the newest\n"
        "checkpoint; the run may still be training. The first parameter makes the rows, the rest\n"
        "the columns (their sum if there are several); combined spaces have a panel for each\n"
        "domain. Shades go from '.' (lowest) to '@' (highest), in the image from dark blue to\n"
        "yellow; grids with more than 12 columns have shades only.\n",
    .examples = "curriculum runs/a --out runs/a/curriculum.png\n"
                "curriculum --rules",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {0, 1},
    .run = run,
};
