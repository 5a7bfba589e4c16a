// waker adapt and waker finetune, as a user and a batch system run them: what they leave, signals
// and exit codes, both during a training process, and what they refuse.
#include "cli/long_runs.h"

#define QUIET_OPTIONS TINY_OPTIONS " --log.tensorboard false --quiet"

static int setup_with_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --logdir run " QUIET_OPTIONS));
    program_expect_success(program_run("train --logdir twin " QUIET_OPTIONS));
    return 0;
}

static void adapt_tells_what_it_does_and_where_it_is(void **state)
{
    program_result r = program_run("adapt run --task east --updates 20 --snapshot 201");
    program_expect_success(r);
    const char *const parts[] = {"snapshot of 201 agent steps", "tasks east", "20/20 updates",
                                 "policies in run/adapt/step-000000000201"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(r.err, parts[i])) fail_msg("'%s' lacks '%s'", r.err, parts[i]);
    assert_non_null(strstr(r.out, "finished: run"));
}

static void signals_end_an_adaptation_with_a_checkpoint_and_code_75(void **state)
{
    char calm[512], stopped[512], command[64];
    snprintf(command, sizeof command, "adapt twin --task all --updates %d --quiet", LONG_UPDATES);
    program_expect_success(program_run("adapt run --task all --updates %d --quiet", LONG_UPDATES));
    const char *made = "twin/adapt/step-000000000402";
    interrupt(command, made, made, SIGUSR2);
    program_expect_success(program_run("%s", command));
    inside("run", calm);
    inside("twin", stopped);
    same_file(calm, stopped, "adapt/step-000000000402/weights.safetensors", 0, 0);
    same_file(calm, stopped, "adapt/step-000000000402/metrics.jsonl", 0, 0);
}

static void a_killed_adaptation_continues_to_the_same_bytes(void **state)
{
    char calm[512], killed[512];
    const char *options = "--task west --snapshot 201 --restart --updates 600 --quiet";
    program_expect_success(program_run("adapt run %s", options));
    pid_t child = start("adapt twin --task west --snapshot 201 --restart --updates 600 --quiet");
    wait_for_metrics("twin/adapt/step-000000000201");
    pause_ms(30);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    program_expect_success(
        program_run("adapt twin --task west --snapshot 201 --updates 600 --quiet"));
    inside("run", calm);
    inside("twin", killed);
    same_file(calm, killed, "adapt/step-000000000201/weights.safetensors", 0, 0);
    same_file(calm, killed, "adapt/step-000000000201/metrics.jsonl", 0, 0);
}

static void adapting_during_training_works_and_does_not_change_it(void **state)
{
    char calm[512], busy[512];
    program_expect_success(program_run("train --logdir calm " QUIET_OPTIONS " --steps 1500"));
    program_expect_success(program_run("train --logdir busy " QUIET_OPTIONS " --steps 700"));
    pid_t child = start("train --logdir busy " QUIET_OPTIONS " --steps 1500");
    program_result r = program_run("adapt busy --task west --snapshot 201 --updates 50 --quiet");
    int code = exit_code(child);
    program_expect_success(r);
    assert_int_equal(code, 0);
    same_end(inside("calm", calm), inside("busy", busy));
}

static void finetune_continues_after_a_signal_to_the_same_bytes(void **state)
{
    char calm[512], stopped[512];
    const char *options = "--task east --steps 900 --quiet";
    const char *const runs[] = {"run", "twin"};
    for (int i = 0; i < 2; i++)
        program_expect_success(program_run("adapt %s --task east,west --restart --updates 20 "
                                           "--quiet",
                                           runs[i]));
    program_expect_success(program_run("finetune run %s", options));
    const char *made = "twin/finetune/step-000000000402-east";
    interrupt("finetune twin --task east --steps 900 --quiet", made, made, SIGHUP);
    program_expect_success(program_run("finetune twin %s", options));
    inside("run/finetune/step-000000000402-east", calm);
    inside("twin/finetune/step-000000000402-east", stopped);
    same_end(calm, stopped);
    same_file(calm, stopped, "weights.safetensors", 0, 0);
    program_result r = program_run("ckpt run --check");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "adapted "));
    assert_non_null(strstr(r.out, "tasks east,west"));
    assert_non_null(strstr(r.out, "finetuned "));
}

// It is all ones, which is no word for "none was given".
#define LARGEST "18446744073709551615"

