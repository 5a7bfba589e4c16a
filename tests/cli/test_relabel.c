// waker relabel from a user's side: a reward becomes a task, adapt trains for it, eval plays it
// with the reward named; what is refused and how; and that nothing happens to a run where it fails.
#include "cli/long_runs.h"

#include <signal.h>

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
#define BALL PLUGINS "marker1.so"
#define OPTIONS TINY_OPTIONS " --log.tensorboard false --quiet"

static char mark[1024];

static bool was_loaded(void)
{
    bool there = wk_path_exists(mark);
    unlink(mark);
    return there;
}

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    char *path = realpath(place, NULL), settings[1100];
    snprintf(mark, sizeof mark, "%s/LOADED", path);
    snprintf(settings, sizeof settings, "%s/settings", path);
    free(path);
    setenv("MARK_FILE", mark, 1);
    setenv("XDG_CONFIG_HOME", settings, 1);
    shell("cp " PLUGINS "again_reward_mark.so mark.so");
    program_expect_success(program_run("train --logdir made " OPTIONS));
    return 0;
}

static void a_reward_becomes_a_task_with_a_policy(void **state)
{
    shell("cp -r made a");
    program_result r = program_run("relabel a --reward mark.so");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "task 'again' of a: 21 episodes"));
    assert_non_null(strstr(r.out, "reproduced bit for bit"));
    assert_true(was_loaded());
    // Twice changes nothing.
    shell("md5sum a/rewards/* > sums && touch -d @1 a/rewards/again.safetensors");
    r = program_run("relabel a --reward mark.so --json");
    program_expect_success(r);
    program_expect_json(r.out);
    assert_non_null(strstr(r.out, "\"simulated\": 0"));
    shell("md5sum -c --quiet sums && test $(stat -c %%Y a/rewards/again.safetensors) = 1");
    was_loaded();
    // The new task trains like the one it repeats: the same numbers, the same policy.
    program_expect_success(program_run("adapt a --task again --updates 4 --quiet"));
    program_expect_success(program_run("adapt a --task west --updates 4 --quiet --name west"));
    assert_false(was_loaded());
    static const char show[] = "grep -o '\"returns\": .*' a/eval/%s.json | head -1 > %s";
    program_expect_success(program_run("eval a --envs 4 --cases dr --task again --reward mark.so"));
    assert_true(was_loaded());
    program_expect_success(program_run("eval a --envs 4 --cases dr --task west --name west"));
    assert_false(was_loaded());
    shell(show, "adapted-000000000402", "x");
    shell(show, "adapted.west-000000000402", "y");
    shell("test -s x && cmp x y");
    // Other commands know the task without its code.
    program_expect_success(program_run("openloop a --policy again --out x.gif"));
    program_expect_success(program_run("report a --out page"));
    program_expect_success(program_run("ckpt a --check"));
    assert_false(was_loaded());
}

// Policies for all tasks that there were when the run was trained.
static void policies_trained_alongside_are_still_there(void **state)
{
    program_expect_success(program_run("train --logdir all " OPTIONS " --tasks all"));
    program_expect_success(program_run("eval all --envs 2 --cases dr"));
    shell("mv all/eval/alongside-000000000402.json before");
    program_expect_success(program_run("relabel all --reward mark.so"));
    program_expect_success(program_run("eval all --envs 2 --cases dr"));
    shell("cmp all/eval/alongside-000000000402.json before");
}

