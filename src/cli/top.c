// waker top: how far all runs of a directory are, read from their directories alone.
#include "base/machine.h"
#include "base/pool.h"
#include "cli/cli.h"
#include "log/run_table.h"
#include "run/disk.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct top_values {
    bool once;
    double every;
} top_values;

static const top_values defaults = {.every = 2};

#define WK_VALUES top_values
static const wk_arg args[] = {
    WK_OPT_FLAG("once", once, "print one table and exit, as when the output is not a terminal"),
    WK_OPT_NUMBER("every", every, "SECONDS", "time between updates (default: 2)", 0.1, 86400),
};

// A run, over several looks.
typedef struct watched {
    char *path;
    const char *name; // its path below the directory
    bool unreadable;
    wk_run_progress now;
    wk_run_moment since; // what the rate is measured from
} watched;

typedef struct view {
    const char *directory;
    wk_pool *pool;
    WK_ARRAY(watched) runs;
    WK_ARRAY(wk_run_row) rows;
} view;

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    stop = number;
}

// Runs that are not there any more stay, as unreadable; so their order is kept.
static wk_status find_runs(view *v, wk_error *err)
{
    wk_names names = {0};
    size_t length = strlen(v->directory);
    wk_status status = wk_run_list(v->directory, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        char *path = names.items[i];
        size_t known = 0;
        while (known < v->runs.count && strcmp(v->runs.items[known].path, path) != 0)
            known++;
        if (known < v->runs.count) continue;
        const char *name = path[length] ? path + length + 1 : path;
        if (!wk_array_push(&v->runs, (watched){.path = path, .name = name}))
            status = wk_fail(err, WK_E_MEMORY, "no memory for the runs");
        else
            names.items[i] = NULL;
    }
    wk_names_free(&names);
    if (status == WK_OK && v->runs.count == 0)
        status =
            wk_fail(err, WK_E_NOT_FOUND,
                    "'%s' holds no run: there is no config.yaml in it or below it", v->directory);
    return status;
}

static void look(void *context, size_t item, int thread)
{
    enum { WINDOW = 600 }; // seconds that a rate reaches back
    view *v = context;
    watched *w = &v->runs.items[item];
    (void)thread;
    const wk_run_moment never = {0, 0}, before = w->unreadable ? never : w->now.now;
    w->unreadable = wk_run_progress_read(w->path, &w->now, NULL) != WK_OK;
    // A run that was continued from an older checkpoint begins anew.
    if (w->since.time > 0 && w->now.now.steps < w->since.steps) w->since = never;
    if (!(w->since.time > 0) || w->now.now.time - w->since.time > WINDOW) w->since = before;
}

static wk_run_row row_of(const watched *w)
{
    static const char *const phases[] = {"stopped", "running", "done"};
    wk_run_row row = wk_run_row_empty(w->name, w->unreadable ? "unreadable" : phases[w->now.phase]);
    if (w->unreadable) return row;
    const wk_run_progress *p = &w->now;
    row.values.steps = (int64_t)p->now.steps;
    row.values.total = (int64_t)p->total;
    row.values.model_loss = p->model_loss;
    row.values.mean_error = p->mean_error;
    if (p->phase != WK_RUN_PHASE_RUNNING) return row;
    // From what was seen to happen; at first from the files.
    double rate = wk_run_rate(p, &w->since, &p->now);
    if (isnan(rate)) rate = wk_run_rate_by_files(p);
    row.values.updates_per_second = rate / p->train_every;
    if (p->total > p->now.steps) row.values.seconds_left = wk_run_seconds_left(p, rate);
    return row;
}

// Runs that are going on first, finished ones last.
static int place_of(const watched *w)
{
    static const int places[] = {
        [WK_RUN_PHASE_RUNNING] = 0, [WK_RUN_PHASE_STOPPED] = 2, [WK_RUN_PHASE_DONE] = 3};
    return w->unreadable ? 1 : places[w->now.phase];
}

static wk_status refresh(view *v, wk_error *err)
{
    WK_TRY(find_runs(v, err));
    wk_pool_run(v->pool, v->runs.count, look, v);
    v->rows.count = 0;
    if (!wk_array_reserve(&v->rows, v->runs.count))
        return wk_fail(err, WK_E_MEMORY, "no memory for the table");
    for (int place = 0; place < 4; place++)
        for (size_t i = 0; i < v->runs.count; i++)
            if (place_of(&v->runs.items[i]) == place)
                v->rows.items[v->rows.count++] = row_of(&v->runs.items[i]);
    return WK_OK;
}

static wk_status watch(view *v, double every, wk_error *err)
{
    wk_run_table table = {0};
    wk_status status = WK_OK;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    wk_run_table_start(&table, STDOUT_FILENO, every);
    while (status == WK_OK && !stop) {
        status = refresh(v, err);
        if (status == WK_OK)
            wk_run_table_update(&table, v->rows.items, (int)v->rows.count, wk_clock_seconds());
        double whole = floor(every);
        nanosleep(&(struct timespec){(time_t)whole, (long)((every - whole) * 1e9)}, NULL);
    }
    wk_run_table_finish(&table, v->rows.items, (int)v->rows.count);
    return status;
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const top_values *given = values;
    char path[WK_PATH_MAX];
    view v = {.directory = path};
    snprintf(path, sizeof path, "%s", cli->words.items[0]);
    for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
        path[end - 1] = 0;
    wk_status status = wk_pool_create(cli->threads, &v.pool, err);
    bool live = !given->once && isatty(STDOUT_FILENO);
    if (status == WK_OK) status = live ? watch(&v, given->every, err) : refresh(&v, err);
    if (status == WK_OK && !live) {
        wk_text text = {0};
        wk_run_table_text(v.rows.items, (int)v.rows.count, 0, 0, &text);
        wk_text_puts(&text, "\n");
        status = wk_cli_print(&text, err);
    }
    for (size_t i = 0; i < v.runs.count; i++)
        free(v.runs.items[i].path);
    wk_array_free(&v.runs);
    wk_array_free(&v.rows);
    wk_pool_destroy(v.pool);
    return status;
}

const wk_command wk_command_top = {
    .name = "top",
    .summary = "Watch all runs in a directory",
    .usage = "top DIR [--once] [--every SECONDS]",
    .details =
        "Shows a table of all runs in DIR and below it: progress, speed and time left. Only the\n"
        "directories of the runs are read, so it includes runs of other processes and, on a\n"
        "shared file system, of other machines. 'stopped' is a run that no process is training.\n"
        "An interrupt ends it.\n",
    .examples = "top runs\n"
                "top runs/paper --once",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run,
};
