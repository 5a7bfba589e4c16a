// waker model-error: how well the world models of runs predict, side by side on the same episodes:
// the true error of the next image, next to what the model's own ensemble estimates there.
#include "eval/model_error.h"
#include "base/clock.h"
#include "base/table.h"
#include "cli/cli.h"
#include "cli/results.h"
#include "env/domain.h"
#include "plot/heatmap.h"
#include "run/saved_run.h"
#include "train/evaluation.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct error_values {
    const char *policy, *snapshot, *weights, *name, *device, *plugin;
    wk_arg_texts out;
    int envs, steps, trajectories;
    wk_arg_seed seed;
    bool map, json;
} error_values;

static const error_values defaults = {
    .policy = "random", .snapshot = "last", .envs = 200, .trajectories = 1};

#define WK_VALUES error_values
static const wk_arg args[] = {
    WK_OPT_TEXT("policy", policy, "random|TASK,...|all",
                "who acts: random, the policies of tasks, or all of these (default: random)"),
    WK_SNAPSHOTS_ARG_ROW(WK_VALUES),
    WK_OPT_TEXT("weights", weights, "adapted|alongside",
                "which task policies (default: adapted if any, else alongside)"),
    WK_NAME_ARG_ROW(error_values, "use the task policies of the adaptation with this name"),
    WK_OPT_INT("envs", envs, "N", "environments from the default distribution (default: 200)", 1,
               100000),
    WK_OPT_INT("trajectories", trajectories, "N",
               "episodes in each environment (default: 1; 200 in the paper)", 1, 100000),
    WK_OPT_INT("steps", steps, "N", "maximum agent steps of each episode (default: all)", 1, 1000),
    WK_SEED_ARG_ROW(WK_VALUES, "the episodes", "0"),
    WK_OPT_FLAG("map", map, "print errors and estimates as maps over the environments' parameters"),
    WK_OPT_PATHS("out", out, "FILE.png|DIR",
                 "FILE.png: draw the maps. DIR: write the results of one run to DIR/eval instead "
                 "of RUN/eval, together with RUN's settings, so that 'waker report DIR' can read "
                 "them; may be repeated"),
    WK_DEVICE_ARG_ROW(WK_VALUES, device, "the run's"),
    WK_PLUGIN_ARG_ROWS(error_values),
    WK_OPT_FLAG("json", json, "print the contents of the result files as a JSON list"),
};

// What is done for one run after the other, and what it all adds up to.
typedef struct job {
    const error_values *v;
    int threads;
    wk_log log;
    wk_progress_line progress;
    int64_t halves, to_measure; // episodes played or predicted; episodes in all
    wk_saved_run run;
    int n_runs, n_steps;        // to be measured
    const char *image, *folder; // of --out; NULL: none
    const char *results;        // the directory whose folder eval gets the results
    wk_space *space;
    bool random, all;                 // policies requested: random actions, every task there is,
    int tasks[WK_TASKS_MAX], n_tasks; // these tasks of the domain
    bool vectors;                     // a run's world model sees no images
    wk_table table;
    wk_heatmap map;
    wk_text out;
    wk_json json;
} job;

// Reads --policy.
static wk_status choose_policies(job *j, wk_error *err)
{
    const char *list = j->v->policy;
    j->random = j->all = false;
    j->n_tasks = 0;
    while (*list) {
        char name[64];
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        list += length + (list[length] == ',');
        if (strcmp(name, "all") == 0) {
            j->random = j->all = true;
        } else if (strcmp(name, WK_POLICY_RANDOM) == 0) {
            j->random = true;
        } else {
            int task;
            if (wk_domain_task(j->run.world.domain, name, &task, err) != WK_OK)
                return err ? wk_fail_context(err, "--policy (random, all, or a task)")
                           : WK_E_NOT_FOUND;
            if (j->n_tasks < WK_TASKS_MAX) j->tasks[j->n_tasks++] = task;
        }
    }
    if (j->random || j->n_tasks > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "--policy: give random, all, or names of tasks");
}

static wk_status check_name(const job *j, wk_error *err)
{
    const char *weights = j->v->weights;
    WK_TRY(wk_weights_check_name(j->v->name, err));
    bool adapted = !weights || strcmp(weights, WK_POLICY_ADAPTED) == 0;
    if (!j->v->name || (adapted && (j->all || j->n_tasks > 0))) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--name selects adapted task policies: add --policy TASK, and leave out "
                   "--weights alongside");
}

