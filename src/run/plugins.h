// The one place where a run's plug-ins are loaded. A configuration says where code is; whether it
// may be loaded is the caller's word: the file is named on this call's command line, or it is on
// the user's list of trusted files (base/trusted.h) with the content it has now. Nothing that was
// read from a run's directory or a configuration file has code loaded by itself, and such a path
// is never taken as relative to the current folder.
#ifndef WK_RUN_PLUGINS_H
#define WK_RUN_PLUGINS_H

#include "base/log.h"
#include "config/config.h"
#include "run/plugin_record.h"

/// A plug-in that is asked for.
typedef struct wk_code_wish {
    const char *path; // NULL or "": none, the part is built in
    bool named;       // by the caller, on the command line
} wk_code_wish;

/// What a call wants loaded.
typedef struct wk_code_wishes {
    wk_code_wish domain, rule;
    const wk_plugin_record *record; // what the run was made with; NULL: it is a new one
    const wk_log *log;              // told about files that changed; NULL: nobody
} wk_code_wishes;

/// Loaded plug-ins. Zero-initialise; close it after everything made from them.
typedef struct wk_run_code {
    wk_plugin *plugin;   // NULL: the domain is built in
    wk_rule_plugin rule; // its rule NULL: built in
    wk_code_file domain_file, rule_file;
} wk_run_code;

/// Loads them. The error for one that is neither named nor trusted says what to type.
wk_status wk_run_code_open(const wk_code_wishes *wishes, wk_run_code *out, wk_error *err);
/// A zeroed one is fine.
void wk_run_code_close(wk_run_code *code);

/// Files that options of a command name, NULL where they do not.
typedef struct wk_named_code {
    const char *domain; // --plugin
    const char *rule;   // --curriculum.plugin
} wk_named_code;

/// Loads those of the saved run in `directory`, whose configuration is given: the named files, else
/// the run's own. With `rule` that of its curriculum too.
wk_status wk_run_code_open_saved(const char *directory, const wk_run_config *config,
                                 const wk_named_code *named, bool rule, const wk_log *log,
                                 wk_run_code *out, wk_error *err);

/// Puts into the configuration what a run is known by: the plug-ins' absolute paths, the names of
/// their domain and rule. One that goes on in `directory` (NULL: none) keeps the paths it began
/// with, wherever the files are now.
wk_status wk_run_code_settle(const wk_run_code *code, const char *directory, wk_run_config *config,
                             wk_error *err);

/// Writes DIRECTORY/plugin.json; nothing without plug-ins (also for NULL).
wk_status wk_run_code_record(const wk_run_code *code, const wk_dir *directory, wk_error *err);

#endif
