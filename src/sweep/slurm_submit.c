// Submitting: which tasks, in which scripts, and the job after them.
#include "sweep/slurm_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A submission while it is made.
typedef struct submission {
    const wk_slurm_system *system;
    wk_slurm_options options;
    wk_text options_text; // what texts of options that were read point into
    char id[WK_SLURM_ID_MAX];
    int round;
    int number;         // of the newest submission
    wk_slurm_jobs jobs; // queued, and submitted by this one
    bool *queued;       // [tasks]
    int submitted;
    int busy; // tasks that are worked on without being queued
} submission;

static wk_status fail_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory for the submission");
}

// Slurm replaces %x in the names of logs; a quoted word may have blanks.
static void put_path(wk_text *out, const char *path)
{
    for (; *path; path++)
        wk_text_printf(out, "%s%c", *path == '%' ? "%" : "", *path);
}

static void put_option(wk_text *out, const char *name, const char *value)
{
    if (value) wk_text_printf(out, "#SBATCH --%s=%s\n", name, value);
}

static void put_script_start(const submission *s, const char *kind, const char *log, wk_text *out)
{
    const wk_slurm_options *o = &s->options;
    wk_text_printf(out, "#!/bin/bash\n# Written by 'waker sweep'.\n");
    wk_text_printf(out, "#SBATCH --job-name=waker-%s-%d%s\n", s->id, s->number, kind);
    wk_text_puts(out, "#SBATCH --open-mode=append\n#SBATCH --output=\"");
    put_path(out, s->system->directory);
    wk_text_printf(out, "/sweep/slurm/logs/%d%s.log\"\n", s->number, log);
    put_option(out, "partition", o->partition);
    put_option(out, "time", o->time);
    put_option(out, "account", o->account);
    put_option(out, "mail-user", o->mail);
    for (int i = 0; i < o->n_lines; i++)
        wk_text_printf(out, "#SBATCH %s\n", o->lines[i]);
}

static void put_command(const submission *s, const char *command, int number, wk_text *out)
{
    wk_text_puts(out, "exec ");
    wk_text_shell_quote(out, s->system->program);
    wk_text_printf(out, " sweep %s ", command);
    wk_text_shell_quote(out, s->system->directory);
    wk_text_printf(out, " %d\n", number);
}

static void put_array_script(const submission *s, int count, wk_text *out)
{
    const wk_slurm_options *o = &s->options;
    put_script_start(s, "", "-%a", out);
    wk_text_printf(out, "#SBATCH --array=0-%d", count - 1);
    if (o->parallel > 0) wk_text_printf(out, "%%%d", o->parallel);
    // Without "B:" the signal goes to the run, which srun starts, and not to the script.
    wk_text_printf(out, "\n#SBATCH --requeue\n#SBATCH --signal=USR1@%d\n",
                   o->signal_seconds > 0 ? o->signal_seconds : WK_SLURM_SIGNAL_SECONDS);
    if (o->gpus > 0) wk_text_printf(out, "#SBATCH --gres=gpu:%d\n", o->gpus);
    if (o->cpus > 0) wk_text_printf(out, "#SBATCH --cpus-per-task=%d\n", o->cpus);
    put_option(out, "mem", o->memory);
    if (o->mail) put_option(out, "mail-type", "FAIL");
    put_command(s, "slurm-task", s->number, out);
}

static void put_report_script(const submission *s, wk_text *out)
{
    uint64_t last = 0;
    const char *before = "#SBATCH --dependency=afterany:";
    put_script_start(s, "-report", "-report", out);
    if (s->options.mail) put_option(out, "mail-type", "END,FAIL");
    for (size_t i = 0; i < s->jobs.count; i++) {
        const wk_slurm_job *job = &s->jobs.items[i];
        if (job->index < 0 || job->job == last) continue;
        wk_text_printf(out, "%s%" PRIu64, last ? ":" : before, job->job);
        last = job->job;
    }
    if (last) wk_text_puts(out, "\n");
    if (!last && s->busy > 0) wk_text_puts(out, "#SBATCH --begin=now+10minutes\n");
    put_command(s, "slurm-finish", s->round, out);
}

// Submits the script `name` and gives the job's id, the first number that sbatch prints.
static wk_status submit_script(const submission *s, const char *name, const wk_text *script,
                               uint64_t *job, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text said = {0};
    if (script->failed) return fail_memory(err);
    WK_TRY(s->system->write(s->system->context, name, wk_text_get(script), err));
    WK_TRY(wk_path_print(path, err, "%s/sweep/slurm/%s", s->system->directory, name));
    wk_status status = wk_slurm_call(
        s->system, (const char *const[]){"sbatch", "--parsable", path, NULL}, &said, err);
    // "12", or "12;cluster".
    char digits[32];
    const char *text = wk_text_get(&said);
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(text, ";\n"), text);
    if (status == WK_OK && !wk_text_to_unsigned(digits, job))
        status = wk_fail(err, WK_E_IO, "sbatch printed no job id but '%.100s'", text);
    wk_text_free(&said);
    return status;
}

