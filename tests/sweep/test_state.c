// The states of tasks as their directories say them, whose turn it is next, and that one process at
// a time works on a task and on a sweep.
#include "base/file.h"
#include "base/machine.h"
#include "support/check.h"
#include "sweep/sweep.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char GRID[] = "blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
                           "keys: {seed: 0..1, steps: 400, eval.every: 0}\n"
                           "then: {adapt: --task all, eval: ''}\nreport: ''\n";

static char home[] = "sweep-XXXXXX";
static wk_sweep_grid grid;
static wk_sweep_plan plan;

static int set_up(void **state)
{
    wk_error err = {0};
    assert_non_null(mkdtemp(home));
    assert_ok(wk_sweep_grid_parse("grid.yaml", GRID, strlen(GRID), &grid, &err));
    assert_ok(wk_sweep_plan_create(&grid, home, &plan, &err));
    return 0;
}

static int tear_down(void **state)
{
    char command[64];
    wk_sweep_plan_free(&plan);
    wk_sweep_grid_free(&grid);
    snprintf(command, sizeof command, "rm -rf %s", home);
    return system(command);
}

// Without making it durable, which takes most of the time.
static void put(const char *name, const char *text)
{
    char path[512];
    int length = snprintf(path, sizeof path, "%s/%s", home, name);
    for (int i = 0; i < length; i++) {
        if (path[i] != '/') continue;
        path[i] = 0;
        assert_true(mkdir(path, 0777) == 0 || errno == EEXIST);
        path[i] = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void remove_from_home(const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf %s/%s", home, name);
    assert_int_equal(system(command), 0);
}

static wk_sweep_state read_state(int task)
{
    wk_sweep_state state;
    wk_error err = {0};
    assert_ok(wk_sweep_state_read(&plan, task, 0, &state, &err));
    return state;
}

#define assert_phase(task, expected)                                                               \
    assert_string_equal(wk_sweep_phase_names[read_state(task).phase], expected)

static wk_lock hold(const char *name, wk_dir **dir)
{
    wk_lock lock = {0};
    wk_error err = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/%s", home, name);
    assert_ok(wk_dir_open(NULL, path, dir, &err));
    assert_ok(wk_lock_take(*dir, &lock, &err));
    return lock;
}

static void release(wk_lock *lock, wk_dir *dir)
{
    wk_lock_release(lock);
    wk_dir_close(dir);
}

// Task 0 from nothing to done, by what lies in its directory.
TEST_CASE(a_state_is_what_the_directory_says)
{
    wk_error err = {0};
    wk_dir *dir;
    assert_phase(0, "waiting");
    put("waker-m-seed0/config.yaml", "");
    put("waker-m-seed0/checkpoints/step-000000000100/run.bin", "");
    assert_phase(0, "stopped");
    assert_int_equal(read_state(0).steps, 100);
    wk_lock lock = hold("waker-m-seed0", &dir);
    put("waker-m-seed0/metrics.jsonl",
        "{\"step\": 240, \"agent_step\": 120}\n{\"step\": 300, \"agent_step\": 150}\n");
    assert_phase(0, "running");
    assert_int_equal(read_state(0).steps, 150);
    release(&lock, dir);
    assert_int_equal(read_state(0).steps, 100); // what a checkpoint has is what counts then
    put("waker-m-seed0/checkpoints/step-000000000402/run.bin", "");
    assert_phase(0, "stopped"); // its last weights are missing
    put("waker-m-seed0/snapshots/step-000000000402.safetensors", "");
    assert_phase(0, "trained");
    assert_ok(wk_sweep_follow_done(&plan, 0, WK_SWEEP_ADAPT, &err));
    assert_phase(0, "trained");
    assert_ok(wk_sweep_follow_done(&plan, 0, WK_SWEEP_EVAL, &err));
    assert_phase(0, "done");
    // Whatever is deleted is done again; other tasks are not touched by any of it.
    remove_from_home("waker-m-seed0/eval");
    assert_phase(0, "trained");
    remove_from_home("waker-m-seed0");
    assert_phase(0, "waiting");
    assert_phase(1, "waiting");
}

TEST_CASE(what_follows_is_done_again_with_other_options)
{
    wk_error err = {0};
    put("dr-seed0/config.yaml", "");
    put("dr-seed0/checkpoints/step-000000000400/run.bin", "");
    put("dr-seed0/snapshots/step-000000000400.safetensors", "");
    assert_ok(wk_sweep_follow_done(&plan, 2, WK_SWEEP_ADAPT, &err));
    assert_true(read_state(2).follow[WK_SWEEP_ADAPT]);
    put("dr-seed0/adapt/adapt.done", "400 --task west\n");
    assert_false(read_state(2).follow[WK_SWEEP_ADAPT]);
    put("dr-seed0/adapt/adapt.done", "300 --task all\n");
    assert_false(read_state(2).follow[WK_SWEEP_ADAPT]);
    remove_from_home("dr-seed0");
}

TEST_CASE(attempts_without_progress_are_bounded)
{
    wk_error err = {0};
    wk_sweep_claim claim, second;
    for (int i = 1; i <= WK_SWEEP_ATTEMPTS; i++) {
        assert_string_equal(wk_sweep_phase_names[read_state(1).phase], "waiting");
        assert_ok(wk_sweep_claim_take(&plan, 1, &claim, &err));
        assert_phase(1, "running");
        assert_refused(wk_sweep_claim_take(&plan, 1, &second, &err), WK_E_INPUT,
                       "another process is already working on the task 'waker-m-seed1'");
        assert_ok(wk_sweep_claim_end(&claim, 1, "the disk\033[2J is full", &err));
        assert_int_equal(read_state(1).attempt.count, i);
    }
    assert_phase(1, "failed");
    assert_string_equal(read_state(1).attempt.error, "the disk?[2J is full");
    // Progress begins a new count.
    put("waker-m-seed1/config.yaml", "");
    put("waker-m-seed1/checkpoints/step-000000000100/run.bin", "");
    assert_phase(1, "stopped");
    assert_ok(wk_sweep_claim_take(&plan, 1, &claim, &err));
    assert_int_equal(read_state(1).attempt.count, 1);
    assert_ok(wk_sweep_claim_end(&claim, 75, "", &err)); // saved: nothing to remember
    assert_int_equal(read_state(1).attempt.count, 0);
    remove_from_home("waker-m-seed1");
}

TEST_CASE(a_process_that_died_counts)
{
    wk_error err = {0};
    wk_sweep_claim claim;
    for (int i = 0; i < WK_SWEEP_ATTEMPTS; i++) {
        assert_ok(wk_sweep_claim_take(&plan, 3, &claim, &err));
        wk_sweep_claim_drop(&claim);
    }
    assert_phase(3, "failed");
    assert_ok(wk_sweep_attempt_close(&plan, 3, 137, "ended by signal 9 (Killed)", &err));
    assert_string_equal(read_state(3).attempt.error, "ended by signal 9 (Killed)");
    assert_ok(wk_sweep_attempt_forget(&plan, 3, &err));
    assert_phase(3, "waiting");
}

// As after a process that was killed: its child has the lock until it becomes another program.
TEST_CASE(the_attempt_of_another_process_is_left_to_it)
{
    wk_error err = {0};
    wk_sweep_claim claim;
    assert_ok(wk_sweep_claim_take(&plan, 3, &claim, &err));
    assert_ok(wk_sweep_attempt_close(&plan, 3, 137, "ended by signal 9 (Killed)", &err));
    assert_true(read_state(3).attempt.open);
    assert_string_equal(read_state(3).attempt.error, "");
    assert_ok(wk_sweep_claim_end(&claim, 0, "", &err));
}

// Has the task's lock as one who looks whether it is held, until well after `other` wants it.
static bool look(pid_t other, int ready)
{
    char path[512];
    wk_dir *dir;
    snprintf(path, sizeof path, "%s/sweep/tasks/dr-seed1", home);
    if (wk_dir_open(NULL, path, &dir, NULL) != WK_OK) return false;
    int fd = openat(wk_dir_fd(dir), "lock", O_RDONLY);
    if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) != 0 || write(ready, "x", 1) != 1) return false;
    for (int i = 0; i < 5000 && !wk_lock_is_open_in(dir, other); i++)
        usleep(1000);
    usleep(200 * 1000);
    return true;
}

