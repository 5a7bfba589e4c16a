// Evaluating when memory and disks fail: allocations and file calls of an evaluation with its files
// and videos fail, one at a time. The error is clear, nothing is leaked, and files that
// were there are whole.
#include "eval/fixture.h"
#include "eval/result.h"
#include "support/faults.h"
#include "train/runs.h"

#define FOLDER "eval-faults.tmp"

static const struct {
    fault_call call;
    int error;
} faults[] = {{FAULT_ALLOC, ENOMEM}, {FAULT_OPEN, EMFILE}, {FAULT_WRITE, ENOSPC},
              {FAULT_SYNC, EIO},     {FAULT_RENAME, EIO},  {FAULT_CLOSE, EIO}};
enum { N_FAULTS = sizeof faults / sizeof *faults, FIRST = 350 };

// Two episodes of two steps, three videos, two files.
static wk_status evaluate(const toy *t, wk_learner *learner, wk_error *err)
{
    wk_eval_setup setup = {
        .learner = learner, .case_names = "dr", .threads = 1, .keep_actions = true};
    wk_eval_result result = {.origin = {.domain = &t->domain,
                                        .curriculum = "dr",
                                        .exploration = "random",
                                        .policy = "alongside"},
                             .envs = 2};
    wk_status status = wk_eval_result_add(&result, &setup, 0, err);
    if (status == WK_OK) status = wk_eval_result_play(&result, &setup, 0, 0, err);
    if (status == WK_OK) status = wk_eval_result_folder(FOLDER, err);
    if (status == WK_OK) status = wk_eval_result_choose(&result, FOLDER, err);
    if (status == WK_OK)
        status = wk_video_write(&result, &setup, &result.tasks[0], FOLDER, WK_VIDEO_GIF, err);
    if (status == WK_OK) status = wk_eval_result_write(&result, FOLDER, err);
    wk_eval_result_free(&result);
    return status;
}

static char *document(void)
{
    wk_error err = {0};
    char *bytes;
    assert_ok(
        wk_file_read(FOLDER "/eval/alongside-000000000000.json", 1 << 20, &bytes, NULL, &err));
    return bytes;
}

// Evaluates with call `n` of a kind failing; false once there is no such call any more.
static bool evaluate_with_fault(const toy *t, wk_learner *learner, int kind, int n)
{
    wk_error err = {0};
    fault_arm(faults[kind].call, n, faults[kind].error);
    wk_status status = evaluate(t, learner, &err);
    bool happened = fault_disarm(faults[kind].call);
    if (status != WK_OK && !*err.message) fail_msg("call %d of kind %d: no message", n, kind);
    if (!happened) assert_ok(status);
    assert_int_equal(toy_worlds(), 0);
    return happened;
}

TEST_CASE(a_failed_evaluation_says_why_and_leaves_whole_files)
{
    wk_error err = {0};
    toy t = toy_make(TOY_SOUND);
    t.domain.episode_steps = 2;
    fixture r = open_fixture(1);
    remove_tree(FOLDER);
    assert_ok(evaluate(&t, r.learner, &err));
    char *before = document();
    int count = 0;
    // The second and third video repeat the calls of the first: one in seven will do.
    for (int kind = 0; kind < N_FAULTS; kind++)
        for (int n = 0; evaluate_with_fault(&t, r.learner, kind, n);
             n += n < FIRST ? fault_stride(1) : fault_stride(7)) {
            char *now = document();
            assert_string_equal(now, before);
            free(now);
            count++;
        }
    assert_true(count > 100 / FAULT_SPARSE);
    free(before);
    close_fixture(&r);
    remove_tree(FOLDER);
}

TEST_MAIN(NULL, NULL)
