// What the jobs of a sweep on Slurm run: waker sweep slurm-task around each run, and waker sweep
// slurm-finish after all of them.
#include "cli/sweep_slurm.h"

#include "base/clock.h"
#include "cli/sweep.h"
#include "sweep/process.h"
#include "sweep/report.h"
#include "sweep/slurm_system.h"
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const wk_slurm_options *wk_slurm_args_options(const wk_slurm_args *given, wk_slurm_options *out)
{
    const wk_slurm_options *o = &given->jobs;
    *out = *o;
    if (o->gpus < 0) out->gpus = wk_slurm_options_default().gpus;
    out->n_lines = given->lines.count;
    for (int i = 0; i < given->lines.count; i++)
        out->lines[i] = given->lines.items[i];
    bool any = o->partition || o->time || o->account || o->mail || o->memory || o->gpus >= 0 ||
               o->cpus || o->parallel || o->restarts || o->signal_seconds || out->n_lines > 0;
    return any ? out : NULL;
}

static volatile sig_atomic_t stop_signal; // the last one received; 0: none

static void on_signal(int number)
{
    stop_signal = number;
}

// Slurm's signals end the run, which saves; this process lives on to put its task back.
static void catch_signals(void)
{
    static const int signals[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}; // without SA_RESTART: waitpid returns
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
}

// What both commands begin with.
typedef struct job {
    wk_cli_sweep sweep;
    wk_slurm_folder slurm;
} job;

static wk_status open_job(const wk_cli *cli, job *j, wk_error *err)
{
    const char *directory = cli->words.items[0];
    const wk_log log = wk_cli_log(cli);
    *j = (job){0};
    WK_TRY(wk_cli_sweep_open(directory, &j->sweep, err));
    return wk_slurm_folder_open(directory, &j->sweep.plan, &log, &j->slurm, err);
}

static void close_job(job *j)
{
    wk_slurm_folder_close(&j->slurm);
    wk_cli_sweep_close(&j->sweep);
}

static wk_status read_variable(const char *name, bool needed, uint64_t *out, wk_error *err)
{
    const char *text = getenv(name);
    *out = 0;
    if (!text && !needed) return WK_OK;
    if (text && wk_text_to_unsigned(text, out) && *out <= INT32_MAX) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "%s is %s: 'waker sweep slurm-task' is for the array jobs that 'waker sweep "
                   "--launch slurm' submits",
                   name, text ? "not a number" : "not set");
}

static wk_status read_self(const char *submission, wk_slurm_self *out, wk_error *err)
{
    uint64_t index, restarts;
    WK_TRY(read_variable("SLURM_ARRAY_JOB_ID", true, &out->array_job, err));
    WK_TRY(read_variable("SLURM_ARRAY_TASK_ID", true, &index, err));
    WK_TRY(read_variable("SLURM_RESTART_COUNT", false, &restarts, err));
    WK_TRY(wk_parse_int("the submission", submission, 1, 999999999, &out->submission, err));
    out->index = (int)index;
    out->restarts = (int)restarts;
    out->node = getenv("SLURMD_NODENAME");
    if (!out->node) out->node = "";
    return WK_OK;
}

// What ended because of a stop signal goes on with the same command: srun may have received one
// too, and a run that has just started does not catch signals yet.
static int code_of_step(int code)
{
    bool by_signal = code == 128 + SIGTERM || code == 128 + SIGUSR1 || code == 128 + SIGUSR2;
    return code != WK_EXIT_OK && (stop_signal || by_signal) ? WK_EXIT_RESUME : code;
}

// Runs the task as a step of the job, which gets Slurm's signals.
static wk_status run_step(const job *j, const wk_cli *cli, int task, int *code, wk_error *err)
{
    const wk_slurm_system *system = &j->slurm.system;
    const char *words[] = {"srun",
                           "--ntasks=1",
                           system->program,
                           "sweep",
                           "run",
                           system->directory,
                           j->sweep.plan.tasks.items[task].name,
                           cli->quiet ? "--quiet" : NULL,
                           NULL};
    pid_t pid;
    int status = 0;
    bool noted = false;
    int failed = posix_spawnp(&pid, words[0], NULL, NULL, (char *const *)(uintptr_t)words, environ);
    if (failed != 0) return wk_fail(err, WK_E_IO, "cannot run srun: %s", strerror(failed));
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) return wk_fail(err, WK_E_IO, "lost srun: %s", strerror(errno));
        if (stop_signal && !noted) (void)wk_slurm_task_stopping(system, task, NULL);
        noted = stop_signal;
    }
    *code = code_of_step(wk_sweep_exit_code(status));
    return WK_OK;
}

