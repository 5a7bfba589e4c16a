// A tiny learner with synthetic batches, for tests of the learner and what uses it.
#ifndef WK_TESTS_AGENT_FIXTURE_H
#define WK_TESTS_AGENT_FIXTURE_H

#include "agent/learner_parts.h"
#include "base/random.h"
#include "support/async_device.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/learner.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { T = 4, B = 3, ROWS = T * B, A = 2, TASKS = 2, PIXELS = 64 * 64 * 3, UPDATES = 3 };

static wk_error err;

static inline wk_learner_config tiny(int tasks)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 2, c.deter = 10, c.hidden = 9, c.stoch = 3, c.classes = 5, c.units = 8, c.layers = 2;
    c.ensemble = 3, c.batch = B, c.length = T, c.horizon = 3, c.action_size = A, c.tasks = tasks;
    c.slow_period = 2, c.model_rate = 1e-3f, c.seed = 5;
    return c;
}

static inline bool on_gpu(void)
{
    return getenv("WAKER_TEST_DEVICE") != NULL;
}

typedef struct fixture {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
} fixture;

static inline fixture open_rig_for(unsigned uses, wk_learner_config config, int threads)
{
    fixture r = {0};
    assert_ok(wk_pool_create(threads, &r.pool, &err));
    assert_ok(test_backend_create(r.pool, &r.backend, &err));
    assert_ok(wk_learner_create(uses, &config, r.backend, &r.learner, &err));
    return r;
}

static inline fixture open_fixture(wk_learner_config config, int threads)
{
    return open_rig_for(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, config, threads);
}

// A learner on a device that works when it should not yet, or on the GPU.
static inline fixture open_beside(wk_learner_config config, async_mode mode)
{
    fixture r = {0};
    assert_ok(wk_pool_create(1, &r.pool, &err));
    assert_ok(test_backend_create(r.pool, &r.backend, &err));
    if (!wk_backend_is_async(r.backend)) async_device_make(r.backend, mode);
    async_device_set_memory(0, INT_MAX);
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config, r.backend,
                                &r.learner, &err));
    return r;
}

static inline void close_fixture(fixture *r)
{
    wk_learner_destroy(r->learner);
    wk_backend_destroy(r->backend);
    wk_pool_destroy(r->pool);
}

// A file of this process alone: the same test may run on several devices at once.
static inline const char *own_file(int number)
{
    static char paths[2][64];
    snprintf(paths[number], sizeof *paths, "rig.%d.%d.tmp.safetensors", (int)getpid(), number);
    return paths[number];
}

typedef struct batch {
    uint8_t images[ROWS * PIXELS], first[ROWS];
    float actions[ROWS * A], rewards[ROWS * TASKS];
} batch;

// Batch `number`: noise, with a sequence that begins in the middle of another.
static inline batch *make_batch(uint64_t number)
{
    batch *b = malloc(sizeof *b);
    assert_non_null(b);
    wk_rng rng = wk_rng_stream(3, "test batch", number);
    for (size_t i = 0; i < sizeof b->images; i++)
        b->images[i] = (uint8_t)wk_rng_uniform(&rng, 0, 256);
    for (int i = 0; i < ROWS; i++)
        b->first[i] = i < B || i == 2 * B + 1;
    for (int i = 0; i < ROWS * A; i++)
        b->actions[i] = (float)wk_rng_uniform(&rng, -1, 1);
    for (int i = 0; i < ROWS * TASKS; i++)
        b->rewards[i] = (float)wk_rng_uniform(&rng, 0, 1);
    return b;
}

static inline wk_learner_batch view(const batch *b)
{
    return (wk_learner_batch){
        .images = b->images, .actions = b->actions, .first = b->first, .rewards = b->rewards};
}

// What updates report; compared as bytes, so it has no padding.
typedef struct record {
    wk_learner_metrics metrics;
    float delta[ROWS];
} record;

static inline record update(fixture *r, uint64_t number)
{
    record out;
    memset(&out, 0, sizeof out);
    batch *b = make_batch(number);
    wk_learner_batch v = view(b);
    assert_ok(learner_update(r->learner, &v, &out.metrics, out.delta, &err));
    if (r->learner->config.tasks > 0)
        assert_ok(wk_learner_update_tasks(r->learner, &v, &(wk_task_metrics){0}, &err));
    free(b);
    return out;
}

// All weights of a network, malloc'd.
static inline uint8_t *weights(const fixture *r, wk_network_id network, size_t *size)
{
    wk_buffer *buffer = r->learner->params[network]->buffer;
    uint8_t *bytes = malloc(buffer->size);
    assert_non_null(bytes);
    assert_ok(wk_buffer_download(buffer, 0, bytes, buffer->size, &err));
    *size = buffer->size;
    return bytes;
}

static inline void assert_same_weights(const fixture *a, const fixture *b)
{
    for (int network = 0; network < WK_NETWORKS; network++) {
        if (!a->learner->params[network] || !b->learner->params[network]) continue;
        size_t size, other;
        uint8_t *x = weights(a, network, &size), *y = weights(b, network, &other);
        assert_int_equal(size, other);
        if (memcmp(x, y, size) != 0)
            fail_msg("the weights of '%s' differ", a->learner->params[network]->name);
        free(x);
        free(y);
    }
}

#endif
