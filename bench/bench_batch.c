// wk_vec next to MuJoCo's own batch (mjbatch.h): physics alone, the same models, states, controls
// and number of threads. In every round each contestant makes the same agent steps from the same
// states, in an order that changes from round to round; medians over the rounds are printed with
// their 95 % intervals, and how far the final positions are apart. wk_vec also checks actions and
// states and computes the rewards.
//
// usage: bench_batch [ENVS [THREADS [ROUNDS]]]
#include "base/machine.h"
#include "base/random.h"
#include "env/domains/domains.h"
#include "env/mujoco/physics.h"
#include "waker/env.h"
#include <math.h>
#include <mujoco/mjbatch.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 25, PHYSICS_STEPS = 20, ENVS_MAX = 1024, ROUNDS_MAX = 999, SEED = 1 };

// What is timed. Shared: an mjData for each thread, the default of mjBatch; persistent: for each
// simulation, as wk_vec has. VEL: ends with the poses and velocities that a policy observes, as
// wk_vec does; NONE: only the state is there, a reward or an image would need more.
enum { VEC, SHARED_NONE, PERSISTENT_NONE, SHARED_VEL, PERSISTENT_VEL, CONTESTANTS };
static const struct {
    const char *name;
    bool persistent;
    int stage;
} contestants[CONTESTANTS] = {
    [VEC] = {"wk_vec", false, 0},
    [SHARED_NONE] = {"mjBatch, NONE", false, mjSTAGE_NONE},
    [PERSISTENT_NONE] = {"persistent, NONE", true, mjSTAGE_NONE},
    [SHARED_VEL] = {"mjBatch, VEL", false, mjSTAGE_VEL},
    [PERSISTENT_VEL] = {"persistent, VEL", true, mjSTAGE_VEL},
};

typedef struct scenario {
    const wk_domain *domain;
    int n_thetas;
    const double *thetas; // [n_thetas, n_params], one environment after the other
} scenario;

static const double hills[][2] = {{0, 1}, {0.5, 0.6}, {1, 0.2}, {0.8, 0.15}, {-1, 0}};
static const double blocks[][3] = {{4, 0, 4}, {4, 2, 2}, {4, 3, 1}};
static const scenario scenarios[] = {
    {&wk_terrain_walker, sizeof hills / sizeof *hills, hills[0]},
    {&wk_clean_up, sizeof blocks / sizeof *blocks, blocks[0]},
};

typedef struct bench {
    const scenario *scenario;
    int envs, threads;
    wk_vec *vec;
    mjBatch *batches[CONTESTANTS]; // none for VEC
    const mjModel *models[ENVS_MAX];
    float *actions;            // [STEPS, envs, action_size]
    double apart[CONTESTANTS]; // largest difference of a final position from wk_vec's
    double wall[CONTESTANTS][ROUNDS_MAX], cpu[CONTESTANTS][ROUNDS_MAX];
} bench;

static void expect(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_batch: %s\n", err->message);
    exit(1);
}

// The domain without images, which keeps a list of the worlds that are made.
static const wk_domain *drawn;
static void *worlds[ENVS_MAX];
static int world_count;

static wk_status create_world(const wk_domain *domain, const int *options, void **env,
                              wk_error *err)
{
    (void)domain;
    wk_status status = drawn->create(drawn, options, env, err);
    if (status == WK_OK) worlds[world_count++] = *env;
    return status;
}

static void draw_nothing(void *env, int width, int height, uint8_t *rgb)
{
    (void)env, (void)width, (void)height, (void)rgb;
}

static const float *actions_at(const bench *b, int step)
{
    return b->actions + (size_t)step * (size_t)b->envs * (size_t)b->scenario->domain->action_size;
}

static void draw_actions(bench *b, int round)
{
    size_t count = (size_t)STEPS * (size_t)b->envs * (size_t)b->scenario->domain->action_size;
    wk_rng rng = wk_rng_stream(SEED, "bench-batch", (uint64_t)round);
    for (size_t i = 0; i < count; i++)
        b->actions[i] = (float)wk_rng_uniform(&rng, -1, 1);
}

static void reset_vec(bench *b, int round)
{
    wk_error err = {0};
    size_t params = (size_t)b->scenario->domain->n_params;
    for (int i = 0; i < b->envs; i++) {
        const double *theta = b->scenario->thetas + (size_t)(i % b->scenario->n_thetas) * params;
        uint64_t episode = (uint64_t)(round * b->envs + i);
        expect(wk_vec_plan_reset(b->vec, i, theta, params, SEED, episode, &err), &err);
    }
    expect(wk_vec_step(b->vec, actions_at(b, 0), &err), &err);
}

static mjData *look_inside(bench *b, int i)
{
    const wk_physics_env *sim = worlds[i];
    b->models[i] = sim->model;
    return sim->data;
}

// Gives a batch the models and the states that wk_vec starts from.
static void reset_batch(bench *b, mjBatch *batch)
{
    for (int i = 0; i < b->envs; i++) {
        const mjData *data = look_inside(b, i);
        mj_getState(b->models[i], data, mjb_state(batch) + i * mjb_nstate(batch),
                    mjSTATE_INTEGRATION);
    }
    mjb_setModels(batch, b->models);
}

static void run_vec(bench *b)
{
    wk_error err = {0};
    for (int step = 0; step < STEPS; step++)
        expect(wk_vec_step(b->vec, actions_at(b, step), &err), &err);
}

