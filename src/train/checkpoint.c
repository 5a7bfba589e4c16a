// Checkpoints: everything a run needs to continue to the same bytes, in a directory of its own.
//
//   DIRECTORY/checkpoints/step-000000123456/learner.safetensors   weights, optimisers, counters
//                                          run.bin                environments, curriculum,
//                                          positions
//
// A checkpoint is written under another name, synced, and renamed when it is whole: what has a name
// step-* is complete. The replay buffer is not copied; its log beside the checkpoints is synced and
// its mark kept. run.bin ends in a CRC-32C of what is before it; the weights have theirs in the
// safetensors file.
#include "train/checkpoint.h"

#include "base/crc32c.h"
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
static const char MAGIC[8] = "WKRUN001";
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

// The parts of run.bin that are plain memory, in order.
typedef struct part {
    void *bytes;
    size_t size;
} part;

enum { PARTS = 6 };

static void list_parts(wk_trainer *t, part parts[PARTS])
{
    size_t n = (size_t)t->count;
    parts[0] = (part){&t->counters, sizeof t->counters};
    parts[1] = (part){t->lanes, n * sizeof *t->lanes};
    parts[2] = (part){t->actions, n * (size_t)t->domain->action_size * sizeof *t->actions};
    parts[3] = (part){t->images, n * WK_IMAGE_BYTES};
    parts[4] = (part){t->first, n};
    parts[5] = (part){t->note, sizeof t->note};
}

// What run.bin begins with.
typedef struct header {
    char magic[8];
    uint64_t size; // of the whole file, checksum included
    uint64_t config;
    uint64_t lanes;
    wk_replay_mark replay;
} header;

static void put(wk_text *out, const void *bytes, size_t size)
{
    wk_text_append(out, bytes, size);
}

static void *put_space(wk_text *out, size_t size)
{
    // Room for `size` bytes that the caller fills in; the text may fail, then there is none.
    uint64_t length = size;
    put(out, &length, sizeof length);
    size_t at = out->length;
    char zeros[256] = {0};
    for (size_t left = size; left > 0;) {
        size_t some = left < sizeof zeros ? left : sizeof zeros;
        put(out, zeros, some);
        left -= some;
    }
    return out->failed ? NULL : out->chars + at;
}

static wk_status write_state(wk_trainer *t, const wk_replay_mark *mark, wk_text *out, wk_error *err)
{
    header head = {
        .config = wk_run_config_hash(&t->config), .lanes = (uint64_t)t->count, .replay = *mark};
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    put(out, &head, sizeof head);
    part parts[PARTS];
    list_parts(t, parts);
    for (int i = 0; i < PARTS; i++)
        put(out, parts[i].bytes, parts[i].size);
    void *room = put_space(out, wk_curriculum_state_size(t->curriculum));
    if (room) wk_curriculum_save(t->curriculum, room);
    if (t->acting) {
        room = put_space(out, wk_acting_state_size(t->acting));
        if (room) WK_TRY(wk_acting_save(t->acting, room, err));
    }
    for (int i = 0; i < t->count; i++) {
        // An environment whose episode is over begins a new one; there is nothing to keep.
        const wk_env *env = wk_vec_env(t->vec, i);
        size_t size = t->lanes[i].active ? wk_env_state_size(env) : 0;
        room = put_space(out, size);
        if (room && size) WK_TRY(wk_env_save(env, room, size, err));
    }
    if (!out->failed) {
        uint64_t size = out->length + sizeof(uint32_t);
        memcpy(out->chars + offsetof(header, size), &size, sizeof size);
        uint32_t sum = wk_crc32c(0, out->chars, out->length);
        put(out, &sum, sizeof sum);
    }
    return out->failed ? wk_fail(err, WK_E_MEMORY, "no memory for a checkpoint") : WK_OK;
}

