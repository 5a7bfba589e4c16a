// One update of a population of learners, all as one: time of an update of all of them as in a run,
// each one's share, and whether the first ends in the weights that it has alone. `waker bench
// update
// --population` measures the same with the program's presets; this one needs the engine alone.
//
// usage: bench_population [PRESET[,SIZE=N...]] [cpu|cuda|cuda-f32] [TASKS] [POPULATION] [UPDATES]
// With WAKER_TRACE=1 it prints where the time goes; another value is the path of a trace file.
#include "agent/learner_parts.h"
#include "agent/synthetic_batch.h"
#include "base/hash.h"
#include "base/machine.h"
#include "sizes.h"
#include "tensor/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIONS = 6, WARM_UP = 5, IN_A_ROW = 4 };

typedef struct bench {
    int count;
    wk_pool *pool;
    wk_backend *backends[WK_POPULATION_MAX];
    wk_learner *learners[WK_POPULATION_MAX];
    wk_synthetic_batch synthetic;
    wk_learner_batch batches[WK_POPULATION_MAX];
} bench;

static void check(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_population: %s\n", err->message);
    exit(1);
}

static wk_status open_backends(bench *b, const char *device, wk_error *err)
{
    wk_cuda_precision precision = strcmp(device, "cuda") == 0 ? WK_CUDA_BF16 : WK_CUDA_F32;
    if (strncmp(device, "cuda", 4) == 0 && b->count > 1)
        return wk_backend_cuda_create_population(0, precision, b->count, b->backends, err);
    if (strncmp(device, "cuda", 4) == 0)
        return wk_backend_cuda_create(0, precision, b->backends, err);
    WK_TRY(wk_pool_create(0, &b->pool, err));
    WK_TRY(wk_backend_cpu_create(b->pool, b->backends, err));
    for (int r = 1; r < b->count; r++)
        b->backends[r] = b->backends[0];
    return WK_OK;
}

static void close_bench(bench *b)
{
    for (int r = 0; r < b->count; r++)
        wk_learner_destroy(b->learners[r]);
    wk_synthetic_batch_free(&b->synthetic);
    for (int r = b->count - 1; r >= 0; r--)
        if (r == 0 || b->backends[r] != b->backends[0]) wk_backend_destroy(b->backends[r]);
    wk_pool_destroy(b->pool);
}

static bench open_bench(const wk_learner_config *config, const char *device, int count)
{
    wk_error err = {0};
    bench b = {.count = count};
    wk_learner_config configs[WK_POPULATION_MAX];
    for (int r = 0; r < count; r++) {
        configs[r] = *config;
        configs[r].seed += (uint64_t)r;
    }
    check(open_backends(&b, device, &err), &err);
    double start = wk_clock_seconds();
    check(wk_learner_create_population(WK_LEARNER_UPDATES, configs, b.backends, count, b.learners,
                                       &err),
          &err);
    check(wk_synthetic_batch_create(config, b.backends[0], &b.synthetic, &err), &err);
    for (int r = 0; r < count; r++)
        b.batches[r] = b.synthetic.batch;
    printf("%d learners made in %.0f ms; each %.1f MiB state, %.1f MiB planned; %.1f MiB in use\n",
           count, 1e3 * (wk_clock_seconds() - start),
           (double)wk_learner_get_memory(b.learners[0]).state / (1 << 20),
           (double)wk_learner_get_memory(b.learners[0]).planned / (1 << 20),
           (double)wk_backend_allocated(b.backends[0]) / (1 << 20));
    check(wk_learner_stage(b.learners[0], b.batches, &err), &err);
    return b;
}

static double update(bench *b)
{
    wk_error err = {0};
    wk_learner_metrics metrics[WK_POPULATION_MAX];
    double start = wk_clock_seconds();
    check(wk_learner_start(b->learners[0], &err), &err);
    check(wk_learner_start_tasks(b->learners[0], &err), &err);
    check(wk_learner_stage(b->learners[0], b->batches, &err), &err);
    check(wk_learner_finish(b->learners[0], metrics, NULL, &err), &err);
    for (int r = 0; r < b->count; r++)
        if (wk_learner_metrics_nonfinite(&metrics[r]))
            check(wk_fail(&err, WK_E_DIVERGED, "learner %d: %s is not finite", r,
                          wk_learner_metrics_nonfinite(&metrics[r])),
                  &err);
    return wk_clock_seconds() - start;
}

