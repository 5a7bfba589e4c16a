#include "run/settings.h"

#include "base/file.h"
#include "run/disk.h"
#include "run/world.h"
#include <stdio.h>
#include <string.h>

bool wk_run_settings_named(const wk_run_settings *settings)
{
    return settings->n_blocks > 0 || settings->n_files > 0 || settings->from;
}

static wk_status add_run(wk_config_blocks *blocks, const char *directory, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_join(directory, "config.yaml", path, err));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) {
        wk_status status = wk_run_missing(directory, WK_E_INPUT, err);
        return err ? wk_fail_context(err, "--from") : status;
    }
    return wk_config_blocks_add_file(blocks, path, err);
}

// Plug-ins of a run are where its record says, which is absolute.
static wk_status take_recorded(wk_merged_config *merged, const char *key, const char *recorded,
                               wk_error *err)
{
    int field = wk_run_field_find(key, strlen(key));
    const wk_origin *origin = &merged->origins[field];
    if (!*recorded || !origin->file || strcmp(origin->block, WK_ORIGIN_RUN) != 0) return WK_OK;
    return wk_run_config_set(&merged->config, field, recorded, err);
}

static wk_status take_plugins(const char *directory, wk_merged_config *merged, wk_error *err)
{
    wk_plugin_record record = {0};
    WK_TRY(wk_plugin_record_read(directory, &record, err));
    wk_status status = take_recorded(merged, "plugin", record.domain_file.path, err);
    if (status == WK_OK)
        status = take_recorded(merged, "curriculum.plugin", record.rule_file.path, err);
    wk_plugin_record_free(&record);
    return status;
}

static wk_status warn_of_overridden(const wk_run_settings *settings, const wk_config_blocks *blocks,
                                    const wk_merged_config *merged, const wk_log *log,
                                    wk_error *err)
{
    wk_text line = {0};
    wk_status status =
        wk_config_overridden(blocks, settings->files, settings->n_files, settings->blocks,
                             settings->n_blocks, merged, &line, err);
    const char *text = wk_text_get(&line);
    if (*text) wk_log_line(log, WK_LOG_WARN, "--config-file: %.*s", (int)strcspn(text, "\n"), text);
    wk_text_free(&line);
    return status;
}

static wk_status warn_of_conflicts(const wk_run_settings *settings, const wk_config_blocks *blocks,
                                   const wk_log *log, wk_error *err)
{
    wk_text lines = {0};
    wk_status status =
        wk_config_conflicts(blocks, settings->blocks, settings->n_blocks, &lines, err);
    for (const char *line = wk_text_get(&lines); *line; line += strcspn(line, "\n") + 1)
        wk_log_line(log, WK_LOG_WARN, "--configs: %.*s", (int)strcspn(line, "\n"), line);
    wk_text_free(&lines);
    return status;
}

wk_status wk_run_settings_merge(const wk_run_settings *settings, const wk_log *log,
                                wk_config_blocks **blocks, wk_merged_config *out, wk_error *err)
{
    *blocks = NULL;
    WK_TRY(wk_config_blocks_create(blocks, err));
    WK_TRY(wk_config_blocks_add_embedded(*blocks, err));
    if (settings->from) WK_TRY(add_run(*blocks, settings->from, err));
    for (size_t i = 0; i < settings->n_files; i++)
        WK_TRY(wk_config_blocks_add_file(*blocks, settings->files[i], err));
    WK_TRY(wk_config_merge(*blocks, settings->blocks, settings->n_blocks, settings->keys,
                           settings->n_keys, out, err));
    WK_TRY(warn_of_conflicts(settings, *blocks, log, err));
    WK_TRY(warn_of_overridden(settings, *blocks, out, log, err));
    return settings->from ? take_plugins(settings->from, out, err) : WK_OK;
}

static wk_origin *origin_of(wk_merged_config *merged, const char *key)
{
    return &merged->origins[wk_run_field_find(key, strlen(key))];
}

// A value that was not set.
static bool is_default(wk_merged_config *merged, const char *key)
{
    const wk_origin *origin = origin_of(merged, key);
    return origin->file && strcmp(origin->block, WK_ORIGIN_DEFAULTS) == 0;
}

static bool is_named(wk_merged_config *merged, const char *key)
{
    return !origin_of(merged, key)->file;
}

// Takes the plug-in of the run in the directory where the command left the choice to it; one that
// it leaves out otherwise is an error.
static wk_status keep_plugin(wk_merged_config *merged, const char *name, const char *key,
                             const char *configured, const char *recorded, wk_error *err)
{
    int field = wk_run_field_find(key, strlen(key));
    const char *value = (const char *)&merged->config + wk_run_fields[field].offset;
    if (*value || !*configured) return WK_OK;
    const char *path = *recorded ? recorded : configured;
    if (is_default(merged, name) && is_default(merged, key))
        return wk_run_config_set(&merged->config, field, path, err);
    wk_text word = {0};
    wk_text_shell_quote(&word, path);
    wk_fail(err, WK_E_INPUT,
            "the directory holds a run with a plug-in; to resume it add --%s %s, else choose "
            "another logdir",
            key, wk_text_get(&word));
    wk_text_free(&word);
    return WK_E_INPUT;
}

