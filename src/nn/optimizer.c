#include "nn/optimizer.h"

#include "base/memory.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

struct wk_optimizer {
    wk_params *params;
    wk_optimizer_config config;
    wk_graph *g; // the one graph it was recorded in, or NULL
    wk_scope *scope;
    WK_ARRAY(wk_tensor) moments; // m and v of each weight of the scope, alternating
    WK_ARRAY(wk_tensor) gradients;
    wk_tensor norm, counts;
    const wk_scope *source;       // of the graph that exports the gradients, if that is another
    WK_ARRAY(wk_tensor) exported; // parallel to its weights: where they are exported to
    wk_tensor exported_norm;
    bool failed;
    wk_buffer *buffer;
};

wk_status wk_optimizer_create(wk_params *params, const wk_optimizer_config *config,
                              wk_optimizer **out, wk_error *err)
{
    wk_optimizer *optimizer = calloc(1, sizeof *optimizer);
    if (!optimizer)
        return wk_fail(err, WK_E_MEMORY, "no memory for the optimizer of '%s'",
                       wk_params_name(params));
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

static int members(const wk_optimizer *optimizer)
{
    int stack = wk_params_stack(optimizer->params);
    return stack > 0 ? stack : 1;
}

static wk_tensor moment(wk_optimizer *optimizer, const wk_weight *param, const char *which)
{
    char name[512];
    snprintf(name, sizeof name, "%s.adam/%s/%s", wk_params_name(optimizer->params), which,
             param->name);
    wk_tensor tensor = wk_graph_persistent(optimizer->g, WK_F32, param->shape, name, NULL, 0);
    if (!wk_array_push(&optimizer->moments, tensor)) optimizer->failed = true;
    return tensor;
}

static wk_tensor counts_tensor(wk_optimizer *optimizer)
{
    char name[512];
    snprintf(name, sizeof name, "%s.adam/counts", wk_params_name(optimizer->params));
    return wk_graph_persistent(optimizer->g, WK_U64, WK_SHAPE(members(optimizer), 2), name, NULL,
                               0);
}

// The gradients of all weights of the scope, and their norm.
static wk_tensor differentiate(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss)
{
    assert(wk_scope_params(scope) == optimizer->params && !optimizer->g);
    wk_graph *g = wk_scope_graph(scope);
    size_t count = wk_scope_count(scope);
    if (!wk_array_reserve(&optimizer->gradients, count + 1)) {
        optimizer->failed = true;
        return loss;
    }
    optimizer->gradients.count = count;
    wk_graph_gradients(g, loss, wk_scope_tensors(scope), count, optimizer->gradients.items);
    return wk_graph_global_norm(g, optimizer->gradients.items, count, members(optimizer));
}

// The graph that makes the step.
static void set_graph(wk_optimizer *optimizer, wk_scope *scope)
{
    optimizer->g = wk_scope_graph(scope);
    optimizer->scope = scope;
    optimizer->counts = counts_tensor(optimizer);
}

// Where a gradient is handed from one graph to the next.
static wk_tensor handoff_gradient(const wk_optimizer *optimizer, wk_graph *g,
                                  const wk_weight *weight)
{
    char name[512];
    snprintf(name, sizeof name, "%s.gradient/%s", wk_params_name(optimizer->params), weight->name);
    return wk_graph_persistent(g, WK_F32, weight->shape, name, NULL, 0);
}

static wk_tensor handoff_norm(const wk_optimizer *optimizer, wk_graph *g)
{
    return wk_graph_persistent(g, WK_F32, WK_SHAPE(members(optimizer)), "norm", NULL, 0);
}

wk_tensor wk_optimizer_export_gradients(wk_optimizer *optimizer, wk_scope *scope, wk_tensor loss)
{
    assert(!optimizer->source);
    wk_graph *g = wk_scope_graph(scope);
    optimizer->source = scope;
    wk_tensor norm = differentiate(optimizer, scope, loss);
    if (!wk_array_reserve(&optimizer->exported, wk_scope_count(scope) + 1))
        optimizer->failed = true;
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
    size_t count = wk_scope_count(scope);
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
        wk_graph_adam(g, wk_scope_tensors(scope)[i], m, v, optimizer->gradients.items[i], step,
                      *adam);
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

// The moments repeat the layout of the weights: m of all, then v of all.
static size_t weights_size(const wk_optimizer *optimizer)
{
    return wk_params_buffer(optimizer->params)->size;
}

size_t wk_optimizer_m_offset(const wk_optimizer *optimizer, size_t index)
{
    return wk_params_at(optimizer->params, index)->offset;
}

size_t wk_optimizer_v_offset(const wk_optimizer *optimizer, size_t index)
{
    return weights_size(optimizer) + wk_params_at(optimizer->params, index)->offset;
}

size_t wk_optimizer_counts_offset(const wk_optimizer *optimizer)
{
    return 2 * weights_size(optimizer);
}

const wk_params *wk_optimizer_params(const wk_optimizer *optimizer)
{
    return optimizer->params;
}

wk_buffer *wk_optimizer_buffer(const wk_optimizer *optimizer)
{
    return optimizer->buffer;
}

size_t wk_optimizer_handoff_offset(const wk_optimizer *optimizer)
{
    enum { LINE = 64 };
    size_t counts = (size_t)members(optimizer) * sizeof(wk_optimizer_counts);
    return (wk_optimizer_counts_offset(optimizer) + counts + LINE - 1) / LINE * LINE;
}

// Moments and counts, then the handoff: gradients, then the norm.
static size_t buffer_size(const wk_optimizer *optimizer)
{
    size_t state = wk_optimizer_counts_offset(optimizer) +
                   (size_t)members(optimizer) * sizeof(wk_optimizer_counts);
    if (!optimizer->source) return state;
    return wk_optimizer_handoff_offset(optimizer) + weights_size(optimizer) +
           (size_t)members(optimizer) * sizeof(float);
}

static void bind_handoff(wk_graph *g, const wk_optimizer *optimizer, const wk_scope *scope,
                         const wk_tensor *gradients, wk_tensor norm)
{
    size_t begin = wk_optimizer_handoff_offset(optimizer);
    for (size_t i = 0; i < wk_scope_count(scope); i++)
        wk_graph_bind(g, gradients[i], optimizer->buffer, begin + wk_scope_param(scope, i)->offset);
    wk_graph_bind(g, norm, optimizer->buffer, begin + weights_size(optimizer));
}

wk_status wk_optimizer_bind(wk_optimizer *optimizer, wk_backend *backend, wk_error *err)
{
    assert(optimizer->g && !optimizer->buffer && wk_params_placed(optimizer->params));
    // A weight that found no memory at first may have been declared later, without its moments.
    if (optimizer->failed || optimizer->moments.count != 2 * wk_scope_count(optimizer->scope))
        return wk_fail(err, WK_E_MEMORY, "no memory for the optimizer of '%s'",
                       wk_params_name(optimizer->params));
    WK_TRY(wk_buffer_create(backend, buffer_size(optimizer), &optimizer->buffer, err));
    wk_graph *g = optimizer->g;
    size_t half = weights_size(optimizer);
    for (size_t i = 0; i < wk_scope_count(optimizer->scope); i++) {
        size_t offset = wk_scope_param(optimizer->scope, i)->offset;
        wk_graph_bind(g, optimizer->moments.items[2 * i], optimizer->buffer, offset);
        wk_graph_bind(g, optimizer->moments.items[2 * i + 1], optimizer->buffer, half + offset);
    }
    wk_graph_bind(g, optimizer->counts, optimizer->buffer, wk_optimizer_counts_offset(optimizer));
    if (optimizer->source) {
        bind_handoff(g, optimizer, optimizer->scope, optimizer->gradients.items, optimizer->norm);
        bind_handoff(wk_scope_graph(optimizer->source), optimizer, optimizer->source,
                     optimizer->exported.items, optimizer->exported_norm);
    }
    return WK_OK;
}

wk_status wk_optimizer_get_counts(const wk_optimizer *optimizer, int member,
                                  wk_optimizer_counts *counts, wk_error *err)
{
    assert(optimizer->buffer && member >= 0 && member < members(optimizer));
    uint64_t pair[2];
    WK_TRY(wk_buffer_download(optimizer->buffer,
                              wk_optimizer_counts_offset(optimizer) + (size_t)member * sizeof pair,
                              pair, sizeof pair, err));
    *counts = (wk_optimizer_counts){pair[0], pair[1]};
    return WK_OK;
}
