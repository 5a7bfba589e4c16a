#include "config/axes.h"

#include "base/hash.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct each_key {
    int field, count;
    char values[WK_POPULATION_MAX][WK_RUN_TEXT_MAX]; // as wk_run_config_get writes them
} each_key;

struct wk_each {
    each_key keys[WK_EACH_KEYS_MAX];
    int count, runs;
};

static const char WORLDS[] = "the environments of all runs are stepped together",
                  PROCESS[] = "one process has one value";

// What is the same for all runs of a population, and why.
static const struct {
    int field;
    const char *why;
} shared_fields[] = {
    {WK_RUN_domain_INDEX, WORLDS},      {WK_RUN_plugin_INDEX, WORLDS},
    {WK_RUN_env_options_INDEX, WORLDS}, {WK_RUN_env_threads_INDEX, PROCESS},
    {WK_RUN_minutes_INDEX, PROCESS},    {WK_RUN_device_INDEX, PROCESS},
    {WK_RUN_precision_INDEX, PROCESS},
};

const char *wk_run_field_shared(int field)
{
    for (size_t i = 0; i < sizeof shared_fields / sizeof *shared_fields; i++)
        if (shared_fields[i].field == field) return shared_fields[i].why;
    return NULL;
}

wk_status wk_run_configs_share(wk_run_config *configs, const char *const *names, int count,
                               const wk_log *log, wk_error *err)
{
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const char *key = wk_run_keys[i], *why = wk_run_field_shared(i);
        bool said = false; // one remark for each field
        for (int run = 1; why && run < count; run++) {
            if (wk_run_config_same(&configs[0], &configs[run], i)) continue;
            wk_status status;
            wk_text first = {0}, other = {0};
            wk_run_config_get(&configs[0], i, &first);
            wk_run_config_get(&configs[run], i, &other);
            if (wk_run_fields[i].role != WK_RUN_FREE) {
                status =
                    wk_fail(err, WK_E_INPUT,
                            "%s is '%s' in %s and '%s' in %s, but %s; train them separately", key,
                            wk_text_get(&first), names[0], wk_text_get(&other), names[run], why);
            } else {
                if (!said)
                    wk_log_line(log, WK_LOG_WARN,
                                "%s is '%s' in %s and '%s' in %s, but %s: all runs get '%s'; --%s "
                                "VALUE gives them another",
                                key, wk_text_get(&first), names[0], wk_text_get(&other), names[run],
                                why, wk_text_get(&first), key);
                said = true;
                status = first.failed
                             ? wk_fail(err, WK_E_MEMORY, "no memory for the settings")
                             : wk_run_config_set(&configs[run], i, wk_text_get(&first), err);
            }
            wk_text_free(&first);
            wk_text_free(&other);
            WK_TRY(status);
        }
    }
    return WK_OK;
}