static wk_status submit_array(submission *s, const int *tasks, int count, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX];
    wk_text names = {0}, script = {0};
    uint64_t job = 0;
    s->number++;
    for (int i = 0; i < count; i++)
        wk_text_printf(&names, "%s\n", s->system->plan->tasks.items[tasks[i]].name);
    put_array_script(s, count, &script);
    snprintf(name, sizeof name, "%d.tasks", s->number);
    wk_status status = names.failed ? fail_memory(err) : WK_OK;
    if (status == WK_OK)
        status = s->system->write(s->system->context, name, wk_text_get(&names), err);
    snprintf(name, sizeof name, "%d.sbatch", s->number);
    if (status == WK_OK) status = submit_script(s, name, &script, &job, err);
    for (int i = 0; status == WK_OK && i < count; i++)
        if (!wk_array_push(&s->jobs, (wk_slurm_job){job, s->number, i, tasks[i], true}))
            status = fail_memory(err);
    if (status == WK_OK) {
        s->submitted += count;
        wk_log_line(&s->system->log, WK_LOG_INFO, "job array %" PRIu64 ": %d task%s", job, count,
                    wk_plural((uint64_t)count));
    }
    wk_text_free(&names);
    wk_text_free(&script);
    return status;
}

static wk_status submit_report(submission *s, wk_error *err)
{
    char name[WK_SLURM_NAME_MAX];
    wk_text script = {0};
    uint64_t job = 0;
    if (s->number == 0) s->number = 1;
    put_report_script(s, &script);
    snprintf(name, sizeof name, "%d-report.sbatch", s->number);
    wk_status status = submit_script(s, name, &script, &job, err);
    wk_text_free(&script);
    if (status == WK_OK)
        wk_log_line(&s->system->log, WK_LOG_INFO, "job %" PRIu64 ": the report, after them", job);
    return status;
}

static wk_status get_options(submission *s, const wk_slurm_options *given, wk_error *err)
{
    bool there;
    if (!given) {
        WK_TRY(wk_slurm_read(s->system, "options", &there, &s->options_text, err));
        return wk_slurm_options_parse(&s->options_text, &s->options, err);
    }
    s->options = *given;
    WK_TRY(wk_slurm_options_check(given, err));
    wk_slurm_options_print(given, &s->options_text);
    if (s->options_text.failed) return fail_memory(err);
    return s->system->write(s->system->context, "options", wk_text_get(&s->options_text), err);
}

static bool has_report(const submission *s)
{
    for (size_t i = 0; i < s->jobs.count; i++)
        if (s->jobs.items[i].index < 0 && s->jobs.items[i].pending) return true;
    return false;
}

// Submits the tasks of a shape that have to be, in arrays that Slurm takes.
static wk_status submit_shape(submission *s, int shape, const bool *wanted, int *tasks,
                              wk_error *err)
{
    const wk_sweep_plan *plan = s->system->plan;
    int count = 0;
    for (size_t i = 0; i < plan->tasks.count; i++) {
        if (plan->tasks.items[i].shape != shape || !wanted[i]) continue;
        tasks[count++] = (int)i;
        if (count < WK_SLURM_TASK_MAX) continue;
        WK_TRY(submit_array(s, tasks, count, err));
        count = 0;
    }
    return count > 0 ? submit_array(s, tasks, count, err) : WK_OK;
}

static wk_status choose_tasks(submission *s, bool *wanted, wk_error *err)
{
    const wk_slurm_system *system = s->system;
    WK_TRY(wk_slurm_queue(system, &s->jobs, err));
    for (size_t i = 0; i < s->jobs.count; i++)
        if (s->jobs.items[i].task >= 0) s->queued[s->jobs.items[i].task] = true;
    for (size_t i = 0; i < system->plan->tasks.count; i++) {
        wk_sweep_task_phase phase;
        if (s->queued[i]) continue;
        WK_TRY(system->phase(system->context, (int)i, &phase, err));
        s->busy += phase == WK_SWEEP_RUNNING;
        wanted[i] =
            phase == WK_SWEEP_WAITING || phase == WK_SWEEP_STOPPED || phase == WK_SWEEP_TRAINED;
    }
    return WK_OK;
}

