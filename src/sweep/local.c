// --launch local: processes on this machine, as many as it takes, until all is done.
#include "sweep/sweep.h"

#include "base/file.h"
#include "base/machine.h"
#include "base/pool.h"
#include "log/run_table.h"
#include "tensor/cuda/cuda.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLAIN_SECONDS = 60, GPUS_MAX = 64, GPU_NAME_MAX = 80 };

// One process that may run: its place on a GPU, and its tasks while it does.
typedef struct slot {
    pid_t pid; // 0: none
    int gpu;   // -1: none
    int tasks[WK_POPULATION_MAX], count;
} slot;

typedef struct launcher {
    const wk_sweep_launch *launch;
    wk_sweep_queue queue;
    slot *slots;
    int n_slots, threads, population;
    char gpus[GPUS_MAX][GPU_NAME_MAX]; // as CUDA_VISIBLE_DEVICES names them
    int n_gpus;
    bool stopping; // the processes were asked to stop
    wk_run_table table;
    wk_log log; // above the table
    double began, stopping_since;
    uint64_t steps_at_start;
} launcher;

// The GPUs of this process, by the names that its own CUDA_VISIBLE_DEVICES has for them.
static int find_gpus(char names[GPUS_MAX][GPU_NAME_MAX])
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int count = wk_cuda_device_count();
    if (count > GPUS_MAX) count = GPUS_MAX;
    for (int i = 0; i < count; i++) {
        size_t length = visible ? strcspn(visible, ",") : 0;
        if (length > 0)
            snprintf(names[i], GPU_NAME_MAX, "%.*s", (int)length, visible);
        else
            snprintf(names[i], GPU_NAME_MAX, "%d", i);
        if (visible) visible += length + (visible[length] == ',');
    }
    return count;
}

// Chooses how many processes there are and what each has.
static wk_status set_up(launcher *l, wk_error *err)
{
    const wk_sweep_launch *launch = l->launch;
    const wk_sweep_launch_options *o = launch->options;
    l->population = o->populations > 0 ? o->populations : 1;
    // GPUs are assigned where no run names one: that it has, whichever others are free.
    bool assigned = true;
    for (size_t i = 0; i < launch->plan->shapes.count; i++) {
        const char *device = launch->plan->shapes.items[i].config.device;
        assigned &= strcmp(device, "auto") == 0 || strcmp(device, "cuda") == 0;
    }
    if (assigned) l->n_gpus = find_gpus(l->gpus);
    // As many as asked for, else one for each place on a GPU or each core, as far as memory goes.
    int jobs = o->jobs;
    if (jobs == 0 && l->n_gpus > 0)
        jobs = l->n_gpus * (o->per_gpu > 0 ? o->per_gpu : 1);
    else if (jobs == 0)
        jobs = wk_cpu_count();
    if (o->jobs == 0 && launch->memory > 0) {
        double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
        double memory = fmin((double)wk_limits_now().memory, physical);
        double fit = floor(memory / (launch->memory * l->population));
        if (fit < jobs) jobs = (int)fit;
    }
    int groups = ((int)launch->plan->selected + l->population - 1) / l->population;
    if (groups < jobs) jobs = groups;
    l->n_slots = jobs > 1 ? jobs : 1;
    l->threads = o->threads > 0 ? o->threads : wk_cpu_count() / l->n_slots;
    if (l->threads < 1) l->threads = 1;
    l->slots = calloc((size_t)l->n_slots, sizeof *l->slots);
    if (!l->slots) return wk_fail(err, WK_E_MEMORY, "no memory for the processes");
    for (int i = 0; i < l->n_slots; i++)
        l->slots[i].gpu = l->n_gpus > 0 ? i % l->n_gpus : -1;
    return wk_sweep_queue_open(launch->plan, o->attempts, &l->queue, err);
}

static const char *name_of(const launcher *l, int task)
{
    return l->launch->plan->tasks.items[task].name;
}

// Starts the tasks of a slot. The log of a process is that of its first task.
static wk_status start_slot(launcher *l, slot *s, wk_error *err)
{
    char log[WK_PATH_MAX], threads[16];
    wk_sweep_words words = {0};
    WK_TRY(wk_sweep_task_log(l->launch->plan, s->tasks[0], log, err));
    wk_sweep_task_words(l->launch->plan, s->tasks, s->count, &words);
    snprintf(threads, sizeof threads, "%d", l->threads);
    wk_sweep_words_add(&words, "--threads");
    wk_sweep_words_add(&words, threads);
    const wk_sweep_process process = {.program = l->launch->program,
                                      .words = &words,
                                      .log = log,
                                      .gpus = s->gpu >= 0 ? l->gpus[s->gpu] : NULL};
    wk_status status = wk_sweep_process_start(&process, &s->pid, err);
    wk_sweep_words_free(&words);
    return status;
}

