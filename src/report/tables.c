// The tables of comparisons, model errors, settings and runs.
#include "report/tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put_group(wk_report_table *t, const wk_comparison_group *group)
{
    wk_cells_row(t, WK_SEE_ALL);
    wk_cells_show(t, WK_SEE_PEOPLE, "metric", "%s%s", group->metric,
                  group->combined ? " (combined)" : "");
    wk_cells_text(t, WK_SEE_PROGRAMS, "metric", group->metric);
    wk_cells_text(t, WK_SEE_ALL, "exploration", group->exploration);
    wk_cells_truth(t, WK_SEE_PROGRAMS, "combined", group->combined);
}

static void put_estimate(wk_report_table *t, const char *shown, const char *head,
                         const wk_estimate *e, bool best)
{
    for (int view = WK_SEE_PAGE; view <= WK_SEE_TEXT; view *= 2)
        wk_cells_show(t, view, shown, "%.3f", e->value)->best = best;
    wk_cells_show(t, WK_SEE_PEOPLE, "interval", "%.3f to %.3f", e->low, e->high);
    wk_cells_number(t, WK_SEE_PROGRAMS, head, e->value);
    wk_cells_number(t, WK_SEE_PROGRAMS, "low", e->low);
    wk_cells_number(t, WK_SEE_PROGRAMS, "high", e->high);
}

static void caption(wk_report_table *t, const char *title, size_t heads, const char *text)
{
    t->title = title;
    t->page.heads = t->text.heads = heads;
    t->page.caption = t->text.caption = text;
}

static void fill_improvement(wk_report_table *t, const wk_comparison *comparison)
{
    caption(t, "Probability of improvement", 4,
            "How likely a run of X scores higher than one of Y, averaged over tasks, with its 95 % "
            "stratified bootstrap interval; marked: the interval lies above 0.5 and there are at "
            "least 4 runs of each. Runs: the fewest of a task.");
    for (size_t i = 0; i < comparison->improvements.count; i++) {
        const wk_improvement *p = &comparison->improvements.items[i];
        put_group(t, &p->group);
        wk_cells_text(t, WK_SEE_PEOPLE, "X", p->x);
        wk_cells_text(t, WK_SEE_PEOPLE, "Y", p->y);
        wk_cells_text(t, WK_SEE_PROGRAMS, "x", p->x);
        wk_cells_text(t, WK_SEE_PROGRAMS, "y", p->y);
        put_estimate(t, "P(X>Y)", "probability", &p->estimate,
                     wk_improvement_is_claimed(&p->estimate, p->min_runs));
        wk_cells_count(t, WK_SEE_ALL, "tasks", p->tasks);
        wk_cells_count(t, WK_SEE_PEOPLE | WK_SEE_CSV, "runs", p->min_runs);
    }
}

static void fill_ranking(wk_report_table *t, const wk_comparison *comparison)
{
    caption(t, "Interquartile means", 3,
            "Mean of the middle half of all scores, each divided by the highest that any run has "
            "on its task, with its 95 % stratified bootstrap interval. Runs: the most of a task.");
    for (size_t i = 0; i < comparison->ranking.count; i++) {
        const wk_method_score *s = &comparison->ranking.items[i];
        put_group(t, &s->group);
        wk_cells_text(t, WK_SEE_PEOPLE, "method", s->method);
        wk_cells_text(t, WK_SEE_PROGRAMS, "curriculum", s->method);
        put_estimate(t, "IQM", "iqm", &s->iqm, false);
        wk_cells_count(t, WK_SEE_ALL, "tasks", s->tasks);
        wk_cells_count(t, WK_SEE_PEOPLE | WK_SEE_CSV, "runs", s->runs);
    }
}

const char *wk_error_statistic_name(wk_error_statistic statistic)
{
    static const char *const names[WK_ERROR_STATISTICS] = {"mean", "CVaR 0.1", "estimate",
                                                           "rank correlation"};
    return names[statistic];
}

