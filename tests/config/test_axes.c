// The runs of a population from --each: which there are, how they are called, what is refused.
#include "config/axes.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static wk_each *parse(const char *const *texts, int count)
{
    wk_error err = {0};
    wk_each *each = NULL;
    assert_ok(wk_each_create(texts, count, &each, &err));
    return each;
}

#define PARSE(...)                                                                                 \
    parse((const char *const[]){__VA_ARGS__},                                                      \
          (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)))

// All runs as lines "name: key=value key=value".
static const char *describe(wk_each *each)
{
    static char all[8192];
    size_t used = 0;
    for (int run = 0; run < wk_each_runs(each); run++) {
        wk_setting settings[WK_EACH_KEYS_MAX];
        char name[WK_EACH_NAME_MAX];
        wk_each_name(each, run, name);
        used += (size_t)snprintf(all + used, sizeof all - used, "%s:", name);
        int count = wk_each_settings(each, run, settings);
        for (int i = 0; i < count; i++)
            used +=
                (size_t)snprintf(all + used, sizeof all - used, " %.*s=%s",
                                 (int)settings[i].key_length, settings[i].key, settings[i].value);
        used += (size_t)snprintf(all + used, sizeof all - used, "\n");
    }
    wk_each_destroy(each);
    return all;
}

TEST_CASE(runs_are_the_product_and_the_last_key_changes_fastest)
{
    assert_string_equal(describe(PARSE("curriculum.rule=waker-m,dr", "seed=0..2")),
                        "waker-m-seed0: curriculum.rule=waker-m seed=0\n"
                        "waker-m-seed1: curriculum.rule=waker-m seed=1\n"
                        "waker-m-seed2: curriculum.rule=waker-m seed=2\n"
                        "dr-seed0: curriculum.rule=dr seed=0\n"
                        "dr-seed1: curriculum.rule=dr seed=1\n"
                        "dr-seed2: curriculum.rule=dr seed=2\n");
}

TEST_CASE(ranges_and_lists_mix)
{
    assert_string_equal(describe(PARSE("seed=0..2,7")), "seed0: seed=0\nseed1: seed=1\n"
                                                        "seed2: seed=2\nseed7: seed=7\n");
    assert_string_equal(describe(PARSE("seed=5..5")), "seed5: seed=5\n");
    assert_string_equal(describe(PARSE("seed=18446744073709551614..18446744073709551615")),
                        "seed18446744073709551614: seed=18446744073709551614\n"
                        "seed18446744073709551615: seed=18446744073709551615\n");
}

TEST_CASE(values_are_written_in_one_way)
{
    assert_string_equal(describe(PARSE("model.rate=3e-4,1e-05", "curriculum.temperature=.5")),
                        "model.rate0.0003-temperature0.5: model.rate=0.0003 "
                        "curriculum.temperature=0.5\n"
                        "model.rate1.0e-05-temperature0.5: model.rate=1.0e-05 "
                        "curriculum.temperature=0.5\n");
    assert_string_equal(describe(PARSE("log.timing=true,False")),
                        "timing-true: log.timing=true\ntiming-false: log.timing=false\n");
}

// A text with points is no range, and names are safe as directories.
TEST_CASE(texts_become_safe_names_that_differ)
{
    assert_string_equal(describe(PARSE("curriculum.plugin=../a/b.so,.._a_b.so")),
                        "curriculum.plugin-.._a_b.so-266c59ac: curriculum.plugin=../a/b.so\n"
                        "curriculum.plugin-.._a_b.so: curriculum.plugin=.._a_b.so\n");
    char text[WK_RUN_TEXT_MAX + 40] = "curriculum.theta=", name[WK_EACH_NAME_MAX];
    for (size_t i = strlen(text); i < 200; i++)
        text[i] = 'x';
    wk_each *each = PARSE(text);
    wk_each_name(each, 0, name);
    assert_true(strlen(name) < WK_EACH_NAME_MAX);
    wk_each_destroy(each);
    each = PARSE("curriculum.rule=../../etc,-rf,.hidden");
    for (int run = 0; run < 3; run++) {
        wk_each_name(each, run, name);
        assert_int_equal(name[0], '_');
        assert_null(strchr(name, '/'));
    }
    wk_each_destroy(each);
}

