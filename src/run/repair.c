// The order makes every moment a run that can be repaired again or continued: new segments after
// the old ones (which a run without the repair deletes again), the record of the repair, the
// checkpoint's new run.bin, and only then the new names of what was replaced.
#include "run/repair.h"

#include "base/crc32c.h"
#include "base/document.h"
#include "base/file.h"
#include "base/observation.h"
#include "base/text.h"
#include "config/parts.h"
#include "nn/safetensors.h"
#include "replay/log_file.h"
#include "replay/salvage.h"
#include "run/checkpoint/checkpoint.h"
#include "run/lock.h"
#include "run/saved_run.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// repairs.jsonl: that a run was repaired, and what it lost.
enum { REPAIRS_LIMIT = 1 << 20 };

static wk_status read_line(const char *path, const char *line, size_t size, wk_run_repairs *out,
                           wk_error *err)
{
    wk_document d;
    wk_document_start(path, line, size, &d, NULL);
    while (wk_document_member(&d)) {
        if (wk_document_is(&d, "step"))
            out->step = wk_document_integer(&d);
        else if (wk_document_is(&d, "episodes_lost"))
            out->lost = wk_document_integer(&d);
    }
    out->count++;
    return wk_document_close(&d, err);
}

static wk_status read_lines(const char *path, const char *bytes, wk_run_repairs *out, wk_error *err)
{
    for (const char *line = bytes; *line;) {
        size_t size = strcspn(line, "\n");
        WK_TRY(read_line(path, line, size, out, err));
        line += size + (line[size] != 0);
    }
    return WK_OK;
}

wk_status wk_run_repairs_read(const char *directory, wk_run_repairs *out, wk_error *err)
{
    char path[WK_PATH_MAX], *bytes;
    size_t size;
    *out = (wk_run_repairs){0};
    WK_TRY(wk_path_join(directory, WK_REPAIRS_FILE, path, err));
    wk_status status = wk_file_read(path, REPAIRS_LIMIT, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    status = read_lines(path, bytes, out, err);
    free(bytes);
    return status;
}

wk_status wk_run_repairs_text(const char *directory, char out[WK_REPAIRS_TEXT_MAX], wk_error *err)
{
    wk_run_repairs repairs;
    *out = 0;
    WK_TRY(wk_run_repairs_read(directory, &repairs, err));
    if (repairs.count > 0)
        snprintf(out, WK_REPAIRS_TEXT_MAX,
                 "this run was repaired at agent step %" PRIu64 " (episodes lost: %" PRIu64
                 ") and is no longer exact",
                 repairs.step, repairs.lost);
    return WK_OK;
}

wk_status wk_run_repairs_add(const wk_dir *dir, const wk_run_repair *repair, wk_error *err)
{
    wk_text text = {0};
    char *before;
    size_t size;
    wk_status status = wk_file_read_in(dir, WK_REPAIRS_FILE, REPAIRS_LIMIT, &before, &size, err);
    if (status == WK_OK) {
        wk_text_append(&text, before, size);
        free(before);
    } else if (status != WK_E_NOT_FOUND) {
        return status;
    }
    wk_text_printf(&text,
                   "{\"step\": %" PRIu64 ", \"episodes_kept\": %" PRIu64
                   ", \"episodes_lost\": %" PRIu64 ", \"rows_lost\": %" PRIu64
                   ", \"environments_stopped\": %" PRIu64 "}\n",
                   repair->step, repair->kept, repair->lost, repair->rows_lost, repair->stopped);
    return wk_file_write_text(dir, WK_REPAIRS_FILE, &text, err);
}

typedef struct repair {
    const char *path;
    wk_progress_line *progress;
    wk_dir *dir, *checkpoints, *step_dir, *replay;
    wk_lock lock;
    wk_run_config config;
    wk_plugin_record record;
    wk_run_rewards rewards; // where the run collects some
    wk_run_world world;
    wk_steps steps; // all checkpoints
    uint64_t step;  // the one that is repaired
    char *bytes;    // of its run.bin
    wk_run_header head;
    wk_trainer_counters counters;
    wk_running_episode *running; // in `bytes`
    wk_run_schedule schedule;
    size_t worlds; // where the environments' states begin in `bytes`
    wk_salvage_slot *slots;
} repair;

static wk_status open_run(repair *r, wk_error *err)
{
    wk_saved_run saved = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CONFIG};
    wk_status read = wk_saved_run_open(r->path, &options, &saved, err);
    r->config = saved.config;
    wk_saved_run_close(&saved);
    WK_TRY(read);
    WK_TRY(wk_plugin_record_read(r->path, &r->record, err));
    WK_TRY(wk_run_world_open(&r->config, NULL, &r->record, &r->world, err));
    WK_TRY(wk_run_rewards_open(r->path, r->world.domain, NULL, NULL, NULL, &r->rewards, err));
    if (wk_run_rewards_in_replay(&r->rewards))
        r->world.domain = wk_run_rewards_domain(&r->rewards, r->world.domain);
    WK_TRY(wk_dir_open(NULL, r->path, &r->dir, err));
    WK_TRY(wk_lock_take(r->dir, &r->lock, err));
    wk_status status = wk_dir_open_nofollow(r->dir, WK_CHECKPOINT_FOLDER, &r->checkpoints, err);
    if (status != WK_E_NOT_FOUND) WK_TRY(status);
    if (r->checkpoints) WK_TRY(wk_steps_list(r->checkpoints, "", "", &r->steps, err));
    if (r->steps.count > 0) return WK_OK;
    return wk_fail(err, WK_E_NOT_FOUND, "'%s' has no checkpoint to repair", r->path);
}

