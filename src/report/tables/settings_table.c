#include "report/tables/settings_table.h"

#include "report/data/methods.h"
#include <stdlib.h>
#include <string.h>

// The names of the methods, each once, in the order of the runs; NULL without memory.
static const char **find_methods(const wk_runs *runs, size_t *count)
{
    const char **methods = calloc(runs->items.count + 1, sizeof *methods);
    *count = 0;
    for (size_t i = 0; methods && i < runs->items.count; i++) {
        size_t k = 0;
        while (k < *count && strcmp(methods[k], runs->items.items[i]->method) != 0)
            k++;
        if (k == *count) methods[(*count)++] = runs->items.items[i]->method;
    }
    return methods;
}

// Runs [first, end) are of one domain and exploration.
typedef struct group {
    const wk_runs *runs;
    size_t first, end;
} group;

static bool differs(const group *g, int field)
{
    wk_report_run *const *runs = g->runs->items.items;
    for (size_t i = g->first; wk_setting_counts(field) && i < g->end; i++)
        if (!wk_run_config_same(&runs[i]->config, &runs[g->first]->config, field)) return true;
    return false;
}

// "600", or "600 or 96" of a label that pools runs; nothing where the group lacks the method.
static void put_values(const group *g, const char *method, int field, wk_text *out)
{
    wk_report_run *const *runs = g->runs->items.items;
    for (size_t i = g->first; i < g->end; i++) {
        bool known = strcmp(runs[i]->method, method) != 0;
        for (size_t k = g->first; k < i && !known; k++)
            known = strcmp(runs[k]->method, method) == 0 &&
                    wk_run_config_same(&runs[k]->config, &runs[i]->config, field);
        if (known) continue;
        if (out->length) wk_text_puts(out, " or ");
        wk_run_setting(runs[i], field, out);
    }
}

static void add_row(const group *g, const char *const *methods, size_t count, int field,
                    wk_text_table *out)
{
    const wk_report_run *run = g->runs->items.items[g->first];
    wk_text_table_add(out, false, "%s", run->domain);
    wk_text_table_add(out, false, "%s", run->exploration);
    wk_text_table_add(out, false, "%s", wk_run_keys[field]);
    for (size_t m = 0; m < count; m++) {
        wk_text value = {0};
        put_values(g, methods[m], field, &value);
        wk_text_table_add(out, false, "%s", value.length ? wk_text_get(&value) : "-");
        out->failed |= value.failed;
        wk_text_free(&value);
    }
}

void wk_settings_table(const wk_runs *runs, wk_text_table *out)
{
    size_t count;
    if (!wk_runs_differ_in_many(runs)) return;
    const char **methods = find_methods(runs, &count);
    if (!methods) {
        out->failed = true;
        return;
    }
    out->title = "Settings of the methods";
    wk_text_puts(&out->caption, "The settings in which runs of one domain and exploration differ, "
                                "other than the seed.");
    out->heads = 3;
    out->columns = out->heads + count;
    wk_text_table_add(out, false, "domain");
    wk_text_table_add(out, false, "exploration");
    wk_text_table_add(out, false, "setting");
    for (size_t m = 0; m < count; m++)
        wk_text_table_add(out, false, "%s", methods[m]);
    for (group g = {runs, 0, 0}; g.first < runs->items.count; g.first = g.end) {
        g.end = wk_runs_group_end(runs, g.first);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            if (differs(&g, f)) add_row(&g, methods, count, f, out);
    }
    free(methods);
}

static void put_csv_rows(const group *g, const char *method, int field, wk_text *out)
{
    const wk_report_run *run = g->runs->items.items[g->first];
    wk_text value = {0};
    put_values(g, method, field, &value);
    if (value.length) {
        const char *const cells[] = {run->domain, run->exploration, wk_run_keys[field], method,
                                     wk_text_get(&value)};
        for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
            if (i) wk_text_puts(out, ",");
            wk_csv_field(out, cells[i]);
        }
        wk_text_puts(out, "\n");
    }
    out->failed |= value.failed;
    wk_text_free(&value);
}

void wk_settings_table_csv(const wk_runs *runs, wk_text *out)
{
    size_t count;
    const char **methods = find_methods(runs, &count);
    out->failed |= !methods;
    wk_text_puts(out, "domain,exploration,setting,method,value\n");
    for (group g = {runs, 0, 0}; methods && g.first < runs->items.count; g.first = g.end) {
        g.end = wk_runs_group_end(runs, g.first);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            for (size_t m = 0; m < count && differs(&g, f); m++)
                put_csv_rows(&g, methods[m], f, out);
    }
    free(methods);
}
