#include "nn/optimizer.h"

#include "base/memory.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

wk_status wk_optimizer_create(wk_params *params, const wk_optimizer_config *config,
                              wk_optimizer **out, wk_error *err)
{
    wk_optimizer *optimizer = calloc(1, sizeof *optimizer);
    if (!optimizer)
        return wk_fail(err, WK_E_MEMORY, "no memory for the optimizer of '%s'", params->name);
    optimizer->params = params;
    optimizer->config = *config;
    *out = optimizer;
    return WK_OK;
}

void wk_optimizer_destroy(wk_optimizer *optimizer)
{
    if (!optimizer) return;
    wk_buffer_destroy(optimizer->buffer);
    wk_array_free(&optimizer->moments);
    wk_array_free(&optimizer->gradients);
    wk_array_free(&optimizer->exported);
    free(optimizer);
}

static wk_tensor moment(wk_optimizer *optimizer, const wk_weight *param, const char *which)
{
    char name[512];
    snprintf(name, sizeof name, "%s.adam/%s/%s", optimizer->params->name, which, param->name);
    wk_tensor tensor = wk_graph_persistent(optimizer->g, WK_F32, param->shape, name, NULL, 0);
    if (!wk_array_push(&optimizer->moments, tensor)) optimizer->failed = true;
    return tensor;
}

// The gradients of all weights of the scope, and their norm.
static wk_tensor differentiate(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss)
{
    assert(scope->params == optimizer->params && !optimizer->g);
    wk_graph *g = scope->g;
    size_t count = scope->tensors.count;
    if (!wk_array_reserve(&optimizer->gradients, count + 1)) {
        optimizer->failed = true;
        return loss;
    }
    optimizer->gradients.count = count;
    wk_graph_gradients(g, loss, scope->tensors.items, count, optimizer->gradients.items);
    return wk_graph_global_norm(g, optimizer->gradients.items, count,
                                wk_optimizer_members(optimizer));
}

// The graph that makes the step.
static void set_graph(wk_optimizer *optimizer, wk_scope *scope)
{
    optimizer->g = scope->g;
    optimizer->scope = scope;
    char name[512];
    snprintf(name, sizeof name, "%s.adam/counts", optimizer->params->name);
    optimizer->counts = wk_graph_persistent(
        optimizer->g, WK_U64, WK_SHAPE(wk_optimizer_members(optimizer), 2), name, NULL, 0);
}

// Where a gradient is handed from one graph to the next.
static wk_tensor handoff_gradient(const wk_optimizer *optimizer, wk_graph *g,
                                  const wk_weight *weight)
{
    char name[512];
    snprintf(name, sizeof name, "%s.gradient/%s", optimizer->params->name, weight->name);
    return wk_graph_persistent(g, WK_F32, weight->shape, name, NULL, 0);
}

static wk_tensor handoff_norm(const wk_optimizer *optimizer, wk_graph *g)
{
    return wk_graph_persistent(g, WK_F32, WK_SHAPE(wk_optimizer_members(optimizer)), "norm", NULL,
                               0);
}

wk_tensor wk_optimizer_export_gradients(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss)
{
    assert(!optimizer->source);
    wk_graph *g = scope->g;
    optimizer->source = scope;
    wk_tensor norm = differentiate(optimizer, scope, loss);
    if (!wk_array_reserve(&optimizer->exported, scope->tensors.count + 1)) optimizer->failed = true;
    if (optimizer->failed) return norm;
    for (size_t i = 0; i < optimizer->gradients.count; i++) {
        wk_tensor place = handoff_gradient(optimizer, g, wk_scope_param(scope, i));
        wk_graph_store(g, place, optimizer->gradients.items[i]);
        optimizer->exported.items[optimizer->exported.count++] = place;
    }
    optimizer->exported_norm = handoff_norm(optimizer, g);
    wk_graph_store(g, optimizer->exported_norm, norm);
    return norm;
}

wk_tensor wk_optimizer_import_gradients(wk_optimizer *optimizer, wk_scope *scope)
{
    assert(optimizer->source && !optimizer->g);
    wk_scope_use_all(scope);
    set_graph(optimizer, scope);
    optimizer->norm = handoff_norm(optimizer, optimizer->g);
    size_t count = scope->tensors.count;
    // Every weight of the scope is one that the other graph has a gradient of.
    if (count != optimizer->exported.count) optimizer->failed = true;
    for (size_t i = 0; !optimizer->failed && i < count; i++)
        optimizer->gradients.items[i] =
            handoff_gradient(optimizer, optimizer->g, wk_scope_param(scope, i));
    return optimizer->norm;
}

