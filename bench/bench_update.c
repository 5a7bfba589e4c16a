// One update of the learner on any backend, without the environments: median and minimum time of
// its parts in sequence, and of updates as in a run, where they overlap; device memory, and with
// WAKER_TRACE=1 where the time goes.
//
// usage: bench_update [PRESET[,SIZE=N...]] [cpu|cuda|cuda-f32|cuda-one] [TASKS] [UPDATES] [OFF]
// The preset is quick, small or paper; a size is named as in sizes.h: small,deter=512,batch=24.
// cuda-one has one CUDA stream for all of a graph. OFF are kernels and passes of CUDA that are not
// used, separated by commas (wk_cuda_switch_off); on the CPU, which has none, names are checked.
#include "agent/learner_parts.h"
#include "agent/synthetic_batch.h"
#include "base/machine.h"
#include "sizes.h"
#include "tensor/cost.h"
#include "tensor/cuda/cuda.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/plan.h"
#include "tensor/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIONS = 6, WARM_UP = 3, IN_A_ROW = 4 };

typedef struct bench {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    wk_learner_config config;
    wk_synthetic_batch synthetic;
} bench;

static void check(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_update: %s\n", err->message);
    exit(1);
}

static void *room(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (memory) return memory;
    fprintf(stderr, "bench_update: no memory\n");
    exit(1);
}

static wk_status open_backend(bench *b, const char *device, wk_error *err)
{
    if (strcmp(device, "cuda") == 0)
        return wk_backend_cuda_create(0, WK_CUDA_BF16, &b->backend, err);
    if (strcmp(device, "cuda-one") == 0) {
        WK_TRY(wk_backend_cuda_create(0, WK_CUDA_BF16, &b->backend, err));
        wk_backend_cuda_streams(b->backend, WK_CUDA_STREAM_ONE);
        return WK_OK;
    }
    if (strcmp(device, "cuda-f32") == 0)
        return wk_backend_cuda_create(0, WK_CUDA_F32, &b->backend, err);
    if (strcmp(device, "cpu") != 0)
        return wk_fail(err, WK_E_INPUT, "the device is cpu, cuda, cuda-f32 or cuda-one, not '%s'",
                       device);
    WK_TRY(wk_pool_create(0, &b->pool, err));
    return wk_backend_cpu_create(b->pool, &b->backend, err);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void print_times(const char *what, double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_size);
    printf("%s: %.3f ms (median), %.3f ms (min)\n", what, 1e3 * seconds[count / 2],
           1e3 * seconds[0]);
}

// A sum over the bytes of all weights: the same for the same updates, whatever the streams.
static uint64_t weights_sum(const wk_learner *learner)
{
    wk_error err = {0};
    uint64_t sum = 14695981039346656037u;
    for (int set = 0; set < WK_NETWORKS; set++) {
        if (!learner->params[set]) continue;
        const wk_buffer *buffer = learner->params[set]->buffer;
        uint8_t *bytes = room(buffer->size);
        check(wk_buffer_download(buffer, 0, bytes, buffer->size, &err), &err);
        for (size_t i = 0; i < buffer->size; i++)
            sum = (sum ^ bytes[i]) * 1099511628211u;
        free(bytes);
    }
    return sum;
}

static void print_figures(const char *which, const wk_learner_metrics *m, const wk_task_metrics *t,
                          int tasks)
{
    printf(
        "%s: model loss %g norm %g, kl %g, ensemble loss %g, actor loss %g norm %g, critic loss %g "
        "norm %g\n",
        which, (double)m->model_loss, (double)m->model_norm, (double)m->kl,
        (double)m->ensemble_loss, (double)m->explore.actor_loss, (double)m->explore.actor_norm,
        (double)m->explore.critic_loss, (double)m->explore.critic_norm);
    for (int i = 0; i < tasks; i++)
        printf("  task %d: reward loss %g norm %g, actor loss %g norm %g, critic loss %g norm %g\n",
               i, (double)t->reward_loss[i], (double)t->reward_norm[i],
               (double)t->policy[i].actor_loss, (double)t->policy[i].actor_norm,
               (double)t->policy[i].critic_loss, (double)t->policy[i].critic_norm);
}

