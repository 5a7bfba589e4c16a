// Checkpoints: everything a run needs to continue to the same bytes, in a directory of its own.
//
//   DIRECTORY/checkpoints/step-000000123456/learner.safetensors   weights, optimisers, counters
//                                          run.bin                environments, curriculum,
//                                          positions
//
// A checkpoint is written under another name, synced, and renamed when it is whole: what has a name
// step-* is complete. The replay buffer is not copied; its log beside the checkpoints is synced and
// its mark kept. run.bin (train/run_file.h) and the weights have checksums of their own.
//
// Nothing is thrown away on the way back: a checkpoint that cannot be continued, because it or the
// replay log is damaged, is renamed damaged-step-*, and what the log has beyond the one that is
// used is kept beside it.
#include "train/checkpoint.h"

#include "base/file.h"
#include "base/text.h"
#include "nn/safetensors.h"
#include "train/trainer_parts.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_CHARS = 4096 };
static const size_t RUN_FILE_LIMIT = (size_t)1 << 32;

static wk_status file_error(wk_error *err, const char *what, const char *path)
{
    return wk_fail(err, WK_E_IO, "%s '%s': %s", what, path, strerror(errno));
}

static void path_of(const char *run, const char *name, const char *file, char out[PATH_CHARS])
{
    snprintf(out, PATH_CHARS, "%s/checkpoints%s%s%s%s", run, *name ? "/" : "", name,
             *file ? "/" : "", file);
}

static wk_run_state state_of(wk_trainer *t)
{
    return (wk_run_state){.count = t->count,
                          .domain = t->domain,
                          .counters = &t->counters,
                          .lanes = t->lanes,
                          .actions = t->actions,
                          .images = t->images,
                          .first = t->first,
                          .note = t->note,
                          .note_size = sizeof t->note,
                          .curriculum = t->curriculum,
                          .acting = t->acting_state,
                          .acting_size = t->acting ? wk_acting_state_size(t->acting) : 0,
                          .vec = t->vec};
}

static wk_status save_run_file(wk_trainer *t, const wk_replay_mark *mark, const char *path,
                               wk_error *err)
{
    wk_text bytes = {0};
    wk_run_state state = state_of(t);
    if (t->acting) WK_TRY(wk_acting_save(t->acting, t->acting_state, err));
    wk_status status = wk_run_file_write(&state, wk_run_config_hash(&t->config), mark, &bytes, err);
    if (status == WK_OK && bytes.failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory for a checkpoint");
    if (status == WK_OK) status = wk_file_write(path, bytes.chars, bytes.length, err);
    wk_text_free(&bytes);
    return status;
}

static wk_status sync_directory(const char *path, wk_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return file_error(err, "cannot open", path);
    bool failed = fsync(fd) != 0 && errno != EINVAL;
    wk_status status = failed ? file_error(err, "cannot make durable", path) : WK_OK;
    close(fd);
    return status;
}

// A directory of plain files; one that is not there is fine.
static void remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        char inner[PATH_CHARS + 300];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') unlink(inner);
    }
    closedir(directory);
    rmdir(path);
}

// Steps of all whole checkpoints, falling; unfinished ones are removed on the way if asked.
static size_t list_checkpoints(const char *run, uint64_t *steps, size_t most, bool clean)
{
    char path[PATH_CHARS];
    path_of(run, "", "", path);
    DIR *directory = opendir(path);
    size_t count = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        uint64_t step;
        char inner[PATH_CHARS];
        if (sscanf(entry->d_name, "step-%" SCNu64, &step) == 1) {
            if (count == most) continue;
            size_t at = count++;
            for (; at > 0 && steps[at - 1] < step; at--)
                steps[at] = steps[at - 1];
            steps[at] = step;
        } else if (clean && strncmp(entry->d_name, "unfinished-", 11) == 0) {
            path_of(run, entry->d_name, "", inner);
            remove_directory(inner);
        }
    }
    if (directory) closedir(directory);
    return count;
}

static void step_name(uint64_t step, char name[40])
{
    snprintf(name, 40, "step-%012" PRIu64, step);
}

static wk_status read_run_file(const char *run, uint64_t step, char **bytes, wk_run_header *head,
                               wk_error *err)
{
    char name[40], path[PATH_CHARS];
    size_t size;
    step_name(step, name);
    path_of(run, name, "run.bin", path);
    WK_TRY(wk_file_read(path, RUN_FILE_LIMIT, bytes, &size, err));
    wk_status status = wk_run_file_check(*bytes, size, path, head, err);
    if (status != WK_OK) free(*bytes);
    return status;
}