size_t wk_error_statistic_of(const wk_report_rows *errors, size_t first, size_t end,
                             wk_error_statistic statistic, double *mean, double *sd)
{
    enum { SEEDS_MAX = 1024 };
    double values[SEEDS_MAX];
    size_t known = 0, seeds = 0;
    for (size_t i = first; i < end; i++) {
        const wk_result *r = errors->items.items[i].result;
        const double all[WK_ERROR_STATISTICS] = {r->mean, r->worst_tenth, r->estimate,
                                                 r->correlation};
        seeds += errors->items.items[i].final;
        if (errors->items.items[i].final && !isnan(all[statistic]) && known < SEEDS_MAX)
            values[known++] = all[statistic];
    }
    *mean = wk_stats_mean(values, known);
    *sd = wk_stats_sd(values, known);
    return seeds;
}

static void fill_model_errors(wk_report_table *t, const wk_report_rows *errors)
{
    static const struct {
        const char *csv, *csv_sd, *json;
    } heads[WK_ERROR_STATISTICS] = {{"mean", "mean_sd", "mean"},
                                    {"cvar", "cvar_sd", "cvar_0.1"},
                                    {"estimate", "estimate_sd", "estimate_mean"},
                                    {"correlation", "correlation_sd", "rank_correlation"}};
    caption(t, "Model errors", 4,
            "Squared error of the images predicted one step ahead, in environments from the "
            "default distribution: mean ± s.d. over seeds (population s.d.), number of seeds in "
            "parentheses; the ensemble's own estimate, and how well it ranks the environments.");
    for (size_t first = 0, end; first < errors->items.count; first = end) {
        const wk_report_row *row = &errors->items.items[first];
        double mean[WK_ERROR_STATISTICS], sd[WK_ERROR_STATISTICS];
        size_t seeds = 0;
        end = wk_rows_end(errors, first, WK_FIELDS);
        for (int s = 0; s < WK_ERROR_STATISTICS; s++)
            seeds =
                wk_error_statistic_of(errors, first, end, (wk_error_statistic)s, &mean[s], &sd[s]);
        if (seeds == 0) continue;
        wk_cells_row(t, WK_SEE_ALL);
        wk_cells_text(t, WK_SEE_ALL, "domain", row->run->domain);
        wk_cells_text(t, WK_SEE_ALL, "exploration", row->run->exploration);
        wk_cells_text(t, WK_SEE_ALL, "policy", row->result->policy);
        wk_cells_text(t, WK_SEE_PEOPLE, "method", row->run->method);
        wk_cells_text(t, WK_SEE_PROGRAMS, "curriculum", row->run->method);
        wk_cells_count(t, WK_SEE_PROGRAMS, "seeds", seeds);
        for (int s = 0; s < WK_ERROR_STATISTICS; s++) {
            const char *head = wk_error_statistic_name((wk_error_statistic)s);
            if (isnan(mean[s]))
                wk_cells_show(t, WK_SEE_PEOPLE, head, "-");
            else if (seeds == 1) // one number has no spread
                wk_cells_show(t, WK_SEE_PEOPLE, head, "%.4g (1)", mean[s]);
            else
                wk_cells_show(t, WK_SEE_PEOPLE, head, "%.4g ± %.2g (%zu)", mean[s], sd[s], seeds);
            wk_cells_number(t, WK_SEE_CSV, heads[s].csv, mean[s]);
            wk_cells_number(t, WK_SEE_CSV, heads[s].csv_sd, sd[s]);
            wk_cells_number(t, WK_SEE_JSON, heads[s].json, mean[s]);
        }
    }
}

// "600", or "600 or 96" of a label that pools runs; "" where runs [first, end) lack the method.
static const char *setting_values(wk_report_table *t, wk_report_run *const *runs, size_t first,
                                  size_t end, const char *method, int field)
{
    const char *out = "";
    for (size_t i = first; i < end; i++) {
        bool known = strcmp(runs[i]->method, method) != 0;
        for (size_t k = first; k < i && !known; k++)
            known = strcmp(runs[k]->method, method) == 0 &&
                    wk_run_config_same(&runs[k]->config, &runs[i]->config, field);
        if (!known)
            out = wk_report_printf(t->memory, "%s%s%s", out, *out ? " or " : "",
                                   wk_run_setting(t->memory, runs[i], field));
    }
    return out;
}