static wk_status add_value(void *context, const char *text, wk_error *err)
{
    each_key *key = context;
    if (key->count == WK_POPULATION_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d values", WK_POPULATION_MAX);
    char *place = key->values[key->count];
    snprintf(place, WK_RUN_TEXT_MAX, "%s", text);
    for (int i = 0; i < key->count; i++)
        if (strcmp(key->values[i], place) == 0)
            return wk_fail(err, WK_E_INPUT, "the value '%s' occurs twice", place);
    key->count++;
    return WK_OK;
}

static bool is_number(int field)
{
    wk_run_kind kind = wk_run_fields[field].kind;
    return kind == WK_RUN_INT || kind == WK_RUN_COUNT || kind == WK_RUN_SEED ||
           kind == WK_RUN_NUMBER;
}

// Gives `add` a value in the form that wk_run_config_get writes.
static wk_status send_value(int field, const char *text, wk_run_value_add *add, void *context,
                            wk_error *err)
{
    wk_run_config scratch = wk_run_config_default();
    wk_text value = {0};
    WK_TRY(wk_run_config_set(&scratch, field, text, err));
    wk_run_config_get(&scratch, field, &value);
    wk_status status = value.failed ? wk_fail(err, WK_E_MEMORY, "no memory for its values")
                                    : add(context, wk_text_get(&value), err);
    wk_text_free(&value);
    return status;
}

wk_status wk_run_values_read(int field, const char *text, int max, wk_run_value_add *add,
                             void *context, wk_error *err)
{
    char number[24];
    uint64_t first = 0, last = 0;
    const char *dots = is_number(field) ? strstr(text, "..") : NULL;
    if (!dots) return send_value(field, text, add, context, err);
    // a..b
    snprintf(number, sizeof number, "%.*s", (int)(dots - text), text);
    if (dots - text >= (int)sizeof number || !wk_text_to_unsigned(number, &first) ||
        !wk_text_to_unsigned(dots + 2, &last))
        return wk_fail(err, WK_E_INPUT, "'%s' is not a range; write two whole numbers, as in 0..4",
                       text);
    if (first > last)
        return wk_fail(err, WK_E_INPUT, "'%s' counts down; write %" PRIu64 "..%" PRIu64, text, last,
                       first);
    if (last - first >= (uint64_t)max)
        return wk_fail(err, WK_E_INPUT, "'%s' has more than %d values", text, max);
    for (uint64_t i = 0; i <= last - first; i++) {
        snprintf(number, sizeof number, "%" PRIu64, first + i);
        WK_TRY(send_value(field, number, add, context, err));
    }
    return WK_OK;
}

static wk_status add_item(each_key *key, const char *text, size_t length, wk_error *err)
{
    char item[WK_RUN_TEXT_MAX];
    if (length >= sizeof item)
        return wk_fail(err, WK_E_INPUT, "'%.40s...' is longer than %d bytes", text,
                       WK_RUN_TEXT_MAX - 1);
    snprintf(item, sizeof item, "%.*s", (int)length, text);
    if (!*item)
        return wk_fail(err, WK_E_INPUT,
                       "a value is missing; write KEY=VALUE,VALUE or KEY=0..4 without blanks");
    // A file is the same however its path is written, so its name is made of the whole one. A file
    // that is not there is reported by what opens it.
    char *path = key->field == WK_RUN_curriculum_plugin_INDEX ? realpath(item, NULL) : NULL;
    if (path && strlen(path) < sizeof item) snprintf(item, sizeof item, "%s", path);
    free(path);
    return wk_run_values_read(key->field, item, WK_POPULATION_MAX, add_value, key, err);
}

// Reads one text into the next key.
static wk_status read_text(wk_each *each, const char *text, wk_error *err)
{
    each_key *key = &each->keys[each->count];
    const char *at = strchr(text, '=');
    char name[WK_RUN_TEXT_MAX];
    if (each->count == WK_EACH_KEYS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d keys", WK_EACH_KEYS_MAX);
    if (!at) return wk_fail(err, WK_E_INPUT, "write KEY=VALUE,VALUE or KEY=0..4");
    snprintf(name, sizeof name, "%.*s", (int)(at - text), text);
    key->field = wk_run_field_find(name, strlen(name));
    if (key->field < 0) return wk_run_field_unknown(name, err);
    const char *why = wk_run_field_shared(key->field);
    if (why)
        return wk_fail(err, WK_E_INPUT, "%s is the same for all runs: %s; set it with --%s", name,
                       why, name);
    if (wk_each_has(each, name, strlen(name)))
        return wk_fail(err, WK_E_INPUT, "%s is given twice; list its values in one --each", name);
    do {
        size_t length = strcspn(++at, ",");
        WK_TRY(add_item(key, at, length, err));
        at += length;
    } while (*at == ',');
    each->runs *= key->count;
    each->count++;
    if (each->runs <= WK_POPULATION_MAX) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "makes %d runs, and a population has at most %d", each->runs,
                   WK_POPULATION_MAX);
}

// No two runs may be given the same directory.
static wk_status check_names(const wk_each *each, wk_error *err)
{
    char a[WK_EACH_NAME_MAX], b[WK_EACH_NAME_MAX];
    for (int i = 0; i < each->runs; i++)
        for (int j = 0; j < i; j++) {
            wk_each_name(each, i, a);
            wk_each_name(each, j, b);
            if (strcmp(a, b) == 0)
                return wk_fail(err, WK_E_INPUT, "two runs would both be called '%s'", a);
        }
    return WK_OK;
}

wk_status wk_each_create(const char *const *texts, int count, wk_each **out, wk_error *err)
{
    wk_each *each = calloc(1, sizeof *each);
    if (!each) return wk_fail(err, WK_E_MEMORY, "no memory for the runs");
    each->runs = 1;
    wk_status status = WK_OK;
    for (int i = 0; status == WK_OK && i < count; i++) {
        status = read_text(each, texts[i], err);
        if (status != WK_OK && err) wk_fail_context(err, "--each %.80s", texts[i]);
    }
    if (status == WK_OK) status = check_names(each, err);
    if (status == WK_OK)
        *out = each;
    else
        wk_each_destroy(each);
    return status;
}

void wk_each_destroy(wk_each *each)
{
    free(each);
}

int wk_each_runs(const wk_each *each)
{
    return each->runs;
}

bool wk_each_has(const wk_each *each, const char *key, size_t length)
{
    int field = wk_run_field_find(key, length);
    for (int i = 0; i < each->count; i++)
        if (each->keys[i].field == field) return true;
    return false;
}

// The value of each key in a run.
static void find_values(const wk_each *each, int run, const char *values[WK_EACH_KEYS_MAX])
{
    assert(run >= 0 && run < each->runs);
    for (int i = each->count - 1; i >= 0; i--) {
        values[i] = each->keys[i].values[run % each->keys[i].count];
        run /= each->keys[i].count;
    }
}

int wk_each_settings(const wk_each *each, int run, wk_setting out[WK_EACH_KEYS_MAX])
{
    const char *values[WK_EACH_KEYS_MAX];
    find_values(each, run, values);
    for (int i = 0; i < each->count; i++) {
        const char *key = wk_run_keys[each->keys[i].field];
        out[i] = (wk_setting){key, strlen(key), values[i]};
    }
    return each->count;
}

// The end of the key that no other key has: "temperature", but "model.rate".
static const char *short_key(int field)
{
    const char *key = wk_run_keys[field], *point = strrchr(key, '.');
    for (int i = 0; point && i < WK_RUN_FIELD_COUNT; i++) {
        const char *other = strrchr(wk_run_keys[i], '.');
        if (i != field && strcmp(other ? other + 1 : wk_run_keys[i], point + 1) == 0) return key;
    }
    return point ? point + 1 : key;
}

void wk_run_name_add(int field, const char *value, wk_text *out)
{
    if (out->length > 0) wk_text_puts(out, "-");
    if (field >= 0 && field != WK_RUN_curriculum_rule_INDEX) // rules speak for themselves
        wk_text_printf(out, "%s%s", short_key(field), is_number(field) ? "" : "-");
    wk_text_puts(out, value);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           strchr("._+-", c);
}

void wk_run_name_finish(const wk_text *name, char out[WK_EACH_NAME_MAX])
{
    enum { SUM = 10 }; // "-" and eight digits that stand for what was changed
    const char *text = wk_text_get(name);
    bool changed = false;
    size_t length = 0;
    for (; length < WK_EACH_NAME_MAX - SUM && text[length]; length++) {
        bool hides = length == 0 && (*text == '.' || *text == '-'); // or looks like an option
        out[length] = is_plain(text[length]) && !hides ? text[length] : '_';
        changed |= out[length] != text[length];
    }
    changed |= text[length] != 0;
    out[length] = 0;
    if (changed) snprintf(out + length, SUM, "-%08" PRIx32, wk_crc32c(0, text, name->length));
}

void wk_each_name(const wk_each *each, int run, char out[WK_EACH_NAME_MAX])
{
    const char *values[WK_EACH_KEYS_MAX];
    wk_text name = {0};
    find_values(each, run, values);
    for (int i = 0; i < each->count; i++)
        wk_run_name_add(each->keys[i].field, values[i], &name);
    wk_run_name_finish(&name, out);
    wk_text_free(&name);
}
