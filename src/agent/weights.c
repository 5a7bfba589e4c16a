// Weights files: weights without optimiser state. They are read in parts, because a world model
// serves learners with other tasks than those it was saved with.
#include "agent/learner_parts.h"

#include "base/memory.h"
#include "base/text.h"
#include "nn/packed.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_learner_save_weights(const wk_learner *learner, const wk_dir *in, const char *path,
                                  const wk_weights_label *labels, size_t count, wk_error *err)
{
    return wk_state_save(learner->weights, in, path, labels, count, err);
}

static unsigned part_of(wk_network_id id)
{
    return id < WK_NETWORK_REWARD ? WK_WEIGHTS_WORLD : WK_WEIGHTS_TASKS;
}

static bool is_of(const char *tensor, const char *network, const char *ending)
{
    size_t length = strlen(network), more = strlen(ending);
    return strncmp(tensor, network, length) == 0 && strncmp(tensor + length, ending, more) == 0;
}

// Whether a tensor belongs to a part not requested, to an optimiser or to the counters. A name
// outside all networks is unexpected.
static bool is_ignored(const void *context, const char *tensor)
{
    const unsigned *parts = context;
    if (strcmp(tensor, "counters") == 0) return true;
    for (int id = 0; id < WK_NETWORKS; id++) {
        if (is_of(tensor, wk_network_name(id), ".adam/")) return true;
        if (is_of(tensor, wk_network_name(id), "/")) return !(part_of(id) & *parts);
    }
    return false;
}

// Whether acting and imagining need a network.
static bool is_compact_part(wk_network_id id)
{
    return id == WK_NETWORK_MODEL || id == WK_NETWORK_REWARD || id == WK_NETWORK_TASK_ACTOR;
}

// The label of compact weights.
static const wk_weights_label COMPACT = {"weights", "compact"};

static bool is_compact(const wk_safetensors *file)
{
    const char *label = wk_safetensors_metadata(file, COMPACT.key);
    return label && strcmp(label, COMPACT.value) == 0;
}

static wk_status list_parts(const wk_learner *learner, unsigned parts, bool compact,
                            wk_state *state, wk_error *err)
{
    for (int id = 0; id < WK_NETWORKS; id++)
        if (learner->params[id] && (part_of(id) & parts) && (!compact || is_compact_part(id)))
            WK_TRY(wk_state_add_params(state, learner->params[id], err));
    return WK_OK;
}

// Adds the file's metadata to the message.
static void add_metadata(const wk_safetensors *file, wk_error *err)
{
    wk_text text = {0};
    for (size_t i = 0; i < wk_safetensors_metadata_count(file); i++) {
        wk_safetensors_pair pair = wk_safetensors_metadata_at(file, i);
        if (strncmp(pair.key, "crc32c", 6) == 0) continue;
        wk_text_printf(&text, "%s%.40s %.80s", text.length ? ", " : "", pair.key, pair.value);
    }
    wk_fail_context(err, "a file of weights that says it is of %s",
                    text.length ? wk_text_get(&text) : "no run");
    wk_text_free(&text);
}

wk_status wk_learner_restore_weights(wk_learner *learner, const char *path, unsigned parts,
                                     wk_error *err)
{
    wk_safetensors *file = NULL;
    wk_state *state = NULL;
    WK_TRY(wk_learner_discard_prefetch(learner, err));
    WK_TRY(wk_safetensors_open(path, &file, err));
    wk_safetensors_filter filter = {is_ignored, &parts};
    bool compact = is_compact(file);
    wk_status status = WK_OK;
    if (compact && !(parts & WK_WEIGHTS_COMPACT))
        status = wk_fail(err, WK_E_INPUT,
                         "'%s' has compact weights ('waker card --compact'): they act and imagine, "
                         "but have no ensemble, exploration policy or critics, which this needs; "
                         "use the run that they come from",
                         path);
    if (status == WK_OK) status = wk_state_create(&state, err);
    if (status == WK_OK) status = list_parts(learner, parts, compact, state, err);
    if (status == WK_OK) {
        status = wk_state_load(state, file, &filter, err);
        if (status == WK_E_FORMAT) add_metadata(file, err);
    }
    if (status == WK_OK) learner->compact = compact;
    wk_state_destroy(state);
    wk_safetensors_close(file);
    return status;
}

