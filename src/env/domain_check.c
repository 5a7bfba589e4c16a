// Whether a domain description makes sense, asked before anything runs. Authors of plug-ins read
// these messages, so each says which field is wrong and what it must be.
#include "env/domain.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    NAME_CHARS_MAX = 63,
    CASES_MAX = 64,
    CASE_PARAMS_MAX = 10000,
    COMPLEX_MAX = 100000,
    CHOICES_MAX = 64
};

static const char letters_and_digits[] = "abcdefghijklmnopqrstuvwxyz0123456789";

// A name of lower-case letters, digits and the characters of `marks`.
static bool is_name(const char *name, size_t length, const char *marks)
{
    if (length == 0 || length > NAME_CHARS_MAX) return false;
    for (size_t i = 0; i < length; i++)
        if (!strchr(letters_and_digits, name[i]) && !strchr(marks, name[i])) return false;
    return true;
}

// Pairs of a word and its meaning.
static const char *find_reserved(const char *const words[][2], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i][0], name) == 0) return words[i][1];
    return NULL;
}

const char *wk_task_name_reserved(const char *name)
{
    static const char *const words[][2] = {{"all", "all tasks"},
                                           {"none", "no tasks"},
                                           {"explore", "the exploration policy"},
                                           {"random", "random actions"}};
    return find_reserved(words, sizeof words / sizeof *words, name);
}

static const char *case_name_reserved(const char *name)
{
    static const char *const words[][2] = {{"all", "all cases"},
                                           {"dr", "the default distribution"},
                                           {"train", "the list of θ that a run was trained on"}};
    return find_reserved(words, sizeof words / sizeof *words, name);
}

// Only where code is loaded: descriptions of runs made before the words were reserved stay
// readable.
static wk_status check_reserved(const wk_domain *domain, wk_error *err)
{
    const char *what = "task", *name = NULL, *meaning = NULL;
    for (int i = 0; i < domain->n_tasks && !meaning; i++) {
        meaning = wk_task_name_reserved(name = domain->tasks[i].name);
        if (!meaning && domain->tasks[i].alias)
            meaning = wk_task_name_reserved(name = domain->tasks[i].alias);
    }
    for (int i = 0; i < domain->n_cases && !meaning; i++) {
        what = "case";
        meaning = case_name_reserved(name = domain->cases[i].name);
    }
    if (!meaning) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "a %s is called '%s', which stands for %s; rename it", what,
                   name, meaning);
}

static wk_status check_range(const char *what, int value, int min, int max, wk_error *err)
{
    if (value >= min && value <= max) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "%s is %d; it must lie in %d to %d", what, value, min, max);
}

// A table of `count` rows of `size` bytes, each of which begins with its name: a legal length, not
// NULL when it has rows, and names that differ.
static wk_status check_table(const char *what, int count, int min, int max, const void *table,
                             size_t size, wk_error *err)
{
    char field[48] = "n_";
    WK_TRY(check_range(strncat(field, what, sizeof field - 3), count, min, max, err));
    if (count > 0 && !table)
        return wk_fail(err, WK_E_INPUT, "%s is NULL although n_%s is %d", what, what, count);
    const char *names[CASES_MAX];
    for (int i = 0; i < count; i++) {
        names[i] = wk_row_name(table, i, size);
        if (!names[i])
            return wk_fail(err, WK_E_INPUT, "%s[%d].name is NULL; give it a name", what, i);
        if (!is_name(names[i], strlen(names[i]), "-_"))
            return wk_fail(err, WK_E_INPUT,
                           "%s[%d].name '%s' is not a name; use 1 to %d characters of a-z 0-9 - _",
                           what, i, names[i], NAME_CHARS_MAX);
        for (int j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return wk_fail(err, WK_E_INPUT, "two %s are called '%s'; rename one", what,
                               names[i]);
    }
    return WK_OK;
}

static wk_status check_identity(const wk_domain *domain, wk_error *err)
{
    if (domain->abi != WK_ENV_ABI)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "built for version %u of the environment interface, this program has "
                       "version %u; set abi = WK_ENV_ABI and build it again with this program's "
                       "headers",
                       domain->abi, WK_ENV_ABI);
    if (domain->size != sizeof *domain && domain->size != offsetof(wk_domain, read))
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "its struct wk_domain has %u bytes, this program's %zu; set size = "
                       "sizeof(wk_domain) and build it again with this program's headers",
                       domain->size, sizeof *domain);
    if (!domain->name) return wk_fail(err, WK_E_INPUT, "name is NULL; give the domain a name");
    if (!is_name(domain->name, strlen(domain->name), "-"))
        return wk_fail(err, WK_E_INPUT,
                       "name '%s' is not a domain name; use 1 to %d characters of a-z 0-9 -",
                       domain->name, NAME_CHARS_MAX);
    if (!domain->summary)
        return wk_fail(err, WK_E_INPUT, "summary is NULL; say in one line what the domain is");
    return WK_OK;
}