static wk_status fill_slots(launcher *l, wk_error *err)
{
    for (int i = 0; i < l->n_slots && !l->stopping; i++) {
        slot *s = &l->slots[i];
        if (s->pid != 0) continue;
        s->count = wk_sweep_queue_next(&l->queue, l->population, s->tasks);
        if (s->count == 0) return WK_OK;
        WK_TRY(start_slot(l, s, err));
        for (int k = 0; k < s->count; k++)
            wk_log_line(&l->log, WK_LOG_INFO, "started %s", name_of(l, s->tasks[k]));
    }
    return WK_OK;
}

static void say_how_it_ended(const launcher *l, int task, int code)
{
    const wk_sweep_state *state = &l->queue.entries[task].state;
    const wk_log *log = &l->log;
    const char *name = name_of(l, task);
    const char *error = *state->attempt.error ? state->attempt.error : "its log says why";
    wk_sweep_counts counts = wk_sweep_count(l->launch->plan, l->queue.entries);
    if (state->phase == WK_SWEEP_DONE)
        wk_log_line(log, WK_LOG_INFO, "done %s (%d of %zu)", name, counts.phases[WK_SWEEP_DONE],
                    l->launch->plan->selected);
    else if (state->phase == WK_SWEEP_FAILED)
        wk_log_line(log, WK_LOG_WARN, "failed %s: %s", name, error);
    else if (state->attempt.count > 0)
        wk_log_line(log, WK_LOG_WARN, "%s: %s; trying again (%d of %d)", name, error,
                    state->attempt.count, l->queue.attempts);
    else if (code == 0 || code == WK_SWEEP_EXIT_SAVED)
        wk_log_line(log, WK_LOG_INFO, "saved %s", name);
    else // before it could note an attempt, as on a full disk
        wk_log_line(log, WK_LOG_WARN, "%s ended with exit code %d; its log says why", name, code);
}

// Takes the processes that have ended out of their slots.
static wk_status reap(launcher *l, wk_error *err)
{
    for (int i = 0; i < l->n_slots; i++) {
        int status;
        char line[WK_SWEEP_LINE_MAX];
        slot *s = &l->slots[i];
        if (s->pid == 0 || waitpid(s->pid, &status, WNOHANG) != s->pid) continue;
        s->pid = 0;
        int code = wk_sweep_exit_code(status, line);
        for (int k = 0; k < s->count; k++) {
            if (WIFSIGNALED(status)) // it could not say so itself
                WK_TRY(wk_sweep_attempt_close(l->launch->plan, s->tasks[k], code, line, err));
            WK_TRY(wk_sweep_queue_ended(&l->queue, s->tasks[k], err));
            say_how_it_ended(l, s->tasks[k], code);
        }
    }
    return WK_OK;
}

static int running(const launcher *l)
{
    int count = 0;
    for (int i = 0; i < l->n_slots; i++)
        count += l->slots[i].pid != 0;
    return count;
}

static void signal_all(const launcher *l)
{
    for (int i = 0; i < l->n_slots; i++)
        if (l->slots[i].pid != 0) kill(l->slots[i].pid, SIGTERM);
}

// Now and then again: a process that was just being started may have missed it.
static void ask_to_stop(launcher *l)
{
    const double again = 10, now = wk_clock_seconds();
    if (!l->launch->stop || !*l->launch->stop || (l->stopping && now - l->stopping_since < again))
        return;
    if (!l->stopping)
        wk_log_line(&l->log, WK_LOG_INFO,
                    "stopping: %d process%s saving; interrupt again to quit without "
                    "waiting",
                    running(l), running(l) == 1 ? " is" : "es are");
    l->stopping = true;
    l->stopping_since = now;
    signal_all(l);
}

// Shows the runs that are being worked on, read anew, and totals.
static void show(launcher *l)
{
    const wk_sweep_plan *plan = l->launch->plan;
    wk_run_row rows[WK_POPULATION_MAX];
    int count = 0;
    wk_text totals = {0};
    wk_status_line *line = &l->table.line;
    double now = wk_clock_seconds();
    if (l->launch->options->quiet || !wk_status_line_is_due(line, now)) return;
    line->last = now;
    for (int i = 0; i < l->n_slots; i++) {
        const slot *s = &l->slots[i];
        for (int k = 0; s->pid != 0 && k < s->count && count < WK_POPULATION_MAX; k++) {
            wk_sweep_state *state = &l->queue.entries[s->tasks[k]].state;
            if (wk_sweep_state_read(plan, s->tasks[k], l->queue.attempts, state, NULL) != WK_OK)
                continue;
            wk_run_row *row = &rows[count++];
            *row = wk_run_row_empty(name_of(l, s->tasks[k]),
                                    state->trained ? "follow-ups" : "training");
            row->values.steps = (int64_t)state->steps;
            row->values.total = (int64_t)plan->tasks.items[s->tasks[k]].steps;
            row->values.seconds_left = state->seconds_left;
        }
    }
    wk_sweep_counts c = wk_sweep_count(plan, l->queue.entries);
    double steps = (double)c.steps - (double)l->steps_at_start;
    wk_text_printf(&totals, "%d of %zu run%s done, %d running, %d failed", c.phases[WK_SWEEP_DONE],
                   plan->selected, wk_plural(plan->selected), c.phases[WK_SWEEP_RUNNING],
                   c.phases[WK_SWEEP_FAILED]);
    if (c.steps >= c.total && c.phases[WK_SWEEP_RUNNING] > 0) {
        wk_text_puts(&totals, "; all are trained, follow-ups remain");
    } else if (steps > 0 && c.steps < c.total) {
        char left[WK_DURATION_TEXT_MAX];
        wk_duration_text((double)(c.total - c.steps) * (now - l->began) / steps, left);
        wk_text_printf(&totals, "; training takes about %s more", left);
    }
    wk_run_table_show_under(&l->table, wk_text_get(&totals), rows, count);
    wk_text_free(&totals);
}

