// waker eval: how well the task policies of a run do: in environments like those of training, the
// worst of them, and out of distribution.
#include "base/array.h"
#include "base/clock.h"
#include "base/table.h"
#include "cli/cli.h"
#include "cli/results.h"
#include "config/parts.h"
#include "eval/benchmark.h"
#include "eval/video.h"
#include "media/animation.h"
#include "run/saved_run.h"
#include "train/evaluation.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval_values {
    const char *task, *snapshot, *policy, *name, *cases, *device, *plugin, *out, *set;
    int envs;
    wk_arg_seed seed;
    wk_arg_texts rewards;
    bool json, video, mp4;
} eval_values;

static const eval_values defaults = {.task = "all", .snapshot = "last", .cases = ""};

#define WK_VALUES eval_values
static const wk_arg args[] = {
    WK_OPT_TEXT("task", task, "TASK,...|all",
                "tasks to evaluate (default: all that have a policy)"),
    WK_SNAPSHOTS_ARG_ROW(WK_VALUES),
    WK_OPT_TEXT("policy", policy, "adapted|alongside|finetuned|random",
                "which policies (default: adapted if any, else alongside)"),
    WK_NAME_ARG_ROW(WK_VALUES, "use the adaptation or fine-tuning with this name"),
    WK_OPT_TEXT("cases", cases, "dr|train|CASE,...|all",
                "dr, train and out-of-distribution cases, listed by 'waker envs DOMAIN' (default: "
                "dr and the paper's cases; train for a run with curriculum.theta)"),
    WK_OPT_INT("envs", envs, "N", "environments of case dr, one episode each (default: 100)", 1,
               100000),
    WK_OPT_TEXT(
        "set", set, "robust-v1|FILE",
        "evaluate on a frozen set of environments instead of cases; results go to RUN/benchmark"),
    WK_SEED_ARG_ROW(WK_VALUES, "the environments and episodes",
                    "0; with eval.fresh, derived from the run and its step"),
    WK_DEVICE_ARG_ROW(WK_VALUES, device, "the run's"),
    WK_PLUGIN_ARG_ROWS(eval_values),
    WK_OPT_PATHS("reward", rewards, "FILE",
                 "plug-in of a reward that 'waker relabel' added; may be repeated"),
    WK_OPT_FLAG("video", video, "write GIFs of the best, median and worst episode of each case"),
    WK_OPT_FLAG("mp4", mp4, "write the same episodes as MP4 (H.264), which needs ffmpeg"),
    WK_OPT_PATH("out", out, "DIR",
                "write the results to DIR/eval instead of RUN/eval, together with RUN's settings, "
                "so that 'waker report DIR' can read them"),
    WK_OPT_FLAG("json", json, "print the contents of the result files as a JSON list"),
};

// What is evaluated.
typedef struct job {
    const eval_values *v;
    const char *directory;
    const char *results; // the directory whose folder eval gets the results
    int threads;
    wk_log log;
    wk_progress_line progress;
    int64_t played, to_play; // agent steps: episodes of a case end together
    int64_t per_task;        // agent steps of all cases, if no episode ends early
    wk_saved_run run;
    wk_run_thetas thetas;                  // that it was trained in
    wk_theta_set set;                      // that is played instead of cases; its name "": none
    wk_eval_case sets[WK_THETA_SET_PARTS]; // its parts
    int n_sets;
    int envs;
    const char *policy;               // which
    char title[WK_WEIGHTS_TITLE_MAX]; // the same with a name, for the results
    wk_weights_kind kind;             // of the weights; unused for random actions
    bool random, all_tasks;
    int tasks[WK_TASKS_MAX], n_tasks; // of the domain; all of it for all_tasks
    wk_steps steps;
    wk_text out; // what will be printed
    wk_json json;
} job;

