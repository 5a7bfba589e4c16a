// waker model-error as a user runs it: tables, files, maps, every kind of policy, and what is
// refused with which words.
#include "cli/long_runs.h"

#define QUIET_OPTIONS TINY_OPTIONS " --log.tensorboard false --quiet"
#define FEW " --envs 6 --steps 8"

// A run with task policies alongside, and one without.
static int make_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --logdir tasks " QUIET_OPTIONS " --tasks all"));
    program_expect_success(program_run("train --logdir free " QUIET_OPTIONS));
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

static void two_runs_are_compared_in_one_table(void **state)
{
    program_result r = program_run("model-error tasks free" FEW);
    program_expect_success(r);
    static const char *const parts[] = {"tasks",  "free",       "waker-m",    "402",
                                        "random", "worst 10 %", "rank corr.", "estimate"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(r.out, parts[i])) fail_msg("no '%s' in:\n%s", parts[i], r.out);
    // Runs of two domains are not measured in the same environments.
    assert_null(strstr(r.out, "the same for every run"));
    assert_non_null(strstr(r.out, "runs of one domain with the same env.options are measured"));
    r = program_run("model-error free" FEW);
    program_expect_success(r);
    assert_null(strstr(r.out, "runs of one domain"));
}

static void the_file_holds_every_environment_and_is_the_same_twice(void **state)
{
    program_expect_success(program_run("model-error free" FEW));
    char *first = read_text("free/eval/model-error-000000000402.json");
    program_expect_json(first);
    assert_non_null(strstr(first, "\"waker-model-error-1\""));
    assert_int_equal(count_of(first, "\"policy\": \"random\""), 1);
    assert_int_equal(count_of(first, "\"episodes\": 6"), 1);
    program_result r = program_run("model-error free --threads 2 --json" FEW);
    program_expect_success(r);
    program_expect_json(r.out);
    char *second = read_text("free/eval/model-error-000000000402.json");
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void every_policy_and_every_snapshot_can_be_asked_for(void **state)
{
    program_result r = program_run("model-error tasks --policy all --snapshot all --json" FEW);
    program_expect_success(r);
    assert_int_equal(count_of(r.out, "\"waker-model-error-1\""), 2);
    assert_int_equal(count_of(r.out, "\"policy\": \"random\""), 2);
    assert_int_equal(count_of(r.out, "\"policy\": \"east\""), 2);
    assert_int_equal(count_of(r.out, "\"policy\": \"west\""), 2);
    r = program_run("model-error tasks --policy west,random --weights alongside" FEW);
    program_expect_success(r);
    assert_non_null(strstr(r.out, "west"));
}

static void a_file_holds_what_one_command_measured(void **state)
{
    static const char *const others[] = {"--policy east" FEW, "--envs 3 --steps 8 --seed 2",
                                         "--trajectories 2" FEW};
    program_expect_success(program_run("model-error tasks --out kept --policy west,random" FEW));
    char *first = read_text("kept/eval/model-error-000000000402.json");
    assert_int_equal(count_of(first, "\"policy\": \"random\""), 1);
    assert_int_equal(count_of(first, "\"policy\": \"west\""), 1);
    for (int i = 0; i < 3; i++) {
        program_expect_success(program_run("model-error tasks --out kept %s", others[i]));
        shell("test $(ls kept/eval/model-error-000000000402-????????.json | wc -l) = %d", i + 1);
    }
    program_expect_success(program_run("model-error tasks --out kept --policy random,west" FEW));
    char *again = read_text("kept/eval/model-error-000000000402.json");
    assert_string_equal(first, again);
    shell("test $(ls kept/eval | wc -l) = 4");
    free(first);
    free(again);
}

static void adapted_policies_are_taken_where_there_are_some(void **state)
{
    program_expect_success(program_run("adapt free --task east --updates 2 --quiet"));
    program_result r = program_run("model-error free --policy east --json" FEW);
    program_expect_success(r);
    assert_non_null(strstr(r.out, "\"weights\": \"adapted\""));
    program_expect_error(program_run("model-error free --policy west" FEW), 2, "east");
}

static void maps_are_printed_and_drawn(void **state)
{
    program_result r = program_run("model-error tasks --map --out map.png" FEW);
    program_expect_success(r);
    assert_non_null(strstr(r.out, "tasks, agent step 402, random, toy"));
    assert_non_null(strstr(r.out, "estimate"));
    unsigned long size;
    unsigned char *png = program_read("map.png", &size);
    assert_non_null(png);
    assert_true(size > 100);
    assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
    free(png);
}

static void what_cannot_be_measured_is_refused_with_advice(void **state)
{
    program_expect_error(program_run("model-error nowhere"), 2, "holds no run");
    program_expect_error(program_run("model-error tasks --policy eats" FEW), 2, "east");
    program_expect_error(program_run("model-error tasks --policy ''" FEW), 2, "random");
    program_expect_error(program_run("model-error tasks --snapshot 77" FEW), 2, "402");
    program_expect_error(program_run("model-error tasks --weights adapted --policy east" FEW), 2,
                         "waker adapt");
    program_expect_error(program_run("model-error tasks --weights newest" FEW), 2, "adapted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_are_compared_in_one_table),
        cmocka_unit_test(the_file_holds_every_environment_and_is_the_same_twice),
        cmocka_unit_test(every_policy_and_every_snapshot_can_be_asked_for),
        cmocka_unit_test(a_file_holds_what_one_command_measured),
        cmocka_unit_test(adapted_policies_are_taken_where_there_are_some),
        cmocka_unit_test(maps_are_printed_and_drawn),
        cmocka_unit_test(what_cannot_be_measured_is_refused_with_advice),
    };
    return cmocka_run_group_tests(tests, make_runs, teardown);
}
