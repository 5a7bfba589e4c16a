// A Slurm that is not there: sbatch, squeue, scontrol and scancel as functions on a queue in
// memory, with nodes, runs and files that fail as a seed decides. Time is a counter.
#ifndef WK_TESTS_FAKE_SLURM_H
#define WK_TESTS_FAKE_SLURM_H

#include "base/rng.h"
#include "support/check.h"
#include "sweep/slurm.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 120, NODES = 6, SLOTS = 8, JOBS_MAX = 40000, WORK = 12, ATTEMPTS = 3 };

typedef struct fake_file {
    char *name, *text;
} fake_file;

typedef enum job_state { PENDING, RUNNING, OVER } job_state;

typedef struct fake_job {
    uint64_t array_job;
    int index; // -1: no array
    char name[64];
    int number; // the last word of its command
    job_state state;
    int restarts, node;
    double begin;    // not before
    char after[256]; // jobs that have to be over, with ':' between
    char excluded[256];
    wk_slurm_step step;
    int process;      // -1: none
    bool requeued;    // by scontrol, from within
    bool batch_alive; // the script itself
    bool told;
} fake_job;

typedef struct fake_process {
    int task, job, node;
    bool alive, save; // was told to save and stop
} fake_process;

typedef struct fake_task {
    int progress, attempts, attempt_progress, process; // -1: nobody works on it
    bool begun, done;
    int completions;
} fake_task;

typedef struct fake {
    wk_rng rng;
    double clock;
    int tick;
    WK_ARRAY(fake_file) files;
    WK_ARRAY(fake_job) jobs;
    size_t first_open; // jobs before it are over
    WK_ARRAY(fake_process) processes;
    fake_task tasks[TASKS];
    char names[TASKS][32];
    int node_back[NODES]; // tick at which a node is up again
    bool bad[NODES];      // every run on it fails
    uint64_t next_job;
    int disk_full_until, controller_down_until;
    double trouble; // scale of all chances of faults
    int reports, complete_reports, user_visits, kills, lost, preempted, node_failures, duplicates;
    wk_sweep_plan plan;
    wk_slurm_system system;
} fake;

static inline bool chance(fake *f, double p)
{
    return wk_rng_unit(&f->rng) < p * f->trouble;
}

static inline int any(fake *f, int count)
{
    return (int)wk_rng_below(&f->rng, (uint64_t)count);
}

// Files.

static inline fake_file *find_file(fake *f, const char *name)
{
    for (size_t i = 0; i < f->files.count; i++)
        if (strcmp(f->files.items[i].name, name) == 0) return &f->files.items[i];
    return NULL;
}

static inline void put_file(fake *f, const char *name, const char *text)
{
    fake_file *file = find_file(f, name);
    if (!file) {
        assert_true(wk_array_push(&f->files, (fake_file){strdup(name), NULL}));
        file = &f->files.items[f->files.count - 1];
    }
    free(file->text);
    file->text = strdup(text);
}

static inline wk_status fake_read(void *context, const char *name, wk_text *out, wk_error *err)
{
    fake *f = context;
    fake_file *file = find_file(f, name);
    if (!file) return wk_fail(err, WK_E_NOT_FOUND, "no '%s'", name);
    wk_text_puts(out, file->text);
    return WK_OK;
}

static inline wk_status fake_write(void *context, const char *name, const char *text, wk_error *err)
{
    fake *f = context;
    if (f->tick < f->disk_full_until || chance(f, 0.002))
        return wk_fail(err, WK_E_IO, "cannot write '%s': No space left on device", name);
    put_file(f, name, text);
    return WK_OK;
}

static inline wk_status fake_remove(void *context, const char *name, wk_error *err)
{
    fake *f = context;
    fake_file *file = find_file(f, name);
    if (!file) return WK_OK;
    if (chance(f, 0.002)) return wk_fail(err, WK_E_IO, "cannot remove '%s'", name);
    free(file->name);
    free(file->text);
    *file = f->files.items[--f->files.count];
    return WK_OK;
}

