// Many environments on a pool of threads. Each environment is one piece of the pool's job and
// writes into its own rows of the batch, so nothing depends on which thread ran it. A thread takes
// those first that it ran before, whose simulations its cache may still hold, then what is left of
// the others'. All input is checked before anything moves: a bad action stops the whole step, not
// half of it. Vectors that share a pool may step as one job.
#include "base/observation.h"
#include "env/host.h"

#include "base/pool.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 65536 };

// One environment's place: what to do next, and how it went.
typedef struct slot {
    wk_env *env;
    bool reset; // begin a new episode instead of stepping
    bool idle;  // do nothing instead
    double theta[WK_PARAMS_MAX];
    uint64_t seed, episode;
    wk_error error; // status WK_OK if the last step went well
} slot;

// The pieces of a job that a thread takes first, on a cache line of their own.
typedef struct share {
    atomic_int next;
    int end;
    char apart[56];
} share;

struct wk_vec {
    const wk_domain *domain;
    int count;
    slot *slots;
    wk_pool *pool;
    bool borrows;  // the pool is another's
    share *shares; // [threads of the pool], of a job that begins with this vector
    wk_batch batch;
    const float *actions; // of the step in flight
    bool in_flight;
    struct wk_vec *first, *next; // the vectors of the job in flight are a list
    bool running;                // of the first one: the pool's job is not waited for yet
    uint64_t diverged;
};

static wk_status fill(wk_vec *vec, const int *options, int threads, wk_error *err)
{
    size_t count = (size_t)vec->count, tasks = (size_t)vec->domain->n_tasks;
    size_t pixels = wk_observation_image_bytes(vec->domain->observation);
    size_t numbers = (size_t)vec->domain->observation.vector;
    wk_batch *batch = &vec->batch;
    vec->slots = calloc(count, sizeof *vec->slots);
    if (pixels > 0) batch->images = calloc(count, pixels);
    if (numbers > 0) batch->vectors = calloc(count * numbers, sizeof *batch->vectors);
    batch->rewards = calloc(count * tasks, sizeof *batch->rewards);
    batch->completion = calloc(count * tasks, sizeof *batch->completion);
    batch->flags = calloc(count, sizeof *batch->flags);
    bool whole = vec->slots && batch->rewards && batch->completion && batch->flags &&
                 (batch->images || pixels == 0) && (batch->vectors || numbers == 0);
    for (size_t i = 0; i < count && whole; i++)
        WK_TRY(wk_env_create(vec->domain, options, &vec->slots[i].env, err));
    if (whole && !vec->borrows) WK_TRY(wk_pool_create(threads, &vec->pool, err));
    if (whole) vec->shares = calloc((size_t)wk_pool_threads(vec->pool), sizeof *vec->shares);
    if (vec->shares) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for %d environments; use fewer", vec->count);
}

static wk_status create(const wk_domain *domain, const int *options, int count, int threads,
                        const wk_vec *with, wk_vec **out, wk_error *err)
{
    if (count < 1 || count > COUNT_MAX)
        return wk_fail(err, WK_E_INPUT, "cannot make %d environments; give 1 to %d", count,
                       COUNT_MAX);
    // The batch's shape is read from the description, so that comes first.
    WK_TRY(wk_domain_check(domain, err));
    wk_vec *vec = calloc(1, sizeof *vec);
    if (!vec) return wk_fail(err, WK_E_MEMORY, "no memory for %d environments", count);
    vec->domain = domain;
    vec->count = count;
    vec->borrows = with;
    vec->pool = with ? with->pool : NULL;
    wk_status status = fill(vec, options, threads, err);
    if (status == WK_OK)
        *out = vec;
    else
        wk_vec_destroy(vec);
    return status;
}

wk_status wk_vec_create(const wk_domain *domain, const int *options, int count, int threads,
                        wk_vec **out, wk_error *err)
{
    return create(domain, options, count, threads, NULL, out, err);
}

wk_status wk_vec_create_sharing(const wk_domain *domain, const int *options, int count,
                                const wk_vec *with, wk_vec **out, wk_error *err)
{
    return create(domain, options, count, 0, with, out, err);
}

