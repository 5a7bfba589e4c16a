#include "eval/evaluation.h"

#include "base/file.h"
#include "base/machine.h"
#include "base/random.h"
#include "config/parts.h"
#include "media/animation.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_eval_origin wk_evaluation_origin(const wk_run_config *config, const wk_domain *domain,
                                    const wk_run_thetas *thetas, uint64_t step, const char *policy)
{
    return (wk_eval_origin){.domain = domain,
                            .train = wk_run_thetas_case(thetas),
                            .curriculum = config->curriculum_rule,
                            .exploration = config->exploration,
                            .run_seed = config->seed,
                            .step = step,
                            .policy = policy};
}

uint64_t wk_evaluation_seed(const wk_run_config *config, uint64_t step)
{
    char name[64];
    snprintf(name, sizeof name, "evaluation at %" PRIu64, step);
    return config->eval_fresh ? wk_rng_key(config->seed, name) : 0;
}

/* ---- Where the results go -------------------------------------------------------------------- */

wk_status wk_eval_directory(const wk_saved_run *run, const char *out, const char **directory,
                            wk_error *err)
{
    static const char *const copied[] = {"plugin.json", "config.yaml"};
    char from[WK_PATH_MAX], to[WK_PATH_MAX];
    bool there, made;
    *directory = out ? out : run->directory;
    if (!out) {
        // A folder that was missing is removed again: a command that fails before its first results
        // leaves nothing.
        wk_dir *dir = NULL;
        WK_TRY(wk_path_join(run->directory, "eval", to, err));
        WK_TRY(wk_file_exists_in(NULL, to, &there, err));
        if (wk_eval_result_folder(run->directory, err) != WK_OK)
            return wk_fail_context(
                err, "cannot write the results into the run (--out DIR writes them elsewhere)");
        if (there) return WK_OK;
        WK_TRY(wk_dir_open(NULL, run->directory, &dir, err));
        wk_status status = wk_dir_remove_dir(dir, "eval", err);
        wk_dir_close(dir);
        return status;
    }

    // A directory with results holds those of one run, whose files say which.
    WK_TRY(wk_path_join(out, "config.yaml", to, err));
    WK_TRY(wk_file_exists_in(NULL, to, &made, err));
    if (made) {
        wk_run_config other;
        WK_TRY(wk_run_config_read(to, &other, err));
        wk_status status = wk_run_config_resumable(&other, &run->config, err);
        if (status != WK_OK)
            wk_fail_context(err, "--out '%s' has results of another run; choose another directory",
                            out);
        WK_TRY(status);
    }
    WK_TRY(wk_eval_result_folder(out, err));
    for (int i = 0; i < 2; i++) {
        WK_TRY(wk_path_join(run->directory, copied[i], from, err));
        WK_TRY(wk_path_join(out, copied[i], to, err));
        WK_TRY(wk_file_exists_in(NULL, from, &there, err));
        WK_TRY(wk_file_exists_in(NULL, to, &made, err));
        if (there && !made) WK_TRY(wk_file_copy_in(NULL, from, to, err));
    }
    return WK_OK;
}

/* ---- The question ---------------------------------------------------------------------------- */

// What is evaluated.
typedef struct job {
    const wk_eval_question *asked;
    wk_saved_run run;
    bool all_tasks, random;
    int tasks[WK_TASKS_MAX], n_tasks; // of the domain; all of it for all_tasks
    wk_weights_answer weights;
    const char *case_names;
    int envs;
    wk_run_thetas thetas;                  // that it was trained in
    wk_theta_set set;                      // that is played instead of cases; its name "": none
    wk_eval_case sets[WK_THETA_SET_PARTS]; // its parts
    int n_sets;
    const char *results;     // the directory whose folder eval gets the results
    int64_t played, to_play; // agent steps: episodes of a case end together
    int64_t per_task;        // agent steps of all cases, if no episode ends early
} job;

static wk_status choose_tasks(job *j, wk_error *err)
{
    wk_run_config asked = j->run.config;
    const char *tasks = j->asked->tasks ? j->asked->tasks : "all";
    if (wk_run_config_set(&asked, WK_RUN_tasks_INDEX, tasks, err) != WK_OK)
        return wk_fail_context(err, "--task");
    j->all_tasks = strcmp(asked.tasks, "all") == 0;
    WK_TRY(wk_run_config_tasks(&asked, j->run.world.domain, j->tasks, &j->n_tasks, err));
    for (int i = 0; i < j->n_tasks && !j->all_tasks; i++)
        WK_TRY(wk_saved_run_playable(&j->run, j->tasks[i], err));
    if (j->n_tasks > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "--task none: there is nothing to evaluate");
}

static wk_weights_source weights_of(const job *j, int task)
{
    return wk_weights_of(&j->weights, j->run.world.domain->tasks[task].name);
}

// Whether each task has its own weights.
static bool has_each(const job *j)
{
    return j->weights.source.kind == WK_WEIGHTS_FINETUNED;
}

