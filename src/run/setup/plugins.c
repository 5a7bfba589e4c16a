#include "run/setup/plugins.h"

#include "base/file.h"
#include "env/plugins/plugin_python.h"
#include <stdio.h>
#include <string.h>

// One of the kinds of plug-ins, in the words of messages.
typedef struct part {
    const char *what, *option;
} part;

static const part DOMAIN = {"domain", "--plugin"}, RULE = {"curriculum", "--curriculum.plugin"},
                  REWARD = {"reward", "--reward"};

// Fails with "..., which MESSAGE: add OPTION PATH" and what else would do.
static wk_status refuse(const part *p, const char *path, const char *why, wk_error *err)
{
    wk_text word = {0};
    wk_text_shell_quote(&word, path);
    wk_status status = wk_fail(
        err, WK_E_INPUT,
        "the %s comes from the plug-in %s, which %s. Plug-ins are code: if you trust this "
        "one, add %s %s, or trust it for good with 'waker trust %s'",
        p->what, wk_text_get(&word), why, p->option, wk_text_get(&word), wk_text_get(&word));
    wk_text_free(&word);
    return status;
}

// Fails for a trusted file that is not the one of before. `directory` is that of a run to be
// trained, whose whole command is given: others that train, as 'waker sweep', have no such option.
static wk_status refuse_changed(const part *p, const char *path, const char *directory,
                                wk_error *err)
{
    wk_text word = {0}, command = {0};
    wk_text_shell_quote(&word, path);
    if (directory) {
        wk_text_puts(&command, ": 'waker train --logdir ");
        wk_text_shell_quote(&command, directory);
        wk_text_printf(&command, " %s %s'", p->option, wk_text_get(&word));
    }
    wk_status status =
        wk_fail(err, WK_E_INPUT,
                "the %s comes from the plug-in %s, which is not the one the run was started with: "
                "the file changed. If it is the one you mean, add %s %s%s",
                p->what, wk_text_get(&word), p->option, wk_text_get(&word), wk_text_get(&command));
    wk_text_free(&command);
    wk_text_free(&word);
    return status;
}

// A path from a file: nothing of it is opened unless it is on the list.
static wk_status find_trusted(const part *p, const char *path, wk_code_file *out, wk_error *err)
{
    if (path[0] != '/')
        return wk_fail(err, WK_E_INPUT,
                       "the %s comes from the plug-in '%s', which is not an absolute path; name "
                       "the file with %s FILE",
                       p->what, path, p->option);
    wk_trusted trusted = {0};
    WK_TRY(wk_trusted_read(&trusted, err));
    const wk_code_file *found = wk_trusted_find(&trusted, path);
    wk_status status = WK_OK;
    if (!found) status = refuse(p, path, "is neither named by this command nor trusted", err);
    if (status == WK_OK) status = wk_code_file_read(path, out, err);
    if (status == WK_OK && strcmp(found->sha256, out->sha256) != 0)
        status = refuse(p, path, "changed since you trusted it", err);
    wk_trusted_free(&trusted);
    return status;
}

static bool changed(const wk_code_file *recorded, const wk_code_file *now)
{
    return recorded && strcmp(recorded->sha256, now->sha256) != 0;
}

// `recorded` is what the run was made with; NULL where that is not known.
static wk_status find_file(const part *p, const wk_plugin_request *request,
                           const wk_code_file *recorded, const wk_plugin_requests *w,
                           wk_code_file *out, wk_error *err)
{
    WK_TRY(request->named ? wk_plugin_file(request->path, out, err)
                          : find_trusted(p, request->path, out, err));
    if (!request->named && !w->begins && changed(recorded, out))
        return refuse_changed(p, request->path, w->directory, err);
    if (changed(recorded, out))
        wk_log_line(
            w->log, WK_LOG_WARN,
            "the plug-in %s changed since the run was started: SHA-256 now %.12s..., then %.12s...",
            out->path, out->sha256, recorded->sha256);
    return WK_OK;
}

static bool is_requested(const wk_plugin_request *request)
{
    return request->path && *request->path;
}

static wk_status open_domain(const wk_plugin_requests *w, wk_run_plugins *code, wk_error *err)
{
    if (!is_requested(&w->domain)) return WK_OK;
    const wk_description *was = w->record ? w->record->domain : NULL;
    WK_TRY(find_file(&DOMAIN, &w->domain, was ? &w->record->domain_file : NULL, w,
                     &code->domain_file, err));
    WK_TRY(wk_plugin_open(code->domain_file.path, w->log, &code->plugin, err));
    if (!was) return WK_OK;
    wk_status status = wk_description_fits(was, wk_plugin_domain(code->plugin), err);
    if (status != WK_OK) wk_fail_context(err, "plug-in '%s'", code->domain_file.path);
    return status;
}