static void on_child(int number)
{
    (void)number; // it ends the pause
}

static wk_status loop(launcher *l, wk_error *err)
{
    // Or until a process ends or a signal comes.
    const struct timespec half = {.tv_nsec = 500000000};
    for (bool waits = false;;) {
        int others;
        ask_to_stop(l);
        WK_TRY(wk_sweep_folder_check(l->launch->folder, err));
        WK_TRY(reap(l, err));
        // Runs that others work on, as those of a sweep that was killed and are still saving.
        WK_TRY(wk_sweep_queue_refresh(&l->queue, &others, err));
        if (others > 0 && !waits)
            wk_log_line(&l->log, WK_LOG_INFO,
                        "waiting for %d run%s that other processes are working on", others,
                        wk_plural((uint64_t)others));
        waits = others > 0;
        WK_TRY(fill_slots(l, err));
        if (running(l) == 0 && (others == 0 || l->stopping)) return WK_OK;
        show(l);
        nanosleep(&half, NULL);
    }
}

static wk_status finish(launcher *l, wk_sweep_end *end, wk_error *err)
{
    wk_sweep_counts c = wk_sweep_count(l->launch->plan, l->queue.entries);
    bool all = c.phases[WK_SWEEP_DONE] == (int)l->launch->plan->selected;
    *end = l->stopping ? WK_SWEEP_SAVED : all ? WK_SWEEP_FINISHED : WK_SWEEP_FAILURES;
    if (l->stopping || c.phases[WK_SWEEP_DONE] == 0) return WK_OK;
    return wk_sweep_report_make(l->launch, end, err);
}

wk_status wk_sweep_local_start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    launcher l = {.launch = launch, .began = wk_clock_seconds()};
    struct sigaction before, action = {.sa_handler = on_child};
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, &before);
    wk_run_table_start(&l.table, STDERR_FILENO, PLAIN_SECONDS);
    l.table.line.stamped = true;
    if (!launch->options->quiet) l.log = (wk_log){wk_run_table_log, &l.table, WK_LOG_INFO};
    wk_status status = set_up(&l, err);
    if (status == WK_OK) {
        l.steps_at_start = wk_sweep_count(launch->plan, l.queue.entries).steps;
        wk_log_line(&l.log, WK_LOG_INFO,
                    "%d process%s at a time, %d thread%s each, up to %d run%s in one%s", l.n_slots,
                    l.n_slots == 1 ? "" : "es", l.threads, wk_plural((uint64_t)l.threads),
                    l.population, wk_plural((uint64_t)l.population),
                    l.n_gpus > 0 ? ", on GPUs" : "");
        status = loop(&l, err);
    }
    if (status != WK_OK) signal_all(&l); // the children save, and are waited for
    for (int i = 0; status != WK_OK && i < l.n_slots; i++)
        while (l.slots[i].pid != 0 && waitpid(l.slots[i].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    wk_status_line_end(&l.table.line);
    sigaction(SIGCHLD, &before, NULL);
    if (status == WK_OK) status = finish(&l, end, err);
    wk_sweep_queue_close(&l.queue);
    free(l.slots);
    return status;
}

// The process that runs the sweep passes the signal on.
wk_status wk_sweep_local_cancel(const char *directory, const wk_log *log, bool *found,
                                wk_error *err)
{
    wk_sweep_holder holder;
    char host[256] = "";
    WK_TRY(wk_sweep_folder_holder(directory, &holder, err));
    if (holder.pid == 0) return WK_OK;
    *found = true;
    gethostname(host, sizeof host - 1);
    if (strcmp(host, holder.host) != 0)
        return wk_fail(err, WK_E_INPUT, "the sweep runs on %s (process %ld); cancel it there",
                       holder.host, holder.pid);
    if (!holder.certain)
        return wk_fail(err, WK_E_INPUT,
                       "'%s/" WK_SWEEP_FOLDER
                       "/holder' names process %ld, which runs no sweep here; find the process "
                       "that holds the lock with 'lslocks' and stop it",
                       directory, holder.pid);
    if (kill((pid_t)holder.pid, SIGTERM) != 0)
        return wk_fail(err, WK_E_IO, "process %ld cannot be signalled: %s", holder.pid,
                       strerror(errno));
    wk_log_line(log, WK_LOG_INFO, "asked process %ld to save all runs and stop", holder.pid);
    return WK_OK;
}