// A process that looks whether a task is being worked on keeps nobody from working on it, however
// long the machine takes for that.
TEST_CASE(a_task_that_is_looked_at_can_be_taken)
{
    wk_error err = {0};
    wk_sweep_claim claim;
    int ready[2], status;
    char byte;
    put("sweep/tasks/dr-seed1/lock", "");
    assert_int_equal(pipe(ready), 0);
    pid_t looker = fork();
    assert_true(looker >= 0);
    if (looker == 0) _exit(!look(getppid(), ready[1]));
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_ok(wk_sweep_claim_take(&plan, 3, &claim, &err));
    assert_ok(wk_sweep_claim_end(&claim, 0, "", &err));
    assert_int_equal(waitpid(looker, &status, 0), looker);
    assert_int_equal(status, 0);
}

TEST_CASE(what_is_wrong_with_the_input_is_not_tried_again)
{
    wk_error err = {0};
    wk_sweep_claim claim;
    assert_ok(wk_sweep_claim_take(&plan, 3, &claim, &err));
    assert_ok(wk_sweep_claim_end(&claim, 2, "bad", &err));
    assert_phase(3, "failed");
    put("sweep/tasks/dr-seed1/attempt.json", "{\"attempts\": 1, \"code\": \"no"); // damaged
    assert_phase(3, "waiting");
    // Numbers that do not fit are damage too: as an int this one was negative.
    put("sweep/tasks/dr-seed1/attempt.json", "{\"attempts\": 4294967295, \"progress\": 0}");
    assert_int_equal(read_state(3).attempt.count, 0);
    assert_ok(wk_sweep_attempt_forget(&plan, 3, &err));
}

