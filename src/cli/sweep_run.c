// waker sweep run: one task of a sweep from where it is to its end, several that are trained as a
// population, or the report. Launchers start it; it is an ordinary command with the exit codes of
// all others.
#include "base/file.h"
#include "base/machine.h"
#include "cli/long_run.h"
#include "cli/sweep.h"
#include "run/settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run_values {
    const char *plugin, *rule;
} run_values;

static const run_values defaults;

#define WK_VALUES run_values
static const wk_arg args[] = {
    WK_OPT_PATH("plugin", plugin, "FILE", "load the runs' domain from this plug-in"),
    WK_OPT_PATH("curriculum.plugin", rule, "FILE", "load the runs' curriculum from this plug-in"),
};

// Everything about the tasks, each array with one element for each of them.
typedef struct runner {
    wk_cli *cli;
    const wk_sweep_plan *plan;
    char program[WK_PATH_MAX];
    int count;
    int tasks[WK_POPULATION_MAX];
    wk_sweep_claim claims[WK_POPULATION_MAX];
    char paths[WK_POPULATION_MAX][WK_PATH_MAX];
    wk_run_config configs[WK_POPULATION_MAX];
    wk_run_plugins code[WK_POPULATION_MAX];
    wk_train_extras extras[WK_POPULATION_MAX];
    wk_train_member members[WK_POPULATION_MAX];
    int codes[WK_POPULATION_MAX]; // how each ended, as an exit code
} runner;

