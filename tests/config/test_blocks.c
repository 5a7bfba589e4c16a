// How blocks of YAML become one configuration: dreamer's merge rule, origins, and errors that say
// where.
#include "config/blocks.h"
#include "config/yaml.h"
#include "support/check.h"
#include <stdio.h>

static wk_config_blocks *blocks_of(const char *text)
{
    wk_error err = {0};
    wk_config_blocks *blocks;
    assert_ok(wk_config_blocks_create(&blocks, &err));
    assert_ok(wk_config_blocks_add(blocks, "test.yaml", text, strlen(text), &err));
    return blocks;
}

// Merges "defaults" and block "a" of the text.
static wk_status merge(const char *text, wk_merged_config *out, wk_error *err)
{
    wk_config_blocks *blocks = blocks_of(text);
    const char *const names[] = {"a"};
    wk_status status = wk_config_merge(blocks, names, 1, NULL, 0, out, err);
    wk_config_blocks_destroy(blocks);
    return status;
}

TEST_CASE(blocks_apply_from_left_to_right_then_the_command_line)
{
    wk_error err = {0};
    wk_config_blocks *blocks = blocks_of("defaults: {units: 100, layers: 1, batch: 5}\n"
                                         "one:\n  units: 200\n  layers: 2\n"
                                         "two:\n  layers: 3\n");
    wk_merged_config m;
    const char *const names[] = {"one", "two"}, *const back[] = {"two", "one"};
    const wk_setting setting = {"batch=9", 5, "9"};
    assert_ok(wk_config_merge(blocks, names, 2, &setting, 1, &m, &err));
    assert_int_equal(m.config.units, 200);
    assert_int_equal(m.config.layers, 3);
    assert_int_equal(m.config.batch, 9);
    assert_int_equal(m.config.horizon, 15);
    assert_ok(wk_config_merge(blocks, back, 2, NULL, 0, &m, &err));
    assert_int_equal(m.config.layers, 2);
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(every_value_knows_its_origin)
{
    wk_error err = {0};
    wk_config_blocks *blocks = blocks_of("defaults:\n  units: 100\n  layers: 1\n"
                                         "a:\n  rssm:\n    deter: 9\n    hidden: 8\n");
    wk_merged_config m;
    const char *const names[] = {"a"};
    const wk_setting setting = {"layers", 6, "4"};
    assert_ok(wk_config_merge(blocks, names, 1, &setting, 1, &m, &err));
    const wk_origin *units = &m.origins[WK_RUN_units_INDEX];
    assert_string_equal(units->file, "test.yaml");
    assert_string_equal(units->block, "defaults");
    assert_int_equal(units->line, 2);
    assert_int_equal(m.origins[WK_RUN_hidden_INDEX].line, 7);
    assert_string_equal(m.origins[WK_RUN_hidden_INDEX].block, "a");
    assert_null(m.origins[WK_RUN_layers_INDEX].file);
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(a_run_of_another_version_is_named_as_such_whatever_keys_it_has)
{
    static const char other[] = "format: 1\nseed: 0\nlost:\n  key: 1\n";
    wk_error err = {0};
    wk_config_blocks *blocks;
    assert_ok(wk_config_blocks_create(&blocks, &err));
    assert_refused(wk_config_blocks_add(blocks, "config.yaml", other, sizeof other - 1, &err),
                   WK_E_INPUT, "config.yaml:1: unknown format 1;");
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(keys_may_be_nested_or_dotted)
{
    wk_error err = {0};
    wk_merged_config m;
    assert_ok(
        merge("defaults: {}\na:\n  rssm.deter: 5\n  rssm: {hidden: 6}\n  model:\n    rate: 0.5\n",
              &m, &err));
    assert_int_equal(m.config.deter, 5);
    assert_int_equal(m.config.hidden, 6);
    assert_true(m.config.model_rate == 0.5);
}

TEST_CASE(a_key_with_other_characters_is_a_pattern_matched_from_the_beginning)
{
    wk_error err = {0};
    wk_merged_config m;
    assert_ok(merge("defaults: {}\na:\n  .*\\.rate: 0.5\n", &m, &err));
    assert_true(m.config.model_rate == 0.5 && m.config.ensemble_rate == 0.5 &&
                m.config.policy_rate == 0.5);
    // As re.match: "rssm" matches the beginning of every rssm key, ".deter" matches none.
    assert_ok(merge("defaults: {}\na: {'rssm|units': 7}\n", &m, &err));
    assert_int_equal(m.config.deter + m.config.hidden + m.config.stoch, 21);
    assert_int_equal(m.config.units, 7);
}

TEST_CASE(a_point_between_a_group_and_a_pattern_stays_a_point)
{
    wk_error err = {0};
    wk_merged_config m;
    // model\.(rate|kl_scale), not model.(rate|kl_scale) where the point is any character.
    assert_ok(merge("defaults: {}\na:\n  model: {(rate|kl_scale): 0.25}\n", &m, &err));
    assert_true(m.config.model_rate == 0.25 && m.config.kl_scale == 0.25);
    assert_ok(merge("defaults: {}\na:\n  '(model|policy)': {rate: 0.125}\n", &m, &err));
    assert_true(m.config.model_rate == 0.125 && m.config.policy_rate == 0.125);
}

// Keys with the line, and patterns that match nothing, are none, or could run away.
TEST_CASE(mistakes_are_refused_with_file_line_and_the_nearest_key)
{
    wk_error err = {0};
    wk_merged_config m;
    static const char slow[] = "repetitions or references that are not supported";
    static const struct {
        const char *a, *message;
    } cases[] = {
        {"\n  units: 5\n  rssm:\n    detr: 5\n",
         "test.yaml:5: unknown key 'rssm.detr'; did you mean 'rssm.deter'?"},
        {"\n  rssm: 5\n", "test.yaml:3: 'rssm' is a group of keys"},
        {"\n  units: 1.5\n", "test.yaml:3: units: 1.5 has a fraction"},
        {"\n  units: [1, 2]\n", "test.yaml:3: units: expected one value, not a list"},
        {" {'[.]deter': 7}\n", "test.yaml:2: the pattern '[.]deter' matches no key"},
        {"\n  unit: {'s*': 7}\n", "'unit\\.s*' matches no key"},
        {" {'(rssm': 7}\n", "not a regular expression"},
        {" {'rssm\\': 7}\n", "not a regular expression"},
        {" {'(x{9,99}){9,99}': 7}\n", slow},
        {" {'(.)\\1': 7}\n", slow},
        {" {'r++++++++++++++++++++++++++++++++++++++++++': 7}\n", slow},
        // Each of these would keep the C library busy for seconds or more.
        {" {'(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*(a*)*': 7}\n", slow},
        {" {'((((.*.*.*.*.*.*.*.*)+)+)+)+': 7}\n", slow},
        {" {'a?a?a?a?a?a?a?a?a?': 7}\n", slow},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text, "defaults: {}\na:%s", cases[i].a);
        assert_refused(merge(text, &m, &err), WK_E_INPUT, cases[i].message);
    }
    wk_config_blocks *blocks = blocks_of("defaults: {}\nterrain-walker: {}\n");
    assert_refused(wk_config_merge_block(blocks, "terain-walker", &m, &err), WK_E_NOT_FOUND,
                   "did you mean 'terrain-walker'?");
    const wk_setting bad = {"units", 5, "x"};
    assert_refused(wk_config_merge_setting(&bad, &m, &err), WK_E_INPUT, "command line: units: 'x'");
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(lists_become_names_with_commas)
{
    wk_error err = {0};
    wk_merged_config m;
    assert_ok(merge(
        "defaults: {}\na:\n  tasks: [walk, run]\n  env:\n    options:\n    - x=y\n    - z=1\n", &m,
        &err));
    assert_string_equal(m.config.tasks, "walk,run");
    assert_string_equal(m.config.env_options, "x=y,z=1");
}

TEST_CASE(a_block_may_not_be_defined_twice)
{
    wk_error err = {0};
    wk_config_blocks *blocks = blocks_of("defaults: {}\na: {}\n");
    const char more[] = "b: {}\na: {}\n";
    assert_refused(wk_config_blocks_add(blocks, "more.yaml", more, sizeof more - 1, &err),
                   WK_E_INPUT, "more.yaml:2: block 'a' is already defined in test.yaml:2");
    assert_int_equal(wk_config_blocks_count(blocks), 2);
    assert_null(wk_config_blocks_name(blocks, 2));
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(yaml_that_is_no_configuration_is_refused_with_its_line)
{
    wk_error err = {0};
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"a: 5\n", "t.yaml:1: a block needs keys under it"},
        {"a: [1]\n", "t.yaml:1: a block needs keys under it"},
        {"a:\n  units: 4\n  layers: \x01\n", "t.yaml:3: control characters are not allowed"},
        {"a: {}\nb:\n", "t.yaml:2: a block needs keys"},
        {"a:\n  units:\n", "t.yaml:2: a key without a value"},
        {"a:\n  units: ~\n", "t.yaml:2: a key without a value"},
        {"a:\n  units: 1\n  units: 2\n", "t.yaml:3: 'units' is already defined in line 2"},
        {"a:\n\tunits: 1\n", "t.yaml:2: this line is indented by a tab, which YAML does not allow; "
                             "replace the tab by spaces"},
        {"a:\n  units: 1\n \tbatch: 2\n", "t.yaml:3: this line is indented by a tab"},
        {"a:\n  domain: @x\n",
         "t.yaml:2: '@' cannot begin a key or a value; put the text in quotes"},
        {"a:\n  rssm.deter: 1\n  rssm:\n    deter: 1\n", "'rssm.deter' is already defined in line"},
        {"a: {}\na: {}\n", "t.yaml:2: block 'a' is already defined in line 1"},
        {"- a\n", "t.yaml:1: expected 'key: value' lines"},
        {"text\n", "t.yaml:1: expected 'key: value' lines"},
        {"a: {}\n---\nb: {}\n", "t.yaml:2: a second document"},
        {"a: &x {units: 1}\nb: *x\n", "t.yaml:2: aliases"},
        {"a: {? [1, 2] : 3}\n", "t.yaml:1: a key must be a plain word"},
        {"a: {tasks: [[x]]}\n", "a list may have plain values only"},
        {"a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", "nested too deeply"},
        {"a: {units: \"x\\0y\"}\n", "a zero byte"},
        {"a: {units: 1\n", "t.yaml:"},
        {"a: \t\n\t- x", "t.yaml:"},
        {"\xff\xfe", "t.yaml:1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_yaml yaml;
        assert_refused(
            wk_yaml_parse("t.yaml", cases[i].text, strlen(cases[i].text), true, &yaml, &err),
            WK_E_FORMAT, cases[i].part);
    }
}

TEST_CASE(an_empty_file_has_no_blocks)
{
    static const char *const empty[] = {"", "# nothing\n"};
    for (int i = 0; i < 2; i++) {
        wk_error err = {0};
        wk_yaml yaml;
        assert_ok(wk_yaml_parse("t.yaml", empty[i], strlen(empty[i]), true, &yaml, &err));
        assert_int_equal(yaml.blocks.count, 0);
        wk_yaml_free(&yaml);
    }
}

TEST_MAIN(NULL, NULL)
