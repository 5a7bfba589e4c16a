// waker relabel from a user's side: a reward becomes a task, adapt trains for it, eval plays it
// with the reward named; what is refused and how; and that nothing happens to a run where it fails.
#include "cli/long_runs.h"

#include <signal.h>

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
#define BALL PLUGINS "marker1.so"

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    setenv("MARK_FILE", load_mark, 1);
    shell("cp " PLUGINS "again_reward_mark.so mark.so");
    program_succeed("train --logdir made " QUIET_OPTIONS);
    return 0;
}

TEST_CASE(a_reward_becomes_a_task_with_a_policy)
{
    shell("cp -r made a");
    program_prints("relabel a --reward mark.so", "task 'again' of a: 21 episodes",
                   "reproduced bit for bit");
    assert_true(was_loaded());
    // Twice changes nothing.
    shell("md5sum a/rewards/* > sums && touch -d @1 a/rewards/again.safetensors");
    program_result r = program_succeed("relabel a --reward mark.so --json");
    program_expect_json(r.out);
    expect_parts(r.out, "\"simulated\": 0");
    shell("md5sum -c --quiet sums && test $(stat -c %%Y a/rewards/again.safetensors) = 1");
    was_loaded();
    // The new task trains like the one it repeats: the same numbers, the same policy.
    program_succeed("adapt a --task again --updates 4 --quiet");
    program_succeed("adapt a --task west --updates 4 --quiet --name west");
    assert_false(was_loaded());
    static const char show[] = "grep -o '\"returns\": .*' a/eval/%s.json | head -1 > %s";
    program_succeed("eval a --envs 4 --cases dr --task again --reward mark.so");
    assert_true(was_loaded());
    program_succeed("eval a --envs 4 --cases dr --task west --name west");
    assert_false(was_loaded());
    shell(show, "adapted-000000000402", "x");
    shell(show, "adapted.west-000000000402", "y");
    shell("test -s x && cmp x y");
    // Other commands know the task without its code.
    program_succeed("openloop a --policy again --out x.gif");
    program_succeed("report a --out page");
    program_succeed("ckpt a --check");
    assert_false(was_loaded());
}

// Policies for all tasks that there were when the run was trained.
TEST_CASE(policies_trained_alongside_are_still_there)
{
    program_succeed("train --logdir all " QUIET_OPTIONS " --tasks all");
    program_succeed("eval all --envs 2 --cases dr");
    shell("mv all/eval/alongside-000000000402.json before");
    program_succeed("relabel all --reward mark.so");
    program_succeed("eval all --envs 2 --cases dr");
    shell("cmp all/eval/alongside-000000000402.json before");
}

// Fine-tuning for the new task collects with its reward: to what the task it repeats comes to.
TEST_CASE(a_reward_is_collected_by_finetune)
{
    static const char again[] = "finetune %s --task again --reward mark.so --quiet --steps %d";
    static const char show[] = "grep -o '\"returns\": .*' a/eval/%s.json | head -1 > %s";
    shell("cp -r a parts");
    program_refuses("finetune a --task again --steps 40", "add --reward ");
    program_succeed(again, "a", 120);
    assert_true(was_loaded());
    program_succeed("finetune a --task west --name west --quiet --steps 120");
    program_succeed("eval a --policy finetuned --envs 4 --cases dr --task again "
                    "--reward mark.so");
    program_succeed("eval a --policy finetuned --envs 4 --cases dr --task west "
                    "--name west");
    was_loaded();
    shell(show, "finetuned-000000000402", "x");
    shell(show, "finetuned.west-000000000402", "y");
    shell("test -s x && cmp x y");
    shell("for run in again west.west; do sed s/again/west/g "
          "a/finetune/step-000000000402-$run/metrics.jsonl | grep -o '\"train/[^,]*' > $run; done; "
          "test -s again && cmp again west.west");
    // In parts it comes to the same bytes; the reward must be there each time.
    program_succeed(again, "parts", 50);
    program_refuses("finetune parts --task again --steps 120", "add --reward ");
    program_succeed(again, "parts", 120);
    shell(
        "cd parts/finetune/step-000000000402-again && "
        "cmp weights.safetensors ../../../a/finetune/step-000000000402-again/weights.safetensors");
    // It is a run like any other, whose data has the task; nothing of that needs code.
    was_loaded();
#define TUNED "a/finetune/step-000000000402-again"
    program_succeed("ckpt " TUNED " --check");
    program_succeed("curriculum " TUNED);
    program_succeed("adapt " TUNED " --task again --updates 2 --quiet");
    program_succeed("openloop " TUNED " --policy again --out x.gif");
    program_succeed("report a --out page");
    program_refuses("eval " TUNED " --policy alongside --envs 2 --cases dr", "add --reward ");
    assert_false(was_loaded());
    program_result r = program_succeed("eval " TUNED " --policy alongside --envs 2 --cases dr "
                                       "--reward mark.so");
    assert_null(strstr(r.err, "mean return 0 "));
    program_refuses("finetune " TUNED " --task again --steps 9 --reward mark.so",
                    "itself a fine-tuning");
    // Other code than what the old episodes have their rewards from is refused.
    program_refuses("finetune a --task again --steps 130 --reward " PLUGINS "again_west.so",
                    "computed by other code than this");
    was_loaded();
}

