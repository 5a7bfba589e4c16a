#include "support/engine.h"
#include "support/backend.h"
#include "support/check.h"

#include <stdlib.h>

engine engine_open(int threads)
{
    engine e = {0};
    wk_error err = {0};
    assert_ok(wk_graph_create(&e.g, &err));
    assert_ok(wk_pool_create(threads, &e.pool, &err));
    assert_ok(test_backend_create(e.pool, &e.backend, &err));
    return e;
}

void engine_close(engine *e)
{
    wk_program_destroy(e->program);
    wk_backend_destroy(e->backend);
    wk_pool_destroy(e->pool);
    wk_graph_destroy(e->g);
}

void engine_compile(engine *e)
{
    wk_error err = {0};
    if (!e->program) assert_ok(wk_program_create(e->g, e->backend, &e->program, &err));
}

void engine_run(engine *e)
{
    wk_error err = {0};
    engine_compile(e);
    assert_ok(wk_program_run(e->program, &err));
}

static size_t size_of(const engine *e, wk_tensor x)
{
    return wk_shape_count(wk_graph_shape(e->g, x)) * wk_dtype_size(wk_graph_dtype(e->g, x));
}

void engine_set(engine *e, wk_tensor x, const void *values)
{
    wk_error err = {0};
    engine_compile(e);
    assert_ok(wk_program_upload(e->program, x, values, size_of(e, x), &err));
}

void engine_get(engine *e, wk_tensor x, void *values)
{
    wk_error err = {0};
    assert_ok(wk_program_download(e->program, x, values, size_of(e, x), &err));
}

float engine_float(engine *e, wk_tensor x)
{
    float *values = malloc(size_of(e, x));
    engine_get(e, x, values);
    float first = values[0];
    free(values);
    return first;
}

uint64_t engine_u64(engine *e, wk_tensor x)
{
    uint64_t *values = malloc(size_of(e, x));
    engine_get(e, x, values);
    uint64_t first = values[0];
    free(values);
    return first;
}

wk_tensor engine_state(engine *e, wk_shape shape)
{
    return wk_graph_persistent(e->g, WK_F32, shape, "state", NULL, 0);
}

wk_tensor engine_counter(engine *e)
{
    return wk_graph_persistent(e->g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
}
