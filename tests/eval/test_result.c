// Scores, results and their files, against numbers worked out by hand: a domain whose episodes give
// what their θ says.
#include "base/file.h"
#include "base/json.h"
#include "eval/result.h"
#include "support/check.h"
#include "train/runs.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

static wk_error err;

/* ---- A domain to be sure about: θ = 1 ... 10; every step gives task "climb" θ and task "rest" 1;
 * climbing is complete to θ / 20 at the end; episodes have 4 steps. Rungs are counted, slips only
 * on ladders above 12. ----------------------------------------------------------------------------
 */

enum { STEPS = 4 };

typedef struct ladder {
    double height;
    int steps;
} ladder;

static wk_status ladder_create(const wk_domain *domain, const int *options, void **env, wk_error *e)
{
    (void)domain, (void)options;
    *env = calloc(1, sizeof(ladder));
    return *env ? WK_OK : wk_fail(e, WK_E_MEMORY, "no memory for a ladder");
}

static wk_status ladder_reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                              wk_outcome *out, wk_error *e)
{
    (void)seed, (void)episode, (void)out, (void)e;
    *(ladder *)env = (ladder){.height = theta[0]};
    return WK_OK;
}

static void ladder_step(void *env, const float *action, wk_outcome *out)
{
    ladder *l = env;
    (void)action;
    l->steps++;
    out->rewards[0] = (float)l->height;
    out->rewards[1] = 1;
    out->completion[0] = l->steps == STEPS ? (float)(l->height / 20) : 0;
    out->indicators[0] = (float)l->height;
    out->indicators[1] = l->height > 12 ? (float)(l->steps % 2) : NAN;
    // Worlds above 14 break down at their second step.
    out->diverged = l->height > 14 && l->steps == 2;
}

static void ladder_render(void *env, int width, int height, uint8_t *rgb)
{
    const ladder *l = env;
    memset(rgb, (int)(10 * l->height + l->steps), (size_t)width * (size_t)height * 3);
}

static size_t ladder_size(const void *env)
{
    (void)env;
    return sizeof(ladder);
}

static void ladder_save(const void *env, void *bytes)
{
    memcpy(bytes, env, sizeof(ladder));
}

static wk_status ladder_load(void *env, const void *bytes, size_t size, wk_error *e)
{
    if (size != sizeof(ladder)) return wk_fail(e, WK_E_FORMAT, "no ladder");
    memcpy(env, bytes, size);
    return WK_OK;
}

static const wk_domain ladders = {
    .abi = WK_ENV_ABI,
    .size = sizeof(wk_domain),
    .name = "ladders",
    .summary = "returns that can be worked out by hand",
    .n_params = 1,
    .params = (const wk_param[]){{"height", "of the ladder", 1, 10, 1, 1, 20, false}},
    .n_tasks = 2,
    .tasks = (const wk_task[]){{"climb", NULL, true}, {"rest", NULL, false}},
    .n_cases = 2,
    .cases = (const wk_case[]){{.name = "high",
                                .help = "higher than in training",
                                .count = 3,
                                .params = (const double[]){11, 12, 14},
                                .episodes = 6},
                               {.name = "broken",
                                .help = "breaks down",
                                .count = 2,
                                .params = (const double[]){15, 1},
                                .episodes = 4,
                                .extra = true}},
    .n_indicators = 2,
    .indicators = (const wk_indicator[]){{"rungs", "", WK_INDICATOR_SUM, 0},
                                         {"slips", "", WK_INDICATOR_MEAN, 0}},
    .action_size = 1,
    .action_repeat = 1,
    .episode_steps = STEPS,
    .step_seconds = 0.1,
    .hardest = (const double[]){10},
    .n_complex = 1,
    .most_complex = (const double[]){10},
    .create = ladder_create,
    .destroy = free,
    .reset = ladder_reset,
    .step = ladder_step,
    .render = ladder_render,
    .state_size = ladder_size,
    .save = ladder_save,
    .load = ladder_load,
};

/* ------------------------------------------------------------------------------------------------
 */

TEST_CASE(scores_of_one_to_a_hundred)
{
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = (i * 37) % 100 + 1; // 1 ... 100 in some order
    wk_score s;
    assert_ok(wk_score_compute(values, 100, &s, &err));
    assert_near(s.mean, 50.5, 1e-12);
    assert_near(s.sd, sqrt((100.0 * 100 - 1) / 12), 1e-12); // of a discrete uniform distribution
    assert_true(s.min == 1 && s.max == 100);
    // The mean of the k smallest is (k + 1) / 2.
    static const double expected[] = {1, 3, 5.5, 10.5, 15.5, 20.5, 25.5};
    for (int i = 0; i < WK_SCORE_FRACTIONS; i++)
        assert_near(s.cvar[i], expected[i], 1e-12);
    assert_true(wk_score_fractions[WK_SCORE_TENTH] == 0.1);
}

