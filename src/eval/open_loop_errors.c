#include "eval/open_loop.h"

#include "agent/prediction.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum {
    EPISODES = WK_OPEN_LOOP_ERRORS_EPISODES,
    STEPS = WK_OPEN_LOOP_ERRORS_STEPS,
    CONTEXT = WK_OPEN_LOOP_ERRORS_CONTEXT,
    ROWS = (CONTEXT + STEPS) * EPISODES,
};

// What one case has shown since the model last saw frames, and its errors so far.
typedef struct window {
    wk_sequences shown;                               // empty: nothing yet
    float rewards[ROWS];                              // [T,EPISODES]
    int rows[EPISODES];                               // of each episode in the window
    bool ended[EPISODES];                             // the episode is over
    int members;                                      // episodes that began
    int waiting;                                      // of them, those whose rows are still to come
    double image[STEPS], reward[STEPS], count[STEPS]; // sums, by how far ahead
} window;

struct wk_open_loop_errors {
    const wk_domain *domain;
    wk_prediction *prediction;
    int policy, task, length, context;
    window windows[WK_EVAL_CASES_MAX];
    float error[ROWS], imagined[WK_TASKS_MAX * ROWS]; // [T,EPISODES], [tasks,T,EPISODES]
};

wk_status wk_open_loop_errors_create(wk_learner *learner, const wk_domain *domain, int policy,
                                     int task, wk_open_loop_errors **out, wk_error *err)
{
    int rows = domain->episode_steps + 1, whole = CONTEXT + STEPS;
    assert(wk_learner_get_config(learner)->tasks <= WK_TASKS_MAX);
    wk_open_loop_errors *e = calloc(1, sizeof *e);
    if (!e) return wk_fail(err, WK_E_MEMORY, "no memory for errors of imagination");
    e->domain = domain;
    e->policy = policy;
    e->task = task;
    e->length = rows < whole ? rows : whole;
    e->context = CONTEXT < e->length ? CONTEXT : e->length - 1;
    wk_status status =
        wk_prediction_create_errors(learner, EPISODES, e->length, e->context, &e->prediction, err);
    if (status == WK_OK)
        *out = e;
    else
        wk_open_loop_errors_destroy(e);
    return status;
}

void wk_open_loop_errors_destroy(wk_open_loop_errors *e)
{
    if (!e) return;
    for (int i = 0; i < WK_EVAL_CASES_MAX; i++)
        wk_sequences_free(&e->windows[i].shown);
    wk_prediction_destroy(e->prediction);
    free(e);
}

// Imagines the rows of a window, adds the errors of its members, and begins the next one.
static wk_status predict_window(wk_open_loop_errors *e, window *w, wk_error *err)
{
    const wk_learner_batch batch = wk_sequences_batch(&w->shown);
    const wk_predicted out = {.open_loop_error = e->error, .open_loop_rewards = e->imagined};
    const float *rewards = e->imagined + (size_t)e->policy * (size_t)e->length * EPISODES;
    WK_TRY(wk_prediction_run(e->prediction, &batch, &out, err));
    for (int b = 0; b < w->members; b++) {
        for (int t = e->context; t < w->rows[b]; t++) {
            int ahead = t - e->context, at = t * EPISODES + b;
            w->image[ahead] += (double)e->error[at];
            w->reward[ahead] += fabs((double)rewards[at] - (double)w->rewards[at]);
            w->count[ahead]++;
        }
        w->rows[b] = 0;
        w->waiting += !w->ended[b];
    }
    if (w->waiting == 0) wk_sequences_free(&w->shown);
    return WK_OK;
}

wk_status wk_open_loop_errors_add(wk_open_loop_errors *e, const wk_eval_row *row, wk_error *err)
{
    int b = row->episode, t = row->step % e->length;
    if (b >= EPISODES) return WK_OK;
    window *w = &e->windows[row->case_index];
    if (!w->shown.actions)
        WK_TRY(wk_sequences_create(e->domain->observation, e->domain->action_size, EPISODES,
                                   e->length, &w->shown, err));
    if (row->step == 0) {
        w->members++;
        w->waiting++;
    }
    bool broken = (row->flags & WK_IS_DIVERGED) && row->step > 0; // shows nothing
    if (!broken) {
        wk_sequences_set(&w->shown, t, b, row, t == 0);
        w->rewards[t * EPISODES + b] = row->rewards[e->task];
        w->rows[b] = t + 1;
    }
    w->ended[b] = row->flags & WK_IS_LAST;
    if (t < e->length - 1 && !w->ended[b]) return WK_OK;
    return --w->waiting == 0 ? predict_window(e, w, err) : WK_OK;
}

wk_open_loop_error_curve wk_open_loop_errors_curve(const wk_open_loop_errors *e, int case_index)
{
    const window *w = &e->windows[case_index];
    wk_open_loop_error_curve curve = {.mean_image = NAN, .mean_reward = NAN};
    double image = 0, reward = 0;
    for (int i = 0; i < e->length - e->context && w->count[i] > 0; i++) {
        image += curve.image[i] = w->image[i] / w->count[i];
        reward += curve.reward[i] = w->reward[i] / w->count[i];
        curve.steps++;
    }
    if (curve.steps == 0) return curve;
    curve.mean_image = image / curve.steps;
    curve.mean_reward = reward / curve.steps;
    return curve;
}
