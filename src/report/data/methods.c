#include "report/data/methods.h"

#include "curriculum/rules.h"
#include <string.h>

bool wk_setting_counts(int field)
{
    return wk_run_fields[field].role == WK_RUN_FIXED && field != WK_RUN_seed_INDEX &&
           field != WK_RUN_domain_INDEX && field != WK_RUN_curriculum_rule_INDEX &&
           field != WK_RUN_exploration_INDEX;
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');
    return dot ? dot + 1 : key;
}

// The last part of its key where that says which setting it is.
static const char *setting_name(int field)
{
    const char *key = wk_run_keys[field], *name = last_part(key);
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        if (f != field && strcmp(last_part(wk_run_keys[f]), name) == 0) return key;
    return name;
}

// The first run of the same domain and exploration, with `method` also of the same curriculum and
// not named by the user.
static const wk_report_run *first_like(const wk_runs *runs, const wk_report_run *run, bool method)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *other = runs->items.items[i];
        if (!wk_runs_same_group(other, run)) continue;
        if (!method || (!other->label && strcmp(other->curriculum, run->curriculum) == 0))
            return other;
    }
    return run;
}

void wk_runs_differing(const wk_runs *runs, bool differs[WK_RUN_FIELD_COUNT])
{
    memset(differs, 0, WK_RUN_FIELD_COUNT * sizeof *differs);
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i], *first = first_like(runs, run, false);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            differs[f] |=
                wk_setting_counts(f) && !wk_run_config_same(&run->config, &first->config, f);
    }
}

// The settings that split a curriculum into methods, in any domain: names then mean the same
// everywhere.
static void find_splits(const wk_runs *runs, const char *curriculum,
                        bool splits[WK_RUN_FIELD_COUNT])
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (run->label || strcmp(run->curriculum, curriculum) != 0) continue;
        const wk_report_run *first = first_like(runs, run, true);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            splits[f] |=
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

static const char *kept(wk_arena *arena, wk_text *text)
{
    const char *copy = text->failed ? NULL : wk_arena_string(arena, wk_text_get(text));
    wk_text_free(text);
    return copy;
}

// "waker-m, temperature 0.5"
static const char *name_of(const wk_report_run *run, const bool fields[WK_RUN_FIELD_COUNT],
                           wk_arena *arena)
{
    wk_text text = {0};
    wk_text_puts(&text, run->curriculum);
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        if (!fields[f]) continue;
        wk_text_printf(&text, ", %s ", setting_name(f));
        wk_run_setting(run, f, &text);
    }
    return kept(arena, &text);
}

static wk_status choose_fields(const char *const *by, size_t n_by, bool fields[WK_RUN_FIELD_COUNT],
                               wk_error *err)
{
    for (size_t i = 0; i < n_by; i++) {
        int field = wk_run_field_find(by[i], strlen(by[i]));
        if (field < 0) {
            WK_TRY(wk_run_field_unknown(by[i], err));
        } else if (!wk_setting_counts(field) && wk_run_fields[field].role == WK_RUN_FIXED) {
            return wk_fail(err, WK_E_INPUT, "--by %s: reports already distinguish runs by it",
                           by[i]);
        } else {
            fields[field] = true;
        }
    }
    return WK_OK;
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

wk_status wk_runs_compare_settings(wk_runs *runs, wk_error *err)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (first_like(runs, run, false) != run) continue;
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            if (wk_setting_counts(f) && group_differs(runs, run, f))
                WK_TRY(remark_on(runs, run, f, err));
    }
    return WK_OK;
}

wk_status wk_runs_name_methods(wk_runs *runs, const char *const *by, size_t n_by, wk_error *err)
{
    bool asked[WK_RUN_FIELD_COUNT] = {0};
    WK_TRY(choose_fields(by, n_by, asked, err));
    for (size_t i = 0; i < runs->items.count; i++) {
        wk_report_run *run = runs->items.items[i];
        bool fields[WK_RUN_FIELD_COUNT];
        memcpy(fields, asked, sizeof fields);
        find_splits(runs, run->curriculum, fields);
        run->method = run->label ? run->label : name_of(run, fields, &run->arena);
        if (!run->method) return wk_fail(err, WK_E_MEMORY, "no memory for the names of methods");
    }
    return WK_OK;
}
