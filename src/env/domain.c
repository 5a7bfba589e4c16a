// Questions about a domain: its tasks, cases and options by name, and whether a θ is one of its
// environments. Whether the description itself makes sense is asked in domain_check.c.
#include "env/domain.h"

#include "base/text.h"
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 64, CHOICE_CHARS_MAX = 63 };

wk_status wk_domain_result(const wk_domain *domain, const char *function, wk_status status,
                           const wk_error *reported, wk_error *err)
{
    if (status == WK_OK) return WK_OK;
    if (reported->message[0]) return wk_fail(err, status, "%s", reported->message);
    return wk_fail(err, status, "domain '%s': %s failed without a message", domain->name, function);
}

int wk_row_find(const void *rows, int count, size_t size, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(wk_row_name(rows, i, size), name) == 0) return i;
    return -1;
}

static wk_status find_row(const char *what, const void *rows, int count, size_t size,
                          const char *name, int *row, wk_error *err)
{
    const char *names[NAMES_MAX] = {0};
    *row = wk_row_find(rows, count, size, name);
    if (*row >= 0) return WK_OK;
    for (int i = 0; i < count && i < NAMES_MAX; i++)
        names[i] = wk_row_name(rows, i, size);
    return wk_fail_unknown(err, what, name, names, (size_t)(count < NAMES_MAX ? count : NAMES_MAX));
}

wk_status wk_domain_task(const wk_domain *domain, const char *name, int *task, wk_error *err)
{
    for (*task = 0; *task < domain->n_tasks; ++*task) {
        const char *alias = domain->tasks[*task].alias;
        if (alias && strcmp(alias, name) == 0) return WK_OK;
    }
    return find_row("task of this domain", domain->tasks, domain->n_tasks, sizeof *domain->tasks,
                    name, task, err);
}

wk_status wk_domain_case(const wk_domain *domain, const char *name, const wk_case **out,
                         wk_error *err)
{
    int row;
    WK_TRY(find_row("out-of-distribution case of this domain", domain->cases, domain->n_cases,
                    sizeof *domain->cases, name, &row, err));
    *out = &domain->cases[row];
    return WK_OK;
}

const char *wk_option_choice(const wk_option *option, int n, size_t *length)
{
    const char *choice = option->choices;
    for (; n > 0; n--)
        choice = strchr(choice, '|') + 1;
    *length = strcspn(choice, "|");
    return choice;
}

// No choice has that name. The choices are copied because they are not terminated.
static wk_status no_choice(const wk_option *option, const char *choice, wk_error *err)
{
    char copies[NAMES_MAX][CHOICE_CHARS_MAX + 1];
    const char *names[NAMES_MAX];
    size_t count = 0, total = (size_t)wk_text_choices(option->choices);
    for (; count < total && count < NAMES_MAX; count++) {
        size_t length;
        const char *chars = wk_option_choice(option, (int)count, &length);
        snprintf(copies[count], sizeof *copies, "%.*s", (int)length, chars);
        names[count] = copies[count];
    }
    wk_fail_unknown(err, "choice", choice, names, count);
    wk_fail_context(err, "option '%s'", option->name);
    return WK_E_NOT_FOUND;
}

wk_status wk_domain_option(const wk_domain *domain, const char *name, const char *choice,
                           int *option, int *value, wk_error *err)
{
    WK_TRY(find_row("option of this domain", domain->options, domain->n_options,
                    sizeof *domain->options, name, option, err));
    *value = wk_text_choice(domain->options[*option].choices, choice);
    return *value >= 0 ? WK_OK : no_choice(&domain->options[*option], choice, err);
}

wk_status wk_domain_check_options(const wk_domain *domain, const int *options, wk_error *err)
{
    for (int i = 0; i < domain->n_options; i++) {
        int count = wk_text_choices(domain->options[i].choices);
        if (options[i] < 0 || options[i] >= count)
            return wk_fail(err, WK_E_INPUT, "option '%s' has choices 0 to %d (%s), not %d",
                           domain->options[i].name, count - 1, domain->options[i].choices,
                           options[i]);
    }
    return WK_OK;
}

wk_status wk_domain_check_drawable(const wk_domain *domain, wk_error *err)
{
    if (domain->render) return WK_OK;
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "domain '%s' draws no images: its agent sees %d numbers, and it has no render "
                   "function",
                   domain->name, domain->observation.vector);
}

void wk_domain_random_action(const wk_domain *domain, wk_rng *rng, float *action)
{
    if (!domain->discrete) {
        for (int i = 0; i < domain->action_size; i++)
            action[i] = (float)wk_rng_uniform(rng, -1, 1);
        return;
    }
    memset(action, 0, (size_t)domain->action_size * sizeof *action);
    action[wk_rng_below(rng, (uint64_t)domain->action_size)] = 1;
}

// "θ needs 2 numbers (friction, wind), got 3".
static wk_status wrong_length(const wk_domain *domain, size_t count, wk_error *err)
{
    wk_text names = {0};
    for (int i = 0; i < domain->n_params; i++)
        wk_text_printf(&names, "%s%s", i ? ", " : "", domain->params[i].name);
    wk_fail(err, WK_E_INPUT, "a θ of domain '%s' has %d numbers (%s), not %zu", domain->name,
            domain->n_params, wk_text_get(&names), count);
    wk_text_free(&names);
    return WK_E_INPUT;
}

wk_status wk_domain_check_params(const wk_domain *domain, const double *theta, size_t count,
                                 wk_error *err)
{
    if (count != (size_t)domain->n_params) return wrong_length(domain, count, err);
    for (int i = 0; i < domain->n_params; i++) {
        const wk_param *p = &domain->params[i];
        // Written so that NaN fails too.
        if (!(theta[i] >= p->legal_min && theta[i] <= p->legal_max))
            return wk_fail(err, WK_E_INPUT,
                           "'%s' = %g is outside what domain '%s' accepts, %g to %g", p->name,
                           theta[i], domain->name, p->legal_min, p->legal_max);
    }
    if (!domain->check) return WK_OK;
    wk_error reported = {0};
    wk_status status = domain->check(theta, &reported);
    return wk_domain_result(domain, "check", status, &reported, err);
}

void wk_theta_print(const wk_domain *domain, const double *theta, char out[WK_THETA_CHARS])
{
    int used = snprintf(out, WK_THETA_CHARS, "(");
    for (int i = 0; i < domain->n_params; i++)
        used +=
            snprintf(out + used, WK_THETA_CHARS - (size_t)used, "%s%g", i ? ", " : "", theta[i]);
    snprintf(out + used, WK_THETA_CHARS - (size_t)used, ")");
}

double wk_theta_distance(const wk_domain *domain, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < domain->n_params; i++) {
        const wk_param *p = &domain->params[i];
        double apart = p->max > p->min ? (a[i] - b[i]) / (p->max - p->min) : 0;
        sum += apart * apart;
    }
    return sum;
}
