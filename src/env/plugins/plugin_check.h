// A thorough check of a domain by running it: what `waker envs check` shows the author of a
// plug-in. It calls the domain's functions directly, with guarded memory around everything they
// write, and looks for what would spoil training silently: episodes that cannot be repeated, states
// that do not continue, images that are not fully drawn.
#ifndef WK_ENV_PLUGINS_PLUGIN_CHECK_H
#define WK_ENV_PLUGINS_PLUGIN_CHECK_H

#include "waker/env.h"

/// Receives one finding: a sentence that says what is wrong and what to do. A fault must be fixed;
/// otherwise it is advice. The sentence is valid during the call.
typedef void wk_finding_fn(void *context, bool fault, const char *sentence);

/// Examines `domain` and reports every kind of finding once. Returns WK_OK when the examination
/// could be made, whatever it found; `faults` gets the number of faults. Takes some seconds for a
/// domain that steps in a millisecond.
wk_status wk_plugin_check(const wk_domain *domain, wk_finding_fn *report, void *context,
                          int *faults, wk_error *err);

#endif
