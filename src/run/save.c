// Saving a run: one checkpoint of its parts, and deleting the older ones.
#include "base/file.h"
#include "run/checkpoint.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char UNFINISHED[] = "unfinished-";

// Opens the folder of a checkpoint and says whether a save wrote all that is in it, the temporary
// files of a killed process included; lists that. Close folder and names also after a failure.
static wk_status look_into(const wk_dir *checkpoints, const char *name, wk_dir **folder,
                           wk_names *names, bool *ours, wk_error *err)
{
    static const char *const files[] = {WK_CHECKPOINT_RUN_FILE, WK_CHECKPOINT_LEARNER_FILE};
    WK_TRY(wk_dir_open_nofollow(checkpoints, name, folder, err));
    WK_TRY(wk_dir_list(*folder, names, err));
    *ours = true;
    for (size_t i = 0; i < names->count && *ours; i++) {
        wk_entry entry;
        bool known = false;
        for (int k = 0; k < 2; k++) {
            size_t length = strlen(files[k]);
            const char *rest = names->items[i] + length;
            known |= strncmp(names->items[i], files[k], length) == 0 &&
                     (!*rest || strncmp(rest, ".tmp.", 5) == 0);
        }
        WK_TRY(wk_dir_stat(*folder, names->items[i], &entry, NULL, err));
        *ours = known && entry == WK_ENTRY_FILE;
    }
    return WK_OK;
}

// Deletes a directory that a save made. Links, and directories with anything else in them, stay.
static wk_status remove_folder(const wk_dir *checkpoints, const char *name, bool *gone,
                               wk_error *err)
{
    wk_entry entry;
    wk_dir *folder = NULL;
    wk_names names = {0};
    WK_TRY(wk_dir_stat(checkpoints, name, &entry, NULL, err));
    *gone = entry == WK_ENTRY_NONE;
    if (entry != WK_ENTRY_DIR) return WK_OK;
    wk_status status = look_into(checkpoints, name, &folder, &names, gone, err);
    for (size_t i = 0; status == WK_OK && *gone && i < names.count; i++)
        status = wk_dir_remove(folder, names.items[i], err);
    wk_names_free(&names);
    wk_dir_close(folder);
    return status == WK_OK && *gone ? wk_dir_remove_dir(checkpoints, name, err) : status;
}

// As remove_folder; what stays is an error.
static wk_status clear_way(const wk_dir *checkpoints, const char *name, wk_error *err)
{
    bool gone;
    WK_TRY(remove_folder(checkpoints, name, &gone, err));
    if (gone) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s/%s' is in the way of a checkpoint, and not all of it was written by waker; "
                   "move it elsewhere",
                   wk_dir_path(checkpoints), name);
}

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

// Removes all checkpoints that a save made but the newest, and the parts of the replay log that
// only the removed ones needed.
static wk_status prune(const wk_checkpoints *c, wk_error *err)
{
    wk_steps steps = {0};
    wk_run_header head;
    char *bytes = NULL;
    size_t keep = (size_t)c->parts.config->checkpoint_keep;
    wk_status status = wk_steps_list(c->dir, "", "", &steps, err);
    size_t first = steps.count > keep ? steps.count - keep : 0;
    for (size_t i = 0; status == WK_OK && i < first; i++) {
        char name[WK_STEP_NAME_MAX], unfinished[WK_STEP_NAME_MAX];
        bool ours = false, gone;
        wk_entry entry;
        wk_names names = {0};
        wk_dir *folder = NULL;
        wk_step_name("", steps.items[i], "", name);
        wk_step_name(UNFINISHED, steps.items[i], "", unfinished);
        status = wk_dir_stat(c->dir, name, &entry, NULL, err);
        if (status == WK_OK && entry == WK_ENTRY_DIR)
            status = look_into(c->dir, name, &folder, &names, &ours, err);
        wk_names_free(&names);
        wk_dir_close(folder);
        // It is no longer called a checkpoint before it is no longer whole.
        if (status != WK_OK || !ours) continue;
        status = clear_way(c->dir, unfinished, err);
        if (status == WK_OK) status = wk_dir_rename(c->dir, name, unfinished, err);
        if (status == WK_OK) status = remove_folder(c->dir, unfinished, &gone, err);
    }
    wk_dir *oldest = NULL;
    if (status == WK_OK) status = wk_checkpoint_open(c->dir, steps.items[first], &oldest, err);
    if (status == WK_OK) status = wk_checkpoint_read(oldest, &bytes, &head, err);
    if (status == WK_OK) free(bytes);
    wk_dir_close(oldest);
    wk_array_free(&steps);
    return status == WK_OK ? wk_replay_log_prune(*c->parts.replay_log, &head.replay, err) : status;
}

// Writes run.bin, which has the mark of the replay log, made durable before, and with `weights` the
// learner's file into the folder of a checkpoint; closes the folder.
static wk_status write_files(const wk_checkpoints *c, wk_dir *folder, bool weights, wk_error *err)
{
    const wk_checkpoint_parts *p = &c->parts;
    wk_replay_mark mark;
    wk_text bytes = {0};
    wk_status status = wk_replay_log_sync(*p->replay_log, &mark, err);
    if (status == WK_OK && p->acting) status = wk_acting_save(p->acting, p->state.acting, err);
    if (status == WK_OK)
        status = wk_run_file_write(&p->state, wk_run_config_hash(p->config), &mark, &bytes, err);
    if (status == WK_OK) status = wk_file_write_text(folder, WK_CHECKPOINT_RUN_FILE, &bytes, err);
    wk_text_free(&bytes);
    if (status == WK_OK && weights)
        status = wk_learner_save(p->learner, folder, WK_CHECKPOINT_LEARNER_FILE, NULL, 0, err);
    if (status == WK_OK) status = wk_dir_sync(folder, err);
    wk_dir_close(folder);
    return status;
}

wk_status wk_checkpoints_save(wk_checkpoints *c, wk_error *err)
{
    char name[WK_STEP_NAME_MAX], unfinished[WK_STEP_NAME_MAX];
    wk_entry there;
    wk_dir *folder = NULL;
    const wk_run_schedule *now = c->parts.state.schedule;
    uint64_t step = c->parts.state.counters->steps;
    wk_step_name("", step, "", name);
    wk_step_name(UNFINISHED, step, "", unfinished);
    WK_TRY(wk_dir_stat(c->dir, name, &there, NULL, err));

    // The checkpoint of this step has these weights; an evaluation may have been logged since.
    if (there == WK_ENTRY_DIR) {
        if (memcmp(&c->saved, now, sizeof *now) == 0) return WK_OK;
        WK_TRY(wk_dir_open_nofollow(c->dir, name, &folder, err));
        WK_TRY(write_files(c, folder, false, err));
        c->saved = *now;
        return WK_OK;
    }
    if (there != WK_ENTRY_NONE) return clear_way(c->dir, name, err);

    // A new one gets its name when it is whole.
    WK_TRY(clear_way(c->dir, unfinished, err));
    wk_status status = wk_dir_make(c->dir, unfinished, &folder, err);
    if (status == WK_OK) status = write_files(c, folder, true, err);
    if (status == WK_OK) status = wk_dir_rename(c->dir, unfinished, name, err);
    if (status != WK_OK) {
        bool gone;
        remove_folder(c->dir, unfinished, &gone, NULL);
        return status;
    }
    WK_TRY(wk_dir_sync(c->dir, err));
    c->saved = *now;

    // Only then is anything deleted.
    WK_TRY(wk_dir_remove(c->dir, WK_CHECKPOINT_NONE_YET, err));
    return prune(c, err);
}
