// waker sweep add, retry and cancel: changes to a sweep that is there.
#include "cli/sweep.h"

#include <stdlib.h>
#include <string.h>

typedef wk_status change(wk_cli *cli, const char *directory, wk_cli_sweep *sweep, wk_error *err);

static wk_status with_sweep(wk_cli *cli, change *make, wk_error *err)
{
    wk_cli_sweep sweep = {0};
    wk_status status = wk_cli_sweep_open(cli->words.items[0], &sweep, err);
    if (status == WK_OK) status = make(cli, cli->words.items[0], &sweep, err);
    wk_cli_sweep_close(&sweep);
    return status;
}

static wk_status add(wk_cli *cli, const char *directory, wk_cli_sweep *sweep, wk_error *err)
{
    wk_sweep_folder folder = {0};
    wk_text text = {0};
    size_t before = sweep->plan.tasks.count;
    wk_status status = WK_OK;
    for (int i = 1; status == WK_OK && i < cli->words.count; i++)
        status = wk_sweep_grid_add(&sweep->grid, cli->words.items[i], err);
    WK_TRY(status);
    wk_sweep_plan_free(&sweep->plan);
    WK_TRY(wk_sweep_plan_create(&sweep->grid, &sweep->plan, err));
    WK_TRY(wk_cli_sweep_check_follow(&sweep->plan, err));
    status = wk_sweep_folder_open(directory, &folder, err);
    if (status == WK_OK) status = wk_sweep_folder_write(&folder, &sweep->grid, err);
    wk_sweep_folder_close(&folder);
    WK_TRY(status);
    wk_text_printf(
        &text, "%zu run%s added, %zu in total; 'waker sweep --logdir %s' runs what is not done\n",
        sweep->plan.tasks.count - before, wk_plural(sweep->plan.tasks.count - before),
        sweep->plan.tasks.count, directory);
    return wk_cli_print(&text, err);
}

static wk_status run_add(wk_cli *cli, const void *values, wk_error *err)
{
    (void)values;
    return with_sweep(cli, add, err);
}

static bool is_named(const wk_cli *cli, const char *name)
{
    for (int i = 1; i < cli->words.count; i++)
        if (strcmp(cli->words.items[i], name) == 0) return true;
    return cli->words.count == 1;
}

static wk_status check_names(const wk_cli *cli, const wk_sweep_plan *plan, wk_error *err)
{
    for (int i = 1; i < cli->words.count; i++)
        if (wk_sweep_plan_find(plan, cli->words.items[i]) < 0)
            return wk_fail(err, WK_E_NOT_FOUND, "the sweep has no run '%.80s'",
                           cli->words.items[i]);
    return WK_OK;
}

// The attempts of runs that nobody works on are forgotten.
static wk_status retry(wk_cli *cli, const char *directory, wk_cli_sweep *sweep, wk_error *err)
{
    int count = 0;
    wk_text text = {0};
    WK_TRY(check_names(cli, &sweep->plan, err));
    for (size_t i = 0; i < sweep->plan.tasks.count; i++) {
        wk_sweep_state state;
        if (!is_named(cli, sweep->plan.tasks.items[i].name)) continue;
        WK_TRY(wk_sweep_state_read(&sweep->plan, directory, (int)i, 0, &state, err));
        if (state.phase == WK_SWEEP_RUNNING || state.attempt.count == 0) continue;
        WK_TRY(wk_sweep_attempt_forget(&sweep->plan, directory, (int)i, err));
        count++;
    }
    wk_text_printf(&text, "%d run%s can be tried again: 'waker sweep --logdir %s'\n", count,
                   wk_plural((uint64_t)count), directory);
    return wk_cli_print(&text, err);
}

static wk_status run_retry(wk_cli *cli, const void *values, wk_error *err)
{
    (void)values;
    return with_sweep(cli, retry, err);
}

// Whether a launcher is at work here, or a queue has runs of the sweep. What cannot be asked may
// be.
static bool is_busy(const char *directory, const wk_sweep_plan *plan)
{
    wk_sweep_holder holder;
    if (wk_sweep_folder_holder(directory, &holder, NULL) != WK_OK || holder.pid != 0) return true;
    bool busy = false, *queued = calloc(plan->tasks.count + 1, sizeof *queued);
    for (int i = 0; queued && wk_cli_launchers[i]; i++)
        if (wk_cli_launchers[i]->queued &&
            wk_cli_launchers[i]->queued(directory, plan, queued, NULL) != WK_OK)
            busy = true;
    for (size_t i = 0; queued && i < plan->tasks.count; i++)
        busy |= queued[i];
    bool unknown = !queued;
    free(queued);
    return busy || unknown;
}

static wk_status cancel(wk_cli *cli, const char *directory, wk_cli_sweep *sweep, wk_error *err)
{
    const wk_sweep_launch_options options = {.quiet = cli->quiet};
    const wk_sweep_launch launch = {
        .directory = directory, .plan = &sweep->plan, .options = &options, .log = wk_cli_log(cli)};
    bool busy = is_busy(directory, &sweep->plan);
    for (int i = 0; wk_cli_launchers[i]; i++)
        if (wk_cli_launchers[i]->cancel) WK_TRY(wk_cli_launchers[i]->cancel(&launch, err));
    if (!busy)
        wk_log_line(&launch.log, WK_LOG_INFO, "nothing to cancel: no sweep is at work on '%s'",
                    directory);
    return WK_OK;
}

static wk_status run_cancel(wk_cli *cli, const void *values, wk_error *err)
{
    (void)values;
    return with_sweep(cli, cancel, err);
}

const wk_command wk_command_sweep_add = {
    .name = "sweep add",
    .summary = "Add seeds or other axis values to a sweep",
    .usage = "sweep add DIR AXIS=VALUES...",
    .details =
        "Adds values to axes that are lists or ranges in the sweep's grid. Existing runs keep\n"
        "their names and are not changed.\n",
    .examples = "sweep add runs/paper seed=5..9\n"
                "sweep add runs/paper curriculum=ge,rw-oracle",
    .min_words = 2,
    .max_words = 1 + WK_SWEEP_AXES_MAX,
    .run = run_add,
};

const wk_command wk_command_sweep_retry = {
    .name = "sweep retry",
    .summary = "Retry the failed runs of a sweep",
    .usage = "sweep retry DIR [NAME...]",
    .details =
        "Clears the failed attempts of the named runs, or of all runs. They resume from their\n"
        "last checkpoint: at once if the sweep is running, else when it is started again.\n",
    .examples = "sweep retry runs/paper\n"
                "sweep retry runs/paper clean-up-waker-m-seed3",
    .min_words = 1,
    .max_words = WK_ARG_WORDS_MAX,
    .run = run_retry,
};

const wk_command wk_command_sweep_cancel = {
    .name = "sweep cancel",
    .summary = "Stop a sweep: every run saves, and the sweep can be resumed later",
    .usage = "sweep cancel DIR",
    .details = "Asks all processes or jobs of the sweep to save and stop, as an interrupt would.\n",
    .examples = "sweep cancel runs/paper",
    .min_words = 1,
    .max_words = 1,
    .run = run_cancel,
};