// Whether a checkpoint can be continued as it is: `train` would, to the same bytes.
static wk_status find_sound(const repair *r, wk_run_repair *out, wk_error *err)
{
    wk_progress_next(r->progress, "checkpoints", (int64_t)r->steps.count);
    for (size_t i = r->steps.count; i-- > 0 && !out->sound; wk_progress_count(r->progress, 0)) {
        wk_error fault = {0};
        wk_status status = wk_checkpoint_verify(r->path, r->steps.items[i], &fault);
        if (status == WK_E_IO || status == WK_E_MEMORY)
            return wk_fail(err, status, "%s", fault.message);
        out->sound = status == WK_OK;
        out->step = r->steps.items[i];
    }
    return WK_OK;
}

// Opens a checkpoint whose own files are whole.
static wk_status open_step(repair *r, uint64_t step, wk_error *err)
{
    char name[WK_STEP_NAME_MAX];
    wk_safetensors *weights = NULL;
    wk_step_name("", step, "", name);
    WK_TRY(wk_dir_open_nofollow(r->checkpoints, name, &r->step_dir, err));
    wk_status status =
        wk_safetensors_open_in(r->step_dir, WK_CHECKPOINT_LEARNER_FILE, &weights, err);
    if (status == WK_OK) status = wk_safetensors_verify_weights(weights, err);
    wk_safetensors_close(weights);
    if (status == WK_OK) status = wk_checkpoint_read(r->step_dir, &r->bytes, &r->head, err);
    if (status == WK_OK) {
        r->step = step;
        return WK_OK;
    }
    r->bytes = NULL;
    wk_dir_close(r->step_dir);
    r->step_dir = NULL;
    return status;
}

static wk_status choose_step(repair *r, wk_error *err)
{
    wk_error newest = {0};
    for (size_t i = r->steps.count; i-- > 0 && !r->bytes;) {
        wk_error fault = {0};
        wk_status status = open_step(r, r->steps.items[i], &fault);
        if (status == WK_E_IO || status == WK_E_MEMORY)
            return wk_fail(err, status, "%s", fault.message);
        if (status != WK_OK && newest.status == WK_OK) newest = fault;
    }
    if (r->bytes) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "every checkpoint of '%s' is itself damaged, so there is nothing to resume "
                   "from; the newest: %.600s",
                   r->path, newest.message);
}

// The length of the block at *at, which is moved after it; false where the file ends first.
static bool skip_block(const repair *r, size_t end, size_t *at)
{
    uint64_t length;
    if (end - *at < sizeof length) return false;
    memcpy(&length, r->bytes + *at, sizeof length);
    if (length > end - *at - sizeof length) return false;
    *at += sizeof length + (size_t)length;
    return true;
}

