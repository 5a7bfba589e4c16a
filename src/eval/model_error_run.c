// Model errors of saved runs: under which policies, with which weights and at which steps they are
// measured, and the file of every step (docs/evaluation.md has the format).
#include "base/json.h"
#include "base/machine.h"
#include "eval/evaluation.h"
#include "eval/model_error.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_model_error_add(wk_model_error_result *r, const wk_model_error_config *config,
                             const char *weights, wk_error *err)
{
    wk_model_error_measured *more =
        realloc(r->measures, (size_t)(r->n_measures + 1) * sizeof *more);
    if (!more) return wk_fail(err, WK_E_MEMORY, "no memory for a measurement");
    r->measures = more;
    wk_model_error_measured *m = &more[r->n_measures++];
    *m = (wk_model_error_measured){.task = config->random ? -1 : config->task,
                                   .count = config->environments};
    snprintf(m->policy, sizeof m->policy, "%s",
             config->random ? "random" : config->domain->tasks[config->task].name);
    snprintf(m->weights, sizeof m->weights, "%s", weights);
    m->environments = calloc((size_t)m->count, sizeof *m->environments);
    if (!m->environments)
        return wk_fail(err, WK_E_MEMORY, "no memory for %d environments", m->count);
    WK_TRY(wk_model_error_measure(config, m->environments, err));
    return wk_model_error_summarise(m->environments, m->count, &m->summary, err);
}

void wk_model_error_free(wk_model_error_result *r)
{
    for (int i = 0; i < r->n_measures; i++)
        free(r->measures[i].environments);
    free(r->measures);
    r->measures = NULL;
    r->n_measures = 0;
}

/* ---- The file -------------------------------------------------------------------------------- */

static void json_head(const wk_model_error_result *r, wk_json *json)
{
    wk_json_object(json, NULL);
    wk_eval_origin_json(&r->origin, "waker-model-error-1", json);
    wk_json_integer(json, "envs", r->environments);
    if (r->trajectories > 1) wk_json_integer(json, "trajectories", r->trajectories);
    wk_json_integer(json, "steps", r->steps);
    wk_json_unsigned(json, "eval_seed", r->seed);
    wk_json_array(json, "measures");
}