static wk_status check_functions(const wk_domain *domain, wk_error *err)
{
    const struct {
        const char *name;
        bool present;
    } functions[] = {
        {"create", domain->create}, {"destroy", domain->destroy},
        {"reset", domain->reset},   {"step", domain->step},
        {"save", domain->save},     {"state_size", domain->state_size},
        {"load", domain->load},     {"render", domain->render || domain->observation.no_image},
    };
    // What is known of a domain from a run's files alone: data, and none of its functions.
    bool any = domain->render;
    for (size_t i = 0; i + 1 < sizeof functions / sizeof *functions; i++)
        any |= functions[i].present;
    if (!any)
        return wk_fail(err, WK_E_INPUT,
                       "only its description is known and its code was not loaded: set "
                       "wk_policy_config.plugin (Python: plugin=) to its file");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!functions[i].present)
            return wk_fail(err, WK_E_INPUT, "the function %s is NULL; every domain needs it",
                           functions[i].name);
    if (!domain->observe != (domain->observation.vector == 0))
        return wk_fail(err, WK_E_INPUT,
                       domain->observe ? "observe is given although observation.vector is 0; say "
                                         "how many numbers it writes"
                                       : "observe is NULL although observation.vector is %d",
                       domain->observation.vector);
    if (!domain->grid_count != !domain->grid_point)
        return wk_fail(err, WK_E_INPUT,
                       "one of grid_count and grid_point is NULL; give both, or neither for a "
                       "uniform grid");
    return WK_OK;
}

// Its actions, what it shows, and its time.
static wk_status check_numbers(const wk_domain *domain, wk_error *err)
{
    WK_TRY(check_range("action_size", domain->action_size, domain->discrete ? 2 : 1, WK_ACTION_MAX,
                       err));
    WK_TRY(check_range("action_repeat", domain->action_repeat, 1, 1000000, err));
    WK_TRY(check_range("episode_steps", domain->episode_steps, 1, 100000000, err));
    if (!(isfinite(domain->step_seconds) && domain->step_seconds > 0))
        return wk_fail(err, WK_E_INPUT, "step_seconds is %g; it must be a positive number",
                       domain->step_seconds);
    WK_TRY(check_range("observation.vector", domain->observation.vector, 0, WK_VECTOR_MAX, err));
    if (domain->observation.no_image && domain->observation.vector == 0)
        return wk_fail(err, WK_E_INPUT,
                       "the agent sees nothing: observation.no_image is set and "
                       "observation.vector is 0; give it an image, a vector or both");
    return WK_OK;
}

// With a grid of its own the domain need not say a step.
static wk_status check_param(const wk_param *p, bool own_grid, wk_error *err)
{
    if (!isfinite(p->min) || !isfinite(p->max) || p->min > p->max)
        return wk_fail(err, WK_E_INPUT, "param '%s': min %g and max %g are not a range", p->name,
                       p->min, p->max);
    if (!(p->legal_min <= p->min && p->max <= p->legal_max) || !isfinite(p->legal_min) ||
        !isfinite(p->legal_max))
        return wk_fail(err, WK_E_INPUT,
                       "param '%s': legal_min %g to legal_max %g does not contain the grid's %g "
                       "to %g",
                       p->name, p->legal_min, p->legal_max, p->min, p->max);
    if (own_grid || p->min == p->max) return WK_OK;
    double steps = (p->max - p->min) / p->step;
    if (!(p->step > 0) || fabs(steps - round(steps)) > 1e-6)
        return wk_fail(err, WK_E_INPUT,
                       "param '%s': step %g does not lead from min %g to max %g in whole steps",
                       p->name, p->step, p->min, p->max);
    return WK_OK;
}

