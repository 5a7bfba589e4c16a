#include "cli/chosen_domain.h"

#include "env/domain.h"
#include "env/plugins/plugin.h"

#include <stdio.h>
#include <string.h>

static wk_status find_domain(const wk_cli *cli, const char *domain, const char *plugin,
                             wk_chosen_domain *out, wk_error *err)
{
    const wk_log log = wk_cli_log(cli);
    if (domain && plugin) return wk_fail(err, WK_E_INPUT, "give --domain or --plugin, not both");
    if (domain) return wk_domain_find(domain, &out->domain, err);
    if (!plugin)
        return wk_fail(
            err, WK_E_INPUT,
            "a domain is required: give --domain NAME ('waker envs' lists them) or --plugin FILE");
    WK_TRY(wk_plugin_open(plugin, &log, &out->plugin, err));
    out->domain = wk_plugin_domain(out->plugin);
    return WK_OK;
}

static wk_status set_option(wk_chosen_domain *chosen, const char *text, wk_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals) return wk_fail(err, WK_E_INPUT, "--option '%s': write it as name=choice", text);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    int option, value;
    WK_TRY(wk_domain_option(chosen->domain, name, equals + 1, &option, &value, err));
    chosen->options[option] = value;
    return WK_OK;
}

static wk_status set_options(wk_chosen_domain *chosen, const wk_arg_texts *options, wk_error *err)
{
    for (int i = 0; options && i < options->count; i++)
        WK_TRY(set_option(chosen, options->items[i], err));
    return WK_OK;
}

wk_status wk_chosen_domain_open(const wk_cli *cli, const char *domain, const char *plugin,
                                const wk_arg_texts *options, wk_chosen_domain *out, wk_error *err)
{
    *out = (wk_chosen_domain){0};
    wk_status status = find_domain(cli, domain, plugin, out, err);
    if (status == WK_OK) status = set_options(out, options, err);
    if (status != WK_OK) wk_chosen_domain_close(out);
    return status;
}

void wk_chosen_domain_close(wk_chosen_domain *chosen)
{
    wk_plugin_unload(chosen->plugin);
    *chosen = (wk_chosen_domain){0};
}

// Numbers between commas. Counts them all, so that a wrong length is reported as it is.
static wk_status parse_params(const wk_domain *domain, const char *params, double *theta,
                              wk_error *err)
{
    size_t count = 0;
    for (const char *at = params;; count++) {
        size_t length = strcspn(at, ",");
        char number[64];
        snprintf(number, sizeof number, "%.*s", (int)length, at);
        double value = 0;
        WK_TRY(wk_parse_number("--params", number, &value, err));
        if (count < WK_PARAMS_MAX) theta[count] = value;
        if (!at[length]) break;
        at += length + 1;
    }
    wk_status status = wk_domain_check_params(domain, theta, count + 1, err);
    if (status != WK_OK) wk_fail_context(err, "--params");
    return status;
}

static wk_status parse_case(const wk_domain *domain, const char *text, double *theta, wk_error *err)
{
    char name[64];
    const char *colon = strchr(text, ':');
    snprintf(name, sizeof name, "%.*s", (int)(colon ? (size_t)(colon - text) : strlen(text)), text);
    const wk_case *found;
    int index = 0;
    WK_TRY(wk_domain_case(domain, name, &found, err));
    if (colon) {
        char what[96];
        snprintf(what, sizeof what, "--case %s:i", name);
        WK_TRY(wk_parse_int(what, colon + 1, 0, found->count - 1, &index, err));
    }
    size_t n = (size_t)domain->n_params;
    memcpy(theta, found->params + (size_t)index * n, n * sizeof *theta);
    return WK_OK;
}

static wk_status middle_theta(const wk_domain *domain, double *theta, wk_error *err)
{
    double centre[WK_PARAMS_MAX];
    for (int i = 0; i < domain->n_params; i++)
        centre[i] = (domain->params[i].min + domain->params[i].max) / 2;
    wk_space *space;
    WK_TRY(wk_space_create(domain, false, &space, err));
    size_t best = 0;
    for (size_t i = 1; i < wk_space_count(space); i++)
        // A hair of tolerance: rounding must not choose between points that are equally far.
        if (wk_theta_distance(domain, wk_space_params(space, i), centre) <
            wk_theta_distance(domain, wk_space_params(space, best), centre) - 1e-9)
            best = i;
    memcpy(theta, wk_space_params(space, best), (size_t)domain->n_params * sizeof *theta);
    wk_space_destroy(space);
    return WK_OK;
}

wk_status wk_chosen_domain_theta(const wk_chosen_domain *chosen, const char *params,
                                 const char *case_name, double *theta, wk_error *err)
{
    if (params && case_name) return wk_fail(err, WK_E_INPUT, "give --params or --case, not both");
    if (params) return parse_params(chosen->domain, params, theta, err);
    if (case_name) return parse_case(chosen->domain, case_name, theta, err);
    return middle_theta(chosen->domain, theta, err);
}

void wk_theta_text(const wk_domain *domain, const double *theta, wk_text *out)
{
    for (int i = 0; i < domain->n_params; i++)
        wk_text_printf(out, "%s%s=%g", i ? ", " : "", domain->params[i].name, theta[i]);
}