static bool has_adapted(const job *j, uint64_t step)
{
    uint64_t found;
    const wk_weights_source source = {.kind = WK_WEIGHTS_ADAPTED, .name = j->v->name};
    return wk_weights_find(j->run.directory, source, (int64_t)step, &found, NULL) == WK_OK;
}

// Which file the model and the task policies of a step come from.
static wk_status choose_weights(const job *j, uint64_t step, wk_weights_kind plain,
                                wk_weights_kind *kind, wk_error *err)
{
    static const char *const names[] = {WK_POLICY_ADAPTED, WK_POLICY_ALONGSIDE};
    const char *asked = j->v->weights;
    bool alongside = strcmp(j->run.config.tasks, "none") != 0, adapted = has_adapted(j, step);
    if (asked && strcmp(asked, names[0]) != 0 && strcmp(asked, names[1]) != 0)
        return wk_fail_unknown(err, "weights", asked, names, 2);
    bool want_adapted = asked ? strcmp(asked, names[0]) == 0 : adapted || j->v->name;
    bool tasks = j->n_tasks > 0;
    *kind = want_adapted && (tasks || j->all) ? WK_WEIGHTS_ADAPTED : plain;
    if (!tasks || (want_adapted ? adapted : alongside)) return WK_OK;
    return wk_fail(
        err, WK_E_NOT_FOUND,
        "'%s' has no %s task policies%s%s at agent step %" PRIu64
        "; create them with 'waker adapt %s --snapshot %" PRIu64 "', or use --policy random",
        j->run.directory, asked ? asked : "adapted or alongside", j->v->name ? " named " : "",
        j->v->name ? j->v->name : "", step, j->run.directory, step);
}

static void count_half(void *context)
{
    job *j = context;
    j->halves++;
    wk_progress_show(&j->progress, j->halves / 2, j->to_measure, wk_clock_seconds());
}

static wk_status add_measure(job *j, int task, wk_model_error_result *r, wk_error *err)
{
    wk_model_error_config config = {.domain = j->run.world.domain,
                                    .options = j->run.world.options,
                                    .learner = j->run.weights.learner,
                                    .random = task < 0,
                                    .task = task,
                                    .environments = j->v->envs,
                                    .trajectories = j->v->trajectories,
                                    .steps = j->v->steps,
                                    .seed = j->v->seed.value,
                                    .threads = j->threads,
                                    .progress = count_half,
                                    .context = j};
    if (task >= 0) WK_TRY(wk_saved_run_policy(&j->run, task, &config.policy, err));
    char title[WK_WEIGHTS_TITLE_MAX];
    wk_weights_kind kind = j->run.weights.kind;
    bool adapted = kind == WK_WEIGHTS_ADAPTED;
    wk_weights_title((wk_weights_source){.kind = kind, .name = adapted ? j->v->name : NULL}, title);
    return wk_model_error_add(r, &config, title, err);
}

static wk_status add_measures(job *j, wk_model_error_result *r, wk_error *err)
{
    const int *tasks = j->all ? j->run.weights.tasks : j->tasks;
    int count = j->all ? j->run.weights.n_tasks : j->n_tasks;
    int64_t measures = (int64_t)j->n_runs * j->n_steps * (j->random + count);
    j->to_measure = measures * j->v->envs * j->v->trajectories;
    if (j->random) WK_TRY(add_measure(j, -1, r, err));
    for (int i = 0; i < count; i++)
        WK_TRY(add_measure(j, tasks[i], r, err));
    return WK_OK;
}

static void add_row(job *j, const wk_model_error_result *r, const wk_model_error_measured *m)
{
    const wk_model_error_summary *s = &m->summary;
    wk_table_name(&j->table, j->run.directory);
    wk_table_cell(&j->table, "%s", r->origin.curriculum);
    wk_table_cell(&j->table, "%" PRIu64, r->origin.step);
    wk_table_cell(&j->table, "%" PRIu64,
                  r->origin.step * (uint64_t)r->origin.domain->action_repeat);
    wk_table_cell(&j->table, "%s", m->policy);
    wk_table_cell(&j->table, "%d", s->environments);
    wk_table_cell(&j->table, "%.6f", s->mean);
    wk_table_cell(&j->table, "%.6f", s->cvar);
    wk_table_cell(&j->table, "%.4g", s->estimate_mean);
    const double correlations[] = {s->correlation, s->theta_correlation};
    for (int i = 0; i < 2; i++)
        if (isnan(correlations[i]))
            wk_table_cell(&j->table, "-");
        else
            wk_table_cell(&j->table, "%.2f", correlations[i]);
}

