// Saving a trainer as a checkpoint (run/checkpoint.h) and resuming from one.
//
// Resuming deletes nothing: a checkpoint that cannot be resumed, because it or the replay log is
// damaged, is renamed damaged-step-*, and what the log has beyond the checkpoint that is used is
// kept under another name. A damaged checkpoint is distinguished from one that cannot be read at
// the moment: the latter stops the run and changes nothing.
//
// A run that has no checkpoint yet has the file checkpoints/none-yet. Only there may metrics and
// replay be begun anew; without it they belong to checkpoints that are missing.
#include "base/file.h"
#include "base/text.h"
#include "log/metrics.h"
#include "log/tensorboard.h"
#include "run/checkpoint_files.h"
#include "train/trainer_parts.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_run_state state_of(wk_trainer *t)
{
    return (wk_run_state){.count = t->count,
                          .domain = t->domain,
                          .counters = &t->counters,
                          .running = t->running,
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

static wk_status save_run_file(wk_trainer *t, const wk_replay_mark *mark, const wk_dir *folder,
                               wk_error *err)
{
    wk_text bytes = {0};
    wk_run_state state = state_of(t);
    if (t->acting) WK_TRY(wk_acting_save(t->acting, t->acting_state, err));
    wk_status status = wk_run_file_write(&state, wk_run_config_hash(&t->config), mark, &bytes, err);
    if (status == WK_OK && bytes.failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory for a checkpoint");
    if (status == WK_OK)
        status = wk_file_write_in(folder, WK_CHECKPOINT_RUN_FILE, bytes.chars, bytes.length, err);
    wk_text_free(&bytes);
    return status;
}

// Whether a checkpoint has files of this name, the temporary ones of a killed process included.
static bool is_ours(const char *name)
{
    const char *const names[] = {WK_CHECKPOINT_RUN_FILE, WK_CHECKPOINT_LEARNER_FILE};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) != 0) continue;
        if (!name[length] || strncmp(name + length, ".tmp.", 5) == 0) return true;
    }
    return false;
}

// Whether everything in a directory was written by a save.
static wk_status all_ours(const wk_dir *folder, const wk_names *names, bool *ours, wk_error *err)
{
    *ours = true;
    for (size_t i = 0; i < names->count && *ours; i++) {
        wk_entry entry;
        WK_TRY(wk_dir_look(folder, names->items[i], &entry, NULL, err));
        *ours = entry == WK_ENTRY_FILE && is_ours(names->items[i]);
    }
    return WK_OK;
}

// Empties the directory of a checkpoint, unless it holds anything that no save wrote.
static wk_status empty(const wk_dir *folder, bool *emptied, wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(folder, &names, err);
    if (status == WK_OK) status = all_ours(folder, &names, emptied, err);
    for (size_t i = 0; status == WK_OK && *emptied && i < names.count; i++)
        status = wk_dir_remove(folder, names.items[i], err);
    wk_names_free(&names);
    return status;
}

// Deletes a directory that a save made. Links, and directories with anything else in them, stay.
static wk_status remove_folder(const wk_dir *checkpoints, const char *name, bool *gone,
                               wk_error *err)
{
    wk_entry entry;
    wk_dir *folder = NULL;
    WK_TRY(wk_dir_look(checkpoints, name, &entry, NULL, err));
    *gone = entry == WK_ENTRY_NONE;
    if (entry != WK_ENTRY_DIR) return WK_OK;
    WK_TRY(wk_dir_open_own(checkpoints, name, &folder, err));
    wk_status status = empty(folder, gone, err);
    wk_dir_close(folder);
    return status == WK_OK && *gone ? wk_dir_remove_dir(checkpoints, name, err) : status;
}

// Deletes what saves that were killed have left.
static wk_status remove_unfinished(const wk_dir *checkpoints, wk_error *err)
{
    wk_steps steps = {0};
    wk_status status = wk_steps_list(checkpoints, WK_CHECKPOINT_UNFINISHED, "", &steps, err);
    for (size_t i = 0; status == WK_OK && i < steps.count; i++) {
        char name[WK_STEP_NAME_MAX];
        bool gone;
        wk_step_name(WK_CHECKPOINT_UNFINISHED, steps.items[i], "", name);
        status = remove_folder(checkpoints, name, &gone, err);
    }
    wk_array_free(&steps);
    return status;
}

