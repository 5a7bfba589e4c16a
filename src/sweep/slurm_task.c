// What the batch script of an array task does before and after its run.
#include "sweep/slurm_store.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *task_name(const wk_slurm_system *system, int task)
{
    return system->plan->tasks.items[task].name;
}

static void marker_name(const wk_slurm_system *system, int task, char out[WK_SLURM_NAME_MAX])
{
    snprintf(out, WK_SLURM_NAME_MAX, "on.%.400s", task_name(system, task));
}

// The name of a node in the names of files: characters that no host has are replaced.
static void clean_node(const char *node, char out[256])
{
    snprintf(out, 256, "%s", node);
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-._", *c)) *c = '_';
}

// Notes a failure under a name that this start of this array task alone has.
static wk_status note_failure(const wk_slurm_system *system, const wk_slurm_self *self,
                              const char *node, const char *why, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX], clean[256];
    clean_node(node, clean);
    if (!*clean) return WK_OK;
    snprintf(name, sizeof name, "failed.%s.%" PRIu64 "_%d_%d%s", clean, self->array_job,
             self->index, self->restarts, why);
    return system->write(system->context, name, "", err);
}

// A run that ended well on a node speaks for the node.
static wk_status note_success(const wk_slurm_system *system, const char *node, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX], clean[256];
    bool there;
    wk_text text = {0};
    clean_node(node, clean);
    if (!*clean) return WK_OK;
    snprintf(name, sizeof name, "ok.%s", clean);
    wk_status status = wk_slurm_read(system, name, &there, &text, err);
    wk_text_free(&text);
    if (status == WK_OK && !there) status = system->write(system->context, name, "", err);
    return status == WK_OK ? wk_slurm_clear_failures(system, clean, err) : status;
}

static wk_status is_cancelled(const wk_slurm_system *system, bool *out, wk_error *err)
{
    wk_text text = {0};
    wk_status status = wk_slurm_read(system, WK_SLURM_CANCELLED, out, &text, err);
    wk_text_free(&text);
    return status;
}

static int restarts_max(const wk_slurm_system *system)
{
    wk_text text = {0};
    wk_slurm_options options = {0};
    bool there;
    wk_status status = wk_slurm_read(system, "options", &there, &text, NULL);
    if (status == WK_OK) status = wk_slurm_options_parse(&text, &options, NULL);
    int max = status == WK_OK && options.restarts > 0 ? options.restarts : WK_SLURM_RESTARTS;
    wk_text_free(&text);
    return max;
}

// Puts this array task, and no other, back into the queue, away from nodes that failed.
static wk_status requeue(const wk_slurm_system *system, const wk_slurm_self *self, const char *why,
                         int code, wk_slurm_step *step, wk_error *err)
{
    char name[64], job[80];
    wk_text said = {0}, list = {0}, excluded = {0};
    *step = (wk_slurm_step){.code = code};
    if (self->restarts >= restarts_max(system)) {
        wk_log_line(&system->log, WK_LOG_WARN,
                    "%s, but it was restarted %d times already; run the same 'waker sweep' to "
                    "submit it again",
                    why, self->restarts);
        return WK_OK;
    }
    snprintf(name, sizeof name, "%" PRIu64 "_%d", self->array_job, self->index);
    snprintf(job, sizeof job, "JobId=%s", name);
    wk_log_line(&system->log, WK_LOG_INFO, "%s; task %s is requeued", why, name);
    wk_status status =
        wk_slurm_call(system, (const char *const[]){"scontrol", "requeue", name, NULL}, &said, err);
    if (status == WK_OK) status = wk_slurm_excluded(system, &list, err);
    if (status == WK_OK && list.length > 0) {
        // It may fail: a task that begins on an excluded node goes back again.
        int ignored;
        wk_text_printf(&excluded, "ExcNodeList=%s", wk_text_get(&list));
        wk_log_line(&system->log, WK_LOG_INFO, "excluded after %d failures: %s",
                    WK_SLURM_NODE_FAILURES, wk_text_get(&list));
        status = system->call(
            system->context,
            (const char *const[]){"scontrol", "update", job, wk_text_get(&excluded), NULL}, &said,
            &ignored, err);
    }
    wk_text_free(&said);
    wk_text_free(&list);
    wk_text_free(&excluded);
    if (status == WK_OK) step->code = 0;
    return status;
}

