// Code of a run: its plug-ins, and what the run records of them.
//
// Here is the one place where a run's plug-ins are loaded. A configuration says where code is; only
// the caller says that it may be loaded, by naming the file on the command line or in a call of the
// library. Nothing that was read from a run's directory or a configuration file has code loaded.
//
// DIRECTORY/plugin.json has the files (path, SHA-256) that the run last trained with, so that a
// changed one is noticed, and descriptions of its domain and its rule, so that the saved run can be
// read without loading code.
#ifndef WK_RUN_CODE_H
#define WK_RUN_CODE_H

#include "base/code_file.h"
#include "base/file.h"
#include "base/log.h"
#include "config/config.h"
#include "curriculum/plugin.h"
#include "env/description.h"
#include "env/plugins/plugin.h"

/// What plugin.json says. Zero-initialise; what is not from a plug-in stays zero.
typedef struct wk_plugin_record {
    wk_arena arena;
    wk_code_file domain_file, rule_file;
    wk_description *domain;
    wk_curriculum_rule rule; // name NULL: built in; its distribution is always NULL
} wk_plugin_record;

/// Reads it; for a run without plug-ins, which has none, nothing is filled in.
wk_status wk_plugin_record_read(const char *directory, wk_plugin_record *out, wk_error *err);
void wk_plugin_record_free(wk_plugin_record *record);

/// A plug-in that is requested.
typedef struct wk_plugin_request {
    const char *path; // NULL or "": none, the part is built in
    bool named;       // by the caller: it may be loaded
} wk_plugin_request;

/// What a call wants loaded.
typedef struct wk_plugin_requests {
    wk_plugin_request domain, rule;
    const wk_plugin_record *record; // what the run was made with; NULL: it is a new one
    const wk_log *log; // gets warnings, of environments of Python until the plug-ins are closed;
                       // NULL: silent
} wk_plugin_requests;

/// In messages about a plug-in that was not named; the options that name it follow, up to the end.
#define WK_PLUGIN_ADVICE "Plug-ins are code: if you trust this one, add "

/// Loaded plug-ins. Zero-initialise; close it after everything made from them.
typedef struct wk_run_plugins {
    wk_plugin *plugin;   // NULL: the domain is built in
    wk_rule_plugin rule; // its rule NULL: built in
    wk_code_file domain_file, rule_file;
    wk_reward_plugin rewards[WK_TASKS_MAX]; // in the order they were opened in
    int n_rewards;
    const wk_domain *relabelled; // the domain with rewards as tasks that the run collects;
                                 // borrowed; NULL: it has its own tasks
} wk_run_plugins;

/// Loads them, and none where one was not named: the error says how to name it. Close `out` also
/// after a failure.
wk_status wk_run_plugins_open(const wk_plugin_requests *requests, wk_run_plugins *out,
                              wk_error *err);
/// A zeroed one is fine.
void wk_run_plugins_close(wk_run_plugins *code);

/// Files that options of a command name, NULL where they do not.
typedef struct wk_named_plugins {
    const char *domain;         // --plugin
    const char *rule;           // --curriculum.plugin
    const char *const *rewards; // --reward, [n_rewards]
    int n_rewards;
} wk_named_plugins;

/// Loads those of the saved run in `directory`, whose configuration is given, from the named files.
/// With `rule` that of its curriculum too.
wk_status wk_run_plugins_open_saved(const char *directory, const wk_run_config *config,
                                    const wk_named_plugins *named, bool rule, const wk_log *log,
                                    wk_run_plugins *out, wk_error *err);

/// Loads a reward, which the caller named, after those that `code` has.
wk_status wk_run_plugins_open_reward(const char *path, wk_run_plugins *code, wk_code_file *file,
                                     wk_error *err);
/// Fails: a reward in `path` was not named.
wk_status wk_run_plugins_refuse_reward(const char *path, wk_error *err);

/// Writes into the configuration the plug-ins' absolute paths and the names of their domain and
/// rule.
wk_status wk_run_plugins_resolve(const wk_run_plugins *code, wk_run_config *config, wk_error *err);

/// Writes DIRECTORY/plugin.json; nothing without plug-ins (also for NULL).
wk_status wk_run_plugins_record(const wk_run_plugins *code, const wk_dir *directory, wk_error *err);

#endif
