#include "nn/scope.h"

#include "base/array.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
