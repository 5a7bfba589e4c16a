// --launch slurm: a job array for the tasks of each shape, and after them a job that makes the
// report. The batch script of an array starts the runs and requeues its tasks
// (assets/sweep/task.sh).
//
// DIRECTORY/sweep/slurm has
//
//   options     the options of its jobs, as lines of their scripts
//   N.tasks     names of the tasks of submission N: line K + 1 is array task K
//   N.sbatch    its script
//   logs/       output of the jobs: N-K.log
//   cancelled   no task is requeued any more ('waker sweep cancel')
//
// Jobs are called waker-ID-N and waker-ID-N-report, where ID is made of the directory's path.
// squeue is asked by these names which tasks are queued, so that nothing is lost or submitted twice
// when the process that submits dies between two calls. Whether a task is done is read from its
// run; every job may start twice, late or not at all.
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

// Options.

// What the options are in a script. The script of an array also uses the last two, which Slurm
// takes for comments.
static const char PARALLEL[] = "#parallel ", RESTARTED[] = "#restarts ";

void wk_slurm_options_print(const wk_slurm_options *o, wk_text *out)
{
    const struct {
        const char *option, *text;
        int number;
    } rows[] = {
        {"#SBATCH --partition=", o->partition, 0},
        {"#SBATCH --time=", o->time, 0},
        {"#SBATCH --account=", o->account, 0},
        {"#SBATCH --mail-user=", o->mail, 0},
        {"#SBATCH --mem=", o->memory, 0},
        {"#SBATCH --gres=gpu:", NULL, o->gpus},
        {"#SBATCH --cpus-per-task=", NULL, o->cpus},
        // Without "B:" the signal goes to the run and not to the script.
        {"#SBATCH --signal=USR1@", NULL, o->signal > 0 ? o->signal : SIGNAL_SECONDS},
        {PARALLEL, NULL, o->parallel},
        {RESTARTED, NULL, o->restarts > 0 ? o->restarts : RESTARTS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].text)
            wk_text_printf(out, "%s%s\n", rows[i].option, rows[i].text);
        else if (rows[i].number > 0)
            wk_text_printf(out, "%s%d\n", rows[i].option, rows[i].number);
    for (int i = 0; i < o->n_lines; i++)
        wk_text_printf(out, "#SBATCH %s\n", o->lines[i]);
}

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

// The number behind PARALLEL or RESTARTED; 0: there is none.
static int number_of(const char *lines, const char *key)
{
    for (; *lines; lines += strcspn(lines, "\n") + 1)
        if (begins(lines, key)) return (int)strtol(lines + strlen(key), NULL, 10);
    return 0;
}

