// What is in Slurm's queue of a sweep, by the names of its jobs.
#include "sweep/slurm_store.h"

#include <stdio.h>
#include <string.h>

// A field of a line of squeue; the next begins after it.
static const char *take_field(const char **line, char out[128])
{
    size_t length = strcspn(*line, "|\n");
    snprintf(out, 128, "%.*s", (int)length, *line);
    *line += length + ((*line)[length] == '|');
    return out;
}

static bool to_number(const char *text, uint64_t max, uint64_t *out)
{
    return wk_text_to_unsigned(text, out) && *out <= max;
}

// Reads "waker-ID-N" or "waker-ID-N-report".
static bool parse_name(const char *name, const char *id, int *submission, bool *report)
{
    char before[WK_SLURM_ID_MAX + 16], digits[16];
    uint64_t number;
    size_t length = (size_t)snprintf(before, sizeof before, "waker-%s-", id);
    if (strncmp(name, before, length) != 0) return false;
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(name + length, "-"), name + length);
    const char *rest = name + length + strlen(digits);
    *report = strcmp(rest, "-report") == 0;
    if ((*rest && !*report) || !to_number(digits, 999999999, &number)) return false;
    *submission = (int)number;
    return true;
}

// A line is NAME|ARRAY JOB|ARRAY TASK|STATE. Other jobs, and those that are ending for good, are
// none of ours.
static bool parse_job(const char *line, const char *id, wk_slurm_job *out)
{
    char name[128], job[128], index[128], state[128];
    uint64_t number = 0;
    bool report;
    take_field(&line, name);
    take_field(&line, job);
    take_field(&line, index);
    take_field(&line, state);
    *out = (wk_slurm_job){.index = -1, .task = -1};
    if (!parse_name(name, id, &out->submission, &report)) return false;
    if (!to_number(job, UINT64_MAX, &out->job)) return false;
    if (!report && !to_number(index, 9999999, &number)) return false;
    if (!report) out->index = (int)number;
    out->pending = strcmp(state, "PENDING") == 0 || strcmp(state, "REQUEUED") == 0;
    return true;
}

wk_status wk_slurm_queue(const wk_slurm_system *system, wk_slurm_jobs *out, wk_error *err)
{
    static const char *const words[] = {
        "squeue", "--me", "--noheader", "--array", "--format=%j|%F|%K|%T", NULL};
    char id[WK_SLURM_ID_MAX];
    wk_text text = {0};
    wk_slurm_cache cache = {0};
    wk_slurm_job job;
    WK_TRY(wk_slurm_id(system, id, err));
    if (!*id) return WK_OK;
    wk_status status = wk_slurm_call(system, words, &text, err);
    for (const char *line = wk_text_get(&text); status == WK_OK && *line;
         line += strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n')) {
        if (!parse_job(line, id, &job)) continue;
        if (job.index >= 0)
            status = wk_slurm_task_of(system, &cache, job.submission, job.index, &job.task, err);
        if (status == WK_OK && !wk_array_push(out, job))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the queue");
    }
    wk_text_free(&cache.text);
    wk_text_free(&text);
    return status;
}
