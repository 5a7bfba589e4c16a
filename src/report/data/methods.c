#include "report/data/methods.h"

#include "curriculum/rules.h"
#include <string.h>

bool wk_setting_counts(int field)
{
    return wk_run_fields[field].role == WK_RUN_FIXED && field != WK_RUN_seed_INDEX &&
           field != WK_RUN_domain_INDEX && field != WK_RUN_curriculum_rule_INDEX &&
           field != WK_RUN_exploration_INDEX;
}

// The first run of the same domain and exploration.
static const wk_report_run *first_of_group(const wk_runs *runs, const wk_report_run *run)
{
    for (size_t i = 0; i < runs->items.count; i++)
        if (wk_runs_same_group(runs->items.items[i], run)) return runs->items.items[i];
    return run;
}

void wk_runs_differing(const wk_runs *runs, bool differs[WK_RUN_FIELD_COUNT])
{
    memset(differs, 0, WK_RUN_FIELD_COUNT * sizeof *differs);
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i], *first = first_of_group(runs, run);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            differs[f] |=
                wk_setting_counts(f) && !wk_run_config_same(&run->config, &first->config, f);
    }
}

void wk_run_setting(const wk_report_run *run, int field, wk_text *out)
{
    wk_run_config config = run->config;
    size_t before = out->length;
    config.temperature = wk_rule_temperature(config.curriculum_rule, config.temperature);
    wk_run_config_get(&config, field, out);
    if (out->length == before) wk_text_puts(out, "none");
}

// Whether an earlier run of the group has the same value there.
static bool value_is_known(wk_report_run *const *runs, size_t i, int field)
{
    for (size_t k = 0; k < i; k++)
        if (wk_runs_same_group(runs[k], runs[i]) &&
            wk_run_config_same(&runs[k]->config, &runs[i]->config, field))
            return true;
    return false;
}

// Whether run i is the first of its group and method with its value.
static bool method_is_new(wk_report_run *const *runs, size_t i, int field)
{
    for (size_t k = 0; k < i; k++)
        if (wk_runs_same_group(runs[k], runs[i]) && strcmp(runs[k]->method, runs[i]->method) == 0 &&
            wk_run_config_same(&runs[k]->config, &runs[i]->config, field))
            return false;
    return true;
}

// "0.5 in 'A', 'B'": the methods of the group that have run i's value.
static void put_value(const wk_runs *runs, size_t i, int field, wk_text *out)
{
    wk_report_run *const *items = runs->items.items;
    const char *between = " in ";
    if (field == WK_RUN_temperature_INDEX && items[i]->config.temperature == 0)
        wk_text_puts(out, "the rule's own");
    else
        wk_run_setting(items[i], field, out);
    for (size_t k = i; k < runs->items.count; k++)
        if (wk_runs_same_group(items[i], items[k]) &&
            wk_run_config_same(&items[i]->config, &items[k]->config, field) &&
            method_is_new(items, k, field)) {
            wk_text_printf(out, "%s'%s'", between, items[k]->method);
            between = ", ";
        }
}

// The first method of the group that has runs with different values, by the user's label; or NULL.
static const char *pooled(const wk_runs *runs, const wk_report_run *first, int field)
{
    for (size_t i = 0; i < runs->items.count; i++)
        for (size_t k = 0; k < i; k++) {
            const wk_report_run *a = runs->items.items[i], *b = runs->items.items[k];
            if (wk_runs_same_group(a, first) && wk_runs_same_group(b, first) &&
                strcmp(a->method, b->method) == 0 &&
                !wk_run_config_same(&a->config, &b->config, field))
                return a->method;
        }
    return NULL;
}

// "toy, p2e: prefill differs: 200 in 'dr'; 100 in 'ge'"
static wk_status remark_on(wk_runs *runs, const wk_report_run *first, int field, wk_error *err)
{
    wk_report_run *const *items = runs->items.items;
    wk_text text = {0};
    const char *between = ": ";
    wk_text_printf(&text, "%s, %s: %s differs", first->domain, first->exploration,
                   wk_run_keys[field]);
    for (size_t i = 0; i < runs->items.count; i++) {
        if (!wk_runs_same_group(items[i], first) || value_is_known(items, i, field)) continue;
        wk_text_puts(&text, between);
        put_value(runs, i, field, &text);
        between = "; ";
    }
    const char *mixed = pooled(runs, first, field);
    if (mixed) wk_text_printf(&text, ". The label '%s' pools runs that differ in it", mixed);
    wk_status status = text.failed
                           ? wk_fail(err, WK_E_MEMORY, "no memory for the settings of the runs")
                           : wk_sentences_add(&runs->remarks, err, "%s", wk_text_get(&text));
    wk_text_free(&text);
    return status;
}

static bool group_differs(const wk_runs *runs, const wk_report_run *first, int field)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (wk_runs_same_group(run, first) &&
            !wk_run_config_same(&run->config, &first->config, field))
            return true;
    }
    return false;
}

// "toy, p2e: 13 settings differ between runs; the table 'Settings of the methods' has their values"
static wk_status remark_on_many(wk_runs *runs, const wk_report_run *first,
                                const bool differs[WK_RUN_FIELD_COUNT], int count, wk_error *err)
{
    wk_text text = {0};
    wk_text_printf(&text,
                   "%s, %s: %d setting%s between runs; the table 'Settings of the methods' has "
                   "%s values",
                   first->domain, first->exploration, count, count == 1 ? " differs" : "s differ",
                   count == 1 ? "its" : "their");
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        const char *mixed = differs[f] ? pooled(runs, first, f) : NULL;
        if (!mixed) continue;
        wk_text_printf(&text, ". The label '%s' pools runs that differ in some of them", mixed);
        break;
    }
    wk_status status = text.failed
                           ? wk_fail(err, WK_E_MEMORY, "no memory for the settings of the runs")
                           : wk_sentences_add(&runs->remarks, err, "%s", wk_text_get(&text));
    wk_text_free(&text);
    return status;
}

static int group_differing(const wk_runs *runs, const wk_report_run *first,
                           bool differs[WK_RUN_FIELD_COUNT])
{
    int count = 0;
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        differs[f] = wk_setting_counts(f) && group_differs(runs, first, f);
        count += differs[f];
    }
    return count;
}

bool wk_runs_differ_in_many(const wk_runs *runs)
{
    bool differs[WK_RUN_FIELD_COUNT];
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (first_of_group(runs, run) == run &&
            group_differing(runs, run, differs) > WK_SETTINGS_SPELLED_MAX)
            return true;
    }
    return false;
}

wk_status wk_runs_compare_settings(wk_runs *runs, wk_error *err)
{
    bool differs[WK_RUN_FIELD_COUNT];
    bool many = wk_runs_differ_in_many(runs);
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (first_of_group(runs, run) != run) continue;
        int count = group_differing(runs, run, differs);
        if (many && count > 0) WK_TRY(remark_on_many(runs, run, differs, count, err));
        for (int f = 0; f < WK_RUN_FIELD_COUNT && !many; f++)
            if (differs[f]) WK_TRY(remark_on(runs, run, f, err));
    }
    return WK_OK;
}