// Removes all but the newest, and the parts of the replay log that only the removed ones needed.
static wk_status prune(wk_trainer *t, wk_error *err)
{
    uint64_t steps[WK_CHECKPOINTS_MAX];
    size_t count = list_checkpoints(t->directory, steps, WK_CHECKPOINTS_MAX, false);
    size_t keep = (size_t)t->config.checkpoint_keep;
    for (size_t i = keep; i < count; i++) {
        char name[40], path[PATH_CHARS];
        step_name(steps[i], name);
        path_of(t->directory, name, "", path);
        remove_directory(path);
    }
    char *bytes;
    wk_run_header head;
    WK_TRY(
        read_run_file(t->directory, steps[(count < keep ? count : keep) - 1], &bytes, &head, err));
    free(bytes);
    return wk_replay_log_forget(t->replay_log, &head.replay, err);
}

wk_status wk_trainer_save(wk_trainer *t, wk_error *err)
{
    char name[40], unfinished[60], from[PATH_CHARS], to[PATH_CHARS], path[PATH_CHARS];
    step_name(t->counters.steps, name);
    snprintf(unfinished, sizeof unfinished, "unfinished-%s", name);
    path_of(t->directory, unfinished, "", from);
    path_of(t->directory, name, "", to);
    if (wk_path_exists(to)) return WK_OK; // the same step holds the same state
    remove_directory(from);
    WK_TRY(wk_dir_create(from, err));
    wk_replay_mark mark;
    wk_status status = wk_replay_log_sync(t->replay_log, &mark, err);
    path_of(t->directory, unfinished, "run.bin", path);
    if (status == WK_OK) status = save_run_file(t, &mark, path, err);
    path_of(t->directory, unfinished, "learner.safetensors", path);
    if (status == WK_OK) status = wk_learner_save(t->learner, path, err);
    if (status == WK_OK) status = sync_directory(from, err);
    if (status == WK_OK && rename(from, to) != 0) status = file_error(err, "cannot name", to);
    if (status != WK_OK) {
        remove_directory(from);
        return status;
    }
    path_of(t->directory, "", "", path);
    WK_TRY(sync_directory(path, err));
    return prune(t, err);
}

static wk_status load_step(wk_trainer *t, uint64_t step, wk_replay_mark *mark, wk_error *err)
{
    char *bytes, name[40], path[PATH_CHARS];
    wk_run_header head;
    wk_run_state state = state_of(t);
    WK_TRY(read_run_file(t->directory, step, &bytes, &head, err));
    wk_status status = WK_OK;
    if (head.config != wk_run_config_hash(&t->config) || head.lanes != (uint64_t)t->count)
        status = wk_fail(err, WK_E_INPUT,
                         "the checkpoint at step %" PRIu64 " belongs to another configuration; "
                         "continue with the one in config.yaml, or choose another directory",
                         step);
    step_name(step, name);
    path_of(t->directory, name, "learner.safetensors", path);
    if (status == WK_OK) status = wk_learner_restore(t->learner, path, err);
    if (status == WK_OK) status = wk_run_file_read(bytes, (size_t)head.size, &state, err);
    if (status == WK_OK && t->acting) status = wk_acting_load(t->acting, t->acting_state, err);
    *mark = head.replay;
    free(bytes);
    return status;
}

// Whether the log gave back what the loop takes for granted.
static wk_status check_replay(const wk_trainer *t, wk_error *err)
{
    for (int i = 0; i < t->count; i++)
        if (wk_replay_running(t->replay, i) != (t->lanes[i].active != 0))
            return wk_fail(err, WK_E_FORMAT,
                           "the replay log and the checkpoint disagree on whether environment %d "
                           "runs",
                           i);
    int64_t spaces = (int64_t)wk_space_count(t->space);
    for (size_t i = 0; i < wk_replay_count(t->replay); i++)
        if (wk_replay_at(t->replay, i).space >= spaces)
            return wk_fail(err, WK_E_FORMAT,
                           "the replay log has an episode with a θ beyond the "
                           "domain's grid");
    return WK_OK;
}

// Rebuilds the replay buffer as it was at the mark. With `keep_rest` what was logged later is kept
// under another name.
static wk_status open_log(wk_trainer *t, const wk_replay_mark *mark, bool keep_rest, wk_error *err)
{
    char path[PATH_CHARS];
    snprintf(path, sizeof path, "%s/replay", t->directory);
    wk_replay_log_config log = {.directory = path, .keep_rest = keep_rest};
    WK_TRY(wk_trainer_make_replay(t, err));
    WK_TRY(wk_replay_log_open(&log, mark, t->replay, &t->replay_log, err));
    wk_status status = check_replay(t, err);
    if (status == WK_OK) return WK_OK;
    wk_replay_log_close(t->replay_log);
    t->replay_log = NULL;
    return status;
}

// A checkpoint that cannot be continued must not stand in the way when its step comes again, and is
// not ours to delete.
static wk_status set_aside(const wk_trainer *t, uint64_t step, wk_error *err)
{
    char name[40], damaged[80], from[PATH_CHARS], to[PATH_CHARS];
    step_name(step, name);
    path_of(t->directory, name, "", from);
    for (int copy = 0; copy == 0 || wk_path_exists(to); copy++) {
        char ending[16] = "";
        if (copy > 0) snprintf(ending, sizeof ending, "-%d", copy);
        snprintf(damaged, sizeof damaged, "damaged-%s%s", name, ending);
        path_of(t->directory, damaged, "", to);
    }
    return rename(from, to) == 0 ? WK_OK : file_error(err, "cannot set aside", from);
}

