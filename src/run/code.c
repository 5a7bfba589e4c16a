#include "run/code.h"

#include "base/file.h"
#include "base/json.h"
#include "env/plugins/plugin.h"
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
        else if (wk_document_is(d, "domain")) {
            if (!wk_document_object(d)) continue;
            wk_description_destroy(record->domain);
            record->domain = NULL;
            wk_description_read(d, &record->domain, NULL); // errors are the document's
        } else if (wk_document_is(d, "rule"))
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

wk_status wk_run_plugins_record(const wk_run_plugins *code, const wk_dir *directory, wk_error *err)
{
    if (!code || (!code->plugin && !code->rule.rule)) return WK_OK;
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_document again;
    wk_plugin_record record = {0};
    wk_status status = WK_OK;
    wk_json_object(&json, NULL);
    wk_json_string(&json, "format", FORMAT);
    if (code->plugin) {
        put_file(&json, "domain_file", &code->domain_file);
        wk_json_object(&json, "domain");
        status = wk_domain_describe(wk_plugin_domain(code->plugin), &json, err);
        wk_json_close(&json, '}');
    }
    if (code->rule.rule) {
        put_file(&json, "rule_file", &code->rule_file);
        wk_json_object(&json, "rule");
        wk_json_string(&json, "name", code->rule.rule->name);
        wk_json_bool(&json, "always", code->rule.rule->always);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, '}');
    if (status == WK_OK && text.failed)
        status = wk_fail(err, WK_E_MEMORY, "'%s': no memory to write it", NAME);
    // A plug-in may have texts that are not UTF-8; better found now than when the run is read.
    if (status == WK_OK)
        status =
            wk_document_start("the plug-in's description", text.chars, text.length, &again, err);
    if (status == WK_OK) status = read_document(&again, &record, err);
    wk_plugin_record_free(&record);
    if (status == WK_OK)
        status = wk_file_write_in(directory, NAME, wk_text_get(&text), text.length, err);
    wk_text_free(&text);
    return status;
}

// What plug-ins bring, and the options that name their files.
enum { DOMAIN, RULE, REWARD, PARTS };
static const struct {
    const char *what, *option;
} parts[PARTS] = {
    {"domain", "--plugin"}, {"curriculum", "--curriculum.plugin"}, {"reward", "--reward"}};

// Fails for plug-ins that the caller did not name; their paths are given.
static wk_status refuse_unnamed(const char *const paths[PARTS], wk_error *err)
{
    wk_text what = {0}, options = {0};
    bool any = false; // the texts are empty where there is no memory
    for (int i = 0; i < PARTS; i++) {
        wk_text word = {0};
        if (!paths[i]) continue;
        any = true;
        wk_text_shell_quote(&word, paths[i]);
        wk_text_printf(&what, "%sthe %s comes from the plug-in %s", what.length ? " and " : "",
                       parts[i].what, wk_text_get(&word));
        // A path in a file is not relative to the folder that the caller happens to be in.
        wk_text_printf(&options, "%s%s %s", options.length ? " " : "", parts[i].option,
                       paths[i][0] == '/' ? wk_text_get(&word) : "FILE");
        wk_text_free(&word);
    }
    wk_status status = WK_OK;
    if (any)
        status = wk_fail(err, WK_E_INPUT, "%s, which was not named. " WK_PLUGIN_ADVICE "%s",
                         wk_text_get(&what), wk_text_get(&options));
    wk_text_free(&what);
    wk_text_free(&options);
    return status;
}

wk_status wk_run_plugins_refuse_reward(const char *path, wk_error *err)
{
    return refuse_unnamed((const char *const[PARTS]){[REWARD] = path}, err);
}

// Finds a named file. `recorded` is what the run was made with; NULL where that is not known.
static wk_status find_file(const char *path, const wk_code_file *recorded, const wk_log *log,
                           wk_code_file *out, wk_error *err)
{
    WK_TRY(wk_plugin_file(path, out, err));
    if (recorded && strcmp(recorded->sha256, out->sha256) != 0)
        wk_log_line(
            log, WK_LOG_WARN,
            "the plug-in %s changed since the run was started: SHA-256 now %.12s..., then %.12s...",
            out->path, out->sha256, recorded->sha256);
    return WK_OK;
}

