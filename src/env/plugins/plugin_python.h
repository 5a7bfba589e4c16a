// Plug-ins that are functions of Python, and what every kind of plug-in has in common.
#ifndef WK_ENV_PLUGINS_PLUGIN_PYTHON_H
#define WK_ENV_PLUGINS_PLUGIN_PYTHON_H

#include "base/code_file.h"
#include "env/plugins/python_domain.h"
#include "env/plugins/python_process.h"

/// Looks at the file of a plug-in that the caller names: a path, FILE.py:FUNCTION, or
/// MODULE:FUNCTION, for which Python is asked and code of the module's packages may run.
wk_status wk_plugin_file(const char *name, wk_code_file *out, wk_error *err);

/// wk_plugin_load with a log for what concerns environments of Python, as wk_python_domain_open.
wk_status wk_plugin_open(const char *path, const wk_log *log, wk_plugin **out, wk_error *err);

/// Why an environment of it failed, the last time; empty if none ever did, or it is not of Python.
void wk_plugin_last_failure(wk_plugin *plugin, char why[WK_PYTHON_WHY_MAX]);

/// Appends what went wrong in its environments since the last call, a line for each event.
void wk_plugin_take_events(wk_plugin *plugin, wk_text *out);

#endif
