// waker model-error as a user runs it: tables, files, maps, every kind of policy, and what is
// refused with which words.
#include "cli/long_runs.h"

#define FEW " --envs 6 --steps 8"

// A run with task policies alongside, and one without.
static int make_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --logdir tasks " QUIET_OPTIONS " --tasks all");
    program_succeed("train --logdir free " QUIET_OPTIONS);
    return 0;
}

static char *read_text(const char *name)
{
    unsigned long size;
    unsigned char *bytes = program_read(name, &size);
    char *text = bytes ? calloc(1, size + 1) : NULL;
    if (!text) fail_msg("no '%s'", name);
    memcpy(text, bytes, size);
    free(bytes);
    return text;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

TEST_CASE(two_runs_are_compared_in_one_table)
{
    program_result r = program_succeed("model-error tasks free" FEW);
    expect_parts(r.out, "tasks", "free", "waker-m", "402", "random", "worst 10 %", "rank corr.",
                 "estimate");
    // Runs of two domains are not measured in the same environments.
    assert_null(strstr(r.out, "the same for every run"));
    expect_parts(r.out, "runs of one domain with the same env.options are measured");
    r = program_succeed("model-error free" FEW);
    assert_null(strstr(r.out, "runs of one domain"));
}

TEST_CASE(the_file_holds_every_environment_and_is_the_same_twice)
{
    program_succeed("model-error free" FEW);
    char *first = read_text("free/eval/model-error-000000000402.json");
    program_expect_json(first);
    expect_parts(first, "\"waker-model-error-1\"");
    assert_int_equal(count_of(first, "\"policy\": \"random\""), 1);
    assert_int_equal(count_of(first, "\"episodes\": 6"), 1);
    program_result r = program_succeed("model-error free --threads 2 --json" FEW);
    program_expect_json(r.out);
    char *second = read_text("free/eval/model-error-000000000402.json");
    assert_string_equal(first, second);
    free(first);
    free(second);
}

TEST_CASE(every_policy_and_every_snapshot_can_be_asked_for)
{
    program_result r = program_succeed("model-error tasks --policy all --snapshot all --json" FEW);
    assert_int_equal(count_of(r.out, "\"waker-model-error-1\""), 2);
    assert_int_equal(count_of(r.out, "\"policy\": \"random\""), 2);
    assert_int_equal(count_of(r.out, "\"policy\": \"east\""), 2);
    assert_int_equal(count_of(r.out, "\"policy\": \"west\""), 2);
    program_prints("model-error tasks --policy west,random --weights alongside" FEW, "west");
}

TEST_CASE(a_file_holds_what_one_command_measured)
{
    static const char *const others[] = {"--policy east" FEW, "--envs 3 --steps 8 --seed 2",
                                         "--trajectories 2" FEW};
    program_succeed("model-error tasks --out kept --policy west,random" FEW);
    char *first = read_text("kept/eval/model-error-000000000402.json");
    assert_int_equal(count_of(first, "\"policy\": \"random\""), 1);
    assert_int_equal(count_of(first, "\"policy\": \"west\""), 1);
    for (int i = 0; i < 3; i++) {
        program_succeed("model-error tasks --out kept %s", others[i]);
        shell("test $(ls kept/eval/model-error-000000000402-????????.json | wc -l) = %d", i + 1);
    }
    program_succeed("model-error tasks --out kept --policy random,west" FEW);
    char *again = read_text("kept/eval/model-error-000000000402.json");
    assert_string_equal(first, again);
    shell("test $(ls kept/eval | wc -l) = 4");
    free(first);
    free(again);
}

TEST_CASE(adapted_policies_are_taken_where_there_are_some)
{
    program_succeed("adapt free --task east --updates 2 --quiet");
    program_prints("model-error free --policy east --json" FEW, "\"weights\": \"adapted\"");
    program_refuses("model-error free --policy west" FEW, "east");
}

TEST_CASE(maps_are_printed_and_drawn)
{
    program_result r = program_succeed("model-error tasks --map --out map.png" FEW);
    expect_parts(r.out, "tasks, agent step 402, random, toy", "estimate");
    unsigned long size;
    unsigned char *png = program_read("map.png", &size);
    assert_non_null(png);
    assert_true(size > 100);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    free(png);
}

TEST_CASE(what_cannot_be_measured_is_refused_with_advice)
{
    program_refuses("model-error nowhere", "holds no run");
    program_refuses("model-error tasks --policy eats" FEW, "east");
    program_refuses("model-error tasks --policy ''" FEW, "random");
    program_refuses("model-error tasks --snapshot 77" FEW, "402");
    program_refuses("model-error tasks --weights adapted --policy east" FEW, "waker adapt");
    program_refuses("model-error tasks --weights newest" FEW, "adapted");
}

TEST_MAIN(make_runs, teardown)