static wk_status choose_tasks(job *j, wk_error *err)
{
    wk_run_config asked = j->run.config;
    if (wk_run_config_set(&asked, WK_RUN_tasks_INDEX, j->v->task, err) != WK_OK)
        return wk_fail_context(err, "--task");
    j->all_tasks = strcmp(asked.tasks, "all") == 0;
    WK_TRY(wk_run_config_tasks(&asked, j->run.world.domain, j->tasks, &j->n_tasks, err));
    for (int i = 0; i < j->n_tasks && !j->all_tasks; i++)
        WK_TRY(wk_saved_run_playable(&j->run, j->tasks[i], err));
    if (j->n_tasks > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "--task none: there is nothing to evaluate");
}

static const char *task_name(const job *j, int i)
{
    return j->run.world.domain->tasks[j->tasks[i]].name;
}

// The weights that are evaluated; each task has its own where they are fine-tuned.
static wk_weights_source weights_of(const job *j, int i)
{
    bool each = j->kind == WK_WEIGHTS_FINETUNED;
    return (wk_weights_source){j->kind, each ? task_name(j, i) : NULL, j->v->name};
}

// Formats of the clips that are written; 0: none.
static unsigned clips_of(const eval_values *v)
{
    return (v->video ? WK_VIDEO_GIF : 0U) | (v->mp4 ? WK_VIDEO_MP4 : 0U);
}

static wk_status check_video(const job *j, wk_error *err)
{
    const wk_domain *domain = j->run.world.domain;
    const char *option = j->v->video ? "--video" : "--mp4";
    if (!clips_of(j->v)) return WK_OK;
    if (j->random)
        return wk_fail(
            err, WK_E_INPUT,
            "%s shows what a policy's world model imagines; --policy random uses no world model",
            option);
    if (!domain->observation.no_image) return j->v->mp4 ? wk_animation_find_ffmpeg(err) : WK_OK;
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "%s: the world model of domain '%s' sees %d numbers and no images; 'waker "
                   "openloop' writes what it imagines as numbers",
                   option, domain->name, domain->observation.vector);
}

static wk_status choose_policy(job *j, wk_error *err)
{
    WK_TRY(wk_weights_check_name(j->v->name, err));
    // A name is looked for among adapted policies.
    j->policy = j->v->policy || !j->v->name ? j->v->policy : WK_POLICY_ADAPTED;
    WK_TRY(wk_saved_run_kind(&j->run, &j->policy, &j->kind, err));
    j->random = strcmp(j->policy, WK_POLICY_RANDOM) == 0;
    if (j->v->name && j->kind == WK_WEIGHTS_SNAPSHOT)
        return wk_fail(err, WK_E_INPUT,
                       "--name selects adapted or fine-tuned policies; --policy %s has no names",
                       j->policy);
    snprintf(j->title, sizeof j->title, "%s%s%s", j->policy, j->v->name ? "." : "",
             j->v->name ? j->v->name : "");
    return check_video(j, err);
}

// Steps there are weights of, rising, for any of the tasks where each task has its own.
static wk_status list_steps(job *j, wk_error *err)
{
    wk_steps *steps = &j->steps;
    for (int i = 0; i < (j->kind == WK_WEIGHTS_FINETUNED ? j->n_tasks : 1); i++)
        WK_TRY(wk_weights_steps(j->directory, weights_of(j, i), steps, err));
    if (steps->count == 0) return WK_OK;
    qsort(steps->items, steps->count, sizeof *steps->items, wk_compare_u64);
    size_t kept = 1;
    for (size_t i = 1; i < steps->count; i++)
        if (steps->items[kept - 1] != steps->items[i]) steps->items[kept++] = steps->items[i];
    steps->count = kept;
    return WK_OK;
}

static wk_status choose_step(job *j, uint64_t step, wk_error *err)
{
    j->steps.count = 0;
    return wk_array_push(&j->steps, step) ? WK_OK
                                          : wk_fail(err, WK_E_MEMORY, "no memory for a step");
}

