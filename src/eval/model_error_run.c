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

/* ---- The file -------------------------------------------------------------------------------- */

static void json_head(const wk_model_error_result *r, wk_json *json)
{
    wk_json_object(json, NULL);
    wk_eval_origin_json(&r->origin, "waker-model-error-1", json);
    wk_json_integer(json, "envs", r->plan.environments);
    if (r->plan.trajectories > 1) wk_json_integer(json, "trajectories", r->plan.trajectories);
    wk_json_integer(json, "steps", r->plan.steps);
    wk_json_unsigned(json, "eval_seed", r->plan.seed);
    wk_json_array(json, "measures");
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
    int count = r->plan.environments, params = r->origin.domain->n_params;
    json_head(r, json);
    for (int i = 0; i < r->n_measures; i++) {
        const wk_model_error_measured *m = measure_at(r, i);
        const wk_model_error_summary *s = &m->summary;
        const wk_model_error *all = m->environments;
        wk_json_object(json, NULL);
        wk_json_string(json, "policy", m->policy);
        wk_json_string(json, "weights", m->weights);
        wk_json_integer(json, "episodes", count);
        wk_json_number(json, "mean", s->mean);
        wk_json_number(json, "cvar_0.1", s->cvar);
        wk_json_number(json, "estimate_mean", s->estimate_mean);
        wk_json_number(json, "rank_correlation", s->correlation);
        wk_json_number(json, "theta_rank_correlation", s->theta_correlation);
        wk_json_integer(json, "thetas", s->thetas);
        wk_json_numbers(json, "errors", &all->error, sizeof *all, count);
        wk_json_numbers(json, "estimates", &all->estimate, sizeof *all, count);
        wk_json_array(json, "theta");
        for (int k = 0; k < count; k++)
            wk_json_numbers(json, NULL, all[k].theta, sizeof *all->theta, params);
        wk_json_close(json, ']');
        wk_json_close(json, '}');
    }
    wk_json_close(json, ']');
    wk_json_close(json, '}');
}

// `stem` gets the beginning of the name.
static wk_result_question question_of(const wk_model_error_result *r, char stem[64])
{
    wk_result_question q = {.stem = stem, .keys = {"policy", "weights"}};
    snprintf(stem, 64, "model-error-%012" PRIu64, r->origin.step);
    json_head(r, &(wk_json){.text = &q.head});
    for (int i = 0; i < r->n_measures; i++)
        wk_text_printf(&q.parts, "%s\n%s\n", measure_at(r, i)->policy, measure_at(r, i)->weights);
    return q;
}

static wk_status write_result(const wk_model_error_result *r, const char *run, wk_error *err)
{
    char stem[64], name[WK_RESULT_NAME_MAX];
    wk_dir *folder = NULL;
    wk_text json = {0};
    WK_TRY(wk_dir_open_below(run, "eval", true, &folder, err));
    wk_result_question q = question_of(r, stem);
    wk_model_error_json(r, &(wk_json){.text = &json});
    wk_status status = wk_result_write(&q, folder, NULL, &json, name, err);
    wk_result_question_free(&q);
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
    static const char *const names[] = {WK_POLICY_ADAPTED, WK_POLICY_ALONGSIDE};
    const char *list = j->asked->policies, *weights = j->asked->weights;
    while (*list) {
        char name[64];
        int task;
        size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        list += length + (list[length] == ',');
        bool all = strcmp(name, "all") == 0, random = strcmp(name, WK_POLICY_RANDOM) == 0;
        j->all |= all;
        j->random |= all || random;
        if (all || random) continue;
        if (wk_domain_task(j->run.world.domain, name, &task, err) != WK_OK)
            return err ? wk_fail_context(err, "--policy (random, all, or a task)") : WK_E_NOT_FOUND;
        if (j->n_tasks < WK_TASKS_MAX) j->tasks[j->n_tasks++] = task;
    }
    if (!j->random && j->n_tasks == 0)
        return wk_fail(err, WK_E_INPUT, "--policy: give random, all, or names of tasks");
    if (weights && strcmp(weights, names[0]) != 0 && strcmp(weights, names[1]) != 0)
        return wk_fail_unknown(err, "weights", weights, names, 2);
    bool adapted = !weights || strcmp(weights, WK_POLICY_ADAPTED) == 0;
    if (!j->asked->name || (adapted && (j->all || j->n_tasks > 0))) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "--name selects adapted task policies: add --policy TASK, and leave out "
                   "--weights alongside");
}

// The weights of a step that have the policies: without tasks a snapshot's. "all" are also those of
// a run that has none.
static wk_status choose_weights(const job *j, int64_t step, wk_weights_answer *out, wk_error *err)
{
    const wk_model_error_question *asked = j->asked;
    wk_weights_query query = {.policy = asked->weights, .name = asked->name, .step = step};
    wk_error said = {0};
    if (j->n_tasks == 0 && !j->all) query.policy = WK_POLICY_RANDOM;
    wk_status status = wk_weights_resolve(j->run.directory, &j->run.config, &query, out, &said);
    if (status == WK_E_NOT_FOUND && j->n_tasks == 0 && !asked->weights && !asked->name) {
        query.policy = WK_POLICY_RANDOM;
        return wk_weights_resolve(j->run.directory, &j->run.config, &query, out, err);
    }
    if (status != WK_OK && err) *err = said;
    return status;
}

static void count_half(void *context)
{
    job *j = context;
    j->halves++;
    wk_progress_show(j->asked->progress, j->halves / 2, j->to_measure, wk_clock_seconds());
}