// Finds the parts of run.bin that a repair changes: see run/checkpoint/run_file.h.
static wk_status find_parts(repair *r, wk_error *err)
{
    size_t n = (size_t)r->config.env_count, end = (size_t)r->head.size - sizeof(uint32_t);
    const wk_domain *domain = r->world.domain;
    size_t row = (size_t)domain->action_size * sizeof(float) +
                 wk_observation_image_bytes(domain->observation) + wk_run_vector_bytes(domain, 1) +
                 1;
    size_t running = sizeof r->head + sizeof r->counters;
    size_t plain = running + n * (sizeof *r->running + row) + WK_RUN_SCHEDULE_BYTES;
    bool fits =
        r->head.running == n && wk_run_config_has_hash(&r->config, r->head.config) && plain <= end;
    size_t at = plain, blocks = 0;
    while (fits && at < end) {
        fits = skip_block(r, end, &at);
        blocks++;
    }
    // The curriculum, recurrent states where a policy acts, and the environments.
    if (!fits || (blocks != n + 1 && blocks != n + 2))
        return wk_fail(err, WK_E_FORMAT,
                       "the checkpoint at agent step %" PRIu64
                       " does not match the run's config.yaml",
                       r->step);
    for (at = plain; blocks > n; blocks--)
        skip_block(r, end, &at);
    r->worlds = at;
    memcpy(&r->counters, r->bytes + sizeof r->head, sizeof r->counters);
    memcpy(&r->schedule, r->bytes + plain - WK_RUN_SCHEDULE_BYTES, sizeof r->schedule);
    r->running = (wk_running_episode *)(void *)(r->bytes + running);
    return WK_OK;
}

// The replay's id of an episode of the run.
static uint64_t stored_id(const repair *r, uint64_t episode)
{
    return r->schedule.copied_episodes + episode;
}

static wk_status list_slots(repair *r, wk_error *err)
{
    size_t n = (size_t)r->config.env_count;
    r->slots = calloc(n, sizeof *r->slots);
    if (!r->slots) return wk_fail(err, WK_E_MEMORY, "no memory to repair '%s'", r->path);
    for (size_t i = 0; i < n; i++) {
        const wk_running_episode *running = &r->running[i];
        bool active = running->active && running->episode < r->counters.episodes;
        r->slots[i] = (wk_salvage_slot){active, stored_id(r, running->episode), running->steps + 1};
    }
    return WK_OK;
}

static void show_salvage(void *progress, const char *unit, uint64_t done, uint64_t total)
{
    if (done == 0)
        wk_progress_next(progress, unit, (int64_t)total);
    else
        wk_progress_count(progress, 0);
}

static wk_status write_segments(repair *r, wk_salvaged *out, wk_error *err)
{
    const wk_domain *domain = r->world.domain;
    wk_salvage_config config = {
        .shape = {domain->action_size, domain->n_tasks, domain->n_params, domain->observation},
        .capacity = (uint64_t)r->config.replay_capacity,
        .mark = r->head.replay,
        .next_episode = stored_id(r, r->counters.episodes),
        .slots = r->slots,
        .n_slots = r->config.env_count,
        .progress = show_salvage,
        .context = r->progress};
    WK_TRY(wk_dir_make(r->dir, "replay", &r->replay, err));
    return wk_replay_log_salvage(r->replay, &config, out, err);
}

// Whether the new log can be read into a store as the run makes it.
static wk_status try_segments(const repair *r, const wk_replay_mark *mark, wk_error *err)
{
    wk_replay *replay = NULL;
    wk_replay_config sizes = wk_run_config_replay(&r->config, r->world.domain);
    WK_TRY(wk_replay_create(&sizes, &replay, err));
    wk_status status = wk_replay_log_read(wk_dir_path(r->replay), mark, replay, err);
    wk_replay_destroy(replay);
    return status;
}

// run.bin with the new mark, and without the states of environments whose episode was lost.
static void make_run_file(const repair *r, const wk_replay_mark *mark, wk_text *out)
{
    wk_run_header head = r->head;
    size_t end = (size_t)head.size - sizeof(uint32_t), at = r->worlds;
    for (int i = 0; i < r->config.env_count; i++)
        if (!r->slots[i].running) r->running[i].active = 0;
    wk_text_append(out, r->bytes, r->worlds);
    for (int i = 0; i < r->config.env_count; i++) {
        static const uint64_t none = 0;
        size_t begin = at;
        skip_block(r, end, &at);
        if (r->slots[i].running)
            wk_text_append(out, r->bytes + begin, at - begin);
        else
            wk_text_append(out, (const char *)&none, sizeof none);
    }
    if (out->failed) return;
    head.size = out->length + sizeof(uint32_t);
    head.replay = *mark;
    memcpy(out->chars, &head, sizeof head);
    uint32_t sum = wk_crc32c(0, out->chars, out->length);
    wk_text_append(out, (const char *)&sum, sizeof sum);
}

