// Domains whose environments are made by a function of Python: the user's Gymnasium environments.
// Each environment is a process of its own (env/plugins/python_process.h) from its first reset on;
// when it is destroyed the next one gets the process, because starts take long. One that dies,
// hangs or raises an exception ends its episode as diverged and is started again; one that fails
// several times in a row, or is not what it says, is an error of the next reset.
#ifndef WK_ENV_PLUGINS_PYTHON_DOMAIN_H
#define WK_ENV_PLUGINS_PYTHON_DOMAIN_H

#include "base/log.h"
#include "base/text.h"
#include "waker/env.h"

enum { WK_PYTHON_WHY_MAX = 601 }; // bytes of a reason, cut there, with the zero

typedef struct wk_python_domain wk_python_domain;

/// Runs the function once and asks what it made. `spec` is FILE.py:FUNCTION with an absolute path.
/// `log` gets warnings, from any thread, until the domain is closed: that making an environment
/// takes long, and the first exception of a close(); NULL: silent.
wk_status wk_python_domain_open(const char *spec, const wk_log *log, wk_python_domain **out,
                                wk_error *err);
/// NULL is allowed. Every environment must be gone.
void wk_python_domain_close(wk_python_domain *python);
const wk_domain *wk_python_domain_get(const wk_python_domain *python);

/// Whether `domain` was opened by wk_python_domain_open.
bool wk_python_domain_is(const wk_domain *domain);
/// Appends why `function` (reset, step, save_state) of an environment of such a domain failed, as a
/// sentence without its period; false if it did not.
bool wk_python_domain_explain(const void *env, const char *function, wk_text *out);

/// Why an environment failed or was refused, the last time; empty if none ever was.
void wk_python_domain_last_failure(wk_python_domain *python, char why[WK_PYTHON_WHY_MAX]);

/// Appends what went wrong since the last call, a line for each event; the first few of many.
void wk_python_domain_take_events(wk_python_domain *python, wk_text *out);

#endif
