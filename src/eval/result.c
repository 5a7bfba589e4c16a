#include "eval/result.h"

#include "waker/stats.h"
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const double wk_score_fractions[WK_SCORE_FRACTIONS] = {0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5};

#define MEAN(field) offsetof(wk_case_result, field)
#define BOTH(field) MEAN(calibration.field), offsetof(wk_eval_episode, calibration.field)
// What the learner predicted next to what happened; then the open-loop error, whose curves are in
// JSON only (json_open_loop).
const wk_case_metric wk_case_metrics[WK_CASE_METRICS] = {
    {"promised_value", "promised", BOTH(value), "promised_values"},
    {"discounted_return", "discounted", BOTH(discounted), "discounted_returns"},
    {"reward_error", "reward error", BOTH(reward_error), NULL},
    {"open_loop_image_error", "open-loop image", MEAN(open_loop.mean_image), 0, NULL},
    {"open_loop_reward_error", "open-loop reward", MEAN(open_loop.mean_reward), 0, NULL},
};

double wk_episode_metric(const wk_eval_episode *episode, const wk_case_metric *metric)
{
    const void *at = (const char *)episode + metric->episode;
    return *(const double *)at;
}

double wk_case_metric_mean(const wk_case_result *result, const wk_case_metric *metric)
{
    const void *at = (const char *)result + metric->mean;
    return *(const double *)at;
}

wk_status wk_score_compute(const double *values, int count, wk_score *out, wk_error *err)
{
    size_t n = (size_t)count;
    *out = (wk_score){.mean = wk_stats_mean(values, n), .sd = wk_stats_sd(values, n)};
    out->min = out->max = values[0];
    for (size_t i = 1; i < n; i++) {
        if (values[i] < out->min) out->min = values[i];
        if (values[i] > out->max) out->max = values[i];
    }
    for (int i = 0; i < WK_SCORE_FRACTIONS; i++)
        WK_TRY(wk_stats_cvar(values, n, wk_score_fractions[i], WK_WORST_LOW, &out->cvar[i], err));
    return WK_OK;
}

const char *wk_eval_score_name(const wk_domain *domain, int task)
{
    return domain->tasks[task].has_completion ? "completion" : "return";
}

// The cases that have environments of the task, in the order they were requested.
static wk_status choose_cases(const wk_eval_result *r, const wk_eval_setup *setup,
                              wk_task_result *t, wk_eval_case *fitting, wk_error *err)
{
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    int count = setup->n_cases;
    const char *names = count > 0 ? "of the set" : setup->case_names;
    if (count > 0)
        memcpy(cases, setup->cases, (size_t)count * sizeof *cases);
    else
        WK_TRY(
            wk_eval_cases(r->origin.domain, r->origin.train, names, r->envs, cases, &count, err));
    for (int i = 0; i < count; i++)
        if (wk_eval_case_fits(r->origin.domain, t->task, &cases[i]))
            fitting[t->n_cases++] = cases[i];
    if (t->n_cases > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "none of the cases '%s' has worlds of task '%s'", names,
                   r->origin.domain->tasks[t->task].name);
}

// Memory for the episodes and their numbers, split into cases.
static wk_status make_room(wk_task_result *t, const wk_eval_case *cases, wk_error *err)
{
    size_t count = 0;
    for (int i = 0; i < t->n_cases; i++)
        count += (size_t)cases[i].episodes;
    t->episodes = calloc(count, sizeof *t->episodes);
    t->numbers = calloc(3 * count, sizeof *t->numbers);
    if (!t->episodes || !t->numbers)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu episodes", count);
    wk_eval_episode *episodes = t->episodes;
    double *numbers = t->numbers;
    for (int i = 0; i < t->n_cases; i++) {
        size_t n = (size_t)cases[i].episodes;
        t->cases[i] = (wk_case_result){.eval_case = cases[i],
                                       .episodes = episodes,
                                       .returns = numbers,
                                       .completions = numbers + n,
                                       .lengths = numbers + 2 * n,
                                       .open_loop = {.mean_image = NAN, .mean_reward = NAN}};
        episodes += n;
        numbers += 3 * n;
    }
    return WK_OK;
}