// Adds what was measured to the maps: means over the environments of each θ.
static wk_status add_map(job *j, const wk_model_error_result *r, const wk_model_error_measured *m,
                         wk_error *err)
{
    size_t count = wk_space_count(j->space);
    double *values = calloc(WK_HEATS * count, sizeof *values);
    if (!values) return wk_fail(err, WK_E_MEMORY, "no memory for a map");
    double *seen = values, *error = values + count, *estimate = values + 2 * count;
    for (int i = 0; i < m->count; i++) {
        const wk_model_error *one = &m->environments[i];
        size_t theta = wk_space_find(j->space, one->theta);
        if (theta == SIZE_MAX || one->steps == 0) continue;
        seen[theta]++;
        error[theta] += one->error;
        estimate[theta] += one->estimate;
    }
    for (size_t i = 0; i < count; i++) {
        error[i] = seen[i] > 0 ? error[i] / seen[i] : NAN;
        estimate[i] = seen[i] > 0 ? estimate[i] / seen[i] : NAN;
    }
    const wk_heat_layer layers[WK_HEATS] = {{"environments", WK_HEAT_IS_COUNT, seen},
                                            {"error", WK_HEAT_IS_MEAN, error},
                                            {"estimate", WK_HEAT_IS_MEAN, estimate}};
    char title[180];
    snprintf(title, sizeof title, "%.60s, agent step %" PRIu64 ", %s, ", j->run.directory,
             r->origin.step, m->policy);
    wk_status status = wk_heatmap_add(&j->map, title, j->run.world.domain, j->space, layers, err);
    free(values);
    return status;
}

static wk_status keep_result(job *j, wk_model_error_result *r, wk_error *err)
{
    WK_TRY(wk_model_error_write(r, j->results, err));
    if (j->v->json) wk_model_error_json(r, &j->json);
    for (int i = 0; i < r->n_measures; i++) {
        add_row(j, r, &r->measures[i]);
        if (j->v->map || j->image) WK_TRY(add_map(j, r, &r->measures[i], err));
    }
    return WK_OK;
}

static wk_status measure_step(job *j, uint64_t step, wk_weights_kind plain, wk_error *err)
{
    wk_weights_choice which = {
        .step = (int64_t)step, .device = j->v->device, .threads = j->threads};
    WK_TRY(choose_weights(j, step, plain, &which.kind, err));
    if (which.kind == WK_WEIGHTS_ADAPTED) which.name = j->v->name;
    if (j->n_tasks == 0 && !j->all) which.tasks = "none";
    wk_model_error_result result = {
        .origin = wk_evaluation_origin(&j->run.config, j->run.world.domain, NULL, step, NULL),
        .environments = j->v->envs,
        .trajectories = j->v->trajectories,
        .steps = j->v->steps,
        .seed = j->v->seed.value};
    wk_status status = wk_saved_run_load(&j->run, &which, err);
    if (status == WK_OK) status = add_measures(j, &result, err);
    if (status == WK_OK) status = keep_result(j, &result, err);
    wk_model_error_free(&result);
    return status;
}

