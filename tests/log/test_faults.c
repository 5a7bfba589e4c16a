// Configurations and metrics when memory and disks fail: every allocation and file call fails once
// in turn, then all from some call on. The error is clear, nothing leaks, files stay whole, and a
// write that failed can be made again.
#include "config/blocks.h"
#include "log/logs.h"
#include "log/metrics.h"
#include "support/faults.h"
#include <sys/stat.h>

#define FOLDER "logs_faults.tmp"
#define CONFIG FOLDER "/config.yaml"

static int begin(void **state)
{
    remove_tree(FOLDER);
    return mkdir(FOLDER, 0777);
}

static int end(void **state)
{
    remove_tree(FOLDER);
    return 0;
}

typedef wk_status action(wk_error *err);

// Runs `act` with each call failing in turn; what fails says why, and nothing is left behind.
static void sweep(action *act, bool persistent, int error, void (*check)(wk_status status))
{
    long call = 1, most = 5000;
    for (; call < most; call++) {
        wk_error err = {0};
        fault_sweep_arm((fault_plan){.call = call, .persistent = persistent, .error = error});
        wk_status status = act(&err);
        bool fired = fault_sweep_disarm();
        if (fault_sweep.blocks != 0)
            fail_msg("call %ld: %ld blocks leak", call, fault_sweep.blocks);
        if (fault_sweep.files != 0)
            fail_msg("call %ld: %ld files stay open", call, fault_sweep.files);
        if (status != WK_OK && !*err.message) fail_msg("call %ld: no message", call);
        if (check) check(status);
        if (fired) continue;
        assert_ok(status);
        break;
    }
    assert_true(call > 5 && call < most);
}

static void sweep_all(action *act, void (*check)(wk_status status))
{
    sweep(act, false, EIO, check);
    sweep(act, true, EIO, check);
    sweep(act, true, ENOSPC, check);
}

static wk_status merge_embedded(wk_error *err)
{
    wk_config_blocks *blocks = NULL;
    wk_merged_config merged;
    static const char *const names[] = {"combined", "waker-r", "quick"};
    wk_status status = wk_config_blocks_create(&blocks, err);
    if (status == WK_OK) status = wk_config_blocks_add_embedded(blocks, err);
    if (status == WK_OK) status = wk_config_merge(blocks, names, 3, NULL, 0, &merged, err);
    wk_config_blocks_destroy(blocks);
    return status;
}

TEST_CASE(merging_fails_cleanly)
{
    sweep_all(merge_embedded, NULL);
}

static wk_status write_config(wk_error *err)
{
    const wk_run_config config = wk_run_config_default();
    return wk_run_config_write_in(&config, NULL, CONFIG, err);
}

static wk_status read_config(wk_error *err)
{
    wk_run_config config;
    return wk_run_config_read(CONFIG, &config, err);
}

// Whatever happened, the file that is there reads.
static void config_is_whole(wk_status status)
{
    (void)status;
    wk_error err = {0};
    assert_ok(read_config(&err));
    // A disk that stays broken does not let the temporary file be deleted either.
    if (!fault_sweep.plan.persistent) assert_int_equal(count_files(FOLDER, "config.yaml", NULL), 1);
    assert_int_equal(system("rm -f " CONFIG ".tmp.*"), 0);
}

TEST_CASE(a_config_that_cannot_be_written_leaves_the_old_one)
{
    wk_error err = {0};
    assert_ok(write_config(&err));
    sweep_all(write_config, config_is_whole);
    sweep_all(read_config, NULL);
}

static wk_status note(wk_metrics *metrics, wk_error *err)
{
    uint8_t pixels[2 * 2 * 3] = {255, 0, 9};
    const wk_image image = {2, 2, pixels};
    wk_metrics_scalar(metrics, "train/model_loss", 0.5);
    wk_metrics_scalar(metrics, "fps", 7);
    WK_TRY(wk_metrics_image(metrics, "curriculum", &image, err));
    return wk_metrics_clip(metrics, "train_openl_image", &image, 1, err);
}