static double mean_indicator(const wk_case_result *c, int k)
{
    double sum = 0, known = 0;
    for (int i = 0; i < c->eval_case.episodes; i++) {
        double value = c->episodes[i].indicators[k];
        sum += isnan(value) ? 0 : value;
        known += !isnan(value);
    }
    return known > 0 ? sum / known : NAN;
}

static void average_metrics(wk_case_result *c)
{
    for (const wk_case_metric *m = wk_case_metrics; m < wk_case_metrics + WK_CASE_METRICS; m++) {
        void *at = (char *)c + m->mean;
        for (int i = 0; i < c->eval_case.episodes && m->episode; i++)
            *(double *)at += wk_episode_metric(&c->episodes[i], m) / c->eval_case.episodes;
    }
}

static wk_status score(wk_case_result *c, int task, wk_error *err)
{
    int count = c->eval_case.episodes;
    for (int i = 0; i < count; i++) {
        const wk_eval_episode *e = &c->episodes[i];
        c->returns[i] = e->returns[task];
        c->completions[i] = (double)e->completion[task];
        c->lengths[i] = e->steps;
        c->diverged += e->diverged;
    }
    average_metrics(c);
    for (int k = 0; k < WK_INDICATORS_MAX; k++)
        c->indicators[k] = mean_indicator(c, k);
    WK_TRY(wk_score_compute(c->returns, count, &c->return_score, err));
    WK_TRY(wk_score_compute(c->completions, count, &c->completion_score, err));
    return wk_score_compute(c->lengths, count, &c->length_score, err);
}

// Random actions go through the same episodes for every task of the same environments.
static const wk_task_result *already_played(const wk_eval_result *r, const wk_eval_setup *setup,
                                            int task)
{
    for (int i = 0; i < r->n_tasks && !setup->learner; i++)
        if (wk_eval_part(r->origin.domain, r->tasks[i].task) ==
            wk_eval_part(r->origin.domain, task))
            return &r->tasks[i];
    return NULL;
}

static size_t count_episodes(const wk_task_result *t)
{
    const wk_case_result *last = &t->cases[t->n_cases - 1];
    return (size_t)(last->episodes + last->eval_case.episodes - t->episodes);
}

static wk_eval_config config_of(const wk_eval_result *r, const wk_eval_setup *setup,
                                const wk_task_result *t, const wk_eval_case *cases)
{
    return (wk_eval_config){.domain = r->origin.domain,
                            .options = setup->options,
                            .task = t->task,
                            .learner = setup->learner,
                            .mode = WK_ACT_MODE,
                            .cases = cases,
                            .n_cases = t->n_cases,
                            .seed = r->seed,
                            .threads = setup->threads,
                            .on_row = setup->on_row,
                            .context = setup->context,
                            .actions = t->actions};
}

// Numbers of all actions of an episode.
static size_t action_floats(const wk_domain *domain)
{
    return (size_t)domain->episode_steps * (size_t)domain->action_size;
}

// A row goes to the open-loop errors, then to the callback of the setup.
typedef struct rows {
    wk_open_loop_errors *errors;
    const wk_eval_setup *setup;
} rows;

static wk_status add_row(void *context, const wk_eval_row *row, wk_error *err)
{
    const rows *w = context;
    WK_TRY(wk_open_loop_errors_add(w->errors, row, err));
    return w->setup->on_row ? w->setup->on_row(w->setup->context, row, err) : WK_OK;
}

// Plays the episodes and judges what the model imagines along them.
static wk_status play_with_open_loop(wk_eval_config config, const wk_eval_setup *setup,
                                     wk_task_result *t, wk_error *err)
{
    rows w = {.setup = setup};
    WK_TRY(wk_open_loop_errors_create(config.learner, config.domain, config.policy, t->task,
                                      t->n_cases, &w.errors, err));
    config.on_row = add_row;
    config.context = &w;
    wk_status status = wk_evaluate(&config, t->episodes, err);
    for (int i = 0; i < t->n_cases && status == WK_OK; i++)
        t->cases[i].open_loop = wk_open_loop_errors_curve(w.errors, i);
    wk_open_loop_errors_destroy(w.errors);
    return status;
}

