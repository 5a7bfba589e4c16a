// A report on the terminal: as text and as JSON.
#include "report/report_tables.h"

#include "base/text.h"

#include <inttypes.h>

// Names of users are in it: they must not steer the terminal.
static void put_line(wk_text *out, const char *before, const char *sentence)
{
    size_t start = out->length;
    wk_text_printf(out, "  %s%s", before, sentence);
    if (!out->failed) wk_utf8_sanitise(out->chars + start, false);
    wk_text_puts(out, "\n");
}

void wk_report_text(const wk_report *report, wk_text *out)
{
    for (size_t i = 0; i < report->findings.items.count; i++)
        put_line(out, "", report->findings.items.items[i]);
    if (report->findings.items.count) wk_text_puts(out, "\n");
    for (int i = 0; i < WK_REPORT_TABLES; i++) {
        wk_text_table table = {0};
        wk_report_table(report, i, false, &table);
        if (!wk_text_table_is_empty(&table)) {
            wk_text_table_plain(&table, out);
            wk_text_puts(out, "\n");
        }
        wk_text_table_free(&table);
    }
    size_t problems = report->runs.problems.count, missing = report->missing.items.count;
    size_t remarks = report->remarks.items.count;
    if (remarks > 0) wk_text_puts(out, "Remarks\n");
    for (size_t i = 0; i < remarks; i++)
        put_line(out, "", report->remarks.items.items[i]);
    if (problems + missing > 0) wk_text_puts(out, "Missing\n");
    for (size_t i = 0; i < problems; i++)
        put_line(out, "left out: ", report->runs.problems.items[i]);
    for (size_t i = 0; i < missing; i++)
        put_line(out, "", report->missing.items.items[i]);
}

static void json_key(wk_json *json, const wk_result_key *key)
{
    for (int f = 0; f < WK_FIELD_CURRICULUM; f++)
        wk_json_string(json, f == WK_FIELD_VARIANT ? "variant" : wk_field_name((wk_field)f),
                       key->names[f]);
}

static void json_entry(wk_json *json, const wk_table_row *row, const char *curriculum,
                       const wk_table_entry *entry)
{
    wk_json_object(json, NULL);
    json_key(json, &row->key);
    wk_json_string(json, "curriculum", curriculum);
    wk_json_integer(json, "seeds", (int64_t)entry->seeds);
    if (entry->seeds) {
        wk_json_number(json, "mean", entry->mean);
        wk_json_number(json, "sd", entry->sd);
        wk_json_bool(json, "best", entry->best);
    }
    if (entry->paper) {
        wk_json_number(json, "paper_mean", entry->paper->mean);
        wk_json_number(json, "paper_sd", entry->paper->sd);
    }
    wk_json_close(json, '}');
}

static void json_scores(wk_json *json, const wk_report *report)
{
    wk_json_array(json, "scores");
    for (int t = 0; t < WK_TABLES; t++) {
        const wk_score_table *table = &report->tables[t];
        for (size_t r = 0; r < table->rows.count; r++)
            for (size_t c = 0; c < table->columns; c++)
                json_entry(json, &table->rows.items[r], table->curricula[c],
                           &table->rows.items[r].entries[c]);
    }
    wk_json_close(json, ']');
}

static void json_group(wk_json *json, const wk_comparison_group *group)
{
    wk_json_string(json, "metric", group->metric);
    wk_json_string(json, "exploration", group->exploration);
    wk_json_bool(json, "combined", group->combined);
}

static void json_estimate(wk_json *json, const char *name, const wk_estimate *e)
{
    wk_json_number(json, name, e->value);
    wk_json_number(json, "low", e->low);
    wk_json_number(json, "high", e->high);
}

static void json_comparison(wk_json *json, const wk_comparison *comparison)
{
    wk_json_array(json, "improvements");
    for (size_t i = 0; i < comparison->improvements.count; i++) {
        const wk_improvement *p = &comparison->improvements.items[i];
        wk_json_object(json, NULL);
        json_group(json, &p->group);
        wk_json_string(json, "x", p->x);
        wk_json_string(json, "y", p->y);
        json_estimate(json, "probability", &p->estimate);
        wk_json_integer(json, "tasks", (int64_t)p->tasks);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
    wk_json_array(json, "standings");
    for (size_t i = 0; i < comparison->ranking.count; i++) {
        const wk_curriculum_score *s = &comparison->ranking.items[i];
        wk_json_object(json, NULL);
        json_group(json, &s->group);
        wk_json_string(json, "curriculum", s->curriculum);
        json_estimate(json, "iqm", &s->iqm);
        wk_json_integer(json, "tasks", (int64_t)s->tasks);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void json_errors(wk_json *json, const wk_model_errors *errors)
{
    static const char *const keys[WK_ERROR_STATISTICS] = {"mean", "cvar_0.1", "estimate_mean",
                                                          "rank_correlation"};
    wk_json_array(json, "model_errors");
    for (size_t i = 0; i < errors->items.count; i++) {
        const wk_error_entry *e = &errors->items.items[i];
        wk_json_object(json, NULL);
        wk_json_string(json, "domain", e->domain);
        wk_json_string(json, "exploration", e->exploration);
        wk_json_string(json, "policy", e->policy);
        wk_json_string(json, "curriculum", e->curriculum);
        wk_json_integer(json, "seeds", (int64_t)e->seeds);
        for (int f = 0; f < WK_ERROR_STATISTICS; f++)
            wk_json_number(json, keys[f], e->mean[f]);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void json_runs(wk_json *json, const wk_runs *runs)
{
    wk_json_array(json, "runs");
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        wk_json_object(json, NULL);
        wk_json_string(json, "directory", run->directory);
        wk_json_string(json, "domain", run->domain);
        wk_json_string(json, "curriculum", run->curriculum);
        wk_json_string(json, "exploration", run->exploration);
        wk_json_string(json, "method", run->method);
        wk_json_integer(json, "seed", (int64_t)run->seed);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

void wk_report_json(const wk_report *report, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    json_runs(&json, &report->runs);
    json_scores(&json, report);
    json_comparison(&json, &report->comparison);
    json_errors(&json, &report->errors);
    wk_json_array(&json, "figures");
    for (size_t i = 0; i < report->figures.items.count; i++)
        wk_json_string(&json, NULL, report->figures.items.items[i].name);
    wk_json_close(&json, ']');
    const struct {
        const char *key;
        const char *const *items;
        size_t count;
    } lists[] = {
        {"findings", (const char *const *)report->findings.items.items,
         report->findings.items.count},
        {"remarks", (const char *const *)report->remarks.items.items, report->remarks.items.count},
        {"problems", report->runs.problems.items, report->runs.problems.count},
        {"missing", (const char *const *)report->missing.items.items, report->missing.items.count}};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        wk_json_array(&json, lists[k].key);
        for (size_t i = 0; i < lists[k].count; i++)
            wk_json_string(&json, NULL, lists[k].items[i]);
        wk_json_close(&json, ']');
    }
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}
