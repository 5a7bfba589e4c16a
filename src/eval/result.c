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

wk_status wk_eval_result_add(wk_eval_result *r, const wk_eval_setup *setup, int task, wk_error *err)
{
    // The cases that have environments of the task, in the order they were requested.
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    const wk_domain *domain = r->origin.domain;
    int n_cases = 0, requested = setup->n_cases;
    const char *names = requested > 0 ? "of the set" : setup->case_names;
    if (requested > 0)
        memcpy(cases, setup->cases, (size_t)requested * sizeof *cases);
    else
        WK_TRY(wk_eval_cases(domain, r->origin.train, names, r->envs, cases, &requested, err));
    size_t count = 0;
    for (int i = 0; i < requested; i++)
        if (wk_eval_case_fits(domain, task, &cases[i])) {
            cases[n_cases++] = cases[i];
            count += (size_t)cases[i].episodes;
        }
    if (n_cases == 0)
        return wk_fail(err, WK_E_INPUT, "none of the cases '%s' has worlds of task '%s'", names,
                       domain->tasks[task].name);

    // Memory for their episodes and numbers.
    wk_task_result *grown = realloc(r->tasks, (size_t)(r->n_tasks + 1) * sizeof *grown);
    if (!grown) return wk_fail(err, WK_E_MEMORY, "no memory for the results of a task");
    r->tasks = grown;
    wk_task_result *t = &r->tasks[r->n_tasks++];
    *t = (wk_task_result){.task = task, .n_cases = n_cases};
    t->episodes = calloc(count, sizeof *t->episodes);
    t->numbers = calloc(3 * count, sizeof *t->numbers);
    if (!t->episodes || !t->numbers)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu episodes", count);
    wk_eval_episode *episodes = t->episodes;
    double *numbers = t->numbers;
    for (int i = 0; i < n_cases; i++) {
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

static size_t count_episodes(const wk_task_result *t)
{
    const wk_case_result *last = &t->cases[t->n_cases - 1];
    return (size_t)(last->episodes + last->eval_case.episodes - t->episodes);
}

// Numbers of all actions of an episode.
static size_t action_floats(const wk_domain *domain)
{
    return (size_t)domain->episode_steps * (size_t)domain->action_size;
}

// What is played; the cases go into `cases`.
static wk_eval_config config_of(const wk_eval_result *r, const wk_eval_setup *setup,
                                const wk_task_result *t, wk_eval_case *cases)
{
    for (int i = 0; i < t->n_cases; i++)
        cases[i] = t->cases[i].eval_case;
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

// Plays the episodes of task number `i`; those of a policy are judged by what its model imagines
// along them.
static wk_status play(const wk_eval_result *r, const wk_eval_setup *setup, int i, int policy,
                      wk_error *err)
{
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    const wk_domain *domain = r->origin.domain;
    wk_task_result *t = &r->tasks[i];
    // Random actions go through the same episodes for every task of the same environments.
    for (int k = 0; k < i && !setup->learner; k++)
        if (wk_eval_part(domain, r->tasks[k].task) == wk_eval_part(domain, t->task)) {
            memcpy(t->episodes, r->tasks[k].episodes, count_episodes(t) * sizeof *t->episodes);
            return WK_OK;
        }
    if (setup->keep_actions) {
        t->actions = calloc(count_episodes(t) * action_floats(domain), sizeof(float));
        if (!t->actions) return wk_fail(err, WK_E_MEMORY, "no memory for the actions of episodes");
    }
    wk_eval_config config = config_of(r, setup, t, cases);
    config.policy = policy;
    if (!config.learner || policy < 0) return wk_evaluate(&config, t->episodes, err);
    rows w = {.setup = setup};
    WK_TRY(wk_open_loop_errors_create(config.learner, domain, policy, t->task, &w.errors, err));
    config.on_row = add_row;
    config.context = &w;
    wk_status status = wk_evaluate(&config, t->episodes, err);
    for (int k = 0; k < t->n_cases && status == WK_OK; k++)
        t->cases[k].open_loop = wk_open_loop_errors_curve(w.errors, k);
    wk_open_loop_errors_destroy(w.errors);
    return status;
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
    for (const wk_case_metric *m = wk_case_metrics; m < wk_case_metrics + WK_CASE_METRICS; m++) {
        void *at = (char *)c + m->mean;
        for (int i = 0; i < count && m->episode; i++)
            *(double *)at += wk_episode_metric(&c->episodes[i], m) / count;
    }
    for (int k = 0; k < WK_INDICATORS_MAX; k++) {
        double sum = 0, known = 0;
        for (int i = 0; i < count; i++) {
            double value = c->episodes[i].indicators[k];
            sum += isnan(value) ? 0 : value;
            known += !isnan(value);
        }
        c->indicators[k] = known > 0 ? sum / known : NAN;
    }
    WK_TRY(wk_score_compute(c->returns, count, &c->return_score, err));
    WK_TRY(wk_score_compute(c->completions, count, &c->completion_score, err));
    return wk_score_compute(c->lengths, count, &c->length_score, err);
}

wk_status wk_eval_result_play(wk_eval_result *r, const wk_eval_setup *setup, int i, int policy,
                              wk_error *err)
{
    const wk_domain *domain = r->origin.domain;
    wk_task_result *t = &r->tasks[i];
    const wk_task *task = &domain->tasks[t->task];
    WK_TRY(play(r, setup, i, policy, err));
    for (int k = 0; k < t->n_cases; k++)
        WK_TRY(score(&t->cases[k], t->task, err));
    for (int k = 0; k < t->n_cases; k++) {
        const wk_case_result *c = &t->cases[k];
        const wk_score *s = task->has_completion ? &c->completion_score : &c->return_score;
        int episodes = c->eval_case.episodes;
        const char *plural = wk_plural((uint64_t)episodes);
        wk_log_line(setup->log, WK_LOG_INFO, "%s, %s: mean %s %.4g in %d episode%s", task->name,
                    c->eval_case.name, wk_eval_score_name(domain, t->task), s->mean, episodes,
                    plural);
        if (c->diverged > 0)
            wk_log_line(
                setup->log, WK_LOG_WARN,
                "%s, %s: the simulation broke down in %d of %d episode%s, scored up to there",
                task->name, c->eval_case.name, c->diverged, episodes, plural);
    }
    return WK_OK;
}

wk_status wk_eval_result_replay(const wk_eval_result *r, const wk_eval_setup *setup,
                                const wk_task_result *t, int case_index, int episode, wk_error *err)
{
    assert(t->actions);
    wk_eval_case cases[WK_EVAL_CASES_MAX];
    wk_eval_config config = config_of(r, setup, t, cases);
    const wk_eval_episode *played = &t->cases[case_index].episodes[episode];
    size_t number = (size_t)(played - t->episodes);
    return wk_eval_replay(&config, case_index, episode, played,
                          t->actions + number * action_floats(r->origin.domain), err);
}

void wk_eval_result_free(wk_eval_result *r)
{
    for (int i = 0; i < r->n_tasks; i++) {
        free(r->tasks[i].episodes);
        free(r->tasks[i].numbers);
        free(r->tasks[i].actions);
    }
    free(r->tasks);
    r->tasks = NULL;
    r->n_tasks = 0;
}
