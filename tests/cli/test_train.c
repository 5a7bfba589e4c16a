// waker train and the commands that look into a run, as a user and a batch system run them: signals
// and exit codes, refusals, every curriculum with both exploration policies, and what curriculum,
// ckpt and export say about the result.
#include "cli/long_runs.h"

#include "base/file.h"
#include "base/hash.h"
#include "run/checkpoint.h"
#include <glob.h>

TEST_CASE(signals_end_a_run_with_a_checkpoint_and_code_75)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
    char calm[512], stopped[512], options[768];
    snprintf(options, sizeof options, QUIET_OPTIONS " --steps %d", LONG_STEPS);
    program_succeed("train --logdir run-calm %s", options);
    inside("run-calm", calm);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        char command[1024], run[32];
        snprintf(run, sizeof run, "run-signal-%zu", i);
        snprintf(command, sizeof command, "train --logdir %s %s", run, options);
        interrupt(command, run, run, signals[i]);
        assert_true(newest_step(inside(run, stopped)) < LONG_STEPS);
        program_succeed("%s", command);
        same_end(calm, stopped);
    }
}

TEST_CASE(a_run_waits_for_one_that_is_ending_in_its_directory)
{
    char command[1024];
    snprintf(command, sizeof command, "train --logdir run-handed " QUIET_OPTIONS " --steps %d",
             LONG_STEPS);
    pid_t first = start_and_hold(command, "run-handed", "run-handed");
    program_expect_error(program_run("%s --lock-wait 0.1", command), 2,
                         "another process is training in 'run-handed'");
    char patient[1100];
    snprintf(patient, sizeof patient, "%s --lock-wait %d", command, PATIENCE_SECONDS);
    pid_t second = start(patient);
    wait_until("ls -l /proc/%d/fd | grep -q run-handed/lock", (int)second);
    kill(first, SIGTERM);
    kill(first, SIGCONT);
    assert_int_equal(exit_code(first), 75);
    assert_int_equal(exit_code(second), 0);
    expect_same_end("run-calm", "run-handed");
}

TEST_CASE(a_run_that_waits_says_so)
{
    pid_t first = start("train --logdir run-held " QUIET_OPTIONS " --steps 1e6");
    wait_for_metrics("run-held");
    program_result r = program_run("train --logdir run-held --lock-wait 0.2");
    program_expect_error(r, 2, "another process is training in 'run-held'; waiting up to 0.2 s");
    pid_t waiting = start("train --logdir run-held --lock-wait 1e4");
    wait_until("ls -l /proc/%d/fd | grep -q run-held/lock", (int)waiting);
    kill(waiting, SIGTERM);
    assert_int_equal(exit_code(waiting), 75);
    kill(first, SIGTERM);
    assert_int_equal(exit_code(first), 75);
}

TEST_CASE(nohup_makes_a_lost_terminal_harmless)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && trap '' HUP && exec " WAKER_BINARY_DIR
             "/waker train --logdir run-nohup " QUIET_OPTIONS " --steps %d",
             place, LONG_STEPS);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    wait_for_metrics("run-nohup");
    kill(child, SIGHUP);
    assert_int_equal(exit_code(child), 0);
}

// Runs it with its messages going to `output` (a redirection) and compares the end after going on.
static void expect_saved_when_output_ends(const char *before, const char *run, const char *output)
{
    char stopped[512];
    shell("(%s " WAKER_BINARY_DIR "/waker train --logdir %s " TINY_OPTIONS
          " --log.tensorboard false; echo $? >code) %s",
          before, run, output);
    shell("grep -qx 75 code");
    assert_true(newest_step(inside(run, stopped)) < 400);
    program_succeed("train --logdir %s " QUIET_OPTIONS, run);
    expect_same_end("run-heard", run);
}

