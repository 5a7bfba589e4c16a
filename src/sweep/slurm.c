// --launch slurm: a job array for the tasks of each shape, and after them a job that makes the
// report. The batch script of an array starts the runs and requeues its tasks (RUN_TASK below).
//
// DIRECTORY/sweep/slurm has
//
//   id          names the jobs of this sweep: waker-ID-N, and waker-ID-N-report
//   options     the options of its jobs
//   N.tasks     names of the tasks of submission N: line K + 1 is array task K
//   N.sbatch    its script
//   logs/       output of the jobs: N-K.log
//   cancelled   no task is requeued any more ('waker sweep cancel')
//
// Which tasks are queued is asked of squeue by the names of the jobs, so that nothing is lost or
// submitted twice when the process that submits dies between two calls. Whether a task is done is
// read from its run; every job may start twice, late or not at all.
#include "sweep/sweep.h"

#include "base/file.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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
    "\n"
    "# Slurm's signals go to the run, which srun starts. This script lives on to requeue its "
    "task.\n"
    "trap stopped=yes TERM INT HUP USR1 USR2\n"
    "srun --ntasks=1 \"$waker\" sweep run \"$directory\" \"$name\"\n"
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
    "    [ \"${attempts:-0}\" -lt $attempts_max ] || exit $code\n"
    "fi\n"
    "if [ \"${SLURM_RESTART_COUNT:-0}\" -ge $restarts_max ]; then\n"
    "    echo \"$why, but restarted $SLURM_RESTART_COUNT times already; run the same 'waker sweep' "
    "to submit it again\"\n"
    "    exit $code\n"
    "fi\n"
    "echo \"$why; task $task is requeued\"\n"
    "scontrol requeue \"$task\" || exit $code\n";

static const char MAKE_REPORT[] = "exec \"$waker\" sweep run \"$directory\" report\n";

// Options.

// How an option is kept, and what it is in a script.
static const struct {
    const char *key;
    size_t offset;
    bool text;
    const char *line; // "#SBATCH --" and the value follow; NULL: the script itself uses it
    bool report;      // the job of the report has it too
} options_table[] = {
#define ROW(key, text, line, report)                                                               \
    {                                                                                              \
#key, offsetof(wk_slurm_options, key), text, line, report                                  \
    }
    ROW(partition, true, "partition=", true),
    ROW(time, true, "time=", true),
    ROW(account, true, "account=", true),
    ROW(mail, true, "mail-user=", true),
    ROW(memory, true, "mem=", false),
    ROW(gpus, false, "gres=gpu:", false),
    ROW(cpus, false, "cpus-per-task=", false),
    // Without "B:" the signal goes to the run and not to the script.
    ROW(signal, false, "signal=USR1@", false),
    ROW(parallel, false, NULL, false),
    ROW(restarts, false, NULL, false),
#undef ROW
};
enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

// An option as text; NULL where it is left to the cluster.
static const char *text_of(const wk_slurm_options *options, int i, char digits[16])
{
    const char *member = (const char *)options + options_table[i].offset;
    if (options_table[i].text) return *(const char *const *)(const void *)member;
    int number = *(const int *)(const void *)member;
    snprintf(digits, 16, "%d", number);
    return number > 0 ? digits : NULL;
}

void wk_slurm_options_print(const wk_slurm_options *options, wk_text *out)
{
    char digits[16];
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *text = text_of(options, i, digits);
        if (text) wk_text_printf(out, "%s %s\n", options_table[i].key, text);
    }
    for (int i = 0; i < options->n_lines; i++)
        wk_text_printf(out, "line %s\n", options->lines[i]);
}

static bool parse_option(const char *key, const char *value, wk_slurm_options *out)
{
    uint64_t number;
    if (strcmp(key, "line") == 0 && out->n_lines < WK_SLURM_LINES_MAX)
        return out->lines[out->n_lines++] = value, true;
    for (int i = 0; i < N_OPTIONS; i++) {
        void *member = (char *)out + options_table[i].offset;
        if (strcmp(key, options_table[i].key) != 0) continue;
        if (options_table[i].text) return *(const char **)member = value, true;
        if (!wk_text_to_unsigned(value, &number) || number > 1000000000) return false;
        return *(int *)member = (int)number, true;
    }
    return false;
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
    if (length < 2 || word[1] != '-') return length < 2 || strchr("oeiDFaJd", word[1]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (length < 4 || strncmp(names[i], word + 2, length - 2) == 0) return true;
    return false;
}

static wk_status check_text(const char *what, const char *text, bool blanks, wk_error *err)
{
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c) || (!blanks && *c == ' '))
            return wk_fail(err, WK_E_INPUT, "--%s contains a blank or a control character", what);
    if (!*text || strlen(text) > 1000)
        return wk_fail(err, WK_E_INPUT, "--%s is %s", what, *text ? "too long" : "empty");
    return WK_OK;
}