TEST_CASE(code_is_loaded_by_the_callers_word_alone)
{
    program_refuses("eval a --envs 1 --cases dr", "add --reward ");
    program_refuses("eval a --policy random --task again --envs 1", "which was not named");
    program_succeed("eval a --policy random --envs 1 --cases dr");
    assert_false(was_loaded());
    program_succeed("eval a --envs 1 --cases dr --reward mark.so");
    assert_true(was_loaded());
    // Other content under the path is not the run's.
    shell("cp " PLUGINS "again_west.so mark.so");
    program_result r = program_succeed("eval a --envs 1 --cases dr --reward mark.so");
    expect_parts(r.err, "changed since the run was relabelled");
    program_refuses("relabel a --reward mark.so", "computed by other code");
    program_succeed("relabel a --reward mark.so --restart");
    program_refuses("adapt a --task again --updates 6",
                    "its rewards were computed by other code since");
    program_succeed("adapt a --task again --updates 2 --restart --quiet");
    program_refuses("eval made --reward mark.so", "has no task 'again'");
    assert_false(was_loaded());
}

TEST_CASE(rewards_that_cannot_be_are_told_apart)
{
    static const struct {
        const char *file, *message;
    } broken[] = {
        {"no-such.so", "there is no file"},
        {"again_reward_missing.so", "add a function `const wk_reward *wk_plugin_reward(void)`"},
        {"again_reward_null.so", "returns NULL; return the address of your reward"},
        {"again_reward_other_abi.so", "built for version 42 of the reward interface"},
        {"again_reward_nameless.so", "no name that a task can have"},
        {"again_reward_name_taken.so", "'east' has the name of a task of 'toy'"},
        {"again_reward_reserved.so", "'explore', which stands for the exploration policy"},
        {"again_reward_nan.so", "is not a finite number at step 8 of episode 0"},
        {"again_reward_large.so", "of episode 0 (as a float: at most 3.4e38 in size)"},
        {"again_reward_greedy.so", "asks for 1073741824 bytes"},
        {"again_stand.so", "refuses a world of 'toy': it has no xpos/right_foot"},
        {"push_green.so", "it has no arena with blocks"},
        {"walk_at.so", "it has no walker"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        program_result r = program_run("relabel made --reward " PLUGINS "%s", broken[i].file);
        program_expect_error(r, 2, broken[i].message);
    }
    // A sanitizer ends the process with its own code.
    program_result r = program_run("relabel made --reward " PLUGINS "again_reward_forgetful.so");
    assert_true(r.code == 128 + SIGSEGV || r.code == 1);
    program_refuses("relabel made", "--reward FILE");
    program_refuses("relabel made --python m:f", "python3 -m waker relabel made --python m:f");
    program_refuses("relabel settings --reward mark.so", "holds no run");
    program_refuses("adapt made --task again", "'again'");
    shell("! test -e made/rewards");
}

// Episodes that a fine-tuning took from its run have the run's seed and not its own.
TEST_CASE(episodes_that_do_not_reproduce_are_named)
{
    program_succeed("adapt made --task west --updates 2 --quiet");
    program_succeed("finetune made --task west --steps 40 --quiet");
    program_refuses("relabel made/finetune/step-000000000402-west --reward "
                    "mark.so",
                    "episode 0 cannot be reproduced: at step 1 the reward of task 'west' is");
}

TEST_CASE(a_task_that_lacks_episodes_is_not_trained_for)
{
    program_succeed("train --logdir grows " QUIET_OPTIONS " --steps 200");
    program_succeed("relabel grows --reward mark.so");
    program_succeed("train --logdir grows " QUIET_OPTIONS);
    program_refuses("adapt grows --task again --updates 2",
                    "bring it up to date with 'waker relabel grows");
    program_succeed("relabel grows --reward mark.so");
    program_succeed("adapt grows --task again --updates 2 --quiet");
}

TEST_CASE(a_training_run_is_left_alone)
{
    pid_t child = start("train --logdir busy " TINY_OPTIONS
                        " --log.tensorboard false --steps 1000000 --quiet");
    wait_for_metrics("busy");
    wait_until("test -e busy/checkpoints");
    program_result r = program_run("relabel busy --reward mark.so");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    program_expect_error(r, 2, "another process is training in 'busy'");
    shell("! test -e busy/rewards");
}

// A domain of a plug-in that lets its state be read; without its code nothing can be simulated.
TEST_CASE(episodes_of_a_plugins_domain_are_relabelled)
{
    program_succeed("train --logdir ball " QUIET_OPTIONS " --steps 200 --plugin " BALL);
    program_refuses("relabel ball --reward mark.so", "add --plugin ");
    program_succeed("relabel ball --reward mark.so --plugin " BALL);
    program_succeed("adapt ball --task again,circle --updates 2 --quiet");
    program_result r =
        program_succeed("eval ball --envs 2 --cases dr --reward mark.so --plugin " BALL);
    expect_parts(r.out, "again");
    program_refuses("eval ball --envs 2 --cases dr --plugin " BALL, "add --reward ");
    // Its description alone serves for what plays nothing.
    program_succeed("curriculum ball");
}

// Killed at many moments, the run has all of the reward or nothing; then the same command does it.
TEST_CASE(killed_it_leaves_the_run_as_it_was)
{
    shell("cp -r made whole && cp -r made killed");
    program_succeed("relabel whole --reward mark.so --quiet");
    for (int ms = 0; ms < 40; ms += 4) {
        pid_t child = start("relabel killed --reward mark.so --quiet --threads 1 >/dev/null");
        pause_ms(ms);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        shell("! test -e killed/rewards/again.safetensors || "
              "cmp whole/rewards/again.safetensors killed/rewards/again.safetensors");
    }
    shell("mkdir -p killed/rewards && touch killed/rewards/again.safetensors.tmp.77.0");
    program_succeed("relabel killed --reward mark.so --quiet");
    shell("cmp whole/rewards/again.safetensors killed/rewards/again.safetensors && "
          "test $(ls killed/rewards | wc -l) = 1 && "
          "diff -r whole killed");
}

TEST_MAIN(setup_run, teardown)
