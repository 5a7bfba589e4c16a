// Resuming a run: its parts are filled again from the newest checkpoint that is sound, or it
// begins.
#include "base/file.h"
#include "config/parts.h"
#include "log/files.h"
#include "replay/log_format.h"
#include "run/checkpoint.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Fills the parts from one checkpoint; the mark says where the replay log ends for it.
static wk_status load_step(wk_checkpoints *c, uint64_t step, wk_replay_mark *mark, wk_error *err)
{
    const wk_checkpoint_parts *p = &c->parts;
    char *bytes = NULL;
    wk_run_header head;
    wk_dir *folder = NULL;
    WK_TRY(wk_checkpoint_open(c->dir, step, &folder, err));
    wk_status status = wk_checkpoint_read(folder, &bytes, &head, err);
    if (status != WK_OK) bytes = NULL;
    if (status == WK_OK &&
        (wk_run_config_hash(p->config) != head.config || head.running != (uint64_t)p->state.count))
        status = wk_fail(err, WK_E_INPUT,
                         "the checkpoint at agent step %" PRIu64
                         " belongs to another configuration; resume with the one in config.yaml, "
                         "or choose another directory",
                         step);
    if (status == WK_OK)
        status = wk_learner_restore(p->learner, folder, WK_CHECKPOINT_LEARNER_FILE, err);
    if (status == WK_OK) status = wk_run_file_read(bytes, (size_t)head.size, &p->state, err);
    if (status == WK_OK && p->acting) status = wk_acting_load(p->acting, p->state.acting, err);
    if (status == WK_OK) {
        *mark = head.replay;
        c->engine = head.engine;
    }
    free(bytes);
    wk_dir_close(folder);
    return status;
}

// Whether the restored replay is what the loop relies on.
static wk_status check_replay(void *parts, wk_error *err)
{
    const wk_checkpoint_parts *p = parts;
    const wk_replay *replay = *p->replay;
    for (int i = 0; i < p->state.count; i++)
        if (wk_replay_running(replay, i) != (p->state.running[i].active != 0))
            return wk_fail(
                err, WK_E_FORMAT,
                "the replay log and the checkpoint disagree on whether environment %d is running",
                i);
    int64_t thetas = (int64_t)wk_space_count(p->space);
    for (size_t i = 0; i < wk_replay_count(replay); i++)
        if (wk_replay_at(replay, i).theta_index >= thetas)
            return wk_fail(err, WK_E_FORMAT,
                           "the replay log has an episode with a θ beyond the "
                           "domain's grid");
    return WK_OK;
}

// Makes the replay buffer as it was at the mark. With `keep_after_mark` what was logged later is
// kept under another name.
static wk_status open_replay(wk_checkpoints *c, const wk_replay_mark *mark, bool keep_after_mark,
                             wk_error *err)
{
    wk_checkpoint_parts *p = &c->parts;
    wk_replay_log_config log = {.in = c->run,
                                .directory = "replay",
                                .keep_after_mark = keep_after_mark,
                                .accept = check_replay,
                                .context = p};
    wk_replay_config sizes = wk_run_config_replay(p->config, p->state.domain);
    sizes.pool = p->pool;
    wk_replay_destroy(*p->replay);
    *p->replay = NULL;
    WK_TRY(wk_replay_create(&sizes, p->replay, err));
    return wk_replay_log_open(&log, mark, *p->replay, p->replay_log, err);
}

// Continues from the newest of the steps that can be.
static wk_status resume_any(wk_checkpoints *c, const wk_steps *steps, wk_error *err)
{
    size_t count = steps->count, used = count;
    const char *path = wk_dir_path(c->run);
    while (used-- > 0) {
        wk_replay_mark mark = {0};
        uint64_t step = steps->items[used];
        wk_status status = load_step(c, step, &mark, err);
        if (status == WK_OK) status = open_replay(c, &mark, used + 1 < count, err);
        if (status == WK_OK) break;
        if (status == WK_E_INPUT || status == WK_E_MEMORY) return status;
        wk_error said = *err;
        // Disks that do not answer now may do so later: what they hold is not taken for damaged.
        if (status == WK_E_IO)
            return wk_fail(err, WK_E_IO,
                           "cannot resume from the checkpoint at agent step %" PRIu64
                           " of '%s': %.700s. It was not changed: try again, or rename it to "
                           "resume from the one before",
                           step, path, said.message);
        if (used + 1 == count) snprintf(c->trouble, sizeof c->trouble, "%s", said.message);
        if (used == 0)
            return wk_fail(err, WK_E_FORMAT,
                           "cannot resume from any of the %zu checkpoints in '%s'; the newest: "
                           "%.500s. Nothing was changed: restore a sound copy of the file, or "
                           "train a new run with the same settings ('waker train --logdir NEW "
                           "--from %s'); snapshots and adapted policies of this one stay usable",
                           count, path, c->trouble, path);
    }
    c->resumed_from = (int64_t)steps->items[used];
    c->saved = *c->parts.state.schedule;
    // Those that cannot be resumed must not block their steps when they come again, and must not be
    // deleted either.
    for (size_t k = used + 1; k < count; k++) {
        char name[WK_STEP_NAME_MAX], damaged[WK_STEP_NAME_MAX], ending[16] = "";
        wk_entry there = WK_ENTRY_OTHER;
        wk_step_name("", steps->items[k], "", name);
        for (int copy = 0; there != WK_ENTRY_NONE; copy++) {
            if (copy > 0) snprintf(ending, sizeof ending, "-%d", copy);
            wk_step_name("damaged-", steps->items[k], ending, damaged);
            WK_TRY(wk_dir_stat(c->dir, damaged, &there, NULL, err));
        }
        WK_TRY(wk_dir_rename(c->dir, name, damaged, err));
    }
    return wk_dir_remove(c->dir, WK_CHECKPOINT_NONE_YET, err);
}

