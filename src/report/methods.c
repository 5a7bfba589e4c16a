// Methods: how the runs of one are called, and what a reader has to know about their settings. Runs
// of one curriculum are told apart by the settings in which they differ: a few are spelled out, of
// many the name has a number and the table of settings their values. Names are short and different:
// tables and figures have them as labels.
#include "curriculum/rules.h"
#include "report/runs.h"

#include <stdlib.h>
#include <string.h>

// How many settings names and remarks spell out; and what the labels of figures have room for, in
// characters.
enum { SPELLED_MAX = 3, NAME_WIDTH_MAX = 60 };

bool wk_setting_counts(int field)
{
    return wk_run_fields[field].role == WK_RUN_FIXED && field != WK_RUN_seed_INDEX &&
           field != WK_RUN_domain_INDEX && field != WK_RUN_curriculum_rule_INDEX &&
           field != WK_RUN_exploration_INDEX;
}

static bool same_value(const wk_report_run *a, const wk_report_run *b, int field)
{
    return wk_run_config_same(&a->config, &b->config, field);
}

// The first of the runs that is of the same domain and exploration.
static const wk_report_run *first_of_group(wk_report_run *const *runs, const wk_report_run *run)
{
    while (!wk_runs_same_group(*runs, run))
        runs++;
    return *runs;
}

int wk_runs_differing(const wk_runs *runs, const wk_report_run *like,
                      bool differs[WK_RUN_FIELD_COUNT])
{
    int count = 0;
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        differs[f] = false;
        for (size_t i = 0; i < runs->items.count && wk_setting_counts(f); i++) {
            const wk_report_run *run = runs->items.items[i];
            if (like && !wk_runs_same_group(run, like)) continue;
            differs[f] |= !same_value(run, first_of_group(runs->items.items, run), f);
        }
        count += differs[f];
    }
    return count;
}

bool wk_runs_differ_in_many(const wk_runs *runs)
{
    bool differs[WK_RUN_FIELD_COUNT];
    for (size_t i = 0; i < runs->items.count; i = wk_runs_group_end(runs, i))
        if (wk_runs_differing(runs, runs->items.items[i], differs) > SPELLED_MAX) return true;
    return false;
}

const char *wk_run_setting(wk_report_memory *memory, const wk_report_run *run, int field)
{
    wk_text text = {0};
    wk_run_config config = run->config;
    config.temperature = wk_rule_temperature(config.curriculum_rule, config.temperature);
    wk_run_config_get(&config, field, &text);
    if (!text.length) wk_text_puts(&text, "none");
    return wk_report_take(memory, &text);
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

// "waker-m, temperature 0.5", "waker-m, settings 2": the second where `number` is not 0.
static const char *method_name(wk_runs *runs, const wk_report_run *run, size_t number,
                               const bool asked[WK_RUN_FIELD_COUNT],
                               const bool splits[WK_RUN_FIELD_COUNT])
{
    wk_text text = {0};
    wk_text_puts(&text, run->curriculum);
    if (number) wk_text_printf(&text, ", settings %zu", number);
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        if (!asked[f] && (number || !splits[f])) continue;
        wk_text_printf(&text, ", %s %s", setting_name(f), wk_run_setting(&runs->memory, run, f));
    }
    return wk_report_take(&runs->memory, &text);
}

// Names the runs of one curriculum that have no label.
static void name_curriculum(wk_runs *runs, const char *curriculum,
                            const bool asked[WK_RUN_FIELD_COUNT], bool any_asked)
{
    struct {
        WK_ARRAY(wk_report_run *) runs;
        WK_ARRAY(size_t) numbers; // of the combination of settings that each has
    } of = {0};
    wk_report_memory *m = &runs->memory;
    bool splits[WK_RUN_FIELD_COUNT] = {0};
    int n_splits = 0;
    for (size_t i = 0; i < runs->items.count; i++) {
        wk_report_run *run = runs->items.items[i];
        if (!run->label && strcmp(run->curriculum, curriculum) == 0)
            wk_report_push(m, &of.runs, run);
    }
    wk_report_run *const *all = of.runs.items;
    // The settings that split the curriculum into methods, in any domain: names then mean the same
    // everywhere.
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        for (size_t i = 0; i < of.runs.count && wk_setting_counts(f); i++)
            splits[f] |= !same_value(all[i], first_of_group(all, all[i]), f);
        n_splits += splits[f];
    }
    size_t combinations = 0;
    for (size_t i = 0; i < of.runs.count; i++) {
        size_t number = 0;
        for (size_t k = 0; k < of.numbers.count && !number; k++) {
            number = of.numbers.items[k];
            for (int f = 0; f < WK_RUN_FIELD_COUNT && number; f++)
                if (splits[f] && !same_value(all[i], all[k], f)) number = 0;
        }
        wk_report_push(m, &of.numbers, number ? number : ++combinations);
    }
    if (m->failed) return;
    // Spelled out, if that makes names that are short, unless the user asked for more, and
    // different where settings are.
    bool good = n_splits <= SPELLED_MAX;
    for (size_t i = 0; i < of.runs.count && good; i++) {
        const char *name = all[i]->method = method_name(runs, all[i], 0, asked, splits);
        if (n_splits == 0) continue;
        good = any_asked || wk_utf8_width(name, strlen(name)) <= NAME_WIDTH_MAX;
        for (size_t k = 0; k < i && good; k++)
            good = of.numbers.items[k] == of.numbers.items[i] ||
                   strcmp(name, all[k]->method) != 0 || !wk_runs_same_group(all[i], all[k]);
    }
    for (size_t i = 0; i < of.runs.count && !good; i++)
        all[i]->method = method_name(runs, all[i], of.numbers.items[i], asked, splits);
}

