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

static char *text_of(wk_merged_config *merged, int field)
{
    return (char *)&merged->config + wk_run_fields[field].offset;
}

// The keys of the two plug-ins: that of the file, and that of the name of what it brings.
static const struct {
    int file, name;
} plugin_keys[] = {{WK_RUN_plugin_INDEX, WK_RUN_domain_INDEX},
                   {WK_RUN_curriculum_plugin_INDEX, WK_RUN_curriculum_rule_INDEX}};
enum { PLUGINS = 2 };

wk_status wk_run_settings_merge(const wk_run_settings *settings, const wk_log *log,
                                wk_config_blocks **blocks, wk_merged_config *out, wk_error *err)
{
    // Blocks and settings, from the program, another run and files.
    char path[WK_PATH_MAX];
    bool there = true;
    *blocks = NULL;
    WK_TRY(wk_config_blocks_create(blocks, err));
    WK_TRY(wk_config_blocks_add_embedded(*blocks, err));
    if (settings->from) {
        WK_TRY(wk_path_join(settings->from, "config.yaml", path, err));
        WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    }
    if (!there) {
        wk_status status = wk_run_missing(settings->from, WK_E_INPUT, err);
        return err ? wk_fail_context(err, "--from") : status;
    }
    if (settings->from) WK_TRY(wk_config_blocks_add_file(*blocks, path, err));
    for (size_t i = 0; i < settings->n_files; i++)
        WK_TRY(wk_config_blocks_add_file(*blocks, settings->files[i], err));
    WK_TRY(wk_config_merge(*blocks, settings->blocks, settings->n_blocks, settings->keys,
                           settings->n_keys, out, err));

    // What the user may not have meant: blocks that undo each other, or what a file says.
    wk_text lines = {0}, line = {0};
    wk_status status =
        wk_config_conflicts(*blocks, settings->blocks, settings->n_blocks, &lines, err);
    for (const char *at = wk_text_get(&lines); *at; at += strcspn(at, "\n") + 1)
        wk_log_line(log, WK_LOG_WARN, "--configs: %.*s", (int)strcspn(at, "\n"), at);
    if (status == WK_OK)
        status = wk_config_overridden(*blocks, settings->files, settings->n_files, settings->blocks,
                                      settings->n_blocks, out, &line, err);
    const char *text = wk_text_get(&line);
    if (*text) wk_log_line(log, WK_LOG_WARN, "--config-file: %.*s", (int)strcspn(text, "\n"), text);
    wk_text_free(&lines);
    wk_text_free(&line);
    if (status != WK_OK || !settings->from) return status;

    // Plug-ins of a run whose settings are taken are where its record says, which is absolute.
    wk_plugin_record record = {0};
    WK_TRY(wk_plugin_record_read(settings->from, &record, err));
    const char *const recorded[PLUGINS] = {record.domain_file.path, record.rule_file.path};
    for (int i = 0; i < PLUGINS && status == WK_OK; i++) {
        const wk_origin *origin = &out->origins[plugin_keys[i].file];
        if (*recorded[i] && origin->file && strcmp(origin->block, WK_ORIGIN_RUN) == 0)
            status = wk_run_config_set(&out->config, plugin_keys[i].file, recorded[i], err);
    }
    wk_plugin_record_free(&record);
    return status;
}

// A value that was not set.
static bool is_default(const wk_merged_config *merged, int field)
{
    const wk_origin *origin = &merged->origins[field];
    return origin->file && strcmp(origin->block, WK_ORIGIN_DEFAULTS) == 0;
}

// One that the caller set.
static bool is_named(const wk_merged_config *merged, int field)
{
    return !merged->origins[field].file;
}

// Takes the plug-in of the run in the directory where the command left the choice to it; one that
// it leaves out otherwise is an error.
static wk_status keep_plugin(wk_merged_config *merged, int which, const char *configured,
                             const char *recorded, wk_error *err)
{
    int file = plugin_keys[which].file;
    if (*text_of(merged, file) || !*configured) return WK_OK;
    const char *path = *recorded ? recorded : configured;
    if (is_default(merged, plugin_keys[which].name) && is_default(merged, file))
        return wk_run_config_set(&merged->config, file, path, err);
    wk_text word = {0};
    wk_text_shell_quote(&word, path);
    wk_status status = wk_fail(err, WK_E_INPUT,
                               "the directory holds a run with a plug-in; to resume it add --%s "
                               "%s, else choose another logdir",
                               wk_run_keys[file], wk_text_get(&word));
    wk_text_free(&word);
    return status;
}

