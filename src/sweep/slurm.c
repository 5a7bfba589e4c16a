// --launch slurm: a job array for the tasks of each shape, and after them a job that makes the
// report. The batch script of an array starts the runs and requeues its tasks (RUN_TASK below).
//
// DIRECTORY/sweep/slurm has
//
//   options     the options of its jobs
//   N.tasks     names of the tasks of submission N: line K + 1 is array task K
//   N.sbatch    its script
//   logs/       output of the jobs: N-K.log
//   cancelled   no task is requeued any more ('waker sweep cancel')
//
// Jobs are called waker-ID-N and waker-ID-N-report, where ID is made of the directory's path. Which
// tasks are queued is asked of squeue by these names, so that nothing is lost or submitted twice
// when the process that submits dies between two calls. Whether a task is done is
// read from its run; every job may start twice, late or not at all.
#include "sweep/sweep.h"

#include "base/file.h"
#include "base/hash.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASKS_MAX = 1000, // of an array; Slurm's own default limit is 1001
    RESTARTS = 100,
    SIGNAL_SECONDS = 120,
    FILE_LIMIT = 1 << 24,
};

// Starts the run of an array task and puts exactly this task back into the queue: when it saved,
// and after a failure while attempt.json allows another attempt.
static const char RUN_TASK[] =
    "task=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n"
    "name=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" \"$directory/sweep/slurm/$number.tasks\")\n"
    "[ \"$name\" ] || { echo \"no task $task in $number.tasks\"; exit 2; }\n"
    "# It may have gone back into the queue while the sweep was cancelled.\n"
    "[ ! -e \"$directory/sweep/slurm/cancelled\" ] || exit 0\n"
    "# Slurm itself requeues what was on a node that failed, as often as nodes do.\n"
    "[ \"${SLURM_RESTART_COUNT:-0}\" -le $restarts_max ] ||\n"
    "    { echo \"restarted $SLURM_RESTART_COUNT times already\"; exit 1; }\n"
    "\n"
    "# Slurm's signals go to the run, which srun starts. This script lives on to requeue its "
    "task.\n"
    "stopped=\n"
    "trap stopped=yes TERM INT HUP USR1 USR2\n"
    "srun --ntasks=1 \"$waker\" sweep run \"$directory\" \"$name\" \"$@\"\n"
    "code=$?\n"
    "case $code in\n"
    "0) exit 0 ;;\n"
    "75 | 138 | 140 | 143) stopped=yes ;; # saved, or ended by a signal before it could save\n"
    "esac\n"
    "[ ! -e \"$directory/sweep/slurm/cancelled\" ] || exit $code\n"
    "\n"
    "why=saved\n"
    "if [ ! \"$stopped\" ]; then\n"
    "    # Code 2 is bad input, unless another process has the task: its attempt is open.\n"
    "    field() { sed -n \"s/.*\\\"$1\\\": *\\([^,}]*\\).*/\\1/p\" "
    "\"$directory/sweep/tasks/$name/attempt.json\"; }\n"
    "    why=\"failed with exit code $code\" attempts=$(field attempts)\n"
    "    [ $code != 2 ] || [ \"$(field open)\" = true ] || exit 2\n"
    "    # Those after which the run got further do not count, which waker knows.\n"
    "    failed() { \"$waker\" sweep status \"$directory\" --attempts $attempts_max --json |\n"
    "        grep -A 2 -F \"\\\"name\\\": \\\"$name\\\"\" | grep -q '\"state\": "
    "\"failed\"'; }\n"
    "    [ \"${attempts:-0}\" -lt $attempts_max ] || ! failed || exit $code\n"
    "fi\n"
    "if [ \"${SLURM_RESTART_COUNT:-0}\" -ge $restarts_max ]; then\n"
    "    echo \"$why, but restarted $SLURM_RESTART_COUNT times already; run the same 'waker sweep' "
    "to submit it again\"\n"
    "    exit $code\n"
    "fi\n"
    "echo \"$why; task $task is requeued\"\n"
    "scontrol requeue \"$task\" || exit $code\n";

static const char MAKE_REPORT[] = "exec \"$waker\" sweep run \"$directory\" report\n";

// The folder DIRECTORY/sweep/slurm.

typedef struct slurm {
    const wk_sweep_plan *plan;
    wk_log log;
    char directory[WK_PATH_MAX], program[WK_PATH_MAX]; // jobs run elsewhere: absolute
    wk_dir *dir;                                       // NULL: nothing was submitted
    char id[16];
    WK_ARRAY(wk_slurm_job) jobs;
} slurm;

