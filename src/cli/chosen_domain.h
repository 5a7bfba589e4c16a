// The domain a command is about, as users name it: a built-in domain or a plug-in, the domain's
// options, and θ as numbers, as a case, or the default.
#ifndef WK_CLI_CHOSEN_DOMAIN_H
#define WK_CLI_CHOSEN_DOMAIN_H

#include "base/text.h"
#include "cli/cli.h"
#include "waker/env.h"

/// A chosen domain; close it after every environment made from it.
typedef struct wk_chosen_domain {
    const wk_domain *domain;
    wk_plugin *plugin; // NULL for a built-in domain
    int options[WK_OPTIONS_MAX];
} wk_chosen_domain;

/// Opens the built-in `domain` or the plug-in file `plugin` (exactly one is given, the other NULL)
/// with options of the form "name=choice".
wk_status wk_chosen_domain_open(const wk_cli *cli, const char *domain, const char *plugin,
                                const wk_arg_texts *options, wk_chosen_domain *out, wk_error *err);
void wk_chosen_domain_close(wk_chosen_domain *chosen);

/// θ from `params` ("0.5,1"), from `case_name` ("stairs", "extra-block:3"), or, both NULL, the
/// point of the default grid nearest to the middle of all ranges.
wk_status wk_chosen_domain_theta(const wk_chosen_domain *chosen, const char *params,
                                 const char *case_name, double *theta, wk_error *err);

/// Appends "amplitude=0.5, length=1".
void wk_theta_text(const wk_domain *domain, const double *theta, wk_text *out);

#endif