// Measures under random actions and the policies of the weights that are loaded.
static wk_status measure(job *j, wk_model_error_result *r, const char *title, wk_error *err)
{
    const wk_model_error_question *asked = j->asked;
    const wk_saved_weights *weights = &j->run.weights;
    const wk_domain *domain = j->run.world.domain;
    const int *tasks = j->all ? weights->tasks : j->tasks;
    int count = j->all ? weights->n_tasks : j->n_tasks;
    int policies[1 + WK_TASKS_MAX] = {0};
    for (int i = j->random ? -1 : 0; i < count; i++) {
        int task = i < 0 ? -1 : tasks[i];
        const char *policy = i < 0 ? WK_POLICY_RANDOM : domain->tasks[task].name;
        if (i >= 0) WK_TRY(wk_saved_run_policy(&j->run, task, &policies[r->n_measures], err));
        r->measures[r->n_measures++] =
            (wk_model_error_measured){.task = task, .policy = policy, .weights = title};
    }
    char stem[64], name[WK_RESULT_NAME_MAX];
    wk_result_question q = question_of(r, stem);
    wk_status status = wk_result_name(&q, j->results, name, err);
    wk_result_question_free(&q);
    WK_TRY(status);
    wk_model_error_config config = {.domain = domain,
                                    .options = j->run.world.options,
                                    .learner = weights->learner,
                                    .plan = asked->plan,
                                    .threads = asked->threads,
                                    .progress = asked->progress ? count_half : NULL,
                                    .context = j};
    size_t environments = (size_t)asked->plan.environments;
    j->to_measure = (int64_t)asked->n_runs * j->n_steps * r->n_measures * asked->plan.environments *
                    asked->plan.trajectories;
    for (int i = 0; i < r->n_measures; i++) {
        wk_model_error_measured *m = &r->measures[i];
        m->environments = calloc(environments, sizeof *m->environments);
        if (!m->environments)
            return wk_fail(err, WK_E_MEMORY, "no memory for %zu environments", environments);
        config.random = m->task < 0;
        config.task = m->task;
        config.policy = policies[i];
        WK_TRY(wk_model_error_measure(&config, m->environments, err));
        WK_TRY(wk_model_error_summarise(m->environments, (int)environments, &m->summary, err));
    }
    return WK_OK;
}

// With `checkpoint`, of a run that has no snapshot yet, the step is that of a checkpoint.
static wk_status measure_step(job *j, uint64_t step, bool checkpoint, wk_error *err)
{
    const wk_model_error_question *asked = j->asked;
    char title[WK_WEIGHTS_TITLE_MAX];
    wk_weights_answer answer = {.source = {.kind = WK_WEIGHTS_CHECKPOINT}};
    if (!checkpoint) WK_TRY(choose_weights(j, (int64_t)step, &answer, err));
    wk_weights_answer_free(&answer);
    const char *name = answer.source.name, *kind = wk_weights_kind_name(answer.source.kind);
    snprintf(title, sizeof title, "%s%s%s", kind, name ? "." : "", name ? name : "");
    const wk_weights_choice which = {.kind = answer.source.kind,
                                     .name = name,
                                     .step = (int64_t)step,
                                     .tasks = j->n_tasks == 0 && !j->all ? "none" : NULL,
                                     .device = asked->device,
                                     .threads = asked->threads};
    wk_model_error_result result = {
        .origin = wk_evaluation_origin(&j->run.config, j->run.world.domain, NULL, step, NULL),
        .plan = asked->plan};
    wk_status status = wk_saved_run_load(&j->run, &which, err);
    if (status == WK_OK) status = measure(j, &result, title, err);
    if (status == WK_OK) status = write_result(&result, j->results, err);
    if (status == WK_OK) status = asked->on_result(asked->context, j->run.directory, &result, err);
    for (int i = 0; i < result.n_measures; i++)
        free(result.measures[i].environments);
    return status;
}

static wk_status measure_run(job *j, const char *directory, wk_error *err)
{
    const wk_model_error_question *asked = j->asked;
    const wk_named_plugins named = {.domain = asked->plugin};
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = &named, .log = asked->log};
    WK_TRY(wk_saved_run_open(directory, &options, &j->run, err));
    WK_TRY(choose_policies(j, err));
    WK_TRY(wk_eval_directory(&j->run, asked->out, &j->results, err));

    // Snapshots, or of a run that has none yet the newest checkpoint.
    const wk_weights_query query = {.policy = WK_POLICY_RANDOM, .step = asked->step};
    wk_weights_answer models = {0};
    wk_error said = {0};
    uint64_t newest;
    bool adapted = asked->name || (asked->weights && !strcmp(asked->weights, WK_POLICY_ADAPTED));
    wk_status status = wk_weights_resolve(directory, &j->run.config, &query, &models, &said);
    bool checkpoint = status == WK_E_NOT_FOUND && asked->step < 0 && !adapted;
    if (checkpoint) {
        status = wk_checkpoint_newest(directory, &newest, err);
        if (status == WK_OK && !wk_array_push(&models.steps, newest))
            status = wk_fail(err, WK_E_MEMORY, "no memory for a step of '%s'", directory);
    } else if (status != WK_OK && err) {
        *err = said;
    }
    j->n_steps = (int)models.steps.count;
    for (int i = 0; i < j->n_steps && status == WK_OK; i++)
        status = measure_step(j, models.steps.items[i], checkpoint, err);
    wk_weights_answer_free(&models);
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