static wk_status open_rule(const wk_plugin_requests *w, wk_run_plugins *code, wk_error *err)
{
    if (!is_requested(&w->rule)) return WK_OK;
    const char *was = w->record ? w->record->rule.name : NULL;
    WK_TRY(
        find_file(&RULE, &w->rule, was ? &w->record->rule_file : NULL, w, &code->rule_file, err));
    WK_TRY(wk_rule_plugin_open(code->rule_file.path, &code->rule, err));
    if (!was || strcmp(was, code->rule.rule->name) == 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "plug-in '%s': its rule '%s' is not the '%s' that the run was started with; use "
                   "the file of that time, or start a new run",
                   code->rule_file.path, code->rule.rule->name, was);
}

wk_status wk_run_plugins_open(const wk_plugin_requests *requests, wk_run_plugins *out,
                              wk_error *err)
{
    *out = (wk_run_plugins){0};
    wk_status status = open_domain(requests, out, err);
    if (status == WK_OK) status = open_rule(requests, out, err);
    if (status != WK_OK) wk_run_plugins_close(out);
    return status;
}

wk_status wk_run_plugins_open_reward(const wk_plugin_request *request, const wk_code_file *recorded,
                                     const wk_log *log, wk_run_plugins *code, wk_code_file *file,
                                     wk_error *err)
{
    if (code->n_rewards == WK_TASKS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d rewards", WK_TASKS_MAX);
    const wk_plugin_requests w = {.log = log};
    WK_TRY(find_file(&REWARD, request, recorded, &w, file, err));
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
static wk_status request_of_saved(const part *p, const char *directory, const char *configured,
                                  const char *recorded, const char *named, wk_plugin_request *out,
                                  wk_error *err)
{
    if (!*configured && named)
        return wk_fail(err, WK_E_INPUT, "'%s' is not for '%s', whose %s is built in: leave it out",
                       named, directory, p->what);
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
    wk_status status = request_of_saved(&DOMAIN, directory, config->plugin, record.domain_file.path,
                                        named->domain, &requests.domain, err);
    if (status == WK_OK && rule)
        status = request_of_saved(&RULE, directory, config->curriculum_plugin,
                                  record.rule_file.path, named->rule, &requests.rule, err);
    if (status == WK_OK) status = wk_run_plugins_open(&requests, out, err);
    wk_plugin_record_free(&record);
    return status;
}

static wk_status set_text(wk_run_config *config, const char *key, const char *text, wk_error *err)
{
    return wk_run_config_set(config, wk_run_field_find(key, strlen(key)), text, err);
}

// Names of plug-ins are never those of something built in; runs of older programs kept whatever
// name the configuration happened to have.
static bool is_domain(const char *name)
{
    const wk_domain *found;
    return wk_domain_find(name, &found, NULL) == WK_OK;
}

static bool is_rule(const char *name)
{
    const wk_curriculum_rule *found;
    return wk_curriculum_rule_find(name, &found, NULL) == WK_OK;
}

static wk_status keep_identity(const char *directory, wk_run_config *config, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_run_config before;
    WK_TRY(wk_path_print(path, err, "%s/config.yaml", directory));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_run_config_read(path, &before, err));
    if (*config->plugin && *before.plugin) {
        WK_TRY(set_text(config, "plugin", before.plugin, err));
        if (is_domain(before.domain)) WK_TRY(set_text(config, "domain", before.domain, err));
    }
    if (*config->curriculum_plugin && *before.curriculum_plugin) {
        WK_TRY(set_text(config, "curriculum.plugin", before.curriculum_plugin, err));
        if (is_rule(before.curriculum_rule))
            WK_TRY(set_text(config, "curriculum.rule", before.curriculum_rule, err));
    }
    return WK_OK;
}

wk_status wk_run_plugins_resolve(const wk_run_plugins *code, const char *directory,
                                 wk_run_config *config, wk_error *err)
{
    if (code->plugin) {
        WK_TRY(set_text(config, "plugin", code->domain_file.path, err));
        WK_TRY(set_text(config, "domain", wk_plugin_domain(code->plugin)->name, err));
    }
    if (code->rule.rule) {
        WK_TRY(set_text(config, "curriculum.plugin", code->rule_file.path, err));
        WK_TRY(set_text(config, "curriculum.rule", code->rule.rule->name, err));
    }
    return directory ? keep_identity(directory, config, err) : WK_OK;
}

wk_status wk_run_plugins_record(const wk_run_plugins *code, const wk_dir *directory, wk_error *err)
{
    if (!code || (!code->plugin && !code->rule.rule)) return WK_OK;
    const wk_plugin_parts parts = {.domain = code->plugin ? wk_plugin_domain(code->plugin) : NULL,
                                   .rule = code->rule.rule,
                                   .domain_file = &code->domain_file,
                                   .rule_file = &code->rule_file};
    return wk_plugin_record_write(&parts, directory, err);
}
