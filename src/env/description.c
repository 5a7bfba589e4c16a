#include "env/description.h"

#include "base/array.h"
#include "env/domain.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES_MAX = 64, NUMBERS_MAX = 8 * 1000000 };

typedef WK_ARRAY(double) number_list;

struct wk_description {
    wk_domain domain;
    wk_arena arena; // strings
    wk_param params[WK_PARAMS_MAX];
    wk_task tasks[WK_TASKS_MAX];
    wk_option options[WK_OPTIONS_MAX];
    wk_case cases[CASES_MAX];
    number_list case_params[CASES_MAX];
    number_list hardest, most_complex;
    number_list thetas, probabilities; // of the grid; both empty where the params make it
};

/* ---- Writing --------------------------------------------------------------------------------- */

void wk_domain_describe_params(const wk_domain *domain, wk_json *json)
{
    wk_json_array(json, "params");
    for (int i = 0; i < domain->n_params; i++) {
        const wk_param *p = &domain->params[i];
        wk_json_object(json, NULL);
        wk_json_string(json, "name", p->name);
        wk_json_string(json, "help", p->help);
        wk_json_number(json, "min", p->min);
        wk_json_number(json, "max", p->max);
        wk_json_number(json, "step", p->step);
        wk_json_number(json, "legal_min", p->legal_min);
        wk_json_number(json, "legal_max", p->legal_max);
        wk_json_bool(json, "continuous", p->continuous);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

void wk_domain_describe_tasks(const wk_domain *domain, wk_json *json)
{
    wk_json_array(json, "tasks");
    for (int i = 0; i < domain->n_tasks; i++) {
        wk_json_object(json, NULL);
        wk_json_string(json, "name", domain->tasks[i].name);
        if (domain->tasks[i].alias) wk_json_string(json, "alias", domain->tasks[i].alias);
        wk_json_bool(json, "has_completion", domain->tasks[i].has_completion);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void put_options(const wk_domain *domain, wk_json *json)
{
    wk_json_array(json, "options");
    for (int i = 0; i < domain->n_options; i++) {
        wk_json_object(json, NULL);
        wk_json_string(json, "name", domain->options[i].name);
        wk_json_string(json, "choices", domain->options[i].choices);
        wk_json_string(json, "help", domain->options[i].help);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void put_cases(const wk_domain *domain, wk_json *json)
{
    wk_json_array(json, "cases");
    for (int i = 0; i < domain->n_cases; i++) {
        const wk_case *c = &domain->cases[i];
        wk_json_object(json, NULL);
        wk_json_string(json, "name", c->name);
        wk_json_string(json, "help", c->help);
        wk_json_integer(json, "episodes", c->episodes);
        wk_json_bool(json, "extra", c->extra);
        wk_json_numbers(json, "params", c->params, sizeof(double), c->count * domain->n_params);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static wk_status put_grid(const wk_domain *domain, wk_json *json, wk_error *err)
{
    if (!domain->check && !domain->grid_count) return WK_OK;
    wk_space *space;
    WK_TRY(wk_space_create(domain, false, &space, err));
    wk_json_array(json, "thetas");
    for (size_t i = 0; i < wk_space_count(space); i++)
        for (int k = 0; k < domain->n_params; k++)
            wk_json_number(json, NULL, wk_space_params(space, i)[k]);
    wk_json_close(json, ']');
    if (domain->grid_count) {
        wk_json_array(json, "probabilities");
        for (size_t i = 0; i < wk_space_count(space); i++)
            wk_json_number(json, NULL, wk_space_probability(space, i));
        wk_json_close(json, ']');
    }
    wk_space_destroy(space);
    return WK_OK;
}

wk_status wk_domain_describe(const wk_domain *domain, wk_json *json, wk_error *err)
{
    int n = domain->n_params;
    wk_json_string(json, "name", domain->name);
    wk_json_string(json, "summary", domain->summary);
    wk_json_integer(json, "action_size", domain->action_size);
    // Of ABI 4: without them, actions are continuous and the image is all that is seen.
    if (domain->discrete) wk_json_bool(json, "discrete", true);
    if (domain->observation.vector > 0)
        wk_json_integer(json, "observation_vector", domain->observation.vector);
    if (domain->observation.no_image) wk_json_bool(json, "observation_no_image", true);
    wk_json_integer(json, "action_repeat", domain->action_repeat);
    wk_json_integer(json, "episode_steps", domain->episode_steps);
    if (domain->ends_early) wk_json_bool(json, "ends_early", true);
    wk_json_number(json, "step_seconds", domain->step_seconds);
    wk_domain_describe_params(domain, json);
    wk_domain_describe_tasks(domain, json);
    put_options(domain, json);
    put_cases(domain, json);
    wk_json_numbers(json, "hardest", domain->hardest, sizeof(double), n);
    wk_json_numbers(json, "most_complex", domain->most_complex, sizeof(double),
                    n * domain->n_complex);
    return put_grid(domain, json, err);
}

/* ---- Reading --------------------------------------------------------------------------------- */

// Texts are printed to terminals, whose control characters they must not contain.
static bool take_text(wk_description *s, wk_document *d, const char *name, const char **out)
{
    if (!wk_document_take_string(d, name, &s->arena, out)) return false;
    for (char *c = (char *)*out; *c; c++)
        memset(c, ' ', wk_utf8_control(c));
    return true;
}

static bool take_numbers(wk_document *d, const char *name, number_list *out)
{
    if (!wk_document_is(d, name)) return false;
    out->count = 0;
    if (!wk_document_array(d)) return true;
    while (wk_document_item(d)) {
        double value = wk_document_number(d);
        if (!isfinite(value))
            wk_document_fail(d, "null where a number must be");
        else if (out->count == NUMBERS_MAX)
            wk_document_fail(d, "a list has more than %d numbers", NUMBERS_MAX);
        else if (!wk_array_push(out, value))
            wk_fail(&d->error, WK_E_MEMORY, "'%s': no memory to read it", d->path);
    }
    return true;
}

// Moves to the next of at most `max` objects of a list and enters it.
static bool take_entry(wk_document *d, int *count, int max)
{
    if (!wk_document_item(d)) return false;
    if (*count == max) {
        wk_document_fail(d, "a list has more than %d entries", max);
        return false;
    }
    ++*count;
    return wk_document_object(d);
}

static bool take_param(wk_description *s, wk_document *d, wk_param *p)
{
    return take_text(s, d, "name", &p->name) || take_text(s, d, "help", &p->help) ||
           wk_document_take_number(d, "min", &p->min) ||
           wk_document_take_number(d, "max", &p->max) ||
           wk_document_take_number(d, "step", &p->step) ||
           wk_document_take_number(d, "legal_min", &p->legal_min) ||
           wk_document_take_number(d, "legal_max", &p->legal_max) ||
           wk_document_take_bool(d, "continuous", &p->continuous);
}

static bool take_task(wk_description *s, wk_document *d, wk_task *t)
{
    return take_text(s, d, "name", &t->name) || take_text(s, d, "alias", &t->alias) ||
           wk_document_take_bool(d, "has_completion", &t->has_completion);
}

static bool take_option(wk_description *s, wk_document *d, wk_option *o)
{
    return take_text(s, d, "name", &o->name) || take_text(s, d, "choices", &o->choices) ||
           take_text(s, d, "help", &o->help);
}

static bool take_case(wk_description *s, wk_document *d, wk_case *c, number_list *params)
{
    return take_text(s, d, "name", &c->name) || take_text(s, d, "help", &c->help) ||
           wk_document_take_count(d, "episodes", &c->episodes) ||
           wk_document_take_bool(d, "extra", &c->extra) || take_numbers(d, "params", params);
}

// The members that are lists of objects; false for others. Of a list that comes twice the last
// counts.
static bool take_table(wk_description *s, wk_document *d)
{
    wk_domain *domain = &s->domain;
    int *count = wk_document_is(d, "params")    ? &domain->n_params
                 : wk_document_is(d, "tasks")   ? &domain->n_tasks
                 : wk_document_is(d, "options") ? &domain->n_options
                 : wk_document_is(d, "cases")   ? &domain->n_cases
                                                : NULL;
    if (!count) return false;
    *count = 0;
    if (!wk_document_array(d)) return true;
    if (count == &domain->n_params)
        while (take_entry(d, count, WK_PARAMS_MAX)) {
            wk_param *p = &s->params[*count - 1];
            for (*p = (wk_param){.help = "", .min = NAN}; wk_document_member(d);)
                take_param(s, d, p);
        }
    else if (count == &domain->n_tasks)
        while (take_entry(d, count, WK_TASKS_MAX)) {
            wk_task *t = &s->tasks[*count - 1];
            for (*t = (wk_task){0}; wk_document_member(d);)
                take_task(s, d, t);
        }
    else if (count == &domain->n_options)
        while (take_entry(d, count, WK_OPTIONS_MAX)) {
            wk_option *o = &s->options[*count - 1];
            for (*o = (wk_option){.help = ""}; wk_document_member(d);)
                take_option(s, d, o);
        }
    else
        while (take_entry(d, count, CASES_MAX)) {
            wk_case *c = &s->cases[*count - 1];
            for (*c = (wk_case){.help = ""}; wk_document_member(d);)
                take_case(s, d, c, &s->case_params[*count - 1]);
        }
    return true;
}

static bool take_member(wk_description *s, wk_document *d)
{
    wk_domain *m = &s->domain;
    return take_table(s, d) || take_text(s, d, "name", &m->name) ||
           take_text(s, d, "summary", &m->summary) ||
           wk_document_take_count(d, "action_size", &m->action_size) ||
           wk_document_take_bool(d, "discrete", &m->discrete) ||
           wk_document_take_count(d, "observation_vector", &m->observation.vector) ||
           wk_document_take_bool(d, "observation_no_image", &m->observation.no_image) ||
           wk_document_take_count(d, "action_repeat", &m->action_repeat) ||
           wk_document_take_count(d, "episode_steps", &m->episode_steps) ||
           wk_document_take_bool(d, "ends_early", &m->ends_early) ||
           wk_document_take_number(d, "step_seconds", &m->step_seconds) ||
           take_numbers(d, "hardest", &s->hardest) ||
           take_numbers(d, "most_complex", &s->most_complex) ||
           take_numbers(d, "thetas", &s->thetas) ||
           take_numbers(d, "probabilities", &s->probabilities);
}

// Whether a list is whole rows of `n` numbers; gives how many.
static bool in_rows(const number_list *list, size_t n, int *rows)
{
    *rows = (int)(list->count / n);
    return list->count % n == 0;
}

// Points the domain to what was read, once nothing moves any more.
static wk_status connect(wk_description *s, wk_error *err)
{
    wk_domain *domain = &s->domain;
    size_t n = (size_t)domain->n_params;
    int rows = 0;
    bool whole = n > 0 && s->hardest.count == n &&
                 in_rows(&s->most_complex, n, &domain->n_complex) && in_rows(&s->thetas, n, &rows);
    for (int i = 0; i < domain->n_cases && whole; i++) {
        s->cases[i].params = s->case_params[i].items;
        whole = in_rows(&s->case_params[i], n, &s->cases[i].count);
    }
    whole = whole && (s->probabilities.count == 0 || s->probabilities.count == (size_t)rows);
    if (!whole) return wk_fail(err, WK_E_FORMAT, "lists of numbers do not fit the params");
    domain->abi = WK_ENV_ABI;
    domain->size = sizeof *domain;
    domain->params = s->params;
    domain->tasks = s->tasks;
    domain->options = s->options;
    domain->cases = s->cases;
    domain->hardest = s->hardest.items;
    domain->most_complex = s->most_complex.items;
    return WK_OK;
}

static wk_status check(const wk_description *s, wk_error *err)
{
    wk_space *space;
    WK_TRY(wk_domain_check_data(&s->domain, s->probabilities.count > 0, err));
    WK_TRY(wk_description_space(s, &space, err));
    wk_space_destroy(space);
    return WK_OK;
}

wk_status wk_description_read(wk_document *d, wk_description **out, wk_error *err)
{
    wk_description *s = calloc(1, sizeof *s);
    if (!s) return wk_fail(err, WK_E_MEMORY, "no memory for the description of a domain");
    while (wk_document_member(d))
        take_member(s, d);
    wk_error problem = d->error;
    wk_status status = problem.status;
    if (status == WK_OK) {
        status = connect(s, &problem);
        if (status == WK_OK) status = check(s, &problem);
        if (status == WK_E_MEMORY) d->error = problem;
        if (status != WK_OK) wk_document_fail(d, "%.400s", problem.message);
    }
    if (status == WK_OK) {
        *out = s;
        return WK_OK;
    }
    wk_description_destroy(s);
    if (err) *err = d->error;
    return d->error.status;
}

void wk_description_destroy(wk_description *s)
{
    if (!s) return;
    for (int i = 0; i < CASES_MAX; i++)
        wk_array_free(&s->case_params[i]);
    wk_array_free(&s->hardest);
    wk_array_free(&s->most_complex);
    wk_array_free(&s->thetas);
    wk_array_free(&s->probabilities);
    wk_arena_reset(&s->arena);
    free(s);
}

const wk_domain *wk_description_domain(const wk_description *s)
{
    return &s->domain;
}

wk_status wk_description_space(const wk_description *s, wk_space **out, wk_error *err)
{
    const wk_domain *domain = &s->domain;
    size_t count = s->thetas.count / (size_t)domain->n_params;
    if (count == 0) return wk_space_create(domain, false, out, err);
    if (s->probabilities.count == 0)
        return wk_space_create_list(domain, s->thetas.items, count, out, err);
    return wk_space_create_weighted(domain, s->thetas.items, s->probabilities.items, count, out,
                                    err);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static bool same_params(const wk_domain *a, const wk_domain *b)
{
    if (a->n_params != b->n_params) return false;
    for (int i = 0; i < a->n_params; i++)
        if (strcmp(a->params[i].name, b->params[i].name) != 0) return false;
    return true;
}

static bool same_tasks(const wk_domain *a, const wk_domain *b)
{
    if (a->n_tasks != b->n_tasks) return false;
    for (int i = 0; i < a->n_tasks; i++)
        if (strcmp(a->tasks[i].name, b->tasks[i].name) != 0 ||
            a->tasks[i].has_completion != b->tasks[i].has_completion)
            return false;
    return true;
}

static bool same_options(const wk_domain *a, const wk_domain *b)
{
    if (a->n_options != b->n_options) return false;
    for (int i = 0; i < a->n_options; i++)
        if (strcmp(a->options[i].name, b->options[i].name) != 0 ||
            strcmp(a->options[i].choices, b->options[i].choices) != 0)
            return false;
    return true;
}

static bool same_observation(wk_observation_spec a, wk_observation_spec b)
{
    return a.vector == b.vector && a.no_image == b.no_image;
}

static bool same_space(const wk_space *a, const wk_space *b, size_t n_params)
{
    if (wk_space_count(a) != wk_space_count(b)) return false;
    for (size_t i = 0; i < wk_space_count(a); i++)
        if (memcmp(wk_space_params(a, i), wk_space_params(b, i), n_params * sizeof(double)) != 0 ||
            wk_space_probability(a, i) != wk_space_probability(b, i))
            return false;
    return true;
}

static wk_status compare_spaces(const wk_description *s, const wk_domain *domain, bool *same,
                                wk_error *err)
{
    wk_space *ours, *theirs;
    WK_TRY(wk_description_space(s, &ours, err));
    wk_status status = wk_space_create(domain, false, &theirs, err);
    if (status == WK_OK) {
        *same = same_space(ours, theirs, (size_t)domain->n_params);
        wk_space_destroy(theirs);
    }
    wk_space_destroy(ours);
    return status;
}

wk_status wk_description_fits(const wk_description *s, const wk_domain *domain, wk_error *err)
{
    const wk_domain *was = &s->domain;
    const char *differs = strcmp(was->name, domain->name) != 0      ? "name"
                          : was->action_size != domain->action_size ? "action_size"
                          : was->discrete != domain->discrete       ? "kind of actions"
                          : !same_observation(was->observation, domain->observation) ? "observation"
                          : was->action_repeat != domain->action_repeat ? "action_repeat"
                          : was->episode_steps != domain->episode_steps ? "episode_steps"
                          : was->ends_early != domain->ends_early       ? "ends_early"
                          : !same_params(was, domain)                   ? "params"
                          : !same_tasks(was, domain)                    ? "tasks"
                          : !same_options(was, domain)                  ? "options"
                                                                        : NULL;
    bool same = true;
    if (!differs) WK_TRY(compare_spaces(s, domain, &same, err));
    if (!same) differs = "grid";
    if (!differs) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "its domain '%s' is not the '%s' that the run was made with: the %s changed; "
                   "take the file the run began with, or begin a new run",
                   domain->name, was->name, differs);
}
