// waker envs: which environments there are, what their parameters mean, and which tasks and cases
// they have.
#include "base/table.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "env/description.h"

#include <stdio.h>
#include <string.h>

typedef struct envs_values {
    const char *plugin;
    bool json;
} envs_values;

static const envs_values defaults;

#define WK_VALUES envs_values
static const wk_arg args[] = {
    WK_OPT_PATH("plugin", plugin, "FILE", "describe the domain of this plug-in"),
    WK_PYTHON_ARG_ROW(plugin, "use the environments of this Python function"),
    WK_OPT_FLAG("json", json, "print JSON"),
};

// Appends `item` to a comma-separated list, breaking lines longer than `width`.
static void append_item(wk_text *list, const char *item, size_t width)
{
    if (list->length > 0) {
        const char *newline = strrchr(wk_text_get(list), '\n');
        size_t used = newline ? strlen(newline + 1) : list->length;
        wk_text_puts(list, used + 2 + strlen(item) > width ? ",\n" : ", ");
    }
    wk_text_puts(list, item);
}

// One line of the table for a domain; lists take as many lines as they need.
static void add_domain_row(wk_table *table, const wk_domain *d)
{
    wk_text params = {0}, tasks = {0}, cases = {0};
    for (int i = 0; i < d->n_params; i++) {
        const wk_param *p = &d->params[i];
        wk_text_printf(&params, "%s%s %g to %g", i > 0 ? "\n" : "", p->name, p->min, p->max);
    }
    for (int i = 0; i < d->n_tasks; i++)
        append_item(&tasks, d->tasks[i].name, 24);
    for (int i = 0; i < d->n_cases; i++)
        append_item(&cases, d->cases[i].name, 16);
    wk_table_cell(table, "%s", d->name);
    wk_table_cell(table, "%s", wk_text_get(&params));
    wk_table_cell(table, "%d", d->action_size);
    wk_table_cell(table, "%s", wk_text_get(&tasks));
    wk_table_cell(table, "%s", wk_text_get(&cases));
    wk_table_cell(table, "%d", d->episode_steps);
    wk_text_free(&params);
    wk_text_free(&tasks);
    wk_text_free(&cases);
}

static void list_domains(wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "llrllr", "domain", "parameters", "actions", "tasks", "OOD cases",
                   "agent\nsteps");
    for (size_t i = 0; i < wk_domain_count(); i++)
        add_domain_row(&table, wk_domain_at(i));
    wk_table_finish(&table, 0, out);
    wk_text_puts(out, "\n"
                      "'waker envs DOMAIN' describes one of them.\n");
}

static void describe_params(const wk_domain *d, wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "lllll", "parameter", "training grid", "legal", "values", "meaning");
    for (int i = 0; i < d->n_params; i++) {
        const wk_param *p = &d->params[i];
        wk_table_cell(&table, "%s", p->name);
        wk_table_cell(&table, "%g to %g by %g", p->min, p->max, p->step);
        wk_table_cell(&table, "%g to %g", p->legal_min, p->legal_max);
        wk_table_cell(&table, "%s", p->continuous ? "continuous" : "grid only");
        wk_table_cell(&table, "%s", p->help ? p->help : "");
    }
    wk_table_finish(&table, 0, out);
}

static void describe_tasks(const wk_domain *d, wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "lll", "task", "also called", "completion");
    for (int i = 0; i < d->n_tasks; i++) {
        const wk_task *t = &d->tasks[i];
        wk_table_texts(&table, t->name, t->alias ? t->alias : "",
                       t->has_completion ? "reported" : "");
    }
    wk_table_finish(&table, 0, out);
}

static void append_case_thetas(const wk_domain *d, const wk_case *c, wk_text *out)
{
    enum { SHOWN = 24 };
    for (int i = 0; i < c->count; i++) {
        if (i > 0) wk_text_puts(out, "\n");
        if (c->count > SHOWN && i == SHOWN / 2) {
            wk_text_printf(out, "... %d more\n", c->count - SHOWN);
            i = c->count - SHOWN / 2;
        }
        wk_theta_text(d, c->params + i * d->n_params, out);
    }
}

