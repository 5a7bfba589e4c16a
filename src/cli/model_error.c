// waker model-error: how well the world models of runs predict, side by side on the same episodes:
// the true error of the next image, next to what the model's own ensemble estimates there.
#include "eval/model_error.h"
#include "base/table.h"
#include "cli/cli.h"
#include "env/domain.h"
#include "plot/heatmap.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct error_values {
    wk_model_error_question asked; // what options fill as it is
    wk_arg_texts out;
    wk_arg_seed seed;
    bool map, json;
} error_values;

static const error_values defaults = {.asked = {.policies = "random",
                                                .step = WK_STEP_LAST,
                                                .plan.environments = 200,
                                                .plan.trajectories = 1}};

#define WK_VALUES error_values
static const wk_arg args[] = {
    WK_OPT_TEXT("policy", asked.policies, "random|TASK,...|all",
                "who acts: random, the policies of tasks, or all of these (default: random)"),
    WK_SNAPSHOTS_ARG_ROW(asked.step),
    WK_OPT_TEXT("weights", asked.weights, "adapted|alongside",
                "which task policies (default: adapted if any, else alongside)"),
    WK_OPT_TEXT("name", asked.name, "NAME",
                "use the task policies of the adaptation with this name"),
    WK_OPT_INT("envs", asked.plan.environments, "N",
               "environments from the default distribution (default: 200)", 1, 100000),
    WK_OPT_INT("trajectories", asked.plan.trajectories, "N",
               "episodes in each environment (default: 1; 200 in the paper)", 1, 100000),
    WK_OPT_INT("steps", asked.plan.steps, "N", "maximum agent steps of each episode (default: all)",
               1, 1000),
    WK_SEED_ARG_ROW("the episodes", "0"),
    WK_OPT_FLAG("map", map, "print errors and estimates as maps over the environments' parameters"),
    WK_OPT_PATHS("out", out, "FILE.png|DIR",
                 "FILE.png: draw the maps. DIR: write the results of one run to DIR/eval instead "
                 "of RUN/eval, together with RUN's settings, so that 'waker report DIR' can read "
                 "them; may be repeated"),
    WK_DEVICE_ARG_ROW(asked.device, "the run's"),
    WK_PLUGIN_ARG_ROWS(asked.plugin),
    WK_OPT_FLAG("json", json, "print the contents of the result files as a JSON list"),
};

// The output so far.
typedef struct output {
    bool as_json, maps;
    bool vectors; // a run's world model sees no images
    wk_table table;
    wk_heatmap map;
    wk_text text;
    wk_json json;
} output;

static void add_row(output *out, const char *run, const wk_model_error_result *r,
                    const wk_model_error_measured *m)
{
    wk_table *table = &out->table;
    const wk_model_error_summary *s = &m->summary;
    wk_table_name(table, run);
    wk_table_cell(table, "%s", r->origin.curriculum);
    wk_table_cell(table, "%" PRIu64, r->origin.step);
    wk_table_cell(table, "%" PRIu64, r->origin.step * (uint64_t)r->origin.domain->action_repeat);
    wk_table_cell(table, "%s", m->policy);
    wk_table_cell(table, "%d", s->environments);
    wk_table_cell(table, "%.6f", s->mean);
    wk_table_cell(table, "%.6f", s->cvar);
    wk_table_cell(table, "%.4g", s->estimate_mean);
    const double correlations[] = {s->correlation, s->theta_correlation};
    for (int i = 0; i < 2; i++)
        if (isnan(correlations[i]))
            wk_table_cell(table, "-");
        else
            wk_table_cell(table, "%.2f", correlations[i]);
}

