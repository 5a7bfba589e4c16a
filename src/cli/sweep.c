// waker sweep: all runs of a grid, here or on a cluster, to a finished report.
#include "cli/sweep.h"

#include "cli/long_run.h"
#include "cli/sweep_slurm.h"
#include "sweep/manifest.h"
#include "sweep/process.h"
#include "sweep/queue.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const wk_sweep_launcher *const wk_cli_launchers[] = {&wk_sweep_local, &wk_sweep_slurm,
                                                     &wk_sweep_print, NULL};

typedef struct sweep_values {
    const char *directory, *launch;
    wk_arg_texts only;
    wk_sweep_launch_options options;
    const char *plugin, *rule;
    double rate;
    bool dry_run;
    wk_slurm_args slurm;
} sweep_values;

static const sweep_values defaults = {
    .launch = "local", .options = {.attempts = WK_SWEEP_ATTEMPTS}, .slurm = WK_SLURM_ARGS_INIT};

#define WK_VALUES sweep_values
static const wk_arg args[] = {
    WK_OPT_PATH("logdir", directory, "DIR", "directory of the sweep and its runs"),
    WK_OPT_TEXTS("only", only, "AXIS=VALUE,...",
                 "start only the runs with these values; several of an axis: AXIS=VALUE|VALUE, or "
                 "AXIS=A..B of numbers; may be repeated"),
    WK_OPT_TEXT("launch", launch, "local|slurm|print",
                "local: processes on this machine; slurm: job arrays; print: print the commands, "
                "for other schedulers (default: local)"),
    WK_OPT_INT("jobs", options.jobs, "N",
               "processes at a time (default: as many as GPUs, or cores, and memory allow)", 1,
               1024),
    WK_OPT_INT("per-gpu", options.per_gpu, "N", "processes on each GPU (default: 1)", 1, 64),
    WK_OPT_INT("populations", options.populations, "N",
               "train up to N runs of equal shape in one process (default: 1)", 1,
               WK_POPULATION_MAX),
    WK_OPT_INT("attempts", options.attempts, "N",
               "attempts in a row without progress before a run counts as failed (default: 3)", 1,
               1000),
    WK_OPT_NUMBER("rate", rate, "N",
                  "updates per second, for estimating the cost (default: measured)", 1e-6, 1e6),
    WK_OPT_PATH("plugin", plugin, "FILE", "let the runs load their domain from this plug-in"),
    WK_OPT_PATH("curriculum.plugin", rule, "FILE", "let the runs load their curriculum from it"),
    WK_OPT_FLAG("dry-run", dry_run,
                "print what would run and its estimated cost; write and start nothing"),
    WK_SLURM_ARG_ROWS(slurm),
};

// A sweep as this command sees it.
typedef struct context {
    wk_cli *cli;
    const sweep_values *v;
    const wk_sweep_launcher *launcher;
    wk_cli_sweep sweep;
    wk_sweep_folder folder;
    wk_sweep_queue queue;
    wk_sweep_cost cost;
} context;

void wk_cli_sweep_close(wk_cli_sweep *sweep)
{
    wk_sweep_plan_free(&sweep->plan);
    wk_sweep_grid_free(&sweep->grid);
}

static const wk_command *command_called(const char *name)
{
    for (size_t i = 0; i < wk_program_spec.n_commands; i++)
        if (strcmp(wk_program_spec.commands[i]->name, name) == 0)
            return wk_program_spec.commands[i];
    return NULL;
}

// Reads the options as the command itself will.
static wk_status parse_options(const wk_command *command, const wk_sweep_command *given,
                               wk_error *err)
{
    wk_cli scratch = {0};
    char *words[WK_SWEEP_WORDS_MAX];
    int taken;
    void *values;
    WK_TRY(wk_command_values(command, &values, err));
    for (int i = 0; i < given->count; i++)
        words[i] = (char *)given->options[i];
    const wk_arg_table tables[] = {{command->args, command->n_args, values},
                                   {wk_program_spec.args, wk_program_spec.n_args, &scratch}};
    wk_status status = wk_args_parse(tables, 2, given->count, words, &scratch.words, &taken, err);
    free(values);
    if (status == WK_OK && scratch.words.count > 0)
        return wk_fail(err, WK_E_INPUT, "'%s' is not an option of 'waker %s'",
                       scratch.words.items[0], command->name);
    return status;
}

