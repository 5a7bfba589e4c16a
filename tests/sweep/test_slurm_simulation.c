// Sweeps of 120 runs through random weeks on a cluster that does not exist: the code that submits,
// requeues, cancels and reports is the program's, Slurm and the runs are simulated
// (fake_slurm.h). Nodes die and come back with their processes still alive, runs are killed and
// preempted, jobs vanish, disks are full, calls of Slurm fail or are carried out and say that they
// failed, the clock jumps, old files lie around, and the user repeats commands. Every sweep must
// end with each run done exactly once and a report of all of them.
//
//   WAKER_SIMULATIONS=10000 build/tests/test_sweep_slurm_simulation
//   WAKER_SIMULATION_SEED=1234 build/tests/test_sweep_slurm_simulation     one of them again
#include "sweep/fake_slurm.h"

enum { TROUBLE_TICKS = 400, TICKS_MAX = 20000, TICK_SECONDS = 60 };

static void setup_trouble(fake *f, uint64_t seed)
{
    setup_fake(f);
    f->rng = wk_rng_stream(seed, "sweep/simulation", 0);
    f->trouble = wk_rng_unit(&f->rng) < 0.1 ? 0 : wk_rng_uniform(&f->rng, 0.2, 3);
    f->bad[any(f, NODES)] = chance(f, 0.3);
}

static void submit(fake *f)
{
    static const wk_slurm_options options = {.partition = "gpu", .parallel = 40, .restarts = 1000};
    wk_error err;
    int submitted;
    (void)wk_slurm_submit(&f->system, &options, 0, &submitted, &err);
}

// What the user does about tasks that used up their attempts.
static void retry(fake *f)
{
    for (int i = 0; i < TASKS; i++)
        if (phase_now(f, i) == WK_SWEEP_FAILED) f->tasks[i].attempts = 0;
    submit(f);
}

static bool is_queue_empty(const fake *f)
{
    for (size_t i = f->first_open; i < f->jobs.count; i++)
        if (f->jobs.items[i].state != OVER) return false;
    return true;
}

static bool is_complete(const fake *f)
{
    for (int i = 0; i < TASKS; i++)
        if (!f->tasks[i].done) return false;
    return f->complete_reports > 0;
}

static bool is_over(const fake *f, uint64_t id)
{
    for (size_t i = f->first_open; i < f->jobs.count; i++)
        if (f->jobs.items[i].array_job == id && f->jobs.items[i].state != OVER) return false;
    return true;
}

static bool is_due(const fake *f, const fake_job *job)
{
    if (job->state != PENDING || job->begin > f->clock || job->batch_alive) return false;
    for (const char *id = job->after; *id; id += strcspn(id, ":") + (id[strcspn(id, ":")] == ':'))
        if (!is_over(f, strtoull(id, NULL, 10))) return false;
    return true;
}

static bool excludes(const fake *f, const fake_job *job, int node)
{
    fake_job there = *job;
    there.node = node;
    const char *name = self_of(f, &there).node, *at = strstr(job->excluded, name);
    size_t length = strlen(name);
    return at && (at == job->excluded || at[-1] == ',') && (at[length] == ',' || !at[length]);
}

static void schedule(fake *f)
{
    int used[NODES] = {0};
    for (size_t i = f->first_open; i < f->jobs.count; i++)
        if (f->jobs.items[i].state == RUNNING) used[f->jobs.items[i].node]++;
    for (size_t i = f->first_open; i < f->jobs.count; i++) {
        if (!is_due(f, &f->jobs.items[i])) continue;
        int node = any(f, NODES);
        if (used[node] >= SLOTS || f->node_back[node] > f->tick) continue;
        if (excludes(f, &f->jobs.items[i], node)) continue;
        used[node]++;
        start_job(f, (int)i, node);
    }
    while (f->first_open < f->jobs.count && f->jobs.items[f->first_open].state == OVER)
        f->first_open++;
}

// Slurm takes a job off its node and puts it back into the queue.
static void slurm_requeues(fake *f, fake_job *job, bool batch_dies)
{
    job->state = PENDING;
    job->restarts++;
    job->begin = f->clock + 120;
    job->requeued = false;
    if (batch_dies) {
        job->batch_alive = false;
        job->process = -1;
    }
}

static void fail_node(fake *f, int node)
{
    // Cut off from the controller: its processes may go on for a while.
    bool cut_off = chance(f, 0.2);
    f->node_failures++;
    f->node_back[node] = f->tick + 20 + any(f, 60);
    for (size_t i = f->first_open; i < f->jobs.count; i++) {
        fake_job *job = &f->jobs.items[i];
        if (job->state != RUNNING || job->node != node) continue;
        if (job->process >= 0 && cut_off)
            f->processes.items[job->process].job = -1;
        else if (job->process >= 0)
            stop_process(f, job->process);
        f->duplicates += cut_off;
        slurm_requeues(f, job, true);
    }
}

// A signal comes first; what does not save in time is killed.
static void preempt(fake *f, int number)
{
    fake_job *job = &f->jobs.items[number];
    wk_error err = {0};
    int process = job->process;
    f->preempted++;
    (void)wk_slurm_task_stopping(&f->system, job->step.task, &err);
    bool saved = !chance(f, 0.3);
    slurm_requeues(f, job, false);
    if (saved) {
        run_ended(f, number, 75);
        f->jobs.items[number].state = PENDING;
    } else
        stop_process(f, process);
    f->jobs.items[number].batch_alive = false;
    f->jobs.items[number].process = -1;
}