// One row for each setting that differs among runs of one domain and exploration, one column for
// each method; in WK_SEE_CSV one line for each setting and method. No rows where remarks spell them
// out.
static void fill_settings(wk_report_table *t, const wk_runs *runs)
{
    wk_report_run *const *items = runs->items.items;
    WK_ARRAY(const char *) methods = {0};
    bool differs[WK_RUN_FIELD_COUNT];
    if (!wk_runs_differ_in_many(runs)) return;
    caption(t, "Settings of the methods", 3,
            "The settings in which runs of one domain and exploration differ, other than the "
            "seed.");
    for (size_t i = 0; i < runs->items.count; i++) {
        size_t m = 0;
        while (m < methods.count && strcmp(methods.items[m], items[i]->method) != 0)
            m++;
        if (m == methods.count) wk_report_push(t->memory, &methods, items[i]->method);
    }
    for (size_t first = 0, end; first < runs->items.count; first = end) {
        const wk_report_run *run = items[first];
        end = wk_runs_group_end(runs, first);
        wk_runs_differing(runs, run, differs);
        for (int field = 0; field < WK_RUN_FIELD_COUNT; field++) {
            if (!differs[field]) continue;
            wk_cells_row(t, WK_SEE_PEOPLE);
            wk_cells_text(t, WK_SEE_PEOPLE, "domain", run->domain);
            wk_cells_text(t, WK_SEE_PEOPLE, "exploration", run->exploration);
            wk_cells_text(t, WK_SEE_PEOPLE, "setting", wk_run_keys[field]);
            for (size_t m = 0; m < methods.count; m++) {
                const char *method = methods.items[m];
                const char *value = setting_values(t, items, first, end, method, field);
                wk_cells_text(t, WK_SEE_PEOPLE, method, *value ? value : "-");
                if (!*value) continue;
                wk_cells_row(t, WK_SEE_CSV);
                wk_cells_text(t, WK_SEE_CSV, "domain", run->domain);
                wk_cells_text(t, WK_SEE_CSV, "exploration", run->exploration);
                wk_cells_text(t, WK_SEE_CSV, "setting", wk_run_keys[field]);
                wk_cells_text(t, WK_SEE_CSV, "method", method);
                wk_cells_text(t, WK_SEE_CSV, "value", value);
            }
        }
    }
}

// One row for each run: method, seed, directory, how far it was evaluated, and the settings that
// differ; in WK_SEE_CSV all settings.
static void fill_runs(wk_report_table *t, const wk_runs *runs)
{
    bool differs[WK_RUN_FIELD_COUNT];
    bool many = wk_runs_differ_in_many(runs); // then the table of settings has them
    wk_runs_differing(runs, NULL, differs);
    caption(t, "Runs", 4,
            wk_report_printf(
                t->memory,
                "Runs are seeds of one method when all settings that shape what is learned agree. "
                "Agent steps: the last ones with scores; control steps: what the simulator did in "
                "them. %s",
                many ? "runs.csv has all settings of every run."
                     : "Behind them: the settings that differ; runs.csv has all of them."));
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        // Control steps are known of built-in domains: reading a run loads no code.
        const wk_domain *domain;
        bool known = wk_domain_find(run->domain, &domain, NULL) == WK_OK, scored = false;
        uint64_t last = 0;
        for (size_t k = 0; k < run->results.count; k++) {
            const wk_result *r = &run->results.items[k];
            if (r->kind != WK_RESULT_SCORE) continue;
            scored = true;
            if (r->step > last) last = r->step;
        }
        wk_cells_row(t, WK_SEE_PEOPLE | WK_SEE_PROGRAMS);
        wk_cells_text(t, WK_SEE_PEOPLE, "domain", run->domain);
        wk_cells_text(t, WK_SEE_PEOPLE, "exploration", run->exploration);
        wk_cells_text(t, WK_SEE_PEOPLE, "method", run->method);
        wk_cells_count(t, WK_SEE_PEOPLE, "seed", run->seed);
        wk_cells_show(t, WK_SEE_PEOPLE, "agent steps", scored ? "%" PRIu64 : "-", last);
        wk_cells_show(t, WK_SEE_PEOPLE, "control steps", scored && known ? "%" PRIu64 : "-",
                      known ? last * (uint64_t)domain->action_repeat : 0);
        for (int field = 0; field < WK_RUN_FIELD_COUNT; field++)
            if (differs[field] && !many)
                wk_cells_text(t, WK_SEE_PEOPLE, wk_run_keys[field],
                              wk_run_setting(t->memory, run, field));
        wk_cells_text(t, WK_SEE_PEOPLE | WK_SEE_CSV, "run", run->directory);
        wk_cells_text(t, WK_SEE_CSV, "method", run->method);
        wk_cells_count(t, WK_SEE_CSV, "agent_steps", last);
        for (int field = 0; field < WK_RUN_FIELD_COUNT; field++) {
            wk_text value = {0};
            wk_run_config_get(&run->config, field, &value);
            wk_cells_text(t, WK_SEE_CSV, wk_run_keys[field], wk_report_take(t->memory, &value));
        }
        wk_cells_text(t, WK_SEE_JSON, "directory", run->directory);
        wk_cells_text(t, WK_SEE_JSON, "domain", run->domain);
        wk_cells_text(t, WK_SEE_JSON, "curriculum", run->curriculum);
        wk_cells_text(t, WK_SEE_JSON, "exploration", run->exploration);
        wk_cells_text(t, WK_SEE_JSON, "method", run->method);
        wk_cells_count(t, WK_SEE_JSON, "seed", run->seed);
    }
}

