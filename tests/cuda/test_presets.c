// Updates at the sizes of every preset on the GPU, with a task, alone and as a population of two:
// kernels are chosen by size, so tests at small sizes do not run those of `paper`. Training in bf16
// is compared with training in float32, which takes other kernels, from the same weights, random
// bits and batch. The first updates must agree to a tenth: far more than rounding, far less than a
// wrong kernel.
#include "../bench/sizes.h"
#include "agent/synthetic_batch.h"
#include "support/backend.h"
#include "support/check.h"
#include <math.h>
#include <stdlib.h>

enum { UPDATES = 3, MEMBERS_MAX = 2, ACTIONS = 6, TASKS = 1 };

static const double CLOSE = 0.1;

static wk_error err;

/// Metrics of every update and member.
typedef struct training {
    wk_learner_metrics metrics[UPDATES][MEMBERS_MAX];
    wk_task_metrics tasks[UPDATES][MEMBERS_MAX];
} training;

static wk_learner_config sizes(const char *preset, int member)
{
    wk_learner_config config = wk_learner_config_default();
    assert_true(bench_sizes(&config, preset));
    config.action_size = ACTIONS;
    config.tasks = TASKS;
    config.seed = (uint64_t)member;
    return config;
}

static void train(bool bf16, const char *preset, int members, training *out)
{
    wk_learner *learners[MEMBERS_MAX];
    wk_learner_config configs[MEMBERS_MAX];
    wk_backend *backends[MEMBERS_MAX];
    wk_learner_batch batches[MEMBERS_MAX];
    wk_synthetic_batch synthetic;
    setenv("WAKER_TEST_DEVICE", bf16 ? "cuda-bf16" : "cuda", 1);
    assert_ok(test_population_create(NULL, members, backends, &err));
    for (int i = 0; i < members; i++)
        configs[i] = sizes(preset, i);
    assert_ok(wk_learner_create_population(WK_LEARNER_UPDATES, configs, backends, members, learners,
                                           &err));
    assert_ok(wk_synthetic_batch_create(&configs[0], backends[0], &synthetic, &err));
    for (int i = 0; i < members; i++)
        batches[i] = synthetic.batch;
    for (int update = 0; update < UPDATES; update++) {
        assert_ok(wk_learner_stage(learners[0], batches, &err));
        assert_ok(wk_learner_start(learners[0], &err));
        assert_ok(wk_learner_start_tasks(learners[0], &err));
        assert_ok(wk_learner_finish(learners[0], out->metrics[update], NULL, &err));
        wk_learner_read_tasks(learners[0], out->tasks[update]);
    }
    for (int i = 0; i < members; i++)
        wk_learner_destroy(learners[i]);
    wk_synthetic_batch_free(&synthetic);
    test_population_destroy(backends, members);
}

static void expect_close(const char *preset, int update, const char *what, double bf16, double f32)
{
    if (!(fabs(bf16 - f32) <= CLOSE * fabs(f32)))
        fail_msg("%s, update %d, %s: %g in bf16, %g in float32", preset, update, what, bf16, f32);
}

static void compare(const char *preset, int members)
{
    static training f32, bf16;
    train(false, preset, members, &f32);
    train(true, preset, members, &bf16);
    for (int update = 0; update < UPDATES; update++)
        for (int i = 0; i < members; i++) {
            const wk_learner_metrics *is = &bf16.metrics[update][i], *was = &f32.metrics[update][i];
            const wk_task_metrics *task = &bf16.tasks[update][i];
            assert_null(wk_learner_metrics_nonfinite(is));
            assert_null(wk_task_metrics_nonfinite(task, TASKS));
            expect_close(preset, update, "image loss", is->image_loss, was->image_loss);
            expect_close(preset, update, "KL", is->kl, was->kl);
            expect_close(preset, update, "gradient of the model", is->model_norm, was->model_norm);
            expect_close(preset, update, "ensemble loss", is->ensemble_loss, was->ensemble_loss);
            expect_close(preset, update, "disagreement", is->disagreement, was->disagreement);
            expect_close(preset, update, "entropy", is->explore.entropy, was->explore.entropy);
            expect_close(preset, update, "reward loss", task->reward_loss[0],
                         f32.tasks[update][i].reward_loss[0]);
        }
}

static void quick(void **state)
{
    compare("quick", 1);
    compare("quick", 2);
}

static void small(void **state)
{
    compare("small", 1);
    compare("small", 2);
}

static void paper(void **state)
{
    compare("paper", 1);
    compare("paper", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick),
        cmocka_unit_test(small),
        cmocka_unit_test(paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
