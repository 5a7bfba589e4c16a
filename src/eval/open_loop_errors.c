#include "eval/open_loop.h"

#include "agent/prediction.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EPISODES = WK_OPEN_LOOP_ERRORS_EPISODES, STEPS = WK_OPEN_LOOP_ERRORS_STEPS };

// What one case has shown since the model last saw frames, time-major.
typedef struct window {
    uint8_t *images; // [T,EPISODES,64,64,3]; NULL without images
    float *vectors;  // [T,EPISODES,V]
    float *actions;  // NULL: nothing yet
    float *rewards;
    uint8_t first[(WK_OPEN_LOOP_ERRORS_CONTEXT + STEPS) * EPISODES];
    int rows[EPISODES];   // of each episode in the window
    bool ended[EPISODES]; // the episode is over
    int members;          // episodes that began
    int waiting;          // of them, those whose rows are still to come
} window;

typedef struct sums {
    double image[STEPS], reward[STEPS], count[STEPS];
} sums;

struct wk_open_loop_errors {
    wk_prediction *prediction;
    int policy, task, tasks, length, context;
    size_t width, vector; // numbers of an action and of a vector
    bool has_images;
    int cases;
    window *windows; // [cases]
    sums *sums;      // [cases]
    float *error, *imagined;
};

static size_t row_of(int t, int b)
{
    return (size_t)t * EPISODES + (size_t)b;
}

static void close_window(window *w)
{
    free(w->images);
    free(w->vectors);
    free(w->actions);
    free(w->rewards);
    w->images = NULL;
    w->vectors = w->actions = w->rewards = NULL;
}

static wk_status open_window(const wk_open_loop_errors *e, window *w, wk_error *err)
{
    size_t rows = (size_t)e->length * EPISODES;
    if (e->has_images) w->images = calloc(rows, WK_IMAGE_BYTES);
    w->vectors = calloc(rows * e->vector + 1, sizeof *w->vectors);
    w->actions = calloc(rows * e->width, sizeof *w->actions);
    w->rewards = calloc(rows, sizeof *w->rewards);
    if ((w->images || !e->has_images) && w->vectors && w->actions && w->rewards) return WK_OK;
    close_window(w);
    return wk_fail(err, WK_E_MEMORY, "no memory for %zu frames of episodes", rows);
}

wk_status wk_open_loop_errors_create(wk_learner *learner, const wk_domain *domain, int policy,
                                     int task, int cases, wk_open_loop_errors **out, wk_error *err)
{
    int rows = domain->episode_steps + 1, whole = WK_OPEN_LOOP_ERRORS_CONTEXT + STEPS;
    wk_open_loop_errors *e = calloc(1, sizeof *e);
    if (!e) return wk_fail(err, WK_E_MEMORY, "no memory for errors of imagination");
    e->policy = policy;
    e->task = task;
    e->tasks = wk_learner_get_config(learner)->tasks;
    e->length = rows < whole ? rows : whole;
    e->context =
        WK_OPEN_LOOP_ERRORS_CONTEXT < e->length ? WK_OPEN_LOOP_ERRORS_CONTEXT : e->length - 1;
    e->width = (size_t)domain->action_size;
    e->vector = (size_t)domain->observation.vector;
    e->has_images = !domain->observation.no_image;
    e->cases = cases;
    size_t numbers = (size_t)e->length * EPISODES;
    e->windows = calloc((size_t)cases, sizeof *e->windows);
    e->sums = calloc((size_t)cases, sizeof *e->sums);
    e->error = calloc(numbers, sizeof *e->error);
    e->imagined = calloc(numbers * (size_t)e->tasks, sizeof *e->imagined);
    wk_status status = e->windows && e->sums && e->error && e->imagined
                           ? wk_prediction_create_errors(learner, EPISODES, e->length, e->context,
                                                         &e->prediction, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory for errors of imagination");
    if (status != WK_OK) {
        wk_open_loop_errors_destroy(e);
        return status;
    }
    *out = e;
    return WK_OK;
}

void wk_open_loop_errors_destroy(wk_open_loop_errors *e)
{
    if (!e) return;
    for (int i = 0; i < e->cases && e->windows; i++)
        close_window(&e->windows[i]);
    wk_prediction_destroy(e->prediction);
    free(e->windows);
    free(e->sums);
    free(e->error);
    free(e->imagined);
    free(e);
}

// Imagines the rows of a window, adds the errors of its members, and begins the next one.
static wk_status predict_window(wk_open_loop_errors *e, int case_index, wk_error *err)
{
    window *w = &e->windows[case_index];
    sums *s = &e->sums[case_index];
    const wk_learner_batch batch = {
        .images = w->images, .vectors = w->vectors, .actions = w->actions, .first = w->first};
    const wk_predicted out = {.open_loop_error = e->error, .open_loop_rewards = e->imagined};
    const float *rewards = e->imagined + (size_t)e->policy * (size_t)e->length * EPISODES;
    WK_TRY(wk_prediction_run(e->prediction, &batch, &out, err));
    for (int b = 0; b < w->members; b++) {
        for (int t = e->context; t < w->rows[b]; t++) {
            int ahead = t - e->context;
            size_t at = row_of(t, b);
            s->image[ahead] += (double)e->error[at];
            s->reward[ahead] += fabs((double)rewards[at] - (double)w->rewards[at]);
            s->count[ahead]++;
        }
        w->rows[b] = 0;
        w->waiting += !w->ended[b];
    }
    if (w->waiting == 0) close_window(w);
    return WK_OK;
}

wk_status wk_open_loop_errors_add(wk_open_loop_errors *e, const wk_eval_row *row, wk_error *err)
{
    int b = row->episode;
    if (b >= EPISODES) return WK_OK;
    window *w = &e->windows[row->case_index];
    if (!w->actions) WK_TRY(open_window(e, w, err));
    if (row->step == 0) {
        w->members++;
        w->waiting++;
    }
    int t = row->step % e->length;
    size_t at = row_of(t, b);
    bool broken = (row->flags & WK_IS_DIVERGED) && row->step > 0; // shows nothing
    if (!broken) {
        if (e->has_images) memcpy(w->images + at * WK_IMAGE_BYTES, row->image, WK_IMAGE_BYTES);
        if (e->vector > 0)
            memcpy(w->vectors + at * e->vector, row->vector, e->vector * sizeof *row->vector);
        memcpy(w->actions + at * e->width, row->action, e->width * sizeof *row->action);
        w->rewards[at] = row->rewards[e->task];
        w->first[at] = t == 0;
        w->rows[b] = t + 1;
    }
    w->ended[b] = row->flags & WK_IS_LAST;
    if (t < e->length - 1 && !w->ended[b]) return WK_OK;
    return --w->waiting == 0 ? predict_window(e, row->case_index, err) : WK_OK;
}

wk_open_loop_error_curve wk_open_loop_errors_curve(const wk_open_loop_errors *e, int case_index)
{
    const sums *s = &e->sums[case_index];
    wk_open_loop_error_curve curve = {.mean_image = NAN, .mean_reward = NAN};
    double image = 0, reward = 0;
    for (int i = 0; i < e->length - e->context && s->count[i] > 0; i++) {
        image += curve.image[i] = s->image[i] / s->count[i];
        reward += curve.reward[i] = s->reward[i] / s->count[i];
        curve.steps++;
    }
    if (curve.steps == 0) return curve;
    curve.mean_image = image / curve.steps;
    curve.mean_reward = reward / curve.steps;
    return curve;
}
