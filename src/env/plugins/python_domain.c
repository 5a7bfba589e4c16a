#include "env/plugins/python_domain.h"

#include "base/json.h"
#include "base/random.h"
#include "env/description.h"
#include "env/plugins/python_process.h"
#include "env/plugins/resample.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DESCRIPTION_MAX = 256 << 10, FAILURES_MAX = 3, EVENTS_MAX = 8, IDLE_MAX = 64 };
static const double ANSWER_SECONDS = 60, START_SECONDS = 120, NOTICE_SECONDS = 10;

struct wk_python_domain {
    wk_domain domain; // first: functions of the domain get its address
    wk_description *description;
    char *spec;
    int image_width, image_height, image_channels;
    uint32_t state_bytes; // 0: states cannot be saved
    double answer_seconds, start_seconds;
    wk_log log;
    pthread_mutex_t lock; // of what follows
    bool close_failed;    // which was told
    wk_text events;
    int n_events;                     // since they were taken
    uint64_t failures;                // in all
    char last[WK_PYTHON_WHY_MAX];     // why an environment failed or was refused, the last time
    wk_python_process idle[IDLE_MAX]; // of environments that were destroyed
    int n_idle;
};

// One environment.
typedef struct world {
    wk_python_domain *of;
    wk_python_process process;
    bool ready;                      // the process has made its environment
    bool failed;                     // the episode ended by a failure
    int failures;                    // episodes in a row that did
    wk_error refused;                // why there is no use in going on
    wk_python_answer answer;         // the last one
    char why[WK_PYTHON_MESSAGE_MAX]; // the last failure
} world;

static size_t vector_bytes(const wk_python_domain *p)
{
    return (size_t)p->domain.observation.vector * sizeof(float);
}

static size_t observation_bytes(const wk_python_domain *p)
{
    return vector_bytes(p) +
           (size_t)p->image_width * (size_t)p->image_height * (size_t)p->image_channels;
}

/* ---- Processes ------------------------------------------------------------------------------- */

// Waits until an environment is made, and says so when that takes long.
static wk_python_answer await_start(const wk_python_domain *p, wk_python_process *process,
                                    char why[WK_PYTHON_MESSAGE_MAX])
{
    wk_python_answer answer = wk_python_wait(process, NOTICE_SECONDS, why);
    if (answer != WK_PYTHON_HUNG) return answer;
    wk_log_line(
        &p->log, WK_LOG_WARN,
        "still waiting for %s to make an environment: process %d has not answered for %g s; "
        "the limit is %g s",
        p->spec, wk_python_pid(process), NOTICE_SECONDS, p->start_seconds);
    answer = wk_python_wait(process, p->start_seconds - NOTICE_SECONDS, why);
    if (answer == WK_PYTHON_HUNG)
        snprintf(why, WK_PYTHON_MESSAGE_MAX, "process %d made no environment in %g s",
                 wk_python_pid(process), p->start_seconds);
    return answer;
}

// What close() raises changes nothing about the results: the first time it is told.
static void stop(wk_python_domain *p, wk_python_process *process, bool gently)
{
    char why[WK_PYTHON_MESSAGE_MAX];
    if (!wk_python_stop(process, gently, why)) return;
    pthread_mutex_lock(&p->lock);
    bool first = !p->close_failed;
    p->close_failed = true;
    pthread_mutex_unlock(&p->lock);
    if (first)
        wk_log_line(&p->log, WK_LOG_WARN, "close() of an environment of %s raises %.600s", p->spec,
                    why);
}

/* ---- An environment -------------------------------------------------------------------------- */

// Takes a process that is idle, or starts one.
static wk_status start(world *w, wk_error *err)
{
    wk_python_domain *p = w->of;
    pthread_mutex_lock(&p->lock);
    w->ready = p->n_idle > 0;
    if (w->ready) w->process = p->idle[--p->n_idle];
    pthread_mutex_unlock(&p->lock);
    if (w->ready) return WK_OK;
    size_t size = observation_bytes(p) + p->state_bytes;
    return wk_python_start(&w->process, "serve", p->spec, size, err);
}

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    (void)options;
    world *w = calloc(1, sizeof *w);
    if (!w) return wk_fail(err, WK_E_MEMORY, "no memory for a Python environment");
    w->of = (wk_python_domain *)domain;
    *env = w;
    return WK_OK;
}