// As wk_file_read_in; `bytes` is NULL where there is no file.
static wk_status read_file(const slurm *s, const char *name, char **bytes, wk_error *err)
{
    size_t size;
    *bytes = NULL;
    wk_status status = wk_file_read_in(s->dir, name, FILE_LIMIT, bytes, &size, err);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

// Opens the folder; `make` makes it.
static wk_status open_folder(const wk_sweep_plan *plan, bool make, slurm *s, wk_error *err)
{
    char *path = realpath(plan->directory, NULL);
    if (!path) return wk_file_error(err, "cannot find", plan->directory);
    int length = snprintf(s->directory, sizeof s->directory, "%s", path);
    free(path);
    s->plan = plan;
    char digits[WK_SHA256_CHARS];
    wk_sha256 hash = wk_sha256_start();
    wk_sha256_add(&hash, s->directory, strlen(s->directory));
    wk_sha256_finish(&hash, digits);
    snprintf(s->id, sizeof s->id, "%.8s", digits);
    if (length >= (int)sizeof s->directory - 64)
        return wk_fail(err, WK_E_INPUT, "the path '%.80s...' is too long", s->directory);
    if (!wk_sweep_program(s->program))
        return wk_fail(err, WK_E_IO, "the program itself cannot be found (/proc/self/exe)");
    for (const char *c = s->directory; make && *c; c++)
        if (iscntrl((unsigned char)*c) || *c == '"' || *c == '\\')
            return wk_fail(err, WK_E_INPUT,
                           "the path '%s' has a character that Slurm's scripts cannot name; give "
                           "the directory another name",
                           s->directory);
    if (make) WK_TRY(wk_dir_make_below(s->directory, WK_SWEEP_FOLDER "/slurm/logs", err));
    wk_status status =
        wk_dir_open_below(s->directory, WK_SWEEP_FOLDER "/slurm", false, &s->dir, err);
    return status == WK_E_NOT_FOUND && !make ? WK_OK : status;
}

static void close_folder(slurm *s)
{
    wk_dir_close(s->dir);
    wk_array_free(&s->jobs);
}

// Runs a program of Slurm that has to succeed, with words up to NULL. `output` may be NULL.
static wk_status call(wk_text *output, wk_error *err, const char *program, ...)
{
    wk_sweep_words words = {0};
    wk_text said = {0};
    int code = 0;
    va_list args;
    va_start(args, program);
    for (const char *word; (word = va_arg(args, const char *));)
        wk_sweep_words_add(&words, word);
    va_end(args);
    const wk_sweep_process process = {.program = program, .words = &words};
    wk_status status = wk_sweep_process_read(&process, &said, &code, err);
    wk_sweep_words_free(&words);
    const char *text = wk_text_get(&said);
    if (status == WK_OK && said.failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory for the output of %s", program);
    else if (status == WK_OK && code == 127)
        status = wk_fail(err, WK_E_NOT_FOUND,
                         "cannot run '%s'; is this a machine from which jobs are submitted to "
                         "Slurm?",
                         program);
    else if (status == WK_OK && code != 0)
        status = wk_fail(err, WK_E_IO, "%s failed with exit code %d: %.*s", program, code,
                         (int)strcspn(text, "\n"), text);
    if (status == WK_OK && output) wk_text_puts(output, text);
    wk_text_free(&said);
    return status;
}

// Slurm's queue.

// A line is NAME|ARRAY JOB|ARRAY TASK|STATE.
bool wk_slurm_job_parse(const char *line, const char *id, wk_slurm_job *out)
{
    char name[32], index[16], state[32];
    uint64_t number = 0;
    int used = 0;
    *out = (wk_slurm_job){.index = -1, .task = -1};
    if (sscanf(line, "waker-%31[0-9a-f]-%9d%n", name, &out->submission, &used) != 2) return false;
    bool report = strncmp(line + used, "-report", 7) == 0;
    if (strcmp(name, id) != 0 || out->submission < 0) return false;
    if (sscanf(line + used + (report ? 7 : 0), "|%19" SCNu64 "|%15[^|\n]|%31[^|\n]", &out->job,
               index, state) != 3)
        return false;
    if (!report && (!wk_text_to_unsigned(index, &number) || number > 9999999)) return false;
    if (!report) out->index = (int)number;
    out->pending = strcmp(state, "PENDING") == 0 || strcmp(state, "REQUEUED") == 0;
    return true;
}

// Adds the jobs of this sweep that are in the queue.
static wk_status read_queue(slurm *s, wk_error *err)
{
    wk_text text = {0};
    char *names = NULL, file[32]; // of the tasks of submission `read`
    int read = -1;
    wk_slurm_job job;
    wk_status status = call(&text, err, "squeue", "--me", "--noheader", "--array",
                            "--format=%j|%F|%K|%T", (const char *)NULL);
    char *rest = status == WK_OK ? text.chars : NULL;
    for (char *line; status == WK_OK && (line = strsep(&rest, "\n"));) {
        if (!wk_slurm_job_parse(line, s->id, &job)) continue;
        if (job.index >= 0 && job.submission != read) {
            free(names);
            read = job.submission;
            snprintf(file, sizeof file, "%d.tasks", read);
            status = read_file(s, file, &names, err);
        }
        const char *name = job.index >= 0 && names ? names : "";
        for (int i = 0; i < job.index && *name; i++)
            name += strcspn(name, "\n") + (name[strcspn(name, "\n")] == '\n');
        size_t length = strcspn(name, "\n");
        for (size_t i = 0; length > 0 && i < s->plan->tasks.count; i++) {
            const char *known = s->plan->tasks.items[i].name;
            if (strncmp(known, name, length) == 0 && !known[length]) job.task = (int)i;
        }
        if (status == WK_OK && !wk_array_push(&s->jobs, job))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the queue");
    }
    free(names);
    wk_text_free(&text);
    return status;
}

// Whether a job is the first of its id in the list: calls take whole arrays.
static bool is_first(const slurm *s, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (s->jobs.items[j].job == s->jobs.items[i].job) return false;
    return true;
}

// Submitting.

// Writes and submits a script: its options, its variables and `body`.
static wk_status submit(const slurm *s, const wk_slurm_options *o, int number, const char *kind,
                        const wk_text *lines, const char *body, uint64_t *job, wk_error *err)
{
    bool report = *kind;
    char name[48], path[WK_PATH_MAX], digits[32];
    wk_text script = {0}, said = {0};
    wk_text_printf(&script, "#!/bin/bash\n# Written by 'waker sweep'.\n");
    wk_text_printf(&script, "#SBATCH --job-name=waker-%s-%d%s\n", s->id, number, kind);
    wk_text_puts(&script, "#SBATCH --open-mode=append\n#SBATCH --output=\"");
    for (const char *c = s->directory; *c; c++) // Slurm replaces %x in the names of logs
        wk_text_printf(&script, "%s%c", *c == '%' ? "%" : "", *c);
    wk_text_printf(&script, "/sweep/slurm/logs/%d%s.log\"\n", number, report ? kind : "-%a");
    wk_slurm_options_lines(o, report, &script);
    wk_text_puts(&script, wk_text_get(lines));
    wk_text_puts(&script, "\nwaker=");
    wk_text_shell_quote(&script, s->program);
    wk_text_puts(&script, "\ndirectory=");
    wk_text_shell_quote(&script, s->directory);
    wk_text_puts(&script, "\n");
    if (!report)
        wk_text_printf(&script, "number=%d attempts_max=%d restarts_max=%d\n", number, o->attempts,
                       o->restarts);
    wk_text_puts(&script, body);
    script.failed |= lines->failed;

    snprintf(name, sizeof name, "%d%s.sbatch", number, kind);
    wk_status status = wk_path_print(path, err, "%s/sweep/slurm/%s", s->directory, name);
    if (status == WK_OK) status = wk_file_write_text(s->dir, name, &script, err);
    // Code that the command line names goes on the command line: no file of the sweep can name it.
    const char *code[4] = {NULL};
    int words = 0;
    if (s->plan->plugin && !report) {
        code[words++] = "--plugin";
        code[words++] = s->plan->plugin;
    }
    if (s->plan->rule && !report) {
        code[words++] = "--curriculum.plugin";
        code[words++] = s->plan->rule;
    }
    if (status == WK_OK)
        status = call(&said, err, "sbatch", "--parsable", path, code[0], code[1], code[2], code[3],
                      (const char *)NULL);
    wk_text_free(&script);
    // "12", or "12;cluster".
    const char *text = wk_text_get(&said);
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(text, ";\n"), text);
    if (status == WK_OK && !wk_text_to_unsigned(digits, job))
        status = wk_fail(err, WK_E_IO, "sbatch printed no job id but '%.100s'", text);
    wk_text_free(&said);
    return status;
}

static wk_status submit_array(slurm *s, const wk_slurm_options *o, int number, const int *tasks,
                              int count, wk_error *err)
{
    char name[32];
    uint64_t job = 0;
    wk_text names = {0}, lines = {0};
    for (int i = 0; i < count; i++)
        wk_text_printf(&names, "%s\n", s->plan->tasks.items[tasks[i]].name);
    snprintf(name, sizeof name, "%d.tasks", number);
    WK_TRY(wk_file_write_text(s->dir, name, &names, err));
    wk_text_printf(&lines, "#SBATCH --requeue\n#SBATCH --array=0-%d", count - 1);
    if (o->parallel > 0) wk_text_printf(&lines, "%%%d", o->parallel);
    wk_text_puts(&lines, "\n");
    wk_status status = submit(s, o, number, "", &lines, RUN_TASK, &job, err);
    wk_text_free(&lines);
    for (int i = 0; status == WK_OK && i < count; i++)
        if (!wk_array_push(&s->jobs, (wk_slurm_job){job, number, i, tasks[i], true}))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the submission");
    if (status == WK_OK)
        wk_log_line(&s->log, WK_LOG_INFO, "job array %" PRIu64 ": %d task%s", job, count,
                    wk_plural((uint64_t)count));
    return status;
}

// A job for the report after all that is queued, also after a report that does not wait for what
// was submitted now.
static wk_status submit_report(slurm *s, const wk_slurm_options *o, int number, int submitted,
                               wk_error *err)
{
    const char *before = "#SBATCH --dependency=afterany:";
    uint64_t job = 0;
    wk_text lines = {0};
    if (!s->plan->grid->report.present) return WK_OK;
    for (size_t i = 0; i < s->jobs.count; i++) {
        if (s->jobs.items[i].index < 0 && s->jobs.items[i].pending && submitted == 0) {
            wk_text_free(&lines);
            return WK_OK; // there is one
        }
        if (!is_first(s, i)) continue;
        wk_text_printf(&lines, "%s%" PRIu64, before, s->jobs.items[i].job);
        before = ":";
    }
    if (lines.length > 0) wk_text_puts(&lines, "\n");
    wk_status status = submit(s, o, number, "-report", &lines, MAKE_REPORT, &job, err);
    wk_text_free(&lines);
    if (status == WK_OK)
        wk_log_line(&s->log, WK_LOG_INFO, "job %" PRIu64 ": the report, after them", job);
    return status;
}

// The number of the newest submission, N of "N.tasks" or "N-report.sbatch"; 0: none.
static wk_status find_newest(const slurm *s, int *out, wk_error *err)
{
    wk_names names = {0};
    wk_status status = wk_dir_list(s->dir, &names, err);
    *out = 0;
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        int number = 0;
        if (sscanf(names.items[i], "%9d", &number) == 1 && number > *out) *out = number;
    }
    wk_names_free(&names);
    return status;
}

