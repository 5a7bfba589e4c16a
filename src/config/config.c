#include "config/config.h"
#include "base/hash.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANGE(low, high) .min = low, .max = high
#define ROW_BOOL RANGE
#define ROW_INT RANGE
#define ROW_COUNT RANGE
#define ROW_SEED RANGE
#define ROW_NUMBER RANGE
#define ROW_TEXT(low, high) .choices = high
#define ROW_LIST ROW_TEXT

const wk_run_field wk_run_fields[WK_RUN_FIELD_COUNT] = {
#define FIELD(row_kind, field, row_key, value, low, high, row_role, row_paper, row_authors, text)  \
    {.key = row_key,                                                                               \
     .kind = WK_RUN_##row_kind,                                                                    \
     .offset = offsetof(wk_run_config, field),                                                     \
     ROW_##row_kind(low, high),                                                                    \
     .role = WK_RUN_##row_role,                                                                    \
     .paper = row_paper,                                                                           \
     .authors = row_authors,                                                                       \
     .meaning = text},
    WK_RUN_FIELDS(FIELD)
#undef FIELD
};

const char *const wk_run_keys[WK_RUN_FIELD_COUNT] = {
#define FIELD(kind, field, key, ...) key,
    WK_RUN_FIELDS(FIELD)
#undef FIELD
};

wk_run_config wk_run_config_default(void)
{
    return (wk_run_config){
#define FIELD(kind, field, key, value, ...) .field = value,
        WK_RUN_FIELDS(FIELD)
#undef FIELD
    };
}

int wk_run_field_find(const char *key, size_t length)
{
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        if (strlen(wk_run_keys[i]) == length && memcmp(wk_run_keys[i], key, length) == 0) return i;
    return -1;
}

static void put_plain(const char *text, wk_text *out)
{
    for (; *text; text++)
        wk_text_repeat(out, strchr("-_", *text) ? ' ' : *text, 1);
}

bool wk_run_field_is_about(int field, const char *word)
{
    wk_text all = {0}, wanted = {0};
    put_plain(wk_run_keys[field], &all);
    wk_text_puts(&all, "\n");
    put_plain(wk_run_fields[field].meaning, &all);
    put_plain(strcasecmp(word, "lr") == 0 ? "learning rate" : word, &wanted);
    bool found = !all.failed && !wanted.failed &&
                 strcasestr(wk_text_get(&all), wk_text_get(&wanted)) != NULL;
    wk_text_free(&all);
    wk_text_free(&wanted);
    return found;
}

// "rssm.deter, rssm.hidden, ...": the keys under a group, "" for any other name.
static void list_group(const char *group, char *out, size_t size)
{
    size_t length = strlen(group), used = 0;
    out[0] = 0;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const char *key = wk_run_keys[i];
        if (strncmp(key, group, length) != 0 || key[length] != '.') continue;
        int n = snprintf(out + used, size - used, "%s%s", used ? ", " : "", key);
        used = used + (size_t)n < size ? used + (size_t)n : size - 1;
    }
}

wk_status wk_run_field_unknown(const char *key, wk_error *err)
{
    char group[400];
    list_group(key, group, sizeof group);
    if (*group)
        return wk_fail(err, WK_E_INPUT, "'%.80s' is a group of keys, not a key: %s", key, group);
    return wk_fail_nearest(err, WK_E_INPUT, key, wk_run_keys, WK_RUN_FIELD_COUNT,
                           " ('waker config' lists all)", "unknown key '%.80s'", key);
}

static wk_status check_range(const wk_run_field *field, double value, const char *text,
                             wk_error *err)
{
    if (value >= field->min && value <= field->max) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "%.80s is outside %.15g to %.15g", text, field->min,
                   field->max);
}