// Which steps are evaluated; random actions have step 0, since they know of no training.
static wk_status choose_steps(job *j, wk_error *err)
{
    int64_t wanted = WK_STEP_LAST;
    bool all = strcmp(j->v->snapshot, "all") == 0;
    if (!all) WK_TRY(wk_snapshot_arg(j->v->snapshot, &wanted, err));
    if (j->random) {
        if (all || wanted != WK_STEP_LAST)
            return wk_fail(err, WK_E_INPUT,
                           "--policy random acts without weights: leave out --snapshot");
        return choose_step(j, 0, err);
    }
    WK_TRY(list_steps(j, err));
    size_t count = j->steps.count;
    if (all && count > 0) return WK_OK;
    if (wanted == WK_STEP_LAST && count > 0) return choose_step(j, j->steps.items[count - 1], err);
    uint64_t step;
    WK_TRY(wk_weights_find(j->directory, weights_of(j, 0), wanted, &step, err));
    return choose_step(j, step, err);
}

static wk_status count_step(void *context, const wk_eval_row *row, wk_error *err)
{
    job *j = context;
    (void)err;
    if (row->step > 0) j->played++;
    if (row->flags & WK_IS_LAST) j->played += j->run.world.domain->episode_steps - row->step;
    wk_progress_show(&j->progress, j->played, j->to_play, wk_clock_seconds());
    return WK_OK;
}

static wk_eval_setup setup_of(job *j)
{
    return (wk_eval_setup){.options = j->run.world.options,
                           .learner = j->run.weights.learner,
                           .case_names = j->v->cases,
                           .cases = j->sets,
                           .n_cases = j->n_sets,
                           .threads = j->threads ? j->threads : j->run.config.env_threads,
                           .log = &j->log,
                           .on_row = count_step,
                           .context = j,
                           .keep_actions = clips_of(j->v) != 0};
}

static wk_status add_task(job *j, int task, wk_eval_result *result, wk_error *err)
{
    int policy = 0;
    wk_eval_setup setup = setup_of(j);
    WK_TRY(wk_saved_run_playable(&j->run, task, err));
    if (!j->random) WK_TRY(wk_saved_run_policy(&j->run, task, &policy, err));
    int64_t end = j->played + j->per_task; // also where cases do not fit, or were played before
    WK_TRY(wk_eval_result_add(result, &setup, task, policy, err));
    j->played = end;
    if (!clips_of(j->v)) return WK_OK;
    return wk_video_write(result, &setup, &result->tasks[result->n_tasks - 1], j->results,
                          clips_of(j->v), err);
}

// Tasks of one file of weights: the i-th requested, or with i < 0 those the file has or all asked
// for.
static wk_status add_weights(job *j, uint64_t step, int i, wk_eval_result *result, wk_error *err)
{
    const wk_weights_choice choice = {.kind = j->kind,
                                      .step = (int64_t)step,
                                      .task = i >= 0 ? task_name(j, i) : NULL,
                                      .name = j->v->name,
                                      .compact = true,
                                      .device = j->v->device,
                                      .threads = j->threads};
    WK_TRY(wk_saved_run_load(&j->run, &choice, err));
    if (i >= 0) return add_task(j, j->tasks[i], result, err);
    const int *tasks = j->all_tasks ? j->run.weights.tasks : j->tasks;
    int count = j->all_tasks ? j->run.weights.n_tasks : j->n_tasks;
    j->to_play = (int64_t)j->steps.count * count * j->per_task;
    for (int k = 0; k < count; k++)
        WK_TRY(add_task(j, tasks[k], result, err));
    return WK_OK;
}

static wk_status add_finetuned(job *j, uint64_t step, wk_eval_result *result, wk_error *err)
{
    for (int i = 0; i < j->n_tasks; i++) {
        uint64_t found;
        bool there =
            wk_weights_find(j->directory, weights_of(j, i), (int64_t)step, &found, NULL) == WK_OK;
        // Of all tasks those that were fine-tuned; a task requested by name has to be there.
        if (there || !j->all_tasks) WK_TRY(add_weights(j, step, i, result, err));
    }
    return WK_OK;
}