wk_status wk_runs_name_methods(wk_runs *runs, const char *const *by, size_t n_by, wk_error *err)
{
    bool asked[WK_RUN_FIELD_COUNT] = {0};
    for (size_t i = 0; i < n_by; i++) {
        int field = wk_run_field_find(by[i], strlen(by[i]));
        if (field < 0)
            WK_TRY(wk_run_field_unknown(by[i], err));
        else if (!wk_setting_counts(field) && wk_run_fields[field].role == WK_RUN_FIXED)
            return wk_fail(err, WK_E_INPUT, "--by %s: reports already distinguish runs by it",
                           by[i]);
        else
            asked[field] = true;
    }
    for (size_t i = 0; i < runs->items.count; i++)
        runs->items.items[i]->method = runs->items.items[i]->label;
    for (size_t i = 0; i < runs->items.count && !runs->memory.failed; i++)
        if (!runs->items.items[i]->method)
            name_curriculum(runs, runs->items.items[i]->curriculum, asked, n_by > 0);
    return wk_report_memory_check(&runs->memory, err);
}

// The first method of the runs [first, end) that has different values, by the user's label; or
// NULL.
static const char *pooled(wk_report_run *const *runs, size_t first, size_t end, int field)
{
    for (size_t i = first; i < end; i++)
        for (size_t k = first; k < i; k++)
            if (strcmp(runs[i]->method, runs[k]->method) == 0 &&
                !same_value(runs[i], runs[k], field))
                return runs[i]->method;
    return NULL;
}

// "200 in 'dr', 'ge'; 100 in 'waker-m'": each value of the runs [first, end) with its methods.
static const char *list_values(wk_runs *all, size_t first, size_t end, int field)
{
    wk_report_run *const *runs = all->items.items;
    wk_text out = {0};
    for (size_t i = first; i < end; i++) {
        bool known = false;
        for (size_t k = first; k < i && !known; k++)
            known = same_value(runs[k], runs[i], field);
        if (known) continue;
        bool own = field == WK_RUN_temperature_INDEX && runs[i]->config.temperature == 0;
        wk_text_printf(&out, "%s%s", out.length ? "; " : "",
                       own ? "the rule's own" : wk_run_setting(&all->memory, runs[i], field));
        const char *between = " in ";
        for (size_t k = i; k < end; k++) {
            if (!same_value(runs[i], runs[k], field)) continue;
            bool named = false;
            for (size_t n = i; n < k && !named; n++)
                named = same_value(runs[n], runs[k], field) &&
                        strcmp(runs[n]->method, runs[k]->method) == 0;
            if (!named) wk_text_printf(&out, "%s'%s'", between, runs[k]->method);
            if (!named) between = ", ";
        }
    }
    return wk_report_take(&all->memory, &out);
}

void wk_runs_remark_on_settings(wk_runs *runs)
{
    wk_report_run *const *items = runs->items.items;
    bool many = wk_runs_differ_in_many(runs), differs[WK_RUN_FIELD_COUNT];
    for (size_t first = 0, end; first < runs->items.count; first = end) {
        const wk_report_run *run = items[first];
        const char *mixed = NULL;
        end = wk_runs_group_end(runs, first);
        int count = wk_runs_differing(runs, run, differs);
        // "toy, p2e: prefill differs: 200 in 'dr'; 100 in 'ge'"
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
            if (!differs[f]) continue;
            const char *label = pooled(items, first, end, f);
            if (!mixed) mixed = label;
            if (many) continue;
            wk_sentences_add(&runs->memory, &runs->remarks, "%s, %s: %s differs: %s%s%s%s",
                             run->domain, run->exploration, wk_run_keys[f],
                             list_values(runs, first, end, f), label ? ". The label '" : "",
                             label ? label : "", label ? "' pools runs that differ in it" : "");
        }
        if (!many || count == 0) continue;
        wk_sentences_add(&runs->memory, &runs->remarks,
                         "%s, %s: %d setting%s between runs; the table 'Settings of the methods' "
                         "has %s values%s%s%s",
                         run->domain, run->exploration, count, count == 1 ? " differs" : "s differ",
                         count == 1 ? "its" : "their", mixed ? ". The label '" : "",
                         mixed ? mixed : "",
                         mixed ? "' pools runs that differ in some of them" : "");
    }
}