// A run that has no snapshot yet is looked at through its newest checkpoint.
static wk_status measure_run(job *j, const char *directory, wk_error *err)
{
    uint64_t step;
    int64_t wanted = WK_STEP_LAST;
    bool all = strcmp(j->v->snapshot, "all") == 0;
    const wk_saved_run_options options = {.depth = WK_SAVED_WORLD,
                                          .plugins = &(wk_named_plugins){.domain = j->v->plugin},
                                          .log = &j->log};
    WK_TRY(wk_saved_run_open(directory, &options, &j->run, err));
    j->vectors |= j->run.world.domain->observation.no_image;
    WK_TRY(wk_space_create(j->run.world.domain, false, &j->space, err));
    WK_TRY(choose_policies(j, err));
    WK_TRY(check_name(j, err));
    WK_TRY(wk_cli_results_directory(&j->run, j->folder, &j->results, err));
    if (!all) WK_TRY(wk_snapshot_arg(j->v->snapshot, &wanted, err));
    const wk_weights_source snapshots = {.kind = WK_WEIGHTS_SNAPSHOT};
    wk_steps steps = {0};
    wk_status status = wk_weights_steps(j->run.directory, snapshots, &steps, err);
    bool none = steps.count == 0;
    j->n_steps = all && !none ? (int)steps.count : 1;
    for (size_t i = 0; all && status == WK_OK && i < steps.count; i++)
        status = measure_step(j, steps.items[i], WK_WEIGHTS_SNAPSHOT, err);
    wk_array_free(&steps);
    if (status != WK_OK || (all && !none)) return status;
    if (none && wanted == WK_STEP_LAST) {
        WK_TRY(wk_checkpoint_newest(j->run.directory, &step, err));
        return measure_step(j, step, WK_WEIGHTS_CHECKPOINT, err);
    }
    WK_TRY(wk_weights_find(j->run.directory, snapshots, wanted, &step, err));
    return measure_step(j, step, WK_WEIGHTS_SNAPSHOT, err);
}

// An image is known by its ending; anything else is a directory.
static wk_status choose_out(job *j, int n_runs, wk_error *err)
{
    for (int i = 0; i < j->v->out.count; i++) {
        const char *path = j->v->out.items[i];
        *(wk_path_ends_in(path, ".png") ? &j->image : &j->folder) = path;
    }
    if (!j->folder || n_runs == 1) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--out %s would hold the results of %d runs; give each run a directory of its "
                   "own (an image's name ends in .png)",
                   j->folder, n_runs);
}

static wk_status measure_runs(job *j, const wk_cli *cli, wk_error *err)
{
    for (int i = 0; i < cli->words.count; i++) {
        wk_cli_warn_older(cli, cli->words.items[i]);
        wk_status status = measure_run(j, cli->words.items[i], err);
        wk_space_destroy(j->space);
        wk_saved_run_close(&j->run);
        j->space = NULL;
        if (status != WK_OK) return status;
    }
    return WK_OK;
}

static void print_text(job *j)
{
    wk_table_print(&j->table, 0, &j->out);
    wk_text_puts(&j->out, "image error: mean squared error of the next image's pixels (0 to 1), "
                          "mean and worst tenth of the environments");
    if (j->n_runs > 1)
        wk_text_puts(&j->out, ";\nruns of one domain with the same env.options are measured in the "
                              "same environments");
    wk_text_puts(&j->out, ".\n"
                          "estimate: disagreement of the run's own ensemble on the same steps; its "
                          "scale differs from run to run.\n"
                          "rank correlation: 1 when it ranks environments (or parameters) as their "
                          "true errors do, 0 when it is unrelated to them.\n");
    if (j->vectors)
        wk_text_puts(
            &j->out,
            "Of models without images, the error is that of the next vector observation.\n");
    if (!j->v->map) return;
    wk_text_puts(&j->out, "\n");
    wk_heatmap_text(&j->map, &j->out);
}

static wk_status measure_and_print(job *j, const wk_cli *cli, wk_error *err)
{
    wk_table_begin(&j->table, "llrrlrrrrrr", "run", "curriculum", "agent step", "control step",
                   "policy", "environments", "image error\nmean", "\nworst 10 %", "estimate\nmean",
                   "rank corr.\nenvironments", "\nparameters");
    if (j->v->json) wk_json_array(&j->json, NULL);
    WK_TRY(choose_out(j, cli->words.count, err));
    WK_TRY(measure_runs(j, cli, err));
    if (j->image) WK_TRY(wk_heatmap_write(&j->map, j->image, err));
    if (j->v->json)
        wk_json_close(&j->json, ']');
    else
        print_text(j);
    return WK_OK;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return wk_fail(err, WK_E_MEMORY, "no memory for a measurement");
    j->v = values;
    j->threads = cli->threads;
    j->n_runs = cli->words.count;
    j->log = wk_cli_progress(cli, "episodes", &j->progress);
    j->json.text = &j->out;
    wk_status status = measure_and_print(j, cli, err);
    wk_progress_finish(&j->progress);
    wk_table_free(&j->table);
    wk_heatmap_free(&j->map);
    wk_text out = j->out;
    free(j);
    return wk_cli_print_if(status, &out, err);
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
    .min_words = 1,
    .max_words = WK_ARG_WORDS_MAX,
    .run = run,
};