TEST_CASE(mistakes_are_named_with_what_was_given)
{
    static const struct {
        const char *texts[2], *message;
    } cases[] = {
        {{"seed"}, "--each seed: write KEY=VALUE,VALUE"},
        {{"sed=0..4"}, "--each sed=0..4: unknown key 'sed'; did you mean 'seed'?"},
        {{"curriculum=dr"}, "is a group of keys"},
        {{"seed="}, "--each seed=: a value is missing"},
        {{"seed=1,,2"}, "a value is missing"},
        {{"seed=1,"}, "a value is missing"},
        {{"seed=4..0"}, "'4..0' counts down; write 0..4"},
        {{"seed=0..x"}, "'0..x' is not a range"},
        {{"seed=..4"}, "is not a range"},
        {{"seed=0..1..2"}, "is not a range"},
        {{"seed=-1..2"}, "is not a range"},
        {{"seed=0..18446744073709551615"}, "more than 64 values"},
        {{"seed=1,2,1"}, "the value '1' occurs twice"},
        {{"seed=0..3,2"}, "the value '2' occurs twice"},
        {{"model.rate=1e-3,0.001"}, "the value '0.001' occurs twice"},
        {{"seed=0..4", "seed=7"}, "--each seed=7: seed is given twice"},
        {{"seed=abc"}, "--each seed=abc: seed: 'abc' is not a whole number"},
        {{"model.rate=2"}, "--each model.rate=2: model.rate: 2 is outside 0 to 1"},
        {{"train_every=0..2"}, "train_every: 0 is outside 1 to 1000000"},
        {{"replay.episodes=all,some"}, "'some' is not one of all|complete"},
        {{"domain=toy,clean-up"},
         "domain is the same for all runs: the environments of all runs "
         "are stepped together; set it with --domain"},
        {{"device=cpu,cuda"}, "one process has one value"},
        {{"minutes=1,2"}, "minutes is the same for all runs"},
        {{"seed=0..8", "prefill=0..7"},
         "--each prefill=0..7: makes 72 runs, and a population has "
         "at most 64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_error err = {0};
        wk_each *each = NULL;
        assert_int_equal(wk_each_create(cases[i].texts, cases[i].texts[1] ? 2 : 1, &each, &err),
                         WK_E_INPUT);
        assert_null(each);
        if (!strstr(err.message, cases[i].message))
            fail_msg("'%s' instead of '%s'", err.message, cases[i].message);
    }
}

TEST_CASE(a_path_has_one_name_however_it_is_written)
{
    char whole[600], name[3][WK_EACH_NAME_MAX], *here = realpath(".", NULL);
    assert_non_null(here);
    FILE *file = fopen("each-rule.tmp", "w");
    assert_non_null(file);
    fclose(file);
    snprintf(whole, sizeof whole, "curriculum.plugin=%s/each-rule.tmp", here);
    const char *const texts[] = {"curriculum.plugin=each-rule.tmp",
                                 "curriculum.plugin=./each-rule.tmp", whole};
    for (int i = 0; i < 3; i++) {
        wk_error err = {0};
        wk_each *each;
        assert_ok(wk_each_create(&texts[i], 1, &each, &err));
        wk_each_name(each, 0, name[i]);
        wk_each_destroy(each);
        assert_string_equal(name[i], name[0]);
    }
    // Two ways to write one file are one value.
    wk_error err = {0};
    wk_each *each = NULL;
    const char *twice = "curriculum.plugin=each-rule.tmp,./each-rule.tmp";
    assert_refused(wk_each_create(&twice, 1, &each, &err), WK_E_INPUT, "occurs twice");
    remove("each-rule.tmp");
    free(here);
}

TEST_CASE(the_largest_population_is_allowed)
{
    wk_each *each = PARSE("seed=0..7", "prefill=0..7");
    assert_int_equal(wk_each_runs(each), WK_POPULATION_MAX);
    assert_true(wk_each_has(each, "prefill", 7));
    assert_false(wk_each_has(each, "steps", 5));
    wk_each_destroy(each);
}

static char last_line[256];
static int lines;

static void keep_line(void *context, wk_log_level level, const char *line)
{
    (void)context;
    (void)level;
    snprintf(last_line, sizeof last_line, "%s", line);
    lines++;
}

TEST_CASE(runs_that_cannot_be_trained_together_are_refused)
{
    wk_error err = {0};
    const wk_log log = {keep_line, NULL, WK_LOG_INFO};
    static const char *const names[] = {"a", "b", "c"};
    wk_run_config configs[3];
    for (int i = 0; i < 3; i++)
        configs[i] = wk_run_config_default();
    configs[1].seed = 7;
    configs[2].model_rate = 1e-5;
    assert_ok(wk_run_configs_share(configs, names, 3, &log, &err));
    assert_string_equal(last_line, "");
    assert_true(configs[1].seed == 7);
    strcpy(configs[2].precision, "f32");
    assert_int_equal(wk_run_configs_share(configs, names, 3, &log, &err), WK_E_INPUT);
    assert_string_equal(err.message, "precision is 'auto' in a and 'f32' in c, but one process has "
                                     "one value; train them separately");
    // What changes no result gets the value of the first.
    strcpy(configs[2].precision, "auto");
    configs[1].minutes = 5, configs[2].minutes = 6;
    assert_ok(wk_run_configs_share(configs, names, 3, &log, &err));
    assert_true(configs[1].minutes == 0 && configs[2].minutes == 0);
    assert_int_equal(lines, 1);
    assert_string_equal(last_line, "minutes is '0' in a and '5' in b, but one process has one "
                                   "value: all runs get '0'; --minutes VALUE gives them another");
}

TEST_MAIN(NULL, NULL)