// Text that would make a line of its own in a script, and options that a line may not have.
static wk_status check_options(const wk_slurm_options *options, wk_error *err)
{
    char digits[16];
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *text = text_of(options, i, digits);
        if (text) WK_TRY(check_text(options_table[i].key, text, false, err));
    }
    for (int i = 0; i < options->n_lines; i++) {
        const char *line = options->lines[i];
        WK_TRY(check_text("sbatch", line, true, err));
        if (*line != '-')
            return wk_fail(err, WK_E_INPUT,
                           "--sbatch '%s' is not an option of sbatch: options begin with a dash",
                           line);
        for (const char *at = line; *at; at += strcspn(at, " ")) {
            at += strspn(at, " \"'");
            size_t length = strcspn(at, "= \"'");
            if (strchr(at, '\\') || (*at == '-' && is_refused(at, length)))
                return wk_fail(err, WK_E_INPUT,
                               "--sbatch '%.*s': the sweep itself sets the files, programs and "
                               "names of its jobs",
                               (int)length, at);
        }
    }
    return WK_OK;
}

wk_status wk_slurm_options_parse(char *text, wk_slurm_options *out, wk_error *err)
{
    *out = (wk_slurm_options){.gpus = text ? 0 : 1};
    for (char *line; (line = strsep(&text, "\n"));) {
        char *value = line, *key = strsep(&value, " ");
        if (*line && (!value || !parse_option(key, value, out)))
            return wk_fail(
                err, WK_E_FORMAT,
                "'%.100s' in sweep/slurm/options is not an option; give the options again", line);
    }
    return check_options(out, err);
}

// The folder DIRECTORY/sweep/slurm.

typedef struct slurm {
    const wk_sweep_plan *plan;
    wk_log log;
    char directory[WK_PATH_MAX], program[WK_PATH_MAX]; // jobs run elsewhere: absolute
    wk_dir *dir;                                       // NULL: nothing was submitted
    char id[32];                                       // "" where there is none
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

static wk_status write_file(const slurm *s, const char *name, const char *text, wk_error *err)
{
    return wk_file_write_in(s->dir, name, text, strlen(text), err);
}

static wk_status read_id(slurm *s, wk_error *err)
{
    char *text;
    WK_TRY(read_file(s, "id", &text, err));
    size_t length = text ? strcspn(text, "\n") : 0;
    bool valid = !text || (length > 0 && length < sizeof s->id &&
                           strspn(text, "0123456789abcdef") == length);
    if (text && valid) snprintf(s->id, sizeof s->id, "%.*s", (int)length, text);
    free(text);
    if (valid) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "'%s/sweep/slurm/id' is damaged: jobs of this sweep cannot be found by "
                   "it; cancel them with scancel and delete '%s/sweep/slurm'",
                   s->directory, s->directory);
}

