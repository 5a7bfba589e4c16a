// Sweeps on Slurm, one behaviour at a time: what is submitted, which array task is requeued, which
// node is excluded, what is cancelled. Slurm is the fake of the simulation, without its faults.
#include "sweep/fake_slurm.h"

static fake f;

static int setup(void **state)
{
    (void)state;
    setup_fake(&f);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free_fake(&f);
    return 0;
}

static void submit(const wk_slurm_options *options, int expected)
{
    wk_error err = {0};
    int submitted;
    assert_ok(wk_slurm_submit(&f.system, options, 0, &submitted, &err));
    assert_int_equal(submitted, expected);
}

static fake_job *job_of(int task)
{
    for (size_t i = 0; i < f.jobs.count; i++)
        if (f.jobs.items[i].index == task / 2 && f.jobs.items[i].number == task % 2 + 1)
            return &f.jobs.items[i];
    fail_msg("task %d was not submitted", task);
    return NULL;
}

// Starts the task's job on a node and lets its run end.
static void run_to(int task, int node, int code)
{
    fake_job *job = job_of(task);
    job->state = PENDING;
    start_job(&f, (int)(job - f.jobs.items), node);
    if (job->process < 0) return;
    f.tasks[task].done = code == 0;
    run_ended(&f, (int)(job - f.jobs.items), code);
}

static void expect_in(const char *name, const char *part)
{
    fake_file *file = find_file(&f, name);
    if (!file) fail_msg("no %s", name);
    if (!strstr(file->text, part)) fail_msg("no '%s' in %s:\n%s", part, name, file->text);
}

static void a_shape_is_an_array_and_options_pass_through(void **state)
{
    (void)state;
    const wk_slurm_options options = {.partition = "gpu",
                                      .time = "4:00:00",
                                      .account = "lab",
                                      .mail = "me@example.org",
                                      .memory = "16G",
                                      .gpus = 2,
                                      .cpus = 8,
                                      .parallel = 7,
                                      .signal_seconds = 90,
                                      .lines = {"--constraint=a100 --nice"},
                                      .n_lines = 1};
    static const char *const lines[] = {
        "#SBATCH --array=0-59%7\n",
        "#SBATCH --partition=gpu\n",
        "#SBATCH --time=4:00:00\n",
        "#SBATCH --account=lab\n",
        "#SBATCH --mail-user=me@example.org\n",
        "#SBATCH --mem=16G\n",
        "#SBATCH --gres=gpu:2\n",
        "#SBATCH --cpus-per-task=8\n",
        "#SBATCH --signal=USR1@90\n",
        "#SBATCH --requeue\n",
        "#SBATCH --open-mode=append\n",
        "#SBATCH --output=\"/runs/paper/sweep/slurm/logs/2-%a.log\"\n",
        "#SBATCH --constraint=a100 --nice\n",
        "exec /opt/waker sweep slurm-task /runs/paper 2\n"};
    submit(&options, TASKS);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect_in("2.sbatch", lines[i]);
    expect_in("2-report.sbatch", "#SBATCH --dependency=afterany:100:160\n");
    expect_in("2-report.sbatch", "sweep slurm-finish /runs/paper 0\n");
    // They are remembered.
    f.jobs.count = 0;
    submit(NULL, TASKS);
    expect_in("3.sbatch", "#SBATCH --array=0-59%7\n");
    expect_in("3.sbatch", "#SBATCH --constraint=a100 --nice\n");
}

static void nothing_is_submitted_twice(void **state)
{
    (void)state;
    submit(NULL, TASKS);
    submit(NULL, 0);
    job_of(3)->state = OVER;
    f.tasks[5].done = true;
    submit(NULL, 1);
    assert_string_equal(find_file(&f, "3.tasks")->text, "waker-m-seed3\n");
}