static wk_status in_the_way(const wk_dir *checkpoints, const char *name, wk_error *err)
{
    return wk_fail(err, WK_E_INPUT,
                   "'%s/%s' is in the way of a checkpoint, and not all of it was written by waker; "
                   "move it to another place",
                   wk_dir_path(checkpoints), name);
}

// Opens the directory of a checkpoint that was listed, for reading. That it cannot be opened says
// nothing about what is in it.
static wk_status open_step(const wk_dir *checkpoints, uint64_t step, wk_dir **out, wk_error *err)
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

static wk_status read_step(const wk_dir *checkpoints, uint64_t step, char **bytes,
                           wk_run_header *head, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(open_step(checkpoints, step, &folder, err));
    wk_status status = wk_checkpoint_read(folder, bytes, head, err);
    wk_dir_close(folder);
    return status;
}

// Deletes a checkpoint that a save made; it is no longer called one before it is no longer whole.
static wk_status remove_step(const wk_dir *checkpoints, uint64_t step, wk_error *err)
{
    char name[WK_STEP_NAME_MAX], unfinished[WK_STEP_NAME_MAX];
    bool ours = false, gone;
    wk_entry entry;
    wk_names names = {0};
    wk_dir *folder = NULL;
    wk_step_name("", step, "", name);
    wk_step_name(WK_CHECKPOINT_UNFINISHED, step, "", unfinished);
    WK_TRY(wk_dir_look(checkpoints, name, &entry, NULL, err));
    if (entry != WK_ENTRY_DIR) return WK_OK;
    WK_TRY(wk_dir_open_own(checkpoints, name, &folder, err));
    wk_status status = wk_dir_list(folder, &names, err);
    if (status == WK_OK) status = all_ours(folder, &names, &ours, err);
    wk_names_free(&names);
    wk_dir_close(folder);
    if (status != WK_OK || !ours) return status;
    WK_TRY(remove_folder(checkpoints, unfinished, &gone, err));
    if (!gone) return in_the_way(checkpoints, unfinished, err);
    WK_TRY(wk_dir_rename(checkpoints, name, unfinished, err));
    return remove_folder(checkpoints, unfinished, &gone, err);
}

// Removes all but the newest, and the parts of the replay log that only the removed ones needed.
static wk_status prune(wk_trainer *t, wk_error *err)
{
    wk_steps steps = {0};
    size_t keep = (size_t)t->config.checkpoint_keep;
    wk_status status = wk_steps_list(t->checkpoints, "", "", &steps, err);
    size_t first = steps.count > keep ? steps.count - keep : 0;
    for (size_t i = 0; status == WK_OK && i < first; i++)
        status = remove_step(t->checkpoints, steps.items[i], err);
    char *bytes;
    wk_run_header head;
    if (status == WK_OK) status = read_step(t->checkpoints, steps.items[first], &bytes, &head, err);
    wk_array_free(&steps);
    if (status != WK_OK) return status;
    free(bytes);
    return wk_replay_log_prune(t->replay_log, &head.replay, err);
}

static wk_status write_files(wk_trainer *t, const wk_dir *folder, wk_error *err)
{
    wk_replay_mark mark;
    WK_TRY(wk_replay_log_sync(t->replay_log, &mark, err));
    WK_TRY(save_run_file(t, &mark, folder, err));
    WK_TRY(wk_learner_save_labelled(t->learner, folder, WK_CHECKPOINT_LEARNER_FILE, NULL, 0, err));
    return wk_dir_sync(folder, err);
}

// Writes a whole checkpoint under another name.
static wk_status write_unfinished(wk_trainer *t, const char *name, wk_error *err)
{
    bool gone;
    wk_dir *folder = NULL;
    WK_TRY(remove_folder(t->checkpoints, name, &gone, err));
    if (!gone) return in_the_way(t->checkpoints, name, err);
    WK_TRY(wk_dir_make(t->checkpoints, name, &folder, err));
    wk_status status = write_files(t, folder, err);
    wk_dir_close(folder);
    return status;
}

wk_status wk_trainer_save(wk_trainer *t, wk_error *err)
{
    char name[WK_STEP_NAME_MAX], unfinished[WK_STEP_NAME_MAX];
    wk_entry there;
    wk_step_name("", t->counters.steps, "", name);
    wk_step_name(WK_CHECKPOINT_UNFINISHED, t->counters.steps, "", unfinished);
    WK_TRY(wk_dir_look(t->checkpoints, name, &there, NULL, err));
    if (there == WK_ENTRY_DIR) return WK_OK; // the same step holds the same state
    if (there != WK_ENTRY_NONE) return in_the_way(t->checkpoints, name, err);
    wk_status status = write_unfinished(t, unfinished, err);
    if (status == WK_OK) status = wk_dir_rename(t->checkpoints, unfinished, name, err);
    if (status != WK_OK) {
        bool gone;
        remove_folder(t->checkpoints, unfinished, &gone, NULL);
        return status;
    }
    WK_TRY(wk_dir_sync(t->checkpoints, err));
    WK_TRY(wk_dir_remove(t->checkpoints, WK_CHECKPOINT_NONE_YET, err));
    return prune(t, err);
}

