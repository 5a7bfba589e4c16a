// Names of methods. Runs of one curriculum are told apart by the settings in which they differ: a
// few are spelled out, of many the name has a number and the table of settings their values. Names
// are short and different: tables and figures have them as labels.
#include "report/data/methods.h"

#include "base/text.h"
#include <stdio.h>
#include <string.h>

// What the labels of figures have room for, in characters.
enum { NAME_WIDTH_MAX = 60 };

typedef WK_ARRAY(wk_report_run *) run_list;

// The methods of one curriculum. Settings are marked by field.
typedef struct naming {
    run_list runs;            // all that the user gave no label
    run_list variants;        // the first run of each combination of the settings that split
    WK_ARRAY(size_t) numbers; // [runs]: index of the run's combination in `variants`
    bool asked[WK_RUN_FIELD_COUNT], splits[WK_RUN_FIELD_COUNT];
    int n_asked, n_splits;
} naming;

static void free_naming(naming *n)
{
    wk_array_free(&n->runs);
    wk_array_free(&n->variants);
    wk_array_free(&n->numbers);
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

static bool same_in(const wk_run_config *a, const wk_run_config *b,
                    const bool fields[WK_RUN_FIELD_COUNT])
{
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        if (fields[f] && !wk_run_config_same(a, b, f)) return false;
    return true;
}

static const wk_report_run *first_of_group(const naming *n, const wk_report_run *run)
{
    size_t i = 0;
    while (!wk_runs_same_group(n->runs.items[i], run))
        i++;
    return n->runs.items[i];
}

// The settings that split the curriculum into methods, in any domain: names then mean the same
// everywhere.
static void find_splits(naming *n)
{
    for (size_t i = 0; i < n->runs.count; i++) {
        const wk_report_run *run = n->runs.items[i], *first = first_of_group(n, run);
        for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
            n->splits[f] |=
                wk_setting_counts(f) && !wk_run_config_same(&run->config, &first->config, f);
    }
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        n->n_splits += n->splits[f];
}

static bool find_variants(naming *n)
{
    for (size_t i = 0; i < n->runs.count; i++) {
        wk_report_run *run = n->runs.items[i];
        size_t v = 0;
        while (v < n->variants.count &&
               !same_in(&n->variants.items[v]->config, &run->config, n->splits))
            v++;
        if ((v == n->variants.count && !wk_array_push(&n->variants, run)) ||
            !wk_array_push(&n->numbers, v))
            return false;
    }
    return true;
}

// ", temperature 0.5": the run's values of these settings.
static void put_settings(const wk_report_run *run, const bool fields[WK_RUN_FIELD_COUNT],
                         wk_text *out)
{
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++) {
        if (!fields[f]) continue;
        wk_text_printf(out, ", %s ", setting_name(f));
        wk_run_setting(run, f, out);
    }
}

// Gives the run the name that starts with its curriculum and `base`, and ends with the settings.
static bool set_name(const naming *n, wk_report_run *run, const char *base,
                     const bool fields[WK_RUN_FIELD_COUNT])
{
    wk_text text = {0};
    bool shown[WK_RUN_FIELD_COUNT];
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        shown[f] = n->asked[f] || (fields && fields[f]);
    wk_text_printf(&text, "%s%s%s", run->curriculum, *base ? ", " : "", base);
    put_settings(run, shown, &text);
    run->method = text.failed ? NULL : wk_arena_string(&run->arena, wk_text_get(&text));
    wk_text_free(&text);
    return run->method;
}

// Whether the names are short, unless the user asked for more, and different where settings are.
static bool names_are_good(const naming *n)
{
    for (size_t i = 0; i < n->runs.count; i++) {
        const wk_report_run *run = n->runs.items[i];
        size_t width = wk_utf8_width(run->method, strlen(run->method));
        if (n->n_asked == 0 && width > NAME_WIDTH_MAX) return false;
        for (size_t k = 0; k < i; k++)
            if (n->numbers.items[k] != n->numbers.items[i] &&
                strcmp(run->method, n->runs.items[k]->method) == 0 &&
                wk_runs_same_group(run, n->runs.items[k]))
                return false;
    }
    return true;
}

// "waker-m, temperature 0.5"
static bool name_by(const naming *n, const bool fields[WK_RUN_FIELD_COUNT])
{
    for (size_t i = 0; i < n->runs.count; i++)
        if (!set_name(n, n->runs.items[i], "", fields)) return false;
    return true;
}

// "waker-m, settings 2"
static bool name_by_number(const naming *n)
{
    for (size_t i = 0; i < n->runs.count; i++) {
        char base[32];
        snprintf(base, sizeof base, "settings %zu", n->numbers.items[i] + 1);
        if (!set_name(n, n->runs.items[i], base, NULL)) return false;
    }
    return true;
}

static wk_status name_all(naming *n, wk_error *err)
{
    bool named = true;
    find_splits(n);
    if (!find_variants(n)) return wk_fail(err, WK_E_MEMORY, "no memory for the names of methods");
    if (n->n_splits <= WK_SETTINGS_SPELLED_MAX) {
        named = name_by(n, n->splits);
        if (named && (n->n_splits == 0 || names_are_good(n))) return WK_OK;
    }
    if (!named || !name_by_number(n))
        return wk_fail(err, WK_E_MEMORY, "no memory for the names of methods");
    return WK_OK;
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

// Names the runs of the curriculum from number `first` on, which is its first without a name.
static wk_status name_curriculum(const wk_runs *runs, size_t first,
                                 const bool asked[WK_RUN_FIELD_COUNT], wk_error *err)
{
    naming n = {0};
    wk_status status = WK_OK;
    memcpy(n.asked, asked, sizeof n.asked);
    for (int f = 0; f < WK_RUN_FIELD_COUNT; f++)
        n.n_asked += asked[f];
    for (size_t i = first; i < runs->items.count && status == WK_OK; i++) {
        wk_report_run *run = runs->items.items[i];
        if (!run->label && strcmp(run->curriculum, runs->items.items[first]->curriculum) == 0 &&
            !wk_array_push(&n.runs, run))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the names of methods");
    }
    if (status == WK_OK) status = name_all(&n, err);
    free_naming(&n);
    return status;
}

wk_status wk_runs_name_methods(wk_runs *runs, const char *const *by, size_t n_by, wk_error *err)
{
    bool asked[WK_RUN_FIELD_COUNT] = {0};
    WK_TRY(choose_fields(by, n_by, asked, err));
    for (size_t i = 0; i < runs->items.count; i++)
        runs->items.items[i]->method = runs->items.items[i]->label;
    for (size_t i = 0; i < runs->items.count; i++)
        if (!runs->items.items[i]->method) WK_TRY(name_curriculum(runs, i, asked, err));
    return WK_OK;
}