// Which policies of which steps. Random actions have step 0, since they know of no training.
static wk_status choose_policy(job *j, wk_error *err)
{
    const wk_eval_question *asked = j->asked;
    const wk_domain *domain = j->run.world.domain;
    const char *names[WK_TASKS_MAX];
    for (int i = 0; i < j->n_tasks; i++)
        names[i] = domain->tasks[j->tasks[i]].name;
    const wk_weights_query query = {.policy = asked->policy,
                                    .name = asked->name,
                                    .tasks = names,
                                    .n_tasks = j->n_tasks,
                                    .step = asked->step};
    j->random = asked->policy && strcmp(asked->policy, WK_POLICY_RANDOM) == 0;
    if (!j->random || asked->name) {
        WK_TRY(wk_weights_resolve(asked->run, &j->run.config, &query, &j->weights, err));
    } else if (asked->step != WK_STEP_LAST) {
        return wk_fail(err, WK_E_INPUT,
                       "--policy random acts without weights: leave out --snapshot");
    } else {
        snprintf(j->weights.title, sizeof j->weights.title, WK_POLICY_RANDOM);
        if (!wk_array_push(&j->weights.steps, 0))
            return wk_fail(err, WK_E_MEMORY, "no memory for a step");
    }
    // Clips show what a world model imagines.
    const char *option = asked->clips & WK_VIDEO_GIF ? "--video" : "--mp4";
    if (asked->clips && j->random)
        return wk_fail(
            err, WK_E_INPUT,
            "%s shows what a policy's world model imagines; --policy random uses no world model",
            option);
    if (!asked->clips || !domain->observation.no_image)
        return asked->clips & WK_VIDEO_MP4 ? wk_animation_find_ffmpeg(err) : WK_OK;
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "%s: the world model of domain '%s' sees %d numbers and no images; 'waker "
                   "openloop' writes what it imagines as numbers",
                   option, domain->name, domain->observation.vector);
}

// Where the policies are played, and how many steps that are. A set brings its own environments and
// seed.
static wk_status choose_cases(job *j, wk_error *err)
{
    const wk_eval_question *asked = j->asked;
    const wk_domain *domain = j->run.world.domain;
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    int count;
    if (asked->set) {
        if (*j->case_names || asked->envs || asked->seed || asked->clips)
            return wk_fail(err, WK_E_INPUT,
                           "--set fixes the environments and seeds: leave out --cases, --envs, "
                           "--seed, --video and --mp4");
        if (has_each(j) && (j->all_tasks || j->n_tasks != 1))
            return wk_fail(err, WK_E_INPUT,
                           "every task has its own fine-tuned weights: give one task with --task");
        WK_TRY(wk_theta_set_open(asked->set, domain, &j->set, err));
        count = j->n_sets = wk_theta_set_cases(&j->set, j->sets);
        memcpy(cases, j->sets, (size_t)count * sizeof *cases);
    } else {
        WK_TRY(wk_eval_cases(domain, wk_run_thetas_case(&j->thetas), j->case_names, j->envs, cases,
                             &count, err));
    }
    for (int i = 0; i < count; i++)
        j->per_task += (int64_t)cases[i].episodes * domain->episode_steps;
    return WK_OK;
}

/* ---- The answer ------------------------------------------------------------------------------ */

static wk_status count_step(void *context, const wk_eval_row *row, wk_error *err)
{
    job *j = context;
    (void)err;
    if (row->step > 0) j->played++;
    if (row->flags & WK_IS_LAST) j->played += j->run.world.domain->episode_steps - row->step;
    wk_progress_show(j->asked->progress, j->played, j->to_play, wk_clock_seconds());
    return WK_OK;
}

// Loads the weights of a step; of a task where each has its own.
static wk_status load(job *j, uint64_t step, int task, wk_error *err)
{
    const wk_weights_choice choice = {.kind = j->weights.source.kind,
                                      .step = (int64_t)step,
                                      .task = weights_of(j, task).task,
                                      .name = j->weights.source.name,
                                      .compact = true,
                                      .device = j->asked->device,
                                      .threads = j->asked->threads};
    return wk_saved_run_load(&j->run, &choice, err);
}

// The tasks of a step: those requested, or of all those that there are.
static wk_status list_tasks(job *j, uint64_t step, int tasks[WK_TASKS_MAX], int *count,
                            wk_error *err)
{
    const int *from = j->tasks;
    int n = j->n_tasks;
    if (!j->random && !has_each(j)) {
        WK_TRY(load(j, step, j->tasks[0], err));
        if (j->all_tasks) from = j->run.weights.tasks, n = j->run.weights.n_tasks;
    }
    *count = 0;
    for (int i = 0; i < n; i++) {
        uint64_t found;
        bool there = true;
        if (j->all_tasks && has_each(j))
            there = wk_weights_find(j->asked->run, weights_of(j, from[i]), (int64_t)step, &found,
                                    NULL) == WK_OK;
        if (j->all_tasks && j->random)
            there = wk_saved_run_playable(&j->run, from[i], NULL) == WK_OK;
        if (!there) continue;
        WK_TRY(wk_saved_run_playable(&j->run, from[i], err));
        tasks[(*count)++] = from[i];
    }
    return WK_OK;
}

