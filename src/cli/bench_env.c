// waker bench env: steps per second of the domains, alone and compared with MuJoCo's stock way.
// Each θ drawn from the default distribution is visited by every contestant in turn (one
// environment, the vector of environments, the reference), so that a busy machine slows all alike.
#include "base/machine.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/table.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "env/domain.h"
#include "env/domains/reference_env.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_ENVS = 8,
    STEPS = 50,        // of one environment, per contestant
    WORLDS_MIN = 3,    // however short the time
    GL_IMAGES = 3,     // slow: a few per environment do
    MEMORY_WORLDS = 4, // visited by each environment before memory is counted
    SEED = 0,
};

typedef struct bench_values {
    const char *domain, *plugin;
    wk_arg_texts options;
    int envs;
    double seconds;
    bool json;
} bench_values;

static const bench_values defaults = {.envs = DEFAULT_ENVS, .seconds = 5};

#define WK_VALUES bench_values
static const wk_arg args[] = {
    WK_OPT_TEXT("domain", domain, "DOMAIN|all", "a built-in domain, or all (default: all)"),
    WK_DOMAIN_PLUGIN_ARG_ROWS(plugin),
    WK_OPT_TEXTS("option", options, "NAME=CHOICE", "an option of the domain; may be repeated"),
    WK_OPT_INT("envs", envs, "N", "environments in the vector (default: 8)", 1, 4096),
    WK_OPT_NUMBER("seconds", seconds, "S", "time to spend on each domain (default: 5)", 0.01, 3600),
    WK_OPT_FLAG("json", json, "print JSON"),
};

// Parts of an agent step, over the same environments and actions: processor time for what runs on
// one thread, time of the wall clock for the vector.
typedef enum part {
    PHYSICS, // one environment on one thread
    IMAGE,
    VECTOR_PHYSICS, // per step, all environments on all threads
    VECTOR_BOTH,    // the same with images
    RESET,          // one environment
    STOCK_PHYSICS,  // MuJoCo's own collisions
    GL_IMAGE,       // MuJoCo's OpenGL image by OSMesa
    PARTS
} part;

// What was measured of a domain.
typedef struct speed {
    double seconds[PARTS]; // so far
    int64_t counts[PARTS];
    bool compared;        // with MuJoCo's stock way
    char why_not[256];    // otherwise the reason
    double bytes_per_env; // growth of the process's resident memory
    int worlds;           // parameter settings visited
} speed;

typedef struct bench {
    const wk_domain *domain;
    wk_space *space;
    wk_env *env;
    wk_vec *vec;
    wk_pool *pool; // borrowed
    wk_reference_env *reference;
    float *actions; // [STEPS, envs, action_size], the same in every environment
    int envs;
    uint64_t vec_worlds; // drawn for the vector so far
    speed *out;
} bench;

static void note(bench *b, part which, double seconds, int64_t count)
{
    b->out->seconds[which] += seconds;
    b->out->counts[which] += count;
}