// Adds what was measured to the maps: means over the environments of each θ.
static wk_status add_map(output *out, const char *run, const wk_model_error_result *r,
                         const wk_model_error_measured *m, wk_error *err)
{
    wk_space *space;
    WK_TRY(wk_space_create(r->origin.domain, false, &space, err));
    size_t count = wk_space_count(space);
    double *values = calloc(WK_HEATS * count, sizeof *values);
    double *seen = values, *error = values + count, *estimate = values + 2 * count;
    for (int i = 0; i < r->plan.environments && values; i++) {
        const wk_model_error *one = &m->environments[i];
        size_t theta = wk_space_find(space, one->theta);
        if (theta == SIZE_MAX || one->steps == 0) continue;
        seen[theta]++;
        error[theta] += one->error;
        estimate[theta] += one->estimate;
    }
    for (size_t i = 0; i < count && values; i++) {
        error[i] = seen[i] > 0 ? error[i] / seen[i] : NAN;
        estimate[i] = seen[i] > 0 ? estimate[i] / seen[i] : NAN;
    }
    const wk_heat_layer layers[WK_HEATS] = {{"environments", WK_HEAT_IS_COUNT, seen},
                                            {"error", WK_HEAT_IS_MEAN, error},
                                            {"estimate", WK_HEAT_IS_MEAN, estimate}};
    char title[180];
    snprintf(title, sizeof title, "%.60s, agent step %" PRIu64 ", %s, ", run, r->origin.step,
             m->policy);
    wk_status status = values
                           ? wk_heatmap_add(&out->map, title, r->origin.domain, space, layers, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory for a map");
    free(values);
    wk_space_destroy(space);
    return status;
}

static wk_status add_result(void *context, const char *run, const wk_model_error_result *r,
                            wk_error *err)
{
    output *out = context;
    out->vectors |= r->origin.domain->observation.no_image;
    if (out->as_json) wk_model_error_json(r, &out->json);
    for (int i = 0; i < r->n_measures; i++) {
        add_row(out, run, r, &r->measures[i]);
        if (out->maps) WK_TRY(add_map(out, run, r, &r->measures[i], err));
    }
    return WK_OK;
}

static void print_text(output *out, int n_runs, bool map)
{
    wk_table_print(&out->table, 0, &out->text);
    wk_text_puts(&out->text, "image error: mean squared error of the next image's pixels (0 to 1), "
                             "mean and worst tenth of the environments");
    if (n_runs > 1)
        wk_text_puts(&out->text, ";\nruns of one domain with the same env.options are measured in "
                                 "the same environments");
    wk_text_puts(&out->text,
                 ".\n"
                 "estimate: disagreement of the run's own ensemble on the same steps; its "
                 "scale differs from run to run.\n"
                 "rank correlation: 1 when it ranks environments (or parameters) as their "
                 "true errors do, 0 when it is unrelated to them.\n");
    if (out->vectors)
        wk_text_puts(
            &out->text,
            "Of models without images, the error is that of the next vector observation.\n");
    if (!map) return;
    wk_text_puts(&out->text, "\n");
    wk_heatmap_text(&out->map, &out->text);
}

static wk_status measure(wk_cli *cli, const error_values *v, wk_model_error_question *asked,
                         output *out, wk_error *err)
{
    const char *image = NULL;
    // An image is known by its ending; anything else is a directory.
    for (int i = 0; i < v->out.count; i++) {
        const char *path = v->out.items[i];
        *(wk_path_ends_in(path, ".png") ? &image : &asked->out) = path;
    }
    if (asked->out && asked->n_runs > 1)
        return wk_fail(err, WK_E_INPUT,
                       "--out %s would hold the results of %d runs; give each run a directory of "
                       "its own (an image's name ends in .png)",
                       asked->out, asked->n_runs);
    out->maps = v->map || image;
    wk_table_begin(&out->table, "llrrlrrrrrr", "run", "curriculum", "agent step", "control step",
                   "policy", "environments", "image error\nmean", "\nworst 10 %", "estimate\nmean",
                   "rank corr.\nenvironments", "\nparameters");
    for (int i = 0; i < asked->n_runs; i++)
        wk_cli_warn_older(cli, asked->runs[i]);
    if (v->json) wk_json_array(&out->json, NULL);
    WK_TRY(wk_model_error_run(asked, err));
    if (image) WK_TRY(wk_heatmap_write(&out->map, image, err));
    if (v->json)
        wk_json_close(&out->json, ']');
    else
        print_text(out, asked->n_runs, v->map);
    return WK_OK;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const error_values *v = values;
    wk_progress_line progress = {0};
    wk_log log = wk_cli_progress(cli, "episodes", &progress);
    output out = {.as_json = v->json};
    out.json.text = &out.text;
    wk_model_error_question asked = v->asked;
    asked.runs = cli->words.items;
    asked.n_runs = cli->words.count;
    asked.plan.seed = v->seed.value;
    asked.threads = cli->threads;
    asked.log = &log;
    asked.progress = &progress;
    asked.on_result = add_result;
    asked.context = &out;
    wk_status status = measure(cli, v, &asked, &out, err);
    wk_progress_finish(&progress);
    wk_table_free(&out.table);
    wk_heatmap_free(&out.map);
    return wk_cli_print_if(status, &out.text, err);
}

const wk_command wk_command_model_error = {
    .name = "model-error",
    .summary = "Measure how well world models predict, and how well they estimate their own error",
    .usage = "model-error RUN... [--policy TASK,...] [--snapshot STEP] [--envs N] [--trajectories "
             "N] [--map]",
    .details =
        "Plays new episodes in environments from the default distribution, with random actions\n"
        "or task policies, and predicts every image one step ahead. Prints the mean error, that\n"
        "of the worst tenth of the environments, and how well the model's own ensemble ranks\n"
        "the environments by their error. The numbers of every environment are written to\n"
        "RUN/eval/model-error-STEP.json.\n",
    .examples = "model-error runs/waker-m runs/dr --envs 100",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, WK_ARG_WORDS_MAX},
    .run = run,
};