void wk_optimizer_step(wk_optimizer *optimizer, wk_tensor skip)
{
    if (optimizer->failed) return;
    wk_graph *g = optimizer->g;
    const wk_scope *scope = optimizer->scope;
    const wk_adam_config *adam = &optimizer->config.adam;
    wk_tensor rate = wk_graph_fill(g, WK_SHAPE(1), optimizer->config.rate);
    wk_tensor step = wk_graph_adam_begin(g, optimizer->norm, rate, optimizer->counts, skip, *adam);
    for (size_t i = 0; i < optimizer->gradients.count; i++) {
        const wk_weight *param = wk_scope_param(scope, i);
        wk_tensor m = moment(optimizer, param, "m"), v = moment(optimizer, param, "v");
        wk_graph_adam(g, scope->tensors.items[i], m, v, optimizer->gradients.items[i], step, *adam);
    }
}

wk_tensor wk_optimizer_record(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss,
                              wk_tensor skip)
{
    optimizer->norm = differentiate(optimizer, scope, loss);
    set_graph(optimizer, scope);
    wk_optimizer_step(optimizer, skip);
    return optimizer->norm;
}

size_t wk_optimizer_handoff_offset(const wk_optimizer *optimizer)
{
    enum { LINE = 64 };
    size_t counts = (size_t)wk_optimizer_members(optimizer) * sizeof(wk_optimizer_counts);
    return (wk_optimizer_counts_offset(optimizer) + counts + LINE - 1) / LINE * LINE;
}

static void bind_handoff(wk_graph *g, const wk_optimizer *optimizer, const wk_scope *scope,
                         const wk_tensor *gradients, wk_tensor norm)
{
    size_t begin = wk_optimizer_handoff_offset(optimizer);
    for (size_t i = 0; i < scope->tensors.count; i++)
        wk_graph_bind(g, gradients[i], optimizer->buffer, begin + wk_scope_param(scope, i)->offset);
    wk_graph_bind(g, norm, optimizer->buffer, begin + optimizer->params->buffer->size);
}

wk_status wk_optimizer_bind(wk_optimizer *optimizer, wk_backend *backend, wk_error *err)
{
    assert(optimizer->g && !optimizer->buffer && optimizer->params->buffer);
    // A weight that found no memory at first may have been declared later, without its moments.
    if (optimizer->failed || optimizer->moments.count != 2 * optimizer->scope->tensors.count)
        return wk_fail(err, WK_E_MEMORY, "no memory for the optimizer of '%s'",
                       optimizer->params->name);
    size_t half = optimizer->params->buffer->size,
           members = (size_t)wk_optimizer_members(optimizer);
    size_t size = 2 * half + members * sizeof(wk_optimizer_counts);
    if (optimizer->source)
        size = wk_optimizer_handoff_offset(optimizer) + half + members * sizeof(float);
    WK_TRY(wk_buffer_create(backend, size, &optimizer->buffer, err));
    wk_graph *g = optimizer->g;
    for (size_t i = 0; i < optimizer->scope->tensors.count; i++) {
        size_t offset = wk_scope_param(optimizer->scope, i)->offset;
        wk_graph_bind(g, optimizer->moments.items[2 * i], optimizer->buffer, offset);
        wk_graph_bind(g, optimizer->moments.items[2 * i + 1], optimizer->buffer, half + offset);
    }
    wk_graph_bind(g, optimizer->counts, optimizer->buffer, wk_optimizer_counts_offset(optimizer));
    if (optimizer->source) {
        bind_handoff(g, optimizer, optimizer->scope, optimizer->gradients.items, optimizer->norm);
        bind_handoff(optimizer->source->g, optimizer, optimizer->source, optimizer->exported.items,
                     optimizer->exported_norm);
    }
    return WK_OK;
}

wk_status wk_optimizer_get_counts(const wk_optimizer *optimizer, int member,
                                  wk_optimizer_counts *counts, wk_error *err)
{
    assert(optimizer->buffer && member >= 0 && member < wk_optimizer_members(optimizer));
    return wk_buffer_download(
        optimizer->buffer, wk_optimizer_counts_offset(optimizer) + (size_t)member * sizeof *counts,
        counts, sizeof *counts, err);
}
