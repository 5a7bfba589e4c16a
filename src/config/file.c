// A configuration as a file: the config.yaml of a run's folder, complete and readable by any YAML
// reader.
#include "base/file.h"
#include "config/config.h"
#include "config/yaml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20 };
static const char FORMAT_KEY[] = "format";

// Words that need no quotes and cannot be taken for a number, a truth value or nothing.
static bool is_plain_word(const char *text)
{
    static const char *const special[] = {"true", "false", "null", "yes", "no",
                                          "on",   "off",   "y",    "n"};
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    if (!*text || !strchr(letters, *text)) return false;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strcmp(text, special[i]) == 0) return false;
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-_/.")] == 0;
}

// Double quotes, with escapes for all that is not ASCII: YAML folds some of it.
static void put_text(const char *text, wk_text *out)
{
    if (is_plain_word(text)) {
        wk_text_puts(out, text);
        return;
    }
    wk_text_puts(out, "\"");
    while (*text) {
        uint32_t code = 0;
        text += wk_utf8_decode(text, SIZE_MAX, &code);
        if (code == '"' || code == '\\')
            wk_text_printf(out, "\\%c", (char)code);
        else if (code < 0x80)
            wk_text_printf(out, "%c", (char)code);
        else
            wk_text_printf(out, code < 0x10000 ? "\\u%04X" : "\\U%08X", code);
    }
    wk_text_puts(out, "\"");
}

static void put_value(const wk_run_config *config, int field, wk_text *out)
{
    const wk_run_field *row = &wk_run_fields[field];
    if (row->kind == WK_RUN_TEXT || row->kind == WK_RUN_LIST)
        put_text((const char *)config + row->offset, out);
    else
        wk_run_config_get(config, field, out);
    wk_text_puts(out, "\n");
}

void wk_run_defaults_print(wk_text *out)
{
    const wk_run_config defaults = wk_run_config_default();
    wk_text_puts(out, "defaults:\n");
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        wk_text_printf(out, "  %s: ", wk_run_keys[i]);
        put_value(&defaults, i, out);
    }
}

void wk_run_config_print(const wk_run_config *config, wk_text *out)
{
    const char *group = "";
    size_t group_length = 0;
    wk_text_printf(out, "%s: %d\n", FORMAT_KEY, WK_RUN_FORMAT);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const char *key = wk_run_keys[i], *point = strchr(key, '.');
        size_t length = point ? (size_t)(point - key) : 0;
        bool same = length == group_length && strncmp(group, key, length) == 0;
        if (point && !same) wk_text_printf(out, "%.*s:\n", (int)length, key);
        group = key;
        group_length = length;
        wk_text_printf(out, "%s%s: ", point ? "  " : "", point ? point + 1 : key);
        put_value(config, i, out);
    }
}

wk_status wk_run_config_write_in(const wk_run_config *config, const wk_dir *in, const char *path,
                                 wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "# The configuration of this run, complete. Made by waker; see "
                        "docs/configuration.md.\n");
    wk_run_config_print(config, &text);
    return wk_file_write_text(in, path, &text, err);
}

static wk_status apply_value(const wk_yaml_value *value, int field, wk_run_config *config,
                             wk_error *err)
{
    if (field < 0) return wk_run_field_unknown(value->key, err);
    if (value->is_list && wk_run_fields[field].kind != WK_RUN_LIST)
        return wk_fail(err, WK_E_INPUT, "%s: expected one value, not a list", value->key);
    return wk_run_config_set(config, field, value->text, err);
}

bool wk_yaml_is_format(const wk_yaml_value *value)
{
    return strcmp(value->key, FORMAT_KEY) == 0;
}

static wk_status check_format(const wk_yaml *yaml, wk_error *err)
{
    char number[16];
    snprintf(number, sizeof number, "%d", WK_RUN_FORMAT);
    for (size_t i = 0; i < yaml->values.count; i++) {
        const wk_yaml_value *value = &yaml->values.items[i];
        if (!wk_yaml_is_format(value) || (!value->is_list && strcmp(value->text, number) == 0))
            continue;
        return wk_fail(err, WK_E_INPUT,
                       "%s:%d: unknown format %.20s; this version of waker reads runs of format "
                       "%d: use the version that made this one",
                       yaml->name, value->line, value->text, WK_RUN_FORMAT);
    }
    return WK_OK;
}

wk_status wk_yaml_check_run(const wk_yaml *yaml, wk_error *err)
{
    WK_TRY(check_format(yaml, err));
    // A file that was cut short or edited must not go on with other settings than the run began
    // with.
    bool found[WK_RUN_FIELD_COUNT] = {false};
    const char *missing = FORMAT_KEY;
    for (size_t i = 0; i < yaml->values.count; i++) {
        const char *key = yaml->values.items[i].key;
        int field = wk_run_field_find(key, strlen(key));
        if (field >= 0) found[field] = true;
        if (wk_yaml_is_format(&yaml->values.items[i])) missing = NULL;
    }
    for (int i = 0; i < WK_RUN_FIELD_COUNT && !missing; i++)
        if (!found[i]) missing = wk_run_keys[i];
    if (!missing) return WK_OK;
    return wk_fail(
        err, WK_E_FORMAT,
        "'%s' lacks the key '%s', which every run has: it was truncated or edited; restore a "
        "copy, or add the line with the value that the run was started with",
        yaml->name, missing);
}

static wk_status apply(const wk_yaml *yaml, wk_run_config *config, wk_error *err)
{
    WK_TRY(check_format(yaml, err)); // first: a file of another version has other keys
    for (size_t i = 0; i < yaml->values.count; i++) {
        const wk_yaml_value *value = &yaml->values.items[i];
        if (wk_yaml_is_format(value)) continue;
        int field = wk_run_field_find(value->key, strlen(value->key));
        wk_status status = apply_value(value, field, config, err);
        if (status != WK_OK) wk_fail_context(err, "%s:%d", yaml->name, value->line);
        WK_TRY(status);
    }
    return wk_yaml_check_run(yaml, err);
}

wk_status wk_run_config_read(const char *path, wk_run_config *out, wk_error *err)
{
    char *bytes;
    size_t size;
    WK_TRY(wk_file_read(path, FILE_LIMIT, &bytes, &size, err));
    wk_yaml yaml;
    wk_status status = wk_yaml_parse(path, bytes, size, false, &yaml, err);
    free(bytes);
    if (status != WK_OK) return status;
    wk_run_config config = wk_run_config_default();
    status = apply(&yaml, &config, err);
    wk_yaml_free(&yaml);
    if (status == WK_OK) *out = config;
    return status;
}