// A hash of the model's weights.
static uint64_t weights_hash(const wk_learner *learner)
{
    wk_error err = {0};
    const wk_buffer *buffer = learner->params[WK_NETWORK_MODEL]->buffer;
    uint8_t *bytes = malloc(buffer->size);
    if (!bytes) check(wk_fail(&err, WK_E_MEMORY, "no memory"), &err);
    check(wk_buffer_download(buffer, 0, bytes, buffer->size, &err), &err);
    uint64_t hash = wk_fnv1a(WK_FNV1A_START, bytes, buffer->size);
    free(bytes);
    return hash;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

// The median of `updates` measurements; `hash` is of the last member after the warm-up.
static double measure(bench *b, int updates, int member, uint64_t *hash)
{
    double *seconds = malloc((size_t)updates * sizeof *seconds);
    if (!seconds) exit(1);
    for (int i = 0; i < WARM_UP; i++)
        (void)update(b);
    *hash = weights_hash(b->learners[member]);
    for (int i = 0; i < updates; i++) {
        seconds[i] = 0;
        for (int k = 0; k < IN_A_ROW; k++)
            seconds[i] += update(b) / IN_A_ROW;
    }
    qsort(seconds, (size_t)updates, sizeof *seconds, by_size);
    double median = seconds[updates / 2];
    free(seconds);
    return median;
}

// The table for WAKER_TRACE=1, else the trace file it names.
static void trace(wk_program *program, const char *suffix)
{
    wk_error err = {0};
    wk_text text = {0};
    if (!program) return;
    check(wk_program_trace(program, true, &err), &err);
    for (int i = 0; i < 3; i++)
        check(wk_program_run(program, &err), &err);
    bool table = strcmp(wk_trace_request(), "1") == 0;
    char path[4096];
    snprintf(path, sizeof path, "%s%s", wk_trace_request(), suffix);
    if (table)
        wk_program_trace_table(program, &text);
    else
        wk_program_trace_json(program, &text);
    FILE *file = table ? stdout : fopen(path, "w");
    if (file) fputs(wk_text_get(&text), file);
    if (file && !table) fclose(file);
    wk_text_free(&text);
    check(wk_program_trace(program, false, &err), &err);
}

int main(int count, char **args)
{
    const char *preset = count > 1 ? args[1] : "quick", *device = count > 2 ? args[2] : "cpu";
    int population = count > 4 ? atoi(args[4]) : 2, updates = count > 5 ? atoi(args[5]) : 20;
    wk_error err = {0};
    wk_learner_config config = wk_learner_config_default();
    if (!bench_sizes(&config, preset))
        check(wk_fail(&err, WK_E_INPUT, "no such sizes: '%s'", preset), &err);
    config.action_size = ACTIONS;
    config.tasks = count > 3 ? atoi(args[3]) : 0;
    uint64_t alone_hash, hash;
    int last = population - 1;
    wk_learner_config of_last = config;
    of_last.seed += (uint64_t)last;
    bench one = open_bench(&of_last, device, 1);
    double alone = measure(&one, updates, 0, &alone_hash);
    close_bench(&one);
    bench all = open_bench(&config, device, population);
    double together = measure(&all, updates, last, &hash);
    printf("%s on %s, %d tasks: one %.3f ms; %d together %.3f ms, %.3f ms each, %.2f times the "
           "throughput; the last one's weights are %s\n",
           preset, device, config.tasks, 1e3 * alone, population, 1e3 * together,
           1e3 * together / population, alone * population / together,
           hash == alone_hash ? "those it has alone" : "others than alone");
    if (wk_trace_request()) {
        check(wk_learner_discard_prefetch(all.learners[0], &err), &err); // it is still in flight
        trace(wk_learner_model_program(all.learners[0]), ".model");
        trace(wk_learner_update_program(all.learners[0]), "");
        trace(wk_learner_task_program(all.learners[0]), ".tasks");
    }
    close_bench(&all);
    return 0;
}