static wk_status continue_from(wk_trainer *t, uint64_t step, bool newest, wk_error *err)
{
    wk_replay_mark mark = {0};
    WK_TRY(load_step(t, step, &mark, err));
    return open_log(t, &mark, !newest, err);
}

wk_status wk_checkpoint_resume(wk_trainer *t, wk_error *err)
{
    uint64_t steps[WK_CHECKPOINTS_MAX];
    size_t count = list_checkpoints(t->directory, steps, WK_CHECKPOINTS_MAX, true);
    for (size_t i = 0; i < count; i++) {
        wk_status status = continue_from(t, steps[i], i == 0, err);
        if (status == WK_E_INPUT || status == WK_E_MEMORY) return status;
        if (status == WK_OK) {
            t->resumed_from = (int64_t)steps[i];
            for (size_t k = 0; k < i; k++)
                WK_TRY(set_aside(t, steps[k], err));
            return WK_OK;
        }
        if (i == 0) snprintf(t->resume_note, sizeof t->resume_note, "%s", err->message);
    }
    if (count == 0) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "none of the %zu checkpoints in '%s' can be continued; the newest: %.500s. "
                   "Nothing was changed: put a sound copy of the file in its place, or train "
                   "anew in another directory",
                   count, t->directory, t->resume_note);
}

size_t wk_checkpoint_list(const char *directory, uint64_t *steps, size_t most)
{
    return list_checkpoints(directory, steps, most, false);
}

wk_status wk_checkpoint_newest(const char *directory, uint64_t *step, wk_error *err)
{
    uint64_t steps[WK_CHECKPOINTS_MAX];
    size_t count = list_checkpoints(directory, steps, WK_CHECKPOINTS_MAX, false);
    wk_status status = WK_OK;
    for (size_t i = 0; i < count; i++) {
        char *bytes;
        wk_run_header head;
        status = read_run_file(directory, steps[i], &bytes, &head, err);
        if (status != WK_OK) continue;
        free(bytes);
        *step = steps[i];
        return WK_OK;
    }
    if (status != WK_OK) return status;
    return wk_fail(err, WK_E_NOT_FOUND,
                   "'%s' has no checkpoint; a run writes its first within a minute, and its last "
                   "when it ends",
                   directory);
}

static uint64_t file_bytes(const char *run, const char *name, const char *file)
{
    char path[PATH_CHARS];
    struct stat info;
    path_of(run, name, file, path);
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

wk_status wk_checkpoint_look(const char *directory, uint64_t step, wk_checkpoint_summary *out,
                             wk_error *err)
{
    char *bytes, name[40];
    wk_run_header head;
    WK_TRY(read_run_file(directory, step, &bytes, &head, err));
    wk_trainer_counters counters = wk_run_file_counters(bytes, (size_t)head.size);
    free(bytes);
    step_name(step, name);
    *out =
        (wk_checkpoint_summary){.steps = counters.steps,
                                .episodes = counters.episodes,
                                .updates = counters.updates,
                                .diverged = counters.diverged,
                                .environments = head.lanes,
                                .run_bytes = head.size,
                                .learner_bytes = file_bytes(directory, name, "learner.safetensors"),
                                .config = head.config,
                                .replay = head.replay};
    return WK_OK;
}

wk_status wk_checkpoint_verify(const char *directory, uint64_t step, wk_error *err)
{
    char *bytes, name[40], path[PATH_CHARS];
    wk_run_header head;
    WK_TRY(read_run_file(directory, step, &bytes, &head, err));
    free(bytes);
    step_name(step, name);
    path_of(directory, name, "learner.safetensors", path);
    wk_safetensors *file = NULL;
    wk_status status = wk_safetensors_open(path, &file, err);
    if (status == WK_OK) status = wk_safetensors_verify(file, err);
    wk_safetensors_close(file);
    return status;
}

wk_status wk_checkpoint_curriculum(const char *directory, uint64_t step, const wk_domain *domain,
                                   wk_curriculum *curriculum, wk_error *err)
{
    char *bytes;
    wk_run_header head;
    WK_TRY(read_run_file(directory, step, &bytes, &head, err));
    wk_run_state state = {.count = (int)head.lanes,
                          .domain = domain,
                          .note_size = WK_TRAINER_NOTE_BYTES,
                          .curriculum = curriculum};
    wk_status status = head.lanes <= INT32_MAX
                           ? wk_run_file_read_curriculum(bytes, (size_t)head.size, &state, err)
                           : wk_fail(err, WK_E_FORMAT, "%" PRIu64 " environments", head.lanes);
    if (status != WK_OK) wk_fail_context(err, "the checkpoint at step %" PRIu64, step);
    free(bytes);
    return status;
}