static wk_status check_params(const wk_domain *domain, bool own_grid, wk_error *err)
{
    enum { DOMAINS_MAX = 32 };
    WK_TRY(check_table("params", domain->n_params, 1, WK_PARAMS_MAX, domain->params,
                       sizeof *domain->params, err));
    for (int i = 0; i < domain->n_params; i++)
        WK_TRY(check_param(&domain->params[i], own_grid, err));
    // A first param of this name says which domain of a combined one a θ belongs to.
    const wk_param *p = &domain->params[0];
    if (strcmp(p->name, "domain") == 0 && !(p->legal_min >= 0 && p->legal_max < DOMAINS_MAX))
        return wk_fail(err, WK_E_INPUT,
                       "param 'domain' numbers the domains of a combined one: its legal range must "
                       "lie in 0 to %d; rename it if it means something else",
                       DOMAINS_MAX - 1);
    return WK_OK;
}

static bool task_answers_to(const wk_task *task, const char *name)
{
    return strcmp(task->name, name) == 0 || (task->alias && strcmp(task->alias, name) == 0);
}

static wk_status check_tasks(const wk_domain *domain, wk_error *err)
{
    WK_TRY(check_table("tasks", domain->n_tasks, 1, WK_TASKS_MAX, domain->tasks,
                       sizeof *domain->tasks, err));
    for (int i = 0; i < domain->n_tasks; i++) {
        const wk_task *task = &domain->tasks[i];
        if (task->alias && !is_name(task->alias, strlen(task->alias), "-_"))
            return wk_fail(err, WK_E_INPUT,
                           "task '%s': alias '%s' is not a name; use a-z 0-9 - _, or NULL for none",
                           task->name, task->alias);
        for (int j = 0; j < i; j++)
            if (task_answers_to(&domain->tasks[j], task->name) ||
                (task->alias && task_answers_to(&domain->tasks[j], task->alias)))
                return wk_fail(err, WK_E_INPUT,
                               "the tasks '%s' and '%s' share a name or an alias; rename one",
                               domain->tasks[j].name, task->name);
    }
    return WK_OK;
}

static wk_status check_choices(const wk_option *option, wk_error *err)
{
    if (!option->choices)
        return wk_fail(err, WK_E_INPUT, "option '%s': choices is NULL; list them as \"a|b\"",
                       option->name);
    int count = wk_text_choices(option->choices);
    if (count > CHOICES_MAX)
        return wk_fail(err, WK_E_INPUT, "option '%s' has %d choices; the most is %d", option->name,
                       count, CHOICES_MAX);
    for (int i = 0; i < count; i++) {
        size_t length, other_length;
        const char *choice = wk_option_choice(option, i, &length);
        if (!is_name(choice, length, "-_."))
            return wk_fail(err, WK_E_INPUT,
                           "option '%s': choice '%.*s' is not a name; use a-z 0-9 - _ . separated "
                           "by '|'",
                           option->name, (int)length, choice);
        for (int j = 0; j < i; j++) {
            const char *other = wk_option_choice(option, j, &other_length);
            if (length == other_length && memcmp(choice, other, length) == 0)
                return wk_fail(err, WK_E_INPUT, "option '%s' lists the choice '%.*s' twice",
                               option->name, (int)length, choice);
        }
    }
    return WK_OK;
}

static wk_status check_indicators(const wk_domain *domain, wk_error *err)
{
    WK_TRY(check_table("indicators", domain->n_indicators, 0, WK_INDICATORS_MAX, domain->indicators,
                       sizeof *domain->indicators, err));
    for (int i = 0; i < domain->n_indicators; i++) {
        const wk_indicator *indicator = &domain->indicators[i];
        char what[NAME_CHARS_MAX + 32];
        snprintf(what, sizeof what, "indicator %s.kind", indicator->name);
        WK_TRY(check_range(what, (int)indicator->kind, WK_INDICATOR_MEAN, WK_INDICATOR_CELLS, err));
        snprintf(what, sizeof what, "indicator %s.cells", indicator->name);
        if (indicator->kind == WK_INDICATOR_CELLS)
            WK_TRY(check_range(what, indicator->cells, 1, WK_CELLS_MAX, err));
    }
    return WK_OK;
}

