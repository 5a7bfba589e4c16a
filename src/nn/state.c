#include "nn/state.h"

#include "base/memory.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct state_item {
    wk_safetensors_spec spec;
    wk_buffer *buffer;
    size_t offset;
    size_t bytes;
} state_item;

struct wk_state {
    wk_arena names;
    WK_ARRAY(state_item) items;
};

wk_status wk_state_create(wk_state **out, wk_error *err)
{
    wk_state *state = calloc(1, sizeof *state);
    if (!state) return wk_fail(err, WK_E_MEMORY, "no memory for a list of tensors to save");
    state->names.block_size = 16384;
    *out = state;
    return WK_OK;
}

void wk_state_destroy(wk_state *state)
{
    if (!state) return;
    wk_array_free(&state->items);
    wk_arena_reset(&state->names);
    free(state);
}

static wk_safetensors_dtype file_dtype(wk_dtype dtype)
{
    static const wk_safetensors_dtype map[] = {
        [WK_F32] = WK_ST_F32, [WK_U8] = WK_ST_U8, [WK_U64] = WK_ST_U64};
    assert((size_t)dtype < sizeof map / sizeof *map);
    return map[dtype];
}

wk_status wk_state_add(wk_state *state, const char *name, wk_dtype dtype, wk_shape shape,
                       wk_buffer *buffer, size_t offset, wk_error *err)
{
    state_item item = {.spec = {.dtype = file_dtype(dtype), .rank = shape.rank},
                       .buffer = buffer,
                       .offset = offset};
    for (int i = 0; i < shape.rank; i++)
        item.spec.shape[i] = (uint64_t)shape.dim[i];
    item.spec.name = wk_arena_string(&state->names, name);
    item.bytes = wk_safetensors_spec_bytes(&item.spec);
    if (item.spec.name && wk_array_push(&state->items, item)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory to list the tensor '%s'", name);
}

wk_status wk_state_add_params(wk_state *state, const wk_params *params, wk_error *err)
{
    assert(params->buffer);
    for (size_t i = 0; i < params->weights.count; i++) {
        const wk_weight *param = &params->weights.items[i];
        char name[512];
        snprintf(name, sizeof name, "%s/%s", params->name, param->name);
        WK_TRY(wk_state_add(state, name, WK_F32, param->shape, params->buffer, param->offset, err));
    }
    return WK_OK;
}

wk_status wk_state_add_optimizer(wk_state *state, const wk_optimizer *optimizer, wk_error *err)
{
    const wk_params *params = optimizer->params;
    assert(optimizer->buffer);
    char name[512];
    for (size_t i = 0; i < params->weights.count; i++)
        for (int v = 0; v < 2; v++) {
            const wk_weight *param = &params->weights.items[i];
            snprintf(name, sizeof name, "%s.adam/%s/%s", params->name, v ? "v" : "m", param->name);
            WK_TRY(wk_state_add(state, name, WK_F32, param->shape, optimizer->buffer,
                                param->offset + (v ? params->buffer->size : 0), err));
        }
    snprintf(name, sizeof name, "%s.adam/counts", params->name);
    return wk_state_add(state, name, WK_U64, WK_SHAPE(wk_optimizer_members(optimizer), 2),
                        optimizer->buffer, wk_optimizer_counts_offset(optimizer), err);
}

size_t wk_state_bytes(const wk_state *state)
{
    size_t sum = 0;
    for (size_t i = 0; i < state->items.count; i++)
        sum += state->items.items[i].bytes;
    return sum;
}

// Host memory for all tensors, one after another in the order of the list.
static wk_status stage(const wk_state *state, char **out, wk_error *err)
{
    size_t bytes = wk_state_bytes(state);
    *out = malloc(bytes + 1);
    return *out ? WK_OK
                : wk_fail(err, WK_E_MEMORY, "no memory to stage %zu bytes of tensors", bytes);
}

static wk_status check_finite(const state_item *item, const char *bytes, wk_error *err)
{
    if (item->spec.dtype != WK_ST_F32) return WK_OK;
    for (size_t at = 0; at < item->bytes; at += sizeof(float)) {
        float value;
        memcpy(&value, bytes + at, sizeof value);
        if (isfinite(value)) continue;
        return wk_fail(err, WK_E_DIVERGED,
                       "'%s' has a value that is not finite (%g at element %zu), so nothing was "
                       "saved; go back to the last checkpoint or lower the learning rate",
                       item->spec.name, value, at / sizeof value);
    }
    return WK_OK;
}

static wk_status download_all(const wk_state *state, char *staged, wk_safetensors_source *sources,
                              wk_error *err)
{
    for (size_t i = 0; i < state->items.count; i++) {
        const state_item *item = &state->items.items[i];
        WK_TRY(wk_buffer_download(item->buffer, item->offset, staged, item->bytes, err));
        WK_TRY(check_finite(item, staged, err));
        sources[i] = (wk_safetensors_source){item->spec, staged};
        staged += item->bytes;
    }
    return WK_OK;
}

wk_status wk_state_save(const wk_state *state, const wk_dir *in, const char *path,
                        const wk_safetensors_pair *metadata, size_t pairs, wk_error *err)
{
    char *staged = NULL;
    WK_TRY(stage(state, &staged, err));
    wk_safetensors_source *sources = malloc((state->items.count + 1) * sizeof *sources);
    wk_status status = sources ? download_all(state, staged, sources, err)
                               : wk_fail(err, WK_E_MEMORY, "'%s': no memory to write it", path);
    if (status == WK_OK)
        status =
            wk_safetensors_save_in(in, path, sources, state->items.count, metadata, pairs, err);
    free(sources);
    free(staged);
    return status;
}

wk_status wk_state_load(const wk_state *state, const wk_safetensors *file,
                        const wk_safetensors_filter *filter, wk_error *err)
{
    char *staged = NULL;
    WK_TRY(stage(state, &staged, err));
    size_t count = state->items.count, at = 0;
    wk_safetensors_target *targets = malloc((count + 1) * sizeof *targets);
    wk_status status = targets ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to load weights");
    for (size_t i = 0; status == WK_OK && i < count; i++) {
        targets[i].spec = state->items.items[i].spec;
        targets[i].bytes = staged + at;
        at += state->items.items[i].bytes;
    }
    if (status == WK_OK) status = wk_safetensors_read_all(file, targets, count, filter, err);
    for (size_t i = 0; status == WK_OK && i < count; i++) {
        const state_item *item = &state->items.items[i];
        status = wk_buffer_upload(item->buffer, item->offset, targets[i].bytes, item->bytes, err);
    }
    free(targets);
    free(staged);
    return status;
}