bool wk_learner_is_compact(const wk_learner *learner)
{
    return learner->compact;
}

// The tensors of a compact file while it is made, in the arena.
typedef struct compact_file {
    wk_arena arena;
    WK_ARRAY(wk_safetensors_source) tensors;
    WK_ARRAY(wk_weights_label) labels;
} compact_file;

static wk_status pack(compact_file *out, const wk_safetensors_spec *spec, const float *numbers,
                      wk_error *err)
{
    enum { LEAST = 1024 }; // numbers for which 8 bits save anything
    size_t count = wk_safetensors_spec_bytes(spec) / sizeof *numbers;
    size_t scales = wk_packed_scales(count), length = strlen(spec->name);
    bool shown = is_of(spec->name, wk_network_name(WK_NETWORK_MODEL), "/decoder/") ||
                 is_of(spec->name, wk_network_name(WK_NETWORK_REWARD), "/");
    bool bytes = shown && count >= LEAST, fits;
    wk_safetensors_spec is = *spec, scale = {.dtype = WK_ST_F16, .rank = 1, .shape = {scales}};
    is.dtype = bytes ? WK_ST_I8 : WK_ST_F16;
    void *packed = wk_arena_alloc(&out->arena, (bytes ? 1 : 2) * count + 1);
    uint16_t *packed_scales = wk_arena_alloc(&out->arena, 2 * scales + 1);
    char *name = wk_arena_alloc(&out->arena, length + sizeof WK_SAFETENSORS_SCALE);
    if (!packed || !packed_scales || !name) return wk_fail(err, WK_E_MEMORY, "no memory to pack");
    memcpy(name, spec->name, length);
    memcpy(name + length, WK_SAFETENSORS_SCALE, sizeof WK_SAFETENSORS_SCALE);
    scale.name = name;
    fits = bytes ? wk_pack_bytes(numbers, count, packed, packed_scales)
                 : wk_pack_halves(numbers, count, packed);
    if (!fits)
        return wk_fail(err, WK_E_DIVERGED, "'%s' has a number that 16 bits cannot hold",
                       spec->name);
    bool kept = wk_array_push(&out->tensors, (wk_safetensors_source){is, packed});
    if (bytes)
        kept = kept && wk_array_push(&out->tensors, (wk_safetensors_source){scale, packed_scales});
    return kept ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to pack");
}

static wk_status pack_file(const wk_safetensors *file, compact_file *out, wk_error *err)
{
    for (size_t i = 0; i < wk_safetensors_count(file); i++) {
        const wk_safetensors_spec *spec = wk_safetensors_at(file, i);
        bool needed = false;
        for (int id = 0; id < WK_NETWORKS; id++)
            needed |= is_compact_part(id) && is_of(spec->name, wk_network_name(id), "/");
        if (!needed) continue;
        if (spec->dtype != WK_ST_F32)
            return wk_fail(err, WK_E_FORMAT, "tensor '%s' is not of float32", spec->name);
        float *numbers = malloc(wk_safetensors_spec_bytes(spec) + 1);
        wk_status status = numbers
                               ? wk_safetensors_read(file, spec, numbers, err)
                               : wk_fail(err, WK_E_MEMORY, "no memory to read '%s'", spec->name);
        if (status == WK_OK) status = pack(out, spec, numbers, err);
        free(numbers);
        WK_TRY(status);
    }
    bool kept = wk_array_push(&out->labels, COMPACT);
    for (size_t i = 0; i < wk_safetensors_metadata_count(file); i++) {
        wk_weights_label label = wk_safetensors_metadata_at(file, i);
        if (strncmp(label.key, "crc32c", 6) != 0) kept = kept && wk_array_push(&out->labels, label);
    }
    return kept ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to pack");
}

