// Values of a run's configuration: casts, ranges, text and back, the file, what may change on
// resume.
#include "base/file.h"
#include "config/config.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

#define PATH "config_test.tmp.yaml"

static int field(const char *key)
{
    int i = wk_run_field_find(key, strlen(key));
    if (i < 0) fail_msg("no key '%s'", key);
    return i;
}

static void assert_value(const wk_run_config *config, const char *key, const char *expected)
{
    wk_text text = {0};
    wk_run_config_get(config, field(key), &text);
    assert_string_equal(wk_text_get(&text), expected);
    wk_text_free(&text);
}

TEST_CASE(keys_are_found_and_unique)
{
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        assert_int_equal(field(wk_run_keys[i]), i);
    assert_int_equal(wk_run_field_find("rssm", 4), -1);
    assert_int_equal(wk_run_field_find("rssm.deterx", 11), -1);
}

TEST_CASE(a_value_takes_the_type_of_its_field)
{
    static const struct {
        const char *key, *text, *value;
    } casts[] = {
        {"rssm.deter", "6e2", "600"},
        {"rssm.deter", "512.0", "512"},
        {"replay.capacity", "3e6", "3000000"},
        {"steps", "999999999999999", "999999999999999"},
        {"model.kl_scale", "3", "3"},
        {"log.tensorboard", "False", "false"},
        {"seed", "18446744073709551615", "18446744073709551615"},
        {"seed", "1e2", "100"}, // as every whole number
        {"tasks", " walk , run", "walk,run"},
    };
    wk_run_config c = wk_run_config_default();
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        wk_error err = {0};
        assert_ok(wk_run_config_set(&c, field(casts[i].key), casts[i].text, &err));
        assert_value(&c, casts[i].key, casts[i].value);
    }
}

TEST_CASE(what_cannot_be_cast_is_refused_with_its_key)
{
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    static const struct {
        const char *key, *text, *part;
    } cases[] = {
        {"rssm.deter", "0.5", "rssm.deter: 0.5 has a fraction"},
        {"rssm.deter", "many", "rssm.deter: 'many' is not a whole number"},
        {"rssm.deter", "", "is not a whole number"},
        {"rssm.deter", " 5", "is not a whole number"},
        {"rssm.deter", "0x10", "is not a whole number"},
        {"rssm.deter", "0", "rssm.deter: 0 is outside 1 to 8192"},
        {"rssm.deter", "8193", "outside 1 to 8192"},
        {"rssm.deter", "99999999999999999999", "too large"},
        {"steps", "1e300", "too large"},
        {"model.rate", "fast", "model.rate: 'fast' is not a number"},
        {"model.rate", "nan", "is not a number"},
        {"model.rate", "inf", "is not a number"},
        {"model.rate", "1e999", "is not a number"},
        {"model.rate", "-1e-4", "outside 0 to 1"},
        {"log.tensorboard", "1", "neither true nor false"},
        {"seed", "-1", "2^64-1"},
        {"seed", "1e17", "2^64-1"},
        {"seed", "1.5", "2^64-1"},
        {"seed", "18446744073709551616", "2^64-1"},
        {"exploration", "randm", "did you mean 'random'?"},
        {"precision", "f16", "auto|f32|bf16"},
        {"domain", "a\nb", "byte 2 of the value is not printable"},
        {"domain", "a\u202eb", "byte 2 of the value is not printable"},
        {"domain", "\xff", "byte 1"},
        {"domain", "\xc0\xaf", "byte 1"},
        {"domain", "\xed\xa0\x80", "byte 1"},
        {"domain", "\xe2\x82", "byte 1"},
        {"tasks", "walk,,run", "empty name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_run_config before = c;
        assert_refused(wk_run_config_set(&c, field(cases[i].key), cases[i].text, &err), WK_E_INPUT,
                       cases[i].part);
        assert_true(wk_run_config_same(&before, &c, field(cases[i].key)));
    }
    char longest[WK_RUN_TEXT_MAX + 1];
    memset(longest, 'a', sizeof longest);
    longest[WK_RUN_TEXT_MAX] = 0;
    assert_refused(wk_run_config_set(&c, field("domain"), longest, &err), WK_E_INPUT,
                   "longer than");
    longest[WK_RUN_TEXT_MAX - 1] = 0;
    assert_ok(wk_run_config_set(&c, field("domain"), longest, &err));
}

TEST_CASE(numbers_are_written_short_and_for_every_yaml_reader)
{
    wk_run_config c = wk_run_config_default();
    assert_value(&c, "model.rate", "0.0003");
    assert_value(&c, "ensemble.scale", "50");
    assert_value(&c, "curriculum.error_decay", "0.9999");
    c.model_rate = 1e-5;
    assert_value(&c, "model.rate", "1.0e-05");
    c.model_rate = 1.25e-7;
    assert_value(&c, "model.rate", "1.25e-07");
    c.disagreement_scale = 1e6;
    assert_value(&c, "ensemble.scale", "1000000");
    c.disagreement_scale = 0.1 + 0.2;
    assert_value(&c, "ensemble.scale", "0.30000000000000004");
}

TEST_CASE(an_unknown_key_names_the_nearest_or_its_group)
{
    wk_error err = {0};
    assert_refused(wk_run_field_unknown("rssm.detr", &err), WK_E_INPUT,
                   "did you mean 'rssm.deter'?");
    assert_refused(wk_run_field_unknown("rssm", &err), WK_E_INPUT, "rssm.deter, rssm.hidden");
    assert_refused(wk_run_field_unknown("zzzzzzzzzzzz", &err), WK_E_INPUT, "waker config");
}

TEST_CASE(a_file_reads_back_as_the_same_configuration)
{
    wk_error err = {0};
    wk_run_config c = wk_run_config_default(), back;
    c.seed = UINT64_MAX;
    c.steps = 123456789012345;
    c.model_rate = 0.1 + 0.2;
    c.free_nats = 1e-300;
    c.log_tensorboard = false;
    strcpy(c.plugin, "/a b/\"quoted\" \\ caf\xc3\xa9 \xe2\x80\xa8 \xf0\x9f\x98\x80 # no: comment");
    strcpy(c.tasks, "true,no");
    strcpy(c.env_options, "null");
    strcpy(c.curriculum_plugin, " '0x1' ");
    assert_ok(wk_run_config_write_in(&c, NULL, PATH, &err));
    assert_ok(wk_run_config_read(PATH, &back, &err));
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        if (!wk_run_config_same(&c, &back, i)) fail_msg("%s differs", wk_run_keys[i]);
    remove(PATH);
}

TEST_CASE(a_file_that_lacks_a_key_is_refused)
{
    static const struct {
        const char *line, *message;
    } lines[] = {{"  discount:", "lacks the key 'policy.discount'"},
                 {"format:", "lacks the key 'format'"},
                 {"  theta:", "lacks the key 'curriculum.theta'"}};
    wk_error err = {0};
    wk_run_config c = wk_run_config_default();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        wk_text all = {0};
        wk_run_config_print(&c, &all);
        char *at = strstr(all.chars, lines[i].line), *end = strchr(at, '\n') + 1;
        memmove(at, end, strlen(end) + 1);
        assert_ok(wk_file_write(PATH, all.chars, strlen(all.chars), &err));
        assert_refused(wk_run_config_read(PATH, &c, &err), WK_E_FORMAT, lines[i].message);
        wk_text_free(&all);
    }
    remove(PATH);
}