TEST_CASE(output_that_nobody_takes_ends_a_run_with_a_checkpoint)
{
    program_succeed("train --logdir run-heard " QUIET_OPTIONS);
    int ends[2];
    char closed[32];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]); // nobody reads it
    snprintf(closed, sizeof closed, ">&%d 2>&1", ends[1]);
    expect_saved_when_output_ends("", "run-pipe", closed);
    close(ends[1]);
    shell("truncate -s 64M full.log");
    expect_saved_when_output_ends("ulimit -f 131072;", "run-full", "2>>full.log");
}

TEST_CASE(the_same_command_says_what_it_saved)
{
    program_result r = program_run("train --logdir run-time " TINY_OPTIONS " --minutes 1e-7");
    assert_int_equal(r.code, 75);
    expect_parts(r.out, "run the same command to resume");
    r = program_succeed("train --logdir run-time " TINY_OPTIONS);
    expect_parts(r.out, "finished: run-time");
    expect_parts(r.err, "resuming after", "the run's 57 updates will take", "updates/s");
}

// Makes the newest checkpoint of a run one of another MuJoCo.
static void forge_engine(const char *run, uint64_t version)
{
    char pattern[600], folder[512];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/checkpoints/step-*/run.bin", inside(run, folder));
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    const char *path = found.gl_pathv[found.gl_pathc - 1];
    char *bytes;
    size_t size;
    uint32_t sum;
    wk_error err = {0};
    assert_ok(wk_file_read(path, 1 << 24, &bytes, &size, &err));
    memcpy(bytes + offsetof(wk_run_header, engine), &version, sizeof version);
    sum = wk_crc32c(0, bytes, size - sizeof sum);
    memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
    assert_ok(wk_file_write(path, bytes, size, &err));
    free(bytes);
    globfree(&found);
}

TEST_CASE(a_run_made_with_another_engine_says_so)
{
    program_succeed("train --logdir run-engine --configs clean-up dr random quick "
                    "--env.count 2 --prefill 20 --steps 20");
    program_result r = program_succeed("train --logdir run-engine --steps 24 --quiet");
    assert_null(strstr(r.err, "MuJoCo"));
    forge_engine("run-engine", 3003007);
    r = program_succeed("train --logdir run-engine --steps 28");
    expect_parts(r.err, "this run was made with MuJoCo 3.3.7 and continues with ");
    forge_engine("run-engine", 222);
    r = program_run("train --logdir run-engine --steps 32");
    expect_parts(r.err, "made with MuJoCo 2.2.2 and");
}

// Whether the process has a signal that it has not handled yet.
static bool is_pending(pid_t process, int number)
{
    char path[64], line[256];
    unsigned long long set = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "ShdPnd: %llx", &set) == 1) break;
    fclose(file);
    return set >> (number - 1) & 1;
}

TEST_CASE(a_second_interrupt_quits_at_once)
{
    // Iterations that take long, so that the second signal comes within the one of the first; they
    // begin soon after the first episodes, which end in the prefill, have been logged.
    const char *options = "train --quiet --logdir run-twice --configs toy --prefill 180 "
                          "--batch 40 --length 20 --horizon 15 --units 200 --rssm.deter 300";
    int code = 0;
    for (int attempt = 0; attempt < 20 && code != 130; attempt++) {
        shell("rm -rf run-twice");
        pid_t child = start(options);
        wait_for_metrics("run-twice");
        pause_ms(100);
        kill(child, SIGINT);
        while (is_pending(child, SIGINT)) // two that come at once are one
            pause_ms(1);
        kill(child, SIGINT);
        code = exit_code(child);
    }
    assert_int_equal(code, 130);
}

TEST_CASE(every_curriculum_trains_with_both_exploration_policies)
{
    static const char *const rules[] = {"dr", "waker-m", "waker-r", "ge", "he-oracle", "rw-oracle"};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (int random = 0; random < 2; random++)
            program_succeed("train --logdir run-%s-%d " QUIET_OPTIONS
                            " --curriculum.rule %s --exploration %s "
                            "--steps 180 --train_every 1 --curriculum.reduction_start 80 "
                            "--curriculum.reduction_every 20",
                            rules[i], random, rules[i], random ? "random" : "plan2explore");
}