static void json_measure(wk_json *json, const wk_domain *domain, const wk_model_error_measured *m)
{
    const wk_model_error_summary *s = &m->summary;
    wk_json_object(json, NULL);
    wk_json_string(json, "policy", m->policy);
    wk_json_string(json, "weights", m->weights);
    wk_json_integer(json, "episodes", m->count);
    wk_json_number(json, "mean", s->mean);
    wk_json_number(json, "cvar_0.1", s->cvar);
    wk_json_number(json, "estimate_mean", s->estimate_mean);
    wk_json_number(json, "rank_correlation", s->correlation);
    wk_json_number(json, "theta_rank_correlation", s->theta_correlation);
    wk_json_integer(json, "thetas", s->thetas);
    const wk_model_error *all = m->environments;
    wk_json_numbers(json, "errors", &all->error, sizeof *all, m->count);
    wk_json_numbers(json, "estimates", &all->estimate, sizeof *all, m->count);
    wk_json_array(json, "theta");
    for (int i = 0; i < m->count; i++)
        wk_json_numbers(json, NULL, all[i].theta, sizeof *all->theta, domain->n_params);
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

// Measure number `i` of the file: random actions first, then the tasks in the domain's order.
static const wk_model_error_measured *measure_at(const wk_model_error_result *r, int i)
{
    for (int task = -1; task < r->origin.domain->n_tasks; task++)
        for (int k = 0; k < r->n_measures; k++)
            if (r->measures[k].task == task && i-- == 0) return &r->measures[k];
    return NULL;
}

void wk_model_error_json(const wk_model_error_result *r, wk_json *json)
{
    json_head(r, json);
    for (int i = 0; i < r->n_measures; i++)
        json_measure(json, r->origin.domain, measure_at(r, i));
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

wk_status wk_model_error_write(const wk_model_error_result *r, const char *run, wk_error *err)
{
    char stem[64], name[WK_RESULT_NAME_MAX];
    wk_dir *folder = NULL;
    wk_text json = {0};
    WK_TRY(wk_eval_result_folder(run, err));
    WK_TRY(wk_dir_open_below(run, "eval", false, &folder, err));
    wk_result_question q = {.stem = stem, .keys = {"policy", "weights"}};
    snprintf(stem, sizeof stem, "model-error-%012" PRIu64, r->origin.step);
    json_head(r, &(wk_json){.text = &q.head});
    for (int i = 0; i < r->n_measures; i++)
        wk_text_printf(&q.parts, "%s\n%s\n", measure_at(r, i)->policy, measure_at(r, i)->weights);
    wk_status status = wk_result_name(&q, folder, name, err);
    if (status == WK_OK) {
        wk_model_error_json(r, &(wk_json){.text = &json});
        status = wk_result_file_write(&json, folder, name, ".json", err);
    }
    wk_dir_close(folder);
    return status;
}

/* ---- The question ---------------------------------------------------------------------------- */

// The measurement of one run.
typedef struct job {
    const wk_model_error_question *asked;
    wk_saved_run run;
    const char *results;              // the directory whose folder eval gets the results
    bool random, all;                 // policies requested: random actions, every task there is,
    int tasks[WK_TASKS_MAX], n_tasks; // these tasks of the domain
    int n_steps;                      // to be measured
    int64_t halves, to_measure;       // episodes played or predicted; episodes in all
} job;

static wk_status choose_policies(job *j, wk_error *err)
{
    const char *list = j->asked->policies;
    while (*list) {
        char name[64];
        int task;
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        list += length + (list[length] == ',');
        bool all = strcmp(name, "all") == 0;
        j->all |= all;
        j->random |= all || strcmp(name, WK_POLICY_RANDOM) == 0;
        if (all || strcmp(name, WK_POLICY_RANDOM) == 0) continue;
        if (wk_domain_task(j->run.world.domain, name, &task, err) != WK_OK)
            return err ? wk_fail_context(err, "--policy (random, all, or a task)") : WK_E_NOT_FOUND;
        if (j->n_tasks < WK_TASKS_MAX) j->tasks[j->n_tasks++] = task;
    }
    if (!j->random && j->n_tasks == 0)
        return wk_fail(err, WK_E_INPUT, "--policy: give random, all, or names of tasks");
    const char *weights = j->asked->weights;
    WK_TRY(wk_weights_check_name(j->asked->name, err));
    bool adapted = !weights || strcmp(weights, WK_POLICY_ADAPTED) == 0;
    if (!j->asked->name || (adapted && (j->all || j->n_tasks > 0))) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--name selects adapted task policies: add --policy TASK, and leave out "
                   "--weights alongside");
}

// Which file the model and the task policies of a step come from; `plain` has the model alone, and
// policies trained alongside.
static wk_status choose_weights(const job *j, uint64_t step, wk_weights_kind plain,
                                wk_weights_kind *kind, wk_error *err)
{
    static const char *const names[] = {WK_POLICY_ADAPTED, WK_POLICY_ALONGSIDE};
    const char *asked = j->asked->weights, *name = j->asked->name;
    const char *run = j->run.directory;
    uint64_t found;
    const wk_weights_source source = {.kind = WK_WEIGHTS_ADAPTED, .name = name};
    bool adapted = wk_weights_find(run, source, (int64_t)step, &found, NULL) == WK_OK;
    bool alongside = strcmp(j->run.config.tasks, "none") != 0;
    if (asked && strcmp(asked, names[0]) != 0 && strcmp(asked, names[1]) != 0)
        return wk_fail_unknown(err, "weights", asked, names, 2);
    bool want_adapted = asked ? strcmp(asked, names[0]) == 0 : adapted || name;
    bool tasks = j->n_tasks > 0;
    *kind = want_adapted && (tasks || j->all) ? WK_WEIGHTS_ADAPTED : plain;
    if (!tasks || (want_adapted ? adapted : alongside)) return WK_OK;
    return wk_fail(err, WK_E_NOT_FOUND,
                   "'%s' has no %s task policies%s%s at agent step %" PRIu64
                   "; create them with 'waker adapt %s --snapshot %" PRIu64
                   "', or use --policy random",
                   run, asked ? asked : "adapted or alongside", name ? " named " : "",
                   name ? name : "", step, run, step);
}

static void count_half(void *context)
{
    job *j = context;
    j->halves++;
    wk_progress_show(j->asked->progress, j->halves / 2, j->to_measure, wk_clock_seconds());
}

// Measures under random actions and the policies of the weights that are loaded.
static wk_status add_measures(job *j, wk_model_error_result *r, wk_error *err)
{
    const wk_model_error_question *asked = j->asked;
    const wk_saved_weights *weights = &j->run.weights;
    const int *tasks = j->all ? weights->tasks : j->tasks;
    int count = j->all ? weights->n_tasks : j->n_tasks;
    bool adapted = weights->kind == WK_WEIGHTS_ADAPTED;
    char title[WK_WEIGHTS_TITLE_MAX];
    wk_weights_title(
        (wk_weights_source){.kind = weights->kind, .name = adapted ? asked->name : NULL}, title);
    int64_t measures = (int64_t)asked->n_runs * j->n_steps * (j->random + count);
    j->to_measure = measures * asked->environments * asked->trajectories;
    wk_model_error_config config = {.domain = j->run.world.domain,
                                    .options = j->run.world.options,
                                    .learner = weights->learner,
                                    .environments = asked->environments,
                                    .trajectories = asked->trajectories,
                                    .steps = asked->steps,
                                    .seed = asked->seed,
                                    .threads = asked->threads,
                                    .progress = asked->progress ? count_half : NULL,
                                    .context = j};
    for (int i = j->random ? -1 : 0; i < count; i++) {
        config.random = i < 0;
        config.task = i < 0 ? -1 : tasks[i];
        if (i >= 0) WK_TRY(wk_saved_run_policy(&j->run, tasks[i], &config.policy, err));
        WK_TRY(wk_model_error_add(r, &config, title, err));
    }
    return WK_OK;
}

static wk_status measure_step(job *j, uint64_t step, wk_weights_kind plain, wk_error *err)
{
    const wk_model_error_question *asked = j->asked;
    wk_weights_choice which = {
        .step = (int64_t)step, .device = asked->device, .threads = asked->threads};
    WK_TRY(choose_weights(j, step, plain, &which.kind, err));
    if (which.kind == WK_WEIGHTS_ADAPTED) which.name = asked->name;
    if (j->n_tasks == 0 && !j->all) which.tasks = "none";
    wk_model_error_result result = {
        .origin = wk_evaluation_origin(&j->run.config, j->run.world.domain, NULL, step, NULL),
        .environments = asked->environments,
        .trajectories = asked->trajectories,
        .steps = asked->steps,
        .seed = asked->seed};
    wk_status status = wk_saved_run_load(&j->run, &which, err);
    if (status == WK_OK) status = add_measures(j, &result, err);
    if (status == WK_OK) status = wk_model_error_write(&result, j->results, err);
    if (status == WK_OK) status = asked->on_result(asked->context, j->run.directory, &result, err);
    wk_model_error_free(&result);
    return status;
}

static wk_status measure_steps(job *j, const wk_steps *steps, wk_error *err)
{
    const wk_weights_source snapshots = {.kind = WK_WEIGHTS_SNAPSHOT};
    const char *run = j->run.directory;
    int64_t wanted = j->asked->step;
    uint64_t step;
    if (wanted == WK_STEP_ALL && steps->count > 0) {
        j->n_steps = (int)steps->count;
        for (size_t i = 0; i < steps->count; i++)
            WK_TRY(measure_step(j, steps->items[i], WK_WEIGHTS_SNAPSHOT, err));
        return WK_OK;
    }
    j->n_steps = 1;
    if (steps->count > 0 || wanted >= 0) {
        WK_TRY(wk_weights_find(run, snapshots, wanted, &step, err));
        return measure_step(j, step, WK_WEIGHTS_SNAPSHOT, err);
    }
    // A run that has no snapshot yet is measured at its newest checkpoint.
    WK_TRY(wk_checkpoint_newest(run, &step, err));
    return measure_step(j, step, WK_WEIGHTS_CHECKPOINT, err);
}

static wk_status measure_run(job *j, const char *directory, wk_error *err)
{
    const wk_named_plugins named = {.domain = j->asked->plugin};
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = &named, .log = j->asked->log};
    wk_steps steps = {0};
    WK_TRY(wk_saved_run_open(directory, &options, &j->run, err));
    WK_TRY(choose_policies(j, err));
    WK_TRY(wk_eval_directory(&j->run, j->asked->out, &j->results, err));
    wk_status status =
        wk_weights_steps(directory, (wk_weights_source){.kind = WK_WEIGHTS_SNAPSHOT}, &steps, err);
    if (status == WK_OK) status = measure_steps(j, &steps, err);
    wk_array_free(&steps);
    return status;
}

wk_status wk_model_error_run(const wk_model_error_question *asked, wk_error *err)
{
    int64_t halves = 0;
    for (int i = 0; i < asked->n_runs; i++) {
        job j = {.asked = asked, .halves = halves};
        wk_status status = measure_run(&j, asked->runs[i], err);
        wk_saved_run_close(&j.run);
        halves = j.halves;
        if (status != WK_OK) return status;
    }
    return WK_OK;
}