static wk_status play(const wk_eval_result *r, const wk_eval_setup *setup, int policy,
                      wk_task_result *t, wk_error *err)
{
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    WK_TRY(choose_cases(r, setup, t, cases, err));
    WK_TRY(make_room(t, cases, err));
    const wk_task_result *same = already_played(r, setup, t->task);
    if (same) {
        memcpy(t->episodes, same->episodes, count_episodes(t) * sizeof *t->episodes);
        return WK_OK;
    }
    if (setup->keep_actions) {
        t->actions = calloc(count_episodes(t) * action_floats(r->origin.domain), sizeof(float));
        if (!t->actions) return wk_fail(err, WK_E_MEMORY, "no memory for the actions of episodes");
    }
    wk_eval_config config = config_of(r, setup, t, cases);
    config.policy = policy;
    return config.learner && policy >= 0 ? play_with_open_loop(config, setup, t, err)
                                         : wk_evaluate(&config, t->episodes, err);
}

wk_status wk_eval_result_replay(const wk_eval_result *r, const wk_eval_setup *setup,
                                const wk_task_result *t, int case_index, int episode, wk_error *err)
{
    assert(t->actions);
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    for (int i = 0; i < t->n_cases; i++)
        cases[i] = t->cases[i].eval_case;
    wk_eval_config config = config_of(r, setup, t, cases);
    const wk_eval_episode *played = &t->cases[case_index].episodes[episode];
    size_t number = (size_t)(played - t->episodes);
    return wk_eval_replay(&config, case_index, episode, played,
                          t->actions + number * action_floats(r->origin.domain), err);
}

static void log_scores(const wk_log *log, const wk_domain *domain, const wk_task_result *t)
{
    const wk_task *task = &domain->tasks[t->task];
    for (int i = 0; i < t->n_cases; i++) {
        const wk_case_result *c = &t->cases[i];
        const wk_score *s = task->has_completion ? &c->completion_score : &c->return_score;
        wk_log_line(log, WK_LOG_INFO, "%s, %s: mean %s %.4g in %d episode%s", task->name,
                    c->eval_case.name, wk_eval_score_name(domain, t->task), s->mean,
                    c->eval_case.episodes, wk_plural((uint64_t)c->eval_case.episodes));
        if (c->diverged > 0)
            wk_log_line(
                log, WK_LOG_WARN,
                "%s, %s: the simulation broke down in %d of %d episode%s, scored up to there",
                task->name, c->eval_case.name, c->diverged, c->eval_case.episodes,
                wk_plural((uint64_t)c->eval_case.episodes));
    }
}

static void free_task(wk_task_result *t)
{
    free(t->episodes);
    free(t->numbers);
    free(t->actions);
}

wk_status wk_eval_result_add(wk_eval_result *r, const wk_eval_setup *setup, int task, int policy,
                             wk_error *err)
{
    wk_task_result *grown = realloc(r->tasks, (size_t)(r->n_tasks + 1) * sizeof *grown);
    if (!grown) return wk_fail(err, WK_E_MEMORY, "no memory for the results of a task");
    r->tasks = grown;
    wk_task_result *t = &r->tasks[r->n_tasks];
    *t = (wk_task_result){.task = task};
    wk_status status = play(r, setup, policy, t, err);
    for (int i = 0; i < t->n_cases && status == WK_OK; i++)
        status = score(&t->cases[i], task, err);
    if (status != WK_OK) {
        free_task(t);
        return status;
    }
    r->n_tasks++;
    log_scores(setup->log, r->origin.domain, t);
    return WK_OK;
}

void wk_eval_result_free(wk_eval_result *r)
{
    for (int i = 0; i < r->n_tasks; i++)
        free_task(&r->tasks[i]);
    free(r->tasks);
    r->tasks = NULL;
    r->n_tasks = 0;
}
