#include "run/run_progress.h"

#include "base/document.h"
#include "base/file.h"
#include "run/checkpoint/checkpoint.h"
#include "run/lock.h"
#include "run/saved_run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TAIL_BYTES = 1 << 15 };

static const wk_run_moment never = {0, 0};

// When a name was last written; 0 where it cannot be looked at.
static double time_of(const wk_dir *dir, const char *name)
{
    struct stat info;
    if (fstatat(wk_dir_fd(dir), name, &info, 0) != 0) return 0;
    return (double)info.st_mtim.tv_sec + 1e-9 * (double)info.st_mtim.tv_nsec;
}

static wk_run_moment moment_of(const wk_dir *checkpoints, const wk_steps *steps, size_t from_last)
{
    char name[WK_STEP_NAME_MAX];
    if (steps->count <= from_last) return never;
    uint64_t step = steps->items[steps->count - 1 - from_last];
    wk_step_name("", step, "", name);
    return (wk_run_moment){step, time_of(checkpoints, name)};
}

static wk_status read_checkpoints(const wk_dir *run, wk_run_progress *out, wk_error *err)
{
    wk_dir *dir = NULL;
    wk_steps steps = {0};
    wk_status status = wk_dir_open(run, WK_CHECKPOINT_FOLDER, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_steps_list(dir, "", "", &steps, err);
    if (status == WK_OK) {
        out->saved = moment_of(dir, &steps, 0);
        out->older = moment_of(dir, &steps, 1);
    }
    wk_array_free(&steps);
    wk_dir_close(dir);
    return status;
}

// The last weights are written after the last checkpoint.
static wk_status has_last_weights(const wk_dir *run, uint64_t step, bool *out, wk_error *err)
{
    char name[WK_STEP_NAME_MAX];
    wk_step_name("snapshots/", step, ".safetensors", name);
    return wk_file_exists_in(run, name, out, err);
}

static void read_line(const char *line, size_t length, wk_run_progress *out)
{
    wk_document d;
    wk_status status = wk_document_start("metrics.jsonl", line, length, &d, NULL);
    while (status == WK_OK && wk_document_member(&d)) {
        if (wk_document_is(&d, "agent_step")) out->now.steps = wk_document_integer(&d);
        if (wk_document_is(&d, "train/model_loss")) out->model_loss = wk_document_number(&d);
        if (wk_document_is(&d, "train/disagreement")) out->mean_error = wk_document_number(&d);
    }
    (void)wk_document_close(&d, NULL);
}

// Whole lines within the last bytes; a line that is just being written has no end.
static void read_lines(char *bytes, size_t size, bool from_start, wk_run_progress *out)
{
    char *line = bytes, *end = bytes + size;
    if (!from_start) {
        line = memchr(bytes, '\n', size);
        if (!line++) return;
    }
    for (char *next; line < end && (next = memchr(line, '\n', (size_t)(end - line)));
         line = next + 1)
        read_line(line, (size_t)(next - line), out);
}

static wk_status read_metrics(const wk_dir *run, wk_run_progress *out, wk_error *err)
{
    wk_file_reader *reader = NULL;
    wk_status status = wk_file_reader_open_in(run, "metrics.jsonl", &reader, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    uint64_t size = wk_file_reader_size(reader);
    size_t tail = size < TAIL_BYTES ? (size_t)size : TAIL_BYTES;
    char *bytes = malloc(tail + 1);
    status = bytes ? wk_file_reader_read(reader, size - tail, bytes, tail, err)
                   : wk_fail(err, WK_E_MEMORY, "no memory for '%s'", wk_dir_path(run));
    if (status == WK_OK) read_lines(bytes, tail, tail == size, out);
    if (status == WK_OK) out->now.time = time_of(run, "metrics.jsonl");
    free(bytes);
    wk_file_reader_close(reader);
    return status;
}

wk_status wk_run_progress_read_in(const wk_dir *run, wk_run_progress *out, wk_error *err)
{
    bool held, last;
    WK_TRY(wk_lock_held(run, &held, err));
    WK_TRY(read_checkpoints(run, out, err));
    WK_TRY(read_metrics(run, out, err));
    WK_TRY(has_last_weights(run, out->saved.steps, &last, err));
    // A run that goes on does so from its newest checkpoint.
    double since = held ? time_of(run, "lock") : 0;
    if (since > out->saved.time) out->saved.time = since;
    if (since > out->older.time) out->older.time = since;
    // What was logged after the newest checkpoint is made again when nobody is at it.
    if (out->saved.steps > out->now.steps || !held) out->now = out->saved;
    bool done = last && out->saved.steps >= out->total;
    out->phase = held ? WK_RUN_PHASE_RUNNING : done ? WK_RUN_PHASE_DONE : WK_RUN_PHASE_STOPPED;
    return WK_OK;
}

wk_status wk_run_progress_read(const char *directory, wk_run_progress *out, wk_error *err)
{
    const wk_saved_run_options options = {.depth = WK_SAVED_CONFIG};
    wk_saved_run saved = {0};
    wk_dir *run = NULL;
    wk_status status = wk_saved_run_open(directory, &options, &saved, err);
    *out = (wk_run_progress){.total = (uint64_t)saved.config.steps,
                             .prefill = (uint64_t)saved.config.prefill,
                             .train_every = saved.config.train_every,
                             .model_loss = NAN,
                             .mean_error = NAN};
    wk_saved_run_close(&saved);
    if (status == WK_OK) status = wk_dir_open(NULL, directory, &run, err);
    if (status == WK_OK) status = wk_run_progress_read_in(run, out, err);
    wk_dir_close(run);
    return status;
}

double wk_run_rate(const wk_run_progress *progress, const wk_run_moment *before,
                   const wk_run_moment *after)
{
    if (before->steps < progress->prefill || !(before->time > 0) || !(after->time > before->time) ||
        after->steps <= before->steps)
        return NAN;
    return (double)(after->steps - before->steps) / (after->time - before->time);
}

double wk_run_rate_by_files(const wk_run_progress *p)
{
    double rate = wk_run_rate(p, &p->saved, &p->now);
    return isnan(rate) ? wk_run_rate(p, &p->older, &p->saved) : rate;
}

double wk_run_seconds_left(const wk_run_progress *p, double rate)
{
    return p->total > p->now.steps ? (double)(p->total - p->now.steps) / rate : NAN;
}