// Options that a grid may not give: it comes from anywhere.
static wk_status check_option(const char *option, wk_error *err)
{
    static const char NO_WORK[] = "the command would end without its work, and count as done";
    static const struct {
        const char *option, *why;
    } refused[] = {
        {"--help", NO_WORK},
        {"-h", NO_WORK},
        {"--version", NO_WORK},
        {"--", NO_WORK},
        {"--out", "results of a sweep stay in its runs, where 'waker sweep status' reads them"},
        {"--plugin", "a grid cannot load code; name it with 'waker sweep --plugin FILE'"},
        {"--python", "a grid cannot load code; name it with 'waker sweep --plugin FILE:FUNCTION'"},
        {"--reward", "a grid cannot load code"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t length = strlen(refused[i].option);
        if (strncmp(option, refused[i].option, length) == 0 && strchr("=", option[length]))
            return wk_fail(err, WK_E_INPUT, "%s: %s", refused[i].option, refused[i].why);
    }
    return WK_OK;
}

static wk_status check_command(const wk_sweep_grid *grid, const char *name,
                               const wk_sweep_command *given, wk_error *err)
{
    if (!given->present) return WK_OK;
    wk_status status = parse_options(command_called(name), given, err);
    for (int i = 0; status == WK_OK && i < given->count; i++)
        status = check_option(given->options[i], err);
    if (status == WK_OK || !err) return status;
    return wk_fail_context(err, "%s:%d: %s", grid->name, given->line, name);
}

// The options of the commands that follow a run, checked against the commands themselves.
static wk_status check_commands(const wk_sweep_grid *grid, wk_error *err)
{
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        WK_TRY(check_command(grid, wk_sweep_follow_names[i], &grid->follow[i], err));
    return check_command(grid, "report", &grid->report, err);
}

wk_status wk_cli_sweep_open(const char *directory, wk_cli_sweep *out, wk_error *err)
{
    WK_TRY(wk_sweep_folder_grid(directory, &out->grid, err));
    WK_TRY(check_commands(&out->grid, err));
    return wk_sweep_plan_create(&out->grid, &out->plan, err);
}

static wk_status find_launcher(const char *name, const wk_sweep_launcher **out, wk_error *err)
{
    const char *names[8];
    size_t count = 0;
    for (; wk_cli_launchers[count]; count++) {
        *out = wk_cli_launchers[count];
        names[count] = (*out)->name;
        if (strcmp((*out)->name, name) == 0) return WK_OK;
    }
    return wk_arg_unknown(err, "launcher", name, names, count);
}

// Keys that may change, as the length, are taken from the file: not without a word.
static wk_status say_changes(const wk_cli *cli, const wk_sweep_plan *before,
                             const wk_sweep_plan *now, wk_error *err)
{
    const wk_log log = wk_cli_log(cli);
    wk_text lines = {0};
    wk_status status = wk_sweep_plan_changes(before, now, &lines, err);
    if (status == WK_OK && lines.failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory to compare the grids");
    char *rest = status == WK_OK && lines.length > 0 ? lines.chars : NULL;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) wk_log_line(&log, WK_LOG_WARN, "%s: %s", now->grid->name, line);
    wk_text_free(&lines);
    return status;
}

// Values that were added to the sweep in the directory belong to it too. Every run that is there
// must be one of the grid.
static wk_status join(const wk_cli *cli, const char *directory, wk_cli_sweep *sweep, wk_error *err)
{
    wk_cli_sweep there = {0};
    wk_status status = wk_cli_sweep_open(directory, &there, err);
    if (status == WK_OK) status = wk_sweep_grid_join(&sweep->grid, &there.grid, err);
    if (status == WK_OK) {
        wk_sweep_plan_free(&sweep->plan);
        status = wk_sweep_plan_create(&sweep->grid, &sweep->plan, err);
    }
    if (status == WK_OK) status = wk_sweep_plan_contains(&sweep->plan, &there.plan, err);
    if (status != WK_OK && err)
        wk_fail_context(err, "'%s' holds another sweep; choose another logdir", directory);
    if (status == WK_OK) status = say_changes(cli, &there.plan, &sweep->plan, err);
    wk_cli_sweep_close(&there);
    return status;
}

// Options of another launcher would do nothing: what is meant for a cluster must not begin here.
static wk_status check_launcher(const context *c, wk_error *err)
{
    wk_slurm_options slurm;
    const wk_sweep_launch_options *o = &c->v->options;
    if (c->launcher != &wk_sweep_slurm && wk_slurm_args_options(&c->v->slurm, &slurm))
        return wk_fail(err, WK_E_INPUT,
                       "--partition, --time and the other job options need --launch slurm");
    // The job after the array submits whatever the sweep has left.
    if (c->launcher == &wk_sweep_slurm && c->v->only.count > 0)
        return wk_fail(err, WK_E_INPUT, "--only needs --launch local or print");
    if (c->launcher != &wk_sweep_local && (o->jobs || o->per_gpu || o->populations))
        return wk_fail(err, WK_E_INPUT, "--jobs, --per-gpu and --populations need --launch local");
    return WK_OK;
}

static wk_status open_sweep(context *c, wk_error *err)
{
    const char *directory = c->v->directory;
    bool there;
    if (!directory)
        return wk_fail(err, WK_E_INPUT,
                       "--logdir DIR is required: the directory of the sweep, for example --logdir "
                       "runs/paper");
    WK_TRY(find_launcher(c->v->launch, &c->launcher, err));
    WK_TRY(check_launcher(c, err));
    if (c->cli->words.count == 0) {
        WK_TRY(wk_cli_sweep_open(directory, &c->sweep, err));
        WK_TRY(wk_cli_sweep_check_follow(&c->sweep.plan, err));
    } else {
        WK_TRY(wk_sweep_grid_open(c->cli->words.items[0], &c->sweep.grid, err));
        WK_TRY(check_commands(&c->sweep.grid, err));
        WK_TRY(wk_sweep_plan_create(&c->sweep.grid, &c->sweep.plan, err));
        WK_TRY(wk_cli_sweep_check_follow(&c->sweep.plan, err));
        WK_TRY(wk_sweep_folder_exists(directory, &there, err));
        if (there) WK_TRY(join(c->cli, directory, &c->sweep, err));
    }
    c->sweep.plan.plugin = c->v->plugin;
    c->sweep.plan.rule = c->v->rule;
    return wk_sweep_plan_select(&c->sweep.plan, c->v->only.items, c->v->only.count, err);
}

// "grid.yaml: 2 of 8 runs in 1 shape, 1 population of up to 2 runs".
static void print_selection(const context *c, wk_text *out)
{
    const wk_sweep_plan *plan = &c->sweep.plan;
    int shapes = 0, populations = 0, size = c->v->options.populations;
    for (size_t i = 0; i < plan->shapes.count; i++) {
        int left = 0;
        for (size_t k = 0; k < plan->tasks.count; k++)
            left += plan->tasks.items[k].shape == (int)i && !plan->tasks.items[k].left_out &&
                    !c->queue.entries[k].state.trained;
        if (size > 0) populations += (left + size - 1) / size;
        shapes += plan->shapes.items[i].count > 0;
    }
    wk_text_printf(out, "%s: ", c->sweep.grid.name);
    if (plan->selected < plan->tasks.count) wk_text_printf(out, "%zu of ", plan->selected);
    wk_text_printf(out, "%zu run%s in %d shape%s", plan->tasks.count, wk_plural(plan->tasks.count),
                   shapes, wk_plural((uint64_t)shapes));
    if (size > 0)
        wk_text_printf(out, ", %d population%s of up to %d run%s", populations,
                       wk_plural((uint64_t)populations), size, wk_plural((uint64_t)size));
    wk_text_puts(out, "\n");
}

// What there is to do and what it takes, on standard error: before anything starts.
static wk_status say_cost(context *c, wk_error *err)
{
    wk_text text = {0};
    bool needed = c->launcher != &wk_sweep_print && !c->cli->quiet;
    print_selection(c, &text);
    wk_status status = wk_cli_sweep_cost(c->cli, &c->sweep.plan, c->queue.entries, c->v->rate,
                                         needed, &c->cost, &text, err);
    if (status == WK_OK && text.failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory for the cost");
    if (status == WK_OK && !c->cli->quiet) fputs(wk_text_get(&text), stderr);
    wk_text_free(&text);
    return status;
}

static wk_status write_manifest(context *c, wk_error *err)
{
    size_t count = c->sweep.plan.tasks.count;
    wk_sweep_state *states = calloc(count, sizeof *states);
    if (!states) return wk_fail(err, WK_E_MEMORY, "no memory for the states of the runs");
    wk_status status =
        wk_sweep_states_read(&c->sweep.plan, c->v->directory, c->v->options.attempts, states, err);
    if (status == WK_OK)
        status = wk_sweep_manifest_write(&c->sweep.plan, c->v->directory, states, err);
    free(states);
    return status;
}

static wk_status say_end(context *c, wk_sweep_end end, wk_error *err)
{
    wk_text text = {0};
    const char *directory = c->v->directory;
    c->cli->resume = end == WK_SWEEP_SAVED;
    c->cli->findings = end == WK_SWEEP_FINDINGS;
    if (end == WK_SWEEP_FAILURES)
        return wk_fail(err, WK_E_IO,
                       "some runs failed: 'waker sweep status %s' shows their errors; after 'waker "
                       "sweep retry %s' the same command tries them again",
                       directory, directory);
    if (end == WK_SWEEP_SUBMITTED) return WK_OK;
    if (end == WK_SWEEP_SAVED)
        wk_text_printf(&text, "stopped; run the same command to resume: %s\n", directory);
    else
        wk_text_printf(&text, "finished%s: %s\n",
                       c->v->only.count > 0 ? ", the runs that --only names" : "", directory);
    return wk_cli_note(c->cli, &text, err);
}

static wk_status launch(context *c, wk_error *err)
{
    char program[WK_PATH_MAX];
    wk_cli_run around;
    wk_sweep_end end = WK_SWEEP_FINISHED;
    wk_slurm_options slurm;
    wk_text output = {0};
    wk_sweep_launch_options options = c->v->options;
    options.threads = c->cli->threads;
    options.quiet = c->cli->quiet;
    options.slurm = wk_slurm_args_options(&c->v->slurm, &slurm);
    if (!wk_sweep_program(program))
        return wk_fail(err, WK_E_IO, "the program itself cannot be found (/proc/self/exe)");
    wk_cli_run_begin(c->cli, WK_LOCK_WAIT_SECONDS, &around);
    const wk_sweep_launch launch = {.folder = &c->folder,
                                    .program = program,
                                    .directory = c->v->directory,
                                    .plan = &c->sweep.plan,
                                    .options = &options,
                                    .stop = around.control.stop,
                                    .log = around.control.log,
                                    .output = &output,
                                    .memory = c->cost.memory};
    wk_status status = c->launcher->start(&launch, &end, err);
    if (status == WK_OK)
        status = wk_cli_print(&output, err);
    else
        wk_text_free(&output);
    if (status == WK_OK) status = write_manifest(c, err);
    return status == WK_OK ? say_end(c, end, err) : status;
}

static wk_status sweep(context *c, wk_error *err)
{
    WK_TRY(open_sweep(c, err));
    WK_TRY(wk_sweep_queue_open(&c->sweep.plan, c->v->directory, c->v->options.attempts, &c->queue,
                               err));
    if (c->v->dry_run) return say_cost(c, err);
    WK_TRY(wk_sweep_folder_open(c->v->directory, &c->folder, err));
    WK_TRY(say_cost(c, err));
    WK_TRY(wk_sweep_folder_write(&c->folder, &c->sweep.grid, err));
    WK_TRY(write_manifest(c, err));
    return launch(c, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    context c = {.cli = cli, .v = values};
    wk_status status = sweep(&c, err);
    wk_sweep_folder_close(&c.folder);
    wk_sweep_queue_close(&c.queue);
    wk_cli_sweep_close(&c.sweep);
    return status;
}

const wk_command wk_command_sweep = {
    .name = "sweep",
    .summary = "Train, adapt, evaluate and report a grid of runs",
    .usage = "sweep GRID --logdir DIR [--only AXIS=VALUE,...] [--launch local|slurm|print]\n"
             "sweep GRID --logdir DIR [--jobs N] [--populations N] [--dry-run]\n"
             "sweep --logdir DIR",
    .details =
        "GRID is a YAML file with axes (domain, curriculum, seed, any key), exclusions, commands\n"
        "that follow each run, and the report at the end (docs/sweeps.md), or a built-in grid:\n"
        "paper-main, paper-random, paper-combined, paper-eta, paper-curves, small-paper, toy.\n"
        "The estimated cost is printed first. The same command, or --logdir alone, resumes a\n"
        "sweep and skips what is done. An interrupt makes all runs save and stops with exit code\n"
        "75. If a run fails, the others continue and the exit code is 1. 'waker sweep status DIR'\n"
        "shows the progress. With --only machines share a grid: each does a part in a directory\n"
        "of its own, and copies of all in one directory are the whole sweep.\n",
    .examples = "sweep paper-main --logdir runs/paper --dry-run\n"
                "sweep grid.yaml --logdir runs/grid --jobs 2\n"
                "sweep grid.yaml --logdir runs/grid --populations 5\n"
                "sweep paper-main --logdir runs/paper --only domain=clean-up,seed=0\n"
                "sweep grid.yaml --logdir runs/grid --launch slurm --partition gpu --time 4:00:00\n"
                "sweep grid.yaml --logdir runs/grid --launch print",
    WK_COMMAND_OPTIONS(args, defaults),
    .max_words = 1,
    .resumes = true,
    .run = run,
};