static void destroy(void *env)
{
    world *w = env;
    wk_python_domain *p = w->of;
    pthread_mutex_lock(&p->lock);
    bool keep = w->ready && !w->failed && !w->refused.status && p->n_idle < IDLE_MAX;
    if (keep) p->idle[p->n_idle++] = w->process;
    pthread_mutex_unlock(&p->lock);
    if (!keep) stop(p, &w->process, w->ready);
    free(w);
}

static void note_reason(const world *w)
{
    wk_python_domain *p = w->of;
    pthread_mutex_lock(&p->lock);
    snprintf(p->last, sizeof p->last, "%.*s", WK_PYTHON_WHY_MAX - 1, w->why);
    pthread_mutex_unlock(&p->lock);
}

// Tells of a failure, counts it, and starts the process again where there is none.
static void note_failure(world *w, wk_python_answer answer)
{
    wk_python_domain *p = w->of;
    bool again = answer != WK_PYTHON_FAILED;
    if (again) stop(p, &w->process, false);
    if (again) start(w, NULL); // if it cannot, the next reset says why
    w->failed = true;
    w->failures++;
    note_reason(w);
    pthread_mutex_lock(&p->lock);
    p->failures++;
    if (p->n_events++ < EVENTS_MAX)
        wk_text_printf(&p->events,
                       "an environment of %s failed: %.600s; its episode ends there, flagged, and "
                       "%s (%llu failed so far)\n",
                       p->domain.name, w->why,
                       again ? "its process is started again" : "the environment is created again",
                       (unsigned long long)p->failures);
    pthread_mutex_unlock(&p->lock);
}

static wk_status refuse(world *w)
{
    note_reason(w);
    return wk_fail(&w->refused, WK_E_INPUT, "%.900s", w->why);
}

static const char *advice(const world *w)
{
    return w->answer == WK_PYTHON_HUNG
               ? "; an environment that needs longer gets it by WAKER_PYTHON_TIMEOUT, in seconds"
               : "";
}

// A process that is there and has made its environment; false: it failed to.
static wk_status make_ready(world *w, bool *ready, wk_error *err)
{
    if (!w->process.shared) WK_TRY(start(w, err));
    *ready = w->ready;
    if (w->ready) return WK_OK;
    wk_python_answer answer = await_start(w->of, &w->process, w->why);
    w->answer = answer;
    if (answer == WK_PYTHON_REFUSED || answer == WK_PYTHON_FAILED) return refuse(w);
    w->ready = *ready = answer == WK_PYTHON_DONE;
    if (!w->ready) note_failure(w, answer);
    return WK_OK;
}

static wk_python_answer call(world *w, uint32_t command)
{
    w->process.shared->command = command;
    wk_python_send(&w->process);
    w->answer = wk_python_wait(&w->process, w->of->answer_seconds, w->why);
    return w->answer;
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    world *w = env;
    bool ready = false;
    wk_rng rng = wk_rng_stream(seed, "python", episode);
    if (!w->failed) w->failures = 0;
    w->failed = false;
    if (w->failures == FAILURES_MAX)
        return wk_fail(err, WK_E_DIVERGED,
                       "an environment failed in %d episodes in a row, the last time because "
                       "%.600s%s. Check it with 'waker envs check %s'",
                       w->failures, w->why, advice(w), w->of->spec);
    wk_status status = w->refused.status ? w->refused.status : make_ready(w, &ready, err);
    if (w->refused.status) return wk_fail(err, w->refused.status, "%s", w->refused.message);
    out->diverged = !ready;
    if (status != WK_OK || !ready) return status;
    memcpy(w->process.shared->theta, theta, (size_t)w->of->domain.n_params * sizeof *theta);
    w->process.shared->seed = wk_rng_u32(&rng) >> 1; // what every generator takes
    wk_python_answer answer = call(w, WK_PYTHON_RESET);
    if (answer == WK_PYTHON_REFUSED) return wk_fail(err, refuse(w), "%s", w->refused.message);
    out->diverged = answer != WK_PYTHON_DONE;
    if (out->diverged) note_failure(w, answer);
    return WK_OK;
}