wk_status wk_weights_write_compact(const char *from, const char *to, wk_error *err)
{
    wk_safetensors *file;
    compact_file out = {0};
    WK_TRY(wk_safetensors_open(from, &file, err));
    wk_status status = pack_file(file, &out, err);
    if (status != WK_OK && err) wk_fail_context(err, "'%s'", from);
    if (status == WK_OK)
        status = wk_safetensors_save_in(NULL, to, out.tensors.items, out.tensors.count,
                                        out.labels.items, out.labels.count, err);
    wk_array_free(&out.tensors);
    wk_array_free(&out.labels);
    wk_arena_reset(&out.arena);
    wk_safetensors_close(file);
    return status;
}

// Reads member `task` of a stacked tensor into `bytes`.
static wk_status read_member(const wk_safetensors *file, const char *name, const wk_weight *weight,
                             int task, char *bytes, wk_error *err)
{
    const wk_safetensors_spec *spec = wk_safetensors_find(file, name);
    bool fits = spec && spec->dtype == WK_ST_F32 && spec->rank == weight->shape.rank &&
                spec->shape[0] > (uint64_t)task;
    for (int i = 1; fits && i < spec->rank; i++)
        fits = spec->shape[i] == (uint64_t)weight->shape.dim[i];
    if (!fits) return wk_fail(err, WK_E_FORMAT, "tensor '%s' is missing or of another size", name);
    char *all = malloc(wk_safetensors_spec_bytes(spec));
    if (!all) return wk_fail(err, WK_E_MEMORY, "no memory to read '%s'", name);
    wk_status status = wk_safetensors_read(file, spec, all, err);
    size_t size = weight->count * sizeof(float);
    if (status == WK_OK) memcpy(bytes, all + (size_t)task * size, size);
    free(all);
    return status;
}

// Reads all task networks into `staged`, one network after the other as they lie on the device.
static wk_status stage_task(const wk_learner *learner, const wk_safetensors *file, int task,
                            char *staged, wk_error *err)
{
    for (int id = WK_NETWORK_REWARD; id < WK_NETWORKS; id++) {
        const wk_params *params = learner->params[id];
        for (size_t i = 0; i < params->weights.count; i++) {
            const wk_weight *weight = &params->weights.items[i];
            char name[512];
            snprintf(name, sizeof name, "%s/%s", params->name, weight->name);
            WK_TRY(read_member(file, name, weight, task, staged + weight->offset, err));
        }
        staged += params->buffer->size;
    }
    return WK_OK;
}

static wk_status upload_task(wk_learner *learner, const char *staged, wk_error *err)
{
    for (int id = WK_NETWORK_REWARD; id < WK_NETWORKS; id++) {
        wk_buffer *buffer = learner->params[id]->buffer;
        WK_TRY(wk_buffer_upload(buffer, 0, staged, buffer->size, err));
        staged += buffer->size;
    }
    return WK_OK;
}

wk_status wk_learner_restore_task(wk_learner *learner, const char *path, int task, wk_error *err)
{
    assert(learner->config.tasks == 1);
    size_t size = 0;
    for (int id = WK_NETWORK_REWARD; id < WK_NETWORKS; id++)
        size += learner->params[id]->buffer->size;
    wk_safetensors *file = NULL;
    WK_TRY(wk_learner_discard_prefetch(learner, err));
    WK_TRY(wk_safetensors_open(path, &file, err));
    char *staged = calloc(size, 1);
    wk_status status = staged ? stage_task(learner, file, task, staged, err)
                              : wk_fail(err, WK_E_MEMORY, "no memory to read '%s'", path);
    if (status == WK_OK) status = upload_task(learner, staged, err);
    if (status == WK_E_FORMAT) add_metadata(file, err);
    free(staged);
    wk_safetensors_close(file);
    return status;
}