// The tasks that are neither done, failed nor worked on. `done`: there is nothing left, nor is
// there for the report.
static wk_status find_open(const slurm *s, int attempts, bool *open, bool *done, wk_error *err)
{
    *done = true;
    for (size_t i = 0; i < s->plan->tasks.count; i++) {
        wk_sweep_state state;
        if (s->plan->tasks.items[i].left_out) continue;
        WK_TRY(wk_sweep_state_read(s->plan, (int)i, attempts, &state, err));
        open[i] = wk_sweep_is_open(state.phase);
        *done &= state.phase == WK_SWEEP_DONE;
    }
    return *done ? wk_sweep_report_done(s->plan, done, err) : WK_OK;
}

// The options as given, which are kept, else those of the submission before, whose texts point into
// `kept`.
static wk_status get_options(const slurm *s, const wk_sweep_launch_options *given,
                             wk_slurm_options *out, char **kept, wk_error *err)
{
    wk_text text = {0};
    if (given->slurm) {
        *out = *given->slurm;
        WK_TRY(wk_slurm_options_check(out, err));
        wk_slurm_options_print(out, &text);
        WK_TRY(wk_file_write_text(s->dir, "options", &text, err));
    } else {
        WK_TRY(read_file(s, "options", kept, err));
        WK_TRY(wk_slurm_options_parse(*kept, out, err));
    }
    out->attempts = given->attempts > 0 ? given->attempts : WK_SWEEP_ATTEMPTS;
    if (out->restarts == 0) out->restarts = RESTARTS;
    if (out->signal == 0) out->signal = SIGNAL_SECONDS;
    return WK_OK;
}