static void step(void *env, const float *action, wk_outcome *out)
{
    world *w = env;
    const wk_domain *domain = &w->of->domain;
    out->diverged = w->failed; // in saving its state
    if (w->failed) return;
    memcpy(w->process.shared->action, action, (size_t)domain->action_size * sizeof *action);
    wk_python_answer answer = call(w, WK_PYTHON_STEP);
    out->diverged = answer != WK_PYTHON_DONE;
    if (answer == WK_PYTHON_REFUSED) refuse(w); // the next reset returns it
    if (out->diverged && answer != WK_PYTHON_REFUSED) note_failure(w, answer);
    if (out->diverged) return;
    const wk_python_shared *shared = w->process.shared;
    memcpy(out->rewards, shared->rewards, (size_t)domain->n_tasks * sizeof *out->rewards);
    out->terminal = shared->ended & 1;
    out->truncated = shared->ended & 2;
}

static void observe(void *env, float *vector)
{
    const world *w = env;
    memcpy(vector, w->process.shared + 1, vector_bytes(w->of));
}

static void render(void *env, int width, int height, uint8_t *rgb)
{
    const world *w = env;
    const wk_python_domain *p = w->of;
    const uint8_t *observation = (const uint8_t *)(w->process.shared + 1);
    const wk_source_image source = {.width = p->image_width,
                                    .height = p->image_height,
                                    .channels = p->image_channels,
                                    .pixels = observation + vector_bytes(p)};
    wk_image_resample(&source, width, height, rgb);
}

// A state is the length that the environment gave it, or NOT_SAVED, and room for the longest.
static const uint64_t NOT_SAVED = UINT64_MAX;

static size_t state_size(const void *env)
{
    const world *w = env;
    return w->of->state_bytes > 0 ? sizeof NOT_SAVED + w->of->state_bytes : WK_STATE_NONE;
}

static uint8_t *state_of(const world *w)
{
    return (uint8_t *)(w->process.shared + 1) + observation_bytes(w->of);
}

// What goes wrong ends the episode, and the state is refused by `load`.
static void save(const void *env, void *bytes)
{
    world *w = (world *)env;
    uint64_t length = NOT_SAVED;
    if (!w->failed && call(w, WK_PYTHON_SAVE) == WK_PYTHON_DONE)
        length = w->process.shared->length;
    else if (!w->failed)
        note_failure(w, w->answer);
    memset(bytes, 0, sizeof length + w->of->state_bytes);
    memcpy(bytes, &length, sizeof length);
    if (length <= w->of->state_bytes)
        memcpy((char *)bytes + sizeof length, state_of(w), (size_t)length);
}

static wk_status load(void *env, const void *bytes, size_t size, wk_error *err)
{
    world *w = env;
    uint64_t length = NOT_SAVED;
    if (size == state_size(env)) memcpy(&length, bytes, sizeof length);
    if (length > w->of->state_bytes)
        return wk_fail(err, WK_E_FORMAT, "the environment did not save its state");
    if (w->failed) return wk_fail(err, WK_E_DIVERGED, "%.900s", w->why);
    memcpy(state_of(w), (const char *)bytes + sizeof length, (size_t)length);
    w->process.shared->length = (uint32_t)length;
    if (call(w, WK_PYTHON_LOAD) == WK_PYTHON_DONE) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "load_state: %.900s", w->why);
}

/* ---- The domain ------------------------------------------------------------------------------ */

static wk_status take_description(wk_python_domain *p, const wk_python_shared *shared,
                                  wk_error *err)
{
    wk_document document;
    size_t length = shared->length <= DESCRIPTION_MAX ? shared->length : DESCRIPTION_MAX;
    WK_TRY(
        wk_document_start("its description", (const char *)(shared + 1), length, &document, err));
    wk_description_read(&document, &p->description, NULL); // errors are the document's
    WK_TRY(wk_document_close(&document, err));
    p->domain = *wk_description_domain(p->description);
    p->image_width = (int)shared->image_width;
    p->image_height = (int)shared->image_height;
    p->image_channels = (int)shared->image_channels;
    p->state_bytes = shared->state_bytes;
    p->domain.create = create;
    p->domain.destroy = destroy;
    p->domain.reset = reset;
    p->domain.step = step;
    p->domain.render = p->domain.observation.no_image ? NULL : render;
    p->domain.observe = p->domain.observation.vector > 0 ? observe : NULL;
    p->domain.state_size = state_size;
    p->domain.save = save;
    p->domain.load = load;
    bool sized = p->image_width > 0 && p->image_width <= WK_SOURCE_SIDE_MAX &&
                 p->image_height > 0 && p->image_height <= WK_SOURCE_SIDE_MAX &&
                 (p->image_channels == 1 || p->image_channels == 3);
    if (!p->domain.observation.no_image && !sized)
        return wk_fail(err, WK_E_INPUT,
                       "its images have %d x %d pixels; 1 to %d a side are possible",
                       p->image_width, p->image_height, WK_SOURCE_SIDE_MAX);
    return wk_domain_check(&p->domain, err);
}

