// Repairs when disks fail and processes end: every file call of a repair fails once, and the
// process ends at every one. The same repair afterwards succeeds, or has been done already, and the
// run goes on.
#include "run/repair.h"
#include "support/faults.h"
#include "train/runs.h"
#include <sys/wait.h>

#define RUN "repair-faults.tmp"
#define HURT "repair-faults-hurt.tmp"

static wk_error err;

static wk_run_config a_run(int64_t steps)
{
    wk_run_config config = quiet_run();
    config.steps = steps;
    config.prefill = 30, config.checkpoint_every_steps = 60, config.log_images_every = 0;
    return config;
}

static int begin(void **state)
{
    (void)state;
    wk_run_config config = a_run(150);
    remove_tree(HURT);
    run_to_end(&config, HURT);
    FILE *file = fopen(HURT "/replay/replay-00000000.log", "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 5000, SEEK_SET), 0);
    assert_int_equal(fputs("damage", file), 1);
    fclose(file);
    return 0;
}

static int end_all(void **state)
{
    (void)state;
    remove_tree(RUN);
    remove_tree(HURT);
    return 0;
}

static void prepare(void)
{
    assert_int_equal(system("rm -rf " RUN " && cp -r " HURT " " RUN), 0);
}

static void repair_and_go_on(bool train)
{
    wk_run_repair done;
    wk_run_repairs repairs;
    wk_run_config config = a_run(165);
    wk_run_control control = {0};
    wk_run_end end;
    assert_ok(wk_run_repair_log(RUN, NULL, &done, &err));
    assert_ok(wk_checkpoint_verify(RUN, done.step, &err));
    assert_ok(wk_run_repairs_read(RUN, &repairs, &err));
    assert_true(repairs.count >= 1 && repairs.lost == 1);
    if (train) assert_ok(wk_train(&config, RUN, NULL, &control, &end, &err));
}

static void a_repair_shows_how_far_it_is(void **state)
{
    (void)state;
    char shown[8192];
    FILE *file = tmpfile();
    wk_progress_line progress = {0};
    wk_run_repair done;
    assert_non_null(file);
    prepare();
    wk_progress_start(&progress, fileno(file), "checkpoints");
    progress.line.interval = 0; // also what takes no time
    assert_ok(wk_run_repair_log(RUN, &progress, &done, &err));
    wk_progress_finish(&progress);
    rewind(file);
    shown[fread(shown, 1, sizeof shown - 1, file)] = 0;
    fclose(file);
    assert_non_null(strstr(shown, "2/2 checkpoints  100.0%"));
    assert_non_null(strstr(shown, "1/1 segments  100.0%"));
    assert_non_null(strstr(shown, " episodes  100.0%"));
}

static void every_file_call_fails_once(void **state)
{
    (void)state;
    int faults = 0;
    for (int k = 0; k < N_FAULT_FILES; k++) {
        for (int n = 0;; n += n < 9 ? 1 : fault_stride(7), faults++) {
            wk_run_repair done;
            prepare();
            err = (wk_error){0};
            fault_arm(fault_files[k].call, n, fault_files[k].error);
            wk_status status = wk_run_repair_log(RUN, NULL, &done, &err);
            bool happened = fault_disarm(fault_files[k].call);
            if (status != WK_OK && !*err.message) fail_msg("call %d of kind %d: no message", n, k);
            if (!happened) assert_ok(status);
            repair_and_go_on(n % 8 == 0);
            if (!happened) break;
        }
    }
    print_message("%d file calls failed\n", faults);
    assert_true(faults > 60 / FAULT_SPARSE);
}

static void the_process_ends_at_every_call(void **state)
{
    (void)state;
    int ends = 0;
    for (long n = 1;; n += n < 20 ? 1 : fault_stride(9), ends++) {
        prepare();
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            wk_run_repair done;
            fault_sweep_arm((fault_plan){.call = n, .crash = true});
            _exit(wk_run_repair_log(RUN, NULL, &done, &err) != WK_OK);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        repair_and_go_on(n % 8 == 0);
        if (WEXITSTATUS(status) != FAULT_CRASH_CODE) break;
    }
    print_message("%d processes ended\n", ends);
    assert_true(ends > 40 / FAULT_SPARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repair_shows_how_far_it_is),
        cmocka_unit_test(every_file_call_fails_once),
        cmocka_unit_test(the_process_ends_at_every_call),
    };
    return cmocka_run_group_tests(tests, begin, end_all);
}