void wk_report_table_fill(const wk_table_data *data, wk_table_kind kind, wk_report_table *out)
{
    static const char *const names[WK_TABLES] = {[WK_TABLE_IMPROVEMENT] = "improvement",
                                                 [WK_TABLE_RANKING] = "iqm",
                                                 [WK_TABLE_MODEL_ERRORS] = "model-error",
                                                 [WK_TABLE_SETTINGS] = "settings",
                                                 [WK_TABLE_RUNS] = "runs"};
    *out = (wk_report_table){.memory = &data->runs->memory, .name = names[kind]};
    if (kind < WK_SCORE_TABLES) {
        wk_score_table_fill(kind, &data->scores[kind], out);
        // Of one task the mean over tasks is that task's: people see the table once.
        if (kind == WK_TABLE_OOD_TASKS &&
            data->scores[kind].rows == data->scores[WK_TABLE_OOD].rows)
            out->page = out->text = (wk_report_view){0};
    } else if (kind == WK_TABLE_IMPROVEMENT)
        fill_improvement(out, data->comparison);
    else if (kind == WK_TABLE_RANKING)
        fill_ranking(out, data->comparison);
    else if (kind == WK_TABLE_MODEL_ERRORS)
        fill_model_errors(out, data->errors);
    else if (kind == WK_TABLE_SETTINGS)
        fill_settings(out, data->runs);
    else
        fill_runs(out, data->runs);
}

void wk_report_scores_csv(const wk_report_rows *scores, bool tables_only, wk_text *out)
{
    wk_text_puts(out, "metric,domain,variant,task,exploration,curriculum,seed,step,policy,episodes,"
                      "eval_seed,value,in_tables,run\n");
    for (size_t i = 0; i < scores->items.count; i++) {
        const wk_report_row *row = &scores->items.items[i];
        const wk_result *r = row->result;
        if (strcmp(row->key.names[WK_FIELD_METRIC], WK_METRIC_OOD_TASKS) == 0 ||
            (tables_only && !row->final))
            continue;
        for (int f = 0; f < WK_FIELDS; f++) {
            wk_csv_field(out, row->key.names[f]);
            wk_text_puts(out, ",");
        }
        wk_text_printf(out, "%" PRIu64 ",%" PRIu64 ",", r->seed, r->step);
        wk_csv_field(out, r->policy);
        wk_text_printf(out, ",%" PRIu64 ",%" PRIu64 ",%.17g,%d,", r->episodes, r->eval_seed,
                       row->value, row->final);
        wk_csv_field(out, row->run->directory);
        wk_text_puts(out, "\n");
    }
}