// A whole number, also written as a float without a fraction. Beyond 2^53 only digits are exact.
static wk_status parse_whole(const wk_run_field *field, const char *text, int64_t *out,
                             wk_error *err)
{
    char *end;
    double number = 0;
    if (!wk_text_to_number(text, &number))
        return wk_fail(err, WK_E_INPUT, "'%.80s' is not a whole number", text);
    if (number != floor(number))
        return wk_fail(err, WK_E_INPUT, "%.80s has a fraction; a whole number is needed", text);
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (*end || errno != 0) {
        if (fabs(number) > 9007199254740992.0)
            return wk_fail(err, WK_E_INPUT, "%.80s is too large", text);
        *out = (int64_t)number;
    }
    return check_range(field, (double)*out, text, err);
}

static wk_status parse_bool(const char *text, bool *out, wk_error *err)
{
    static const char *const words[] = {"false", "False", "FALSE", "true", "True", "TRUE"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0) return *out = i >= 3, WK_OK;
    return wk_fail(err, WK_E_INPUT, "'%.80s' is neither true nor false", text);
}

static wk_status check_text(const char *text, wk_error *err)
{
    uint32_t code;
    if (strlen(text) >= WK_RUN_TEXT_MAX)
        return wk_fail(err, WK_E_INPUT, "'%.40s...' is longer than %d bytes", text,
                       WK_RUN_TEXT_MAX - 1);
    for (const char *c = text; *c;) {
        size_t length = wk_utf8_control(c) ? 0 : wk_utf8_decode(c, SIZE_MAX, &code);
        if (length == 0)
            return wk_fail(err, WK_E_INPUT, "byte %zu of the value is not printable text",
                           (size_t)(c - text) + 1);
        c += length;
    }
    return WK_OK;
}

static wk_status check_choice(const char *choices, const char *text, wk_error *err)
{
    if (wk_text_choice(choices, text) >= 0) return WK_OK;
    enum { CHOICES_MAX = 8 };
    char copy[128], *rest = copy;
    const char *names[CHOICES_MAX];
    size_t count = 0;
    snprintf(copy, sizeof copy, "%s", choices);
    for (char *name; count < CHOICES_MAX && (name = strsep(&rest, "|"));)
        names[count++] = name;
    return wk_fail_nearest(err, WK_E_INPUT, text, names, count, "", "'%.80s' is not one of %s",
                           text, choices);
}

// Names between commas, without the blanks around them.
static wk_status parse_list(const char *text, char *out, wk_error *err)
{
    char list[WK_RUN_TEXT_MAX];
    size_t used = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ",");
        const char *next = at + length + (at[length] == ',');
        while (length > 0 && *at == ' ')
            at++, length--;
        while (length > 0 && at[length - 1] == ' ')
            length--;
        if (length == 0) return wk_fail(err, WK_E_INPUT, "'%.80s' has an empty name", text);
        if (used > 0) list[used++] = ',';
        memcpy(list + used, at, length);
        used += length;
        at = next;
    }
    list[used] = 0;
    memcpy(out, list, used + 1);
    return WK_OK;
}

static wk_status set_value(const wk_run_field *field, void *place, const char *text, wk_error *err)
{
    int64_t whole = 0;
    uint64_t seed = 0;
    double number = 0;
    switch (field->kind) {
    case WK_RUN_BOOL:
        return parse_bool(text, place, err);
    case WK_RUN_INT:
        WK_TRY(parse_whole(field, text, &whole, err));
        *(int *)place = (int)whole;
        return WK_OK;
    case WK_RUN_COUNT:
        WK_TRY(parse_whole(field, text, &whole, err));
        *(int64_t *)place = whole;
        return WK_OK;
    case WK_RUN_SEED:
        if (!wk_text_to_unsigned(text, &seed))
            return wk_fail(err, WK_E_INPUT, "'%.80s' is not a whole number from 0 to 2^64-1", text);
        *(uint64_t *)place = seed;
        return WK_OK;
    case WK_RUN_NUMBER:
        if (!wk_text_to_number(text, &number))
            return wk_fail(err, WK_E_INPUT, "'%.80s' is not a number", text);
        WK_TRY(check_range(field, number, text, err));
        *(double *)place = number == 0 ? 0 : number; // no minus zero
        return WK_OK;
    case WK_RUN_TEXT:
        WK_TRY(check_text(text, err));
        if (field->choices) WK_TRY(check_choice(field->choices, text, err));
        memcpy(place, text, strlen(text) + 1);
        return WK_OK;
    case WK_RUN_LIST:
        WK_TRY(check_text(text, err));
        return parse_list(text, place, err);
    }
    return wk_fail(err, WK_E_INPUT, "no such kind of value");
}