// Update and task update alone, in sequence; then the update's graphs alone. Gives the sum over the
// weights after the first two.
static uint64_t time_parts(bench *b, int updates)
{
    wk_error err = {0};
    wk_learner_metrics metrics = {0};
    wk_task_metrics of_tasks = {0};
    double *update = room((size_t)updates * sizeof *update);
    double *tasks = room((size_t)updates * sizeof *tasks);
    double *launch = room((size_t)updates * sizeof *launch);
    check(wk_learner_stage(b->learner, &b->synthetic.batch, &err), &err);
    for (int i = -WARM_UP; i < updates; i++) {
        double start = wk_clock_seconds();
        check(wk_learner_start(b->learner, &err), &err);
        check(wk_learner_stage(b->learner, &b->synthetic.batch, &err), &err);
        check(wk_learner_finish(b->learner, &metrics, NULL, &err), &err);
        double middle = wk_clock_seconds();
        if (b->config.tasks > 0)
            check(wk_learner_update_tasks(b->learner, &b->synthetic.batch, &of_tasks, &err), &err);
        if (i == -WARM_UP) print_figures("first", &metrics, &of_tasks, b->config.tasks);
        if (i < 0) continue;
        update[i] = middle - start;
        tasks[i] = wk_clock_seconds() - middle;
    }
    uint64_t sum = weights_sum(b->learner);
    for (int i = 0; i < updates; i++) {
        double start = wk_clock_seconds();
        check(wk_program_run(wk_learner_model_program(b->learner), &err), &err);
        check(wk_program_run(wk_learner_update_program(b->learner), &err), &err);
        launch[i] = wk_clock_seconds() - start;
    }
    print_times("reward-free update", update, updates);
    print_times("  of it the graphs", launch, updates);
    if (b->config.tasks > 0) print_times("task update", tasks, updates);
    print_figures("last", &metrics, &of_tasks, b->config.tasks);
    printf("weights %016llx\n", (unsigned long long)sum);
    free(update);
    free(tasks);
    free(launch);
    return sum;
}

static double update_as_in_a_run(bench *b)
{
    wk_error err = {0};
    double start = wk_clock_seconds();
    check(wk_learner_start(b->learner, &err), &err);
    check(wk_learner_start_tasks(b->learner, &err), &err);
    check(wk_learner_stage(b->learner, &b->synthetic.batch, &err), &err);
    check(wk_learner_finish(b->learner, NULL, NULL, &err), &err);
    return wk_clock_seconds() - start;
}

// Updates, with task updates where there are tasks, as a run has them. One begins before the one
// before has ended, so several in a row are timed together. Gives the sum over the weights after
// as many as time_parts makes.
static uint64_t time_run(bench *b, int updates)
{
    wk_error err = {0};
    double *both = room((size_t)updates * sizeof *both);
    printf("the world model runs %s\n", b->learner->prefetches ? "ahead" : "in turn");
    check(wk_learner_stage(b->learner, &b->synthetic.batch, &err), &err);
    for (int i = -WARM_UP; i < updates; i++)
        (void)update_as_in_a_run(b);
    uint64_t sum = weights_sum(b->learner);
    for (int i = 0; i < updates; i++) {
        both[i] = 0;
        for (int k = 0; k < IN_A_ROW; k++)
            both[i] += update_as_in_a_run(b) / IN_A_ROW;
    }
    print_times(b->config.tasks > 0 ? "update with task update" : "update as in a run", both,
                updates);
    free(both);
    return sum;
}

