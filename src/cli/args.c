#include "cli/args.h"

#include "base/code_file.h"
#include "config/config.h"
#include "run/weights.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAMES_MAX = 256 };

wk_status wk_arg_unknown(wk_error *err, const char *what, const char *name,
                         const char *const *names, size_t count)
{
    return wk_fail_nearest(err, WK_E_INPUT, name, names, count, "", "unknown %s '%s'", what, name);
}

wk_status wk_parse_number(const char *what, const char *text, double *out, wk_error *err)
{
    if (wk_text_to_number(text, out)) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "%s: '%s' is not a number", what, text);
}

wk_status wk_parse_int(const char *what, const char *text, int min, int max, int *out,
                       wk_error *err)
{
    double value; // exact for every int
    if (!wk_text_to_integer(text, &value))
        return wk_fail(err, WK_E_INPUT, "%s: '%s' is not a whole number", what, text);
    if (value < min || value > max)
        return wk_fail(err, WK_E_INPUT, "%s: %s is outside %d to %d", what, text, min, max);
    *out = (int)value;
    return WK_OK;
}

static wk_status store_seed(const char *what, const char *text, wk_arg_seed *out, wk_error *err)
{
    out->given = true;
    if (wk_text_to_unsigned(text, &out->value)) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "%s: '%s' is not a whole number from 0 to 2^64-1", what, text);
}

static wk_status store_step(const wk_arg *arg, const char *text, int64_t *out, wk_error *err)
{
    double number = 0;
    *out = strcmp(text, "all") == 0 ? WK_STEP_ALL : WK_STEP_LAST;
    if (strcmp(text, "last") == 0 || (*out == WK_STEP_ALL && strstr(arg->value, "all")))
        return WK_OK;
    if (!wk_text_to_number(text, &number) || number < 0 || number > 1e15 || number != floor(number))
        return wk_fail(err, WK_E_INPUT,
                       "--%s '%s' is not an agent step; give a whole number, or last", arg->name,
                       text);
    *out = (int64_t)number;
    return WK_OK;
}

static wk_status store_choice(const wk_arg *arg, const char *text, const char **out, wk_error *err)
{
    enum { CHOICES_MAX = 8 };
    char words[128], *rest = words;
    const char *names[CHOICES_MAX];
    size_t count = 0;
    *out = text;
    snprintf(words, sizeof words, "%s", arg->value);
    for (char *word; count < CHOICES_MAX && (word = strsep(&rest, "|")); names[count++] = word)
        if (strcmp(word, text) == 0) return WK_OK;
    return wk_fail_nearest(err, WK_E_INPUT, text, names, count, "", "--%s: '%s' is none of %s",
                           arg->name, text, arg->value);
}

static wk_status store_number(const wk_arg *arg, const char *what, const char *text, double *out,
                              wk_error *err)
{
    double value = 0;
    WK_TRY(wk_parse_number(what, text, &value, err));
    if (value < arg->min || value > arg->max)
        return wk_fail(err, WK_E_INPUT, "%s: %s is outside %g to %g", what, text, arg->min,
                       arg->max);
    *out = value;
    return WK_OK;
}

static wk_status store_text(const char *what, const char *text, wk_arg_texts *out, wk_error *err)
{
    if (out->count == WK_ARG_REPEATS_MAX)
        return wk_fail(err, WK_E_INPUT, "%s: given more than %d times", what, WK_ARG_REPEATS_MAX);
    out->items[out->count++] = text;
    return WK_OK;
}

// An empty path is a variable that was never set; with a name after it, it would be "/name".
static wk_status check_path(const char *what, const char *text, wk_error *err)
{
    if (*text) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "%s: the path is empty; is a variable not set?", what);
}

// Without the function it would be taken for the path of a shared object.
static wk_status check_function(const char *text, wk_error *err)
{
    if (wk_python_spec_source_length(text)) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--python takes MODULE:FUNCTION or FILE.py:FUNCTION, for example "
                   "my_envs:make_env or my_envs.py:make_env, not '%s'",
                   text);
}