// Options that a line may not have: files and programs, and what the scripts set themselves. Lines
// are kept in the sweep's directory, which may come from anywhere. Slurm takes beginnings of long
// names for them.
static bool is_refused(const char *word, size_t length)
{
    static const char *const names[] = {
        "output",      "error",     "input",        "open-mode",  "chdir", "wrap",
        "export-file", "nodefile",  "bb",           "bbf",        "bcast", "array",
        "job-name",    "container", "get-user-env", "dependency", "uid"};
    if (length < 2) return true;
    // One letter that takes no value may be followed by another: -Qo/home/me/.profile.
    bool more = word[2] && !strchr(" \n", word[2]);
    if (word[1] != '-')
        return strchr("oeiDFaJd", word[1]) || (more && strchr("hHIkOQsuvVW", word[1]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length < 4 || strncmp(names[i], word + 2, length - 2) == 0) return true;
    return false;
}

wk_status wk_slurm_options_check(const char *lines, wk_error *err)
{
    for (size_t length; *lines; lines += length + (lines[length] == '\n')) {
        length = strcspn(lines, "\n");
        bool number = begins(lines, PARALLEL) || begins(lines, RESTARTED);
        if (number && strspn(lines + 10, "0123456789") == length - 10 && length < 17) continue;
        bool wrong = !begins(lines, "#SBATCH -");
        for (size_t i = 0; i < length; i++)
            wrong |= iscntrl((unsigned char)lines[i]) || lines[i] == '\\';
        if (wrong)
            return wk_fail(err, WK_E_INPUT,
                           "'%.*s' is not an option of sbatch; write it as in "
                           "--sbatch=--constraint=a100",
                           (int)length, lines);
        for (const char *at = lines + 8; at < lines + length; at += strcspn(at, " \n")) {
            at += strspn(at, " \"'");
            size_t word = strcspn(at, "= \"'\n");
            if (*at == '-' && is_refused(at, word))
                return wk_fail(err, WK_E_INPUT,
                               "--sbatch '%.*s': the sweep itself sets the files, programs and "
                               "names of its jobs",
                               (int)word, at);
        }
    }
    return WK_OK;
}

// Adds the lines of a script: of an array, or of the job for the report.
static void add_options(const char *lines, bool report, wk_text *out)
{
    static const char *const arrays_only[] = {
        "#SBATCH --mem=",    "#SBATCH --gres=", "#SBATCH --cpus-per-task=",
        "#SBATCH --signal=", PARALLEL,          RESTARTED};
    // First: an option of --sbatch that says it too comes later, and the last one counts.
    if (strstr(lines, "#SBATCH --mail-user="))
        wk_text_printf(out, "#SBATCH --mail-type=%s\n", report ? "END,FAIL" : "FAIL");
    for (size_t length; *lines; lines += length) {
        bool left_out = false;
        length = strcspn(lines, "\n") + 1;
        for (size_t i = 0; report && i < sizeof arrays_only / sizeof *arrays_only; i++)
            left_out |= begins(lines, arrays_only[i]);
        if (!left_out) wk_text_append(out, lines, length);
    }
}

// The folder DIRECTORY/sweep/slurm, and the queue.

typedef struct slurm {
    const wk_sweep_plan *plan;
    wk_log log;
    char directory[WK_PATH_MAX], program[WK_PATH_MAX]; // jobs run elsewhere: absolute
    wk_dir *dir;                                       // NULL: nothing was submitted
    char id[16];
    WK_ARRAY(wk_slurm_job) jobs; // of this sweep, in the queue
    wk_text options;             // lines of its scripts
    int attempts;
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
static wk_status open_folder(slurm *s, bool make, wk_error *err)
{
    char *path = realpath(s->plan->directory, NULL), digits[WK_SHA256_CHARS];
    if (!path) return wk_file_error(err, "cannot find", s->plan->directory);
    int length = snprintf(s->directory, sizeof s->directory, "%s", path);
    free(path);
    if (length >= (int)sizeof s->directory - 64)
        return wk_fail(err, WK_E_INPUT, "the path '%.80s...' is too long", s->directory);
    wk_sha256 hash = wk_sha256_start();
    wk_sha256_add(&hash, s->directory, strlen(s->directory));
    wk_sha256_finish(&hash, digits);
    snprintf(s->id, sizeof s->id, "%.8s", digits);
    WK_TRY(wk_sweep_program(s->program, err));
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
    wk_text_free(&s->options);
}

// Runs a program of Slurm that has to succeed, with words up to NULL. `output` may be NULL.
static wk_status call(wk_text *output, wk_error *err, const char *program, ...)
{
    wk_sweep_words words = {0};
    wk_text said = {0};
    char line[WK_SWEEP_LINE_MAX];
    int code = 0;
    va_list args;
    va_start(args, program);
    for (const char *word; (word = va_arg(args, const char *));)
        wk_sweep_words_add(&words, word);
    va_end(args);
    const wk_sweep_process process = {.program = program, .words = &words, .output = &said};
    wk_status status = wk_sweep_process_run(&process, &code, line, err);
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

// Adds a job of an array, whose task stands in its submission's file, or the job of a report.
static wk_status add_job(slurm *s, wk_slurm_job job, wk_error *err)
{
    if (job.index >= 0 && job.task < 0) {
        char file[32], *names = NULL, *rest, *name = NULL;
        snprintf(file, sizeof file, "%d.tasks", job.submission);
        WK_TRY(read_file(s, file, &names, err));
        rest = names;
        for (int i = 0; i <= job.index; i++)
            name = strsep(&rest, "\n");
        if (name) job.task = wk_sweep_plan_find(s->plan, name);
        free(names);
    }
    return wk_array_push(&s->jobs, job) ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for jobs");
}

// Adds the jobs of this sweep that are in the queue.
static wk_status read_queue(slurm *s, wk_error *err)
{
    wk_text text = {0};
    wk_slurm_job job;
    wk_status status = call(&text, err, "squeue", "--me", "--noheader", "--array",
                            "--format=%j|%F|%K|%T", (const char *)NULL);
    char *rest = text.chars;
    for (char *line; status == WK_OK && (line = strsep(&rest, "\n"));)
        if (wk_slurm_job_parse(line, s->id, &job)) status = add_job(s, job, err);
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

// Writes and submits a script: its options, its variables and `body`. `kind` is "" of an array.
static wk_status submit(const slurm *s, int number, const char *kind, const wk_text *lines,
                        const char *body, uint64_t *job, wk_error *err)
{
    bool report = *kind;
    int restarts = number_of(wk_text_get(&s->options), RESTARTED);
    char name[48], path[WK_PATH_MAX], digits[32];
    wk_text script = {0}, said = {0};
    wk_text_puts(&script, "#!/bin/bash\n# Written by 'waker sweep'.\n");
    wk_text_printf(&script, "#SBATCH --job-name=waker-%s-%d%s\n", s->id, number, kind);
    wk_text_puts(&script, "#SBATCH --open-mode=append\n#SBATCH --output=\"");
    for (const char *c = s->directory; *c; c++) // Slurm replaces %x in the names of logs
        wk_text_printf(&script, "%s%c", *c == '%' ? "%" : "", *c);
    wk_text_printf(&script, "/sweep/slurm/logs/%d%s.log\"\n", number, report ? kind : "-%a");
    add_options(wk_text_get(&s->options), report, &script);
    wk_text_puts(&script, wk_text_get(lines));
    wk_text_puts(&script, "\nwaker=");
    wk_text_shell_quote(&script, s->program);
    wk_text_puts(&script, "\ndirectory=");
    wk_text_shell_quote(&script, s->directory);
    wk_text_puts(&script, "\n");
    if (!report)
        wk_text_printf(&script, "number=%d attempts_max=%d restarts_max=%d\n", number, s->attempts,
                       restarts > 0 ? restarts : RESTARTS);
    wk_text_puts(&script, body);
    script.failed |= lines->failed;

    snprintf(name, sizeof name, "%d%s.sbatch", number, kind);
    wk_status status = wk_path_print(path, err, "%s/sweep/slurm/%s", s->directory, name);
    if (status == WK_OK) status = wk_file_write_text(s->dir, name, &script, err);
    wk_text_free(&script);
    // Code that the command line names goes on the command line: no file of the sweep can name it.
    const char *code[4] = {NULL};
    int words = 0;
    if (s->plan->plugin && !report) code[words++] = "--plugin", code[words++] = s->plan->plugin;
    if (s->plan->rule && !report)
        code[words++] = "--curriculum.plugin", code[words++] = s->plan->rule;
    if (status == WK_OK)
        status = call(&said, err, "sbatch", "--parsable", path, code[0], code[1], code[2], code[3],
                      (const char *)NULL);
    // "12", or "12;cluster".
    const char *text = wk_text_get(&said);
    snprintf(digits, sizeof digits, "%.*s", (int)strcspn(text, ";\n"), text);
    if (status == WK_OK && !wk_text_to_unsigned(digits, job))
        status = wk_fail(err, WK_E_IO, "sbatch printed no job id but '%.100s'", text);
    wk_text_free(&said);
    return status;
}

static wk_status submit_array(slurm *s, int number, const int *tasks, int count, wk_error *err)
{
    char name[32];
    uint64_t job = 0;
    wk_text names = {0}, lines = {0};
    for (int i = 0; i < count; i++)
        wk_text_printf(&names, "%s\n", s->plan->tasks.items[tasks[i]].name);
    snprintf(name, sizeof name, "%d.tasks", number);
    WK_TRY(wk_file_write_text(s->dir, name, &names, err));
    wk_text_printf(&lines, "#SBATCH --requeue\n#SBATCH --array=0-%d", count - 1);
    int parallel = number_of(wk_text_get(&s->options), PARALLEL);
    if (parallel > 0) wk_text_printf(&lines, "%%%d", parallel);
    wk_text_puts(&lines, "\n");
    wk_status status = submit(s, number, "", &lines, wk_asset_find("task.sh")->content, &job, err);
    wk_text_free(&lines);
    for (int i = 0; status == WK_OK && i < count; i++)
        status = add_job(s, (wk_slurm_job){job, number, i, tasks[i], true}, err);
    if (status == WK_OK)
        wk_log_line(&s->log, WK_LOG_INFO, "job array %" PRIu64 ": %d task%s", job, count,
                    wk_plural((uint64_t)count));
    return status;
}

// A job for the report after all that is queued, also after a report that does not wait for what
// was submitted now.
static wk_status submit_report(slurm *s, int number, bool submitted, wk_error *err)
{
    const char *before = "#SBATCH --dependency=afterany:";
    uint64_t job = 0;
    wk_text lines = {0};
    if (!s->plan->grid->report.present) return WK_OK;
    for (size_t i = 0; i < s->jobs.count && !submitted; i++)
        if (s->jobs.items[i].index < 0 && s->jobs.items[i].pending) return WK_OK; // there is one
    for (size_t i = 0; i < s->jobs.count; i++) {
        if (!is_first(s, i)) continue;
        wk_text_printf(&lines, "%s%" PRIu64, before, s->jobs.items[i].job);
        before = ":";
    }
    if (lines.length > 0) wk_text_puts(&lines, "\n");
    wk_status status = submit(s, number, "-report", &lines,
                              "exec \"$waker\" sweep run \"$directory\" report\n", &job, err);
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

// The options as given, which are kept, else those of the submission before.
static wk_status choose_options(slurm *s, const wk_sweep_launch_options *given, wk_error *err)
{
    const wk_slurm_options *o = given->slurm, defaults = {.gpus = 1};
    char *text = NULL;
    s->attempts = given->attempts > 0 ? given->attempts : WK_SWEEP_ATTEMPTS;
    if (!o) WK_TRY(read_file(s, "options", &text, err));
    bool kept = text != NULL;
    if (kept)
        wk_text_puts(&s->options, text);
    else
        wk_slurm_options_print(o ? o : &defaults, &s->options);
    free(text);
    if (s->options.length > 0 && s->options.chars[s->options.length - 1] != '\n')
        wk_text_puts(&s->options, "\n");
    if (s->options.failed) return wk_fail(err, WK_E_MEMORY, "no memory for the options");
    for (int i = 0; o && i < 5; i++) {
        static const char *const names[] = {"partition", "time", "account", "mail", "mem"};
        const char *texts[] = {o->partition, o->time, o->account, o->mail, o->memory};
        if (texts[i] && (!*texts[i] || strchr(texts[i], ' ')))
            return wk_fail(err, WK_E_INPUT, "--%s is empty or contains a blank", names[i]);
    }
    const char *lines = wk_text_get(&s->options);
    wk_status status = wk_slurm_options_check(lines, err);
    if (status != WK_OK && kept)
        wk_fail_context(err, "sweep/slurm/options, which options given again replace");
    WK_TRY(status);
    return o ? wk_file_write_in(s->dir, "options", lines, s->options.length, err) : WK_OK;
}

// Submits the tasks of the queue that are neither done, failed, worked on nor in Slurm's queue, in
// arrays of one shape.
static wk_status submit_open(slurm *s, wk_sweep_queue *queue, wk_error *err)
{
    const wk_sweep_plan *plan = s->plan;
    int tasks[TASKS_MAX], number, count;
    bool submitted = false;
    WK_TRY(wk_dir_remove(s->dir, "cancelled", err));
    WK_TRY(read_queue(s, err));
    for (size_t i = 0; i < s->jobs.count; i++)
        if (s->jobs.items[i].task >= 0) queue->entries[s->jobs.items[i].task].started = true;
    WK_TRY(find_newest(s, &number, err));
    for (int shape = 0; shape < (int)plan->shapes.count; shape++) {
        count = 0;
        for (size_t i = 0; i <= plan->tasks.count; i++) {
            bool last = i == plan->tasks.count;
            if (!last && plan->tasks.items[i].shape == shape && wk_sweep_queue_has(queue, (int)i))
                tasks[count++] = (int)i;
            if (count == 0 || (!last && count < TASKS_MAX)) continue;
            WK_TRY(submit_array(s, ++number, tasks, count, err));
            submitted = true;
            count = 0;
        }
    }
    if (!submitted)
        wk_log_line(&s->log, WK_LOG_INFO,
                    "nothing to submit: every run is queued, worked on, done or failed");
    return submit_report(s, number > 0 ? number : 1, submitted, err);
}

wk_status wk_sweep_slurm_start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    const wk_sweep_plan *plan = launch->plan;
    slurm s = {.plan = plan, .log = launch->log};
    wk_sweep_queue queue = {0};
    bool done = false;
    wk_status status = open_folder(&s, true, err);
    if (status == WK_OK) status = wk_sweep_queue_open(plan, launch->options->attempts, &queue, err);
    if (status == WK_OK &&
        wk_sweep_count(plan, queue.entries).phases[WK_SWEEP_DONE] == (int)plan->selected)
        status = wk_sweep_report_done(plan, &done, err);
    *end = done ? WK_SWEEP_FINISHED : WK_SWEEP_SUBMITTED;
    if (status == WK_OK && !done) {
        status = choose_options(&s, launch->options, err);
        if (status == WK_OK) status = submit_open(&s, &queue, err);
    }
    wk_sweep_queue_close(&queue);
    close_folder(&s);
    return status;
}

wk_status wk_sweep_slurm_queued(const wk_sweep_plan *plan, int *out, wk_error *err)
{
    slurm s = {.plan = plan};
    *out = 0;
    wk_status status = open_folder(&s, false, err);
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
    slurm s = {.plan = plan, .log = *log};
    wk_status status = open_folder(&s, false, err);
    if (status == WK_OK && s.dir) status = cancel_jobs(&s, err);
    *found |= s.jobs.count > 0;
    close_folder(&s);
    return status;
}