TEST_CASE(one_sweep_at_a_time_has_a_directory)
{
    wk_error err = {0};
    wk_sweep_folder folder, second;
    wk_sweep_holder holder;
    wk_sweep_grid again;
    bool exists;
    assert_ok(wk_sweep_folder_holder(home, &holder, &err));
    assert_int_equal(holder.pid, 0);
    assert_ok(wk_sweep_folder_open(home, &folder, &err));
    assert_refused(wk_sweep_folder_open(home, &second, &err), WK_E_INPUT,
                   "another sweep is running in");
    wk_sweep_folder_close(&second);
    assert_ok(wk_sweep_folder_holder(home, &holder, &err));
    assert_int_equal(holder.pid, getpid());
    assert_ok(wk_sweep_folder_exists(home, &exists, &err));
    assert_false(exists);
    assert_ok(wk_sweep_folder_write(&folder, &grid, &err));
    assert_ok(wk_sweep_folder_grid(home, &again, &err));
    assert_int_equal(wk_sweep_grid_combinations(&again), 4);
    wk_sweep_grid_free(&again);
    wk_sweep_folder_close(&folder);
    assert_ok(wk_sweep_folder_open(home, &folder, &err));
    wk_sweep_folder_close(&folder);
}

TEST_CASE(the_manifest_has_a_line_for_each_task)
{
    wk_error err = {0};
    char path[64], line[512], *text;
    size_t size;
    assert_ok(wk_sweep_manifest_write(&plan, 0, &err));
    snprintf(path, sizeof path, "%s/sweep/manifest.jsonl", home);
    assert_ok(wk_file_read(path, 1 << 16, &text, &size, &err));
    snprintf(line, sizeof line,
             "{\"task\": 2, \"name\": \"dr-seed0\", \"shape\": \"toy\", \"command\": \"waker "
             "sweep run %s dr-seed0\", \"directory\": \"%s/dr-seed0\", \"state\": \"waiting\"}\n",
             home, home);
    if (!strstr(text, line)) fail_msg("%s", text);
    free(text);
}

