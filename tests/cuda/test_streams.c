// Branches on streams of their own, overlapping task updates and prefetched world models, against
// everything in sequence on one stream: whole updates of the learner, reward-free and of tasks,
// leave the same bytes in all weights and moments. Repeated, and with nodes held up, because what
// is missing a wait is mostly lucky.
#include "agent/learner_parts.h"
#include "base/random.h"
#include "support/check.h"
#include "tensor/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 64 * 64 * 3, TASKS = 2, UPDATES = 6, REPEATS = 6 };

// The sizes of the quick preset's recurrence, so that it runs as one kernel.
static wk_learner_config config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.deter = c.hidden = 128, c.stoch = c.classes = 16, c.depth = 8, c.units = 64, c.layers = 2;
    c.ensemble = 3, c.batch = 8, c.length = 10, c.horizon = 5, c.action_size = 3, c.tasks = TASKS;
    return c;
}

typedef struct bytes {
    char *items;
    size_t count;
} bytes;

static void append(bytes *all, const wk_buffer *buffer, size_t size)
{
    wk_error err = {0};
    all->items = realloc(all->items, all->count + size);
    assert_non_null(all->items);
    assert_ok(wk_buffer_download(buffer, 0, all->items + all->count, size, &err));
    all->count += size;
}

static wk_learner_batch make_batch(const wk_learner_config *c)
{
    size_t rows = (size_t)c->batch * (size_t)c->length;
    size_t actions = rows * (size_t)c->action_size, rewards = rows * TASKS;
    uint8_t *images = malloc(rows * PIXELS), *first = calloc(rows, 1);
    float *action = malloc(actions * sizeof *action), *reward = malloc(rewards * sizeof *reward);
    assert_true(images && first && action && reward);
    wk_rng rng = wk_rng_stream(0, "branches", 0);
    for (size_t i = 0; i < rows * PIXELS; i++)
        images[i] = (uint8_t)wk_rng_uniform(&rng, 0, 256);
    memset(first, 1, (size_t)c->batch);
    for (size_t i = 0; i < actions; i++)
        action[i] = (float)wk_rng_uniform(&rng, -1, 1);
    for (size_t i = 0; i < rewards; i++)
        reward[i] = (float)wk_rng_uniform(&rng, 0, 1);
    return (wk_learner_batch){
        .images = images, .actions = action, .first = first, .rewards = reward};
}

// How updates go: everything in turn; tasks beside; the next world model ahead, too.
typedef enum manner { IN_TURN, TASKS_BESIDE, MODEL_AHEAD } manner;

// On the batch that is staged; leaves another one staged.
static void update(wk_learner *learner, const wk_learner_batch *batch, manner how)
{
    wk_error err = {0};
    assert_ok(wk_learner_start(learner, &err));
    if (how != IN_TURN) assert_ok(wk_learner_start_tasks(learner, &err));
    if (how == MODEL_AHEAD) assert_ok(wk_learner_stage(learner, batch, &err));
    assert_ok(wk_learner_finish(learner, NULL, NULL, &err));
    if (how == IN_TURN) assert_ok(wk_learner_update_tasks(learner, batch, NULL, &err));
    if (how != MODEL_AHEAD) assert_ok(wk_learner_stage(learner, batch, &err));
}

static bytes train(wk_cuda_precision precision, wk_cuda_streams streams, manner how)
{
    wk_error err = {0};
    wk_backend *backend;
    wk_learner *learner;
    wk_learner_config c = config();
    wk_learner_batch batch = make_batch(&c);
    assert_ok(wk_backend_cuda_create(0, precision, &backend, &err));
    wk_backend_cuda_streams(backend, streams);
    unsigned uses = WK_LEARNER_UPDATES | (how == MODEL_AHEAD ? 0 : WK_LEARNER_NO_PREFETCH);
    assert_ok(wk_learner_create(uses, &c, backend, &learner, &err));
    assert_int_equal(learner->prefetches, how == MODEL_AHEAD);
    assert_ok(wk_learner_stage(learner, &batch, &err));
    for (int i = 0; i < UPDATES; i++)
        update(learner, &batch, how);
    bytes all = {0};
    for (int i = 0; i < WK_NETWORKS; i++) {
        const wk_optimizer *optimizer = learner->optimizers[i];
        append(&all, learner->params[i]->buffer, learner->params[i]->buffer->size);
        if (optimizer) append(&all, optimizer->buffer, wk_optimizer_counts_offset(optimizer));
    }
    wk_learner_destroy(learner);
    wk_backend_destroy(backend);
    free((void *)batch.images);
    free((void *)batch.first);
    free((void *)batch.actions);
    free((void *)batch.rewards);
    return all;
}

static void compare(wk_cuda_precision precision)
{
    bytes one = train(precision, WK_CUDA_STREAM_ONE, IN_TURN);
    for (int i = 0; i < REPEATS; i++) {
        wk_cuda_streams streams = i % 2 ? WK_CUDA_STREAM_EACH : WK_CUDA_STREAMS_UNEVEN;
        bytes many = train(precision, streams, (manner)(i / 2));
        assert_int_equal(one.count, many.count);
        assert_memory_equal(one.items, many.items, one.count);
        free(many.items);
    }
    free(one.items);
}

TEST_CASE(streams_do_not_change_a_byte_in_bf16)
{
    compare(WK_CUDA_BF16);
}

TEST_CASE(streams_do_not_change_a_byte_in_float32)
{
    compare(WK_CUDA_F32);
}

int main(void)
{
    if (wk_cuda_device_count() == 0) {
        printf("no GPU: skipped\n");
        return 77;
    }
    return run_all_tests(NULL, NULL);
}