// The old run.bin stays as damaged-step-*/run.bin.
static wk_status keep_run_file(const repair *r, wk_error *err)
{
    char name[WK_STEP_NAME_MAX];
    wk_dir *folder = NULL;
    WK_TRY(wk_step_damaged_name(r->checkpoints, r->step, name, err));
    WK_TRY(wk_dir_make(r->checkpoints, name, &folder, err));
    wk_status status =
        wk_file_write_in(folder, WK_CHECKPOINT_RUN_FILE, r->bytes, (size_t)r->head.size, err);
    wk_dir_close(folder);
    return status;
}

static wk_status replace_run_file(repair *r, const wk_replay_mark *mark, wk_error *err)
{
    wk_text bytes = {0};
    WK_TRY(keep_run_file(r, err));
    make_run_file(r, mark, &bytes);
    return wk_file_write_text(r->step_dir, WK_CHECKPOINT_RUN_FILE, &bytes, err);
}

// Segments and checkpoints that the repaired one does not need can no longer be continued.
static wk_status rename_replaced(const repair *r, const wk_salvaged *made, wk_error *err)
{
    bool any;
    uint64_t lowest, highest;
    WK_TRY(wk_log_list(r->replay, &any, &lowest, &highest, err));
    for (uint64_t number = lowest; any && number <= made->old_last; number++) {
        char name[WK_LOG_NAME_MAX];
        wk_entry there;
        wk_log_name(number, name);
        WK_TRY(wk_dir_stat(r->replay, name, &there, NULL, err));
        if (there == WK_ENTRY_FILE) WK_TRY(wk_log_keep_damaged(r->replay, number, false, err));
    }
    WK_TRY(wk_dir_sync(r->replay, err));
    for (size_t i = 0; i < r->steps.count; i++) {
        char name[WK_STEP_NAME_MAX], damaged[WK_STEP_NAME_MAX];
        if (r->steps.items[i] == r->step) continue;
        wk_step_name("", r->steps.items[i], "", name);
        WK_TRY(wk_step_damaged_name(r->checkpoints, r->steps.items[i], damaged, err));
        WK_TRY(wk_dir_rename(r->checkpoints, name, damaged, err));
    }
    return wk_dir_sync(r->checkpoints, err);
}

// What a failed repair has written is taken back.
static void remove_segments(const repair *r, const wk_salvaged *made)
{
    bool any;
    uint64_t lowest, highest;
    while (made->first > 0 && wk_log_list(r->replay, &any, &lowest, &highest, NULL) == WK_OK &&
           any && highest >= made->first)
        if (wk_log_remove(r->replay, highest, NULL) != WK_OK) return;
}

static wk_status do_repair(repair *r, wk_run_repair *out, wk_error *err)
{
    wk_salvaged made = {0};
    WK_TRY(find_parts(r, err));
    WK_TRY(list_slots(r, err));
    wk_status status = write_segments(r, &made, err);
    if (status == WK_OK) status = try_segments(r, &made.mark, err);
    if (status != WK_OK) {
        remove_segments(r, &made);
        return status;
    }
    out->step = r->step;
    out->kept = made.kept;
    out->lost = made.lost;
    out->stopped = made.stopped;
    out->rows_lost = r->head.replay.rows - made.mark.rows;
    WK_TRY(wk_lock_check(&r->lock, err));
    WK_TRY(wk_run_repairs_add(r->dir, out, err));
    WK_TRY(replace_run_file(r, &made.mark, err));
    return rename_replaced(r, &made, err);
}

static void close_run(repair *r)
{
    wk_lock_release(&r->lock);
    wk_dir_close(r->step_dir);
    wk_dir_close(r->checkpoints);
    wk_dir_close(r->replay);
    wk_dir_close(r->dir);
    wk_run_rewards_close(&r->rewards);
    wk_plugin_record_free(&r->record);
    wk_array_free(&r->steps);
    free(r->slots);
    free(r->bytes);
}

wk_status wk_run_repair_log(const char *directory, wk_progress_line *progress, wk_run_repair *out,
                            wk_error *err)
{
    repair r = {.path = directory, .progress = progress};
    *out = (wk_run_repair){0};
    wk_status status = open_run(&r, err);
    if (status == WK_OK) status = find_sound(&r, out, err);
    if (status == WK_OK && !out->sound) status = choose_step(&r, err);
    if (status == WK_OK && !out->sound) status = do_repair(&r, out, err);
    close_run(&r);
    return status;
}