static inline int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline wk_status fake_list(void *context, wk_names *out, wk_error *err)
{
    fake *f = context;
    if (chance(f, 0.001)) return wk_fail(err, WK_E_IO, "cannot list");
    for (size_t i = 0; i < f->files.count; i++)
        assert_true(wk_array_push(out, strdup(f->files.items[i].name)));
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, by_name);
    return WK_OK;
}

// Tasks, as their directories would show them.

static inline wk_sweep_task_phase phase_now(const fake *f, int task)
{
    const fake_task *t = &f->tasks[task];
    if (t->process >= 0) return WK_SWEEP_RUNNING;
    if (t->done) return WK_SWEEP_DONE;
    if (t->attempts >= ATTEMPTS && t->attempt_progress == t->progress) return WK_SWEEP_FAILED;
    if (t->progress >= WORK - 2) return WK_SWEEP_TRAINED;
    return t->begun ? WK_SWEEP_STOPPED : WK_SWEEP_WAITING;
}

static inline wk_status fake_phase(void *context, int task, wk_sweep_task_phase *out, wk_error *err)
{
    fake *f = context;
    if (chance(f, 0.0002)) return wk_fail(err, WK_E_IO, "cannot read the run: Stale file handle");
    *out = phase_now(f, task);
    return WK_OK;
}

// Slurm's commands.

static inline void copy_option(const char *script, const char *name, char out[256])
{
    const char *at = strstr(script, name);
    snprintf(out, 256, "%.*s", at ? (int)strcspn(at + strlen(name), "\n") : 0,
             at ? at + strlen(name) : "");
}

static inline void add_job(fake *f, const fake_job *job)
{
    assert_true(f->jobs.count < JOBS_MAX);
    assert_true(wk_array_push(&f->jobs, *job));
}

static inline int fake_sbatch(fake *f, const char *const *words, wk_text *output)
{
    char array[256], after[256], name[256], begin[256];
    assert_string_equal(words[1], "--parsable");
    fake_file *file = find_file(f, strrchr(words[2], '/') + 1);
    assert_non_null(file);
    fake_job job = {.index = -1, .process = -1, .array_job = f->next_job++};
    copy_option(file->text, "--job-name=", name);
    copy_option(file->text, "--array=0-", array);
    copy_option(file->text, "--dependency=afterany:", after);
    copy_option(file->text, "--begin=", begin);
    snprintf(job.name, sizeof job.name, "%.63s", name);
    job.begin = *begin ? f->clock + 600 : 0;
    job.number = atoi(strrchr(file->text, ' ') + 1);
    snprintf(job.after, sizeof job.after, "%s", after);
    int last = *array ? atoi(array) : -1;
    for (int i = 0; i <= last; i++) {
        job.index = i;
        add_job(f, &job);
    }
    if (last < 0) add_job(f, &job);
    f->next_job += (uint64_t)(last < 0 ? 0 : last);
    wk_text_printf(output, "%" PRIu64 "\n", job.array_job);
    return 0;
}

static inline int fake_squeue(fake *f, wk_text *output)
{
    wk_text_puts(output, "someone-elses|7|N/A|RUNNING\nwaker-00000000-1|8|3|PENDING\n");
    for (size_t i = f->first_open; i < f->jobs.count; i++) {
        const fake_job *j = &f->jobs.items[i];
        if (j->state == OVER) continue;
        wk_text_printf(output, "%s|%" PRIu64 "|", j->name, j->array_job);
        if (j->index >= 0)
            wk_text_printf(output, "%d|", j->index);
        else
            wk_text_puts(output, "N/A|");
        wk_text_puts(output, j->state == PENDING ? "PENDING\n" : "RUNNING\n");
    }
    return 0;
}