// A rate so large that the actor saturates at once, unless there is a penalty on that.
TEST_CASE(a_saturated_exploration_policy_is_reported)
{
#define SATURATING                                                                                 \
    "--configs toy dr plan2explore --prefill 200 --train_every 2 --units 16 --rssm.deter 8 "       \
    "--rssm.hidden 8 --encoder.depth 1 --batch 2 --length 4 --horizon 2 --ensemble.size 2 "        \
    "--snapshot.every 0 --log.tensorboard false --log.images_every 0 --steps 2400 "
    static const char said[] = "the exploration policy has learned nothing in 1";
    program_result r = program_succeed("train --logdir run-saturated " SATURATING
                                       "--policy.exploration_rate 0.3 --policy.saturation_scale 0");
    expect_parts(r.err, said, "policy.saturation_scale (now 0)",
                 "policy.exploration_rate (now 0.3)");
    r = program_succeed("train --logdir run-alive " SATURATING "--policy.exploration_rate 0.3");
    assert_null(strstr(r.err, said));
}

TEST_CASE(a_fixed_curriculum_stays_in_the_environments_it_is_given)
{
    program_succeed("train --logdir run-fixed " QUIET_OPTIONS
                    " --curriculum.rule fixed --curriculum.theta '0.15; 2' "
                    "--tasks west --eval.every 100 --eval.envs 4 --steps 180");
    // 0.15 is between two points of the grid, 2 lies outside it.
    shell(
        "grep -o 'env_param_0\": [0-9.]*' run-fixed/metrics.jsonl | sort -u | wc -l | grep -qx 2");
    shell("grep -q 'eval_west_train_mean_return' run-fixed/metrics.jsonl");
    program_prints("curriculum run-fixed --json", "0.15");
    program_result r = program_succeed("eval run-fixed --envs 6 --json");
    expect_parts(r.out, "\"train\"");
    assert_null(strstr(r.out, "\"storm\""));
    program_succeed("openloop run-fixed --out fixed.gif --steps 8 --quiet");
    const char *fixed = "train --logdir run-x " QUIET_OPTIONS " --curriculum.rule fixed";
    program_refuses(fixed, "--curriculum.theta '1' ('waker envs toy'");
    program_expect_error(program_run("%s --curriculum.theta 0.1,0.2", fixed), 2, "turbulence");
    program_expect_error(program_run("%s --curriculum.theta '0.1;;0.2'", fixed), 2, "θ number 2");
    program_expect_error(program_run("%s --curriculum.theta '0.1;0.1'", fixed), 2,
                         "θ number 1 and 2 are the same θ; list it once");
    program_expect_error(program_run("%s --curriculum.theta 99", fixed), 2,
                         "curriculum.theta '99'");
    program_refuses("train --logdir run-x " QUIET_OPTIONS
                    " --curriculum.rule he-oracle --curriculum.theta 0.1",
                    "leave curriculum.theta empty");
}

TEST_CASE(a_finished_run_stays_as_it_is_whatever_its_evaluations)
{
    // 402 steps: the last evaluation is not one of every 150.
    const char *train = "train --logdir run-evals " TINY_OPTIONS " --tasks west --eval.every 150 "
                        "--eval.envs 2 --quiet";
    program_succeed("%s", train);
    shell("test -f run-evals/eval/alongside-000000000402.json");
    shell("rm -rf evals-before && cp -rp run-evals evals-before");
    program_succeed("%s", train);
    shell("diff -r run-evals evals-before");
}

