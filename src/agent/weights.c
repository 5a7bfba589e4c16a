// Weights files: weights without optimiser state. They are read in parts, because a world model
// serves learners with other tasks than those it was saved with.
#include "agent/learner_parts.h"

#include "base/text.h"
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

static wk_status list_parts(const wk_learner *learner, unsigned parts, wk_state *state,
                            wk_error *err)
{
    for (int id = 0; id < WK_NETWORKS; id++)
        if (learner->params[id] && (part_of(id) & parts))
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
    wk_status status = wk_state_create(&state, err);
    if (status == WK_OK) status = list_parts(learner, parts, state, err);
    if (status == WK_OK) {
        status = wk_state_load_part(state, file, filter, err);
        if (status == WK_E_FORMAT) add_metadata(file, err);
    }
    wk_state_destroy(state);
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
        for (size_t i = 0; i < wk_params_count(params); i++) {
            const wk_weight *weight = wk_params_at(params, i);
            char name[512];
            snprintf(name, sizeof name, "%s/%s", wk_params_name(params), weight->name);
            WK_TRY(read_member(file, name, weight, task, staged + weight->offset, err));
        }
        staged += wk_params_buffer(params)->size;
    }
    return WK_OK;
}

static wk_status upload_task(wk_learner *learner, const char *staged, wk_error *err)
{
    for (int id = WK_NETWORK_REWARD; id < WK_NETWORKS; id++) {
        wk_buffer *buffer = wk_params_buffer(learner->params[id]);
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
        size += wk_params_buffer(learner->params[id])->size;
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