static inline fake_job *find_job(fake *f, const char *name)
{
    uint64_t array_job = 0;
    int index = -1;
    assert_int_equal(sscanf(name, "%" SCNu64 "_%d", &array_job, &index), 2);
    for (size_t i = f->first_open; i < f->jobs.count; i++)
        if (f->jobs.items[i].array_job == array_job && f->jobs.items[i].index == index)
            return &f->jobs.items[i];
    return NULL;
}

static inline int fake_scontrol(fake *f, const char *const *words, wk_text *output)
{
    bool update = strcmp(words[1], "update") == 0;
    fake_job *job = find_job(f, update ? words[2] + strlen("JobId=") : words[2]);
    if (!job || job->state == OVER) {
        wk_text_puts(output, "Invalid job id specified\n");
        return 1;
    }
    if (update) {
        if (chance(f, 0.3)) return 1;
        snprintf(job->excluded, sizeof job->excluded, "%.255s", words[3] + strlen("ExcNodeList="));
        return 0;
    }
    if (job->state == PENDING) {
        wk_text_puts(output, "Job is pending execution\n");
        return 1;
    }
    job->requeued = true;
    return 0;
}

static inline int fake_scancel(fake *f, const char *const *words)
{
    const char *id = NULL;
    bool signals = false, pending = false;
    for (int i = 1; words[i]; i++) {
        signals |= strcmp(words[i], "--signal=USR1") == 0;
        pending |= strcmp(words[i], "--state=PENDING") == 0;
        id = words[i];
    }
    uint64_t number = strtoull(id, NULL, 10);
    for (size_t i = f->first_open; i < f->jobs.count; i++) {
        fake_job *j = &f->jobs.items[i];
        if (j->array_job != number || j->state == OVER) continue;
        if (signals && j->process >= 0) f->processes.items[j->process].save = true;
        if (signals) continue;
        if (j->state == PENDING || !pending) j->state = OVER;
    }
    return 0;
}

static inline wk_status fake_call(void *context, const char *const *words, wk_text *output,
                                  int *code, wk_error *err)
{
    fake *f = context;
    bool refused = f->tick < f->controller_down_until || chance(f, 0.005);
    // A call may also be carried out and its answer get lost.
    bool lost = chance(f, 0.005);
    *code = 1;
    if (chance(f, 0.001)) return wk_fail(err, WK_E_IO, "cannot run %s", words[0]);
    if (refused) {
        wk_text_puts(output, "Unable to contact slurm controller (connect failure)\n");
        return WK_OK;
    }
    if (strcmp(words[0], "sbatch") == 0) *code = fake_sbatch(f, words, output);
    if (strcmp(words[0], "squeue") == 0) *code = fake_squeue(f, output);
    if (strcmp(words[0], "scontrol") == 0) *code = fake_scontrol(f, words, output);
    if (strcmp(words[0], "scancel") == 0) *code = fake_scancel(f, words);
    if (lost) {
        wk_text_puts(output, "Socket timed out on send/recv operation\n");
        *code = 1;
    }
    return WK_OK;
}

// Runs: `waker sweep run` of a task, one process.

static inline int start_process(fake *f, int job, int task)
{
    fake_process process = {.task = task, .job = job, .node = f->jobs.items[job].node};
    fake_task *t = &f->tasks[task];
    if (t->process < 0 && f->tick >= f->disk_full_until) {
        assert_false(t->done); // wk_slurm_task_begin looked just before
        process.alive = true;
        t->attempts = t->attempt_progress == t->progress ? t->attempts + 1 : 1;
        t->attempt_progress = t->progress;
        t->begun = true;
        t->process = (int)f->processes.count;
    }
    assert_true(wk_array_push(&f->processes, process));
    return (int)f->processes.count - 1;
}

static inline void stop_process(fake *f, int number)
{
    fake_process *p = &f->processes.items[number];
    if (p->alive) f->tasks[p->task].process = -1;
    p->alive = false;
}

static inline wk_slurm_self self_of(const fake *f, const fake_job *job)
{
    static const char *const nodes[NODES] = {"n0", "n1", "n2", "n3.cluster", "n3", "n5"};
    (void)f;
    return (wk_slurm_self){job->array_job, job->number, job->index, job->restarts,
                           nodes[job->node]};
}