TEST_CASE(a_fraction_of_few_episodes_is_rounded_up)
{
    wk_score s;
    assert_ok(wk_score_compute((const double[]){4, 2, 8}, 3, &s, &err));
    static const double expected[] = {2, 2, 2, 2, 2, 3, 3}; // 1 of 3 up to 0.3, then 2
    for (int i = 0; i < WK_SCORE_FRACTIONS; i++)
        assert_near(s.cvar[i], expected[i], 1e-12);
    assert_ok(wk_score_compute((const double[]){-7}, 1, &s, &err));
    assert_true(s.mean == -7 && s.sd == 0 && s.min == -7 && s.max == -7 && s.cvar[6] == -7);
}

static wk_eval_result random_result(void)
{
    return (wk_eval_result){.origin = {.domain = &ladders,
                                       .curriculum = "dr",
                                       .exploration = "random",
                                       .run_seed = 4,
                                       .step = 1200,
                                       .policy = "random"},
                            .envs = 40,
                            .seed = 6};
}

static void add(wk_eval_result *r, const char *cases, int task)
{
    wk_eval_setup setup = {.case_names = cases, .threads = 1};
    assert_ok(wk_eval_result_add(r, &setup, task, &err));
    assert_ok(wk_eval_result_play(r, &setup, r->n_tasks - 1, 0, &err));
}

TEST_CASE(returns_and_completions_are_what_the_worlds_give)
{
    wk_eval_result r = random_result();
    add(&r, "", 0);
    assert_int_equal(r.tasks[0].n_cases, 2);
    const wk_case_result *dr = &r.tasks[0].cases[0], *high = &r.tasks[0].cases[1];
    assert_int_equal(dr->eval_case.episodes, 40);
    for (int i = 0; i < 40; i++) {
        double height = dr->episodes[i].theta[0];
        assert_true(height >= 1 && height <= 10 && height == floor(height));
        assert_true(dr->returns[i] == STEPS * height);
        assert_near(dr->completions[i], height / 20, 1e-7);
    }
    // 11, 12, 14, 11, 12, 14 times four steps.
    assert_near(high->return_score.mean, 4 * 37.0 / 3, 1e-12);
    assert_near(high->return_score.sd, 4 * sqrt((121 + 144 + 196) / 3.0 - 37.0 * 37 / 9), 1e-12);
    assert_true(high->return_score.min == 44 && high->return_score.max == 56);
    assert_near(high->return_score.cvar[WK_SCORE_TENTH], 44, 1e-12); // 1 of 6
    assert_near(high->return_score.cvar[3], 44, 1e-12);              // 0.2: 2 of 6
    assert_near(high->return_score.cvar[6], (44 + 44 + 48) / 3.0, 1e-12);
    assert_near(high->completion_score.mean, 37.0 / 60, 1e-7);
    assert_near(high->completion_score.min, 0.55, 1e-7);
    assert_true(high->length_score.mean == STEPS && high->diverged == 0);
    wk_eval_result_free(&r);
}

TEST_CASE(indicators_are_means_over_the_episodes_that_have_them)
{
    wk_eval_result r = random_result();
    add(&r, "dr,high", 0);
    const wk_case_result *dr = &r.tasks[0].cases[0], *high = &r.tasks[0].cases[1];
    assert_near(high->episodes[1].indicators[0], 48, 0);
    assert_near(high->indicators[0], 4 * 37.0 / 3, 1e-12);
    assert_true(isnan(high->episodes[1].indicators[1]) && isnan(dr->indicators[1]));
    assert_near(high->indicators[1], 0.5, 0); // only ladders of 14 have slips
    wk_text json = {0};
    wk_eval_result_json(&r, &(wk_json){.text = &json});
    const char *of_high = strstr(wk_text_get(&json), "\"high\""), *slips;
    assert_non_null(of_high);
    slips = strstr(wk_text_get(&json), "\"slips\": 0.5");
    assert_true(slips > of_high); // the other case has none, rather than zero
    assert_ptr_equal(strstr(wk_text_get(&json), "\"slips\""), slips);
    wk_text_free(&json);
    wk_eval_result_free(&r);
}