static wk_status load_files(wk_trainer *t, uint64_t step, const wk_dir *folder,
                            wk_replay_mark *mark, wk_error *err)
{
    char *bytes;
    wk_run_header head;
    wk_run_state state = state_of(t);
    WK_TRY(wk_checkpoint_read(folder, &bytes, &head, err));
    wk_status status = WK_OK;
    if (!wk_run_config_has_hash(&t->config, head.config) || head.running != (uint64_t)t->count)
        status = wk_fail(err, WK_E_INPUT,
                         "the checkpoint at step %" PRIu64 " belongs to another configuration; "
                         "continue with the one in config.yaml, or choose another directory",
                         step);
    if (status == WK_OK)
        status = wk_learner_restore_in(t->learner, folder, WK_CHECKPOINT_LEARNER_FILE, err);
    if (status == WK_OK) status = wk_run_file_read(bytes, (size_t)head.size, &state, err);
    if (status == WK_OK && t->acting) status = wk_acting_load(t->acting, t->acting_state, err);
    *mark = head.replay;
    free(bytes);
    return status;
}

static wk_status load_step(wk_trainer *t, uint64_t step, wk_replay_mark *mark, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(open_step(t->checkpoints, step, &folder, err));
    wk_status status = load_files(t, step, folder, mark, err);
    wk_dir_close(folder);
    return status;
}

// Whether the restored replay is what the loop relies on.
static wk_status check_replay(void *trainer, wk_error *err)
{
    const wk_trainer *t = trainer;
    for (int i = 0; i < t->count; i++)
        if (wk_replay_running(t->replay, i) != (t->running[i].active != 0))
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
    wk_replay_log_config log = {.in = t->directory,
                                .directory = "replay",
                                .keep_rest = keep_rest,
                                .accept = check_replay,
                                .context = t};
    WK_TRY(wk_trainer_make_replay(t, err));
    return wk_replay_log_open(&log, mark, t->replay, &t->replay_log, err);
}

// A checkpoint that cannot be resumed must not block its step when it comes again, and must not be
// deleted either.
static wk_status rename_damaged(const wk_trainer *t, uint64_t step, wk_error *err)
{
    char name[WK_STEP_NAME_MAX], damaged[WK_STEP_NAME_MAX];
    wk_entry there = WK_ENTRY_OTHER;
    wk_step_name("", step, "", name);
    for (int copy = 0; there != WK_ENTRY_NONE; copy++) {
        char ending[16] = "";
        if (copy > 0) snprintf(ending, sizeof ending, "-%d", copy);
        wk_step_name("damaged-", step, ending, damaged);
        WK_TRY(wk_dir_look(t->checkpoints, damaged, &there, NULL, err));
    }
    return wk_dir_rename(t->checkpoints, name, damaged, err);
}

static wk_status continue_from(wk_trainer *t, uint64_t step, bool newest, wk_error *err)
{
    wk_replay_mark mark = {0};
    WK_TRY(load_step(t, step, &mark, err));
    return open_log(t, &mark, !newest, err);
}

// Disks that do not answer now may do so later: what they hold is not taken for damaged.
static wk_status unreadable(const wk_trainer *t, uint64_t step, wk_error *err)
{
    wk_error said = *err;
    return wk_fail(err, WK_E_IO,
                   "cannot go on from the checkpoint at step %" PRIu64 " of '%s': %.700s. It is "
                   "left as it is: try again, or rename it to go on from the one before",
                   step, wk_dir_path(t->directory), said.message);
}

