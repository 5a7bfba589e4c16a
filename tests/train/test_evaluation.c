// Evaluation during training: it only looks, it gives the bytes that evaluating the snapshot gives,
// and a run that is stopped in the middle of one makes up for it.
#include "run/saved_run.h"
#include "run/world.h"
#include "train/evaluation.h"
#include "train/runs.h"
#include "train/train.h"

#define A "evaluation-a.tmp"
#define B "evaluation-b.tmp"

static wk_error err;

static wk_run_config evaluated_run(void)
{
    wk_run_config config = quiet_run();
    snprintf(config.tasks, sizeof config.tasks, "east"); // the domain's second
    config.eval_every = 150;
    config.eval_envs = 10;
    return config;
}

// One evaluated run in A serves all tests; B is theirs.
static int make_run(void **state)
{
    remove_tree(A);
    wk_run_config config = evaluated_run();
    run_to_end(&config, A);
    return 0;
}

static int remove_run(void **state)
{
    remove_tree(A);
    return 0;
}

static int clean(void **state)
{
    remove_tree(B);
    return 0;
}

static void it_does_not_change_a_run(void **state)
{
    wk_run_config config = evaluated_run();
    config.eval_every = 0;
    run_to_end(&config, B);
    same_weights(A, B);
    // What it measured comes in lines of its own; without them the logs are the same too.
    run_command("grep -v eval_ " A "/metrics.jsonl > " A "/others");
    run_command("cmp " A "/others " B "/metrics.jsonl");
    run_command("grep -c eval_ " A "/metrics.jsonl | grep -qx 3");
    assert_false(wk_path_exists(B "/eval"));
}

static void clips_go_to_tensorboard_and_change_nothing(void **state)
{
    wk_run_config config = evaluated_run();
    config.log_tensorboard = true;
    run_to_end(&config, B);
    same_learning(A, B);
    run_command("grep -aq eval_east_uniform_policy_image " B "/events.*");
    run_command("grep -aq eval_openl_image " B "/events.*");
}

// Evaluates the snapshot of a step as `waker eval` does, into the directory B.
static void evaluate_snapshot(uint64_t step, int threads)
{
    wk_saved_run run = {0};
    const wk_weights_choice choice = {.step = (int64_t)step, .threads = threads};
    assert_ok(wk_saved_run_open(A, &(wk_saved_run_options){.weights = &choice}, &run, &err));
    wk_eval_setup setup = {.options = run.world.options,
                           .learner = run.weights.learner,
                           .case_names = "",
                           .threads = threads};
    wk_eval_result result = {.origin = wk_evaluation_origin(&run.config, run.world.domain, NULL,
                                                            step, WK_POLICY_ALONGSIDE),
                             .envs = 10};
    for (int k = 0; k < run.weights.n_tasks; k++) {
        assert_ok(wk_eval_result_add(&result, &setup, run.weights.tasks[k], &err));
        assert_ok(wk_eval_result_play(&result, &setup, k, k, &err));
    }
    assert_ok(wk_eval_result_write(&result, B, &err));
    wk_eval_result_free(&result);
    wk_saved_run_close(&run);
}

static void assert_eval_seed(const char *run, uint64_t seed)
{
    run_command("grep -q '\"eval_seed\": %" PRIu64 "\\b' %s/eval/alongside-000000000150.json", seed,
                run);
}

static void fresh_environments_are_others_for_every_run_and_step(void **state)
{
    wk_run_config config = evaluated_run();
    assert_int_equal(wk_evaluation_seed(&config, 150), 0);
    config.eval_fresh = true;
    uint64_t first = wk_evaluation_seed(&config, 150);
    assert_int_equal(wk_evaluation_seed(&config, 150), first);
    assert_int_not_equal(wk_evaluation_seed(&config, 300), first);
    config.seed++;
    assert_int_not_equal(wk_evaluation_seed(&config, 150), first);
    config.seed--;
    run_to_end(&config, B);
    same_weights(A, B);
    assert_eval_seed(B, first);
    assert_eval_seed(A, 0);
}

static void it_gives_what_the_snapshot_of_the_step_gives(void **state)
{
    uint64_t steps[16];
    size_t count = weights_steps(A, WK_WEIGHTS_SNAPSHOT, steps, 16);
    int evaluated = 0;
    for (size_t i = 0; i < count; i++) {
        char name[128], path[256];
        snprintf(name, sizeof name, "eval/alongside-%012" PRIu64 ".json", steps[i]);
        snprintf(path, sizeof path, A "/%s", name);
        if (!wk_path_exists(path)) continue; // a snapshot between evaluations
        evaluate_snapshot(steps[i], 1 + evaluated % 2);
        same_file(A, B, name, 0, 0);
        memcpy(strstr(name, ".json"), ".csv", 5);
        same_file(A, B, name, 0, 0);
        evaluated++;
    }
    assert_int_equal(evaluated, 3); // after 150 and 300 steps, and at the end
}

