// The measurements of waker bench env. Each θ drawn from the default distribution is visited by
// every contestant in turn: one environment, the vector of environments, and the reference.
#include "base/clock.h"
#include "base/pool.h"
#include "base/rng.h"
#include "cli/bench_env.h"
#include "env/domain.h"
#include "env/domains/reference_env.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    STEPS = 50,        // of one environment, per contestant
    WORLDS_MIN = 3,    // however short the time
    GL_IMAGES = 3,     // slow: a few per environment do
    MEMORY_WORLDS = 4, // visited by each environment before memory is counted
    SEED = 0,
};

typedef struct bench {
    const wk_domain *domain;
    wk_space *space;
    wk_env *env;
    wk_vec *vec;
    wk_pool *pool;
    wk_reference_env *reference;
    float *actions; // [STEPS, envs, action_size], the same in every environment
    int envs;
    uint64_t vec_worlds; // drawn for the vector so far
} bench;

// What was spent so far.
typedef struct spent {
    double physics, image, vector_physics, vector_both, reset, stock_physics, gl_image;
    int64_t steps, vector_steps, resets, stock_steps, gl_images;
} spent;

static double resident_bytes(void)
{
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

// Processor time of all threads together, for OpenGL, which may have its own.
static double process_seconds(void)
{
    return wk_clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

static const float *actions_at(const bench *b, int step)
{
    return b->actions + (size_t)step * (size_t)b->envs * (size_t)b->domain->action_size;
}

static wk_status draw_actions(bench *b, wk_error *err)
{
    size_t count = (size_t)STEPS * (size_t)b->envs * (size_t)b->domain->action_size;
    b->actions = malloc(count * sizeof *b->actions);
    if (!b->actions) return wk_fail(err, WK_E_MEMORY, "no memory for %zu actions", count);
    wk_rng rng = wk_rng_stream(SEED, "bench-actions", 0);
    for (size_t i = 0; i < count; i += (size_t)b->domain->action_size)
        wk_domain_random_action(b->domain, &rng, b->actions + i);
    return WK_OK;
}

// Every environment of the vector gets the next θ of the default distribution.
static wk_status reset_vector(bench *b, wk_error *err)
{
    for (int i = 0; i < b->envs; i++) {
        double theta[WK_PARAMS_MAX];
        uint64_t episode = b->vec_worlds++;
        wk_space_sample(b->space, SEED, episode, theta);
        WK_TRY(
            wk_vec_plan_reset(b->vec, i, theta, (size_t)b->domain->n_params, SEED, episode, err));
    }
    return wk_vec_step(b->vec, actions_at(b, 0), err);
}

static wk_status measure_memory(bench *b, const int *options, int threads, double *bytes,
                                wk_error *err)
{
    malloc_trim(0);
    double before = resident_bytes();
    WK_TRY(wk_vec_create(b->domain, options, b->envs, threads, &b->vec, err));
    for (int k = 0; k < MEMORY_WORLDS; k++) {
        WK_TRY(reset_vector(b, err));
        for (int step = 0; step < 5; step++)
            WK_TRY(wk_vec_step(b->vec, actions_at(b, step), err));
    }
    *bytes = (resident_bytes() - before) / b->envs;
    return WK_OK;
}

static wk_status measure_one(bench *b, const double *theta, uint64_t episode, spent *s,
                             wk_error *err)
{
    uint8_t image[WK_IMAGE_BYTES], flags = 0;
    double start = wk_clock_thread_seconds();
    WK_TRY(wk_env_reset(b->env, theta, (size_t)b->domain->n_params, SEED, episode, &(wk_frame){0},
                        err));
    s->reset += wk_clock_thread_seconds() - start;
    s->resets++;
    for (int step = 0; step < STEPS && !(flags & WK_IS_LAST); step++) {
        double begin = wk_clock_thread_seconds();
        WK_TRY(wk_env_step(b->env, actions_at(b, step), &(wk_frame){.flags = &flags}, err));
        double moved = wk_clock_thread_seconds();
        if (!b->domain->observation.no_image)
            WK_TRY(wk_env_render(b->env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, err));
        s->physics += moved - begin;
        s->image += wk_clock_thread_seconds() - moved;
        s->steps++;
    }
    return WK_OK;
}

static bool any_ended(const bench *b)
{
    for (int i = 0; i < b->envs; i++)
        if (wk_vec_batch(b->vec)->flags[i] & WK_IS_LAST) return true;
    return false;
}

static wk_status measure_vector(bench *b, spent *s, wk_error *err)
{
    WK_TRY(reset_vector(b, err));
    double start = wk_clock_seconds();
    int step = 0;
    for (; step < STEPS && !any_ended(b); step++)
        WK_TRY(wk_vec_step(b->vec, actions_at(b, step), err));
    s->vector_both += wk_clock_seconds() - start;
    s->vector_steps += (int64_t)step * b->envs;
    return WK_OK;
}

// The vector's environments moved without images: one piece of the job is one environment.
typedef struct physics_job {
    bench *b;
    int step;
} physics_job;

static void move_one(void *context, size_t piece, int thread)
{
    (void)thread;
    const physics_job *job = context;
    const float *actions = actions_at(job->b, job->step);
    // Fails only where an episode has ended; then there is nothing to move.
    (void)wk_env_step(wk_vec_env(job->b->vec, (int)piece),
                      actions + piece * (size_t)job->b->domain->action_size, &(wk_frame){0}, NULL);
}

// Replays the environments that measure_vector has just run, so that both see the same.
static wk_status measure_vector_physics(bench *b, spent *s, wk_error *err)
{
    b->vec_worlds -= (uint64_t)b->envs;
    WK_TRY(reset_vector(b, err));
    double start = wk_clock_seconds();
    for (int step = 0; step < STEPS; step++)
        wk_pool_run(b->pool, (size_t)b->envs, move_one, &(physics_job){b, step});
    s->vector_physics += wk_clock_seconds() - start;
    return WK_OK;
}

static wk_status measure_reference(bench *b, const double *theta, uint64_t episode, spent *s,
                                   wk_error *err)
{
    uint8_t image[WK_IMAGE_BYTES];
    WK_TRY(wk_reference_env_reset(b->reference, theta, SEED, episode, err));
    // The first image of an environment sends it to OpenGL; that is not part of a step.
    WK_TRY(wk_reference_env_draw(b->reference, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, err));
    for (int step = 0; step < STEPS; step++) {
        double begin = wk_clock_thread_seconds();
        wk_reference_env_step(b->reference, actions_at(b, step));
        s->stock_physics += wk_clock_thread_seconds() - begin;
        s->stock_steps++;
        if (step % (STEPS / GL_IMAGES) != 0) continue;
        double moved = process_seconds();
        WK_TRY(wk_reference_env_draw(b->reference, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, err));
        s->gl_image += process_seconds() - moved;
        s->gl_images++;
    }
    return WK_OK;
}

static wk_status measure_world(bench *b, uint64_t episode, spent *s, wk_error *err)
{
    double theta[WK_PARAMS_MAX];
    wk_space_sample(b->space, SEED, episode, theta);
    WK_TRY(measure_one(b, theta, episode, s, err));
    WK_TRY(measure_vector(b, s, err));
    WK_TRY(measure_vector_physics(b, s, err));
    return b->reference ? measure_reference(b, theta, episode, s, err) : WK_OK;
}

static double mean(double sum, int64_t count)
{
    return count > 0 ? sum / (double)count : 0;
}

static void summarise(const spent *s, wk_env_speed *out)
{
    out->physics = mean(s->physics, s->steps);
    out->image = mean(s->image, s->steps);
    out->vector_physics = mean(s->vector_physics, s->vector_steps);
    out->vector_both = mean(s->vector_both, s->vector_steps);
    out->reset = mean(s->reset, s->resets);
    out->stock_physics = mean(s->stock_physics, s->stock_steps);
    out->gl_image = mean(s->gl_image, s->gl_images);
}

static wk_status prepare(bench *b, const wk_chosen_domain *chosen, int threads, wk_env_speed *out,
                         wk_error *err)
{
    WK_TRY(wk_space_create(b->domain, false, &b->space, err));
    WK_TRY(draw_actions(b, err));
    WK_TRY(wk_pool_create(threads, &b->pool, err));
    out->threads = wk_pool_threads(b->pool);
    WK_TRY(measure_memory(b, chosen->options, out->threads, &out->bytes_per_env, err));
    WK_TRY(wk_env_create(b->domain, chosen->options, &b->env, err));
    wk_error reason = {0};
    out->compared = wk_reference_env_create(b->domain, &b->reference, &reason) == WK_OK;
    if (!out->compared) snprintf(out->why_not, sizeof out->why_not, "%.250s", reason.message);
    return WK_OK;
}

static wk_status measure(bench *b, double seconds, wk_env_speed *out, wk_error *err)
{
    spent s = {0};
    double start = wk_clock_seconds();
    while (out->worlds < WORLDS_MIN || wk_clock_seconds() - start < seconds)
        WK_TRY(measure_world(b, (uint64_t)out->worlds++, &s, err));
    summarise(&s, out);
    return WK_OK;
}

wk_status wk_env_speed_measure(const wk_chosen_domain *chosen, int envs, int threads,
                               double seconds, wk_env_speed *out, wk_error *err)
{
    *out = (wk_env_speed){.envs = envs};
    bench b = {.domain = chosen->domain, .envs = envs};
    wk_status status = prepare(&b, chosen, threads, out, err);
    if (status == WK_OK) status = measure(&b, seconds, out, err);
    wk_reference_env_destroy(b.reference);
    wk_env_destroy(b.env);
    wk_vec_destroy(b.vec);
    wk_pool_destroy(b.pool);
    wk_space_destroy(b.space);
    free(b.actions);
    return status;
}
