// Checkpoints on disk: DIRECTORY/checkpoints/step-000000012345/ with run.bin and
// learner.safetensors.
//
// One is written under another name, made durable, and renamed: what is called step-... is
// complete, and it loses that name before it is deleted. The replay buffer is not copied; its log
// next to the checkpoints is synced and its mark stored. run.bin and the weights have checksums of
// their own.
#include "run/checkpoint.h"

#include "base/file.h"
#include "nn/safetensors.h"
#include <inttypes.h>
#include <stdlib.h>

static const size_t RUN_FILE_LIMIT = (size_t)1 << 32;

wk_status wk_checkpoint_open(const wk_dir *checkpoints, uint64_t step, wk_dir **out, wk_error *err)
{
    char name[WK_STEP_NAME_MAX];
    wk_step_name("", step, "", name);
    wk_status status = wk_dir_open(checkpoints, name, out, err);
    if (status != WK_E_NOT_FOUND) return status;
    return wk_fail(err, WK_E_IO,
                   "'%s/%s' cannot be found: if it is a link, mount the disk it leads to or remove "
                   "it",
                   wk_dir_path(checkpoints), name);
}

wk_status wk_checkpoint_read(const wk_dir *folder, char **bytes, wk_run_header *head, wk_error *err)
{
    size_t size;
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_join(wk_dir_path(folder), WK_CHECKPOINT_RUN_FILE, path, err));
    WK_TRY(wk_file_read_in(folder, WK_CHECKPOINT_RUN_FILE, RUN_FILE_LIMIT, bytes, &size, err));
    wk_status status = wk_run_file_check(*bytes, size, path, head, err);
    if (status != WK_OK) free(*bytes);
    return status;
}

wk_status wk_checkpoint_list(const char *directory, wk_steps *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_dir *checkpoints = NULL;
    WK_TRY(wk_path_join(directory, WK_CHECKPOINT_FOLDER, path, err));
    wk_status status = wk_dir_open(NULL, path, &checkpoints, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_steps_list(checkpoints, "", "", out, err);
    wk_dir_close(checkpoints);
    return status;
}

// Opens the directory of one checkpoint by the path of its run, and reads its run.bin.
static wk_status read_one(const char *directory, uint64_t step, wk_dir **folder, char **bytes,
                          wk_run_header *head, wk_error *err)
{
    char path[WK_PATH_MAX], name[WK_STEP_NAME_MAX];
    wk_step_name("", step, "", name);
    WK_TRY(wk_path_print(path, err, "%s/%s/%s", directory, WK_CHECKPOINT_FOLDER, name));
    WK_TRY(wk_dir_open(NULL, path, folder, err));
    return wk_checkpoint_read(*folder, bytes, head, err);
}

wk_status wk_checkpoint_newest(const char *directory, uint64_t *step, wk_error *err)
{
    wk_steps steps = {0};
    bool found = false;
    wk_status status = wk_checkpoint_list(directory, &steps, err);
    for (size_t i = steps.count; i-- > 0 && !found;) {
        char *bytes = NULL;
        wk_run_header head;
        wk_dir *folder = NULL;
        status = read_one(directory, steps.items[i], &folder, &bytes, &head, err);
        wk_dir_close(folder);
        found = status == WK_OK;
        // One that cannot be read now is not passed over: an older one would be another result.
        if (status != WK_OK && status != WK_E_FORMAT && status != WK_E_NOT_FOUND) break;
        if (found) *step = steps.items[i];
        if (found) free(bytes);
    }
    wk_array_free(&steps);
    if (status != WK_OK || found) return status;
    return wk_fail(err, WK_E_NOT_FOUND,
                   "'%s' has no checkpoint; a run writes its first within a minute, and its last "
                   "when it ends",
                   directory);
}

wk_status wk_checkpoint_summarise(const char *directory, uint64_t step, wk_checkpoint_summary *out,
                                  wk_error *err)
{
    char *bytes = NULL;
    wk_dir *folder = NULL;
    wk_file_reader *learner = NULL;
    *out = (wk_checkpoint_summary){0};
    wk_status status = read_one(directory, step, &folder, &bytes, &out->head, err);
    if (status == WK_OK) {
        out->counters = wk_run_file_counters(bytes, (size_t)out->head.size);
        free(bytes);
        status = wk_file_reader_open_in(folder, WK_CHECKPOINT_LEARNER_FILE, &learner, err);
        if (status == WK_OK) out->learner_bytes = wk_file_reader_size(learner);
        if (status == WK_E_NOT_FOUND) status = WK_OK;
    }
    wk_file_reader_close(learner);
    wk_dir_close(folder);
    return status;
}

wk_status wk_checkpoint_verify(const char *directory, uint64_t step, wk_error *err)
{
    char *bytes = NULL, path[WK_PATH_MAX];
    wk_run_header head;
    wk_dir *folder = NULL;
    wk_safetensors *learner = NULL;
    WK_TRY(wk_path_print(path, err, "%s/replay", directory));
    wk_status status = read_one(directory, step, &folder, &bytes, &head, err);
    if (status == WK_OK) free(bytes);
    if (status == WK_OK)
        status = wk_safetensors_open_in(folder, WK_CHECKPOINT_LEARNER_FILE, &learner, err);
    if (status == WK_OK) status = wk_safetensors_verify_weights(learner, err);
    wk_safetensors_close(learner);
    wk_dir_close(folder);
    return status == WK_OK ? wk_replay_log_verify(path, &head.replay, err) : status;
}

wk_status wk_checkpoint_curriculum(const char *directory, uint64_t step, const wk_domain *domain,
                                   wk_curriculum *curriculum, wk_error *err)
{
    char *bytes = NULL;
    wk_run_header head;
    wk_dir *folder = NULL;
    wk_status status = read_one(directory, step, &folder, &bytes, &head, err);
    wk_dir_close(folder);
    WK_TRY(status);
    const wk_run_state state = {
        .count = (int)head.running, .domain = domain, .curriculum = curriculum};
    status = head.running <= INT32_MAX
                 ? wk_run_file_read_curriculum(bytes, (size_t)head.size, &state, err)
                 : wk_fail(err, WK_E_FORMAT, "%" PRIu64 " environments", head.running);
    if (status != WK_OK) wk_fail_context(err, "the checkpoint at agent step %" PRIu64, step);
    free(bytes);
    return status;
}