static wk_status submit_all(submission *s, const wk_slurm_options *options, bool *wanted,
                            int *tasks, wk_error *err)
{
    const wk_slurm_system *system = s->system;
    WK_TRY(wk_slurm_id_make(system, s->id, err));
    WK_TRY(get_options(s, options, err));
    if (s->round == 0) WK_TRY(system->remove(system->context, WK_SLURM_CANCELLED, err));
    WK_TRY(wk_slurm_newest(system, &s->number, err));
    WK_TRY(choose_tasks(s, wanted, err));
    for (size_t i = 0; i < system->plan->shapes.count; i++)
        WK_TRY(submit_shape(s, (int)i, wanted, tasks, err));
    return has_report(s) ? WK_OK : submit_report(s, err);
}

wk_status wk_slurm_submit(const wk_slurm_system *system, const wk_slurm_options *options, int round,
                          int *submitted, wk_error *err)
{
    size_t count = system->plan->tasks.count + 1;
    submission s = {.system = system, .round = round, .queued = calloc(count, sizeof(bool))};
    bool *wanted = calloc(count, sizeof *wanted);
    int *tasks = calloc(count, sizeof *tasks);
    wk_status status = s.queued && wanted && tasks ? submit_all(&s, options, wanted, tasks, err)
                                                   : fail_memory(err);
    *submitted = s.submitted;
    free(s.queued);
    free(wanted);
    free(tasks);
    wk_array_free(&s.jobs);
    wk_text_free(&s.options_text);
    return status;
}

// Whether a job of the queue is the first of its id in the list: calls take whole arrays.
static bool is_first(const wk_slurm_jobs *jobs, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (jobs->items[j].job == jobs->items[i].job) return false;
    return true;
}

static wk_status cancel_job(const wk_slurm_system *system, const wk_slurm_job *job, wk_error *err)
{
    char id[32];
    wk_text said = {0};
    snprintf(id, sizeof id, "%" PRIu64, job->job);
    const char *const all[] = {"scancel", "--quiet", id, NULL};
    const char *const pending[] = {"scancel", "--quiet", "--state=PENDING", id, NULL};
    const char *const save[] = {"scancel", "--quiet", "--signal=USR1", "--state=RUNNING", id, NULL};
    wk_status status = wk_slurm_call(system, job->index < 0 ? all : pending, &said, err);
    // What runs saves and ends with 75, and its script sees that the sweep is cancelled.
    if (status == WK_OK && job->index >= 0) status = wk_slurm_call(system, save, &said, err);
    wk_text_free(&said);
    return status;
}

wk_status wk_slurm_cancel(const wk_slurm_system *system, wk_error *err)
{
    wk_slurm_jobs jobs = {0};
    char id[WK_SLURM_ID_MAX];
    WK_TRY(wk_slurm_id(system, id, err));
    if (!*id) return WK_OK;
    WK_TRY(system->write(system->context, WK_SLURM_CANCELLED, "", err));
    wk_status status = wk_slurm_queue(system, &jobs, err);
    for (size_t i = 0; status == WK_OK && i < jobs.count; i++)
        if (is_first(&jobs, i)) status = cancel_job(system, &jobs.items[i], err);
    if (status == WK_OK && jobs.count > 0)
        wk_log_line(&system->log, WK_LOG_INFO, "cancelled; what is running saves and stops");
    wk_array_free(&jobs);
    return status;
}

// Tasks that may still get further: worked on, queued, or lost.
static wk_status count_open(const wk_slurm_system *system, int *open, wk_error *err)
{
    *open = 0;
    for (size_t i = 0; i < system->plan->tasks.count; i++) {
        wk_sweep_task_phase phase;
        WK_TRY(system->phase(system->context, (int)i, &phase, err));
        *open += phase != WK_SWEEP_DONE && phase != WK_SWEEP_FAILED;
    }
    return WK_OK;
}

wk_status wk_slurm_finish(const wk_slurm_system *system, int round, bool *report, wk_error *err)
{
    wk_text text = {0};
    bool cancelled;
    int open, submitted;
    *report = false;
    wk_status status = wk_slurm_read(system, WK_SLURM_CANCELLED, &cancelled, &text, err);
    wk_text_free(&text);
    if (status != WK_OK || cancelled) return status;
    WK_TRY(count_open(system, &open, err));
    *report = open == 0 || round >= WK_SLURM_ROUNDS;
    if (open > 0 && *report)
        wk_log_line(&system->log, WK_LOG_WARN,
                    "%d task%s not done after %d round%s; the report is written without", open,
                    open == 1 ? " is" : "s are", round, wk_plural((uint64_t)round));
    if (*report) return WK_OK;
    WK_TRY(wk_slurm_submit(system, NULL, round + 1, &submitted, err));
    wk_log_line(&system->log, WK_LOG_INFO, "%d task%s not done yet, %d submitted again", open,
                open == 1 ? " is" : "s are", submitted);
    return WK_OK;
}