static void options_that_would_be_lines_of_a_script_are_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    int submitted;
    const wk_slurm_options wrong[] = {{.partition = "gpu\nrm -rf /"},
                                      {.time = ""},
                                      {.account = "a b"},
                                      {.lines = {"rm -rf /"}, .n_lines = 1},
                                      {.lines = {"--nice\nrm"}, .n_lines = 1},
                                      {.lines = {"--output=/home/me/.profile"}, .n_lines = 1},
                                      {.lines = {"--nice --outp /home/me/x"}, .n_lines = 1},
                                      {.lines = {"-o/home/me/x"}, .n_lines = 1},
                                      {.lines = {"--nice \"--wrap=rm\""}, .n_lines = 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(wk_slurm_submit(&f.system, &wrong[i], 0, &submitted, &err), WK_E_INPUT);
    assert_int_equal(f.jobs.count, 0);
    // Nor are they taken from a directory that remembers them.
    put_file(&f, "options", "gpus 1\nline --error=/home/me/.profile\n");
    assert_int_equal(wk_slurm_submit(&f.system, NULL, 0, &submitted, &err), WK_E_INPUT);
    assert_int_equal(f.jobs.count, 0);
}

static void exactly_the_task_that_saved_is_requeued(void **state)
{
    (void)state;
    submit(NULL, TASKS);
    run_to(14, 0, 75);
    assert_int_equal(job_of(14)->state, PENDING);
    assert_int_equal(job_of(14)->restarts, 1);
    for (size_t i = 0; i < f.jobs.count; i++)
        if (&f.jobs.items[i] != job_of(14)) assert_int_equal(f.jobs.items[i].restarts, 0);
    run_to(15, 0, 0);
    assert_int_equal(job_of(15)->state, OVER);
}

static void restarts_and_attempts_are_bounded(void **state)
{
    (void)state;
    const wk_slurm_options options = {.restarts = 3};
    submit(&options, TASKS);
    job_of(0)->restarts = 2;
    run_to(0, 0, 75);
    assert_int_equal(job_of(0)->state, PENDING);
    run_to(0, 0, 75);
    assert_int_equal(job_of(0)->state, OVER);
    for (int i = 0; i < ATTEMPTS; i++) {
        assert_int_equal(job_of(1)->state, PENDING);
        run_to(1, i, 1);
    }
    assert_int_equal(job_of(1)->state, OVER);
    assert_int_equal(phase_now(&f, 1), WK_SWEEP_FAILED);
}

static void a_node_that_fails_twice_is_excluded(void **state)
{
    (void)state;
    submit(NULL, TASKS);
    run_to(0, 0, 0);
    run_to(1, 1, 0);
    run_to(2, 2, 1);
    assert_string_equal(job_of(2)->excluded, "");
    run_to(3, 2, 1);
    assert_string_equal(job_of(3)->excluded, "n2");
    // A job that Slurm starts there all the same goes back before its run begins.
    size_t processes = f.processes.count;
    run_to(4, 2, 0);
    assert_int_equal(f.processes.count, processes);
    assert_int_equal(job_of(4)->state, PENDING);
    assert_string_equal(job_of(4)->excluded, "n2");
    // What is wrong everywhere is no node's fault.
    run_to(5, 0, 1), run_to(6, 0, 1), run_to(7, 1, 1), run_to(8, 1, 1);
    assert_string_equal(job_of(8)->excluded, "");
}

static void
a_process_that_died_counts_against_its_node_unless_it_was_stopped_by_a_signal(void **state)
{
    (void)state;
    wk_error err = {0};
    submit(NULL, TASKS);
    for (int node = 0; node < 2; node++)
        run_to(node, node, 0);
    for (int task = 10; task < 14; task++) {
        fake_job *job = job_of(task);
        start_job(&f, (int)(job - f.jobs.items), 2 + task % 2);
        if (task % 2) assert_ok(wk_slurm_task_stopping(&f.system, task, &err));
        stop_process(&f, job->process);
        job->process = -1;
        run_to(task, 0, 75);
    }
    assert_string_equal(job_of(13)->excluded, "n2");
}

static void cancel_empties_the_queue_and_saves_what_runs(void **state)
{
    (void)state;
    wk_error err = {0};
    submit(NULL, TASKS);
    fake_job *job = job_of(0);
    start_job(&f, (int)(job - f.jobs.items), 0);
    assert_ok(wk_slurm_cancel(&f.system, &err));
    assert_true(f.processes.items[job->process].save);
    run_ended(&f, (int)(job - f.jobs.items), 75);
    for (size_t i = 0; i < f.jobs.count; i++)
        assert_int_equal(f.jobs.items[i].state, OVER);
    submit(NULL, TASKS);
    assert_null(find_file(&f, "cancelled"));
}

static void the_last_job_submits_what_was_lost_and_then_makes_the_report(void **state)
{
    (void)state;
    wk_error err = {0};
    bool report = true;
    submit(NULL, TASKS);
    for (size_t i = 0; i < f.jobs.count; i++)
        f.jobs.items[i].state = OVER;
    for (int i = 0; i < TASKS - 2; i++)
        f.tasks[i].done = true;
    assert_ok(wk_slurm_finish(&f.system, 0, &report, &err));
    assert_false(report);
    assert_string_equal(find_file(&f, "3.tasks")->text, "waker-m-seed118\n");
    expect_in("4-report.sbatch", "sweep slurm-finish /runs/paper 1\n");
    f.tasks[TASKS - 2].done = f.tasks[TASKS - 1].done = true;
    assert_ok(wk_slurm_finish(&f.system, 1, &report, &err));
    assert_true(report);
    // Not for ever.
    f.tasks[0].done = false;
    assert_ok(wk_slurm_finish(&f.system, WK_SLURM_ROUNDS, &report, &err));
    assert_true(report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_shape_is_an_array_and_options_pass_through),
        TEST(nothing_is_submitted_twice),
        TEST(options_that_would_be_lines_of_a_script_are_refused),
        TEST(exactly_the_task_that_saved_is_requeued),
        TEST(restarts_and_attempts_are_bounded),
        TEST(a_node_that_fails_twice_is_excluded),
        TEST(a_process_that_died_counts_against_its_node_unless_it_was_stopped_by_a_signal),
        TEST(cancel_empties_the_queue_and_saves_what_runs),
        TEST(the_last_job_submits_what_was_lost_and_then_makes_the_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
