// Curricula from shared objects through waker train: the template does what it says, a run with it
// resumes exactly, and each way a plug-in can be wrong has its message.
#include "support/program.h"
#include "train/runs.h"

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
#define OPTIONS TINY_OPTIONS " --log.tensorboard false --exploration random"

static program_result train(const char *logdir, const char *plugin, const char *more)
{
    return program_run("train --logdir %s " OPTIONS " --curriculum.plugin %s %s", logdir, plugin,
                       more);
}

TEST_CASE(the_template_trains_and_is_named)
{
    program_result result = train("a", PLUGINS "even.so", "");
    program_expect_success(result);
    expect_parts(result.err, "toy, even, random");
    result = program_succeed("curriculum a --json");
    program_expect_json(result.out);
    expect_parts(result.out, "\"rule\": \"even\"");
}

TEST_CASE(a_run_with_a_plugin_resumes_to_the_same_bytes)
{
    program_expect_success(train("whole", PLUGINS "even.so", "--quiet"));
    program_expect_success(train("halves", PLUGINS "even.so", "--quiet --steps 200"));
    program_expect_success(train("halves", PLUGINS "even.so", "--quiet"));
    unsigned long a_size, b_size;
    unsigned char *a = program_read("whole/metrics.jsonl", &a_size);
    unsigned char *b = program_read("halves/metrics.jsonl", &b_size);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(a_size, b_size);
    assert_memory_equal(a, b, a_size);
    free(a);
    free(b);
    // Another rule is another run.
    program_refuses("train --logdir whole " OPTIONS " --quiet", "curriculum.plugin");
}

TEST_CASE(a_command_that_names_another_rule_or_domain_is_refused)
{
    program_expect_error(train("both", PLUGINS "even.so", "--curriculum.rule dr"), 2,
                         "curriculum.rule 'dr' contradicts curriculum.plugin, which has 'even'");
    program_expect_error(
        train("both", PLUGINS "even.so", "--domain toy --plugin " PLUGINS "ball.so"), 2,
        "domain 'toy' contradicts plugin, which has 'ball-on-table'");
}

// The prefill that a run with the rule of rule_prefill.so, which has 70, would get.
static void expect_prefill(const char *options, const char *expected)
{
    program_result result =
        program_succeed("config --yaml --curriculum.plugin " PLUGINS "rule_prefill.so %s", options);
    expect_parts(result.out, expected);
}

TEST_CASE(the_prefill_of_a_rule_is_the_default_of_a_run)
{
    expect_prefill("--configs clean-up paper", "\nprefill: 70\n");
    expect_prefill("--configs combined", "\nprefill: 200000\n");
    expect_prefill("--configs clean-up --prefill 60", "\nprefill: 60\n");
    program_result result =
        program_run("config --configs clean-up --curriculum.plugin " PLUGINS "rule_prefill.so");
    expect_parts(result.out, "prefill                     70  ");
    program_refuses("config --configs clean-up --curriculum.plugin " PLUGINS
                    "rule_prefill_negative.so",
                    "rule_prefill_negative.so': prefill: -1");
}

// Begins a run that sets no prefill, or goes on with it, for a moment.
static void train_shortly(const char *logdir, const char *plugin)
{
    program_result result = program_run(
        "train --logdir %s --configs defaults --domain toy --exploration random --quiet "
        "--log.tensorboard false --log.images_every 0 --env.count 3 --env.threads 1 "
        "--encoder.depth 1 --rssm.deter 6 --rssm.hidden 6 --rssm.stoch 3 --rssm.classes 3 "
        "--units 6 --layers 1 --ensemble.size 2 --batch 2 --length 6 --horizon 3 --steps 100000 "
        "--replay.capacity 100000 --minutes 0.001 --curriculum.plugin " PLUGINS "%s",
        logdir, plugin);
    if (result.code != 75) fail_msg("%s, exit code %d: %s", logdir, result.code, result.err);
}

TEST_CASE(a_run_goes_on_with_the_prefill_of_its_rule)
{
    train_shortly("new", "rule_prefill.so");
    train_shortly("new", "rule_prefill.so");
    expect_file_parts("new/config.yaml", "\nprefill: 70\n");
}

TEST_CASE(plugins_that_cannot_be_loaded_are_told_apart)
{
    static const struct {
        const char *file, *message;
    } broken[] = {
        {"no-such.so", "there is no file"},
        {"rule_missing.so",
         "add a function `const wk_curriculum_rule *wk_plugin_curriculum(void)`"},
        {"rule_null.so", "returns NULL; return the address of your rule"},
        {"rule_other_abi.so", "built for version 1 of the curriculum interface"},
        {"rule_nameless.so", "lacks a name"},
        {"rule_bad_name.so", "name 'my rule/../x' is not a name; use 1 to 63 characters of a-z"},
        {"rule_name_taken.so", "'waker-m' has the name of a built-in one"},
        {"ball.so", "does not define 'wk_plugin_curriculum'"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char path[1024];
        snprintf(path, sizeof path, PLUGINS "%s", broken[i].file);
        if (strcmp(broken[i].file, "ball.so") == 0 && !wk_path_exists(path)) continue;
        program_result result = train("bad", path, "--quiet");
        assert_true(result.code == 1 || result.code == 2);
        program_expect_error(result, result.code, broken[i].message);
        expect_parts(result.err, broken[i].file);
    }
}

TEST_CASE(distributions_that_are_none_stop_the_run_and_say_which_theta)
{
    static const struct {
        const char *file, *message;
    } broken[] = {
        {"rule_negative.so", "the probability -"},
        {"rule_nan.so", "the probability nan"},
        {"rule_sum.so", "sum to 1.5 instead of 1"},
        {"rule_zero.so", "sum to 0 instead of 1"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char path[1024], logdir[32];
        snprintf(path, sizeof path, PLUGINS "%s", broken[i].file);
        snprintf(logdir, sizeof logdir, "broken%zu", i);
        program_result result = train(logdir, path, "--quiet");
        program_expect_error(result, 2, broken[i].message);
        expect_parts(result.err, "curriculum 'even'");
    }
}

TEST_MAIN(program_setup, program_teardown)
