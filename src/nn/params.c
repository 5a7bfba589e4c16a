#include "nn/params.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/rng.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Weights begin on cache lines, so that kernels meet aligned memory.
enum { ALIGNMENT = 64 };

struct wk_params {
    wk_arena names;
    const char *name;
    int stack;
    uint64_t seed;
    WK_ARRAY(wk_weight) items;
    size_t bytes;
    bool failed; // memory ran out while weights were declared
    wk_buffer *buffer;
};

wk_status wk_params_create(const wk_params_config *config, wk_params **out, wk_error *err)
{
    assert(config->stack >= 0);
    wk_params *params = calloc(1, sizeof *params);
    if (params) params->names.block_size = 4096;
    if (params) params->name = wk_arena_string(&params->names, config->name);
    if (!params || !params->name) {
        free(params);
        return wk_fail(err, WK_E_MEMORY, "no memory for the parameter set '%s'", config->name);
    }
    params->stack = config->stack;
    params->seed = config->seed;
    *out = params;
    return WK_OK;
}

void wk_params_destroy(wk_params *params)
{
    if (!params) return;
    wk_buffer_destroy(params->buffer);
    wk_array_free(&params->items);
    wk_arena_reset(&params->names);
    free(params);
}

const char *wk_params_name(const wk_params *params)
{
    return params->name;
}

int wk_params_stack(const wk_params *params)
{
    return params->stack;
}

size_t wk_params_count(const wk_params *params)
{
    return params->items.count;
}

const wk_weight *wk_params_at(const wk_params *params, size_t index)
{
    assert(index < params->items.count);
    return &params->items.items[index];
}

wk_shape wk_params_stacked(const wk_params *params, wk_shape shape)
{
    if (params->stack == 0) return shape;
    assert(shape.rank < WK_RANK_MAX);
    wk_shape stacked = {.rank = shape.rank + 1, .dim = {params->stack}};
    memcpy(stacked.dim + 1, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
    return stacked;
}

static int find(const wk_params *params, const char *name)
{
    for (size_t i = 0; i < params->items.count; i++)
        if (strcmp(params->items.items[i].name, name) == 0) return (int)i;
    return -1;
}

int wk_params_declare(wk_params *params, const char *name, wk_shape shape, wk_init init)
{
    shape = wk_params_stacked(params, shape);
    int known = find(params, name);
    if (known >= 0) {
        assert(wk_shape_equal(params->items.items[known].shape, shape));
        return known;
    }
    assert(!params->buffer);
    wk_weight item = {wk_arena_string(&params->names, name), shape, init, params->bytes,
                      wk_shape_count(shape)};
    if (!item.name || !wk_array_push(&params->items, item)) {
        params->failed = true;
        return -1;
    }
    size_t bytes = item.count * sizeof(float);
    params->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return (int)params->items.count - 1;
}

// Glorot and Bengio 2010. Element i of a member takes word i % 4 of block i / 4 of its stream, the
// rule of every uniform draw in a graph.
static void glorot(const wk_init *init, uint64_t key, uint64_t member, float *values, size_t count)
{
    float limit = (float)sqrt(6.0 / ((double)init->fan_in + init->fan_out));
    for (size_t i = 0; i < count; i += 4) {
        wk_u32x4 words = wk_philox_at(key, member, i / 4);
        for (size_t j = 0; j < 4 && i + j < count; j++)
            values[i + j] = limit * (2 * wk_unit_float(words.v[j]) - 1);
    }
}

static uint64_t init_key(const wk_params *params, const char *name)
{
    char stream[512];
    int length = snprintf(stream, sizeof stream, "init/%s/%s", params->name, name);
    assert(length < (int)sizeof stream);
    (void)length;
    return wk_rng_key(params->seed, stream);
}

void wk_params_initial(const wk_params *params, size_t index, float *values)
{
    const wk_weight *item = wk_params_at(params, index);
    if (item->init.kind != WK_INIT_GLOROT) {
        for (size_t i = 0; i < item->count; i++)
            values[i] = item->init.kind == WK_INIT_ONES;
        return;
    }
    uint64_t key = init_key(params, item->name);
    size_t members = params->stack > 0 ? (size_t)params->stack : 1, each = item->count / members;
    for (size_t member = 0; member < members; member++)
        glorot(&item->init, key, member, values + member * each, each);
}

static wk_status upload_initial(wk_params *params, wk_error *err)
{
    for (size_t i = 0; i < params->items.count; i++) {
        const wk_weight *item = &params->items.items[i];
        float *values = malloc(item->count * sizeof *values);
        if (!values)
            return wk_fail(err, WK_E_MEMORY, "no memory for the weight '%s/%s'", params->name,
                           item->name);
        wk_params_initial(params, i, values);
        wk_status status = wk_buffer_upload(params->buffer, item->offset, values,
                                            item->count * sizeof *values, err);
        free(values);
        WK_TRY(status);
    }
    return WK_OK;
}

wk_status wk_params_place(wk_params *params, wk_backend *backend, wk_error *err)
{
    assert(!params->buffer);
    if (params->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the weights of '%s'", params->name);
    wk_buffer *buffer = NULL;
    WK_TRY(wk_buffer_create(backend, params->bytes > 0 ? params->bytes : ALIGNMENT, &buffer, err));
    params->buffer = buffer;
    wk_status status = upload_initial(params, err);
    if (status == WK_OK) return WK_OK;
    wk_buffer_destroy(buffer);
    params->buffer = NULL;
    return status;
}

bool wk_params_placed(const wk_params *params)
{
    return params->buffer != NULL;
}

wk_buffer *wk_params_buffer(const wk_params *params)
{
    return params->buffer;
}

static wk_status copy_one(wk_params *params, const wk_weight *item, const wk_params *from,
                          wk_error *err)
{
    int index = find(from, item->name);
    assert(index >= 0);
    const wk_weight *source = &from->items.items[index];
    assert(wk_shape_equal(source->shape, item->shape));
    size_t bytes = item->count * sizeof(float);
    float *values = malloc(bytes);
    if (!values)
        return wk_fail(err, WK_E_MEMORY, "no memory for the weight '%s/%s'", params->name,
                       item->name);
    wk_status status = wk_buffer_download(from->buffer, source->offset, values, bytes, err);
    if (status == WK_OK)
        status = wk_buffer_upload(params->buffer, item->offset, values, bytes, err);
    free(values);
    return status;
}

wk_status wk_params_copy(wk_params *params, const wk_params *from, wk_error *err)
{
    assert(params->buffer && from->buffer);
    for (size_t i = 0; i < params->items.count; i++)
        WK_TRY(copy_one(params, &params->items.items[i], from, err));
    return WK_OK;
}
