// Tabular world models: what they predict without data and with much, what their ensembles say
// about the error, and what models with a parent learn from each other.
#include "support/check.h"
#include "theory/family.h"

static wk_error err;

static wk_arena arena; // of the models

static int free_models(void **state)
{
    wk_arena_reset(&arena);
    return 0;
}

static wk_mdp chain(double noise)
{
    const wk_family *family;
    const double theta[] = {4, noise};
    wk_mdp mdp;
    assert_ok(wk_family_find("chain", &family, &err));
    wk_family_make(family, theta, 0.9, 0, &mdp);
    return mdp;
}

static void collect(const wk_mdp *mdp, int episodes, wk_tabular_model *model)
{
    wk_rng rng = wk_rng_stream(9, "test-collect", 0);
    for (int e = 0; e < episodes; e++)
        wk_mdp_sample_episode(mdp, NULL, 20, &rng, model);
}

static double mean_of(const double *values, const wk_mdp *mdp)
{
    double sum = 0;
    for (int i = 0; i < mdp->states * mdp->actions; i++)
        sum += values[i] / (mdp->states * mdp->actions);
    return sum;
}

static double mean_error(const wk_tabular_model *model, const wk_mdp *mdp)
{
    wk_mdp predicted = *mdp;
    double tv[WK_MDP_PAIRS_MAX];
    wk_tabular_model_predict(model, &predicted);
    wk_mdp_total_variation(&predicted, mdp, tv);
    return mean_of(tv, mdp);
}

static double mean_disagreement(const wk_tabular_model *model, const wk_mdp *mdp)
{
    double values[WK_MDP_PAIRS_MAX];
    wk_tabular_model_disagreement(model, values);
    return mean_of(values, mdp);
}

TEST_CASE(without_data_every_state_is_as_likely)
{
    wk_mdp mdp = chain(0.3), predicted = mdp;
    wk_tabular_model model;
    assert_ok(wk_tabular_model_create(&mdp, 4, 0, 0, NULL, &arena, &model, &err));
    wk_tabular_model_predict(&model, &predicted);
    for (int i = 0; i < 4 * 2 * 4; i++)
        assert_near(predicted.next[i], 0.25, 1e-15);
    wk_tabular_model_add(&model, 1, 0, 2); // worth as much as the prior
    wk_tabular_model_predict(&model, &predicted);
    assert_near(wk_mdp_next_of(&predicted, 1, 0)[2], (1 + 0.25) / 2, 1e-15);
    assert_near(wk_mdp_next_of(&predicted, 1, 1)[2], 0.25, 1e-15);
}

TEST_CASE(error_and_disagreement_fall_with_data_and_noise_keeps_them_up)
{
    double errors[2][3], disagreements[2][3];
    for (int noisy = 0; noisy < 2; noisy++) {
        wk_mdp mdp = chain(noisy ? 0.5 : 0);
        for (int k = 0; k < 3; k++) {
            static const int episodes[] = {1, 16, 512};
            wk_tabular_model model;
            assert_ok(wk_tabular_model_create(&mdp, 10, 0, 0, NULL, &arena, &model, &err));
            collect(&mdp, episodes[k], &model);
            errors[noisy][k] = mean_error(&model, &mdp);
            disagreements[noisy][k] = mean_disagreement(&model, &mdp);
        }
        assert_true(errors[noisy][0] > errors[noisy][1]);
        assert_true(errors[noisy][1] > 2 * errors[noisy][2] && errors[noisy][2] < 0.02);
        assert_true(disagreements[noisy][0] > disagreements[noisy][1]);
        assert_true(disagreements[noisy][1] > 2 * disagreements[noisy][2]);
    }
    assert_true(errors[1][2] > 2 * errors[0][2] && disagreements[1][2] > 2 * disagreements[0][2]);
}

TEST_CASE(models_with_a_parent_learn_from_each_other)
{
    wk_mdp mdp = chain(0.2);
    wk_tabular_model parent, seen, unseen;
    assert_ok(wk_tabular_model_create(&mdp, 10, 0, 0, NULL, &arena, &parent, &err));
    assert_ok(wk_tabular_model_create(&mdp, 10, 0, 1, &parent, &arena, &seen, &err));
    assert_ok(wk_tabular_model_create(&mdp, 10, 0, 2, &parent, &arena, &unseen, &err));
    double before = mean_error(&unseen, &mdp), doubt = mean_disagreement(&unseen, &mdp);
    assert_near(before, mean_error(&parent, &mdp), 1e-15);
    collect(&mdp, 100, &seen);
    assert_true(mean_error(&unseen, &mdp) < before / 5);
    assert_true(mean_disagreement(&unseen, &mdp) < doubt / 5);
}

TEST_MAIN_EACH(NULL, free_models)