TEST_CASE(random_actions_are_played_once_for_all_tasks)
{
    wk_eval_result r = random_result();
    add(&r, "dr", 0);
    add(&r, "dr", 1);
    assert_int_equal(r.n_tasks, 2);
    for (int i = 0; i < 40; i++) {
        assert_true(r.tasks[1].cases[0].returns[i] == STEPS);
        assert_true(r.tasks[1].cases[0].episodes[i].theta[0] ==
                    r.tasks[0].cases[0].episodes[i].theta[0]);
    }
    wk_eval_result_free(&r);
}

static char *read_result(const char *run, const wk_eval_result *r, const char *ending)
{
    char path[WK_PATH_MAX], *bytes;
    snprintf(path, sizeof path, "%s/eval/%s%s", run, r->name, ending);
    assert_ok(wk_file_read(path, 1 << 20, &bytes, NULL, &err));
    return bytes;
}

TEST_CASE(broken_episodes_are_counted_and_reported)
{
    wk_eval_result r = random_result();
    add(&r, "broken", 0);
    const wk_case_result *c = &r.tasks[0].cases[0];
    assert_int_equal(c->diverged, 2);
    assert_true(c->episodes[0].diverged && !c->episodes[1].diverged);
    assert_int_equal(c->episodes[0].steps, 2);
    assert_true(c->returns[1] == 4);
    char run[] = "result-XXXXXX";
    assert_non_null(mkdtemp(run));
    assert_ok(wk_eval_result_write(&r, run, &err));
    char *csv = read_result(run, &r, ".csv");
    assert_non_null(strstr(csv, "climb,broken,0,15,2,"));
    // The step that broke down counts neither rungs nor slips.
    assert_non_null(strstr(csv, ",1,,,,15,1\nclimb,broken,1,1,4,4,"));
    free(csv);
    remove_tree(run);
    wk_eval_result_free(&r);
}

// The number after the n-th key called `key`.
static double number_after(const char *json, const char *key, int n)
{
    wk_json_reader reader = wk_json_reader_start(json, strlen(json));
    for (;;) {
        wk_json_token token = wk_json_reader_next(&reader);
        assert_true(token.kind != WK_JSON_ERROR && token.kind != WK_JSON_END);
        if (token.kind != WK_JSON_KEY || !wk_json_equals(token, key) || n-- > 0) continue;
        double value;
        assert_true(wk_json_to_double(wk_json_reader_next(&reader), &value));
        return value;
    }
}

TEST_CASE(the_document_reads_back_to_the_same_numbers)
{
    wk_eval_result r = random_result();
    add(&r, "high,dr", 0);
    add(&r, "dr", 1);
    wk_text text = {0};
    wk_eval_result_json(&r, &(wk_json){.text = &text});
    const char *json = wk_text_get(&text);
    static const char *const parts[] = {"\"format\": \"waker-eval-1\"",
                                        "\"domain\": \"ladders\"",
                                        "\"curriculum\": \"dr\"",
                                        "\"exploration\": \"random\"",
                                        "\"seed\": 4",
                                        "\"step\": 1200",
                                        "\"policy\": \"random\"",
                                        "\"envs\": 40",
                                        "\"eval_seed\": 6",
                                        "\"score\": \"completion\"",
                                        "\"score\": \"return\"",
                                        "\"case\": \"high\""};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(json, parts[i])) fail_msg("the document lacks %s", parts[i]);
    assert_null(strstr(json, "\"part\""));
    // In the domain's order: return and completion of dr, of high, then the return of the second
    // task's dr.
    const wk_case_result *high = &r.tasks[0].cases[0], *dr = &r.tasks[0].cases[1];
    assert_true(number_after(json, "sd", 0) == dr->return_score.sd);
    assert_true(number_after(json, "mean", 1) == dr->completion_score.mean);
    assert_true(number_after(json, "0.05", 2) == high->return_score.cvar[1]);
    assert_true(number_after(json, "max", 3) == high->completion_score.max);
    assert_true(number_after(json, "mean", 4) == STEPS);
    assert_true(number_after(json, "episodes", 1) == 6);
    wk_text_free(&text);
    wk_eval_result_free(&r);
}