static wk_status describe(wk_python_domain *p, wk_error *err)
{
    wk_python_process process = {0};
    char why[WK_PYTHON_MESSAGE_MAX];
    const char *text = getenv("WAKER_PYTHON_TIMEOUT"); // seconds that a reset or a step may take
    p->answer_seconds = ANSWER_SECONDS;
    if (text && *text && (!wk_text_to_number(text, &p->answer_seconds) || p->answer_seconds <= 0))
        return wk_fail(err, WK_E_INPUT,
                       "WAKER_PYTHON_TIMEOUT is '%s'; it must be a positive number of seconds",
                       text);
    p->start_seconds = fmax(START_SECONDS, p->answer_seconds);
    WK_TRY(wk_python_start(&process, "describe", p->spec, DESCRIPTION_MAX, err));
    wk_status status = WK_OK;
    wk_python_answer answer = await_start(p, &process, why);
    if (answer == WK_PYTHON_DONE)
        status = take_description(p, process.shared, err);
    else
        status = wk_fail(err, WK_E_INPUT, "%.900s", why);
    stop(p, &process, answer == WK_PYTHON_DONE);
    return status;
}

wk_status wk_python_domain_open(const char *spec, const wk_log *log, wk_python_domain **out,
                                wk_error *err)
{
    wk_python_domain *p = calloc(1, sizeof *p);
    char *copy = strdup(spec);
    if (!p || !copy) {
        free(p);
        free(copy);
        return wk_fail(err, WK_E_MEMORY, "no memory for a Python domain");
    }
    p->spec = copy;
    if (log) p->log = *log;
    pthread_mutex_init(&p->lock, NULL);
    wk_status status = describe(p, err);
    if (status == WK_OK)
        *out = p;
    else
        wk_python_domain_close(p);
    return status;
}

void wk_python_domain_close(wk_python_domain *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_idle; i++)
        wk_python_dismiss(&p->idle[i]); // all at once
    for (int i = 0; i < p->n_idle; i++)
        stop(p, &p->idle[i], true);
    wk_description_destroy(p->description);
    wk_text_free(&p->events);
    pthread_mutex_destroy(&p->lock);
    free(p->spec);
    free(p);
}

const wk_domain *wk_python_domain_get(const wk_python_domain *p)
{
    return &p->domain;
}

bool wk_python_domain_is(const wk_domain *domain)
{
    return domain->create == create;
}

bool wk_python_domain_explain(const void *env, const char *function, wk_text *out)
{
    const world *w = env;
    if (!w->failed && !w->refused.status) return false;
    if (w->answer == WK_PYTHON_FAILED) wk_text_printf(out, "%s raises ", function);
    wk_text_printf(out, "%.900s%s", w->why, advice(w));
    return true;
}

void wk_python_domain_last_failure(wk_python_domain *p, char why[WK_PYTHON_WHY_MAX])
{
    pthread_mutex_lock(&p->lock);
    memcpy(why, p->last, WK_PYTHON_WHY_MAX);
    pthread_mutex_unlock(&p->lock);
}

void wk_python_domain_take_events(wk_python_domain *p, wk_text *out)
{
    pthread_mutex_lock(&p->lock);
    if (p->n_events > 0) wk_text_puts(out, wk_text_get(&p->events));
    if (p->n_events > EVENTS_MAX)
        wk_text_printf(out, "%d further environments of %s failed\n", p->n_events - EVENTS_MAX,
                       p->domain.name);
    wk_text_free(&p->events);
    p->n_events = 0;
    pthread_mutex_unlock(&p->lock);
}
