#include "env/description.h"

#include "base/json.h"
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

/* ---- The fields ------------------------------------------------------------------------------ */

// A field of a domain, or of a row of one of its tables: written, read and compared by the same
// entry.
typedef struct field {
    const char *name; // in JSON
    enum { TEXT, COUNT, NUMBER, TRUTH } type;
    size_t offset;
    const char *differs; // what it is called where two domains differ in it; NULL: they may
    bool omitted;        // not written where it is zero: absent means zero
} field;

#define DOMAIN(member) offsetof(wk_domain, member)
static const field domain_fields[] = {
    {"name", TEXT, DOMAIN(name), "name", false},
    {"summary", TEXT, DOMAIN(summary), NULL, false},
    {"action_size", COUNT, DOMAIN(action_size), "action_size", false},
    {"discrete", TRUTH, DOMAIN(discrete), "kind of actions", true},
    {"observation_vector", COUNT, DOMAIN(observation.vector), "observation", true},
    {"observation_no_image", TRUTH, DOMAIN(observation.no_image), "observation", true},
    {"action_repeat", COUNT, DOMAIN(action_repeat), "action_repeat", false},
    {"episode_steps", COUNT, DOMAIN(episode_steps), "episode_steps", false},
    {"ends_early", TRUTH, DOMAIN(ends_early), "ends_early", true},
    {"step_seconds", NUMBER, DOMAIN(step_seconds), NULL, false},
    {0},
};
static const field param_fields[] = {
    {"name", TEXT, offsetof(wk_param, name), "params", false},
    {"help", TEXT, offsetof(wk_param, help), NULL, false},
    {"min", NUMBER, offsetof(wk_param, min), NULL, false},
    {"max", NUMBER, offsetof(wk_param, max), NULL, false},
    {"step", NUMBER, offsetof(wk_param, step), NULL, false},
    {"legal_min", NUMBER, offsetof(wk_param, legal_min), NULL, false},
    {"legal_max", NUMBER, offsetof(wk_param, legal_max), NULL, false},
    {"continuous", TRUTH, offsetof(wk_param, continuous), NULL, false},
    {0},
};
static const field task_fields[] = {
    {"name", TEXT, offsetof(wk_task, name), "tasks", false},
    {"alias", TEXT, offsetof(wk_task, alias), NULL, true},
    {"has_completion", TRUTH, offsetof(wk_task, has_completion), "tasks", false},
    {0},
};
static const field option_fields[] = {
    {"name", TEXT, offsetof(wk_option, name), "options", false},
    {"choices", TEXT, offsetof(wk_option, choices), "options", false},
    {"help", TEXT, offsetof(wk_option, help), NULL, false},
    {0},
};
static const field case_fields[] = {
    {"name", TEXT, offsetof(wk_case, name), NULL, false},
    {"help", TEXT, offsetof(wk_case, help), NULL, false},
    {"episodes", COUNT, offsetof(wk_case, episodes), NULL, false},
    {"extra", TRUTH, offsetof(wk_case, extra), NULL, false},
    {0},
};

// A table of a domain. A description has room for `max` rows.
typedef struct table {
    const char *name;
    const field *fields;
    size_t rows, count, row_size; // where the domain has its pointer and its length
    const void *empty_row;        // what a row is before its members are read
    int max;
    bool compared;
} table;

enum { PARAMS, TASKS, OPTIONS, CASES, TABLES };
static const table tables[TABLES] = {
    {"params", param_fields, DOMAIN(params), DOMAIN(n_params), sizeof(wk_param),
     &(const wk_param){.help = "", .min = NAN}, WK_PARAMS_MAX, true},
    {"tasks", task_fields, DOMAIN(tasks), DOMAIN(n_tasks), sizeof(wk_task), &(const wk_task){0},
     WK_TASKS_MAX, true},
    {"options", option_fields, DOMAIN(options), DOMAIN(n_options), sizeof(wk_option),
     &(const wk_option){.help = ""}, WK_OPTIONS_MAX, true},
    {"cases", case_fields, DOMAIN(cases), DOMAIN(n_cases), sizeof(wk_case),
     &(const wk_case){.help = ""}, CASES_MAX, false},
};