// A metric is written where episodes have it, whether or not they have the others.
TEST_CASE(metrics_are_written_one_by_one)
{
    wk_eval_result r = random_result();
    add(&r, "high", 0);
    wk_text text = {0};
    wk_eval_result_json(&r, &(wk_json){.text = &text});
    assert_null(strstr(wk_text_get(&text), "discounted_return"));
    wk_text_free(&text);
    wk_case_result *c = &r.tasks[0].cases[0];
    for (int i = 0; i < c->eval_case.episodes; i++)
        c->episodes[i].calibration.discounted = i;
    c->calibration.discounted = 2.5;
    c->episodes[1].calibration.reward_error = 3; // the others have none, so the mean is none either
    wk_eval_result_json(&r, &(wk_json){.text = &text});
    const char *json = wk_text_get(&text);
    assert_true(number_after(json, "discounted_return", 0) == 2.5);
    assert_non_null(strstr(json, "\"discounted_returns\": ["));
    assert_non_null(strstr(json, "\"reward_error\": null"));
    assert_null(strstr(json, "promised_value"));
    wk_text_free(&text);
    wk_eval_result_free(&r);
}

TEST_CASE(tasks_of_the_combined_domain_say_which_part_they_belong_to)
{
    const wk_domain *domain = NULL;
    assert_ok(wk_domain_find("combined", &domain, &err));
    wk_eval_result r = random_result();
    r.origin.domain = domain;
    r.envs = 1;
    int walk, sort;
    assert_ok(wk_domain_task(domain, "walk", &walk, &err));
    assert_ok(wk_domain_task(domain, "sort", &sort, &err));
    add(&r, "dr", walk);
    add(&r, "dr", sort);
    assert_true(r.tasks[0].cases[0].episodes[0].theta[0] == 0);
    assert_true(r.tasks[1].cases[0].episodes[0].theta[0] == 1);
    wk_text text = {0};
    wk_eval_result_json(&r, &(wk_json){.text = &text});
    const char *terrain = strstr(text.chars, "\"part\": \"terrain-walker\"");
    assert_true(terrain && strstr(terrain, "\"part\": \"clean-up\""));
    wk_text_free(&text);
    wk_eval_setup setup = {.case_names = "extra-block", .threads = 1};
    assert_refused(wk_eval_result_add(&r, &setup, walk, &err), WK_E_INPUT, "'walk'");
    assert_int_equal(r.n_tasks, 2);
    wk_eval_result_free(&r);
}

TEST_CASE(files_are_written_under_policy_and_step)
{
    char run[] = "result-XXXXXX";
    assert_non_null(mkdtemp(run));
    wk_eval_result r = random_result();
    add(&r, "high", 0);
    assert_ok(wk_eval_result_write(&r, run, &err));
    assert_string_equal(r.name, "random-000000001200");
    char *csv = read_result(run, &r, ".csv"), *json = read_result(run, &r, ".json");
    const char *const lines = "task,case,episode,height,steps,return,completion,diverged,"
                              "promised_value,discounted_return,reward_error,rungs,slips\n"
                              "climb,high,0,11,4,44,";
    assert_memory_equal(csv, lines, strlen(lines));
    assert_true(number_after(json, "step", 0) == 1200);
    free(csv);
    free(json);
    wk_eval_result_free(&r);
    remove_tree(run);
}

// A result of a task in some cases, written under `run`; its name.
static wk_eval_result write_one(const char *run, int envs, uint64_t seed, const char *cases,
                                int task)
{
    wk_eval_result r = random_result();
    r.envs = envs;
    r.seed = seed;
    add(&r, cases, task);
    assert_ok(wk_eval_result_write(&r, run, &err));
    return r;
}

TEST_CASE(another_question_gets_a_file_of_its_own)
{
    static const struct {
        int envs;
        uint64_t seed;
        const char *cases;
        int task;
    } others[] = {{5, 6, "dr,high", 0}, {40, 7, "dr,high", 0}, {40, 6, "dr", 0}, {40, 6, "dr", 1}};
    enum { OTHERS = sizeof others / sizeof *others };
    char run[] = "result-XXXXXX", names[OTHERS][WK_RESULT_NAME_MAX];
    assert_non_null(mkdtemp(run));
    wk_eval_result first = write_one(run, 40, 6, "dr,high", 0);
    assert_string_equal(first.name, "random-000000001200");
    char *json = read_result(run, &first, ".json"), *csv = read_result(run, &first, ".csv");
    for (int i = 0; i < 2 * OTHERS; i++) { // the second time each finds its own again
        int k = i % OTHERS;
        wk_eval_result other =
            write_one(run, others[k].envs, others[k].seed, others[k].cases, others[k].task);
        assert_memory_equal(other.name, first.name, strlen(first.name));
        assert_int_equal(strlen(other.name), strlen(first.name) + 9);
        if (i >= OTHERS) assert_string_equal(other.name, names[k]);
        strcpy(names[k], other.name);
        for (int n = 0; n < k; n++)
            assert_string_not_equal(names[k], names[n]);
        free(read_result(run, &other, ".csv"));
        wk_eval_result_free(&other);
    }
    // The same cases in another order are the same question.
    wk_eval_result again = write_one(run, 40, 6, "high,dr", 0);
    assert_string_equal(again.name, first.name);
    char *json_again = read_result(run, &first, ".json"),
         *csv_again = read_result(run, &first, ".csv");
    assert_string_equal(json, json_again);
    assert_string_equal(csv, csv_again);
    char *const all[] = {json, csv, json_again, csv_again};
    for (int i = 0; i < 4; i++)
        free(all[i]);
    wk_eval_result_free(&first);
    wk_eval_result_free(&again);
    remove_tree(run);
}