// Every row of a table of θ must be a legal environment. The status of the domain's own check is
// kept.
static wk_status check_thetas(const wk_domain *domain, const char *what, const double *thetas,
                              int count, wk_error *err)
{
    for (int i = 0; i < count; i++) {
        const double *theta = thetas + (size_t)i * (size_t)domain->n_params;
        wk_status status = wk_domain_check_params(domain, theta, (size_t)domain->n_params, err);
        if (status == WK_OK) continue;
        wk_fail_context(err, "%s, θ number %d", what, i);
        return status;
    }
    return WK_OK;
}

static wk_status check_cases(const wk_domain *domain, wk_error *err)
{
    WK_TRY(check_table("cases", domain->n_cases, 0, CASES_MAX, domain->cases, sizeof *domain->cases,
                       err));
    for (int i = 0; i < domain->n_cases; i++) {
        const wk_case *c = &domain->cases[i];
        if (c->count < 1 || c->count > CASE_PARAMS_MAX || !c->params)
            return wk_fail(err, WK_E_INPUT,
                           "case '%s': it needs params and a count of 1 to %d, not %d", c->name,
                           CASE_PARAMS_MAX, c->count);
        if (c->episodes < c->count)
            return wk_fail(err, WK_E_INPUT,
                           "case '%s': %d episodes do not visit each of its %d θ; raise episodes",
                           c->name, c->episodes, c->count);
        char what[NAME_CHARS_MAX + 16] = "case ";
        WK_TRY(check_thetas(domain, strcat(what, c->name), c->params, c->count, err));
    }
    return WK_OK;
}

static wk_status check_oracles(const wk_domain *domain, wk_error *err)
{
    if (!domain->hardest)
        return wk_fail(err, WK_E_INPUT, "hardest is NULL; give the θ of the hardest world");
    WK_TRY(check_thetas(domain, "hardest", domain->hardest, 1, err));
    WK_TRY(check_range("n_complex", domain->n_complex, 1, COMPLEX_MAX, err));
    if (!domain->most_complex)
        return wk_fail(err, WK_E_INPUT, "most_complex is NULL although n_complex is %d",
                       domain->n_complex);
    return check_thetas(domain, "most_complex", domain->most_complex, domain->n_complex, err);
}

static wk_status check_data(const wk_domain *domain, bool own_grid, wk_error *err)
{
    WK_TRY(check_numbers(domain, err));
    WK_TRY(check_params(domain, own_grid, err));
    WK_TRY(check_tasks(domain, err));
    WK_TRY(check_table("options", domain->n_options, 0, WK_OPTIONS_MAX, domain->options,
                       sizeof *domain->options, err));
    for (int i = 0; i < domain->n_options; i++)
        WK_TRY(check_choices(&domain->options[i], err));
    WK_TRY(check_indicators(domain, err));
    WK_TRY(check_cases(domain, err));
    return check_oracles(domain, err);
}

wk_status wk_domain_check_data(const wk_domain *domain, bool own_grid, wk_error *err)
{
    WK_TRY(check_identity(domain, err));
    return check_data(domain, own_grid, err);
}

static wk_status check_all(const wk_domain *domain, wk_error *err)
{
    WK_TRY(check_functions(domain, err));
    WK_TRY(check_data(domain, domain->grid_count, err));
    WK_TRY(check_reserved(domain, err));
    // The table of θ checks the grid as it is made.
    wk_space *space;
    WK_TRY(wk_space_create(domain, false, &space, err));
    wk_space_destroy(space);
    return WK_OK;
}

wk_status wk_domain_check(const wk_domain *domain, wk_error *err)
{
    // Nothing else can be read from a struct of another shape.
    wk_status status = check_identity(domain, err);
    if (status != WK_OK) {
        wk_fail_context(err, "domain description");
        return status;
    }
    status = check_all(domain, err);
    if (status != WK_OK) wk_fail_context(err, "domain '%s'", domain->name);
    return status;
}
