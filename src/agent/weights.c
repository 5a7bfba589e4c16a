// Files of weights: what a learner knows, without how it got there. They are read in parts, because
// a world model serves learners with other tasks than those it was saved with.
#include "agent/learner_parts.h"

#include "base/text.h"
#include <string.h>

wk_status wk_learner_save_weights(const wk_learner *learner, const char *path,
                                  const wk_weights_label *labels, size_t count, wk_error *err)
{
    return wk_state_save(learner->weights, path, labels, count, err);
}

static unsigned part_of(wk_set_id id)
{
    return id < WK_SET_REWARD ? WK_WEIGHTS_WORLD : WK_WEIGHTS_TASKS;
}

static bool is_set(const char *tensor, const char *set, const char *ending)
{
    size_t length = strlen(set), more = strlen(ending);
    return strncmp(tensor, set, length) == 0 && strncmp(tensor + length, ending, more) == 0;
}

// Whether a tensor belongs to a part not asked for, to an optimiser or to the counters. A name of
// none of our sets is nobody's and so unexpected.
static bool is_foreign(const void *context, const char *tensor)
{
    const unsigned *parts = context;
    if (strcmp(tensor, "counters") == 0) return true;
    for (int id = 0; id < WK_SETS; id++) {
        if (is_set(tensor, wk_set_name(id), ".adam/")) return true;
        if (is_set(tensor, wk_set_name(id), "/")) return !(part_of(id) & *parts);
    }
    return false;
}

static wk_status list_parts(const wk_learner *learner, unsigned parts, wk_state *state,
                            wk_error *err)
{
    for (int id = 0; id < WK_SETS; id++)
        if (learner->params[id] && (part_of(id) & parts))
            WK_TRY(wk_state_add_params(state, learner->params[id], err));
    return WK_OK;
}

// Adds what the file says about itself to the message.
static void tell_origin(const wk_safetensors *file, wk_error *err)
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
    WK_TRY(wk_safetensors_open(path, &file, err));
    wk_safetensors_filter filter = {is_foreign, &parts};
    wk_status status = wk_state_create(&state, err);
    if (status == WK_OK) status = list_parts(learner, parts, state, err);
    if (status == WK_OK) {
        status = wk_state_load_part(state, file, filter, err);
        if (status == WK_E_FORMAT) tell_origin(file, err);
    }
    wk_state_destroy(state);
    wk_safetensors_close(file);
    return status;
}