static wk_status evaluate_tasks(job *j, wk_eval_result *result, wk_error *err)
{
    const wk_eval_question *asked = j->asked;
    uint64_t step = result->origin.step;
    bool set = j->n_sets > 0;

    // What is played; an earlier result that cannot be read would keep this one from its name.
    int tasks[WK_TASKS_MAX], count;
    WK_TRY(list_tasks(j, step, tasks, &count, err));
    j->to_play = (int64_t)j->weights.steps.count * count * j->per_task;
    wk_eval_setup setup = {.options = j->run.world.options,
                           .case_names = j->case_names,
                           .cases = j->sets,
                           .n_cases = j->n_sets,
                           .threads = asked->threads ? asked->threads : j->run.config.env_threads,
                           .log = asked->log,
                           .on_row = asked->progress ? count_step : NULL,
                           .context = j,
                           .keep_actions = asked->clips != 0};
    for (int i = 0; i < count; i++)
        WK_TRY(wk_eval_result_add(result, &setup, tasks[i], err));
    if (!set) WK_TRY(wk_eval_result_choose(result, j->results, err));

    // The episodes.
    for (int i = 0; i < count; i++) {
        int policy = 0;
        if (has_each(j)) WK_TRY(load(j, step, tasks[i], err));
        if (!j->random) WK_TRY(wk_saved_run_policy(&j->run, tasks[i], &policy, err));
        setup.learner = j->run.weights.learner;
        int64_t end = j->played + j->per_task; // also where cases do not fit, or were played before
        WK_TRY(wk_eval_result_play(result, &setup, i, policy, err));
        j->played = end;
    }

    // The files, then clips of their name. A frozen set's scores know the weights by their bytes.
    char sha256[WK_SHA256_CHARS] = "";
    const wk_benchmark_origin origin = {.program = asked->program,
                                        .set = &j->set,
                                        .options = j->run.world.options,
                                        .weights = j->random ? NULL : sha256};
    if (set && !j->random) WK_TRY(wk_sha256_file(j->run.weights.path, sha256, err));
    WK_TRY(set ? wk_benchmark_write(&origin, result, j->results, err)
               : wk_eval_result_write(result, j->results, err));
    for (int i = 0; i < count && asked->clips; i++) {
        if (has_each(j)) WK_TRY(load(j, step, tasks[i], err));
        setup.learner = j->run.weights.learner;
        WK_TRY(wk_video_write(result, &setup, &result->tasks[i], j->results, asked->clips, err));
    }
    const wk_eval_answer answer = {result, set ? &j->set : NULL, j->results};
    return asked->on_answer(asked->context, &answer, err);
}

static wk_status evaluate_step(job *j, uint64_t step, wk_error *err)
{
    const wk_run_config *config = &j->run.config;
    wk_eval_result result = {.origin = wk_evaluation_origin(config, j->run.world.domain, &j->thetas,
                                                            step, j->weights.title),
                             .envs = j->envs,
                             .seed = j->n_sets > 0    ? j->set.seed
                                     : j->asked->seed ? *j->asked->seed
                                                      : wk_evaluation_seed(config, step)};
    wk_status status = evaluate_tasks(j, &result, err);
    wk_eval_result_free(&result);
    return status;
}

static wk_status evaluate(job *j, wk_error *err)
{
    const wk_eval_question *asked = j->asked;
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = &asked->plugins, .log = asked->log};
    WK_TRY(wk_saved_run_open(asked->run, &options, &j->run, err));
    WK_TRY(choose_tasks(j, err));
    WK_TRY(wk_run_config_thetas(&j->run.config, j->run.world.domain, &j->thetas, err));
    WK_TRY(choose_policy(j, err));
    WK_TRY(choose_cases(j, err));
    WK_TRY(wk_eval_directory(&j->run, asked->out, &j->results, err));
    for (size_t i = 0; i < j->weights.steps.count; i++)
        WK_TRY(evaluate_step(j, j->weights.steps.items[i], err));
    return WK_OK;
}

wk_status wk_eval_run(const wk_eval_question *asked, wk_error *err)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return wk_fail(err, WK_E_MEMORY, "no memory for an evaluation");
    j->asked = asked;
    j->case_names = asked->cases ? asked->cases : "";
    j->envs = asked->envs ? asked->envs : 100;
    wk_status status = evaluate(j, err);
    wk_saved_run_close(&j->run);
    wk_theta_set_free(&j->set);
    wk_weights_answer_free(&j->weights);
    free(j);
    return status;
}