static void the_largest_seed_is_a_seed(void **state)
{
    program_expect_success(program_run("train --logdir seeds " QUIET_OPTIONS));
    program_expect_success(program_run("adapt seeds --task east --updates 2 --quiet"));
    program_expect_error(program_run("adapt seeds --task east --updates 2 --seed " LARGEST), 2,
                         "--name");
    program_expect_success(
        program_run("finetune seeds --task east --steps 40 --quiet --seed " LARGEST));
    shell("grep -qx 'seed: " LARGEST "' seeds/finetune/step-000000000402-east/config.yaml");
    program_expect_success(
        program_run("eval seeds --task east --cases dr --envs 1 --quiet --seed " LARGEST));
    shell("grep -q '\"eval_seed\": " LARGEST "' seeds/eval/adapted-000000000402*.json");
    program_expect_error(program_run("eval seeds --set robust-v1 --seed " LARGEST), 2,
                         "leave out --cases");
}

static void adaptations_and_fine_tunings_of_one_snapshot_have_names(void **state)
{
    program_expect_success(program_run("train --logdir many " QUIET_OPTIONS));
    program_expect_success(program_run("adapt many --task east --updates 5 --quiet"));
    shell("cp -rp many many-before");
    program_expect_error(program_run("adapt many --task east --updates 5 --seed 7"), 2, "--name");
    program_expect_success(
        program_run("adapt many --task all --updates 5 --seed 7 --name seed-7 --quiet"));
    program_result r = program_run("finetune many --task east --steps 40 --name seed-7");
    program_expect_success(r);
    assert_non_null(
        strstr(r.err, "starts from the policy in 'many/adapt/step-000000000402.seed-7"));
    r = program_run("finetune many --task east --steps 40 --name other");
    program_expect_success(r);
    assert_non_null(strstr(r.err, "'many/adapt/step-000000000402/weights.safetensors'"));
    shell("test -f many/adapt/step-000000000402.seed-7/weights.safetensors");
    shell("test -f many/finetune/step-000000000402-east.seed-7/weights.safetensors");
    shell("! cmp -s many/adapt/step-000000000402/weights.safetensors "
          "many/adapt/step-000000000402.seed-7/weights.safetensors");
    // What has no name is as it was.
    shell("diff -r many-before/adapt/step-000000000402 many/adapt/step-000000000402");
    r = program_run("ckpt many --check");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "tasks west,east, name seed-7"));
    assert_non_null(strstr(r.out, "tasks east, name other"));
    static const char *const bad[] = {"A", "a.b", "a/b", "a_b", "''", "'a b'", ".."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        program_expect_error(program_run("adapt many --task east --name %s", bad[i]), 2, "a-z");
        program_expect_error(program_run("finetune many --task east --steps 9 --name %s", bad[i]),
                             2, "a-z");
        program_expect_error(program_run("eval many --name %s", bad[i]), 2, "a-z");
        program_expect_error(program_run("report many --out page --name %s", bad[i]), 2, "a-z");
    }
}

static void named_policies_are_evaluated_and_reported_apart(void **state)
{
    const char *eval = "eval many --task east --envs 2 --cases dr --quiet";
    program_expect_success(program_run("%s", eval));
    shell("cp many/eval/adapted-000000000402.json plain.json");
    program_expect_success(program_run("%s --name seed-7", eval));
    program_expect_success(program_run("%s --policy finetuned --name seed-7", eval));
    program_expect_success(program_run("%s --policy finetuned --name other", eval));
    shell("cmp many/eval/adapted-000000000402.json plain.json");
    shell("grep -q '\"policy\": \"adapted.seed-7\"' many/eval/adapted.seed-7-000000000402.json");
    shell("test -f many/eval/finetuned.seed-7-000000000402.csv");
    shell("test -f many/eval/finetuned.other-000000000402.csv");
    program_expect_error(program_run("%s --name none", eval), 2, "named 'none'");
    program_expect_error(program_run("%s --policy random --name other", eval), 2, "--name");
    program_expect_success(
        program_run("openloop many --policy east --name seed-7 --steps 8 --quiet"));
    shell("test -f many/eval/openloop-000000000402-east.seed-7.gif");
    program_expect_error(program_run("openloop many --name seed-7"), 2, "--policy TASK");
    const char *errors = "model-error many --policy east --envs 2 --steps 4 --quiet";
    program_expect_success(program_run("%s", errors));
    program_expect_success(program_run("%s --name seed-7", errors));
    shell("grep -q '\"weights\": \"adapted\"' many/eval/model-error-000000000402*.json");
    shell("grep -q '\"weights\": \"adapted.seed-7\"' many/eval/model-error-000000000402*.json");
    program_expect_error(program_run("model-error many --name seed-7"), 2, "--policy TASK");
    program_expect_success(program_run("report many --out page --name seed-7 --reps 2 --quiet"));
    shell("grep -q 'adapted.seed-7' page/tables/*.csv");
    shell("grep -q 'east.seed-7' page/tables/*.csv"); // its model error has a row of its own
    program_expect_error(program_run("report many --out page --policy random --name a"), 2,
                         "--name");
}