// Submits the tasks that are open and not queued, in arrays of one shape.
static wk_status submit_open(slurm *s, const wk_slurm_options *o, bool *open, wk_error *err)
{
    const wk_sweep_plan *plan = s->plan;
    int tasks[TASKS_MAX], number, submitted = 0;
    WK_TRY(wk_dir_remove(s->dir, "cancelled", err));
    WK_TRY(read_queue(s, err));
    for (size_t i = 0; i < s->jobs.count; i++)
        if (s->jobs.items[i].task >= 0) open[s->jobs.items[i].task] = false;
    WK_TRY(find_newest(s, &number, err));
    for (int shape = 0; shape < (int)plan->shapes.count; shape++) {
        int count = 0;
        for (size_t i = 0; i <= plan->tasks.count; i++) {
            bool last = i == plan->tasks.count;
            if (!last && plan->tasks.items[i].shape == shape && open[i]) tasks[count++] = (int)i;
            if (count == 0 || (!last && count < TASKS_MAX)) continue;
            WK_TRY(submit_array(s, o, ++number, tasks, count, err));
            submitted += count;
            count = 0;
        }
    }
    if (submitted == 0)
        wk_log_line(&s->log, WK_LOG_INFO,
                    "nothing to submit: every run is queued, worked on, done or failed");
    return submit_report(s, o, number > 0 ? number : 1, submitted, err);
}