// Fails where a new run would empty what an earlier one has collected, or made from its weights.
static wk_status refuse_results(const wk_checkpoints *c, wk_error *err)
{
    static const char *const folders[] = {"replay", "snapshots", "adapt",  "finetune",
                                          "eval",   "benchmark", "rewards"};
    char name[WK_METRICS_FILE_MAX];
    uint64_t size;
    wk_entry entry;
    WK_TRY(wk_tensorboard_newest(c->run, name, err));
    WK_TRY(wk_dir_stat(c->run, WK_METRICS_JSONL, &entry, &size, err));
    if (!*name && entry != WK_ENTRY_NONE && size > 0)
        snprintf(name, sizeof name, "%s", WK_METRICS_JSONL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !*name; i++) {
        wk_dir *folder = NULL;
        wk_names names = {0};
        wk_error said = {0};
        wk_status status = wk_dir_open(c->run, folders[i], &folder, &said);
        if (status == WK_E_NOT_FOUND) continue;
        if (status != WK_OK && err) *err = said;
        if (status == WK_OK) status = wk_dir_list(folder, &names, err);
        if (names.count > 0) snprintf(name, sizeof name, "%s", folders[i]);
        wk_names_free(&names);
        wk_dir_close(folder);
        WK_TRY(status);
    }
    if (!*name) return WK_OK;
    const char *path = wk_dir_path(c->run);
    return wk_fail(err, WK_E_INPUT,
                   "'%s' has '%s' but no checkpoint to resume from, and a new run would overwrite "
                   "it; put the checkpoints back into '%s/checkpoints', choose another directory "
                   "(with the same settings: --logdir DIR --from %s), or move '%s' away to start "
                   "over",
                   path, name, path, path, name);
}

wk_status wk_checkpoints_open(const wk_dir *run, const wk_checkpoint_parts *parts,
                              wk_checkpoints *c, wk_error *err)
{
    static const char text[] =
        "This run has no checkpoint yet: it begins anew when it is started again.\n";
    static const wk_replay_mark beginning;
    wk_entry begun = WK_ENTRY_NONE;
    wk_steps steps = {0};
    wk_error said = {0};
    *c = (wk_checkpoints){.run = run, .parts = *parts, .resumed_from = -1};
    wk_status status = wk_dir_open_nofollow(run, WK_CHECKPOINT_FOLDER, &c->dir, &said);
    if (status != WK_OK && status != WK_E_NOT_FOUND)
        return wk_fail(err, status, "%s", said.message);
    if (status == WK_OK)
        status = wk_steps_list(c->dir, "", "", &steps, err);
    else
        status = WK_OK;
    if (status == WK_OK && c->dir)
        status = wk_dir_stat(c->dir, WK_CHECKPOINT_NONE_YET, &begun, NULL, err);

    // A run may begin where none has been.
    if (status == WK_OK && steps.count == 0 && begun != WK_ENTRY_FILE) {
        status = refuse_results(c, err);
        if (status == WK_OK && !c->dir)
            status = wk_dir_make(run, WK_CHECKPOINT_FOLDER, &c->dir, err);
        if (status == WK_OK)
            status = wk_file_write_in(c->dir, WK_CHECKPOINT_NONE_YET, text, sizeof text - 1, err);
    }
    if (status == WK_OK && steps.count > 0) status = resume_any(c, &steps, err);
    if (status == WK_OK) status = wk_checkpoints_remove_unfinished(c->dir, err);
    if (status == WK_OK && steps.count == 0) status = open_replay(c, &beginning, false, err);
    wk_array_free(&steps);
    return status;
}

void wk_checkpoints_close(wk_checkpoints *c)
{
    wk_dir_close(c->dir);
    *c = (wk_checkpoints){0};
}

// Removes a file and the directory that has nothing else.
static void remove_with_folder(const wk_dir *run, const char *folder, const char *file)
{
    wk_dir *dir = NULL;
    if (wk_dir_open_nofollow(run, folder, &dir, NULL) != WK_OK) return;
    (void)wk_dir_remove(dir, file, NULL);
    wk_dir_close(dir);
    (void)wk_dir_remove_dir(run, folder, NULL);
}

void wk_checkpoints_retract(const wk_dir *run)
{
    char first[WK_LOG_NAME_MAX];
    wk_log_name(0, first);
    remove_with_folder(run, WK_CHECKPOINT_FOLDER, WK_CHECKPOINT_NONE_YET);
    remove_with_folder(run, "replay", first);
}