// A process that worked on the task has died without a word, on the node that the marker names.
static wk_status close_marker(const wk_slurm_system *system, const wk_slurm_self *self, int task,
                              wk_error *err)
{
    char name[WK_SLURM_NAME_MAX];
    wk_text node = {0};
    bool there;
    marker_name(system, task, name);
    wk_status status = wk_slurm_read(system, name, &there, &node, err);
    if (status == WK_OK && there) {
        wk_log_line(&system->log, WK_LOG_WARN, "the process on %s died", wk_text_get(&node));
        status = note_failure(system, self, wk_text_get(&node), "d", err);
    }
    if (status == WK_OK && there) status = system->remove(system->context, name, err);
    wk_text_free(&node);
    return status;
}

static wk_status begin_task(const wk_slurm_system *system, const wk_slurm_self *self, int task,
                            wk_slurm_step *step, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX];
    wk_sweep_task_phase phase;
    bool cancelled;
    wk_text list = {0};
    WK_TRY(is_cancelled(system, &cancelled, err));
    WK_TRY(system->phase(system->context, task, &phase, err));
    *step = (wk_slurm_step){.task = task, .code = phase == WK_SWEEP_FAILED};
    if (cancelled || phase == WK_SWEEP_DONE || phase == WK_SWEEP_FAILED) return WK_OK;
    if (phase == WK_SWEEP_RUNNING)
        return requeue(system, self, "another process is still working on the task",
                       WK_SWEEP_EXIT_SAVED, step, err);
    WK_TRY(close_marker(system, self, task, err));
    wk_status status = wk_slurm_excluded(system, &list, err);
    bool excluded = wk_slurm_is_excluded(wk_text_get(&list), self->node);
    wk_text_free(&list);
    WK_TRY(status);
    if (excluded)
        return requeue(system, self, "this node is excluded", WK_SWEEP_EXIT_SAVED, step, err);
    marker_name(system, task, name);
    WK_TRY(system->write(system->context, name, self->node, err));
    *step = (wk_slurm_step){.run = true, .task = task};
    return WK_OK;
}

wk_status wk_slurm_task_begin(const wk_slurm_system *system, const wk_slurm_self *self,
                              wk_slurm_step *step, wk_error *err)
{
    wk_slurm_cache cache = {0};
    int task;
    wk_status status = wk_slurm_task_of(system, &cache, self->submission, self->index, &task, err);
    wk_text_free(&cache.text);
    WK_TRY(status);
    if (task < 0)
        return wk_fail(err, WK_E_INPUT,
                       "array task %d of submission %d is not a task of the sweep in '%s'",
                       self->index, self->submission, system->directory);
    return begin_task(system, self, task, step, err);
}

wk_status wk_slurm_task_stopping(const wk_slurm_system *system, int task, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX];
    marker_name(system, task, name);
    return system->remove(system->context, name, err);
}

wk_status wk_slurm_task_end(const wk_slurm_system *system, const wk_slurm_self *self, int task,
                            int code, wk_slurm_step *step, wk_error *err)
{
    enum { USAGE = 2 };
    char why[96];
    wk_sweep_task_phase phase;
    bool cancelled;
    *step = (wk_slurm_step){.task = task, .code = code};
    WK_TRY(wk_slurm_task_stopping(system, task, err));
    WK_TRY(is_cancelled(system, &cancelled, err));
    if (code == 0 || code == WK_SWEEP_EXIT_SAVED) WK_TRY(note_success(system, self->node, err));
    if (code == 0 || cancelled) return WK_OK;
    if (code == WK_SWEEP_EXIT_SAVED) return requeue(system, self, "saved", code, step, err);
    // Bad input is nobody's fault but the input's.
    if (code != USAGE) WK_TRY(note_failure(system, self, self->node, "", err));
    WK_TRY(system->phase(system->context, task, &phase, err));
    if (phase == WK_SWEEP_FAILED || phase == WK_SWEEP_DONE) return WK_OK;
    snprintf(why, sizeof why, "failed with exit code %d", code);
    return requeue(system, self, why, code, step, err);
}