wk_status wk_sweep_slurm_start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    slurm s = {.log = launch->log};
    wk_slurm_options options;
    char *kept = NULL;
    bool done = false, *open = calloc(launch->plan->tasks.count, sizeof *open);
    if (!open) return wk_fail(err, WK_E_MEMORY, "no memory for the submission");
    wk_status status = open_folder(launch->plan, true, &s, err);
    if (status == WK_OK) status = find_open(&s, launch->options->attempts, open, &done, err);
    *end = done ? WK_SWEEP_FINISHED : WK_SWEEP_SUBMITTED;
    if (status == WK_OK && !done) {
        status = get_options(&s, launch->options, &options, &kept, err);
        if (status == WK_OK) status = submit_open(&s, &options, open, err);
    }
    free(kept);
    free(open);
    close_folder(&s);
    return status;
}

wk_status wk_sweep_slurm_queued(const wk_sweep_plan *plan, int *out, wk_error *err)
{
    slurm s = {0};
    *out = 0;
    wk_status status = open_folder(plan, false, &s, err);
    if (status == WK_OK && s.dir) status = read_queue(&s, err);
    for (size_t i = 0; status == WK_OK && i < s.jobs.count; i++)
        *out += s.jobs.items[i].task >= 0;
    close_folder(&s);
    return status;
}

// Takes what is pending out of the queue; what runs saves, and its script sees `cancelled`.
static wk_status cancel_jobs(slurm *s, wk_error *err)
{
    WK_TRY(wk_file_write_in(s->dir, "cancelled", "", 0, err));
    WK_TRY(read_queue(s, err));
    for (size_t i = 0; i < s->jobs.count; i++) {
        char id[32];
        snprintf(id, sizeof id, "%" PRIu64, s->jobs.items[i].job);
        if (!is_first(s, i)) continue;
        if (s->jobs.items[i].index < 0) {
            WK_TRY(call(NULL, err, "scancel", "--quiet", id, (const char *)NULL));
            continue;
        }
        WK_TRY(call(NULL, err, "scancel", "--quiet", "--state=PENDING", id, (const char *)NULL));
        WK_TRY(call(NULL, err, "scancel", "--quiet", "--signal=USR1", "--state=RUNNING", id,
                    (const char *)NULL));
    }
    if (s->jobs.count > 0)
        wk_log_line(&s->log, WK_LOG_INFO, "cancelled; what is running saves and stops");
    return WK_OK;
}

wk_status wk_sweep_slurm_cancel(const wk_sweep_plan *plan, const wk_log *log, bool *found,
                                wk_error *err)
{
    slurm s = {.log = *log};
    wk_status status = open_folder(plan, false, &s, err);
    if (status == WK_OK && s.dir) status = cancel_jobs(&s, err);
    *found |= s.jobs.count > 0;
    close_folder(&s);
    return status;
}
