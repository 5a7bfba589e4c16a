// waker sweep: all runs of a grid, here or on a cluster, to a finished report.
#include "cli/sweep.h"

#include "base/table.h"
#include "cli/long_run.h"
#include "config/parts.h"
#include "eval/cases.h"
#include "log/status_line.h"
#include "run/saved_run.h"
#include "run/world.h"
#include "train/update_time.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sweep_values {
    const char *directory, *launch;
    wk_arg_texts only;
    wk_sweep_launch_options options;
    const char *plugin, *rule;
    double rate;
    bool dry_run;
    wk_slurm_options slurm; // without lines
    wk_arg_texts lines;
} sweep_values;

static const sweep_values defaults = {.launch = "local",
                                      .options = {.attempts = WK_SWEEP_ATTEMPTS},
                                      .slurm = {.gpus = -1}}; // not given

#define WK_VALUES sweep_values
static const wk_arg args[] = {
    WK_OPT_REQUIRED(WK_ARG_PATH, "logdir", directory, "DIR", "directory of the sweep and its runs"),
    WK_OPT_TEXTS("only", only, "AXIS=VALUE,...",
                 "start only the runs with these values; several of an axis: AXIS=VALUE|VALUE, or "
                 "AXIS=A..B of numbers; may be repeated"),
    WK_OPT_CHOICE("launch", launch, "local|slurm|print",
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
    WK_OPT_TEXT("partition", slurm.partition, "NAME", "Slurm partition"),
    WK_OPT_TEXT(
        "time", slurm.time, "LIMIT",
        "time limit of a job: MINUTES, HH:MM:SS, DAYS-HH; runs that take longer are resumed"),
    WK_OPT_TEXT("account", slurm.account, "NAME", "Slurm account"),
    WK_OPT_INT("gpus", slurm.gpus, "N", "GPUs per job (default: 1)", 0, 64),
    WK_OPT_INT("cpus", slurm.cpus, "N", "CPU cores per job", 1, 1024),
    WK_OPT_TEXT("mem", slurm.memory, "SIZE", "memory per job, for example 16G"),
    WK_OPT_INT("parallel", slurm.parallel, "N", "maximum tasks of an array that run at a time", 1,
               100000),
    WK_OPT_TEXT("mail", slurm.mail, "ADDRESS",
                "send mail about failures and the end to this address"),
    WK_OPT_INT("signal", slurm.signal, "SECONDS",
               "time before the limit at which runs save and stop (default: 120)", 1, 86400),
    WK_OPT_INT("restarts", slurm.restarts, "N", "maximum restarts of a job (default: 100)", 1,
               100000),
    WK_OPT_TEXTS("sbatch", lines, "OPTION",
                 "another option of sbatch, as in --sbatch=--constraint=a100; may be repeated"),
};

// A sweep as this command sees it.
typedef struct context {
    wk_cli *cli;
    const sweep_values *v;
    wk_sweep_start *start;
    wk_slurm_options slurm;
    bool slurm_given;
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

// The options of the commands that follow a run.

// Options that a grid may not give: it comes from anywhere.
static wk_status check_option(const char *option, wk_error *err)
{
    static const char NO_WORK[] = "the command would end without its work, and count as done",
                      NO_CODE[] =
                          "a grid cannot load code; name it with 'waker sweep --plugin FILE'";
    static const struct {
        const char *option, *why;
    } refused[] = {
        {"--help", NO_WORK},
        {"-h", NO_WORK},
        {"--version", NO_WORK},
        {"--", NO_WORK},
        {"--out", "results of a sweep stay in its runs, where 'waker sweep status' reads them"},
        {"--plugin", NO_CODE},
        {"--python", NO_CODE},
        {"--reward", "a grid cannot load code"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        size_t length = strlen(refused[i].option);
        if (strncmp(option, refused[i].option, length) == 0 && strchr("=", option[length]))
            return wk_fail(err, WK_E_INPUT, "%s: %s", refused[i].option, refused[i].why);
    }
    return WK_OK;
}

// Reads the options as the command itself will.
static wk_status check_command(const wk_sweep_grid *grid, const char *name,
                               const wk_sweep_command *given, wk_error *err)
{
    wk_cli scratch = {0};
    char *words[WK_SWEEP_WORDS_MAX];
    int taken;
    const wk_command *command = wk_command_find(&name, 1, &taken);
    void *values;
    if (!given->present) return WK_OK;
    WK_TRY(wk_command_values(command, &values, err));
    for (int i = 0; i < given->count; i++)
        words[i] = (char *)given->options[i];
    const wk_arg_table tables[] = {{command->args, command->n_args, values},
                                   {wk_program_spec.args, wk_program_spec.n_args, &scratch}};
    wk_status status = wk_args_parse(tables, 2, given->count, words, &scratch.words, &taken, err);
    free(values);
    if (status == WK_OK && scratch.words.count > 0)
        status = wk_fail(err, WK_E_INPUT, "'%s' is not an option of 'waker %s'",
                         scratch.words.items[0], name);
    for (int i = 0; status == WK_OK && i < given->count; i++)
        status = check_option(given->options[i], err);
    if (status == WK_OK || !err) return status;
    return wk_fail_context(err, "%s:%d: %s", grid->name, given->line, name);
}

static wk_status check_commands(const wk_sweep_grid *grid, wk_error *err)
{
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        WK_TRY(check_command(grid, wk_sweep_follow_names[i], &grid->follow[i], err));
    return check_command(grid, "report", &grid->report, err);
}

// The value of an option, written --NAME VALUE or --NAME=VALUE, the last one; NULL: not given.
static const char *value_of(const wk_sweep_command *given, const char *option)
{
    const char *value = NULL;
    size_t length = strlen(option);
    for (int i = 0; i < given->count; i++) {
        const char *word = given->options[i];
        if (strncmp(word, option, length) != 0) continue;
        if (word[length] == '=')
            value = word + length + 1;
        else if (!word[length] && i + 1 < given->count)
            value = given->options[++i];
    }
    return value;
}

// The names of tasks, cases, sets and policies that a command is given.
static wk_status check_names(wk_sweep_follow_kind kind, const wk_sweep_command *given,
                             const wk_run_config *config, const wk_domain *domain, wk_error *err)
{
    const char *task = value_of(given, "--task"), *cases = value_of(given, "--cases"),
               *set = value_of(given, "--set"), *policy = value_of(given, "--policy");
    int tasks[WK_TASKS_MAX], count;
    if (kind == WK_SWEEP_ADAPT && !task)
        return wk_fail(err, WK_E_INPUT, "which task? add --task NAME or --task all");
    if (task) {
        wk_run_config asked = *config;
        WK_TRY(wk_run_config_set(&asked, WK_RUN_tasks_INDEX, task, err));
        WK_TRY(wk_run_config_tasks(&asked, domain, tasks, &count, err));
        if (count == 0) return wk_fail(err, WK_E_INPUT, "--task none: nothing is asked for");
    }
    if (cases) {
        wk_eval_case found[WK_EVAL_CASES_MAX];
        wk_run_thetas thetas;
        WK_TRY(wk_run_config_thetas(config, domain, &thetas, err));
        WK_TRY(wk_eval_cases(domain, wk_run_thetas_case(&thetas), cases, 1, found, &count, err));
    }
    if (set) {
        wk_theta_set found = {0};
        wk_status status = wk_theta_set_open(set, domain, &found, err);
        wk_theta_set_free(&found);
        WK_TRY(status);
    }
    if (kind != WK_SWEEP_MODEL_ERROR || !policy) return WK_OK;
    for (size_t length; *policy; policy += length + (policy[length] == ',')) {
        char name[64];
        length = strcspn(policy, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, policy);
        if (strcmp(name, "all") != 0 && strcmp(name, WK_POLICY_RANDOM) != 0)
            WK_TRY(wk_domain_task(domain, name, tasks, err));
    }
    return WK_OK;
}

wk_status wk_cli_sweep_check_follow(const wk_sweep_plan *plan, wk_error *err)
{
    const wk_sweep_grid *grid = plan->grid;
    for (size_t i = 0; i < plan->shapes.count; i++) {
        // Runs of one shape have one domain. That of a plug-in is not known: planning loads no
        // code.
        const wk_sweep_shape *shape = &plan->shapes.items[i];
        wk_run_world world;
        if (*shape->config.plugin) continue;
        WK_TRY(wk_run_world_open(&shape->config, NULL, NULL, &world, err));
        for (int k = 0; k < WK_SWEEP_FOLLOWS; k++) {
            const wk_sweep_command *given = &grid->follow[k];
            if (!given->present) continue;
            wk_status status =
                check_names((wk_sweep_follow_kind)k, given, &shape->config, world.domain, err);
            if (status != WK_OK)
                return err ? wk_fail_context(err, "%s:%d: %s of run %s", grid->name, given->line,
                                             wk_sweep_follow_names[k],
                                             plan->tasks.items[shape->first].name)
                           : status;
        }
    }
    return WK_OK;
}

// Opening.

wk_status wk_cli_sweep_open(const char *directory, wk_cli_sweep *out, wk_error *err)
{
    WK_TRY(wk_sweep_folder_grid(directory, &out->grid, err));
    WK_TRY(check_commands(&out->grid, err));
    return wk_sweep_plan_create(&out->grid, directory, &out->plan, err);
}

// The grid that is in the directory is the sweep. Another takes its place if it has all of its
// runs, unchanged.
static wk_status check_replaced(const wk_cli *cli, const wk_sweep_plan *plan, wk_error *err)
{
    const wk_log log = wk_cli_log(cli);
    wk_cli_sweep there = {0};
    int resized = 0;
    wk_status status = wk_cli_sweep_open(plan->directory, &there, err);
    if (status == WK_OK) status = wk_sweep_plan_contains(plan, &there.plan, &resized, err);
    if (status != WK_OK && err)
        wk_fail_context(err,
                        "'%s' holds another sweep, which 'waker sweep --logdir %s' resumes; choose "
                        "another logdir",
                        plan->directory, plan->directory);
    if (status == WK_OK && resized > 0)
        wk_log_line(&log, WK_LOG_WARN, "%s: %d run%s of the sweep %s another number of steps now",
                    plan->grid->name, resized, wk_plural((uint64_t)resized),
                    resized == 1 ? "has" : "have");
    wk_cli_sweep_close(&there);
    return status;
}

// Options of another launcher would do nothing: what is meant for a cluster must not begin here.
static wk_status choose_launcher(context *c, wk_error *err)
{
    static const char *const names[] = {"local", "slurm", "print"};
    static wk_sweep_start *const starts[] = {wk_sweep_local_start, wk_sweep_slurm_start,
                                             wk_sweep_print_start};
    const wk_sweep_launch_options *o = &c->v->options;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(c->v->launch, names[i]) == 0) c->start = starts[i];
    wk_slurm_options *s = &c->slurm;
    *s = c->v->slurm;
    for (int i = 0; i < c->v->lines.count; i++)
        s->lines[s->n_lines++] = c->v->lines.items[i];
    c->slurm_given = s->partition || s->time || s->account || s->mail || s->memory ||
                     s->gpus >= 0 || s->cpus || s->parallel || s->restarts || s->signal ||
                     s->n_lines > 0;
    if (s->gpus < 0) s->gpus = 1;
    if (c->start != wk_sweep_slurm_start && c->slurm_given)
        return wk_fail(err, WK_E_INPUT,
                       "--partition, --time and the other job options need --launch slurm");
    if (c->start != wk_sweep_local_start && (o->jobs || o->per_gpu || o->populations))
        return wk_fail(err, WK_E_INPUT, "--jobs, --per-gpu and --populations need --launch local");
    return WK_OK;
}

static wk_status open_sweep(context *c, wk_error *err)
{
    const char *directory = c->v->directory;
    bool there = false; // another grid
    WK_TRY(choose_launcher(c, err));
    if (c->cli->words.count == 0) {
        WK_TRY(wk_cli_sweep_open(directory, &c->sweep, err));
    } else {
        WK_TRY(wk_sweep_grid_open(c->cli->words.items[0], &c->sweep.grid, err));
        WK_TRY(check_commands(&c->sweep.grid, err));
        WK_TRY(wk_sweep_plan_create(&c->sweep.grid, directory, &c->sweep.plan, err));
        WK_TRY(wk_sweep_folder_exists(directory, &there, err));
    }
    WK_TRY(wk_cli_sweep_check_follow(&c->sweep.plan, err));
    if (there) WK_TRY(check_replaced(c->cli, &c->sweep.plan, err));
    c->sweep.plan.plugin = c->v->plugin;
    c->sweep.plan.rule = c->v->rule;
    return wk_sweep_plan_select(&c->sweep.plan, c->v->only.items, c->v->only.count, err);
}

// The cost.

static int runs_left(const context *c, size_t shape)
{
    const wk_sweep_rate none = {0};
    return wk_sweep_cost_of(&c->sweep.plan, c->queue.entries, (int)shape, &none).left;
}

// The rate of a shape: as given, that of an earlier shape with the same learner, or measured with
// the learner of the shape. That of a plug-in's domain is not known: planning loads no code.
static wk_status find_rate(const context *c, wk_sweep_rate *rates, size_t shape, bool measure,
                           wk_error *err)
{
    const wk_sweep_plan *plan = &c->sweep.plan;
    const wk_run_config *config = &plan->shapes.items[shape].config;
    const wk_log log = wk_cli_log(c->cli);
    wk_update_time time = {0};
    rates[shape] = (wk_sweep_rate){.seconds = c->v->rate > 0 ? 1 / c->v->rate : NAN};
    if (c->v->rate > 0 || !measure || runs_left(c, shape) == 0) return WK_OK;
    for (size_t i = 0; i < shape && isnan(rates[shape].seconds); i++)
        if (wk_sweep_same_rate(&plan->shapes.items[i].config, config)) rates[shape] = rates[i];
    if (!isnan(rates[shape].seconds) || *config->plugin) return WK_OK;
    wk_log_line(&log, WK_LOG_INFO, "measuring an update of %s ...", plan->shapes.items[shape].name);
    WK_TRY(wk_update_time_measure(config, NULL, &time, err));
    rates[shape] = (wk_sweep_rate){time.seconds, time.learner_bytes};
    return WK_OK;
}

static void put_cost(wk_table *table, const char *name, const wk_sweep_cost *cost)
{
    char updates[WK_COUNT_TEXT_MAX];
    const double hours[] = {cost->left > 0 ? cost->hours / cost->left : 0, cost->hours};
    wk_count_text((int64_t)cost->updates, updates);
    wk_table_cell(table, "%s", name);
    wk_table_cell(table, "%d", cost->runs);
    wk_table_cell(table, "%d", cost->left);
    wk_table_cell(table, "%s", updates);
    for (int i = 0; i < 2; i++)
        wk_table_cell(table, isnan(hours[i]) ? "-" : hours[i] < 10 ? "%.2f" : "%.0f", hours[i]);
    wk_table_cell(table, "%.2f", cost->memory / (1 << 30));
}

// A table of the shapes, and what it leaves out.
static void print_costs(context *c, const wk_sweep_rate *rates, wk_text *out)
{
    const wk_sweep_plan *plan = &c->sweep.plan;
    const char *between = "training only; not included: ";
    wk_table table;
    wk_device device;
    bool gpu = wk_device_choose("auto", "auto", &device, NULL) == WK_OK && device.number >= 0;
    bool measured = false;
    int rows = 0;
    wk_table_begin(&table, "lrrrrrr", "shape", "runs", "left", "updates left", "hours each",
                   gpu ? "GPU hours" : "CPU hours", "GiB memory");
    for (size_t i = 0; i < plan->shapes.count; i++) {
        measured |= rates[i].learner_bytes > 0;
        if (plan->shapes.items[i].count == 0) continue;
        wk_sweep_cost cost = wk_sweep_cost_of(plan, c->queue.entries, (int)i, &rates[i]);
        put_cost(&table, plan->shapes.items[i].name, &cost);
        wk_sweep_cost_add(&c->cost, &cost);
        rows++;
    }
    if (rows > 1) put_cost(&table, "all", &c->cost);
    wk_table_finish(&table, 0, out);
    for (int i = 0; i <= WK_SWEEP_FOLLOWS; i++) {
        bool last = i == WK_SWEEP_FOLLOWS;
        if (!(last ? plan->grid->report.present : plan->grid->follow[i].present)) continue;
        wk_text_printf(out, "%s%s", between, last ? "the report" : wk_sweep_follow_names[i]);
        between = ", ";
    }
    if (*between == ',') wk_text_puts(out, "\n");
    if (!measured && c->cost.left > 0)
        wk_text_puts(out, "memory is that of the replay buffer: the weights were not measured\n");
}

// "grid.yaml: 2 of 8 runs in 1 shape, 1 population of up to 2 runs".
static void print_selection(const context *c, wk_text *out)
{
    const wk_sweep_plan *plan = &c->sweep.plan;
    int shapes = 0, populations = 0, size = c->v->options.populations;
    for (size_t i = 0; i < plan->shapes.count; i++) {
        if (size > 0) populations += (runs_left(c, i) + size - 1) / size;
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
    size_t shapes = c->sweep.plan.shapes.count;
    bool measure = c->start != wk_sweep_print_start && !c->cli->quiet;
    wk_text text = {0};
    wk_sweep_rate *rates = calloc(shapes, sizeof *rates);
    wk_status status = rates ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the cost");
    print_selection(c, &text);
    for (size_t i = 0; status == WK_OK && i < shapes; i++)
        status = find_rate(c, rates, i, measure, err);
    if (status == WK_OK) print_costs(c, rates, &text);
    if (status == WK_OK && text.failed)
        status = wk_fail(err, WK_E_MEMORY, "no memory for the cost");
    if (status == WK_OK && !c->cli->quiet) fputs(wk_text_get(&text), stderr);
    wk_text_free(&text);
    free(rates);
    return status;
}

// Launching.

static wk_status write_manifest(context *c, wk_error *err)
{
    return wk_sweep_manifest_write(&c->sweep.plan, c->v->options.attempts, err);
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
    wk_text output = {0};
    wk_sweep_launch_options options = c->v->options;
    options.threads = c->cli->threads;
    options.quiet = c->cli->quiet;
    options.slurm = c->slurm_given ? &c->slurm : NULL;
    WK_TRY(wk_sweep_program(program, err));
    wk_cli_run_begin(c->cli, WK_LOCK_WAIT_SECONDS, false, &around);
    const wk_sweep_launch launch = {.folder = &c->folder,
                                    .program = program,
                                    .plan = &c->sweep.plan,
                                    .options = &options,
                                    .stop = around.control.stop,
                                    .log = around.control.log,
                                    .output = &output,
                                    .memory = c->cost.memory};
    wk_status status = c->start(&launch, &end, err);
    status = wk_cli_print_if(status, &output, err);
    if (status == WK_OK) status = write_manifest(c, err);
    return status == WK_OK ? say_end(c, end, err) : status;
}

static wk_status sweep(context *c, wk_error *err)
{
    WK_TRY(open_sweep(c, err));
    WK_TRY(wk_sweep_queue_open(&c->sweep.plan, c->v->options.attempts, &c->queue, err));
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
    .words = {0, 1},
    .resumes = true,
    .run = run,
};