static int count_of(const table *t, const wk_domain *domain)
{
    return *(const int *)((const char *)domain + t->count);
}

static const char *row_of(const table *t, const wk_domain *domain, int i)
{
    return *(const char *const *)((const char *)domain + t->rows) + (size_t)i * t->row_size;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void put_fields(const field *f, const void *from, wk_json *json)
{
    for (; f->name; f++) {
        const void *at = (const char *)from + f->offset;
        const char *text = f->type == TEXT ? *(const char *const *)at : NULL;
        int count = f->type == COUNT ? *(const int *)at : 0;
        bool truth = f->type == TRUTH && *(const bool *)at;
        if (f->omitted && !text && count <= 0 && !truth) continue;
        if (f->type == TEXT)
            wk_json_string(json, f->name, text);
        else if (f->type == COUNT)
            wk_json_integer(json, f->name, count);
        else if (f->type == NUMBER)
            wk_json_number(json, f->name, *(const double *)at);
        else
            wk_json_bool(json, f->name, truth);
    }
}

static void put_table(const table *t, const wk_domain *domain, wk_json *json)
{
    wk_json_array(json, t->name);
    for (int i = 0; i < count_of(t, domain); i++) {
        wk_json_object(json, NULL);
        put_fields(t->fields, row_of(t, domain, i), json);
        if (t == &tables[CASES]) {
            const wk_case *c = &domain->cases[i];
            wk_json_numbers(json, "params", c->params, sizeof(double), c->count * domain->n_params);
        }
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

void wk_domain_describe_params(const wk_domain *domain, wk_json *json)
{
    put_table(&tables[PARAMS], domain, json);
}

void wk_domain_describe_tasks(const wk_domain *domain, wk_json *json)
{
    put_table(&tables[TASKS], domain, json);
}

wk_status wk_domain_describe(const wk_domain *domain, wk_json *json, wk_error *err)
{
    int n = domain->n_params;
    put_fields(domain_fields, domain, json);
    for (int i = 0; i < TABLES; i++)
        put_table(&tables[i], domain, json);
    wk_json_numbers(json, "hardest", domain->hardest, sizeof(double), n);
    wk_json_numbers(json, "most_complex", domain->most_complex, sizeof(double),
                    n * domain->n_complex);

    // The grid, where the params alone do not make it.
    if (!domain->check && !domain->grid_count) return WK_OK;
    wk_space *space;
    WK_TRY(wk_space_create(domain, false, &space, err));
    size_t count = wk_space_count(space);
    wk_json_array(json, "thetas");
    for (size_t i = 0; i < count; i++)
        for (int k = 0; k < n; k++)
            wk_json_number(json, NULL, wk_space_params(space, i)[k]);
    wk_json_close(json, ']');
    if (domain->grid_count) {
        wk_json_array(json, "probabilities");
        for (size_t i = 0; i < count; i++)
            wk_json_number(json, NULL, wk_space_probability(space, i));
        wk_json_close(json, ']');
    }
    wk_space_destroy(space);
    return WK_OK;
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

static bool take_field(wk_description *s, wk_document *d, const field *fields, void *into)
{
    for (const field *f = fields; f->name; f++) {
        void *at = (char *)into + f->offset;
        if (f->type == TEXT     ? take_text(s, d, f->name, at)
            : f->type == COUNT  ? wk_document_take_count(d, f->name, at)
            : f->type == NUMBER ? wk_document_take_number(d, f->name, at)
                                : wk_document_take_bool(d, f->name, at))
            return true;
    }
    return false;
}

// A member that is a list of objects; false for others. Of a list that comes twice the last counts.
static bool take_table(wk_description *s, wk_document *d)
{
    const table *t = tables;
    while (t < tables + TABLES && !wk_document_is(d, t->name))
        t++;
    if (t == tables + TABLES) return false;
    int *count = (int *)((char *)&s->domain + t->count);
    *count = 0;
    if (!wk_document_array(d)) return true;
    for (; wk_document_item(d); ++*count) {
        if (*count == t->max) {
            wk_document_fail(d, "a list has more than %d entries", t->max);
            return true;
        }
        if (!wk_document_object(d)) return true;
        char *row = (char *)row_of(t, &s->domain, *count);
        memcpy(row, t->empty_row, t->row_size);
        while (wk_document_member(d))
            if (!take_field(s, d, t->fields, row) && t == &tables[CASES])
                take_numbers(d, "params", &s->case_params[*count]);
    }
    return true;
}

// Whether a list is whole rows of `n` numbers; gives how many.
static bool in_rows(const number_list *list, size_t n, int *rows)
{
    *rows = (int)(list->count / n);
    return list->count % n == 0;
}

// Points the domain to what was read, once nothing moves any more, and checks it.
static wk_status finish(wk_description *s, wk_error *err)
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
    domain->hardest = s->hardest.items;
    domain->most_complex = s->most_complex.items;
    wk_space *space;
    WK_TRY(wk_domain_check_data(domain, s->probabilities.count > 0, err));
    WK_TRY(wk_description_space(s, &space, err));
    wk_space_destroy(space);
    return WK_OK;
}

wk_status wk_description_read(wk_document *d, wk_description **out, wk_error *err)
{
    wk_description *s = calloc(1, sizeof *s);
    if (!s) return wk_fail(err, WK_E_MEMORY, "no memory for the description of a domain");
    s->domain.params = s->params;
    s->domain.tasks = s->tasks;
    s->domain.options = s->options;
    s->domain.cases = s->cases;
    while (wk_document_member(d))
        if (!take_table(s, d) && !take_field(s, d, domain_fields, &s->domain) &&
            !take_numbers(d, "hardest", &s->hardest) &&
            !take_numbers(d, "most_complex", &s->most_complex) &&
            !take_numbers(d, "thetas", &s->thetas))
            take_numbers(d, "probabilities", &s->probabilities);
    wk_error problem = d->error;
    wk_status status = problem.status;
    if (status == WK_OK) {
        status = finish(s, &problem);
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

// What differs between two rows that must not, or NULL.
static const char *difference(const field *fields, const void *a, const void *b)
{
    for (const field *f = fields; f->name; f++) {
        const void *x = (const char *)a + f->offset, *y = (const char *)b + f->offset;
        if (!f->differs) continue;
        if (f->type == TEXT    ? strcmp(*(const char *const *)x, *(const char *const *)y) != 0
            : f->type == COUNT ? *(const int *)x != *(const int *)y
                               : *(const bool *)x != *(const bool *)y)
            return f->differs;
    }
    return NULL;
}

static wk_status compare_spaces(const wk_description *s, const wk_domain *domain, bool *same,
                                wk_error *err)
{
    wk_space *a, *b;
    WK_TRY(wk_description_space(s, &a, err));
    wk_status status = wk_space_create(domain, false, &b, err);
    if (status == WK_OK) {
        size_t row = (size_t)domain->n_params * sizeof(double);
        *same = wk_space_count(a) == wk_space_count(b);
        for (size_t i = 0; *same && i < wk_space_count(a); i++)
            *same = memcmp(wk_space_params(a, i), wk_space_params(b, i), row) == 0 &&
                    wk_space_probability(a, i) == wk_space_probability(b, i);
        wk_space_destroy(b);
    }
    wk_space_destroy(a);
    return status;
}

wk_status wk_description_fits(const wk_description *s, const wk_domain *domain, wk_error *err)
{
    const wk_domain *was = &s->domain;
    const char *differs = difference(domain_fields, was, domain);
    for (const table *t = tables; t < tables + TABLES && t->compared && !differs; t++) {
        if (count_of(t, was) != count_of(t, domain)) differs = t->name;
        for (int i = 0; i < count_of(t, was) && !differs; i++)
            differs = difference(t->fields, row_of(t, was, i), row_of(t, domain, i));
    }
    bool same = true;
    if (!differs) WK_TRY(compare_spaces(s, domain, &same, err));
    if (!same) differs = "grid";
    if (!differs) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "its domain '%s' is not the '%s' that the run was made with: the %s changed; "
                   "take the file the run began with, or begin a new run",
                   domain->name, was->name, differs);
}
