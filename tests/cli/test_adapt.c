// waker adapt and waker finetune, as a user and a batch system run them: what they leave, signals
// and exit codes, both during a training process, and what they refuse.
#include "cli/long_runs.h"

static int setup_with_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --logdir run " QUIET_OPTIONS);
    program_succeed("train --logdir twin " QUIET_OPTIONS);
    return 0;
}

TEST_CASE(adapt_tells_what_it_does_and_where_it_is)
{
    program_result r = program_succeed("adapt run --task east --updates 20 --snapshot 201");
    expect_parts(r.err, "snapshot of 201 agent steps", "tasks east", "20/20 updates",
                 "policies in run/adapt/step-000000000201");
    expect_parts(r.out, "finished: run");
}

TEST_CASE(signals_end_an_adaptation_with_a_checkpoint_and_code_75)
{
    char calm[512], stopped[512], command[64];
    snprintf(command, sizeof command, "adapt twin --task all --updates %d --quiet", LONG_UPDATES);
    program_succeed("adapt run --task all --updates %d --quiet", LONG_UPDATES);
    const char *made = "twin/adapt/step-000000000402";
    interrupt(command, made, made, SIGUSR2);
    program_succeed("%s", command);
    inside("run", calm);
    inside("twin", stopped);
    same_file(calm, stopped, "adapt/step-000000000402/weights.safetensors", 0, 0);
    same_file(calm, stopped, "adapt/step-000000000402/metrics.jsonl", 0, 0);
}

TEST_CASE(a_killed_adaptation_continues_to_the_same_bytes)
{
    char calm[512], killed[512];
    const char *options = "--task west --snapshot 201 --restart --updates 600 --quiet";
    program_succeed("adapt run %s", options);
    pid_t child = start("adapt twin --task west --snapshot 201 --restart --updates 600 --quiet");
    wait_for_metrics("twin/adapt/step-000000000201");
    pause_ms(30);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    program_succeed("adapt twin --task west --snapshot 201 --updates 600 --quiet");
    inside("run", calm);
    inside("twin", killed);
    same_file(calm, killed, "adapt/step-000000000201/weights.safetensors", 0, 0);
    same_file(calm, killed, "adapt/step-000000000201/metrics.jsonl", 0, 0);
}

TEST_CASE(adapting_during_training_works_and_does_not_change_it)
{
    program_succeed("train --logdir calm " QUIET_OPTIONS " --steps 1500");
    program_succeed("train --logdir busy " QUIET_OPTIONS " --steps 700");
    pid_t child = start("train --logdir busy " QUIET_OPTIONS " --steps 1500");
    program_result r = program_run("adapt busy --task west --snapshot 201 --updates 50 --quiet");
    int code = exit_code(child);
    program_expect_success(r);
    assert_int_equal(code, 0);
    expect_same_end("calm", "busy");
}

TEST_CASE(finetune_continues_after_a_signal_to_the_same_bytes)
{
    char calm[512], stopped[512];
    const char *options = "--task east --steps 900 --quiet";
    const char *const runs[] = {"run", "twin"};
    for (int i = 0; i < 2; i++)
        program_succeed("adapt %s --task east,west --restart --updates 20 --quiet", runs[i]);
    program_succeed("finetune run %s", options);
    const char *made = "twin/finetune/step-000000000402-east";
    interrupt("finetune twin --task east --steps 900 --quiet", made, made, SIGHUP);
    program_succeed("finetune twin %s", options);
    inside("run/finetune/step-000000000402-east", calm);
    inside("twin/finetune/step-000000000402-east", stopped);
    same_end(calm, stopped);
    same_file(calm, stopped, "weights.safetensors", 0, 0);
    program_prints("ckpt run --check", "adapted ", "tasks east,west", "finetuned ");
}

// It is all ones, which is no word for "none was given".
#define LARGEST "18446744073709551615"

TEST_CASE(the_largest_seed_is_a_seed)
{
    program_succeed("train --logdir seeds " QUIET_OPTIONS);
    program_succeed("adapt seeds --task east --updates 2 --quiet");
    program_refuses("adapt seeds --task east --updates 2 --seed " LARGEST, "--name");
    program_succeed("finetune seeds --task east --steps 40 --quiet --seed " LARGEST);
    shell("grep -qx 'seed: " LARGEST "' seeds/finetune/step-000000000402-east/config.yaml");
    program_succeed("eval seeds --task east --cases dr --envs 1 --quiet --seed " LARGEST);
    shell("grep -q '\"eval_seed\": " LARGEST "' seeds/eval/adapted-000000000402*.json");
    program_refuses("eval seeds --set robust-v1 --seed " LARGEST, "leave out --cases");
}