// Waits for the job that the vector's step is part of.
static void await(wk_vec *vec)
{
    if (vec->first->running) wk_pool_wait(vec->pool);
    vec->first->running = false;
}

void wk_vec_destroy(wk_vec *vec)
{
    if (!vec) return;
    if (vec->in_flight) await(vec);
    if (!vec->borrows) wk_pool_destroy(vec->pool);
    free(vec->shares);
    for (int i = 0; vec->slots && i < vec->count; i++)
        wk_env_destroy(vec->slots[i].env);
    free(vec->slots);
    free(vec->batch.images);
    free(vec->batch.vectors);
    free(vec->batch.rewards);
    free(vec->batch.completion);
    free(vec->batch.flags);
    free(vec);
}

int wk_vec_count(const wk_vec *vec)
{
    return vec->count;
}

wk_env *wk_vec_env(wk_vec *vec, int i)
{
    assert(i >= 0 && i < vec->count && !vec->in_flight);
    return vec->slots[i].env;
}

wk_env_seconds wk_vec_get_seconds(const wk_vec *vec)
{
    assert(!vec->in_flight);
    wk_env_seconds sum = {0};
    for (int i = 0; i < vec->count; i++) {
        wk_env_seconds one = wk_env_get_seconds(vec->slots[i].env);
        sum.all += one.all;
        sum.render += one.render;
    }
    return sum;
}

const wk_batch *wk_vec_batch(const wk_vec *vec)
{
    return &vec->batch;
}

// Between begin and finish the environments belong to the threads.
static wk_status check_idle(const wk_vec *vec, wk_error *err)
{
    if (!vec->in_flight) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "a step is under way; call wk_vec_step_finish first");
}

wk_status wk_vec_plan_reset(wk_vec *vec, int i, const double *theta, size_t count, uint64_t seed,
                            uint64_t episode, wk_error *err)
{
    if (i < 0 || i >= vec->count)
        return wk_fail(err, WK_E_INPUT, "there is no environment %d; they are 0 to %d", i,
                       vec->count - 1);
    WK_TRY(check_idle(vec, err));
    WK_TRY(wk_domain_check_params(vec->domain, theta, count, err));
    slot *s = &vec->slots[i];
    memcpy(s->theta, theta, count * sizeof *theta);
    s->seed = seed;
    s->episode = episode;
    s->reset = true;
    s->idle = false;
    return WK_OK;
}

void wk_vec_plan_idle(wk_vec *vec, int i)
{
    assert(i >= 0 && i < vec->count && !vec->in_flight);
    vec->slots[i].idle = true;
    vec->slots[i].reset = false;
}

static const float *action_of(const wk_vec *vec, const float *actions, int i)
{
    return actions + (size_t)i * (size_t)vec->domain->action_size;
}

// The next piece of the thread's share, else of another's. There is one: as many are taken as there
// are.
static size_t take(wk_vec *first, int thread)
{
    int threads = wk_pool_threads(first->pool);
    for (int i = 0; i < threads; i++) {
        share *s = &first->shares[(thread + i) % threads];
        if (atomic_load(&s->next) >= s->end) continue;
        int taken = atomic_fetch_add(&s->next, 1);
        if (taken < s->end) return (size_t)taken;
    }
    assert(!"an environment for every piece");
    abort();
}

// What a reset that failed shows, as one that diverged does.
static void clear_frame(const wk_vec *vec, const wk_frame *frame)
{
    size_t tasks = (size_t)vec->domain->n_tasks, numbers = (size_t)vec->domain->observation.vector;
    if (frame->image) memset(frame->image, 0, WK_IMAGE_BYTES);
    if (frame->vector) memset(frame->vector, 0, numbers * sizeof *frame->vector);
    memset(frame->rewards, 0, tasks * sizeof *frame->rewards);
    memset(frame->completion, 0, tasks * sizeof *frame->completion);
    *frame->flags = WK_IS_FIRST | WK_IS_LAST | WK_IS_DIVERGED;
}