static void describe_cases(const wk_domain *d, wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "lrll", "OOD case", "episodes", "parameters", "meaning");
    for (int i = 0; i < d->n_cases; i++) {
        const wk_case *c = &d->cases[i];
        wk_text thetas = {0};
        append_case_thetas(d, c, &thetas);
        wk_table_cell(&table, "%s", c->name);
        wk_table_cell(&table, "%d", c->episodes);
        wk_table_cell(&table, "%s", wk_text_get(&thetas));
        wk_table_cell(&table, "%s%s", c->help ? c->help : "",
                      c->extra ? " (not one of the paper's)" : "");
        wk_text_free(&thetas);
    }
    wk_table_finish(&table, 0, out);
}

static void describe_options(const wk_domain *d, wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "lll", "option", "choices", "meaning");
    for (int i = 0; i < d->n_options; i++) {
        const wk_option *o = &d->options[i];
        wk_table_texts(&table, o->name, o->choices, o->help ? o->help : "");
    }
    wk_table_finish(&table, 0, out);
    wk_text_puts(out, "The first choice of an option is its default.\n");
}

static void describe_indicators(const wk_domain *d, wk_text *out)
{
    wk_table table;
    wk_table_begin(&table, "ll", "indicator", "value for an episode");
    for (int i = 0; i < d->n_indicators; i++)
        wk_table_texts(&table, d->indicators[i].name,
                       d->indicators[i].help ? d->indicators[i].help : "");
    wk_table_finish(&table, 0, out);
}

static void describe_observation(const wk_domain *d, wk_text *out)
{
    bool image = !d->observation.no_image;
    wk_text_puts(out, "observation  ");
    if (image) wk_text_printf(out, "%d x %d RGB image", WK_IMAGE_SIDE, WK_IMAGE_SIDE);
    if (d->observation.vector > 0)
        wk_text_printf(out, "%svector of %d number%s", image ? ", " : "", d->observation.vector,
                       wk_plural((uint64_t)d->observation.vector));
    wk_text_puts(out, "\n");
}

static void describe_domain(const wk_domain *d, size_t grid_points, wk_text *out)
{
    wk_text_printf(out, "%s: %s\n\n", d->name, d->summary ? d->summary : "");
    describe_observation(d, out);
    if (d->discrete)
        wk_text_printf(out, "actions      one of %d\n", d->action_size);
    else
        wk_text_printf(out, "actions      %d number%s in [-1, 1]\n", d->action_size,
                       wk_plural((uint64_t)d->action_size));
    wk_text_printf(out,
                   "episode      %d agent step%s of %g s (%d control step%s each)\n"
                   "training     %zu parameter setting%s\n",
                   d->episode_steps, wk_plural((uint64_t)d->episode_steps), d->step_seconds,
                   d->action_repeat, wk_plural((uint64_t)d->action_repeat), grid_points,
                   wk_plural(grid_points));
    if (d->hardest) {
        wk_text_puts(out, "hardest      ");
        wk_theta_text(d, d->hardest, out);
        wk_text_puts(out, "\n");
    }
    static void (*const parts[])(const wk_domain *, wk_text *) = {
        describe_params, describe_tasks, describe_cases, describe_indicators, describe_options};
    const int counts[] = {d->n_params, d->n_tasks, d->n_cases, d->n_indicators, d->n_options};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (counts[i] == 0) continue;
        wk_text_puts(out, "\n");
        parts[i](d, out);
    }
}

