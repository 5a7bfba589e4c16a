// Which runs count as seeds of one method: those whose whole configurations agree, and those that
// the user gives one label.
#include "report/score_fixture.h"

static const made_run walker = {"terrain-walker", "waker-m", "plan2explore", 0};

static wk_runs read_by(const char *const *paths, size_t count, const char *by)
{
    wk_error err = {0};
    wk_runs runs = {0};
    wk_runs_config config = {.paths = paths, .n_paths = count, .by = &by, .n_by = by ? 1 : 0};
    assert_ok(wk_runs_read(&config, &runs, &err));
    return runs;
}

static wk_runs read_in(const char *path)
{
    return read_by(&path, 1, NULL);
}

static void make(const char *directory, const char *rule, uint64_t seed, const char *key,
                 const char *value)
{
    made_run run = walker;
    run.rule = rule, run.seed = seed;
    made_config_with(directory, &run, key, value);
}

static void expect_method(const wk_runs *runs, size_t i, const char *method)
{
    assert_true(i < runs->items.count);
    assert_string_equal(runs->items.items[i]->method, method);
}

TEST_CASE(runs_with_other_settings_are_methods_of_their_own)
{
    make("eta/a", "waker-m", 0, NULL, NULL);
    make("eta/b", "waker-m", 1, "curriculum.temperature", "1"); // what 0 means for waker-m
    make("eta/c", "waker-m", 0, "curriculum.temperature", "0.5");
    make("eta/d", "dr", 0, NULL, NULL);
    wk_runs runs = read_in("eta");
    assert_int_equal(runs.items.count, 4); // the second η is no copy of the first
    assert_int_equal(runs.problems.items.count, 0);
    expect_method(&runs, 0, "dr");
    expect_method(&runs, 1, "waker-m, temperature 0.5");
    expect_method(&runs, 2, "waker-m, temperature 1");
    expect_method(&runs, 3, "waker-m, temperature 1");
    expect_sentence(&runs.remarks,
                    "terrain-walker, p2e: curriculum.temperature differs: the rule's own in "
                    "'dr', 'waker-m, temperature 1'; 0.5 in 'waker-m, temperature 0.5'");
    wk_runs_free(&runs);
}

TEST_CASE(settings_that_shape_nothing_do_not_count)
{
    make("free/a", "waker-m", 0, "log.every", "77");
    make("free/b", "waker-m", 1, "device", "cpu");
    wk_runs runs = read_in("free");
    expect_method(&runs, 0, "waker-m");
    expect_method(&runs, 1, "waker-m");
    assert_int_equal(runs.remarks.items.count, 0);
    wk_runs_free(&runs);
}

TEST_CASE(a_difference_between_curricula_is_remarked_on)
{
    make("between/a", "waker-m", 0, NULL, NULL);
    make("between/b", "ge", 0, "prefill", "500");
    wk_runs runs = read_in("between");
    expect_method(&runs, 0, "ge");
    expect_sentence(&runs.remarks,
                    "terrain-walker, p2e: prefill differs: 500 in 'ge'; 100000 in 'waker-m'");
    bool differs[WK_RUN_FIELD_COUNT];
    wk_runs_differing(&runs, NULL, differs);
    assert_true(differs[WK_RUN_prefill_INDEX]);
    assert_false(differs[WK_RUN_batch_INDEX]);
    wk_runs_free(&runs);
}

TEST_CASE(a_split_in_one_domain_names_the_others_alike)
{
    made_run clean = {"clean-up", "waker-m", "plan2explore", 0};
    made_config("split/clean", &clean);
    make("split/a", "waker-m", 0, "horizon", "5");
    make("split/b", "waker-m", 0, NULL, NULL);
    wk_runs runs = read_in("split");
    expect_method(&runs, 0, "waker-m, horizon 15");
    expect_method(&runs, 1, "waker-m, horizon 5");
    expect_method(&runs, 2, "waker-m, horizon 15");
    wk_runs_free(&runs);
}

TEST_CASE(keys_asked_for_are_in_every_name)
{
    const char *path = "by";
    make("by/a", "waker-m", 0, "model.rate", "0.001");
    make("by/b", "dr", 0, NULL, NULL);
    wk_runs runs = read_by(&path, 1, "model.rate");
    expect_method(&runs, 0, "dr, model.rate 0.0003"); // 'rate' alone could be another
    expect_method(&runs, 1, "waker-m, model.rate 0.001");
    wk_runs_free(&runs);
    wk_error err = {0};
    const char *by = "model.rat";
    wk_runs_config config = {.paths = &path, .n_paths = 1, .by = &by, .n_by = 1};
    assert_refused(wk_runs_read(&config, &runs, &err), WK_E_INPUT, "model.rate");
    wk_runs_free(&runs);
    by = "seed";
    assert_refused(wk_runs_read(&config, &runs, &err), WK_E_INPUT, "--by seed");
    wk_runs_free(&runs);
}