static void run_slot(wk_vec *vec, size_t i)
{
    slot *s = &vec->slots[i];
    size_t tasks = (size_t)vec->domain->n_tasks, numbers = (size_t)vec->domain->observation.vector;
    wk_frame frame = {.image = vec->batch.images ? vec->batch.images + i * WK_IMAGE_BYTES : NULL,
                      .vector = vec->batch.vectors ? vec->batch.vectors + i * numbers : NULL,
                      .rewards = vec->batch.rewards + i * tasks,
                      .completion = vec->batch.completion + i * tasks,
                      .flags = vec->batch.flags + i};
    s->error.status = WK_OK;
    if (s->idle) return;
    if (s->reset && wk_env_reset(s->env, s->theta, (size_t)vec->domain->n_params, s->seed,
                                 s->episode, &frame, &s->error) != WK_OK)
        clear_frame(vec, &frame);
    else if (!s->reset)
        wk_env_step(s->env, action_of(vec, vec->actions, (int)i), &frame, &s->error);
    s->reset = false;
}

// One environment of the vectors in the list that begins with `context`.
static void run_piece(void *context, size_t piece, int thread)
{
    wk_vec *vec = context;
    size_t i = take(vec, thread);
    (void)piece;
    for (; i >= (size_t)vec->count; vec = vec->next)
        i -= (size_t)vec->count;
    run_slot(vec, i);
}

wk_status wk_vec_step_prepare(wk_vec *vec, const float *actions, wk_error *err)
{
    WK_TRY(check_idle(vec, err));
    for (int i = 0; i < vec->count; i++) {
        const slot *s = &vec->slots[i];
        wk_status status = s->reset || s->idle
                               ? WK_OK
                               : wk_env_check_step(s->env, action_of(vec, actions, i), err);
        if (status == WK_OK) continue;
        wk_fail_context(err, "environment %d", i);
        return status;
    }
    vec->actions = actions;
    return WK_OK;
}

void wk_vec_step_start(wk_vec *const *vecs, size_t count)
{
    size_t pieces = 0;
    for (size_t i = 0; i < count; i++) {
        assert(!vecs[i]->in_flight && vecs[i]->pool == vecs[0]->pool);
        vecs[i]->in_flight = true;
        vecs[i]->first = vecs[0];
        vecs[i]->next = i + 1 < count ? vecs[i + 1] : NULL;
        pieces += (size_t)vecs[i]->count;
    }
    if (count == 0) return;
    vecs[0]->running = true;
    size_t threads = (size_t)wk_pool_threads(vecs[0]->pool);
    for (size_t t = 0; t < threads; t++) {
        atomic_store(&vecs[0]->shares[t].next, (int)(pieces * t / threads));
        vecs[0]->shares[t].end = (int)(pieces * (t + 1) / threads);
    }
    wk_pool_start(vecs[0]->pool, pieces, run_piece, vecs[0]);
}

wk_status wk_vec_step_begin(wk_vec *vec, const float *actions, wk_error *err)
{
    WK_TRY(wk_vec_step_prepare(vec, actions, err));
    wk_vec_step_start(&vec, 1);
    return WK_OK;
}

wk_status wk_vec_step_finish(wk_vec *vec, wk_error *err)
{
    if (!vec->in_flight)
        return wk_fail(err, WK_E_INPUT, "no step is under way; call wk_vec_step_begin first");
    await(vec);
    vec->in_flight = false;
    int failed = -1; // the lowest-numbered one that did
    for (int i = vec->count - 1; i >= 0; i--) {
        slot *s = &vec->slots[i];
        if (s->error.status != WK_OK)
            failed = i;
        else if (!s->idle && (vec->batch.flags[i] & WK_IS_DIVERGED))
            vec->diverged++;
        s->idle = false;
    }
    if (failed < 0) return WK_OK;
    const wk_error *reported = &vec->slots[failed].error;
    return wk_fail(err, reported->status, "environment %d: %.900s", failed, reported->message);
}

bool wk_vec_only_resets_failed(const wk_vec *vec)
{
    for (int i = 0; i < vec->count; i++)
        if (vec->slots[i].error.status != WK_OK && wk_env_has_episode(vec->slots[i].env))
            return false;
    return true;
}

wk_status wk_vec_step(wk_vec *vec, const float *actions, wk_error *err)
{
    WK_TRY(wk_vec_step_begin(vec, actions, err));
    return wk_vec_step_finish(vec, err);
}

uint64_t wk_vec_diverged(const wk_vec *vec)
{
    return vec->diverged;
}
