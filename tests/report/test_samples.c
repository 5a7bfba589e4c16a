// A table and a figure are made of one sample of episodes: quick looks are left out and named.
#include "report/score_fixture.h"

static const made_run dr = {"terrain-walker", "dr", "plan2explore", 0};
static const made_run ours = {"terrain-walker", "waker-m", "plan2explore", 0};
static const made_sample full = {100, 0, ""}, quick = {5, 0, "-envs5-seed0"};
static const made_sample other_seed = {100, 1, "-envs100-seed1"};

static wk_report f;

static void score(const char *directory, const made_run *run, uint64_t step, made_sample sample,
                  double mean)
{
    const made_score scores[] = {{"walk", "dr", NULL, mean, mean - 100, false}};
    made_eval_of(directory, run, "adapted", step, sample, scores, 1);
}

TEST_CASE(a_quick_look_does_not_flip_a_winner)
{
    made_config("flip/dr", &dr);
    made_config("flip/m", &ours);
    score("flip/dr", &dr, 500000, full, 600);
    score("flip/m", &ours, 500000, full, 700);
    score("flip/m", &ours, 500000, quick, 300); // five unlucky ones, looked at later
    open_report(&f, "flip", usual);
    assert_int_equal(f.scores[WK_TABLE_AVERAGE].rows, 1);
    assert_string_equal(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->key.names[WK_FIELD_CURRICULUM],
                        "waker-m");
    assert_near(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->mean, 700, 0);
    assert_int_equal(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->seeds, 1);
    expect_sentence(&f.rows.remarks, "terrain-walker, p2e, dr: the tables have evaluations of 100 "
                                     "episodes with seed 0; those of 5 with seed 0 are left out "
                                     "(flip/m)");
    assert_int_equal(f.rows.remarks.items.count, 1); // said once for both metrics
    wk_report_free(&f);
}

TEST_CASE(a_run_with_a_quick_look_alone_is_left_out_with_advice)
{
    made_config("alone/dr", &dr);
    made_config("alone/m", &ours);
    score("alone/dr", &dr, 500000, full, 600);
    score("alone/m", &ours, 500000, quick, 700);
    open_report(&f, "alone", usual);
    assert_int_equal(f.scores[WK_TABLE_AVERAGE].columns, 1);
    assert_string_equal(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->key.names[WK_FIELD_CURRICULUM], "dr");
    expect_sentence(&f.rows.remarks, "waker eval RUN --envs 100 --seed 0");
    wk_report_free(&f);
}

TEST_CASE(another_seed_of_the_evaluation_is_another_sample)
{
    made_config("seeds/dr", &dr);
    made_config("seeds/m", &ours);
    score("seeds/dr", &dr, 500000, full, 600);
    score("seeds/m", &ours, 500000, other_seed, 900);
    score("seeds/m", &ours, 500000, full, 700);
    open_report(&f, "seeds", usual);
    assert_near(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->mean, 700, 0);
    expect_sentence(&f.rows.remarks, "those of 100 with seed 1 are left out (seeds/m)");
    wk_report_free(&f);
}

// Evaluations along training are small, the last one is done again with more.
TEST_CASE(curves_are_of_the_sample_with_most_points)
{
    made_config("curve/dr", &dr);
    for (uint64_t k = 1; k <= 3; k++)
        score("curve/dr", &dr, k * 1000, (made_sample){10, 0, ""}, 100.0 * (double)k);
    score("curve/dr", &dr, 3000, (made_sample){100, 0, "-envs100-seed0"}, 250);
    open_report(&f, "curve", usual);
    assert_near(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->mean, 250, 0);
    size_t points = 0;
    for (size_t i = 0; i < f.rows.items.count; i++) {
        const wk_report_row *s = &f.rows.items.items[i];
        if (s->curve) assert_int_equal(s->result->episodes, 10);
        points += s->curve && strcmp(s->key.names[WK_FIELD_METRIC], "average") == 0;
    }
    assert_int_equal(points, 3);
    wk_report_free(&f);
}