TEST_CASE(a_label_is_a_method_and_pools_what_the_user_says)
{
    make("lab/x=1/a", "waker-m", 0, NULL, NULL);
    make("lab/b", "waker-m", 1, "horizon", "5");
    make("lab/c", "waker-m", 0, NULL, NULL);
    const char *paths[] = {"mine=lab/x=1", "mine=lab/b", "lab/c"};
    wk_runs runs = read_by(paths, 3, NULL);
    assert_int_equal(runs.items.count, 3);
    expect_method(&runs, 0, "mine");
    assert_string_equal(runs.items.items[0]->directory, "lab/x=1/a");
    expect_method(&runs, 1, "mine");
    expect_method(&runs, 2, "waker-m");
    expect_sentence(
        &runs.remarks,
        "terrain-walker, p2e: horizon differs: 15 in 'mine', 'waker-m'; 5 in 'mine'. The "
        "label 'mine' pools runs that differ in it");
    wk_runs_free(&runs);
    const char *plain = "lab/x=1"; // a path as it is
    runs = read_by(&plain, 1, NULL);
    expect_method(&runs, 0, "waker-m");
    wk_runs_free(&runs);
    wk_error err = {0};
    const char *nameless = "=lab/b";
    wk_runs_config config = {.paths = &nameless, .n_paths = 1};
    assert_refused(wk_runs_read(&config, &runs, &err), WK_E_INPUT, "the label of 'lab/b'");
    wk_runs_free(&runs);
}

TEST_CASE(two_runs_with_one_seed_are_both_there_or_named)
{
    make("same/a", "waker-m", 7, NULL, NULL);
    make("same/b", "waker-m", 7, "steps", "500"); // shorter, else the same
    make("same/c", "waker-m", 7, "horizon", "5");
    wk_runs runs = read_in("same");
    assert_int_equal(runs.items.count, 2);
    assert_int_equal(runs.problems.items.count, 1);
    assert_non_null(strstr(runs.problems.items.items[0], "'same/b': all its settings"));
    assert_non_null(strstr(runs.problems.items.items[0], "'same/a', which is used"));
    assert_non_null(strstr(runs.problems.items.items[0], "'waker report LABEL=same/b' shows"));
    wk_runs_free(&runs);
    const char *paths[] = {"same/a", "second=same/b", "both=same/c", "both=same/a"};
    runs = read_by(paths, 4, NULL);
    assert_int_equal(runs.items.count, 4); // one seed, but not one run
    assert_int_equal(runs.problems.items.count, 0);
    wk_runs_free(&runs);
}

TEST_CASE(of_two_copies_the_evaluated_one_is_used)
{
    made_run run = walker;
    make("copies/a-aborted", "waker-m", 0, NULL, NULL);
    make("copies/b", "waker-m", 0, NULL, NULL);
    made_eval("copies/b", &run, "adapted", 500000,
              &(made_score){.task = "walk", .variant = "dr", .mean = 700, .cvar = 600}, 1);
    wk_runs runs = read_in("copies");
    assert_int_equal(runs.items.count, 1);
    assert_string_equal(runs.items.items[0]->directory, "copies/b");
    assert_non_null(strstr(runs.problems.items.items[0], "'copies/a-aborted': all its settings"));
    wk_runs_free(&runs);
}

TEST_CASE(a_label_pools_seeds_of_several_curricula)
{
    make("pool/a", "waker-m", 0, NULL, NULL);
    make("pool/b", "dr", 0, NULL, NULL);
    const char *path = "all=pool";
    wk_runs runs = read_by(&path, 1, NULL);
    assert_int_equal(runs.items.count, 2); // one seed and label, but not one run
    assert_int_equal(runs.problems.items.count, 0);
    wk_runs_free(&runs);
}