static double resident_bytes(void)
{
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%ld %ld", &ignored, &pages) != 2) pages = 0;
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static const float *actions_at(const bench *b, int step)
{
    return b->actions + (size_t)step * (size_t)b->envs * (size_t)b->domain->action_size;
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

static wk_status measure_one(bench *b, const double *theta, uint64_t episode, wk_error *err)
{
    uint8_t image[WK_IMAGE_BYTES], flags = 0;
    double start = wk_clock_thread_seconds();
    WK_TRY(wk_env_reset(b->env, theta, (size_t)b->domain->n_params, SEED, episode, &(wk_frame){0},
                        err));
    note(b, RESET, wk_clock_thread_seconds() - start, 1);
    for (int step = 0; step < STEPS && !(flags & WK_IS_LAST); step++) {
        double begin = wk_clock_thread_seconds();
        WK_TRY(wk_env_step(b->env, actions_at(b, step), &(wk_frame){.flags = &flags}, err));
        double moved = wk_clock_thread_seconds();
        if (!b->domain->observation.no_image)
            WK_TRY(wk_env_render(b->env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, err));
        note(b, PHYSICS, moved - begin, 1);
        note(b, IMAGE, wk_clock_thread_seconds() - moved, 1);
    }
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

static wk_status measure_vector(bench *b, wk_error *err)
{
    WK_TRY(reset_vector(b, err));
    double start = wk_clock_seconds();
    int steps = 0;
    for (bool ended = false; steps < STEPS && !ended; steps++) {
        WK_TRY(wk_vec_step(b->vec, actions_at(b, steps), err));
        for (int i = 0; i < b->envs; i++)
            ended |= wk_vec_batch(b->vec)->flags[i] & WK_IS_LAST;
    }
    note(b, VECTOR_BOTH, wk_clock_seconds() - start, (int64_t)steps * b->envs);

    // Again the same environments, without images.
    b->vec_worlds -= (uint64_t)b->envs;
    WK_TRY(reset_vector(b, err));
    start = wk_clock_seconds();
    for (int step = 0; step < STEPS; step++)
        wk_pool_run(b->pool, (size_t)b->envs, move_one, &(physics_job){b, step});
    note(b, VECTOR_PHYSICS, wk_clock_seconds() - start, (int64_t)steps * b->envs);
    return WK_OK;
}

static wk_status measure_reference(bench *b, const double *theta, uint64_t episode, wk_error *err)
{
    uint8_t image[WK_IMAGE_BYTES];
    WK_TRY(wk_reference_env_reset(b->reference, theta, SEED, episode, err));
    // The first image of an environment sends it to OpenGL; that is not part of a step.
    WK_TRY(wk_reference_env_draw(b->reference, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, err));
    for (int step = 0; step < STEPS; step++) {
        double begin = wk_clock_thread_seconds();
        wk_reference_env_step(b->reference, actions_at(b, step));
        note(b, STOCK_PHYSICS, wk_clock_thread_seconds() - begin, 1);
        if (step % (STEPS / GL_IMAGES) != 0) continue;
        // OpenGL may have threads of its own: processor time of all together.
        double moved = wk_clock_read(CLOCK_PROCESS_CPUTIME_ID);
        WK_TRY(wk_reference_env_draw(b->reference, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image, err));
        note(b, GL_IMAGE, wk_clock_read(CLOCK_PROCESS_CPUTIME_ID) - moved, 1);
    }
    return WK_OK;
}

// Makes everything that is measured, and measures the memory of the vector's environments.
static wk_status prepare(bench *b, const wk_chosen_domain *chosen, wk_error *err)
{
    WK_TRY(wk_space_create(b->domain, false, &b->space, err));
    size_t count = (size_t)STEPS * (size_t)b->envs * (size_t)b->domain->action_size;
    b->actions = malloc(count * sizeof *b->actions);
    if (!b->actions) return wk_fail(err, WK_E_MEMORY, "no memory for %zu actions", count);
    wk_rng rng = wk_rng_stream(SEED, "bench-actions", 0);
    for (size_t i = 0; i < count; i += (size_t)b->domain->action_size)
        wk_domain_random_action(b->domain, &rng, b->actions + i);
    malloc_trim(0);
    double before = resident_bytes();
    WK_TRY(
        wk_vec_create(b->domain, chosen->options, b->envs, wk_pool_threads(b->pool), &b->vec, err));
    for (int k = 0; k < MEMORY_WORLDS; k++) {
        WK_TRY(reset_vector(b, err));
        for (int step = 0; step < 5; step++)
            WK_TRY(wk_vec_step(b->vec, actions_at(b, step), err));
    }
    b->out->bytes_per_env = (resident_bytes() - before) / b->envs;
    WK_TRY(wk_env_create(b->domain, chosen->options, &b->env, err));
    wk_error reason = {0};
    b->out->compared = wk_reference_env_create(b->domain, &b->reference, &reason) == WK_OK;
    snprintf(b->out->why_not, sizeof b->out->why_not, "%.250s", reason.message);
    return WK_OK;
}

// Visits worlds of the default distribution for about `seconds`.
static wk_status visit_worlds(bench *b, double seconds, wk_error *err)
{
    double start = wk_clock_seconds();
    while (b->out->worlds < WORLDS_MIN || wk_clock_seconds() - start < seconds) {
        double theta[WK_PARAMS_MAX];
        uint64_t episode = (uint64_t)b->out->worlds++;
        wk_space_sample(b->space, SEED, episode, theta);
        WK_TRY(measure_one(b, theta, episode, err));
        WK_TRY(measure_vector(b, err));
        if (b->reference) WK_TRY(measure_reference(b, theta, episode, err));
    }
    return WK_OK;
}

static wk_status measure(const wk_cli *cli, const char *domain, const bench_values *v,
                         wk_pool *pool, const char **name, speed *out, wk_error *err)
{
    wk_chosen_domain chosen;
    WK_TRY(wk_chosen_domain_open(cli, domain, v->plugin, &v->options, &chosen, err));
    // A plug-in's name goes with it.
    *name = chosen.plugin ? v->plugin : chosen.domain->name;
    if (!cli->quiet && !v->json)
        fprintf(stderr, "measuring %s for %g s ...\n", chosen.domain->name, v->seconds);
    bench b = {.domain = chosen.domain, .envs = v->envs, .pool = pool, .out = out};
    wk_status status = prepare(&b, &chosen, err);
    if (status == WK_OK) status = visit_worlds(&b, v->seconds, err);
    wk_reference_env_destroy(b.reference);
    wk_env_destroy(b.env);
    wk_vec_destroy(b.vec);
    wk_space_destroy(b.space);
    free(b.actions);
    wk_chosen_domain_close(&chosen);
    return status;
}

static double rate(double seconds)
{
    return seconds > 0 ? 1 / seconds : 0;
}

// A row of both tables.
static void put_row(wk_table *table, wk_table *compared, const char *domain, int envs, int threads,
                    const speed *s)
{
    static const part rates[][2] = {
        {PHYSICS, PARTS}, {PHYSICS, IMAGE}, {VECTOR_PHYSICS, PARTS}, {VECTOR_BOTH, PARTS}};
    static const part times[] = {PHYSICS, IMAGE, RESET}, stock[] = {STOCK_PHYSICS, GL_IMAGE};
    double mean[PARTS + 1] = {0};
    for (int i = 0; i < PARTS; i++)
        mean[i] = s->counts[i] > 0 ? s->seconds[i] / (double)s->counts[i] : 0;
    double ratio = (mean[STOCK_PHYSICS] + mean[GL_IMAGE]) / (mean[PHYSICS] + mean[IMAGE]);
    wk_table_text(table, domain);
    wk_table_integer(table, envs);
    wk_table_integer(table, threads);
    wk_table_integer(table, s->worlds);
    for (int i = 0; i < 4; i++)
        wk_table_number(table, rate(mean[rates[i][0]] + mean[rates[i][1]]));
    for (int i = 0; i < 3; i++)
        wk_table_number(table, mean[times[i]]);
    wk_table_number(table, s->bytes_per_env);
    if (!s->compared) {
        for (int i = 0; i < 3; i++)
            wk_table_absent(table);
        wk_table_text(table, s->why_not);
        return;
    }
    for (int i = 0; i < 2; i++)
        wk_table_number(table, mean[stock[i]]);
    wk_table_number(table, ratio);
    wk_table_absent(table);
    wk_table_text(compared, domain);
    for (int i = 0; i < 2; i++) {
        wk_table_number(compared, mean[times[i]]);
        wk_table_number(compared, mean[stock[i]]);
    }
    wk_table_number(compared, ratio);
}

static wk_status bench_domains(const wk_cli *cli, const bench_values *v, wk_pool *pool,
                               wk_text *out, wk_error *err)
{
    char physics[48], both[48], why_not[256] = "";
    int threads = wk_pool_threads(pool);
    const wk_column columns[] = {
        {WK_COLUMN_TEXT, "domain", "domain", NULL, 0},
        {WK_COLUMN_NUMBER, "envs", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "threads", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "worlds", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "physics_steps_per_s", "physics\n1 thread", "%.0f", 0},
        {WK_COLUMN_NUMBER, "image_steps_per_s", "with image\n1 thread", "%.0f", 0},
        {WK_COLUMN_NUMBER, "vector_physics_steps_per_s", physics, "%.0f", 0},
        {WK_COLUMN_NUMBER, "vector_image_steps_per_s", both, "%.0f", 0},
        {WK_COLUMN_NUMBER, "physics_s", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "image_s", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "reset_s", "reset\nms", "%.2f", 1e3},
        {WK_COLUMN_NUMBER, "bytes_per_env", "memory\nMiB/env", "%.1f", 1.0 / (1 << 20)},
        {WK_COLUMN_NUMBER, "stock_physics_s", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "opengl_image_s", NULL, NULL, 0},
        {WK_COLUMN_NUMBER, "ratio", NULL, NULL, 0},
        {WK_COLUMN_TEXT, "not_compared", NULL, NULL, 0}};
    static const wk_column compared_columns[] = {
        {WK_COLUMN_TEXT, NULL, "domain", NULL, 0},
        {WK_COLUMN_NUMBER, NULL, "waker\nphysics us", "%.0f", 1e6},
        {WK_COLUMN_NUMBER, NULL, "stock\nphysics us", "%.0f", 1e6},
        {WK_COLUMN_NUMBER, NULL, "waker\nimage us", "%.0f", 1e6},
        {WK_COLUMN_NUMBER, NULL, "OpenGL\nimage us", "%.0f", 1e6},
        {WK_COLUMN_NUMBER, NULL, "steps/s\nratio", "%.1f", 0}};
    wk_table table, compared;
    snprintf(physics, sizeof physics, "physics\n%d thread%s", threads,
             wk_plural((uint64_t)threads));
    snprintf(both, sizeof both, "with image\n%d thread%s", threads, wk_plural((uint64_t)threads));
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    wk_table_start(&compared, compared_columns, sizeof compared_columns / sizeof *compared_columns);
    bool all = !v->plugin && (!v->domain || strcmp(v->domain, "all") == 0);
    size_t count = all ? wk_domain_count() : 1;
    wk_status status = WK_OK;
    for (size_t i = 0; i < count && status == WK_OK; i++) {
        const char *name = all ? wk_domain_at(i)->name : v->domain;
        speed s = {0};
        status = measure(cli, name, v, pool, &name, &s, err);
        if (status == WK_OK) put_row(&table, &compared, name, v->envs, threads, &s);
        if (status == WK_OK && !*why_not) snprintf(why_not, sizeof why_not, "%s", s.why_not);
    }
    if (status == WK_OK && v->json)
        wk_table_json(&table, NULL, &(wk_json){.text = out});
    else if (status == WK_OK) {
        wk_text_printf(out, "agent steps per second (%d environment%s in the vector)\n\n", v->envs,
                       wk_plural((uint64_t)v->envs));
        wk_table_print(&table, 0, out);
        if (wk_table_count(&compared) == 0)
            wk_text_printf(out, "\nno comparison with stock MuJoCo: %s\n", why_not);
        else {
            wk_text_puts(out, "\none agent step on one thread, against stock MuJoCo and its image "
                              "by OSMesa\n\n");
            wk_table_print(&compared, 0, out);
        }
    }
    wk_table_free(&table);
    wk_table_free(&compared);
    return status;
}

static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    wk_text out = {0};
    wk_pool *pool;
    double load = 0;
    if (getloadavg(&load, 1) != 1) load = 0;
    WK_TRY(wk_pool_create(cli->threads, &pool, err));
    wk_status status = bench_domains(cli, given, pool, &out, err);
    wk_pool_destroy(pool);
    // Other work on the machine shows in the columns timed by the wall clock.
    if (status == WK_OK && !cli->quiet && load >= 0.5)
        fprintf(
            stderr,
            "the machine was busy (load %.1f on %d cores): rates of several threads are too low\n",
            load, wk_cpu_count());
    return wk_cli_print_if(status, &out, err);
}

const wk_command wk_command_bench_env = {
    .name = "bench env",
    .summary = "Measure how fast environments step and render, compared with stock MuJoCo",
    .usage = "bench env [--domain DOMAIN|all] [OPTIONS]",
    .details =
        "Worlds are drawn from the domain's training distribution and are the same for every\n"
        "column; the columns take turns world by world, so that a busy machine slows all\n"
        "alike. Columns of one thread are in processor time, those of the vector by the wall\n"
        "clock. Rates leave out resets, which have their own column; memory is the growth of the\n"
        "process per environment. The comparison runs the same worlds with MuJoCo's own collision\n"
        "functions and draws them with MuJoCo's OpenGL code, on one core; it needs OSMesa\n"
        "('waker doctor' shows whether it is installed).\n",
    .examples = "bench env --domain terrain-walker --seconds 10\nbench env --threads 8 --json",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