static wk_status save_run_file(wk_trainer *t, const wk_replay_mark *mark, const char *path,
                               wk_error *err)
{
    wk_text bytes = {0};
    wk_status status = write_state(t, mark, &bytes, err);
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

static wk_status read_run_file(const char *run, uint64_t step, char **bytes, size_t *size,
                               wk_error *err)
{
    char name[40], path[PATH_CHARS];
    step_name(step, name);
    path_of(run, name, "run.bin", path);
    WK_TRY(wk_file_read(path, RUN_FILE_LIMIT, bytes, size, err));
    header head;
    uint32_t sum;
    bool whole = *size >= sizeof head + sizeof sum;
    if (whole) {
        memcpy(&head, *bytes, sizeof head);
        memcpy(&sum, *bytes + *size - sizeof sum, sizeof sum);
        whole = memcmp(head.magic, MAGIC, sizeof MAGIC) == 0 && head.size == *size &&
                wk_crc32c(0, *bytes, *size - sizeof sum) == sum;
    }
    if (whole) return WK_OK;
    free(*bytes);
    return wk_fail(err, WK_E_FORMAT, "'%s' is damaged or not a checkpoint of waker", path);
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
    size_t size;
    header head;
    WK_TRY(
        read_run_file(t->directory, steps[(count < keep ? count : keep) - 1], &bytes, &size, err));
    memcpy(&head, bytes, sizeof head);
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

// A reader over run.bin that cannot run past its end.
typedef struct reader {
    const char *next;
    size_t left;
    bool failed;
} reader;

static const void *take(reader *r, size_t size)
{
    if (size > r->left) r->failed = true;
    if (r->failed) return NULL;
    const void *bytes = r->next;
    r->next += size;
    r->left -= size;
    return bytes;
}

// A length and that many bytes.
static const void *take_block(reader *r, size_t *size)
{
    const void *length = take(r, sizeof(uint64_t));
    uint64_t value = 0;
    if (length) memcpy(&value, length, sizeof value);
    *size = (size_t)value;
    return take(r, *size);
}

static wk_status restore_worlds(wk_trainer *t, reader *r, wk_error *err)
{
    for (int i = 0; i < t->count && !r->failed; i++) {
        size_t size;
        const void *bytes = take_block(r, &size);
        if (r->failed || size == 0) continue;
        wk_status status = wk_env_load(wk_vec_env(t->vec, i), bytes, size, err);
        if (status != WK_OK) {
            wk_fail_context(err, "environment %d", i);
            return status;
        }
    }
    return WK_OK;
}

static wk_status restore_run(wk_trainer *t, reader *r, wk_error *err)
{
    part parts[PARTS];
    list_parts(t, parts);
    for (int i = 0; i < PARTS; i++) {
        const void *bytes = take(r, parts[i].size);
        if (bytes) memcpy(parts[i].bytes, bytes, parts[i].size);
    }
    size_t size;
    const void *bytes = take_block(r, &size);
    if (bytes) WK_TRY(wk_curriculum_load(t->curriculum, bytes, size, err));
    if (t->acting) {
        bytes = take_block(r, &size);
        if (bytes && size == wk_acting_state_size(t->acting))
            WK_TRY(wk_acting_load(t->acting, bytes, err));
        else
            r->failed = true;
    }
    WK_TRY(restore_worlds(t, r, err));
    return r->failed || r->left != sizeof(uint32_t)
               ? wk_fail(err, WK_E_FORMAT, "the checkpoint's parts do not fit this configuration")
               : WK_OK;
}

static wk_status load_step(wk_trainer *t, uint64_t step, wk_replay_mark *mark, wk_error *err)
{
    char *bytes, name[40], path[PATH_CHARS];
    size_t size;
    WK_TRY(read_run_file(t->directory, step, &bytes, &size, err));
    reader r = {bytes, size, false};
    header head;
    memcpy(&head, take(&r, sizeof head), sizeof head);
    wk_status status = WK_OK;
    if (head.config != wk_run_config_hash(&t->config) || head.lanes != (uint64_t)t->count)
        status = wk_fail(err, WK_E_INPUT,
                         "the checkpoint at step %" PRIu64 " belongs to another configuration; "
                         "continue with the one in config.yaml, or choose another directory",
                         step);
    step_name(step, name);
    path_of(t->directory, name, "learner.safetensors", path);
    if (status == WK_OK) status = wk_learner_restore(t->learner, path, err);
    if (status == WK_OK) status = restore_run(t, &r, err);
    *mark = head.replay;
    free(bytes);
    return status;
}

// A checkpoint that could not be read must not stand in the way when its step comes again.
static void set_aside(const wk_trainer *t, uint64_t step)
{
    char name[40], damaged[60], from[PATH_CHARS], to[PATH_CHARS];
    step_name(step, name);
    snprintf(damaged, sizeof damaged, "damaged-%s", name);
    path_of(t->directory, name, "", from);
    path_of(t->directory, damaged, "", to);
    remove_directory(to);
    if (rename(from, to) != 0) remove_directory(from);
}

// Loads the newest that can be read; those before it in `steps` could not.
static wk_status load_newest(wk_trainer *t, const uint64_t *steps, size_t count,
                             wk_replay_mark *mark, wk_error *err)
{
    for (size_t i = 0; i < count; i++) {
        wk_status status = load_step(t, steps[i], mark, err);
        if (status == WK_E_INPUT || status == WK_E_MEMORY) return status;
        if (status == WK_OK) {
            t->resumed_from = (int64_t)steps[i];
            for (size_t k = 0; k < i; k++)
                set_aside(t, steps[k]);
            return WK_OK;
        }
        if (i == 0) snprintf(t->resume_note, sizeof t->resume_note, "%s", err->message);
    }
    return wk_fail(err, WK_E_FORMAT, "none of the %zu checkpoints can be read; the newest: %.600s",
                   count, t->resume_note);
}

wk_status wk_checkpoint_resume(wk_trainer *t, wk_error *err)
{
    uint64_t steps[WK_CHECKPOINTS_MAX];
    size_t count = list_checkpoints(t->directory, steps, WK_CHECKPOINTS_MAX, true);
    if (count == 0) return WK_OK;
    wk_replay_mark mark = {0};
    WK_TRY(load_newest(t, steps, count, &mark, err));
    char path[PATH_CHARS];
    snprintf(path, sizeof path, "%s/replay", t->directory);
    wk_replay_log_config log = {.directory = path};
    return wk_replay_log_open(&log, &mark, t->replay, &t->replay_log, err);
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
        size_t size;
        status = read_run_file(directory, steps[i], &bytes, &size, err);
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
    size_t size;
    WK_TRY(read_run_file(directory, step, &bytes, &size, err));
    header head;
    wk_trainer_counters counters = {0};
    memcpy(&head, bytes, sizeof head);
    if (size >= sizeof head + sizeof counters)
        memcpy(&counters, bytes + sizeof head, sizeof counters);
    free(bytes);
    step_name(step, name);
    *out =
        (wk_checkpoint_summary){.steps = counters.steps,
                                .episodes = counters.episodes,
                                .updates = counters.updates,
                                .diverged = counters.diverged,
                                .environments = head.lanes,
                                .run_bytes = size,
                                .learner_bytes = file_bytes(directory, name, "learner.safetensors"),
                                .config = head.config,
                                .replay = head.replay};
    return WK_OK;
}

wk_status wk_checkpoint_verify(const char *directory, uint64_t step, wk_error *err)
{
    char *bytes, name[40], path[PATH_CHARS];
    size_t size;
    WK_TRY(read_run_file(directory, step, &bytes, &size, err));
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
    size_t size;
    WK_TRY(read_run_file(directory, step, &bytes, &size, err));
    reader r = {bytes, size, false};
    header head;
    memcpy(&head, take(&r, sizeof head), sizeof head);
    part parts[PARTS];
    r.failed = head.lanes > INT32_MAX;
    wk_trainer shape = {.count = (int)head.lanes, .domain = domain};
    list_parts(&shape, parts);
    for (int i = 0; i < PARTS; i++)
        take(&r, parts[i].size);
    const void *state = take_block(&r, &size);
    wk_status status = state ? wk_curriculum_load(curriculum, state, size, err)
                             : wk_fail(err, WK_E_FORMAT,
                                       "the checkpoint at step %" PRIu64
                                       " does not fit the configuration beside it",
                                       step);
    free(bytes);
    return status;
}
