// Which policies of a run a query means, and of which steps. The run has empty files of weights:
// their names are what counts.
#include "run/weights.h"
#include "support/check.h"
#include "train/runs.h"

#define RUN "weights-query.tmp"

static wk_error err;

// Snapshots and adaptations at 100 and 200, one of them with a name; walk fine-tuned from 200 and
// 100, run from 100 and 300.
static const char *const files[] = {"snapshots/step-000000000100.safetensors",
                                    "snapshots/step-000000000200.safetensors",
                                    "adapt/step-000000000100/weights.safetensors",
                                    "adapt/step-000000000200.fast/weights.safetensors",
                                    "finetune/step-000000000200-walk/weights.safetensors",
                                    "finetune/step-000000000100-walk/weights.safetensors",
                                    "finetune/step-000000000100-run/weights.safetensors",
                                    "finetune/step-000000000300-run/weights.safetensors"};

static void add_file(const char *name)
{
    char path[WK_PATH_MAX], folder[WK_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", RUN, name);
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    assert_ok(wk_dir_create(folder, &err));
    assert_ok(wk_file_write(path, "", 0, &err));
}

static int setup(void **state)
{
    remove_tree(RUN);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        add_file(files[i]);
    return 0;
}

static int teardown(void **state)
{
    remove_tree(RUN);
    return 0;
}

static const char *const both[] = {"walk", "run"};

// "POLICY-STEP,STEP" of an answer, or the message.
static const char *answer_to(wk_weights_query query, const char *tasks)
{
    static char text[1200];
    wk_weights_answer answer = {0};
    wk_run_config config = wk_run_config_default();
    snprintf(config.tasks, sizeof config.tasks, "%s", tasks);
    query.tasks = both;
    query.n_tasks = 2;
    wk_status status = wk_weights_resolve(RUN, &config, &query, &answer, &err);
    int length = status == WK_OK ? snprintf(text, sizeof text, "%s-", answer.title)
                                 : snprintf(text, sizeof text, "%s", err.message);
    for (size_t i = 0; status == WK_OK && i < answer.steps.count; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%d", i ? "," : "",
                           (int)answer.steps.items[i]);
    wk_weights_answer_free(&answer);
    return text;
}

static void assert_answers(wk_weights_query query, const char *tasks, const char *part)
{
    const char *answer = answer_to(query, tasks);
    if (!strstr(answer, part)) fail_msg("'%s' is not in '%s'", part, answer);
}

TEST_CASE(adapted_policies_are_preferred_where_they_exist)
{
    const wk_weights_query last = {.step = WK_STEP_LAST}, all = {.step = WK_STEP_ALL};
    assert_string_equal(answer_to(last, "all"), "adapted-100");
    assert_string_equal(answer_to(all, "all"), "adapted-100");
    assert_string_equal(answer_to((wk_weights_query){.step = 100}, "none"), "adapted-100");
    assert_string_equal(answer_to((wk_weights_query){.step = 200}, "all"), "alongside-200");
    assert_answers((wk_weights_query){.step = 200}, "none", "there are agent steps 100");
}

TEST_CASE(a_query_gets_the_policy_that_it_names)
{
    static const struct {
        const char *policy, *name;
        int64_t step;
        const char *answer;
    } rows[] = {
        {"alongside", NULL, WK_STEP_ALL, "alongside-100,200"},
        {"adapted", "fast", WK_STEP_LAST, "adapted.fast-200"},
        {NULL, "fast", 200, "adapted.fast-200"},
        {"finetuned", NULL, WK_STEP_ALL, "finetuned-100,200,300"},
        {"finetuned", NULL, WK_STEP_LAST, "finetuned-300"},
        {"finetuned", NULL, 200, "finetuned-200"},
        {"random", NULL, WK_STEP_LAST, "random-200"},
        {"adapted.fast", NULL, WK_STEP_LAST, "adapted.fast-200"},
        {"adapted.fast", "fast", WK_STEP_LAST, "adapted.fast-200"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wk_weights_query query = {
            .policy = rows[i].policy, .name = rows[i].name, .step = rows[i].step};
        assert_string_equal(answer_to(query, "all"), rows[i].answer);
    }
}

TEST_CASE(what_a_run_does_not_have_is_refused_with_what_it_has)
{
    static const struct {
        const char *policy, *name;
        int64_t step;
        const char *message;
    } rows[] = {
        {"adpated", NULL, WK_STEP_LAST, "did you mean 'adapted'"},
        {"alongside", NULL, WK_STEP_LAST, "was trained without tasks"},
        {"random", "fast", WK_STEP_LAST, "--policy random has no names"},
        {"adapted", "../fast", WK_STEP_LAST, "a name has 1 to"},
        {"adapted.fast", "slow", WK_STEP_LAST, "contradicts --name 'slow'"},
        {"random.fast", NULL, WK_STEP_LAST, "--policy random has no names"},
        {"adapted.", NULL, WK_STEP_LAST, "a name has 1 to"},
        {"adapted", "slow", WK_STEP_LAST, "no adapted policies named 'slow'"},
        {"finetuned", NULL, 400, "for 'walk' at agent step 400; there are agent steps 100, 200"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wk_weights_query query = {
            .policy = rows[i].policy, .name = rows[i].name, .step = rows[i].step};
        assert_answers(query, "none", rows[i].message);
    }
}

TEST_CASE(a_run_without_policies_says_how_to_make_some)
{
    const wk_weights_query last = {.step = WK_STEP_LAST};
    remove_tree(RUN "/adapt/step-000000000100");
    assert_answers(last, "none", "has adaptations with names only: fast; add --name fast");
    remove_tree(RUN "/adapt");
    assert_answers(last, "none", "create some with 'waker adapt " RUN "'");
    assert_string_equal(answer_to(last, "all"), "alongside-200");
}

TEST_CASE(fine_tuned_weights_have_a_file_for_each_task)
{
    const wk_weights_answer answers[] = {{.source = {.kind = WK_WEIGHTS_FINETUNED}},
                                         {.source = {.kind = WK_WEIGHTS_ADAPTED}}};
    assert_string_equal(wk_weights_of(&answers[0], "walk").task, "walk");
    assert_null(wk_weights_of(&answers[1], "walk").task);
}

TEST_MAIN(setup, teardown)
