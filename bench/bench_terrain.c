// What an agent step of the terrain domains costs on one core: physics with MuJoCo's height-field
// collider and with ours, and the image. The two colliders run the same episodes in turn and the
// fastest of several rounds is kept, so that a busy machine disturbs both alike.
//
// usage: bench_terrain [ROUNDS]
#include "base/clock.h"
#include "base/rng.h"
#include "env/domains/terrain.h"
#include "env/mujoco/hfield_collider.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 200, STOCK = 0, FAST, COLLIDERS };

typedef struct times {
    double physics, image; // seconds per agent step
} times;

static void *make_env(const wk_domain *domain, int collider)
{
    wk_error err = {0};
    void *env;
    const int options[WK_OPTIONS_MAX] = {0, collider == STOCK};
    if (domain->create(domain, options, &env, &err) == WK_OK) return env;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

// One episode's beginning on each kind of terrain under random actions.
static times measure(const wk_domain *domain, void *env)
{
    static const double thetas[][2] = {{0, 1}, {0.5, 0.6}, {1, 0.2}, {0.8, 0.15}, {-1, 0}};
    enum { THETAS = sizeof thetas / sizeof *thetas };
    static uint8_t image[WK_IMAGE_BYTES];
    wk_rng rng = wk_rng_stream(1, "bench", 0);
    times sum = {0};
    for (int k = 0; k < THETAS; k++) {
        wk_outcome out = {0};
        if (domain->reset(env, thetas[k], 1, (uint64_t)k, &out, NULL) != WK_OK) exit(1);
        for (int i = 0; i < STEPS; i++) {
            float action[WK_ACTION_MAX];
            for (int u = 0; u < domain->action_size; u++)
                action[u] = (float)wk_rng_uniform(&rng, -1, 1);
            double start = wk_clock_thread_seconds();
            domain->step(env, action, &out);
            double middle = wk_clock_thread_seconds();
            domain->render(env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, image);
            sum.physics += (middle - start) / (THETAS * STEPS);
            sum.image += (wk_clock_thread_seconds() - middle) / (THETAS * STEPS);
        }
    }
    return sum;
}

static void bench_domain(const wk_domain *domain, int physics_steps, int rounds)
{
    times best[COLLIDERS] = {{INFINITY, INFINITY}, {INFINITY, INFINITY}};
    void *envs[COLLIDERS] = {make_env(domain, STOCK), make_env(domain, FAST)};
    for (int r = 0; r < rounds; r++)
        for (int c = 0; c < COLLIDERS; c++) {
            times t = measure(domain, envs[c]);
            best[c].physics = fmin(best[c].physics, t.physics);
            best[c].image = fmin(best[c].image, t.image);
        }
    printf("%-15s %10.1f %10.1f %8.2f %10.1f %12.3f\n", domain->name,
           1e6 * best[STOCK].physics / physics_steps, 1e6 * best[FAST].physics / physics_steps,
           best[STOCK].physics / best[FAST].physics, 1e6 * best[FAST].image,
           1e3 * (best[FAST].physics + best[FAST].image));
    domain->destroy(envs[STOCK]);
    domain->destroy(envs[FAST]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    const char *why;
    if (!wk_hfield_collider_available(&why))
        printf("the fast collider is not available: %s\n", why);
    printf("%-15s %10s %10s %8s %10s %12s\n", "domain", "stock us", "fast us", "ratio", "image us",
           "whole ms");
    bench_domain(&wk_terrain_walker, 20, rounds);
    bench_domain(&wk_terrain_hopper, 8, rounds);
    return 0;
}
