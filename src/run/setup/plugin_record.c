#include "run/setup/plugin_record.h"

#include "base/document.h"
#include "base/file.h"
#include <stdio.h>
#include <string.h>

static const char FORMAT[] = "waker-plugin-1";

static const char NAME[] = "plugin.json";

static void take_file(wk_document *d, wk_arena *arena, wk_code_file *out)
{
    if (!wk_document_object(d)) return;
    while (wk_document_member(d)) {
        if (wk_document_is(d, "path")) {
            const char *path = wk_document_string(d, arena);
            if (!wk_code_path_valid(path)) wk_document_fail(d, "a path that is not absolute");
            snprintf(out->path, sizeof out->path, "%s", path);
        } else if (wk_document_is(d, "sha256")) {
            const char *hash = wk_document_string(d, arena);
            if (!wk_sha256_valid(hash)) wk_document_fail(d, "an invalid hash");
            snprintf(out->sha256, sizeof out->sha256, "%s", hash);
        }
    }
}

static void take_domain(wk_document *d, wk_plugin_record *record)
{
    if (!wk_document_object(d)) return;
    wk_description_destroy(record->domain);
    record->domain = NULL;
    wk_description_read(d, &record->domain, NULL); // errors are the document's
}

static void take_rule(wk_document *d, wk_plugin_record *record)
{
    wk_curriculum_rule *rule = &record->rule;
    if (!wk_document_object(d)) return;
    *rule = (wk_curriculum_rule){.abi = WK_CURRICULUM_ABI, .summary = ""};
    while (wk_document_member(d)) {
        if (wk_document_is(d, "name"))
            rule->name = wk_document_string(d, &record->arena);
        else if (wk_document_is(d, "always"))
            rule->always = wk_document_bool(d);
    }
    // Names are printed.
    const char *name = rule->name ? rule->name : "";
    bool printable = *name && strlen(name) < 256;
    for (const char *c = name; *c; c++)
        printable &= !wk_utf8_control(c);
    if (!printable) wk_document_fail(d, "a rule without a printable name");
}

static bool has_file(const wk_code_file *file)
{
    return *file->path && *file->sha256;
}

static wk_status read_document(wk_document *d, wk_plugin_record *record, wk_error *err)
{
    const char *format = NULL;
    while (wk_document_member(d)) {
        if (wk_document_is(d, "format"))
            format = wk_document_string(d, &record->arena);
        else if (wk_document_is(d, "domain_file"))
            take_file(d, &record->arena, &record->domain_file);
        else if (wk_document_is(d, "rule_file"))
            take_file(d, &record->arena, &record->rule_file);
        else if (wk_document_is(d, "domain"))
            take_domain(d, record);
        else if (wk_document_is(d, "rule"))
            take_rule(d, record);
    }
    if (!format || strcmp(format, FORMAT) != 0)
        wk_document_fail(d, "format is '%.40s', not '%s'", format ? format : "none", FORMAT);
    if ((record->domain && !has_file(&record->domain_file)) ||
        (record->rule.name && !has_file(&record->rule_file)))
        wk_document_fail(d, "a plug-in without its file");
    return wk_document_close(d, err);
}

wk_status wk_plugin_record_read(const char *directory, wk_plugin_record *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_document document;
    WK_TRY(wk_path_join(directory, NAME, path, err));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return WK_OK;
    wk_status status = wk_document_open(path, &document, err);
    if (status == WK_OK)
        status = read_document(&document, out, err);
    else
        wk_document_close(&document, NULL);
    if (status != WK_OK) wk_plugin_record_free(out);
    return status;
}

void wk_plugin_record_free(wk_plugin_record *record)
{
    wk_description_destroy(record->domain);
    wk_arena_reset(&record->arena);
    *record = (wk_plugin_record){0};
}

static void put_file(wk_json *json, const char *key, const wk_code_file *file)
{
    wk_json_object(json, key);
    wk_json_string(json, "path", file->path);
    wk_json_string(json, "sha256", file->sha256);
    wk_json_close(json, '}');
}

static wk_status put_parts(const wk_plugin_parts *parts, wk_json *json, wk_error *err)
{
    wk_json_object(json, NULL);
    wk_json_string(json, "format", FORMAT);
    if (parts->domain) {
        put_file(json, "domain_file", parts->domain_file);
        wk_json_object(json, "domain");
        WK_TRY(wk_domain_describe(parts->domain, json, err));
        wk_json_close(json, '}');
    }
    if (parts->rule) {
        put_file(json, "rule_file", parts->rule_file);
        wk_json_object(json, "rule");
        wk_json_string(json, "name", parts->rule->name);
        wk_json_bool(json, "always", parts->rule->always);
        wk_json_close(json, '}');
    }
    wk_json_close(json, '}');
    return WK_OK;
}

// A plug-in may have texts that are not UTF-8; better found now than when the run is read.
static wk_status read_back(const wk_text *text, wk_error *err)
{
    wk_document document;
    wk_plugin_record record = {0};
    WK_TRY(wk_document_start("the plug-in's description", wk_text_get(text), text->length,
                             &document, err));
    wk_status status = read_document(&document, &record, err);
    wk_plugin_record_free(&record);
    return status;
}

wk_status wk_plugin_record_write(const wk_plugin_parts *parts, const wk_dir *directory,
                                 wk_error *err)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_status status = put_parts(parts, &json, err);
    if (status == WK_OK && text.failed)
        status = wk_fail(err, WK_E_MEMORY, "'%s': no memory to write it", NAME);
    if (status == WK_OK) status = read_back(&text, err);
    if (status == WK_OK)
        status = wk_file_write_in(directory, NAME, wk_text_get(&text), text.length, err);
    wk_text_free(&text);
    return status;
}