static wk_status keep_plugins(const char *directory, const wk_plugin_record *record,
                              wk_merged_config *merged, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_run_config before;
    WK_TRY(wk_path_join(directory, "config.yaml", path, err));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_run_config_read(path, &before, err));
    WK_TRY(keep_plugin(merged, "domain", "plugin", before.plugin, record->domain_file.path, err));
    return keep_plugin(merged, "curriculum.rule", "curriculum.plugin", before.curriculum_plugin,
                       record->rule_file.path, err);
}

// A command that names something else than its plug-in has would not get it.
static wk_status check_name(wk_merged_config *merged, const char *name, const char *key,
                            const char *named, const char *has, wk_error *err)
{
    if (!is_named(merged, name) || !is_named(merged, key) || strcmp(named, has) == 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "%s '%s' contradicts %s, which has '%s': leave out one of the two", name, named,
                   key, has);
}

// The rule of a plug-in has no block: its prefill is the default of a run.
static wk_status take_prefill(wk_merged_config *merged, const wk_run_plugins *code, wk_error *err)
{
    char text[16];
    int prefill = code->rule.rule->prefill;
    if (prefill == 0 || !is_default(merged, "prefill")) return WK_OK;
    snprintf(text, sizeof text, "%d", prefill);
    *origin_of(merged, "prefill") = *origin_of(merged, "curriculum.plugin");
    wk_status status = wk_run_config_set(&merged->config, WK_RUN_prefill_INDEX, text, err);
    return status == WK_OK || !err ? status
                                   : wk_fail_context(err, "plug-in '%s'", code->rule_file.path);
}

static wk_status open_code(wk_merged_config *merged, const char *directory,
                           const wk_plugin_record *record, const wk_log *log, wk_run_plugins *code,
                           wk_error *err)
{
    if (directory) WK_TRY(keep_plugins(directory, record, merged, err));
    const wk_plugin_requests requests = {
        .domain = {merged->config.plugin, is_named(merged, "plugin")},
        .rule = {merged->config.curriculum_plugin, is_named(merged, "curriculum.plugin")},
        .record = record,
        .log = log};
    WK_TRY(wk_run_plugins_open(&requests, code, err));
    const wk_run_config *config = &merged->config;
    if (code->plugin)
        WK_TRY(check_name(merged, "domain", "plugin", config->domain,
                          wk_plugin_domain(code->plugin)->name, err));
    if (code->rule.rule)
        WK_TRY(check_name(merged, "curriculum.rule", "curriculum.plugin", config->curriculum_rule,
                          code->rule.rule->name, err));
    // The names come from where the files do.
    if (code->plugin) *origin_of(merged, "domain") = *origin_of(merged, "plugin");
    if (code->rule.rule) {
        *origin_of(merged, "curriculum.rule") = *origin_of(merged, "curriculum.plugin");
        WK_TRY(take_prefill(merged, code, err));
    }
    return wk_run_plugins_resolve(code, directory, &merged->config, err);
}

wk_status wk_run_settings_open(wk_merged_config *merged, const char *directory, const wk_log *log,
                               wk_run_plugins *code, wk_error *err)
{
    wk_run_world world;
    wk_plugin_record record = {0};
    if (directory) WK_TRY(wk_plugin_record_read(directory, &record, err));
    wk_status status = open_code(merged, directory, &record, log, code, err);
    wk_plugin_record_free(&record);
    if (status == WK_OK) status = wk_run_world_open(&merged->config, code, NULL, &world, err);
    if (status == WK_OK) status = wk_run_config_check(&merged->config, world.domain, err);
    return status;
}

static wk_status holds_run(const char *directory, bool *there, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_join(directory, "config.yaml", path, err));
    return wk_file_exists_in(NULL, path, there, err);
}

wk_status wk_run_settings_resolve(const wk_run_settings *settings, const char *directory,
                                  const wk_log *log, wk_run_config *out, wk_run_plugins *code,
                                  wk_error *err)
{
    wk_config_blocks *blocks = NULL;
    wk_merged_config merged;
    wk_run_settings effective = *settings;
    bool there;
    WK_TRY(holds_run(directory, &there, err));
    if (!there) WK_TRY(wk_run_place_check(directory, err));
    if (!wk_run_settings_named(settings) && there) effective.from = directory;
    wk_status status = wk_run_settings_merge(&effective, log, &blocks, &merged, err);
    // Before the settings are checked: a directory that was mistyped is not about them.
    if (status == WK_OK && !wk_run_settings_named(&effective))
        status = wk_fail(err, WK_E_INPUT,
                         "'%s' holds no run to resume; for a new one say what to train with "
                         "--configs, for example --configs clean-up waker-m quick ('waker config "
                         "--list' shows all; 'defaults' is the paper's), or --from RUN",
                         directory);
    if (status == WK_OK) status = wk_run_settings_open(&merged, directory, log, code, err);
    wk_config_blocks_destroy(blocks);
    if (status == WK_OK) *out = merged.config;
    return status;
}
