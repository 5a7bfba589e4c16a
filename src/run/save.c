// Saving a run: one checkpoint of its parts, and deleting the older ones.
#include "base/file.h"
#include "run/checkpoint.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char UNFINISHED[] = "unfinished-";

static wk_status save_run_file(const wk_checkpoint_parts *p, const wk_replay_mark *mark,
                               const wk_dir *folder, wk_error *err)
{
    wk_text bytes = {0};
    if (p->acting) WK_TRY(wk_acting_save(p->acting, p->state.acting, err));
    wk_status status =
        wk_run_file_write(&p->state, wk_run_config_hash(p->config), mark, &bytes, err);
    if (status == WK_OK) return wk_file_write_text(folder, WK_CHECKPOINT_RUN_FILE, &bytes, err);
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
        WK_TRY(wk_dir_stat(folder, names->items[i], &entry, NULL, err));
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
    WK_TRY(wk_dir_stat(checkpoints, name, &entry, NULL, err));
    *gone = entry == WK_ENTRY_NONE;
    if (entry != WK_ENTRY_DIR) return WK_OK;
    WK_TRY(wk_dir_open_nofollow(checkpoints, name, &folder, err));
    wk_status status = empty(folder, gone, err);
    wk_dir_close(folder);
    return status == WK_OK && *gone ? wk_dir_remove_dir(checkpoints, name, err) : status;
}

// Deletes what saves that were killed have left.
wk_status wk_checkpoints_remove_unfinished(const wk_dir *checkpoints, wk_error *err)
{
    wk_steps steps = {0};
    wk_status status = wk_steps_list(checkpoints, UNFINISHED, "", &steps, err);
    for (size_t i = 0; status == WK_OK && i < steps.count; i++) {
        char name[WK_STEP_NAME_MAX];
        bool gone;
        wk_step_name(UNFINISHED, steps.items[i], "", name);
        status = remove_folder(checkpoints, name, &gone, err);
    }
    wk_array_free(&steps);
    return status;
}

static wk_status refuse_existing(const wk_dir *checkpoints, const char *name, wk_error *err)
{
    return wk_fail(err, WK_E_INPUT,
                   "'%s/%s' is in the way of a checkpoint, and not all of it was written by waker; "
                   "move it elsewhere",
                   wk_dir_path(checkpoints), name);
}

static wk_status read_step(const wk_dir *checkpoints, uint64_t step, char **bytes,
                           wk_run_header *head, wk_error *err)
{
    wk_dir *folder = NULL;
    WK_TRY(wk_checkpoint_open(checkpoints, step, &folder, err));
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
    wk_step_name(UNFINISHED, step, "", unfinished);
    WK_TRY(wk_dir_stat(checkpoints, name, &entry, NULL, err));
    if (entry != WK_ENTRY_DIR) return WK_OK;
    WK_TRY(wk_dir_open_nofollow(checkpoints, name, &folder, err));
    wk_status status = wk_dir_list(folder, &names, err);
    if (status == WK_OK) status = all_ours(folder, &names, &ours, err);
    wk_names_free(&names);
    wk_dir_close(folder);
    if (status != WK_OK || !ours) return status;
    WK_TRY(remove_folder(checkpoints, unfinished, &gone, err));
    if (!gone) return refuse_existing(checkpoints, unfinished, err);
    WK_TRY(wk_dir_rename(checkpoints, name, unfinished, err));
    return remove_folder(checkpoints, unfinished, &gone, err);
}

// Removes all but the newest, and the parts of the replay log that only the removed ones needed.
static wk_status prune(const wk_checkpoints *c, wk_error *err)
{
    wk_steps steps = {0};
    size_t keep = (size_t)c->parts.config->checkpoint_keep;
    wk_status status = wk_steps_list(c->dir, "", "", &steps, err);
    size_t first = steps.count > keep ? steps.count - keep : 0;
    for (size_t i = 0; status == WK_OK && i < first; i++)
        status = remove_step(c->dir, steps.items[i], err);
    char *bytes;
    wk_run_header head;
    if (status == WK_OK) status = read_step(c->dir, steps.items[first], &bytes, &head, err);
    wk_array_free(&steps);
    if (status != WK_OK) return status;
    free(bytes);
    return wk_replay_log_prune(*c->parts.replay_log, &head.replay, err);
}

static wk_status write_run_file(const wk_checkpoint_parts *p, const wk_dir *folder, wk_error *err)
{
    wk_replay_mark mark;
    WK_TRY(wk_replay_log_sync(*p->replay_log, &mark, err));
    return save_run_file(p, &mark, folder, err);
}

static wk_status write_files(const wk_checkpoint_parts *p, const wk_dir *folder, wk_error *err)
{
    WK_TRY(write_run_file(p, folder, err));
    WK_TRY(wk_learner_save(p->learner, folder, WK_CHECKPOINT_LEARNER_FILE, NULL, 0, err));
    return wk_dir_sync(folder, err);
}

// The checkpoint of this step has these weights; an evaluation may have been logged since.
static wk_status update_saved(wk_checkpoints *c, const char *name, wk_error *err)
{
    wk_dir *folder = NULL;
    if (memcmp(&c->saved, c->parts.state.schedule, sizeof c->saved) == 0) return WK_OK;
    WK_TRY(wk_dir_open_nofollow(c->dir, name, &folder, err));
    wk_status status = write_run_file(&c->parts, folder, err);
    if (status == WK_OK) status = wk_dir_sync(folder, err);
    wk_dir_close(folder);
    if (status == WK_OK) c->saved = *c->parts.state.schedule;
    return status;
}

// Writes a whole checkpoint under another name.
static wk_status write_unfinished(const wk_checkpoints *c, const char *name, wk_error *err)
{
    bool gone;
    wk_dir *folder = NULL;
    WK_TRY(remove_folder(c->dir, name, &gone, err));
    if (!gone) return refuse_existing(c->dir, name, err);
    WK_TRY(wk_dir_make(c->dir, name, &folder, err));
    wk_status status = write_files(&c->parts, folder, err);
    wk_dir_close(folder);
    return status;
}

wk_status wk_checkpoints_save(wk_checkpoints *c, wk_error *err)
{
    char name[WK_STEP_NAME_MAX], unfinished[WK_STEP_NAME_MAX];
    wk_entry there;
    uint64_t step = c->parts.state.counters->steps;
    wk_step_name("", step, "", name);
    wk_step_name(UNFINISHED, step, "", unfinished);
    WK_TRY(wk_dir_stat(c->dir, name, &there, NULL, err));
    if (there == WK_ENTRY_DIR) return update_saved(c, name, err);
    if (there != WK_ENTRY_NONE) return refuse_existing(c->dir, name, err);
    wk_status status = write_unfinished(c, unfinished, err);
    if (status == WK_OK) status = wk_dir_rename(c->dir, unfinished, name, err);
    if (status != WK_OK) {
        bool gone;
        remove_folder(c->dir, unfinished, &gone, NULL);
        return status;
    }
    WK_TRY(wk_dir_sync(c->dir, err));
    c->saved = *c->parts.state.schedule;
    WK_TRY(wk_dir_remove(c->dir, WK_CHECKPOINT_NONE_YET, err));
    return prune(c, err);
}