wk_status wk_run_config_set(wk_run_config *config, int field, const char *text, wk_error *err)
{
    const wk_run_field *row = &wk_run_fields[field];
    wk_status status = set_value(row, (char *)config + row->offset, text, err);
    if (status != WK_OK) wk_fail_context(err, "%s", row->key);
    return status;
}

// Few digits that read back as the same number; with a point before an exponent, because YAML 1.1
// readers take "1e-05" for a text.
static void put_number(double value, wk_text *out)
{
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    if (!strchr(digits, 'e')) {
        wk_text_puts(out, digits);
        return;
    }
    size_t mantissa = strcspn(digits, "e");
    wk_text_append(out, digits, mantissa);
    if (!strchr(digits, '.')) wk_text_puts(out, ".0");
    wk_text_puts(out, digits + mantissa);
}

void wk_run_config_get(const wk_run_config *config, int field, wk_text *out)
{
    const void *place = (const char *)config + wk_run_fields[field].offset;
    switch (wk_run_fields[field].kind) {
    case WK_RUN_BOOL:
        wk_text_puts(out, *(const bool *)place ? "true" : "false");
        break;
    case WK_RUN_INT:
        wk_text_printf(out, "%d", *(const int *)place);
        break;
    case WK_RUN_COUNT:
        wk_text_printf(out, "%lld", (long long)*(const int64_t *)place);
        break;
    case WK_RUN_SEED:
        wk_text_printf(out, "%llu", (unsigned long long)*(const uint64_t *)place);
        break;
    case WK_RUN_NUMBER:
        put_number(*(const double *)place, out);
        break;
    case WK_RUN_TEXT:
    case WK_RUN_LIST:
        wk_text_puts(out, place);
        break;
    }
}

// The bytes of a value, of a text with its final zero.
static size_t size_of(const wk_run_field *field, const void *place)
{
    bool text = field->kind == WK_RUN_TEXT || field->kind == WK_RUN_LIST;
    return text                           ? strlen(place) + 1
           : field->kind == WK_RUN_BOOL   ? sizeof(bool)
           : field->kind == WK_RUN_INT    ? sizeof(int)
           : field->kind == WK_RUN_NUMBER ? sizeof(double)
                                          : sizeof(int64_t);
}

bool wk_run_config_same(const wk_run_config *a, const wk_run_config *b, int field)
{
    const wk_run_field *row = &wk_run_fields[field];
    const void *x = (const char *)a + row->offset, *y = (const char *)b + row->offset;
    return size_of(row, x) == size_of(row, y) && memcmp(x, y, size_of(row, x)) == 0;
}

uint64_t wk_run_config_hash(const wk_run_config *config)
{
    uint64_t hash = WK_FNV1A_START;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const wk_run_field *field = &wk_run_fields[i];
        if (field->role != WK_RUN_FIXED) continue;
        hash = wk_fnv1a(hash, field->key, strlen(field->key) + 1);
        const void *place = (const char *)config + field->offset;
        hash = wk_fnv1a(hash, place, size_of(field, place));
    }
    return hash;
}

wk_status wk_run_config_resumable(const wk_run_config *old, const wk_run_config *now, wk_error *err)
{
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (wk_run_fields[i].role != WK_RUN_FIXED || wk_run_config_same(old, now, i)) continue;
        wk_text was = {0}, is = {0};
        wk_run_config_get(old, i, &was);
        wk_run_config_get(now, i, &is);
        wk_status status = wk_fail(
            err, WK_E_INPUT,
            "the run was started with %s '%s', not '%s'; use the old value, or a new logdir",
            wk_run_keys[i], wk_text_get(&was), wk_text_get(&is));
        wk_text_free(&was);
        wk_text_free(&is);
        return status;
    }
    return WK_OK;
}