// The table for WAKER_TRACE=1, else the trace file it names.
static void trace(wk_program *program, const char *suffix)
{
    enum { RUNS = 3 };
    wk_error err = {0};
    wk_text text = {0};
    check(wk_program_run(program, &err), &err);
    check(wk_program_trace(program, true, &err), &err);
    for (int i = 0; i < RUNS; i++)
        check(wk_program_run(program, &err), &err);
    bool table = strcmp(wk_trace_request(), "1") == 0;
    if (table)
        wk_program_trace_table(program, &text);
    else
        wk_program_trace_json(program, &text);
    char path[4096];
    snprintf(path, sizeof path, "%s%s", wk_trace_request(), suffix);
    FILE *file = table ? stdout : fopen(path, "w");
    if (file) fputs(wk_text_get(&text), file);
    if (file && !table) fclose(file);
    wk_text_free(&text);
    check(wk_program_trace(program, false, &err), &err);
}

static void open_learner(bench *b, unsigned how)
{
    wk_error err = {0};
    double start = wk_clock_seconds();
    unsigned uses = WK_LEARNER_UPDATES | how;
    check(wk_learner_create(uses, &b->config, b->backend, &b->learner, &err), &err);
    wk_learner_memory memory = wk_learner_get_memory(b->learner);
    if (b->synthetic.device_frames)
        memory.allocated -= b->synthetic.device_frames->size; // not the learner's
    printf("set-up %.0f ms; memory: %.1f MiB state, %.1f MiB planned, %.1f MiB in use\n",
           1e3 * (wk_clock_seconds() - start), (double)memory.state / (1 << 20),
           (double)memory.planned / (1 << 20), (double)memory.allocated / (1 << 20));
}

static double flops_of(const wk_program *program)
{
    return wk_plan_flops(program->plan);
}

// What arithmetic the update is, and what a run would warn of at its start.
static void print_sizes(const bench *b)
{
    const wk_program *model = wk_learner_model_program(b->learner);
    const wk_program *rest = wk_learner_update_program(b->learner);
    const char *slow = wk_program_slow_path(model);
    if (!*slow) slow = wk_program_slow_path(rest);
    printf("arithmetic: %.1f GFLOP\n", (flops_of(model) + flops_of(rest)) / 1e9);
    if (*slow) printf("slow path: %s\n", slow);
}

static void measure(bench *b, int updates)
{
    wk_error err = {0};
    open_learner(b, WK_LEARNER_NO_PREFETCH);
    print_sizes(b);
    uint64_t apart = time_parts(b, updates);
    if (wk_trace_request()) {
        trace(wk_learner_model_program(b->learner), ".model");
        trace(wk_learner_update_program(b->learner), "");
    }
    if (wk_trace_request() && b->config.tasks > 0)
        trace(wk_learner_task_program(b->learner), ".tasks");
    wk_learner_destroy(b->learner);
    open_learner(b, 0);
    uint64_t together = time_run(b, updates);
    wk_learner_destroy(b->learner);
    if (together != apart)
        check(wk_fail(&err, WK_E_INPUT, "the weights are others: %016llx",
                      (unsigned long long)together),
              &err);
}

int main(int count, char **args)
{
    const char *preset = count > 1 ? args[1] : "quick", *device = count > 2 ? args[2] : "cpu";
    const char *off = count > 5 ? args[5] : "";
    int updates = count > 4 ? atoi(args[4]) : 20;
    wk_error err = {0};
    bench b = {.config = wk_learner_config_default()};
    if (!bench_sizes(&b.config, preset))
        check(wk_fail(&err, WK_E_INPUT, "no such sizes: '%s'", preset), &err);
    b.config.action_size = ACTIONS;
    b.config.tasks = count > 3 ? atoi(args[3]) : 0;
    check(open_backend(&b, device, &err), &err);
    if (b.pool) {
        wk_cuda_limits none = {0};
        check(wk_cuda_switch_off(off, &none, &err), &err);
    } else {
        check(wk_backend_cuda_switch_off(b.backend, off, &err), &err);
    }
    printf("preset %s on %s, %d tasks%s%s\n", preset, device, b.config.tasks,
           *off ? ", without " : "", off);
    check(wk_synthetic_batch_create(&b.config, b.backend, &b.synthetic, &err), &err);
    measure(&b, updates < 1 ? 1 : updates);
    wk_synthetic_batch_free(&b.synthetic);
    wk_backend_destroy(b.backend);
    wk_pool_destroy(b.pool);
    return 0;
}