static void wrong_usage_is_reported(void **state)
{
    program_expect_error(program_run("adapt run"), 2, "--task");
    program_expect_error(program_run("adapt"), 2, "adapt");
    program_expect_error(program_run("adapt run --task north"), 2, "'north'");
    program_expect_error(program_run("adapt run --task west,,east"), 2, "called ''");
    program_expect_error(program_run("adapt run --task all --snapshot x"), 2, "--snapshot");
    program_expect_error(program_run("adapt run --task all --snapshot 1.5"), 2,
                         "is not an agent step");
    program_expect_error(program_run("adapt run --task all --snapshot 7"), 2, "201, 402");
    program_expect_error(program_run("adapt run --task all --device tpu"), 2, "device");
    shell("mkdir empty");
    program_expect_error(program_run("adapt empty --task all"), 2, "holds no run");
    program_expect_error(program_run("finetune run --task east"), 2, "--steps");
    program_expect_error(program_run("finetune run --steps 100"), 2, "--task");
    program_expect_error(program_run("finetune run --task north --steps 100"), 2, "'north'");
    program_expect_error(program_run("finetune run --task east --snapshot 7 --steps 100"), 2,
                         "no policy to start from");
}

static void all_snapshots_are_adapted_by_one_command(void **state)
{
    shell("cp -r run curve && rm -rf curve/adapt");
    program_result r = program_run("adapt curve --task east --snapshot all");
    program_expect_success(r);
    // 201 and 402 agent steps, one update for each six.
    const char *const parts[] = {"snapshot of 201 agent steps, tasks east, 33 updates",
                                 "snapshot of 402 agent steps, tasks east, 67 updates"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(r.err, parts[i])) fail_msg("'%s' lacks '%s'", r.err, parts[i]);
    r = program_run("eval curve --snapshot all --envs 2 --cases dr");
    program_expect_success(r);
}

static void damaged_and_foreign_snapshots_are_refused(void **state)
{
    shell("cp -r run hurt && echo nonsense > hurt/snapshots/step-000000000402.safetensors");
    program_expect_error(program_run("adapt hurt --task all --restart"), 2,
                         "step-000000000402.safetensors");
    program_expect_success(
        program_run("train --logdir walker --configs terrain-walker " TINY_OPTIONS
                    " --domain terrain-walker --steps 60 --prefill 30 --quiet --replay.capacity "
                    "20000 --log.tensorboard false"));
    shell("cp walker/snapshots/*.safetensors hurt/snapshots/step-000000000402.safetensors");
    program_expect_error(program_run("adapt hurt --task all --restart"), 2,
                         "domain terrain-walker");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapt_tells_what_it_does_and_where_it_is),
        cmocka_unit_test(signals_end_an_adaptation_with_a_checkpoint_and_code_75),
        cmocka_unit_test(a_killed_adaptation_continues_to_the_same_bytes),
        cmocka_unit_test(adapting_during_training_works_and_does_not_change_it),
        cmocka_unit_test(finetune_continues_after_a_signal_to_the_same_bytes),
        cmocka_unit_test(all_snapshots_are_adapted_by_one_command),
        cmocka_unit_test(the_largest_seed_is_a_seed),
        cmocka_unit_test(adaptations_and_fine_tunings_of_one_snapshot_have_names),
        cmocka_unit_test(named_policies_are_evaluated_and_reported_apart),
        cmocka_unit_test(wrong_usage_is_reported),
        cmocka_unit_test(damaged_and_foreign_snapshots_are_refused),
    };
    return cmocka_run_group_tests(tests, setup_with_run, teardown);
}
