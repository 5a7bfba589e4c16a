// Saving and loading when memory and disks fail: every allocation and file call fails once in turn,
// then all from some call on, then the process dies at each call. The error is clear, nothing
// leaks, and the file under the final name is always a whole one.
#include "nn/safetensors.h"
#include "support/check.h"
#include "support/faults.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER "safetensors_faults.tmp"
#define PATH FOLDER "/weights.safetensors"

static wk_status save(float value, wk_error *err)
{
    float w[6];
    for (int i = 0; i < 6; i++)
        w[i] = value;
    const uint8_t flags[3] = {1, 2, 3};
    const wk_safetensors_source tensors[] = {{{"w", WK_ST_F32, 2, {2, 3}}, w},
                                             {{"flags", WK_ST_U8, 1, {3}}, flags}};
    const wk_safetensors_pair metadata[] = {{"step", "1"}, {"name", "x"}};
    return wk_safetensors_save_in(NULL, PATH, tensors, 2, metadata, 2, err);
}

static wk_status load(float *value, wk_error *err)
{
    float w[6];
    uint8_t flags[3];
    const wk_safetensors_target targets[] = {{{"w", WK_ST_F32, 2, {2, 3}}, w},
                                             {{"flags", WK_ST_U8, 1, {3}}, flags}};
    wk_safetensors *file = NULL;
    WK_TRY(wk_safetensors_open(PATH, &file, err));
    wk_status status = wk_safetensors_verify_weights(file, err);
    if (status == WK_OK) status = wk_safetensors_read_all(file, targets, 2, NULL, err);
    wk_safetensors_close(file);
    if (status == WK_OK) *value = w[0];
    return status;
}

static int entries_in_folder(void)
{
    int count = 0;
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void remove_temporaries(void)
{
    assert_int_equal(system("rm -f " PATH ".tmp.*"), 0);
}

static void assert_nothing_left_behind(long call)
{
    if (fault_sweep.blocks != 0) fail_msg("call %ld: %ld blocks leak", call, fault_sweep.blocks);
    if (fault_sweep.files != 0) fail_msg("call %ld: %ld files stay open", call, fault_sweep.files);
}

static void assert_clear_error(long call, wk_status status, const wk_error *err)
{
    if (status == WK_OK) fail_msg("call %ld: the failure went unnoticed", call);
    if (!strstr(err->message, "weights.safetensors"))
        fail_msg("call %ld: '%s' does not name the file", call, err->message);
}

static int set_up(void **state)
{
    wk_error err = {0};
    mkdir(FOLDER, 0777);
    return save(1, &err) != WK_OK;
}

static int tear_down(void **state)
{
    unlink(PATH);
    return rmdir(FOLDER);
}

// After a failed save the old content must be there, or, where only the last step (making the
// rename durable) failed, the new one.
static void sweep_save(bool persistent, int error)
{
    wk_error err = {0};
    float old = 0;
    assert_ok(load(&old, &err));
    long call = 1;
    for (;; call++) {
        err = (wk_error){0};
        float next = old + 1, found = 0;
        fault_sweep_arm((fault_plan){.call = call, .persistent = persistent, .error = error});
        wk_status status = save(next, &err);
        bool fired = fault_sweep_disarm();
        assert_nothing_left_behind(call);
        if (!fired) {
            assert_ok(status);
            break;
        }
        // The last call is the close of the directory, which has nothing left to lose.
        if (status != WK_OK) assert_clear_error(call, status, &err);
        assert_ok(load(&found, &err));
        assert_true(found == next || (found == old && status != WK_OK));
        // A disk that stays broken does not let the temporary file be deleted either.
        if (!persistent) assert_int_equal(entries_in_folder(), 1);
        remove_temporaries();
        old = found;
    }
    assert_true(call > 10);
}

TEST_CASE(a_save_that_fails_once_leaves_a_whole_file)
{
    sweep_save(false, EIO);
    sweep_save(false, ENOSPC);
}

TEST_CASE(a_save_on_a_disk_that_stays_broken_leaves_a_whole_file)
{
    sweep_save(true, EIO);
    sweep_save(true, ENOSPC);
}

TEST_CASE(a_full_disk_is_called_one)
{
    bool said = false;
    for (long call = 1;; call++) {
        wk_error err = {0};
        fault_sweep_arm((fault_plan){.call = call, .error = ENOSPC});
        save(2, &err);
        if (!fault_sweep_disarm()) break;
        said |= strstr(err.message, "free some space") != NULL;
    }
    assert_true(said);
}

static void sweep_load(bool persistent)
{
    long call = 1;
    for (;; call++) {
        wk_error err = {0};
        float found = 0;
        fault_sweep_arm((fault_plan){.call = call, .persistent = persistent});
        wk_status status = load(&found, &err);
        bool fired = fault_sweep_disarm();
        assert_nothing_left_behind(call);
        if (!fired) {
            assert_ok(status);
            break;
        }
        // Only closing a file that was read may fail unseen: what was read is there.
        if (status != WK_OK) assert_clear_error(call, status, &err);
    }
    assert_true(call > 10);
}

TEST_CASE(a_load_that_fails_once_says_so_and_leaks_nothing)
{
    sweep_load(false);
}

TEST_CASE(a_load_from_a_disk_that_stays_broken_leaks_nothing)
{
    sweep_load(true);
}

TEST_CASE(reads_and_writes_of_one_byte_give_the_same_file)
{
    wk_error err = {0};
    float found = 0;
    fault_sweep_arm((fault_plan){.short_io = true});
    assert_ok(save(7, &err));
    assert_ok(load(&found, &err));
    fault_sweep_disarm();
    assert_true(found == 7);
}

// The process dies at call k of a save; the next one finds the old or the new file, whole.
TEST_CASE(a_crash_at_any_call_of_a_save_leaves_a_whole_file)
{
    wk_error err = {0};
    assert_ok(save(1, &err));
    for (long call = 1;; call++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            fault_sweep_arm((fault_plan){.call = call, .crash = true});
            save(2, &err);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        float found = 0;
        assert_ok(load(&found, &err));
        assert_true(found == 1 || found == 2);
        if (WEXITSTATUS(status) == 0) {
            assert_true(found == 2 && call > 10);
            break;
        }
        assert_int_equal(WEXITSTATUS(status), FAULT_CRASH_CODE);
    }
    // What dead processes left is beside the file, never under its name.
    DIR *folder = opendir(FOLDER);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[600];
        snprintf(path, sizeof path, FOLDER "/%s", entry->d_name);
        if (strstr(entry->d_name, ".tmp.")) unlink(path);
    }
    closedir(folder);
}

TEST_MAIN_EACH(set_up, tear_down)