// The plug-ins of the configuration: those of the run that is there, whose configuration was
// `before`, where the command says nothing. They are loaded, and what they are called is taken.
static wk_status open_plugins(wk_merged_config *merged, const wk_run_config *before,
                              const wk_plugin_record *record, const wk_log *log,
                              wk_run_plugins *code, wk_error *err)
{
    if (before) {
        WK_TRY(keep_plugin(merged, 0, before->plugin, record->domain_file.path, err));
        WK_TRY(keep_plugin(merged, 1, before->curriculum_plugin, record->rule_file.path, err));
    }
    const wk_plugin_requests requests = {
        .domain = {merged->config.plugin, is_named(merged, WK_RUN_plugin_INDEX)},
        .rule = {merged->config.curriculum_plugin,
                 is_named(merged, WK_RUN_curriculum_plugin_INDEX)},
        .record = record,
        .log = log};
    WK_TRY(wk_run_plugins_open(&requests, code, err));

    // A command that names something else than its plug-in has would not get it. The names come
    // from where the files do.
    const char *const has[PLUGINS] = {code->plugin ? wk_plugin_domain(code->plugin)->name : NULL,
                                      code->rule.rule ? code->rule.rule->name : NULL};
    for (int i = 0; i < PLUGINS; i++) {
        int file = plugin_keys[i].file, name = plugin_keys[i].name;
        if (!has[i]) continue;
        if (is_named(merged, name) && is_named(merged, file) &&
            strcmp(text_of(merged, name), has[i]) != 0)
            return wk_fail(err, WK_E_INPUT,
                           "%s '%s' contradicts %s, which has '%s': leave out one of the two",
                           wk_run_keys[name], text_of(merged, name), wk_run_keys[file], has[i]);
        merged->origins[name] = merged->origins[file];
    }

    // The rule of a plug-in has no block: its prefill is the default of a run.
    int prefill = code->rule.rule ? code->rule.rule->prefill : 0;
    if (prefill != 0 && is_default(merged, WK_RUN_prefill_INDEX)) {
        char text[16];
        snprintf(text, sizeof text, "%d", prefill);
        merged->origins[WK_RUN_prefill_INDEX] = merged->origins[WK_RUN_curriculum_plugin_INDEX];
        wk_status status = wk_run_config_set(&merged->config, WK_RUN_prefill_INDEX, text, err);
        if (status != WK_OK)
            return err ? wk_fail_context(err, "plug-in '%s'", code->rule_file.path) : status;
    }
    WK_TRY(wk_run_plugins_resolve(code, &merged->config, err));

    // A run that resumes keeps the paths it began with, wherever the files are now.
    if (before && *merged->config.plugin && *before->plugin)
        WK_TRY(wk_run_config_set(&merged->config, WK_RUN_plugin_INDEX, before->plugin, err));
    if (before && *merged->config.curriculum_plugin && *before->curriculum_plugin)
        WK_TRY(wk_run_config_set(&merged->config, WK_RUN_curriculum_plugin_INDEX,
                                 before->curriculum_plugin, err));
    return WK_OK;
}

wk_status wk_run_settings_open(wk_merged_config *merged, const char *directory, const wk_log *log,
                               wk_run_plugins *code, wk_error *err)
{
    char path[WK_PATH_MAX];
    bool there = false;
    wk_run_world world;
    wk_run_config before;
    wk_plugin_record record = {0};
    if (directory) {
        WK_TRY(wk_path_join(directory, "config.yaml", path, err));
        WK_TRY(wk_file_exists_in(NULL, path, &there, err));
        WK_TRY(wk_plugin_record_read(directory, &record, err));
    }
    wk_status status = there ? wk_run_config_read(path, &before, err) : WK_OK;
    if (status == WK_OK)
        status = open_plugins(merged, there ? &before : NULL, &record, log, code, err);
    wk_plugin_record_free(&record);
    if (status == WK_OK) status = wk_run_world_open(&merged->config, code, NULL, &world, err);
    if (status == WK_OK) status = wk_run_config_check(&merged->config, world.domain, err);
    return status;
}

wk_status wk_run_settings_resolve(const wk_run_settings *settings, const char *directory,
                                  const wk_log *log, wk_run_config *out, wk_run_plugins *code,
                                  wk_error *err)
{
    wk_config_blocks *blocks = NULL;
    wk_merged_config merged;
    wk_run_settings effective = *settings;
    char path[WK_PATH_MAX];
    bool there;
    WK_TRY(wk_path_join(directory, "config.yaml", path, err));
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
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