wk_status wk_run_plugins_open(const wk_plugin_requests *w, wk_run_plugins *code, wk_error *err)
{
    *code = (wk_run_plugins){0};
    bool domain = w->domain.path && *w->domain.path, rule = w->rule.path && *w->rule.path;
    const char *unnamed[PARTS] = {NULL};
    if (domain && !w->domain.named) unnamed[DOMAIN] = w->domain.path;
    if (rule && !w->rule.named) unnamed[RULE] = w->rule.path;
    WK_TRY(refuse_unnamed(unnamed, err)); // before anything is opened

    const wk_description *described = w->record ? w->record->domain : NULL;
    if (domain) {
        WK_TRY(find_file(w->domain.path, described ? &w->record->domain_file : NULL, w->log,
                         &code->domain_file, err));
        WK_TRY(wk_plugin_open(code->domain_file.path, w->log, &code->plugin, err));
    }
    if (domain && described) {
        wk_status status = wk_description_fits(described, wk_plugin_domain(code->plugin), err);
        if (status != WK_OK) wk_fail_context(err, "plug-in '%s'", code->domain_file.path);
        WK_TRY(status);
    }
    const char *was = w->record ? w->record->rule.name : NULL;
    if (rule) {
        WK_TRY(find_file(w->rule.path, was ? &w->record->rule_file : NULL, w->log, &code->rule_file,
                         err));
        WK_TRY(wk_rule_plugin_open(code->rule_file.path, &code->rule, err));
    }
    if (!rule || !was || strcmp(was, code->rule.rule->name) == 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "plug-in '%s': its rule '%s' is not the '%s' that the run was started with; use "
                   "the file of that time, or start a new run",
                   code->rule_file.path, code->rule.rule->name, was);
}

wk_status wk_run_plugins_open_reward(const char *path, wk_run_plugins *code, wk_code_file *file,
                                     wk_error *err)
{
    if (code->n_rewards == WK_TASKS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d rewards", WK_TASKS_MAX);
    WK_TRY(wk_plugin_file(path, file, err));
    WK_TRY(wk_reward_plugin_open(file->path, &code->rewards[code->n_rewards], err));
    code->n_rewards++;
    return WK_OK;
}

void wk_run_plugins_close(wk_run_plugins *code)
{
    wk_plugin_unload(code->plugin);
    wk_rule_plugin_close(&code->rule);
    for (int i = 0; i < code->n_rewards; i++)
        wk_reward_plugin_close(&code->rewards[i]);
    *code = (wk_run_plugins){0};
}

// The named file, else the one the run last used, else the configured one.
static wk_status request_of_saved(int part, const char *directory, const char *configured,
                                  const char *recorded, const char *named, wk_plugin_request *out,
                                  wk_error *err)
{
    if (!*configured && named)
        return wk_fail(err, WK_E_INPUT, "'%s' is not for '%s', whose %s is built in: leave it out",
                       named, directory, parts[part].what);
    if (!*configured) return WK_OK;
    *out = (wk_plugin_request){named ? named : *recorded ? recorded : configured, named != NULL};
    return WK_OK;
}

wk_status wk_run_plugins_open_saved(const char *directory, const wk_run_config *config,
                                    const wk_named_plugins *named, bool rule, const wk_log *log,
                                    wk_run_plugins *out, wk_error *err)
{
    wk_plugin_record record = {0};
    wk_plugin_requests requests = {.record = &record, .log = log};
    WK_TRY(wk_plugin_record_read(directory, &record, err));
    wk_status status = request_of_saved(DOMAIN, directory, config->plugin, record.domain_file.path,
                                        named->domain, &requests.domain, err);
    if (status == WK_OK && rule)
        status = request_of_saved(RULE, directory, config->curriculum_plugin, record.rule_file.path,
                                  named->rule, &requests.rule, err);
    if (status == WK_OK) status = wk_run_plugins_open(&requests, out, err);
    wk_plugin_record_free(&record);
    return status;
}

wk_status wk_run_plugins_resolve(const wk_run_plugins *code, wk_run_config *config, wk_error *err)
{
    if (code->plugin) {
        const char *name = wk_plugin_domain(code->plugin)->name;
        WK_TRY(wk_run_config_set(config, WK_RUN_plugin_INDEX, code->domain_file.path, err));
        WK_TRY(wk_run_config_set(config, WK_RUN_domain_INDEX, name, err));
    }
    if (!code->rule.rule) return WK_OK;
    WK_TRY(wk_run_config_set(config, WK_RUN_curriculum_plugin_INDEX, code->rule_file.path, err));
    return wk_run_config_set(config, WK_RUN_curriculum_rule_INDEX, code->rule.rule->name, err);
}