static wk_status store_setting(wk_arg_settings *settings, wk_setting setting, wk_error *err)
{
    if (settings->count == WK_ARG_SETTINGS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d settings", WK_ARG_SETTINGS_MAX);
    settings->items[settings->count++] = setting;
    return WK_OK;
}

static wk_status store(const wk_arg *arg, void *values, const char *text, wk_error *err)
{
    char what[80] = "--";
    strncat(what, arg->name, sizeof what - 3);
    void *place = (char *)values + arg->offset;
    switch (arg->type) {
    case WK_ARG_FLAG:
        *(bool *)place = true;
        return WK_OK;
    case WK_ARG_INT:
        return wk_parse_int(what, text, (int)arg->min, (int)arg->max, place, err);
    case WK_ARG_NUMBER:
        return store_number(arg, what, text, place, err);
    case WK_ARG_SEED:
        return store_seed(what, text, place, err);
    case WK_ARG_STEP:
        return store_step(arg, text, place, err);
    case WK_ARG_CHOICE:
        return store_choice(arg, text, place, err);
    case WK_ARG_PATH:
        WK_TRY(check_path(what, text, err));
        if (strcmp(arg->name, "python") == 0) WK_TRY(check_function(text, err));
        *(const char **)place = text;
        return WK_OK;
    case WK_ARG_TEXT:
        *(const char **)place = text;
        return WK_OK;
    case WK_ARG_PATHS:
        WK_TRY(check_path(what, text, err));
        return store_text(what, text, place, err);
    case WK_ARG_TEXTS:
    case WK_ARG_NAMES:
        return store_text(what, text, place, err);
    case WK_ARG_PLUGIN:
        WK_TRY(check_path(what, text, err));
        WK_TRY(check_function(text, err));
        return store_setting(place, (wk_setting){"plugin", strlen("plugin"), text}, err);
    case WK_ARG_KEYS:
        break;
    }
    assert(!"unknown type of option");
    return WK_OK;
}

// Where options that are keys go, or NULL if the command has none.
static wk_arg_settings *find_settings(const wk_arg_table *tables, size_t n_tables)
{
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            if (tables[t].args[i].type == WK_ARG_KEYS)
                return (wk_arg_settings *)((char *)tables[t].values + tables[t].args[i].offset);
    return NULL;
}

// A known key, or a pattern over them.
static bool is_key(const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i])) return true;
    return wk_run_field_find(name, length) >= 0;
}

static wk_status unknown_option(const wk_arg_table *tables, size_t n_tables, const char *name,
                                wk_error *err)
{
    const char *names[NAMES_MAX] = {0};
    size_t count = 0;
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < tables[t].count && count < NAMES_MAX; i++)
            if (tables[t].args[i].type != WK_ARG_KEYS) names[count++] = tables[t].args[i].name;
    const wk_arg_settings *settings = find_settings(tables, n_tables);
    for (size_t i = 0; settings && i < WK_RUN_FIELD_COUNT && count < NAMES_MAX; i++)
        names[count++] = wk_run_keys[i];
    char suggestion[WK_SUGGESTION_MAX];
    wk_text_suggestion("--", name, names, count, suggestion);
    // No name is like it: keys that are about it, if they are few.
    enum { FEW = 4 };
    int about = 0, used = 0;
    for (int i = 0; settings && !*suggestion && *name && i < WK_RUN_FIELD_COUNT; i++)
        about += wk_run_field_is_about(i, name);
    for (int i = 0; about > 0 && about <= FEW && i < WK_RUN_FIELD_COUNT; i++)
        if (wk_run_field_is_about(i, name))
            used += snprintf(suggestion + used, sizeof suggestion - (size_t)used, "%s--%s",
                             used ? ", " : "; keys about it: ", wk_run_keys[i]);
    if (about > FEW)
        snprintf(suggestion, sizeof suggestion,
                 "; 'waker config --search %.40s' lists keys about it", name);
    return wk_fail(err, WK_E_INPUT, "unknown option '--%s'%s", name, suggestion);
}

// The option called name[0 ... length-1], and the struct its value goes to.
static const wk_arg *find_arg(const wk_arg_table *tables, size_t n_tables, const char *name,
                              size_t length, void **values)
{
    for (size_t t = 0; t < n_tables; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const wk_arg *arg = &tables[t].args[i];
            if (arg->type == WK_ARG_KEYS || strlen(arg->name) != length ||
                memcmp(arg->name, name, length) != 0)
                continue;
            *values = tables[t].values;
            return arg;
        }
    return NULL;
}