// Fine-tuning for the new task collects with its reward: to what the task it repeats comes to.
static void a_reward_is_collected_by_finetune(void **state)
{
    static const char again[] = "finetune %s --task again --reward mark.so --quiet --steps %d";
    static const char show[] = "grep -o '\"returns\": .*' a/eval/%s.json | head -1 > %s";
    shell("cp -r a parts");
    program_expect_error(program_run("finetune a --task again --steps 40"), 2, "add --reward ");
    program_expect_success(program_run(again, "a", 120));
    assert_true(was_loaded());
    program_expect_success(program_run("finetune a --task west --name west --quiet --steps 120"));
    program_expect_success(program_run("eval a --policy finetuned --envs 4 --cases dr --task again "
                                       "--reward mark.so"));
    program_expect_success(program_run("eval a --policy finetuned --envs 4 --cases dr --task west "
                                       "--name west"));
    was_loaded();
    shell(show, "finetuned-000000000402", "x");
    shell(show, "finetuned.west-000000000402", "y");
    shell("test -s x && cmp x y");
    shell("for run in again west.west; do sed s/again/west/g "
          "a/finetune/step-000000000402-$run/metrics.jsonl | grep -o '\"train/[^,]*' > $run; done; "
          "test -s again && cmp again west.west");
    // In parts it comes to the same bytes; the reward must be there each time.
    program_expect_success(program_run(again, "parts", 50));
    program_expect_error(program_run("finetune parts --task again --steps 120"), 2,
                         "add --reward ");
    program_expect_success(program_run(again, "parts", 120));
    shell(
        "cd parts/finetune/step-000000000402-again && "
        "cmp weights.safetensors ../../../a/finetune/step-000000000402-again/weights.safetensors");
    // It is a run like any other, whose data has the task; nothing of that needs code.
    was_loaded();
#define TUNED "a/finetune/step-000000000402-again"
    program_expect_success(program_run("ckpt " TUNED " --check"));
    program_expect_success(program_run("curriculum " TUNED));
    program_expect_success(program_run("adapt " TUNED " --task again --updates 2 --quiet"));
    program_expect_success(program_run("openloop " TUNED " --policy again --out x.gif"));
    program_expect_success(program_run("report a --out page"));
    program_expect_error(program_run("eval " TUNED " --policy alongside --envs 2 --cases dr"), 2,
                         "add --reward ");
    assert_false(was_loaded());
    program_result r = program_run("eval " TUNED " --policy alongside --envs 2 --cases dr "
                                   "--reward mark.so");
    program_expect_success(r);
    assert_null(strstr(r.err, "mean return 0 "));
    program_expect_error(program_run("finetune " TUNED " --task again --steps 9 --reward mark.so"),
                         2, "itself a fine-tuning");
    // Other code than what the old episodes have their rewards from is refused.
    program_expect_error(
        program_run("finetune a --task again --steps 130 --reward " PLUGINS "again_west.so"), 2,
        "computed by other code than this");
    was_loaded();
}

static void code_is_loaded_by_the_callers_word_alone(void **state)
{
    program_expect_error(program_run("eval a --envs 1 --cases dr"), 2, "add --reward ");
    program_expect_error(program_run("eval a --policy random --task again --envs 1"), 2,
                         "which was not named");
    program_expect_success(program_run("eval a --policy random --envs 1 --cases dr"));
    assert_false(was_loaded());
    program_expect_success(program_run("eval a --envs 1 --cases dr --reward mark.so"));
    assert_true(was_loaded());
    // Other content under the path is not the run's.
    shell("cp " PLUGINS "again_west.so mark.so");
    program_result r = program_run("eval a --envs 1 --cases dr --reward mark.so");
    program_expect_success(r);
    assert_non_null(strstr(r.err, "changed since the run was relabelled"));
    program_expect_error(program_run("relabel a --reward mark.so"), 2, "computed by other code");
    program_expect_success(program_run("relabel a --reward mark.so --restart"));
    program_expect_error(program_run("adapt a --task again --updates 6"), 2,
                         "its rewards were computed by other code since");
    program_expect_success(program_run("adapt a --task again --updates 2 --restart --quiet"));
    program_expect_error(program_run("eval made --reward mark.so"), 2, "has no task 'again'");
    assert_false(was_loaded());
}

static void rewards_that_cannot_be_are_told_apart(void **state)
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
    program_expect_error(program_run("relabel made"), 2, "--reward FILE");
    program_expect_error(program_run("relabel made --python m:f"), 2,
                         "python3 -m waker relabel made --python m:f");
    program_expect_error(program_run("relabel settings --reward mark.so"), 2, "holds no run");
    program_expect_error(program_run("adapt made --task again"), 2, "'again'");
    char path[512];
    assert_false(wk_path_exists(inside("made/rewards", path)));
}