static wk_status add_all(job *j, uint64_t step, wk_eval_result *result, wk_error *err)
{
    if (j->kind == WK_WEIGHTS_FINETUNED) return add_finetuned(j, step, result, err);
    if (!j->random) return add_weights(j, step, -1, result, err);
    // Of all tasks those that can be played; one requested by name has to be.
    for (int i = 0; i < j->n_tasks; i++)
        if (!j->all_tasks || wk_saved_run_playable(&j->run, j->tasks[i], NULL) == WK_OK)
            WK_TRY(add_task(j, j->tasks[i], result, err));
    return WK_OK;
}

static void print_number(wk_table *table, double value)
{
    if (isnan(value))
        wk_table_cell(table, "%s", "");
    else
        wk_table_cell(table, "%.4g", value);
}

static void print_case(wk_table *table, const wk_domain *domain, const wk_task_result *t, int set)
{
    const wk_case_result *c = &t->cases[set];
    const wk_task *task = &domain->tasks[t->task];
    const wk_score *s = task->has_completion ? &c->completion_score : &c->return_score;
    wk_table_cell(table, "%s", set == 0 ? task->name : "");
    wk_table_cell(table, "%s", c->eval_case.name);
    wk_table_cell(table, "%d", c->eval_case.episodes);
    wk_table_cell(table, "%s", wk_eval_score_name(domain, t->task));
    wk_table_cell(table, "%.5g", s->mean);
    wk_table_cell(table, "%.4g", s->sd);
    wk_table_cell(table, "%.5g", s->cvar[WK_SCORE_TENTH]);
    wk_table_cell(table, "%.5g", s->min);
    wk_table_cell(table, "%.5g", s->max);
    wk_table_cell(table, "%d", c->diverged);
    for (int m = 0; m < WK_CASE_METRICS; m++)
        print_number(table, wk_case_metric_mean(c, &wk_case_metrics[m]));
}

// The alignment of columns that begin as `first` says and go on with `numbers` columns of numbers.
static void align_columns(const char *first, size_t numbers, char *align)
{
    size_t length = strlen(first);
    memcpy(align, first, length);
    memset(align + length, 'r', numbers);
    align[length + numbers] = 0;
}

// Where the policies went and what they touched, in a table of their own.
static void print_indicators(const wk_eval_result *r, wk_text *out)
{
    const wk_domain *domain = r->origin.domain;
    char align[sizeof "ll" + WK_INDICATORS_MAX];
    align_columns("ll", WK_INDICATORS_MAX, align);
    wk_table table = {.columns = 2 + (size_t)domain->n_indicators, .align = align};
    if (domain->n_indicators == 0) return;
    wk_table_cell(&table, "%s", "task");
    wk_table_cell(&table, "%s", "case");
    for (int k = 0; k < domain->n_indicators; k++)
        wk_table_cell(&table, "%s", domain->indicators[k].name);
    for (int i = 0; i < r->n_tasks; i++)
        for (int set = 0; set < r->tasks[i].n_cases; set++) {
            const wk_case_result *c = &r->tasks[i].cases[set];
            wk_table_cell(&table, "%s", set == 0 ? domain->tasks[r->tasks[i].task].name : "");
            wk_table_cell(&table, "%s", c->eval_case.name);
            for (int k = 0; k < domain->n_indicators; k++)
                print_number(&table, c->indicators[k]);
        }
    wk_text_puts(out, "\n");
    wk_table_finish(&table, 0, out);
}

// Where the file of a task is.
static void print_benchmark(const job *j, const wk_eval_result *r, const wk_task_result *t,
                            wk_text *out)
{
    char path[WK_PATH_MAX];
    wk_benchmark_path(&(wk_benchmark_origin){.set = &j->set}, r, t->task, path);
    wk_text_printf(out, "written to %s/%s\n", j->results, path);
}