// Reads the value of a key, after '=' or in the next argument.
static wk_status parse_setting(wk_arg_settings *settings, const char *name, size_t length, int argc,
                               char **argv, int *at, wk_error *err)
{
    wk_setting setting = {.key = name, .key_length = length};
    if (name[length] == '=')
        setting.value = name + length + 1;
    else if (*at < argc && strncmp(argv[*at], "--", 2) != 0)
        setting.value = argv[(*at)++];
    else
        return wk_fail(err, WK_E_INPUT, "--%s needs a value", name);
    return store_setting(settings, setting, err);
}

// Stores the words that follow up to the next option.
static wk_status parse_names(const wk_arg *arg, void *values, int argc, char **argv, int *at,
                             wk_error *err)
{
    do
        WK_TRY(store(arg, values, argv[(*at)++], err));
    while (*at < argc && argv[*at][0] != '-');
    return WK_OK;
}

// Reads the option at argv[*at] and its value; moves *at past both.
static wk_status parse_option(const wk_arg_table *tables, size_t n_tables, int argc, char **argv,
                              int *at, wk_error *err)
{
    const char *text = argv[(*at)++];
    if (strcmp(text, "-h") == 0) text = "--help";
    if (text[1] != '-') return wk_fail(err, WK_E_INPUT, "unknown option '%s'", text);
    const char *name = text + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    void *values;
    const wk_arg *arg = find_arg(tables, n_tables, name, length, &values);
    wk_arg_settings *settings = arg ? NULL : find_settings(tables, n_tables);
    if (settings && is_key(name, length))
        return parse_setting(settings, name, length, argc, argv, at, err);
    if (!arg) {
        char shown[80] = "";
        strncat(shown, name, length < sizeof shown ? length : sizeof shown - 1);
        return unknown_option(tables, n_tables, shown, err);
    }
    if (arg->type == WK_ARG_FLAG) {
        if (equals) return wk_fail(err, WK_E_INPUT, "--%s takes no value", arg->name);
        return store(arg, values, "", err);
    }
    if (equals) return store(arg, values, equals + 1, err);
    if (*at >= argc || strncmp(argv[*at], "--", 2) == 0)
        return wk_fail(err, WK_E_INPUT, "--%s needs a value: --%s %s", arg->name, arg->name,
                       arg->value);
    if (arg->type == WK_ARG_NAMES) return parse_names(arg, values, argc, argv, at, err);
    return store(arg, values, argv[(*at)++], err);
}

static wk_status take_word(wk_arg_words *words, const char *word, wk_error *err)
{
    if (words->count == WK_ARG_WORDS_MAX) return wk_fail(err, WK_E_INPUT, "too many arguments");
    if (!*word)
        return wk_fail(err, WK_E_INPUT, "argument %d is empty; is a variable not set?",
                       words->count + 1);
    words->items[words->count++] = word;
    return WK_OK;
}

static bool is_given(const char *name, int argc, char **argv)
{
    size_t length = strlen(name);
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, length) == 0 &&
            (!argv[i][2 + length] || argv[i][2 + length] == '='))
            return true;
    return false;
}

// Both say where the environments come from.
static wk_status check_one_source(int argc, char **argv, wk_error *err)
{
    if (!is_given("plugin", argc, argv) || !is_given("python", argc, argv)) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "give --plugin or --python, not both");
}

wk_status wk_args_parse(const wk_arg_table *tables, size_t n_tables, int argc, char **argv,
                        wk_arg_words *words, int *taken, wk_error *err)
{
    bool options = true;
    int at = 0;
    while (at < argc) {
        bool is_option = options && argv[at][0] == '-' && argv[at][1];
        if (is_option && strcmp(argv[at], "--") == 0) {
            options = false;
            at++;
        } else if (is_option) {
            WK_TRY(parse_option(tables, n_tables, argc, argv, &at, err));
        } else if (words) {
            WK_TRY(take_word(words, argv[at++], err));
        } else
            break;
    }
    *taken = at;
    return check_one_source(at, argv, err);
}

wk_status wk_args_check_required(const wk_arg_table *table, wk_error *err)
{
    for (size_t i = 0; i < table->count; i++) {
        const wk_arg *arg = &table->args[i];
        if (arg->required && !*(const char **)((char *)table->values + arg->offset))
            return wk_fail(err, WK_E_INPUT, "--%s %s is required: %s", arg->name, arg->value,
                           arg->help);
    }
    return WK_OK;
}

bool wk_path_ends_in(const char *path, const char *extension)
{
    size_t n = strlen(path), m = strlen(extension);
    return n > m && strcasecmp(path + n - m, extension) == 0;
}