TEST_CASE(plug_ins_are_compared_by_their_bytes)
{
    static const char record[] =
        "{\"format\": \"waker-plugin-1\", \"rule_file\": {\"path\": \"/%s/mine.so\", \"sha256\": "
        "\"%d%063d\"}, \"rule\": {\"name\": \"mine\", \"needs_error\": false, \"needs_reduction\": "
        "false}}";
    static const struct {
        const char *directory, *folder;
        int hash;
    } made[] = {{"plug/a", "here", 1}, {"plug/b", "there", 1}, {"plug/c", "here", 2}};
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "/%s/mine.so", made[i].folder);
        make(made[i].directory, "mine", i, "curriculum.plugin", path);
        snprintf(path, sizeof path, "%s/plugin.json", made[i].directory);
        made_file(path, record, made[i].folder, made[i].hash, 0);
    }
    wk_runs runs = read_in("plug");
    assert_int_equal(runs.problems.items.count, 0);
    assert_int_equal(runs.items.count, 3);
    assert_string_equal(runs.items.items[0]->method, runs.items.items[1]->method);
    assert_string_not_equal(runs.items.items[0]->method, runs.items.items[2]->method);
    wk_runs_free(&runs);
}

static const char *const many_keys[] = {"rssm.deter", "units", "batch", "horizon", "layers"};

// Runs that differ in many settings; `bits` says which of them are larger.
static void make_many(const char *directory, unsigned bits)
{
    made_run run = walker;
    wk_run_config config = made_configuration(&run);
    wk_error err = {0};
    for (size_t i = 0; i < sizeof many_keys / sizeof *many_keys; i++)
        assert_ok(wk_run_config_set(&config, wk_run_field_find(many_keys[i], strlen(many_keys[i])),
                                    bits >> i & 1 ? "7" : "5", &err));
    made_write(directory, &config);
}

TEST_CASE(methods_that_differ_in_many_settings_are_numbered)
{
    static const unsigned bits[] = {0x00, 0x01, 0x02, 0x04, 0x08, 0x10};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        char directory[64];
        snprintf(directory, sizeof directory, "numbers/%zu", i);
        make_many(directory, bits[i]);
    }
    wk_runs runs = read_in("numbers");
    assert_int_equal(runs.items.count, 6);
    assert_int_equal(runs.remarks.items.count, 1); // one for all settings
    assert_non_null(strstr(runs.remarks.items.items[0],
                           "settings differ between runs; the table 'Settings of the methods'"));
    for (size_t i = 0; i < runs.items.count; i++) {
        char method[64];
        snprintf(method, sizeof method, "waker-m, settings %zu", i + 1);
        expect_method(&runs, i, method);
    }
    wk_runs_free(&runs);
}

TEST_CASE(a_long_value_is_not_part_of_a_name)
{
    char values[2][200] = {"", ""};
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < 20; k++)
            snprintf(values[i] + strlen(values[i]), sizeof values[i] - strlen(values[i]),
                     "%stask-%zu-%d", k ? "," : "", k, i);
    make("long/a", "waker-m", 0, "tasks", values[0]);
    make("long/b", "waker-m", 0, "tasks", values[1]);
    wk_runs runs = read_in("long");
    expect_method(&runs, 0, "waker-m, settings 1");
    expect_method(&runs, 1, "waker-m, settings 2");
    assert_non_null(strstr(runs.remarks.items.items[0], "tasks differs: task-0-0"));
    wk_runs_free(&runs);
}

TEST_CASE(the_table_of_settings_has_every_value_once)
{
    make_many("legend/a", 0x00);
    make_many("legend/b", 0x1f);
    make_many("legend/c", 0x1f);
    const char *paths[] = {"mine=legend/a", "mine=legend/b", "legend/c"};
    wk_runs runs = read_by(paths, 3, NULL);
    const wk_table_data data = {.runs = &runs};
    wk_report_table table;
    wk_text text = {0};
    wk_report_table_fill(&data, WK_TABLE_SETTINGS, &table);
    wk_report_table_text(&table, &text);
    const char *row = strstr(wk_text_get(&text), "rssm.deter");
    assert_non_null(row);
    assert_non_null(strstr(row, "5 or 7"));
    for (size_t i = 0; i < sizeof many_keys / sizeof *many_keys; i++)
        assert_non_null(strstr(wk_text_get(&text), many_keys[i]));
    expect_sentence(&runs.remarks, "The label 'mine' pools runs that differ");
    wk_text_free(&text);
    wk_report_table_csv(&table, &text);
    assert_non_null(strstr(wk_text_get(&text), "\nterrain-walker,p2e,batch,mine,5 or 7\n"));
    assert_non_null(strstr(wk_text_get(&text), "\nterrain-walker,p2e,batch,waker-m,7\n"));
    wk_text_free(&text);
    wk_runs_free(&runs);
    runs = read_in("eta"); // one setting: its remark says it
    wk_report_table_fill(&data, WK_TABLE_SETTINGS, &table);
    assert_true(wk_report_table_is_empty(&table));
    wk_runs_free(&runs);
}

TEST_MAIN(made_setup, made_teardown)