TEST_CASE(a_cut_file_is_refused_wherever_it_was_cut)
{
    wk_error err = {0};
    wk_text all = {0};
    wk_run_config c = wk_run_config_default();
    wk_run_config_print(&c, &all);
    for (size_t size = 0; size + 1 < all.length; size += 11) {
        assert_ok(wk_file_write(PATH, wk_text_get(&all), size, &err));
        if (wk_run_config_read(PATH, &c, &err) == WK_OK) fail_msg("cut at %zu", size);
    }
    wk_text_free(&all);
    remove(PATH);
}

TEST_CASE(a_file_of_another_version_is_refused)
{
    wk_error err = {0};
    wk_run_config back;
    static const char other[] = "format: 11\nseed: 1\n";
    assert_ok(wk_file_write(PATH, other, sizeof other - 1, &err));
    assert_refused(wk_run_config_read(PATH, &back, &err), WK_E_INPUT,
                   PATH ":1: unknown format 11; this version of waker reads runs of format 12");
    remove(PATH);
}

TEST_CASE(a_bad_file_is_refused_with_file_and_line)
{
    wk_error err = {0};
    wk_run_config c;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"seed: 1\nrssm:\n  detr: 7\n", PATH ":3: unknown key 'rssm.detr'; did you mean"},
        {"seed: 1\nsteps: 0.5\n", PATH ":2: steps: 0.5 has a fraction"},
        {"seed: [1, 2]\n", PATH ":1: seed: expected one value"},
        {"seed: 'x\n", PATH ":"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(wk_file_write(PATH, cases[i].text, strlen(cases[i].text), &err));
        err = (wk_error){0};
        wk_status status = wk_run_config_read(PATH, &c, &err);
        assert_true(status == WK_E_INPUT || status == WK_E_FORMAT);
        if (!strstr(err.message, cases[i].part)) fail_msg("'%s'", err.message);
    }
    remove(PATH);
    assert_refused(wk_run_config_read(PATH, &c, &err), WK_E_NOT_FOUND, PATH);
}

TEST_CASE(a_run_resumes_with_other_lengths_and_logs_but_not_with_another_model)
{
    wk_error err = {0};
    const wk_run_config old = wk_run_config_default();
    wk_run_config now = old;
    now.steps *= 2;
    now.log_every = 7;
    now.checkpoint_keep = 9;
    now.env_threads = 3;
    assert_ok(wk_run_config_resumable(&old, &now, &err));
    assert_true(wk_run_config_hash(&old) == wk_run_config_hash(&now));
    now.deter = 512;
    assert_refused(wk_run_config_resumable(&old, &now, &err), WK_E_INPUT,
                   "rssm.deter '600', not '512'");
}

TEST_CASE(every_fixed_value_changes_the_hash)
{
    const wk_run_config old = wk_run_config_default();
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        wk_run_config now = old;
        ((unsigned char *)&now)[wk_run_fields[i].offset] ^= 1;
        bool fixed = wk_run_fields[i].role == WK_RUN_FIXED;
        assert_int_equal(wk_run_config_hash(&now) != wk_run_config_hash(&old), fixed);
        assert_int_equal(wk_run_config_same(&old, &now, i), false);
    }
}

TEST_MAIN(NULL, NULL)
