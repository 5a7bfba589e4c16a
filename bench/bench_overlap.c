// How much overlap an update leaves room for: two learners of the same size at once, a thread and
// streams each. The time saved against running them in sequence bounds what overlapping updates can
// give.
//
// usage: bench_overlap [quick|small|paper] [RUNS]
#include "agent/learner_parts.h"
#include "base/machine.h"
#include "sizes.h"
#include "tensor/cuda/cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACTIONS = 6, TASKS = 5, WARM_UP = 3 };

typedef struct side {
    wk_backend *backend;
    wk_learner *learner;
    wk_program *programs[2]; // run in sequence; the second may be NULL
    int runs;
    pthread_barrier_t *ready;
    double seconds; // of a run
} side;

static void check(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_overlap: %s\n", err->message);
    exit(1);
}

static void open_side(side *s, const char *preset, int tasks)
{
    wk_error err = {0};
    wk_learner_config config = wk_learner_config_default();
    if (!bench_sizes(&config, preset))
        check(wk_fail(&err, WK_E_INPUT, "no preset '%s'", preset), &err);
    config.action_size = ACTIONS;
    config.tasks = tasks;
    check(wk_backend_cuda_create(0, WK_CUDA_BF16, &s->backend, &err), &err);
    check(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config, s->backend,
                            &s->learner, &err),
          &err);
}

// The programs of a whole update.
static void run_updates(side *s)
{
    s->programs[0] = wk_learner_model_program(s->learner);
    s->programs[1] = wk_learner_update_program(s->learner);
}

static void close_side(side *s)
{
    wk_learner_destroy(s->learner);
    wk_backend_destroy(s->backend);
}

static void run_once(side *s)
{
    wk_error err = {0};
    for (int i = 0; i < 2; i++)
        if (s->programs[i]) check(wk_program_run(s->programs[i], &err), &err);
}

static void *run(void *at)
{
    side *s = at;
    for (int i = 0; i < WARM_UP; i++)
        run_once(s);
    pthread_barrier_wait(s->ready);
    double start = wk_clock_seconds();
    for (int i = 0; i < s->runs; i++)
        run_once(s);
    s->seconds = (wk_clock_seconds() - start) / s->runs;
    return NULL;
}

// Runs one side alone for b NULL, else both at once; the time of a run of the slower one.
static double measure(side *a, side *b)
{
    pthread_barrier_t ready;
    pthread_t other;
    pthread_barrier_init(&ready, NULL, b ? 2 : 1);
    a->ready = &ready;
    if (b) b->ready = &ready;
    if (b && pthread_create(&other, NULL, run, b) != 0) {
        fprintf(stderr, "bench_overlap: no thread\n");
        exit(1);
    }
    run(a);
    if (b) pthread_join(other, NULL);
    pthread_barrier_destroy(&ready);
    return b && b->seconds > a->seconds ? b->seconds : a->seconds;
}

static void compare(const char *what, side *a, side *b)
{
    double alone = measure(a, NULL) + measure(b, NULL), together = measure(a, b);
    printf("%s: %.2f ms in sequence, %.2f ms at once\n", what, 1e3 * alone, 1e3 * together);
}

int main(int count, char **args)
{
    const char *preset = count > 1 ? args[1] : "paper";
    int runs = count > 2 ? atoi(args[2]) : 100;
    side a = {.runs = runs < 1 ? 1 : runs}, b = {.runs = a.runs};
    open_side(&a, preset, 0);
    open_side(&b, preset, TASKS);
    run_updates(&a);
    run_updates(&b);
    compare("two updates", &a, &b);
    b.programs[0] = wk_learner_task_program(b.learner);
    b.programs[1] = NULL;
    compare("an update and a task update of five policies", &a, &b);
    close_side(&a);
    close_side(&b);
    return 0;
}