TEST_CASE(populations_take_what_is_to_be_trained)
{
    wk_error err = {0};
    wk_sweep_queue queue;
    int tasks[4];
    put("waker-m-seed1/config.yaml", "");
    put("waker-m-seed1/checkpoints/step-000000000400/run.bin", "");
    put("waker-m-seed1/snapshots/step-000000000400.safetensors", "");
    assert_ok(wk_sweep_queue_open(&plan, 2, &queue, &err));
    assert_int_equal(wk_sweep_queue_next(&queue, 2, tasks), 2);
    assert_int_equal(tasks[0], 0);
    assert_int_equal(tasks[1], 2); // 1 is trained: what follows goes alone
    assert_int_equal(wk_sweep_queue_next(&queue, 2, tasks), 1);
    assert_int_equal(tasks[0], 1);
    assert_int_equal(wk_sweep_queue_next(&queue, 2, tasks), 1);
    assert_int_equal(tasks[0], 3);
    assert_int_equal(wk_sweep_queue_next(&queue, 2, tasks), 0);
    assert_int_equal(wk_sweep_count(&plan, queue.entries).phases[WK_SWEEP_RUNNING], 4);
    // One that stops again and again without getting further is left alone after so many times,
    // also where its attempts cannot be written down (a full disk).
    for (int i = 0; i < 2; i++) {
        assert_ok(wk_sweep_queue_ended(&queue, 3, &err));
        assert_int_equal(wk_sweep_queue_next(&queue, 1, tasks), i == 0);
    }
    // One that got further goes on.
    put("dr-seed0/config.yaml", "");
    put("dr-seed0/checkpoints/step-000000000100/run.bin", "");
    assert_ok(wk_sweep_queue_ended(&queue, 2, &err));
    assert_int_equal(wk_sweep_queue_next(&queue, 1, tasks), 1);
    assert_int_equal(tasks[0], 2);
    wk_sweep_queue_close(&queue);
    remove_from_home("waker-m-seed1");
    remove_from_home("dr-seed0");
}

TEST_CASE(what_others_work_on_is_left_to_them_until_they_stop)
{
    wk_error err = {0};
    wk_sweep_queue queue;
    wk_sweep_claim claim;
    int tasks[4], others;
    assert_ok(wk_sweep_claim_take(&plan, 1, &claim, &err));
    assert_ok(wk_sweep_queue_open(&plan, 0, &queue, &err));
    assert_int_equal(wk_sweep_queue_next(&queue, 4, tasks), 3);
    assert_ok(wk_sweep_queue_refresh(&queue, &others, &err));
    assert_int_equal(others, 1);
    assert_int_equal(wk_sweep_queue_next(&queue, 4, tasks), 0);
    assert_ok(wk_sweep_claim_end(&claim, 75, "", &err));
    assert_ok(wk_sweep_queue_refresh(&queue, &others, &err));
    assert_int_equal(others, 0);
    assert_int_equal(wk_sweep_queue_next(&queue, 4, tasks), 1);
    assert_int_equal(tasks[0], 1);
    // One that has failed waits for a retry.
    assert_ok(wk_sweep_claim_take(&plan, 1, &claim, &err));
    assert_ok(wk_sweep_claim_end(&claim, 2, "bad", &err));
    assert_ok(wk_sweep_queue_ended(&queue, 1, &err));
    assert_ok(wk_sweep_queue_refresh(&queue, &others, &err));
    assert_int_equal(wk_sweep_queue_next(&queue, 4, tasks), 0);
    assert_ok(wk_sweep_attempt_forget(&plan, 1, &err));
    assert_ok(wk_sweep_queue_refresh(&queue, &others, &err));
    assert_int_equal(wk_sweep_queue_next(&queue, 4, tasks), 1);
    wk_sweep_queue_close(&queue);
}