// Opens the folder; `make` makes it, with an id.
static wk_status open_folder(const char *directory, const wk_sweep_plan *plan, bool make, slurm *s,
                             wk_error *err)
{
    char *path = realpath(directory, NULL);
    if (!path) return wk_file_error(err, "cannot find", directory);
    int length = snprintf(s->directory, sizeof s->directory, "%s", path);
    free(path);
    s->plan = plan;
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
    if (status == WK_E_NOT_FOUND && !make) return WK_OK;
    if (status == WK_OK) status = read_id(s, err);
    uint32_t random;
    if (status != WK_OK || !make || *s->id) return status;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return wk_fail(err, WK_E_IO, "no random number for the names of the jobs");
    snprintf(s->id, sizeof s->id, "%08" PRIx32, random);
    return write_file(s, "id", s->id, err);
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
    if (!*s->id) return WK_OK;
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
    for (int i = 0; i < N_OPTIONS; i++) {
        const char *line = options_table[i].line;
        if (!line || (report && !options_table[i].report)) continue;
        const char *text = text_of(o, i, digits);
        if (text) wk_text_printf(&script, "#SBATCH --%s%s\n", line, text);
    }
    if (o->mail) wk_text_printf(&script, "#SBATCH --mail-type=%s\n", report ? "END,FAIL" : "FAIL");
    for (int i = 0; i < o->n_lines; i++)
        wk_text_printf(&script, "#SBATCH %s\n", o->lines[i]);
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
    if (status == WK_OK)
        status = call(&said, err, "sbatch", "--parsable", path, (const char *)NULL);
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

// A job for the report after all that is queued.
static wk_status submit_report(slurm *s, const wk_slurm_options *o, int number, wk_error *err)
{
    const char *before = "#SBATCH --dependency=afterany:";
    uint64_t job = 0;
    wk_text lines = {0};
    for (size_t i = 0; i < s->jobs.count; i++) {
        if (s->jobs.items[i].index < 0 && s->jobs.items[i].pending) {
            wk_text_free(&lines);
            return WK_OK; // there is one
        }
        if (s->jobs.items[i].index < 0 || !is_first(s, i)) continue;
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

// Submits every selected task that is neither done, failed, queued nor worked on.
static wk_status submit_open(slurm *s, const wk_slurm_options *o, const bool *open, wk_error *err)
{
    const wk_sweep_plan *plan = s->plan;
    int tasks[TASKS_MAX], number, submitted = 0;
    WK_TRY(find_newest(s, &number, err));
    for (size_t shape = 0; shape < plan->shapes.count; shape++) {
        int count = 0;
        for (size_t i = 0; i <= plan->tasks.count; i++) {
            bool last = i == plan->tasks.count;
            if (!last && plan->tasks.items[i].shape == (int)shape && open[i])
                tasks[count++] = (int)i;
            if (count == 0 || (!last && count < TASKS_MAX)) continue;
            WK_TRY(submit_array(s, o, ++number, tasks, count, err));
            submitted += count;
            count = 0;
        }
    }
    if (submitted == 0)
        wk_log_line(&s->log, WK_LOG_INFO,
                    "nothing to submit: every run is queued, worked on, done or failed");
    return submit_report(s, o, number > 0 ? number : 1, err);
}

static wk_status start(slurm *s, const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    const wk_sweep_plan *plan = s->plan;
    char *kept = NULL;
    wk_text text = {0};
    wk_slurm_options options = {0};
    bool *open = calloc(plan->tasks.count, sizeof *open), done = true;
    wk_status status = open ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the submission");
    // What is left. Where it is nothing, the report may be.
    for (size_t i = 0; status == WK_OK && i < plan->tasks.count; i++) {
        wk_sweep_state state;
        status =
            wk_sweep_state_read(plan, s->directory, (int)i, launch->options->attempts, &state, err);
        open[i] = !plan->tasks.items[i].left_out && wk_sweep_is_open(state.phase);
        done &= state.phase == WK_SWEEP_DONE || plan->tasks.items[i].left_out;
    }
    if (status == WK_OK && done) status = wk_sweep_report_done(plan, s->directory, &done, err);
    *end = done ? WK_SWEEP_FINISHED : WK_SWEEP_SUBMITTED;
    // The options: as given, else those of the submission before.
    if (status == WK_OK && !done && launch->options->slurm) {
        options = *launch->options->slurm;
        wk_slurm_options_print(&options, &text);
        status = check_options(&options, err);
        if (status == WK_OK) status = wk_file_write_text(s->dir, "options", &text, err);
    } else if (status == WK_OK && !done) {
        status = read_file(s, "options", &kept, err);
        if (status == WK_OK) status = wk_slurm_options_parse(kept, &options, err);
    }
    options.attempts =
        launch->options->attempts > 0 ? launch->options->attempts : WK_SWEEP_ATTEMPTS;
    if (options.restarts == 0) options.restarts = RESTARTS;
    if (options.signal == 0) options.signal = SIGNAL_SECONDS;
    // What is queued is not submitted again.
    if (status == WK_OK && !done) status = wk_dir_remove(s->dir, "cancelled", err);
    if (status == WK_OK && !done) status = read_queue(s, err);
    for (size_t i = 0; status == WK_OK && i < s->jobs.count; i++)
        if (s->jobs.items[i].task >= 0) open[s->jobs.items[i].task] = false;
    if (status == WK_OK && !done) status = submit_open(s, &options, open, err);
    wk_text_free(&text);
    free(kept);
    free(open);
    return status;
}

wk_status wk_sweep_slurm_start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    slurm s = {.log = launch->log};
    wk_status status = open_folder(launch->directory, launch->plan, true, &s, err);
    if (status == WK_OK) status = start(&s, launch, end, err);
    close_folder(&s);
    return status;
}

wk_status wk_sweep_slurm_queued(const char *directory, const wk_sweep_plan *plan, int *out,
                                wk_error *err)
{
    slurm s = {0};
    *out = 0;
    wk_status status = open_folder(directory, plan, false, &s, err);
    if (status == WK_OK && s.dir) status = read_queue(&s, err);
    for (size_t i = 0; status == WK_OK && i < s.jobs.count; i++)
        *out += s.jobs.items[i].task >= 0;
    close_folder(&s);
    return status;
}

// Takes what is pending out of the queue; what runs saves, and its script sees `cancelled`.
static wk_status cancel_jobs(const slurm *s, wk_error *err)
{
    WK_TRY(write_file(s, "cancelled", "", err));
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

wk_status wk_sweep_slurm_cancel(const char *directory, const wk_sweep_plan *plan, const wk_log *log,
                                bool *found, wk_error *err)
{
    slurm s = {.log = *log};
    wk_status status = open_folder(directory, plan, false, &s, err);
    if (status == WK_OK && *s.id) status = read_queue(&s, err);
    if (status == WK_OK && *s.id) status = cancel_jobs(&s, err);
    *found |= s.jobs.count > 0;
    close_folder(&s);
    return status;
}