// A whole life: open, note, write, mark, resume from the mark, write again.
static wk_status log_something(wk_error *err)
{
    static const wk_metrics_mark beginning;
    wk_metrics_mark mark;
    wk_metrics *metrics = NULL;
    WK_TRY(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = true, .action_repeat = 2}, &beginning,
        &metrics, err));
    wk_status status = note(metrics, err);
    if (status == WK_OK) status = wk_metrics_write(metrics, 10, err);
    if (status == WK_OK) status = wk_metrics_position(metrics, &mark, err);
    wk_metrics_close(metrics);
    if (status != WK_OK) return status;
    WK_TRY(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = true, .action_repeat = 2}, &mark,
        &metrics, err));
    wk_metrics_scalar(metrics, "fps", 8);
    status = wk_metrics_write(metrics, 20, err);
    wk_metrics_close(metrics);
    return status;
}

static void lines_are_whole(wk_status status)
{
    size_t size = 0;
    char *text = NULL;
    if (wk_file_read(FOLDER "/metrics.jsonl", 1 << 20, &text, &size, NULL) != WK_OK) return;
    assert_true(size == 0 || text[size - 1] == '\n');
    if (status == WK_OK) assert_non_null(strstr(text, "\"step\": 40"));
    free(text);
}

TEST_CASE(logging_fails_cleanly)
{
    sweep_all(log_something, lines_are_whole);
}

TEST_CASE(a_full_disk_is_called_one_and_the_write_can_be_made_again)
{
    static const wk_metrics_mark beginning;
    wk_error err = {0};
    wk_metrics *metrics;
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = true, .action_repeat = 2}, &beginning,
        &metrics, &err));
    for (int k = 0; k < 2; k++) { // the line, then the event
        wk_metrics_scalar(metrics, "x", k);
        fault_arm(FAULT_WRITE, k, ENOSPC);
        assert_refused(wk_metrics_write(metrics, k, &err), WK_E_IO, "free some space");
        assert_true(fault_disarm(FAULT_WRITE));
        assert_ok(wk_metrics_write(metrics, k, &err));
    }
    wk_metrics_close(metrics);
    char *text = content(FOLDER, "metrics.jsonl", NULL);
    assert_string_equal(text, "{\"step\": 0, \"agent_step\": 0, \"x\": 0}\n"
                              "{\"step\": 2, \"agent_step\": 1, \"x\": 1}\n");
    free(text);
}

TEST_CASE(writes_of_one_byte_give_the_same_file)
{
    wk_error err = {0};
    assert_ok(log_something(&err));
    size_t size, again_size;
    char *whole = content(FOLDER, "metrics.jsonl", &size);
    fault_sweep_arm((fault_plan){.short_io = true});
    wk_status status = log_something(&err);
    fault_sweep_disarm();
    assert_ok(status);
    char *again = content(FOLDER, "metrics.jsonl", &again_size);
    assert_int_equal(size, again_size);
    assert_memory_equal(whole, again, size);
    free(whole);
    free(again);
}

TEST_CASE(a_number_that_memory_had_no_room_for_is_reported_by_the_write)
{
    static const wk_metrics_mark beginning;
    wk_error err = {0};
    wk_metrics *metrics;
    assert_ok(wk_metrics_open(
        &(wk_metrics_config){.logdir = FOLDER, .tensorboard = false, .action_repeat = 2},
        &beginning, &metrics, &err));
    fault_arm(FAULT_ALLOC, 0, ENOMEM);
    wk_metrics_scalar(metrics, "lost", 1);
    assert_true(fault_disarm(FAULT_ALLOC));
    wk_metrics_scalar(metrics, "kept", 2);
    assert_refused(wk_metrics_write(metrics, 5, &err), WK_E_MEMORY, "agent step 5");
    assert_ok(wk_metrics_write(metrics, 5, &err));
    wk_metrics_close(metrics);
    char *text = content(FOLDER, "metrics.jsonl", NULL);
    assert_string_equal(text, "{\"step\": 10, \"agent_step\": 5, \"kept\": 2}\n");
    free(text);
}

int main(void)
{
    return run_each_test(begin, end);
}