TEST_CASE(costs_count_what_is_left)
{
    wk_error err = {0};
    wk_sweep_queue queue;
    wk_sweep_cost total = {0};
    const wk_sweep_rate rate = {.seconds = 0.5, .learner_bytes = 3000};
    put("waker-m-seed0/config.yaml", "");
    put("waker-m-seed0/checkpoints/step-000000000200/run.bin", "");
    assert_ok(wk_sweep_queue_open(&plan, 0, &queue, &err));
    wk_sweep_cost cost = wk_sweep_cost_of(&plan, queue.entries, 0, &rate);
    wk_sweep_cost_add(&total, &cost);
    uint64_t each = (400 - 200) / 8; // updates of a run
    assert_int_equal(total.runs, 4);
    assert_int_equal(total.left, 4);
    assert_int_equal(total.steps, 3 * 400 + 200);
    assert_int_equal(total.updates, 3 * each + each / 2);
    assert_near(total.hours, (double)total.updates * 0.5 / 3600, 1e-9);
    assert_true(total.memory > 3000);
    wk_sweep_queue_close(&queue);
    remove_from_home("waker-m-seed0");
}

// A thousand runs that are begun, in the time of one glance.
TEST_CASE(the_states_of_a_thousand_runs_are_read_at_once)
{
    static const char text[] = "blocks: {domain: toy}\nkeys: {seed: 0..999}\nthen: {eval: ''}";
    wk_error err = {0};
    wk_sweep_grid many;
    wk_sweep_plan all;
    wk_sweep_queue queue;
    char name[128];
    assert_ok(wk_sweep_grid_parse("many.yaml", text, strlen(text), &many, &err));
    assert_ok(wk_sweep_plan_create(&many, home, &all, &err));
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "seed%d/checkpoints/step-000000001000/run.bin", i);
        put(name, "");
        snprintf(name, sizeof name, "seed%d/config.yaml", i);
        put(name, "");
    }
    double began = wk_clock_thread_seconds();
    assert_ok(wk_sweep_queue_open(&all, 0, &queue, &err));
    double seconds = wk_clock_thread_seconds() - began;
    print_message("1,000 states read in %.3f s\n", seconds);
    assert_int_equal(wk_sweep_count(&all, queue.entries).phases[WK_SWEEP_STOPPED], 1000);
    assert_true(seconds < 2);
    wk_sweep_queue_close(&queue);
    wk_sweep_plan_free(&all);
    wk_sweep_grid_free(&many);
}

// Processes: exit codes, the last line, and a signal that is passed on.
TEST_CASE(a_process_is_heard_and_can_be_stopped)
{
    wk_error err = {0};
    wk_sweep_words words = {0};
    char line[WK_SWEEP_LINE_MAX];
    int code;
    volatile sig_atomic_t stop = 0;
    wk_sweep_words_add(&words, "-c");
    wk_sweep_words_add(&words, "echo one >&2; echo 'two \033[1m' >&2; exit 7");
    const wk_sweep_process process = {.program = "/bin/sh", .words = &words, .stop = &stop};
    assert_ok(wk_sweep_process_run(&process, &code, line, &err));
    assert_int_equal(code, 7);
    assert_string_equal(line, "two ?[1m");
    wk_sweep_words_free(&words);
    wk_sweep_words_add(&words, "-c");
    wk_sweep_words_add(&words, "sleep 60");
    stop = SIGINT;
    assert_ok(wk_sweep_process_run(&process, &code, line, &err));
    assert_int_equal(code, 128 + SIGTERM);
    assert_non_null(strstr(line, "signal 15"));
    wk_sweep_words_free(&words);
}

TEST_MAIN(set_up, tear_down)