// Every name of a log, with TASK, OOD_CASE and so on for what differs from run to run, is in
// docs/training.md.
TEST_CASE(every_logged_name_is_documented)
{
    program_succeed("train --logdir run-names " TINY_OPTIONS " --tasks all --eval.every 100 "
                    "--eval.envs 2 --log.timing true --quiet");
    program_succeed("adapt run-names --task west --updates 10 --quiet");
    program_succeed("finetune run-names --task west --steps 30 --quiet");
    shell("python3 -c '\n"
          "import glob, json, re\n"
          "page = open(\"" WAKER_SOURCE_DIR "/docs/training.md\").read()\n"
          "names = set()\n"
          "for file in glob.glob(\"run-names/**/metrics.jsonl\", recursive=True):\n"
          "    for line in open(file):\n"
          "        names |= set(json.loads(line))\n"
          "for name in sorted(names):\n"
          "    for what, word in ((r\"_(west|east|expl)(?=_|/|$)\", \"_TASK\"),\n"
          "                       (r\"OOD_storm\", \"uniform\"), (r\"\\[.*\", \"[P0 P1]\"),\n"
          "                       (r\"_param_[0-9]+\", \"_param_I\"),\n"
          "                       (r\"(_mean|_indicator)_distance$\", r\"\\1_NAME\"),\n"
          "                       (r\"^(eval.*)_(length|completion)$\", r\"\\1_return\")):\n"
          "        name = re.sub(what, word, name)\n"
          "    assert \"`\" + name + \"`\" in page, name\n"
          "assert len(names) > 60, names'");
}