// The exit code is the step's; what it was is said by the log.
static wk_status end_with(wk_cli *cli, int code, wk_error *err)
{
    if (code == WK_EXIT_OK) return WK_OK;
    cli->resume = code == WK_EXIT_RESUME;
    if (cli->resume) return WK_OK;
    return wk_fail(err, code == WK_EXIT_USAGE ? WK_E_NOT_FOUND : WK_E_IO,
                   "the run ended with exit code %d", code);
}

static wk_status do_task(wk_cli *cli, const job *j, wk_error *err)
{
    wk_slurm_self self;
    wk_slurm_step step;
    int code = 0;
    WK_TRY(read_self(cli->words.items[1], &self, err));
    catch_signals();
    WK_TRY(wk_slurm_task_begin(&j->slurm.system, &self, &step, err));
    if (!step.run) return end_with(cli, step.code, err);
    int task = step.task;
    WK_TRY(run_step(j, cli, task, &code, err));
    WK_TRY(wk_slurm_task_end(&j->slurm.system, &self, task, code, &step, err));
    return end_with(cli, step.code, err);
}

static wk_status run_task(wk_cli *cli, const void *values, wk_error *err)
{
    job j;
    (void)values;
    wk_status status = open_job(cli, &j, err);
    if (status == WK_OK) status = do_task(cli, &j, err);
    close_job(&j);
    return status;
}

// Somebody may be submitting at this moment.
static wk_status take_sweep(const char *directory, wk_sweep_folder *folder, wk_error *err)
{
    enum { SECONDS = 120 };
    double end = wk_clock_seconds() + SECONDS;
    wk_status status;
    while ((status = wk_sweep_folder_open(directory, folder, err)) == WK_E_INPUT &&
           wk_clock_seconds() < end) {
        wk_sweep_folder_close(folder);
        sleep(1);
    }
    return status;
}

static wk_status make_report(const wk_cli *cli, const job *j, wk_error *err)
{
    static const wk_sweep_launch_options options = {0};
    wk_sweep_end end = WK_SWEEP_FINISHED;
    const wk_sweep_launch launch = {.program = j->slurm.program,
                                    .directory = j->slurm.directory,
                                    .plan = &j->sweep.plan,
                                    .options = &options,
                                    .log = wk_cli_log(cli)};
    return wk_sweep_report_make(&launch, &end, err);
}

static wk_status finish(wk_cli *cli, const job *j, wk_error *err)
{
    int round;
    bool report;
    WK_TRY(wk_parse_int("the round", cli->words.items[1], 0, 1000000, &round, err));
    WK_TRY(wk_slurm_finish(&j->slurm.system, round, &report, err));
    return report ? make_report(cli, j, err) : WK_OK;
}

static wk_status run_finish(wk_cli *cli, const void *values, wk_error *err)
{
    job j;
    wk_sweep_folder folder = {0};
    (void)values;
    wk_status status = open_job(cli, &j, err);
    if (status == WK_OK) status = take_sweep(j.slurm.directory, &folder, err);
    if (status == WK_OK) status = finish(cli, &j, err);
    wk_sweep_folder_close(&folder);
    close_job(&j);
    return status;
}

const wk_command wk_command_sweep_slurm_task = {
    .name = "sweep slurm-task",
    .summary = "Run one array task of a sweep on Slurm (called by its batch scripts)",
    .usage = "sweep slurm-task DIR N",
    .details =
        "Runs 'waker sweep run' for its array task with srun. Requeues this task alone if it\n"
        "ends with exit code 75, or if it failed and has attempts left. Nodes that failed twice\n"
        "are excluded.\n",
    .examples = "sweep slurm-task runs/paper 1",
    .min_words = 2,
    .max_words = 2,
    .run = run_task,
};

const wk_command wk_command_sweep_slurm_finish = {
    .name = "sweep slurm-finish",
    .summary = "Finish a sweep on Slurm (called by the job after all others)",
    .usage = "sweep slurm-finish DIR N",
    .details = "Resubmits lost tasks, or writes the report when every run has ended.\n",
    .examples = "sweep slurm-finish runs/paper 0",
    .min_words = 2,
    .max_words = 2,
    .run = run_finish,
};