static void print_text(const job *j, const wk_eval_result *r, wk_text *out)
{
    static const char scores[] = "llrlrrrrrr";
    char align[sizeof scores + WK_CASE_METRICS];
    wk_table table = {0};
    wk_table_begin(&table, scores, "task", "case", "episodes", "score", "mean", "s.d.", "CVaR 0.1",
                   "min", "max", "diverged");
    align_columns(scores, WK_CASE_METRICS, align);
    table.align = align;
    table.columns += WK_CASE_METRICS;
    for (int m = 0; m < WK_CASE_METRICS; m++)
        wk_table_cell(&table, "%s", wk_case_metrics[m].heading);
    for (int i = 0; i < r->n_tasks; i++)
        for (int k = 0; k < r->tasks[i].n_cases; k++)
            print_case(&table, r->origin.domain, &r->tasks[i], k);
    wk_text_printf(out,
                   "%s, %s, %s policies of agent step %" PRIu64 " (control step %" PRIu64
                   "), seed %" PRIu64 "\n",
                   j->directory, r->origin.domain->name, r->origin.policy, r->origin.step,
                   r->origin.step * (uint64_t)r->origin.domain->action_repeat, r->seed);
    wk_table_print(&table, 0, out);
    print_indicators(r, out);
    for (int i = 0; i < r->n_tasks && j->n_sets > 0; i++)
        print_benchmark(j, r, &r->tasks[i], out);
    if (j->n_sets == 0) wk_text_printf(out, "written to %s/eval/%s.json\n", j->results, r->name);
    wk_table_free(&table);
}

// The weights are known by their bytes; fine-tuned ones have a file for each task.
static wk_status write_benchmark(const job *j, const wk_eval_result *result, wk_error *err)
{
    char sha256[WK_SHA256_CHARS];
    if (!j->random) WK_TRY(wk_sha256_file(j->run.weights.path, sha256, err));
    const wk_benchmark_origin origin = {.program = "waker " WAKER_VERSION,
                                        .set = &j->set,
                                        .options = j->run.world.options,
                                        .weights = j->random ? NULL : sha256};
    return wk_benchmark_write(&origin, result, j->results, err);
}

// A set brings its own environments, seeds and numbers.
static wk_status open_set(job *j, wk_error *err)
{
    const eval_values *v = j->v;
    j->envs = v->envs ? v->envs : 100;
    if (!v->set) return WK_OK;
    if (*v->cases || v->envs || v->seed.given || clips_of(v))
        return wk_fail(err, WK_E_INPUT,
                       "--set fixes the environments and seeds: leave out --cases, --envs, --seed, "
                       "--video and --mp4");
    if (j->kind == WK_WEIGHTS_FINETUNED && !j->random && (j->all_tasks || j->n_tasks != 1))
        return wk_fail(err, WK_E_INPUT,
                       "every task has its own fine-tuned weights: give one task with --task");
    WK_TRY(wk_theta_set_open(v->set, j->run.world.domain, &j->set, err));
    j->n_sets = wk_theta_set_cases(&j->set, j->sets);
    return WK_OK;
}

static wk_status evaluate_step(job *j, uint64_t step, wk_error *err)
{
    uint64_t seed = j->n_sets > 0      ? j->set.seed
                    : j->v->seed.given ? j->v->seed.value
                                       : wk_evaluation_seed(&j->run.config, step);
    wk_eval_result result = {.origin = wk_evaluation_origin(&j->run.config, j->run.world.domain,
                                                            &j->thetas, step, j->title),
                             .envs = j->envs,
                             .seed = seed};
    wk_status status = add_all(j, step, &result, err);
    if (status == WK_OK)
        status = j->n_sets > 0 ? write_benchmark(j, &result, err)
                               : wk_eval_result_write(&result, j->results, err);
    if (status == WK_OK && j->v->json)
        wk_eval_result_json(&result, &j->json);
    else if (status == WK_OK)
        print_text(j, &result, &j->out);
    wk_eval_result_free(&result);
    return status;
}