static void scores_and_indicators_have_their_names(void **state)
{
    static const char *const names[] = {"eval_east_uniform/eval_east_uniform_mean_return",
                                        "eval_east_uniform/eval_east_uniform_cvar_0.1_return",
                                        "eval_east_uniform/eval_east_uniform_std_return",
                                        "eval_east_uniform/"
                                        "eval_east_uniform_open_loop_image_error",
                                        "eval_east_uniform/"
                                        "eval_east_uniform_open_loop_reward_error",
                                        "eval_east_uniform/eval_east_uniform_mean_distance",
                                        "train_indicator_distance",
                                        "eval_east_OOD_storm/eval_east_OOD_storm_max_return",
                                        "eval_east_OOD_storm/eval_east_OOD_storm_min_length"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        run_command("grep -q '\"%s\": ' " A "/metrics.jsonl", names[i]);
    }
}

// Asks the run to stop when it begins to evaluate at a step.
typedef struct evaluation_stop {
    const char *message;
    volatile sig_atomic_t stop;
} evaluation_stop;

static void stop_in_evaluation(void *context, wk_log_level level, const char *message)
{
    evaluation_stop *s = context;
    (void)level;
    if (strstr(message, s->message)) s->stop = 1;
}

static void train_until(const wk_run_config *config, const char *message)
{
    evaluation_stop s = {.message = message};
    wk_run_control control = {.stop = &s.stop, .log = {stop_in_evaluation, &s, WK_LOG_INFO}};
    wk_run_end end;
    assert_ok(wk_train(config, B, NULL, &control, &end, &err));
    assert_int_equal(end, WK_RUN_INTERRUPTED);
}

static void a_run_stopped_within_an_evaluation_makes_up_for_it(void **state)
{
    wk_run_config config = evaluated_run();
    train_until(&config, "evaluating task policies after 300 agent steps");
    assert_int_equal(newest_step(B), 300);
    assert_false(wk_path_exists(B "/eval/alongside-000000000300.json"));
    run_to_end(&config, B);
    same_end(A, B);
    same_file(A, B, "eval/alongside-000000000300.json", 0, 0);
    // A finished run stays as it is.
    run_to_end(&config, B);
    same_end(A, B);
}

static void count_evaluations(void *context, wk_log_level level, const char *message)
{
    (void)level;
    *(int *)context += strstr(message, "evaluating task policies") != NULL;
}

static void the_last_one_is_made_once(void **state)
{
    wk_run_end end;
    wk_run_config config = evaluated_run();
    train_until(&config, "evaluating task policies after 402 agent steps");
    for (int expected = 1; expected >= 0; expected--) {
        int count = 0;
        wk_run_control control = {.log = {count_evaluations, &count, WK_LOG_INFO}};
        assert_ok(wk_train(&config, B, NULL, &control, &end, &err));
        assert_int_equal(end, WK_RUN_FINISHED);
        assert_int_equal(count, expected);
    }
    same_end(A, B);
}

static void without_task_policies_it_is_refused_saying_what_to_do(void **state)
{
    const wk_domain *domain;
    assert_ok(wk_domain_find("toy", &domain, &err));
    wk_run_config config = evaluated_run();
    assert_ok(wk_run_config_check(&config, domain, &err));
    snprintf(config.tasks, sizeof config.tasks, "none");
    assert_refused(wk_run_config_check(&config, domain, &err), WK_E_INPUT, "tasks: all");
    assert_non_null(strstr(err.message, "waker adapt"));
    config.eval_every = 0;
    assert_ok(wk_run_config_check(&config, domain, &err));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, clean, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_does_not_change_a_run),
        TEST(it_gives_what_the_snapshot_of_the_step_gives),
        TEST(fresh_environments_are_others_for_every_run_and_step),
        TEST(clips_go_to_tensorboard_and_change_nothing),
        cmocka_unit_test(scores_and_indicators_have_their_names),
        TEST(a_run_stopped_within_an_evaluation_makes_up_for_it),
        TEST(the_last_one_is_made_once),
        cmocka_unit_test(without_task_policies_it_is_refused_saying_what_to_do),
    };
    return cmocka_run_group_tests(tests, make_run, remove_run);
}