static void advance(fake *f, int number)
{
    fake_process *p = &f->processes.items[number];
    fake_task *t = &f->tasks[p->task];
    int job = p->job, code = -1;
    if (f->bad[p->node])
        code = 1;
    else if (p->save)
        code = 75;
    else if (f->tick < f->disk_full_until)
        code = 1;
    else if (chance(f, 0.002)) {
        f->kills++;
        code = 137;
    } else if (wk_rng_unit(&f->rng) < 0.5 && ++t->progress == WORK) {
        t->done = true;
        t->completions++;
        code = 0;
    }
    if (code == 75) t->attempts = 0;
    if (code < 0) {
        // One that is cut off is killed when its node comes back.
        if (job < 0 && f->node_back[p->node] <= f->tick) stop_process(f, number);
        return;
    }
    if (job < 0)
        stop_process(f, number);
    else
        run_ended(f, job, code);
}

static void make_trouble(fake *f)
{
    char name[64];
    if (chance(f, 0.01)) fail_node(f, any(f, NODES));
    if (chance(f, 0.005)) f->disk_full_until = f->tick + any(f, 15);
    if (chance(f, 0.01)) f->controller_down_until = f->tick + any(f, 10);
    if (chance(f, 0.02)) f->clock += wk_rng_uniform(&f->rng, -5000, 5000);
    if (chance(f, 0.03)) submit(f);
    if (chance(f, 0.003)) {
        wk_error err;
        (void)wk_slurm_cancel(&f->system, &err);
    }
    if (chance(f, 0.01)) {
        snprintf(name, sizeof name, "on.%s", f->names[any(f, TASKS)]);
        put_file(f, name, "n2");
    }
    if (chance(f, 0.01)) {
        snprintf(name, sizeof name, "%d.tasks.tmp.17.0", any(f, 99));
        put_file(f, name, "half");
    }
    for (size_t i = f->first_open; i < f->jobs.count; i++) {
        fake_job *job = &f->jobs.items[i];
        if (job->state == RUNNING && job->process >= 0 && chance(f, 0.004)) preempt(f, (int)i);
        // Cancelled by somebody, or forgotten by the controller.
        if (f->jobs.items[i].state != OVER && chance(f, 0.0005)) {
            job = &f->jobs.items[i];
            f->lost++;
            if (job->process >= 0) stop_process(f, job->process);
            job->process = -1;
            job->state = OVER;
        }
    }
}

static void tick(fake *f)
{
    f->tick++;
    f->clock += TICK_SECONDS;
    if (f->tick == TROUBLE_TICKS) f->trouble = 0;
    make_trouble(f);
    schedule(f);
    for (size_t i = 0; i < f->processes.count; i++)
        if (f->processes.items[i].alive) advance(f, (int)i);
}

// Simulates a sweep; what happened is in `f`.
static void simulate(fake *f, uint64_t seed)
{
    setup_trouble(f, seed);
    submit(f);
    while (!is_complete(f) && f->tick < TICKS_MAX) {
        tick(f);
        // The user looks now and then, and repeats the command when nothing is left in the queue.
        if (f->tick % 50 == 0 && is_queue_empty(f) && !is_complete(f)) {
            f->user_visits++;
            retry(f);
        }
    }
    for (int i = 0; i < TASKS; i++)
        if (f->tasks[i].completions != 1)
            fail_msg("WAKER_SIMULATION_SEED=%" PRIu64 ": %s was done %d times", seed, f->names[i],
                     f->tasks[i].completions);
    if (f->complete_reports == 0)
        fail_msg("WAKER_SIMULATION_SEED=%" PRIu64 ": no report of all runs", seed);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    uint64_t value = otherwise;
    if (text && !wk_text_to_unsigned(text, &value)) fail_msg("%s='%s' is no number", name, text);
    return value;
}

static void every_simulated_sweep_ends_complete(void **state)
{
    (void)state;
    bool one = getenv("WAKER_SIMULATION_SEED") != NULL;
    uint64_t first = setting("WAKER_SIMULATION_SEED", 0);
    uint64_t count = one ? 1 : setting("WAKER_SIMULATIONS", 200);
    fake *f = calloc(1, sizeof *f);
    long ticks = 0, visits = 0, kills = 0, lost = 0, preempted = 0, nodes = 0, duplicates = 0;
    size_t jobs = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        simulate(f, seed);
        ticks += f->tick, visits += f->user_visits, kills += f->kills, lost += f->lost;
        preempted += f->preempted, nodes += f->node_failures, duplicates += f->duplicates;
        jobs += f->jobs.count;
        free_fake(f);
    }
    free(f);
    print_message("%" PRIu64 " sweeps of %d runs: %zu jobs, %ld kills, %ld preemptions, %ld node "
                  "failures, %ld runs cut off, %ld jobs lost; %ld hours, the user came %ld times\n",
                  count, TASKS, jobs, kills, preempted, nodes, duplicates, lost,
                  ticks * TICK_SECONDS / 3600, visits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_simulated_sweep_ends_complete)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