TEST_CASE(adaptations_and_fine_tunings_of_one_snapshot_have_names)
{
    program_succeed("train --logdir many " QUIET_OPTIONS);
    program_succeed("adapt many --task east --updates 5 --quiet");
    shell("cp -rp many many-before");
    program_refuses("adapt many --task east --updates 5 --seed 7", "--name");
    program_succeed("adapt many --task all --updates 5 --seed 7 --name seed-7 --quiet");
    program_result r = program_succeed("finetune many --task east --steps 40 --name seed-7");
    expect_parts(r.err, "starts from the policy in 'many/adapt/step-000000000402.seed-7");
    r = program_succeed("finetune many --task east --steps 40 --name other");
    expect_parts(r.err, "'many/adapt/step-000000000402/weights.safetensors'");
    shell("test -f many/adapt/step-000000000402.seed-7/weights.safetensors");
    shell("test -f many/finetune/step-000000000402-east.seed-7/weights.safetensors");
    shell("! cmp -s many/adapt/step-000000000402/weights.safetensors "
          "many/adapt/step-000000000402.seed-7/weights.safetensors");
    // What has no name is as it was.
    shell("diff -r many-before/adapt/step-000000000402 many/adapt/step-000000000402");
    program_prints("ckpt many --check", "tasks west,east, name seed-7", "tasks east, name other");
    static const char *const bad[] = {"A", "a.b", "a/b", "a_b", "''", "'a b'", ".."};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        program_expect_error(program_run("adapt many --task east --name %s", bad[i]), 2, "a-z");
        program_expect_error(program_run("finetune many --task east --steps 9 --name %s", bad[i]),
                             2, "a-z");
        program_expect_error(program_run("eval many --name %s", bad[i]), 2, "a-z");
        program_expect_error(program_run("report many --out page --name %s", bad[i]), 2, "a-z");
    }
}

TEST_CASE(named_policies_are_evaluated_and_reported_apart)
{
    const char *eval = "eval many --task east --envs 2 --cases dr --quiet";
    program_succeed("%s", eval);
    shell("cp many/eval/adapted-000000000402.json plain.json");
    program_succeed("%s --name seed-7", eval);
    program_succeed("%s --policy finetuned --name seed-7", eval);
    program_succeed("%s --policy finetuned --name other", eval);
    shell("cmp many/eval/adapted-000000000402.json plain.json");
    shell("grep -q '\"policy\": \"adapted.seed-7\"' many/eval/adapted.seed-7-000000000402.json");
    shell("test -f many/eval/finetuned.seed-7-000000000402.csv");
    shell("test -f many/eval/finetuned.other-000000000402.csv");
    program_expect_error(program_run("%s --name none", eval), 2, "named 'none'");
    program_expect_error(program_run("%s --policy random --name other", eval), 2, "--name");
    program_succeed("openloop many --policy east --name seed-7 --steps 8 --quiet");
    shell("test -f many/eval/openloop-000000000402-east.seed-7.gif");
    program_refuses("openloop many --name seed-7", "--policy TASK");
    const char *errors = "model-error many --policy east --envs 2 --steps 4 --quiet";
    program_succeed("%s", errors);
    program_succeed("%s --name seed-7", errors);
    shell("grep -q '\"weights\": \"adapted\"' many/eval/model-error-000000000402*.json");
    shell("grep -q '\"weights\": \"adapted.seed-7\"' many/eval/model-error-000000000402*.json");
    program_refuses("model-error many --name seed-7", "--policy TASK");
    program_succeed("report many --out page --name seed-7 --reps 2 --quiet");
    shell("grep -q 'adapted.seed-7' page/tables/*.csv");
    shell("grep -q 'east.seed-7' page/tables/*.csv"); // its model error has a row of its own
    program_refuses("report many --out page --policy random --name a", "--name");
}

TEST_CASE(wrong_usage_is_reported)
{
    program_refuses("adapt run", "--task");
    program_refuses("adapt", "adapt");
    program_refuses("adapt run --task north", "'north'");
    program_refuses("adapt run --task west,,east", "called ''");
    program_refuses("adapt run --task all --snapshot x", "--snapshot");
    program_refuses("adapt run --task all --snapshot 1.5", "is not an agent step");
    program_refuses("adapt run --task all --snapshot 7", "201, 402");
    program_refuses("adapt run --task all --device tpu", "device");
    shell("mkdir empty");
    program_refuses("adapt empty --task all", "holds no run");
    program_refuses("finetune run --task east", "--steps");
    program_refuses("finetune run --steps 100", "--task");
    program_refuses("finetune run --task north --steps 100", "'north'");
    program_refuses("finetune run --task east --snapshot 7 --steps 100", "no policy to start from");
}

TEST_CASE(all_snapshots_are_adapted_by_one_command)
{
    shell("cp -r run curve && rm -rf curve/adapt");
    program_result r = program_succeed("adapt curve --task east --snapshot all");
    // 201 and 402 agent steps, one update for each six.
    expect_parts(r.err, "snapshot of 201 agent steps, tasks east, 33 updates",
                 "snapshot of 402 agent steps, tasks east, 67 updates");
    r = program_succeed("eval curve --snapshot all --envs 2 --cases dr");
}

TEST_CASE(damaged_and_foreign_snapshots_are_refused)
{
    shell("cp -r run hurt && echo nonsense > hurt/snapshots/step-000000000402.safetensors");
    program_refuses("adapt hurt --task all --restart", "step-000000000402.safetensors");
    program_succeed("train --logdir walker --configs terrain-walker " TINY_OPTIONS
                    " --domain terrain-walker --steps 60 --prefill 30 --quiet --replay.capacity "
                    "20000 --log.tensorboard false");
    shell("cp walker/snapshots/*.safetensors hurt/snapshots/step-000000000402.safetensors");
    program_refuses("adapt hurt --task all --restart", "domain terrain-walker");
}

TEST_MAIN(setup_with_run, teardown)