static void run_batch(bench *b, mjBatch *batch, int stage)
{
    int nu, nstate = mjb_nstate(batch);
    mjtNum *ctrl = mjb_stateComponent(batch, mjSTATE_CTRL, &nu);
    for (int step = 0; step < STEPS; step++) {
        const float *actions = actions_at(b, step);
        for (int i = 0; i < b->envs; i++)
            for (int u = 0; u < nu; u++)
                ctrl[i * nstate + u] = (mjtNum)actions[i * nu + u];
        if (mjb_step(batch, NULL, 0, PHYSICS_STEPS, stage) == 0) continue;
        fprintf(stderr, "bench_batch: a simulation of mjBatch failed\n");
        exit(1);
    }
}

static double process_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void run_contestant(bench *b, int who, int round)
{
    double wall = wk_clock_seconds(), cpu = process_seconds();
    if (who == VEC)
        run_vec(b);
    else
        run_batch(b, b->batches[who], contestants[who].stage);
    b->wall[who][round] = wk_clock_seconds() - wall;
    b->cpu[who][round] = process_seconds() - cpu;
}

static void compare_positions(bench *b)
{
    for (int who = VEC + 1; who < CONTESTANTS; who++) {
        mjBatch *batch = b->batches[who];
        int nq;
        const mjtNum *qpos = mjb_stateComponent(batch, mjSTATE_QPOS, &nq);
        for (int i = 0; i < b->envs; i++) {
            const mjData *data = look_inside(b, i);
            for (int k = 0; k < nq; k++)
                b->apart[who] =
                    fmax(b->apart[who], fabs(qpos[i * mjb_nstate(batch) + k] - data->qpos[k]));
        }
    }
}

static void run_round(bench *b, int round)
{
    draw_actions(b, round);
    reset_vec(b, round);
    for (int who = VEC + 1; who < CONTESTANTS; who++)
        reset_batch(b, b->batches[who]);
    for (int k = 0; k < CONTESTANTS; k++)
        run_contestant(b, (round + k) % CONTESTANTS, round);
    compare_positions(b);
}

static void make_batches(bench *b)
{
    for (int who = VEC + 1; who < CONTESTANTS; who++) {
        mjBatchConfig config;
        char message[800] = "";
        mjb_defaultConfig(&config);
        config.nthread = b->threads;
        config.persistent = contestants[who].persistent;
        look_inside(b, 0);
        b->batches[who] =
            mjb_makeBatch(b->models[0], b->envs, &config, message, (int)sizeof message);
        if (b->batches[who]) continue;
        fprintf(stderr, "bench_batch: %s\n", message);
        exit(1);
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A median and the interval that holds it with 95 % confidence, from the order of the numbers.
typedef struct middle {
    double median, low, high;
} middle;

static middle find_middle(const double *numbers, int count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, numbers, (size_t)count * sizeof *numbers);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    int outside = (int)floor(0.5 * count - 0.98 * sqrt(count)); // of either side
    if (outside < 0) outside = 0;
    return (middle){0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]), sorted[outside],
                    sorted[count - 1 - outside]};
}

// Over the rounds, how many times as long as wk_vec one took.
static middle find_ratio(const double *theirs, const double *ours, int rounds)
{
    double ratios[ROUNDS_MAX];
    for (int r = 0; r < rounds; r++)
        ratios[r] = theirs[r] / ours[r];
    return find_middle(ratios, rounds);
}

static void print_results(const bench *b, int rounds)
{
    for (int who = 0; who < CONTESTANTS; who++) {
        middle wall = find_ratio(b->wall[who], b->wall[VEC], rounds);
        middle cpu = find_ratio(b->cpu[who], b->cpu[VEC], rounds);
        printf("%-15s %-17s %8.0f  %6.3f (%.3f to %.3f)  %6.3f (%.3f to %.3f) %8.2g\n",
               b->scenario->domain->name, contestants[who].name,
               STEPS * b->envs / find_middle(b->wall[who], rounds).median, wall.median, wall.low,
               wall.high, cpu.median, cpu.low, cpu.high, b->apart[who]);
    }
}

static void bench_scenario(const scenario *s, int envs, int threads, int rounds)
{
    static bench b;
    b = (bench){.scenario = s, .envs = envs, .threads = threads};
    wk_error err = {0};
    drawn = s->domain;
    world_count = 0;
    wk_domain blind = *drawn;
    blind.create = create_world;
    blind.render = draw_nothing;
    b.actions = calloc((size_t)STEPS * (size_t)envs * (size_t)blind.action_size, sizeof *b.actions);
    if (!b.actions) exit(1);
    expect(wk_vec_create(&blind, NULL, envs, threads, &b.vec, &err), &err);
    reset_vec(&b, 0);
    make_batches(&b);
    for (int round = 0; round < rounds; round++)
        run_round(&b, round);
    print_results(&b, rounds);
    for (int who = VEC + 1; who < CONTESTANTS; who++)
        mjb_deleteBatch(b.batches[who]);
    wk_vec_destroy(b.vec);
    free(b.actions);
}

int main(int argc, char **argv)
{
    int envs = argc > 1 ? atoi(argv[1]) : 16, threads = argc > 2 ? atoi(argv[2]) : 2;
    int rounds = argc > 3 ? atoi(argv[3]) : 20;
    if (envs < 1 || envs > ENVS_MAX || threads < 1 || rounds < 1 || rounds > ROUNDS_MAX) {
        fprintf(stderr, "usage: bench_batch [ENVS [THREADS [ROUNDS]]]\n");
        return 2;
    }
    printf("MuJoCo %s, %d environments, %d threads, %d rounds of %d agent steps\n\n",
           mj_versionString(), envs, threads, rounds, STEPS);
    printf("%-15s %-17s %8s  %-23s  %-23s %8s\n", "domain", "", "steps/s", "time/wk_vec (95 %)",
           "cpu/wk_vec (95 %)", "apart");
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        bench_scenario(&scenarios[i], envs, threads, rounds);
    return 0;
}