// Takes the task, unless it is done.
static wk_status take_task(runner *r, const char *name, wk_error *err)
{
    wk_sweep_state state;
    int task = wk_sweep_plan_find(r->plan, name);
    if (task < 0)
        return wk_fail(err, WK_E_NOT_FOUND, "the sweep in '%s' has no run '%.80s'",
                       r->plan->directory, name);
    WK_TRY(wk_sweep_state_read(r->plan, task, 0, &state, err));
    if (state.phase == WK_SWEEP_DONE) return WK_OK;
    if (r->count == WK_POPULATION_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d runs in one process", WK_POPULATION_MAX);
    WK_TRY(wk_sweep_claim_take(r->plan, task, &r->claims[r->count], err));
    r->tasks[r->count++] = task;
    return WK_OK;
}

// Puts a file that the command line names in the place of the grid's.
static wk_status name_code(const char *file, int field, wk_merged_config *merged, wk_error *err)
{
    const char *configured = (const char *)&merged->config + wk_run_fields[field].offset;
    if (!file || !*configured) return WK_OK;
    merged->origins[field] = (wk_origin){0};
    return wk_run_config_set(&merged->config, field, file, err);
}

static wk_status resolve_task(runner *r, int i, const wk_log *log, wk_error *err)
{
    static wk_merged_config merged;
    WK_TRY(wk_sweep_task_path(r->plan, r->tasks[i], r->paths[i], err));
    WK_TRY(wk_sweep_task_config(r->plan, r->tasks[i], &merged, err));
    WK_TRY(name_code(r->plan->plugin, WK_RUN_plugin_INDEX, &merged, err));
    WK_TRY(name_code(r->plan->rule, WK_RUN_curriculum_plugin_INDEX, &merged, err));
    WK_TRY(wk_run_settings_open(&merged, r->paths[i], log, &r->code[i], err));
    r->configs[i] = merged.config;
    if (r->cli->threads_given) r->configs[i].env_threads = r->cli->threads;
    return WK_OK;
}

// Trains all. The status is that of what keeps all of them from going on; a run's own is in its
// member.
static wk_status train(runner *r, wk_cli_run *around, wk_error *err)
{
    const char *names[WK_POPULATION_MAX];
    const wk_log log = wk_cli_log(r->cli);
    for (int i = 0; i < r->count; i++) {
        names[i] = r->plan->tasks.items[r->tasks[i]].name;
        wk_status status = resolve_task(r, i, &log, err);
        if (status != WK_OK) return err ? wk_fail_context(err, "%s", names[i]) : status;
        r->extras[i] = (wk_train_extras){.code = &r->code[i]};
        r->members[i] = (wk_train_member){.config = &r->configs[i],
                                          .directory = r->paths[i],
                                          .name = names[i],
                                          .extras = &r->extras[i]};
    }
    WK_TRY(wk_run_configs_share(r->configs, names, r->count, &log, err));
    if (r->count > 1) return wk_train_population(r->members, r->count, &around->control, err);
    wk_train_member *one = &r->members[0];
    one->status = wk_train(one->config, one->directory, one->extras, &around->control, &one->end,
                           &one->error);
    return WK_OK;
}

// Runs a command that follows a trained run, and notes that it is done.
static wk_status follow(runner *r, int i, wk_sweep_follow_kind kind,
                        const volatile sig_atomic_t *stop, char *line, wk_error *err)
{
    char threads[16];
    int code = WK_EXIT_OK;
    wk_sweep_words words = {0};
    wk_sweep_follow_words(r->plan, r->tasks[i], kind, &words);
    snprintf(threads, sizeof threads, "%d", r->cli->threads);
    if (r->cli->threads > 0) {
        wk_sweep_words_add(&words, "--threads");
        wk_sweep_words_add(&words, threads);
    }
    if (r->cli->quiet) wk_sweep_words_add(&words, "--quiet");
    const wk_sweep_process process = {.program = r->program, .words = &words, .stop = stop};
    wk_status status = wk_sweep_process_run(&process, &code, line, err);
    wk_sweep_words_free(&words);
    // Interrupted commands that cannot save (eval) are begun again like those that can.
    r->codes[i] = code != WK_EXIT_OK && *stop ? WK_EXIT_RESUME : code;
    if (status != WK_OK || code != WK_EXIT_OK) return status;
    return wk_sweep_follow_done(r->plan, r->tasks[i], kind, err);
}

static wk_status follow_all(runner *r, int i, const volatile sig_atomic_t *stop, char *line,
                            wk_error *err)
{
    wk_sweep_state state;
    WK_TRY(wk_sweep_state_read(r->plan, r->tasks[i], 0, &state, err));
    for (int k = 0; k < WK_SWEEP_FOLLOWS && r->codes[i] == WK_EXIT_OK; k++) {
        if (state.follow[k]) continue;
        if (*stop)
            r->codes[i] = WK_EXIT_RESUME;
        else
            WK_TRY(follow(r, i, (wk_sweep_follow_kind)k, stop, line, err));
    }
    return WK_OK;
}

// Everything after the training of a run, whose status is in its member: what follows, and a note
// of how the task ended.
static wk_status finish_task(runner *r, int i, const volatile sig_atomic_t *stop, wk_error *err)
{
    char line[WK_SWEEP_LINE_MAX] = "";
    wk_train_member *m = &r->members[i];
    wk_utf8_sanitise(m->error.message, false);
    if (m->status != WK_OK) {
        snprintf(line, sizeof line, "%.*s", WK_SWEEP_LINE_MAX - 1, m->error.message);
        r->codes[i] = wk_exit_code(m->status);
    } else if (m->end != WK_RUN_FINISHED) {
        r->codes[i] = WK_EXIT_RESUME;
    } else {
        WK_TRY(follow_all(r, i, stop, line, err));
    }
    if (r->codes[i] != WK_EXIT_OK && r->codes[i] != WK_EXIT_RESUME)
        fprintf(stderr, "waker sweep run: %s failed: %s\n", m->name, line);
    return wk_sweep_claim_end(&r->claims[i], r->codes[i], line, err);
}

static wk_status work(runner *r, wk_error *err)
{
    wk_cli_run around;
    int failed = 0, first = 0;
    wk_cli_run_begin(r->cli, WK_LOCK_WAIT_SECONDS, r->count > 1, &around);
    wk_status status = train(r, &around, err);
    for (int i = 0; status == WK_OK && i < r->count; i++)
        status = finish_task(r, i, around.control.stop, err);
    for (int i = 0; i < r->count; i++) {
        // What stops all of them counts for each.
        if (status != WK_OK && r->claims[i].dir)
            (void)wk_sweep_claim_end(&r->claims[i], wk_exit_code(status), err->message, NULL);
        // To be continued where one of them is, else the first failure.
        if (r->codes[i] == WK_EXIT_RESUME)
            r->cli->resume = true;
        else if (r->codes[i] != WK_EXIT_OK && failed++ == 0)
            first = r->codes[i];
    }
    if (status != WK_OK || failed == 0 || r->cli->resume) return status;
    return wk_fail(err, first == WK_EXIT_USAGE ? WK_E_INPUT : WK_E_IO,
                   "%d of %d runs failed; the others are done", failed, r->count);
}

static wk_status run_tasks(runner *r, wk_error *err)
{
    wk_status status = WK_OK;
    for (int i = 1; status == WK_OK && i < r->cli->words.count; i++)
        status = take_task(r, r->cli->words.items[i], err);
    if (status == WK_OK && r->count > 0) status = work(r, err);
    for (int i = 0; i < r->count; i++) {
        if (r->claims[i].dir) wk_sweep_claim_drop(&r->claims[i]);
        wk_run_plugins_close(&r->code[i]);
    }
    return status;
}

// Somebody may be submitting, or adding runs, at this moment.
static wk_status take_sweep(const runner *r, const volatile sig_atomic_t *stop,
                            wk_sweep_folder *folder, wk_error *err)
{
    enum { SECONDS = 120 };
    const double end = wk_clock_seconds() + SECONDS;
    wk_status status;
    while ((status = wk_sweep_folder_open(r->plan->directory, folder, err)) == WK_E_INPUT &&
           folder->dir && !*stop && wk_clock_seconds() < end) {
        wk_sweep_folder_close(folder);
        sleep(1);
    }
    return status;
}

// Makes the report of the runs that are done and says how many are not.
static wk_status make_report(const runner *r, wk_error *err)
{
    const wk_sweep_launch_options options = {.quiet = r->cli->quiet};
    wk_cli_run around;
    wk_sweep_folder folder = {0};
    wk_sweep_end end = WK_SWEEP_FINISHED;
    wk_sweep_queue queue = {0};
    char slurm[WK_PATH_MAX];
    bool jobs = false;
    wk_cli_run_begin(r->cli, WK_LOCK_WAIT_SECONDS, false, &around);
    const wk_sweep_launch launch = {.program = r->program,
                                    .plan = r->plan,
                                    .options = &options,
                                    .stop = around.control.stop,
                                    .log = around.control.log};
    wk_status status = take_sweep(r, around.control.stop, &folder, err);
    if (status == WK_OK) status = wk_sweep_queue_open(r->plan, 0, &queue, err);
    if (status == WK_OK) {
        wk_sweep_counts c = wk_sweep_count(r->plan, queue.entries);
        int failed = c.phases[WK_SWEEP_FAILED];
        int left = (int)r->plan->tasks.count - c.phases[WK_SWEEP_DONE] - failed;
        if (wk_path_join(r->plan->directory, WK_SWEEP_FOLDER "/slurm", slurm, NULL) == WK_OK)
            (void)wk_file_exists_in(NULL, slurm, &jobs, NULL);
        if (left > 0)
            wk_log_line(&launch.log, WK_LOG_WARN,
                        "%d of %zu runs %s not done; 'waker sweep --logdir %s%s' continues", left,
                        r->plan->tasks.count, left == 1 ? "is" : "are", r->plan->directory,
                        jobs ? " --launch slurm" : "");
        if (failed > 0)
            wk_log_line(&launch.log, WK_LOG_WARN,
                        "%d of %zu runs failed; 'waker sweep status %s' shows their errors", failed,
                        r->plan->tasks.count, r->plan->directory);
        status = wk_sweep_report_make(&launch, &end, err);
    }
    wk_sweep_queue_close(&queue);
    wk_sweep_folder_close(&folder);
    r->cli->findings = end == WK_SWEEP_FINDINGS;
    r->cli->resume = end == WK_SWEEP_SAVED;
    return status;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const run_values *v = values;
    wk_cli_sweep sweep = {0};
    runner *r = calloc(1, sizeof *r);
    if (!r) return wk_fail(err, WK_E_MEMORY, "no memory for the runs");
    r->cli = cli;
    r->plan = &sweep.plan;
    bool report = cli->words.count == 2 && strcmp(cli->words.items[1], WK_SWEEP_REPORT) == 0;
    wk_status status = wk_cli_sweep_open(cli->words.items[0], &sweep, err);
    sweep.plan.plugin = v->plugin;
    sweep.plan.rule = v->rule;
    if (status == WK_OK) status = wk_sweep_program(r->program, err);
    if (status == WK_OK) status = report ? make_report(r, err) : run_tasks(r, err);
    free(r);
    wk_cli_sweep_close(&sweep);
    return status;
}

const wk_command wk_command_sweep_run = {
    .name = "sweep run",
    .summary = "Train runs of a sweep, then run the commands that follow them",
    .usage = "sweep run DIR NAME...\n"
             "sweep run DIR report",
    .details =
        "Launchers start this command for each run of the sweep in DIR. It trains DIR/NAME, or\n"
        "resumes it, then runs the commands that follow and are not done yet. Several runs are\n"
        "trained as a population. A run that another process is working on is refused. Exit\n"
        "codes are those of 'waker train': after 75, run the same command to resume. With\n"
        "'report' it makes the sweep's report of the runs that are done.\n",
    .examples = "sweep run runs/paper clean-up-waker-m-seed0",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {2, 1 + WK_POPULATION_MAX},
    .resumes = true,
    .run = run,
};