TEST_CASE(a_directory_in_use_or_with_another_run_is_refused)
{
    program_succeed("train --logdir run-taken " QUIET_OPTIONS " --steps 60");
    program_refuses("train --logdir run-taken " QUIET_OPTIONS " --steps 60 --batch 3", "batch");
    program_refuses("train --logdir run-taken " QUIET_OPTIONS " --steps 60 --seed 6", "seed");
    pid_t child = start("train --logdir run-busy " QUIET_OPTIONS " --steps 1000000");
    wait_for_metrics("run-busy");
    program_refuses("train --logdir run-busy " QUIET_OPTIONS " --steps 1000000", "another process");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST_CASE(wrong_settings_name_the_key)
{
    program_refuses("train --configs toy", "--logdir");
    program_refuses("train --logdir run-x --rssm.detre 5", "rssm.deter");
    program_refuses("train --logdir run-x --batch many", "batch");
    program_refuses("train --logdir run-x --batch 2.5", "batch");
    program_refuses("train --logdir run-x --configs tpy", "toy");
    program_refuses("train --logdir run-x --configs toy --curriculum.rule waker-n", "waker-m");
    program_refuses("train --logdir run-x --configs toy --curriculum.plugin nothing.so",
                    "nothing.so");
    program_refuses("train --logdir /proc/no --configs toy", "/proc/no");
}

TEST_CASE(a_new_run_without_configs_is_asked_for_them)
{
    program_refuses("train --logdir run-x", "--configs");
    program_refuses("train --logdir run-x --domain clean-up", "--configs");
    program_refuses("train --logdir run-x --steps 300", "'run-x' holds no run to resume");
    shell("! test -e run-x");
}

TEST_CASE(a_run_goes_on_when_it_is_only_named)
{
    program_succeed("train --logdir run-whole " QUIET_OPTIONS);
    program_result r = program_run("train --logdir run-bare " QUIET_OPTIONS " --minutes 1e-7");
    assert_int_equal(r.code, 75);
    r = program_succeed("train --logdir run-bare --quiet --minutes 0");
    expect_same_end("run-whole", "run-bare");
    program_refuses("train --logdir run-bare --batch 3", "batch");
}

TEST_CASE(a_run_begins_with_the_settings_of_another)
{
    program_succeed("train --logdir run-first " QUIET_OPTIONS);
    program_succeed("train --logdir run-second --quiet --from run-first --seed 9");
    shell("diff run-first/config.yaml run-second/config.yaml | grep '^[<>]' | sort >d; "
          "printf '< seed: 5\\n> seed: 9\\n' | cmp - d");
    // The same command continues; a file, and blocks over it, work alike.
    program_succeed("train --logdir run-second --quiet --from run-first --seed 9");
    program_succeed("train --logdir run-third --quiet --config-file "
                    "run-first/config.yaml --configs random --steps 100");
    shell("grep -qx 'exploration: random' run-third/config.yaml && "
          "grep -qx 'batch: 2' run-third/config.yaml");
    // Blocks are to change what a saved run has: no warning, as there is for keys of one's own.
    program_result r =
        program_succeed("config --config-file run-first/config.yaml --configs random");
    assert_string_equal(r.err, "");
    program_refuses("train --logdir run-x --from nowhere", "holds no run");
}

TEST_CASE(a_run_that_cannot_begin_leaves_nothing_behind)
{
    program_refuses("train --logdir run-none " QUIET_OPTIONS " --device cuda:1000", "");
    shell("! test -e run-none");
}

// A mistyped directory must not hide the runs that are there.
TEST_CASE(a_run_does_not_begin_among_others_or_within_one)
{
    static const char train[] = "train --logdir %s " QUIET_OPTIONS " --steps 100";
    program_succeed(train, "among/first");
    program_succeed(train, "among/second"); // beside it is fine
    program_expect_error(program_run(train, "among"), 2,
                         "'among' holds runs in directories of their own; resume one of them "
                         "(--logdir among/first), or give the new run a directory of its own "
                         "(--logdir among/NAME)");
    program_expect_error(program_run(train, "among/first/x/y"), 2, "lies within the directory of");
    program_expect_error(program_run(train, "/"), 2, "the root of the file system");
    shell("mkdir -p swept/sweep && touch swept/sweep/grid.yaml a-file");
    program_expect_error(program_run(train, "swept"), 2,
                         "'swept' holds a sweep; resume it with 'waker sweep --logdir swept'");
    program_expect_error(program_run(train, "a-file"), 2, "'a-file' is a file");
    shell("! test -e among/config.yaml && ! test -e among/first/x && ! test -e swept/lock");
    // Other programs have a config.yaml too.
    shell("mkdir -p project && echo 'name: x' >project/config.yaml");
    program_succeed(train, "project/runs/first");
    // Runs that an older version began within others are seen, and go on.
    shell("cp -r among/second among/first/nested && cp -r among/second among/first/finetune");
    program_result r = program_succeed("top among");
    if (!strstr(r.out, "first/nested") || strstr(r.out, "finetune") || !strstr(r.out, "3 runs"))
        fail_msg("%s", r.out);
    program_succeed("train --quiet --logdir among/first/nested --steps 150");
    program_succeed("train --quiet --logdir among/first --steps 150");
}

TEST_CASE(a_directory_of_runs_is_not_taken_for_one)
{
    program_succeed("train --logdir several " QUIET_OPTIONS
                    " --steps 100 --each curriculum.rule=waker-m,dr");
    static const char expected[] =
        "'several' holds no run but a population; give one of its runs, for example "
        "'several/dr'";
    program_refuses("eval several", expected);
    program_refuses("curriculum several", expected);
    program_refuses("train --logdir other --from several", expected);
    shell("mkdir -p several/sweep && touch several/sweep/grid.yaml");
    program_refuses("eval several", "'several' holds no run but a sweep;");
}

TEST_CASE(the_curriculum_of_a_run_is_shown_as_text_json_and_image)
{
    program_succeed("train --logdir run-shown " QUIET_OPTIONS);
    program_prints("curriculum run-shown --out map.png", "waker-m", "turbulence", "probability",
                   "most likely", "error");
    unsigned long size;
    unsigned char *png = program_read("map.png", &size);
    assert_true(png && size > 500 && memcmp(png, "\211PNG", 4) == 0);
    free(png);
    program_result r = program_succeed("curriculum run-shown --json");
    program_expect_json(r.out);
    program_refuses("curriculum nowhere", "holds no run");
    program_refuses("curriculum", "a run is required");
}

TEST_CASE(episodes_are_exported_the_same_way_twice)
{
    program_succeed("train --logdir run-out " QUIET_OPTIONS);
    program_prints("export run-out --out episodes --episodes 3", "3 episodes");
    shell("test $(ls episodes | wc -l) = 3");
    program_succeed("export run-out --out episodes --episodes 3");
    shell("test $(ls episodes | wc -l) = 3");
    program_refuses("export run-out", "--out");
}

TEST_MAIN(setup, teardown)