static wk_status evaluate(job *j, wk_error *err)
{
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    int n_cases;
    const wk_named_plugins named = {
        .domain = j->v->plugin, .rewards = j->v->rewards.items, .n_rewards = j->v->rewards.count};
    const wk_saved_run_options options = {
        .depth = WK_SAVED_WORLD, .plugins = &named, .log = &j->log};
    WK_TRY(wk_saved_run_open(j->directory, &options, &j->run, err));
    // Everything that can be wrong with the question comes before the first episode.
    WK_TRY(choose_tasks(j, err));
    WK_TRY(wk_run_config_thetas(&j->run.config, j->run.world.domain, &j->thetas, err));
    WK_TRY(wk_eval_cases(j->run.world.domain, wk_run_thetas_case(&j->thetas), j->v->cases,
                         j->v->envs ? j->v->envs : 100, cases, &n_cases, err));
    WK_TRY(choose_policy(j, err));
    WK_TRY(open_set(j, err));
    WK_TRY(choose_steps(j, err));
    WK_TRY(wk_cli_results_directory(&j->run, j->v->out, &j->results, err));
    const wk_eval_case *played = j->n_sets > 0 ? j->sets : cases;
    for (int i = 0; i < (j->n_sets > 0 ? j->n_sets : n_cases); i++)
        j->per_task += (int64_t)played[i].episodes * j->run.world.domain->episode_steps;
    j->to_play = (int64_t)j->steps.count * j->n_tasks * j->per_task;
    if (j->v->json) wk_json_array(&j->json, NULL);
    for (size_t i = 0; i < j->steps.count; i++)
        WK_TRY(evaluate_step(j, j->steps.items[i], err));
    if (j->v->json) wk_json_close(&j->json, ']');
    return WK_OK;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return wk_fail(err, WK_E_MEMORY, "no memory for an evaluation");
    j->v = values;
    j->directory = cli->words.items[0];
    j->threads = cli->threads;
    j->json.text = &j->out;
    j->log = wk_cli_progress(cli, "agent steps", &j->progress);
    wk_status status = evaluate(j, err);
    wk_progress_finish(&j->progress);
    wk_saved_run_close(&j->run);
    wk_theta_set_free(&j->set);
    wk_text out = j->out;
    wk_array_free(&j->steps);
    free(j);
    return wk_cli_print_if(status, &out, err);
}

const wk_command wk_command_eval = {
    .name = "eval",
    .summary = "Evaluate the task policies of a run: mean, worst cases, out of distribution",
    .usage =
        "eval RUN [--task TASK,...|all] [--snapshot STEP|all|last] [--policy KIND] [--name NAME]\n"
        "eval RUN [--cases CASE,...] [--envs N] [--seed N] [--video] [--mp4] [--out DIR] [--json]\n"
        "eval RUN --set robust-v1|FILE [--task TASK,...|all] [--policy KIND] [--out DIR]",
    .details =
        "Plays one episode in each of 100 environments of the default distribution (case dr) and\n"
        "in the domain's out-of-distribution cases. CVaR 0.1 is the mean of the worst tenth.\n"
        "Column 'promised' is the value that the critic predicted at the start of the episode,\n"
        "'discounted' the discounted return that followed: where a policy exploits errors of the\n"
        "model, the first is far above the second.\n"
        "'reward error' is the error of the reward head along the episodes, on frames that the\n"
        "model has observed. 'open-loop image' and 'open-loop reward' are the errors of what the\n"
        "model imagines from the actions alone, up to 45 steps ahead, along these episodes.\n"
        "The second table has the domain's indicators: where the policies went and what they\n"
        "touched ('waker envs DOMAIN' describes its columns).\n"
        "Scores and all episodes are written to RUN/eval/POLICY-STEP.json and .csv. The same\n"
        "weights, seed and cases give the same bytes, with any number of threads.\n"
        "--set evaluates on a frozen set of environments, in and out of distribution, and writes\n"
        "RUN/benchmark/SET-POLICY-STEP-TASK.json: CVaR for every worst fraction with confidence\n"
        "bands, and everything needed to compare it with other programs.\n",
    .examples = "eval runs/a --task walk\n"
                "eval runs/a --snapshot all --cases dr --json",
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
