// Plans, states and claims when memory and disks fail: every allocation and file call fails once in
// turn, then all from some call on. The error has a message, nothing leaks, and the same calls
// succeed afterwards.
#include "support/check.h"
#include "support/faults.h"
#include "sweep/sweep.h"
#include <glob.h>
#include <stdio.h>

static const char GRID[] = "blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
                           "keys: {seed: 0..1}\nwith: {dr: {units: 8}}\nexclude: [dr seed=1]\n"
                           "then: {adapt: --task all}\nreport: ''\n";

static char home[] = "faults-XXXXXX";
static wk_sweep_grid grid;
static wk_sweep_plan plan;

static wk_status make_plan(wk_error *err)
{
    wk_sweep_grid g;
    wk_sweep_plan p = {0};
    wk_text text = {0};
    const char *only = "curriculum=dr|waker-m,seed=0|5..6";
    WK_TRY(wk_sweep_grid_parse("grid.yaml", GRID, strlen(GRID), &g, err));
    wk_sweep_grid_print(&g, &text);
    wk_status status = wk_sweep_grid_add(&g, "seed=5..6", err);
    if (status == WK_OK) status = wk_sweep_plan_create(&g, home, &p, err);
    if (status == WK_OK) status = wk_sweep_plan_select(&p, &only, 1, err);
    wk_sweep_plan_free(&p);
    wk_text_free(&text);
    wk_sweep_grid_free(&g);
    return status;
}

// What a launcher and the process that it starts do in the directory.
static wk_status work(wk_error *err)
{
    wk_sweep_folder folder;
    wk_sweep_claim claim;
    wk_sweep_grid again;
    bool made;
    wk_status status = wk_sweep_folder_open(home, &folder, err);
    if (status == WK_OK) status = wk_sweep_folder_write(&folder, &grid, err);
    if (status == WK_OK) status = wk_sweep_folder_grid(home, &again, err);
    if (status == WK_OK) wk_sweep_grid_free(&again);
    if (status == WK_OK) status = wk_sweep_claim_take(&plan, 0, &claim, err);
    if (status == WK_OK) status = wk_sweep_claim_end(&claim, 1, "an error", err);
    if (status == WK_OK) status = wk_sweep_attempt_close(&plan, 0, 1, "another", err);
    if (status == WK_OK) status = wk_sweep_attempt_forget(&plan, 0, err);
    if (status == WK_OK) status = wk_sweep_follow_done(&plan, 0, WK_SWEEP_ADAPT, err);
    if (status == WK_OK) status = wk_sweep_manifest_write(&plan, 0, err);
    if (status == WK_OK) status = wk_sweep_report_done(&plan, &made, err);
    wk_sweep_folder_close(&folder);
    return status;
}

// Temporary files whose removal failed too.
static void remove_leftovers(void)
{
    glob_t found;
    char pattern[128];
    snprintf(pattern, sizeof pattern, "%s/{sweep,sweep/tasks/*,*/adapt}/*.tmp.*", home);
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
}

// Runs `act` with each call failing in turn.
static void fail_each(wk_status (*act)(wk_error *err), bool persistent, int error, int stride)
{
    long call = 1;
    for (bool fired = true; fired; call += stride) {
        wk_error err = {0};
        fault_sweep_arm((fault_plan){.call = call, .persistent = persistent, .error = error});
        wk_status status = act(&err);
        fired = fault_sweep_disarm();
        if (fault_sweep.blocks != 0)
            fail_msg("call %ld: %ld blocks leak", call, fault_sweep.blocks);
        if (fault_sweep.files != 0)
            fail_msg("call %ld: %ld files stay open", call, fault_sweep.files);
        if (status != WK_OK && !*err.message) fail_msg("call %ld: no message", call);
        if (!fired) assert_ok(status);
        assert_true(call < 100000);
        remove_leftovers();
    }
}

TEST_CASE(plans_fail_cleanly)
{
    fail_each(make_plan, false, EIO, fault_stride(7));
    fail_each(make_plan, true, EIO, fault_stride(13));
}

TEST_CASE(work_in_the_directory_fails_cleanly)
{
    wk_error err = {0};
    char path[64];
    snprintf(path, sizeof path, "%s/waker-m-seed0", home);
    assert_int_equal(mkdir(path, 0777), 0);
    fail_each(work, false, EIO, fault_stride(3));
    fail_each(work, true, ENOSPC, fault_stride(11));
    assert_ok(work(&err));
}

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

TEST_MAIN(set_up, tear_down)