static void json_cases(wk_json *json, const wk_domain *d)
{
    wk_json_array(json, "cases");
    for (int i = 0; i < d->n_cases; i++) {
        const wk_case *c = &d->cases[i];
        wk_json_object(json, NULL);
        wk_json_string(json, "name", c->name);
        wk_json_string(json, "help", c->help);
        wk_json_integer(json, "episodes", c->episodes);
        wk_json_bool(json, "extra", c->extra);
        wk_json_array(json, "params");
        for (int k = 0; k < c->count; k++)
            wk_json_numbers(json, NULL, c->params + k * d->n_params, sizeof *c->params,
                            d->n_params);
        wk_json_close(json, ']');
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void json_choices(wk_json *json, const char *choices)
{
    wk_json_array(json, "choices");
    while (*choices) {
        char choice[64];
        size_t length = strcspn(choices, "|");
        snprintf(choice, sizeof choice, "%.*s", (int)length, choices);
        wk_json_string(json, NULL, choice);
        choices += length + (choices[length] == '|');
    }
    wk_json_close(json, ']');
}

static void json_options(wk_json *json, const wk_domain *d)
{
    wk_json_array(json, "options");
    for (int i = 0; i < d->n_options; i++) {
        wk_json_object(json, NULL);
        wk_json_string(json, "name", d->options[i].name);
        wk_json_string(json, "help", d->options[i].help);
        json_choices(json, d->options[i].choices);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void json_indicators(wk_json *json, const wk_domain *d)
{
    wk_json_array(json, "indicators");
    for (int i = 0; i < d->n_indicators; i++) {
        wk_json_object(json, NULL);
        wk_json_string(json, "name", d->indicators[i].name);
        wk_json_string(json, "help", d->indicators[i].help);
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
}

static void json_domain(wk_json *json, const wk_domain *d)
{
    wk_json_object(json, NULL);
    wk_json_string(json, "name", d->name);
    wk_json_string(json, "summary", d->summary);
    wk_json_integer(json, "action_size", d->action_size);
    wk_json_bool(json, "discrete", d->discrete);
    wk_json_bool(json, "image", !d->observation.no_image);
    wk_json_integer(json, "vector_size", d->observation.vector);
    wk_json_integer(json, "action_repeat", d->action_repeat);
    wk_json_integer(json, "episode_steps", d->episode_steps);
    wk_json_number(json, "step_seconds", d->step_seconds);
    if (d->hardest) wk_json_numbers(json, "hardest", d->hardest, sizeof *d->hardest, d->n_params);
    wk_domain_describe_params(d, json);
    wk_domain_describe_tasks(d, json);
    json_cases(json, d);
    json_indicators(json, d);
    json_options(json, d);
    wk_json_close(json, '}');
}

static wk_status print_one(const wk_chosen_domain *chosen, bool json, wk_error *err)
{
    wk_text out = {0};
    if (json) {
        json_domain(&(wk_json){.text = &out}, chosen->domain);
        return wk_cli_print(&out, err);
    }
    wk_space *space;
    WK_TRY(wk_space_create(chosen->domain, false, &space, err));
    describe_domain(chosen->domain, wk_space_count(space), &out);
    wk_space_destroy(space);
    return wk_cli_print(&out, err);
}

static wk_status print_all(bool json, wk_error *err)
{
    wk_text out = {0};
    if (json) {
        wk_json list = {.text = &out};
        wk_json_array(&list, NULL);
        for (size_t i = 0; i < wk_domain_count(); i++)
            json_domain(&list, wk_domain_at(i));
        wk_json_close(&list, ']');
    } else
        list_domains(&out);
    return wk_cli_print(&out, err);
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    const envs_values *values = given;
    const char *name = cli->words.count > 0 ? cli->words.items[0] : NULL;
    if (!name && !values->plugin) return print_all(values->json, err);
    if (name && values->plugin)
        return wk_fail(err, WK_E_INPUT, "give a DOMAIN or --plugin, not both");
    wk_chosen_domain chosen;
    WK_TRY(wk_chosen_domain_open(cli, name, values->plugin, NULL, &chosen, err));
    wk_status status = print_one(&chosen, values->json, err);
    wk_chosen_domain_close(&chosen);
    return status;
}

const wk_command wk_command_envs = {
    .name = "envs",
    .summary = "List the domains, or describe one of them",
    .usage = "envs [DOMAIN] [--json]\nenvs --plugin FILE [--json]",
    .details =
        "A domain is described by the meaning, training grid and legal range of its parameters,\n"
        "its tasks with their other names, its out-of-distribution cases, and its options.\n",
    .examples = "envs\nenvs terrain-walker",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {0, 1},
    .run = run,
};
