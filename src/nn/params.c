#include "nn/params.h"

#include "base/memory.h"
#include "base/random.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Weights begin on cache lines, so that kernels meet aligned memory.
enum { ALIGNMENT = 64 };

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
    wk_array_free(&params->weights);
    wk_arena_reset(&params->names);
    free(params);
}

// `shape` with the set's stack axis in front, if it has one.
static wk_shape stacked(const wk_params *params, wk_shape shape)
{
    if (params->stack == 0) return shape;
    assert(shape.rank < WK_RANK_MAX);
    wk_shape result = {.rank = shape.rank + 1, .dim = {params->stack}};
    memcpy(result.dim + 1, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
    return result;
}

static int find(const wk_params *params, const char *name)
{
    for (size_t i = 0; i < params->weights.count; i++)
        if (strcmp(params->weights.items[i].name, name) == 0) return (int)i;
    return -1;
}

int wk_params_declare(wk_params *params, const char *name, wk_shape shape, wk_init init)
{
    shape = stacked(params, shape);
    int known = find(params, name);
    if (known >= 0) {
        assert(wk_shape_equal(params->weights.items[known].shape, shape));
        return known;
    }
    assert(!params->buffer);
    wk_weight item = {wk_arena_string(&params->names, name), shape, init, params->bytes,
                      wk_shape_count(shape)};
    if (!item.name || !wk_array_push(&params->weights, item)) {
        params->failed = true;
        return -1;
    }
    size_t bytes = item.count * sizeof(float);
    params->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return (int)params->weights.count - 1;
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

void wk_params_initial(const wk_params *params, size_t index, float *values)
{
    const wk_weight *item = &params->weights.items[index];
    if (item->init.kind != WK_INIT_GLOROT) {
        for (size_t i = 0; i < item->count; i++)
            values[i] = item->init.kind == WK_INIT_ONES;
        return;
    }
    char stream[512];
    int length = snprintf(stream, sizeof stream, "init/%s/%s", params->name, item->name);
    assert(length < (int)sizeof stream);
    (void)length;
    uint64_t key = wk_rng_key(params->seed, stream);
    size_t members = params->stack > 0 ? (size_t)params->stack : 1, each = item->count / members;
    for (size_t member = 0; member < members; member++)
        glorot(&item->init, key, member, values + member * each, each);
}

// Fills weight `index` with its initial values, or with those of `from`.
static wk_status fill(wk_params *params, size_t index, const wk_params *from, wk_error *err)
{
    const wk_weight *item = &params->weights.items[index];
    size_t bytes = item->count * sizeof(float);
    float *values = malloc(bytes);
    if (!values)
        return wk_fail(err, WK_E_MEMORY, "no memory for the weight '%s/%s'", params->name,
                       item->name);
    wk_status status = WK_OK;
    if (from) {
        int other = find(from, item->name);
        assert(other >= 0 && wk_shape_equal(from->weights.items[other].shape, item->shape));
        status =
            wk_buffer_download(from->buffer, from->weights.items[other].offset, values, bytes, err);
    } else {
        wk_params_initial(params, index, values);
    }
    if (status == WK_OK)
        status = wk_buffer_upload(params->buffer, item->offset, values, bytes, err);
    free(values);
    return status;
}

wk_status wk_params_place(wk_params *params, wk_backend *backend, wk_error *err)
{
    assert(!params->buffer);
    if (params->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the weights of '%s'", params->name);
    size_t bytes = params->bytes > 0 ? params->bytes : ALIGNMENT;
    WK_TRY(wk_buffer_create(backend, bytes, &params->buffer, err));
    wk_status status = WK_OK;
    for (size_t i = 0; status == WK_OK && i < params->weights.count; i++)
        status = fill(params, i, NULL, err);
    if (status == WK_OK) return WK_OK;
    wk_buffer_destroy(params->buffer);
    params->buffer = NULL;
    return status;
}

wk_status wk_params_copy(wk_params *params, const wk_params *from, wk_error *err)
{
    assert(params->buffer && from->buffer);
    for (size_t i = 0; i < params->weights.count; i++)
        WK_TRY(fill(params, i, from, err));
    return WK_OK;
}

wk_status wk_scope_create(wk_params *params, wk_graph *g, wk_scope **out, wk_error *err)
{
    wk_scope *scope = calloc(1, sizeof *scope);
    if (!scope) return wk_fail(err, WK_E_MEMORY, "no memory to use '%s' in a graph", params->name);
    scope->params = params;
    scope->g = g;
    *out = scope;
    return WK_OK;
}

void wk_scope_destroy(wk_scope *scope)
{
    if (!scope) return;
    wk_array_free(&scope->tensors);
    wk_array_free(&scope->indices);
    free(scope);
}

// The tensor of a weight, new where this graph meets it for the first time. When memory ran out the
// tensor is recorded all the same, so that recording can go on until wk_scope_bind reports it.
static wk_tensor use(wk_scope *scope, int index, wk_shape shape, const char *name)
{
    for (size_t i = 0; i < scope->indices.count; i++)
        if (scope->indices.items[i] == index) return scope->tensors.items[i];
    char full[512];
    snprintf(full, sizeof full, "%s/%s", scope->params->name, name);
    wk_buffer *buffer = scope->params->buffer;
    size_t offset = buffer ? scope->params->weights.items[index].offset : 0;
    wk_tensor tensor = wk_graph_persistent(scope->g, WK_F32, shape, full, buffer, offset);
    bool kept = index >= 0 && wk_tensor_exists(tensor) && wk_array_reserve(&scope->indices, 1) &&
                wk_array_push(&scope->tensors, tensor);
    if (kept)
        scope->indices.items[scope->indices.count++] = index;
    else
        scope->failed = true;
    return tensor;
}

wk_tensor wk_scope_weight(wk_scope *scope, const char *layer, const char *part, wk_shape shape,
                          wk_init init)
{
    char name[256];
    int length = snprintf(name, sizeof name, "%s/%s", layer, part);
    assert(length < (int)sizeof name);
    (void)length;
    int index = wk_params_declare(scope->params, name, shape, init);
    return use(scope, index, stacked(scope->params, shape), name);
}

void wk_scope_use_all(wk_scope *scope)
{
    for (size_t i = 0; i < scope->params->weights.count; i++) {
        const wk_weight *weight = &scope->params->weights.items[i];
        use(scope, (int)i, weight->shape, weight->name);
    }
}

wk_status wk_scope_bind(wk_scope *scope, wk_backend *backend, wk_error *err)
{
    if (!scope->params->buffer) WK_TRY(wk_params_place(scope->params, backend, err));
    if (scope->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the weights of '%s' in a graph",
                       scope->params->name);
    for (size_t i = 0; i < scope->tensors.count; i++)
        wk_graph_bind(scope->g, scope->tensors.items[i], scope->params->buffer,
                      wk_scope_param(scope, i)->offset);
    return WK_OK;
}

void wk_scope_copy_every(wk_scope *scope, const wk_scope *from, wk_tensor counter, uint64_t period)
{
    assert(scope->g == from->g);
    for (size_t i = 0; i < scope->tensors.count; i++) {
        size_t k = 0;
        while (k < from->tensors.count &&
               strcmp(wk_scope_param(from, k)->name, wk_scope_param(scope, i)->name) != 0)
            k++;
        assert(k < from->tensors.count || from->failed);
        if (k < from->tensors.count)
            wk_graph_store_every(scope->g, scope->tensors.items[i], from->tensors.items[k], counter,
                                 period);
    }
}