TEST_CASE(a_damaged_file_is_not_touched)
{
    char run[] = "result-XXXXXX", path[WK_PATH_MAX];
    assert_non_null(mkdtemp(run));
    wk_eval_result r = write_one(run, 40, 6, "dr", 0);
    char *bytes = read_result(run, &r, ".json"), *half, *whole;
    snprintf(path, sizeof path, "%s/eval/%s.json", run, r.name);
    assert_ok(wk_file_write(path, bytes, strlen(bytes) / 2, &err));
    wk_eval_result again = write_one(run, 40, 6, "dr", 0);
    assert_string_not_equal(again.name, r.name);
    half = read_result(run, &r, ".json");
    whole = read_result(run, &again, ".json");
    assert_int_equal(strlen(half), strlen(bytes) / 2);
    assert_string_equal(whole, bytes);
    free(whole);
    free(half);
    free(bytes);
    wk_eval_result_free(&r);
    wk_eval_result_free(&again);
    remove_tree(run);
}

// A process that ends at the same moment holds the folder's lock while it writes its own result.
TEST_CASE(the_answer_of_another_process_keeps_its_name)
{
    char run[] = "result-XXXXXX";
    wk_dir *folder;
    assert_non_null(mkdtemp(run));
    wk_eval_result ours = random_result();
    add(&ours, "dr", 0);
    assert_ok(wk_eval_result_folder(run, &err));
    assert_ok(wk_dir_open_below(run, "eval", false, &folder, &err));
    assert_int_equal(flock(wk_dir_fd(folder), LOCK_EX), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        wk_dir_close(folder); // or the child held the lock as well
        _exit(wk_eval_result_write(&ours, run, &err) == WK_OK ? 0 : 1);
    }
    usleep(200 * 1000);
    char other[WK_PATH_MAX], *theirs;
    snprintf(other, sizeof other, "%s/eval/random-000000001200.json", run);
    assert_ok(wk_file_write(other, "{}", 2, &err));
    wk_dir_close(folder);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(wk_file_read(other, 1 << 20, &theirs, NULL, &err));
    assert_string_equal(theirs, "{}");
    assert_ok(wk_eval_result_choose(&ours, run, &err));
    assert_int_equal(strlen(ours.name), strlen("random-000000001200-12345678"));
    free(read_result(run, &ours, ".csv"));
    free(read_result(run, &ours, ".json"));
    free(theirs);
    wk_eval_result_free(&ours);
    remove_tree(run);
}

TEST_CASE(best_median_and_worst_go_by_score_then_return_then_number)
{
    double completions[] = {0.5, 0.5, 1, 0, 0.5, 0}, returns[] = {3, 2, 0, 9, 2, 8};
    wk_task_result t = {.n_cases = 1};
    t.cases[0] = (wk_case_result){
        .eval_case = {"dr", NULL, 6}, .returns = returns, .completions = completions};
    assert_int_equal(wk_video_episode(&ladders, &t, 0, WK_VIDEO_BEST), 2);
    assert_int_equal(wk_video_episode(&ladders, &t, 0, WK_VIDEO_WORST), 5);
    // From the worst: 5, 3, 1, 4, 0, 2.
    assert_int_equal(wk_video_episode(&ladders, &t, 0, WK_VIDEO_MEDIAN), 1);
    t.task = 1; // scored by its return alone: 2, 1, 4, 0, 5, 3
    assert_int_equal(wk_video_episode(&ladders, &t, 0, WK_VIDEO_BEST), 3);
    assert_int_equal(wk_video_episode(&ladders, &t, 0, WK_VIDEO_MEDIAN), 4);
    assert_int_equal(wk_video_episode(&ladders, &t, 0, WK_VIDEO_WORST), 2);
}

TEST_MAIN(NULL, NULL)