// Continues from the newest of the steps that can be.
static wk_status resume_any(wk_trainer *t, const wk_steps *steps, wk_error *err)
{
    size_t count = steps->count;
    for (size_t i = count; i-- > 0;) {
        wk_status status = continue_from(t, steps->items[i], i + 1 == count, err);
        if (status == WK_E_INPUT || status == WK_E_MEMORY) return status;
        if (status == WK_E_IO) return unreadable(t, steps->items[i], err);
        if (status == WK_OK) {
            t->resumed_from = (int64_t)steps->items[i];
            for (size_t k = i + 1; k < count; k++)
                WK_TRY(rename_damaged(t, steps->items[k], err));
            return wk_dir_remove(t->checkpoints, WK_CHECKPOINT_NONE_YET, err);
        }
        if (i + 1 == count) snprintf(t->resume_note, sizeof t->resume_note, "%s", err->message);
    }
    return wk_fail(err, WK_E_FORMAT,
                   "none of the %zu checkpoints in '%s' can be continued; the newest: %.500s. "
                   "Nothing was changed: put a sound copy of the file in its place, keep what is "
                   "whole with 'waker ckpt %s --repair', or train anew in another directory",
                   count, wk_dir_path(t->directory), t->resume_note, wk_dir_path(t->directory));
}

static wk_status has_entries(const wk_dir *dir, const char *name, bool *any, wk_error *err)
{
    wk_dir *folder = NULL;
    wk_names names = {0};
    wk_status status = wk_dir_open(dir, name, &folder, err);
    *any = false;
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_dir_list(folder, &names, err);
    *any = names.count > 0;
    wk_names_free(&names);
    wk_dir_close(folder);
    return status;
}

// The name of something in the directory that a run has collected, "" when there is nothing.
static wk_status find_results(const wk_dir *dir, char name[WK_METRICS_FILE_MAX], wk_error *err)
{
    static const char *const folders[] = {"replay", "snapshots"};
    uint64_t size;
    wk_entry entry;
    WK_TRY(wk_tensorboard_newest(dir, name, err));
    if (*name) return WK_OK;
    WK_TRY(wk_dir_look(dir, WK_METRICS_JSONL, &entry, &size, err));
    if (entry != WK_ENTRY_NONE && size > 0)
        snprintf(name, WK_METRICS_FILE_MAX, "%s", WK_METRICS_JSONL);
    for (int i = 0; i < 2 && !*name; i++) {
        bool any;
        WK_TRY(has_entries(dir, folders[i], &any, err));
        if (any) snprintf(name, WK_METRICS_FILE_MAX, "%s", folders[i]);
    }
    return WK_OK;
}

// A new run would empty what is there: only where no checkpoint was ever written may it.
static wk_status refuse_results(const wk_trainer *t, wk_error *err)
{
    char name[WK_METRICS_FILE_MAX];
    WK_TRY(find_results(t->directory, name, err));
    if (!*name) return WK_OK;
    const char *path = wk_dir_path(t->directory);
    return wk_fail(err, WK_E_INPUT,
                   "'%s' has '%s' but no checkpoint to go on from, and a new run would overwrite "
                   "it; put the checkpoints back into '%s/checkpoints', choose another directory, "
                   "or move '%s' away to begin anew",
                   path, name, path, name);
}

// Opens the directory of checkpoints, makes it where a run may begin, and lists what is in it.
static wk_status open_checkpoints(wk_trainer *t, wk_steps *steps, wk_error *err)
{
    static const char text[] =
        "This run has no checkpoint yet: it begins anew when it is started again.\n";
    wk_entry begun = WK_ENTRY_NONE;
    wk_status status = wk_dir_open_own(t->directory, WK_CHECKPOINT_FOLDER, &t->checkpoints, err);
    if (status != WK_OK && status != WK_E_NOT_FOUND) return status;
    if (t->checkpoints) {
        WK_TRY(wk_steps_list(t->checkpoints, "", "", steps, err));
        WK_TRY(wk_dir_look(t->checkpoints, WK_CHECKPOINT_NONE_YET, &begun, NULL, err));
    }
    if (steps->count > 0 || begun == WK_ENTRY_FILE) return WK_OK;
    WK_TRY(refuse_results(t, err));
    if (!t->checkpoints)
        WK_TRY(wk_dir_make(t->directory, WK_CHECKPOINT_FOLDER, &t->checkpoints, err));
    return wk_file_write_in(t->checkpoints, WK_CHECKPOINT_NONE_YET, text, sizeof text - 1, err);
}

wk_status wk_trainer_resume(wk_trainer *t, wk_error *err)
{
    wk_steps steps = {0};
    wk_status status = open_checkpoints(t, &steps, err);
    if (status == WK_OK && steps.count > 0) status = resume_any(t, &steps, err);
    if (status == WK_OK) status = remove_unfinished(t->checkpoints, err);
    wk_array_free(&steps);
    return status;
}