// What becomes of a job whose script is over.
static inline void end_job(fake *f, fake_job *job)
{
    job->process = -1;
    job->batch_alive = false;
    if (job->state == OVER) return;
    job->state = job->requeued ? PENDING : OVER;
    if (job->requeued) {
        job->restarts++;
        job->begin = f->clock + 120;
    }
    job->requeued = false;
}

static inline void run_ended(fake *f, int number, int code)
{
    fake_job *job = &f->jobs.items[number];
    wk_slurm_self self = self_of(f, job);
    wk_error err = {0};
    stop_process(f, job->process);
    int task = job->step.task;
    // A job that Slurm has put back already is pending while its script ends.
    if (wk_slurm_task_end(&f->system, &self, task, code, &job->step, &err) != WK_OK)
        assert_true(err.message[0]);
    if (job->batch_alive) end_job(f, job);
}

static inline void run_report(fake *f, int number)
{
    wk_error err = {0};
    bool report = false;
    wk_status status = wk_slurm_finish(&f->system, f->jobs.items[number].number, &report, &err);
    end_job(f, &f->jobs.items[number]);
    if (status != WK_OK || !report) return;
    bool complete = true;
    for (int i = 0; i < TASKS; i++)
        complete &= f->tasks[i].done;
    f->reports++;
    f->complete_reports += complete;
}

static inline void start_job(fake *f, int number, int node)
{
    fake_job *job = &f->jobs.items[number];
    wk_error err = {0};
    job->state = RUNNING;
    job->node = node;
    job->batch_alive = true;
    job->told = false;
    if (job->index < 0) {
        run_report(f, number);
        return;
    }
    wk_slurm_self self = self_of(f, job);
    wk_status status = wk_slurm_task_begin(&f->system, &self, &job->step, &err);
    job = &f->jobs.items[number];
    if (status != WK_OK || !job->step.run) {
        end_job(f, job);
        return;
    }
    int task = job->step.task, process = start_process(f, number, task);
    f->jobs.items[number].process = process;
    if (f->processes.items[process].alive) return;
    // Another process came first, or nothing could be written.
    run_ended(f, number, f->tasks[task].process >= 0 ? 2 : 1);
}

// A sweep of two shapes on a cluster without faults.
static inline void setup_fake(fake *f)
{
    memset(f, 0, sizeof *f);
    f->next_job = 100;
    assert_true(wk_array_push(&f->plan.shapes, (wk_sweep_shape){.name = "a", .count = TASKS / 2}));
    assert_true(wk_array_push(&f->plan.shapes, (wk_sweep_shape){.name = "b", .count = TASKS / 2}));
    for (int i = 0; i < TASKS; i++) {
        snprintf(f->names[i], sizeof f->names[i], "waker-m-seed%d", i);
        f->tasks[i].process = -1;
        f->tasks[i].attempt_progress = -1;
        assert_true(
            wk_array_push(&f->plan.tasks, (wk_sweep_task){.name = f->names[i], .shape = i % 2}));
    }
    f->system = (wk_slurm_system){.context = f,
                                  .call = fake_call,
                                  .read = fake_read,
                                  .write = fake_write,
                                  .remove = fake_remove,
                                  .list = fake_list,
                                  .phase = fake_phase,
                                  .program = "/opt/waker",
                                  .directory = "/runs/paper",
                                  .plan = &f->plan};
    put_file(f, "id", "0badcafe");
}

static inline void free_fake(fake *f)
{
    for (size_t i = 0; i < f->files.count; i++) {
        free(f->files.items[i].name);
        free(f->files.items[i].text);
    }
    wk_array_free(&f->files);
    wk_array_free(&f->jobs);
    wk_array_free(&f->processes);
    wk_array_free(&f->plan.tasks);
    wk_array_free(&f->plan.shapes);
}

#endif
