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

struct wk_scope {
    wk_params *params;
    wk_graph *g;
    WK_ARRAY(wk_tensor) tensors;
    WK_ARRAY(int) indices; // into the set, next to the tensors
    bool failed;
};

wk_status wk_scope_create(wk_params *params, wk_graph *g, wk_scope **out, wk_error *err)
{
    wk_scope *scope = calloc(1, sizeof *scope);
    if (!scope)
        return wk_fail(err, WK_E_MEMORY, "no memory to use '%s' in a graph",
                       wk_params_name(params));
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

wk_graph *wk_scope_graph(const wk_scope *scope)
{
    return scope->g;
}

const wk_params *wk_scope_params(const wk_scope *scope)
{
    return scope->params;
}

int wk_scope_stack(const wk_scope *scope)
{
    return wk_params_stack(scope->params);
}

size_t wk_scope_count(const wk_scope *scope)
{
    return scope->tensors.count;
}

const wk_tensor *wk_scope_tensors(const wk_scope *scope)
{
    return scope->tensors.items;
}

const wk_weight *wk_scope_param(const wk_scope *scope, size_t index)
{
    assert(index < scope->indices.count);
    return wk_params_at(scope->params, (size_t)scope->indices.items[index]);
}

static wk_tensor known_tensor(const wk_scope *scope, int index)
{
    for (size_t i = 0; i < scope->indices.count; i++)
        if (scope->indices.items[i] == index) return scope->tensors.items[i];
    return (wk_tensor){0};
}

// A tensor for a weight that this graph meets for the first time. When memory ran out the tensor is
// recorded all the same, so that recording can go on until wk_scope_bind reports it.
static wk_tensor new_tensor(wk_scope *scope, int index, wk_shape shape, const char *name)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", wk_params_name(scope->params), name);
    wk_buffer *buffer = wk_params_buffer(scope->params);
    size_t offset = buffer ? wk_params_at(scope->params, (size_t)index)->offset : 0;
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
    wk_tensor known = known_tensor(scope, index);
    if (wk_tensor_exists(known)) return known;
    return new_tensor(scope, index, wk_params_stacked(scope->params, shape), name);
}

void wk_scope_use_all(wk_scope *scope)
{
    for (size_t i = 0; i < wk_params_count(scope->params); i++) {
        const wk_weight *weight = wk_params_at(scope->params, i);
        if (!wk_tensor_exists(known_tensor(scope, (int)i)))
            new_tensor(scope, (int)i, weight->shape, weight->name);
    }
}

wk_status wk_scope_bind(wk_scope *scope, wk_backend *backend, wk_error *err)
{
    if (!wk_params_placed(scope->params)) WK_TRY(wk_params_place(scope->params, backend, err));
    if (scope->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the weights of '%s' in a graph",
                       wk_params_name(scope->params));
    wk_buffer *buffer = wk_params_buffer(scope->params);
    for (size_t i = 0; i < scope->tensors.count; i++)
        wk_graph_bind(scope->g, scope->tensors.items[i], buffer, wk_scope_param(scope, i)->offset);
    return WK_OK;
}

static wk_tensor tensor_named(const wk_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->tensors.count; i++)
        if (strcmp(wk_scope_param(scope, i)->name, name) == 0) return scope->tensors.items[i];
    return (wk_tensor){0};
}

void wk_scope_copy_every(wk_scope *scope, const wk_scope *from, wk_tensor counter, uint64_t period)
{
    assert(scope->g == from->g);
    for (size_t i = 0; i < scope->tensors.count; i++) {
        wk_tensor source = tensor_named(from, wk_scope_param(scope, i)->name);
        assert(wk_tensor_exists(source) || from->failed);
        if (wk_tensor_exists(source))
            wk_graph_store_every(scope->g, scope->tensors.items[i], source, counter, period);
    }
}