// Episodes that a fine-tuning took from its run have the run's seed and not its own.
static void episodes_that_do_not_reproduce_are_named(void **state)
{
    program_expect_success(program_run("adapt made --task west --updates 2 --quiet"));
    program_expect_success(program_run("finetune made --task west --steps 40 --quiet"));
    program_expect_error(program_run("relabel made/finetune/step-000000000402-west --reward "
                                     "mark.so"),
                         2,
                         "episode 0 cannot be reproduced: at step 1 the reward of task 'west' is");
}

static void a_task_that_lacks_episodes_is_not_trained_for(void **state)
{
    program_expect_success(program_run("train --logdir grows " OPTIONS " --steps 200"));
    program_expect_success(program_run("relabel grows --reward mark.so"));
    program_expect_success(program_run("train --logdir grows " OPTIONS));
    program_expect_error(program_run("adapt grows --task again --updates 2"), 2,
                         "bring it up to date with 'waker relabel grows");
    program_expect_success(program_run("relabel grows --reward mark.so"));
    program_expect_success(program_run("adapt grows --task again --updates 2 --quiet"));
}

static void a_training_run_is_left_alone(void **state)
{
    pid_t child = start("train --logdir busy " TINY_OPTIONS
                        " --log.tensorboard false --steps 1000000 --quiet");
    wait_for_metrics("busy");
    char path[512];
    wait_until("test -e busy/checkpoints");
    program_result r = program_run("relabel busy --reward mark.so");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    program_expect_error(r, 2, "another process is training in 'busy'");
    assert_false(wk_path_exists(inside("busy/rewards", path)));
}

// A domain of a plug-in that lets its state be read; without its code nothing can be simulated.
static void episodes_of_a_plugins_domain_are_relabelled(void **state)
{
    program_expect_success(
        program_run("train --logdir ball " OPTIONS " --steps 200 --plugin " BALL));
    program_expect_error(program_run("relabel ball --reward mark.so"), 2, "add --plugin ");
    program_expect_success(program_run("relabel ball --reward mark.so --plugin " BALL));
    program_expect_success(program_run("adapt ball --task again,circle --updates 2 --quiet"));
    program_result r = program_run("eval ball --envs 2 --cases dr --reward mark.so --plugin " BALL);
    program_expect_success(r);
    assert_non_null(strstr(r.out, "again"));
    program_expect_error(program_run("eval ball --envs 2 --cases dr --plugin " BALL), 2,
                         "add --reward ");
    // Its description alone serves for what plays nothing.
    program_expect_success(program_run("curriculum ball"));
}

// Killed at many moments, the run has all of the reward or nothing; then the same command does it.
static void killed_it_leaves_the_run_as_it_was(void **state)
{
    shell("cp -r made whole && cp -r made killed");
    program_expect_success(program_run("relabel whole --reward mark.so --quiet"));
    for (int ms = 0; ms < 40; ms += 4) {
        pid_t child = start("relabel killed --reward mark.so --quiet --threads 1 >/dev/null");
        pause_ms(ms);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        shell("! test -e killed/rewards/again.safetensors || "
              "cmp whole/rewards/again.safetensors killed/rewards/again.safetensors");
    }
    shell("mkdir -p killed/rewards && touch killed/rewards/again.safetensors.tmp.77.0");
    program_expect_success(program_run("relabel killed --reward mark.so --quiet"));
    shell("cmp whole/rewards/again.safetensors killed/rewards/again.safetensors && "
          "test $(ls killed/rewards | wc -l) = 1 && "
          "diff -r whole killed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reward_becomes_a_task_with_a_policy),
        cmocka_unit_test(policies_trained_alongside_are_still_there),
        cmocka_unit_test(a_reward_is_collected_by_finetune),
        cmocka_unit_test(code_is_loaded_by_the_callers_word_alone),
        cmocka_unit_test(rewards_that_cannot_be_are_told_apart),
        cmocka_unit_test(episodes_that_do_not_reproduce_are_named),
        cmocka_unit_test(a_task_that_lacks_episodes_is_not_trained_for),
        cmocka_unit_test(a_training_run_is_left_alone),
        cmocka_unit_test(episodes_of_a_plugins_domain_are_relabelled),
        cmocka_unit_test(killed_it_leaves_the_run_as_it_was),
    };
    return cmocka_run_group_tests(tests, setup_run, teardown);
}