TEST_CASE(one_measurement_in_two_files_counts_once)
{
    made_config("twice/dr", &dr);
    score("twice/dr", &dr, 500000, full, 600);
    score("twice/dr", &dr, 500000, (made_sample){100, 0, "-envs5-seed0"}, 600);
    open_report(&f, "twice", usual);
    assert_int_equal(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->seeds, 1);
    assert_int_equal(f.rows.remarks.items.count, 0);
    wk_report_free(&f);
    score("twice/dr", &dr, 500000, (made_sample){100, 0, "-envs5-seed0"}, 610);
    open_report(&f, "twice", usual);
    expect_sentence(&f.rows.remarks, "two files have different results of one evaluation");
    wk_report_free(&f);
}

TEST_CASE(kinds_of_policies_are_not_mixed_in_silence)
{
    const made_score walk[] = {{"walk", "dr", NULL, 600, 500, false}};
    made_config("kinds/dr", &dr);
    made_config("kinds/m", &ours);
    made_eval("kinds/dr", &dr, "adapted", 500000, walk, 1);
    made_eval("kinds/m", &ours, "alongside", 500000, walk, 1);
    open_report(&f, "kinds", usual);
    expect_sentence(&f.rows.remarks,
                    "alongside policies of kinds/m are compared with adapted ones of kinds/dr");
    wk_report_free(&f);
}

static void measure(const char *path, const made_run *run, int envs, double mean)
{
    made_file(path,
              "{\"format\":\"waker-model-error-1\",\"domain\":\"%s\",\"curriculum\":\"%s\","
              "\"exploration\":\"%s\",\"seed\":%llu,\"step\":500000,\"envs\":%d,\"steps\":0,"
              "\"eval_seed\":0,\"measures\":[{\"policy\":\"random\",\"mean\":%g,"
              "\"cvar_0.1\":%g}]}",
              run->domain, run->rule, run->exploration, (unsigned long long)run->seed, envs, mean,
              2 * mean);
}

TEST_CASE(model_errors_are_of_one_sample)
{
    double mean, sd;
    made_config("errors/dr", &dr);
    made_config("errors/m", &ours);
    measure("errors/dr/eval/model-error-000000500000.json", &dr, 200, 0.5);
    measure("errors/m/eval/model-error-000000500000.json", &ours, 200, 0.25);
    measure("errors/m/eval/model-error-000000500000-envs6-seed0.json", &ours, 6, 0.75);
    open_report(&f, "errors", usual);
    assert_int_equal(f.tables[WK_TABLE_MODEL_ERRORS].text.rows.count, 2);
    assert_string_equal(f.errors.items.items[0].run->method, "waker-m");
    assert_int_equal(wk_error_statistic_of(&f.errors, 0, 2, WK_ERROR_MEAN, &mean, &sd), 1);
    assert_near(mean, 0.25, 0);
    expect_sentence(&f.errors.remarks,
                    "errors/m: its model error under 'random' in 6 environments");
    wk_report_free(&f);
}

// Of as many episodes whole ones count, whatever the names of the files.
TEST_CASE(model_errors_of_cut_episodes_are_left_out)
{
    double mean, sd;
    made_config("cut/m", &ours);
    measure("cut/m/eval/model-error-000000500000.json", &ours, 200, 0.25);
    made_file("cut/m/eval/model-error-000000500000-0123abcd.json", "%s",
              "{\"format\":\"waker-model-error-1\",\"domain\":\"terrain-walker\","
              "\"curriculum\":\"waker-m\",\"exploration\":\"plan2explore\",\"seed\":0,"
              "\"step\":500000,\"envs\":200,\"steps\":20,\"eval_seed\":0,\"measures\":["
              "{\"policy\":\"random\",\"mean\":0.75,\"cvar_0.1\":1}]}");
    open_report(&f, "cut", usual);
    assert_int_equal(f.errors.items.count, 2);
    assert_int_equal(wk_error_statistic_of(&f.errors, 0, 2, WK_ERROR_MEAN, &mean, &sd), 1);
    assert_near(mean, 0.25, 0);
    wk_report_free(&f);
}

TEST_MAIN(made_setup, made_teardown)
