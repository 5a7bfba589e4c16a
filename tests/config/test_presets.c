// The configurations in the program: complete, equal to the list of fields, and the paper's
// numbers.
#include "../bench/sizes.h"
#include "config/blocks.h"
#include "config/parts.h"
#include "run/world.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_config_blocks *embedded(void)
{
    wk_error err = {0};
    wk_config_blocks *blocks;
    assert_ok(wk_config_blocks_create(&blocks, &err));
    assert_ok(wk_config_blocks_add_embedded(blocks, &err));
    return blocks;
}

static wk_run_config merged(const char *const *names, size_t count)
{
    wk_error err = {0};
    wk_config_blocks *blocks = embedded();
    wk_merged_config m;
    assert_ok(wk_config_merge(blocks, names, count, NULL, 0, &m, &err));
    wk_config_blocks_destroy(blocks);
    return m.config;
}

TEST_CASE(the_defaults_give_every_key_the_value_of_the_field_list)
{
    wk_error err = {0};
    wk_config_blocks *blocks = embedded();
    wk_merged_config m;
    assert_ok(wk_config_merge_defaults(blocks, &m, &err));
    const wk_run_config list = wk_run_config_default();
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (!m.origins[i].file) fail_msg("defaults.yaml lacks %s", wk_run_keys[i]);
        if (!wk_run_config_same(&list, &m.config, i))
            fail_msg("%s differs from its row in WK_RUN_FIELDS", wk_run_keys[i]);
    }
    wk_config_blocks_destroy(blocks);
}

// Numbers of the paper's appendix, written down here a second time; those of the control suite are
// the terrain's.
TEST_CASE(each_domain_has_the_papers_numbers)
{
    static const struct {
        const char *domain;
        int64_t steps, prefill;
        int train_every;
        double kl_scale, model_rate, entropy_scale;
    } rows[] = {
        {"terrain-walker", 3700000, 100000, 8, 1, 3e-4, 1e-4},
        {"terrain-hopper", 3700000, 100000, 8, 1, 3e-4, 1e-4},
        {"clean-up", 4100000, 100000, 8, 3, 2e-4, 1e-3},
        {"car-clean-up", 4100000, 100000, 8, 3, 2e-4, 1e-3},
        {"combined", 4000000, 200000, 10, 3, 2e-4, 1e-3},
        {"dmc-walker", 500000, 2500, 8, 1, 3e-4, 1e-4},
        {"dmc-hopper", 500000, 2500, 8, 1, 3e-4, 1e-4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const names[] = {rows[i].domain, "waker-m", "plan2explore", "paper"};
        const wk_run_config c = merged(names, 4);
        assert_string_equal(c.domain, rows[i].domain);
        assert_int_equal(c.steps, rows[i].steps);
        assert_int_equal(c.prefill, rows[i].prefill);
        assert_int_equal(c.train_every, rows[i].train_every);
        assert_true(c.kl_scale == rows[i].kl_scale && c.model_rate == rows[i].model_rate &&
                    c.entropy_scale == rows[i].entropy_scale);
        assert_int_equal(c.replay_capacity, 3000000);
        assert_int_equal(c.deter, 600);
        assert_int_equal(c.stoch * c.classes, 1024);
        assert_int_equal(c.batch * c.length, 800);
        assert_int_equal(c.horizon, 15);
        assert_int_equal(c.ensemble, 10);
        assert_int_equal(c.depth, 48);
    }
}

// A rule's block is made of its row. But for ge and the oracles the prefill stays the domain's.
TEST_CASE(the_block_of_a_rule_sets_the_rule_and_its_own_prefill_only)
{
    wk_error err = {0};
    wk_config_blocks *blocks = embedded();
    for (size_t r = 0; r < wk_curriculum_rule_count(); r++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(r);
        bool own = strcmp(rule->name, "ge") == 0 || strstr(rule->name, "-oracle");
        assert_int_equal(rule->prefill, own ? 500 : 0);
        wk_merged_config m = {.config = wk_run_config_default()};
        assert_ok(wk_config_merge_block(blocks, rule->name, &m, &err));
        assert_string_equal(m.config.curriculum_rule, rule->name);
        for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
            bool sets = i == WK_RUN_curriculum_rule_INDEX || (i == WK_RUN_prefill_INDEX && own);
            if ((m.origins[i].file != NULL) != sets)
                fail_msg("%s and %s", rule->name, wk_run_keys[i]);
        }
        const char *const names[] = {"combined", rule->name};
        assert_int_equal(merged(names, 2).prefill, own ? 500 : 200000);
    }
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(curricula_start_from_their_own_defaults)
{
    const wk_run_config c = merged(NULL, 0);
    const wk_curriculum_config ours = wk_run_config_curriculum(&c);
    const wk_curriculum_config theirs = wk_curriculum_config_default();
    assert_true(ours.dr_probability == theirs.dr_probability);
    assert_true(ours.temperature == theirs.temperature);
    assert_true(ours.error_decay == theirs.error_decay);
    assert_true(ours.reduction_decay == theirs.reduction_decay);
    assert_true(ours.reduction_start == theirs.reduction_start);
    assert_true(ours.reduction_every == theirs.reduction_every);
}

TEST_CASE(the_learner_gets_what_the_blocks_say)
{
    wk_error err = {0};
    static const char *const names[] = {"clean-up", "waker-m", "plan2explore", "paper"};
    wk_run_config c = merged(names, 4);
    const wk_domain *domain;
    assert_ok(wk_domain_find("clean-up", &domain, &err));
    wk_learner_config ours, alone;
    assert_ok(wk_run_config_learner(&c, domain, &ours, &err));
    assert_ok(wk_learner_config_of_blocks(names, 4, &alone, &err));
#define FIELD(kind, name, ...) assert_true(ours.name == alone.name);
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    assert_int_equal(ours.action_size, domain->action_size);
    assert_int_equal(ours.ensemble_kind, WK_DISAGREEMENT_STD);
    assert_int_equal(ours.exploration, WK_EXPLORE_PLAN2EXPLORE);
    assert_int_equal(wk_config_features(&ours), 1624);
    assert_int_equal(wk_config_rows(&ours), 800);
    assert_near(ours.kl_scale, 3, 0);
    assert_near(ours.model_rate, 2e-4, 1e-9);
    assert_refused(wk_learner_config_of_blocks(&(const char *){"papr"}, 1, &alone, &err),
                   WK_E_NOT_FOUND, "paper");
}

TEST_CASE(new_runs_explore_as_the_block_says_unless_another_is_named)
{
    static const struct {
        const char *blocks[2];
        double rate, saturation;
    } rows[] = {{{"clean-up", "quick"}, 3e-5, 1}, {{"clean-up", "plan2explore"}, 3e-5, 1},
                {{"clean-up", "random"}, 0, 0},   {{"clean-up", "authors"}, 0, 0},
                {{"clean-up", "defaults"}, 0, 0}, {{"dr", "toy"}, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        wk_run_config c = merged(rows[i].blocks, 2);
        assert_near(c.exploration_rate, rows[i].rate, 0);
        assert_near(c.saturation_scale, rows[i].saturation, 0);
    }
}

// A run has all its values, so nothing is implied where one is in a file.
TEST_CASE(the_settings_of_a_run_stay_as_they_are)
{
    wk_error err = {0};
    wk_merged_config m;
    wk_config_blocks *blocks = embedded();
    static const char run[] = "policy.rate: 0.002\n";
    assert_ok(wk_config_blocks_add(blocks, "run.yaml", run, strlen(run), &err));
    assert_ok(wk_config_merge(blocks, NULL, 0, NULL, 0, &m, &err));
    assert_near(m.config.policy_rate, 0.002, 0);
    assert_near(m.config.exploration_rate, 0, 0);
    assert_near(m.config.saturation_scale, 0, 0);
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(the_learners_own_defaults_are_the_papers_for_the_terrain)
{
    wk_error err = {0};
    wk_learner_config blocks, own = wk_learner_config_default();
    static const char *const names[] = {"terrain-walker", "paper"};
    assert_ok(wk_learner_config_of_blocks(names, 2, &blocks, &err));
#define FIELD(kind, name, ...) assert_true(blocks.name == own.name);
    WK_LEARNER_FIELDS(FIELD)
#undef FIELD
}

TEST_CASE(a_text_with_choices_is_its_place_in_the_learner_and_checked)
{
    wk_error err = {0};
    const wk_domain *domain;
    wk_run_config c = merged(NULL, 0);
    wk_learner_config learner;
    assert_ok(wk_domain_find("terrain-walker", &domain, &err));
    strcpy(c.ensemble_kind, "variance");
    assert_ok(wk_run_config_learner(&c, domain, &learner, &err));
    assert_int_equal(learner.ensemble_kind, WK_DISAGREEMENT_VARIANCE);
    learner.ensemble_kind = 2;
    assert_refused(wk_learner_config_check(&learner, &err), WK_E_INPUT, "ensemble_kind = 2");
}

TEST_CASE(the_benches_have_the_sizes_of_the_presets)
{
    wk_error err = {0};
    for (int i = 0; i < BENCH_PRESETS; i++) {
        const char *name = bench_presets[i].name;
        wk_learner_config blocks, bench = wk_learner_config_default();
        assert_ok(wk_learner_config_of_blocks(&name, 1, &blocks, &err));
        assert_true(bench_sizes(&bench, name));
#define FIELD(kind, field, ...) assert_true(bench.field == blocks.field);
        WK_LEARNER_FIELDS(FIELD)
#undef FIELD
    }
}

// Kernels are compiled for the presets' models, in their order, and no others.
TEST_CASE(the_models_of_the_kernels_are_the_presets)
{
    int count = 0;
#define MODEL(preset, h, d, g, c, forward, backward, together)                                     \
    {                                                                                              \
        const bench_preset *p = &bench_presets[count++];                                           \
        assert_string_equal(p->name, #preset);                                                     \
        assert_true(p->hidden == (h) && p->deter == (d) && p->stoch == (g) && p->classes == (c));  \
    }
#include "tensor/cuda/passes/model_sizes.def"
#undef MODEL
    assert_int_equal(count, BENCH_PRESETS);
}

// A θ of the domain as curriculum.theta takes it.
static void name_hardest(const wk_domain *domain, char *text)
{
    size_t used = 0;
    for (int i = 0; i < domain->n_params; i++)
        used += (size_t)snprintf(text + used, WK_RUN_TEXT_MAX - used, "%s%g", i ? "," : "",
                                 domain->hardest[i]);
}

TEST_CASE(every_domain_and_rule_has_a_block_and_every_combination_is_possible)
{
    static const char *const presets[] = {"paper", "small", "quick"};
    wk_error err = {0};
    for (size_t d = 0; d < wk_domain_count(); d++)
        for (size_t r = 0; r < wk_curriculum_rule_count(); r++)
            for (size_t p = 0; p < 3; p++) {
                const wk_domain *domain = wk_domain_at(d);
                const char *rule = wk_curriculum_rule_at(r)->name;
                const char *const names[] = {domain->name, rule, "random", presets[p]};
                // The toy's block has its sizes; its episodes are shorter than a preset's
                // sequences.
                bool toy = strcmp(domain->name, "toy") == 0;
                wk_run_config c = merged(names, toy ? 3 : 4);
                if (strcmp(rule, "fixed") == 0) name_hardest(domain, c.curriculum_theta);
                assert_string_equal(c.domain, domain->name);
                assert_string_equal(c.curriculum_rule, rule);
                assert_string_equal(c.exploration, "random");
                assert_ok(wk_run_config_check(&c, domain, &err));
            }
}

// Episodes begin together, every env.count times their length: those of the first round behind the
// prefill are chosen by errors, and are in the first snapshot.
TEST_CASE(quick_decides_before_its_first_snapshot)
{
    static const char *const domains[] = {"terrain-walker", "clean-up", "dmc-walker"};
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        const char *const names[] = {domains[i], "waker-m", "plan2explore", "quick"};
        wk_run_config c = merged(names, 4);
        wk_error err = {0};
        const wk_domain *domain;
        assert_ok(wk_domain_find(domains[i], &domain, &err));
        int64_t round = c.env_count * domain->episode_steps;
        int64_t decision = (c.prefill / round + 1) * round;
        assert_true(decision - c.prefill >= 100 * c.train_every); // updates to decide by
        assert_true(decision < c.snapshot_every);
    }
}

TEST_CASE(every_block_applies)
{
    wk_error err = {0};
    wk_config_blocks *blocks = embedded();
    assert_int_equal(wk_config_blocks_count(blocks), 1 + 3 + 9 + 16 + 2 + 1);
    for (size_t i = 0; i < wk_config_blocks_count(blocks); i++) {
        wk_merged_config m;
        const char *name = wk_config_blocks_name(blocks, i);
        assert_ok(wk_config_merge(blocks, &name, 1, NULL, 0, &m, &err));
    }
    wk_config_blocks_destroy(blocks);
}

TEST_CASE(the_reference_is_the_same_world_with_the_papers_numbers)
{
    wk_error err = {0};
    wk_config_blocks *blocks = embedded();
    const char *const names[] = {"combined", "ge", "random", "quick"};
    wk_merged_config m;
    wk_run_config reference;
    assert_ok(wk_config_merge(blocks, names, 4, NULL, 0, &m, &err));
    assert_ok(wk_config_reference(blocks, &m.config, "paper", &reference, &err));
    assert_string_equal(reference.domain, "combined");
    assert_string_equal(reference.exploration, "random");
    assert_int_equal(reference.prefill, 500);
    assert_int_equal(reference.deter, 600);
    wk_config_blocks_destroy(blocks);
}

// Every key whose column "authors' code" has another value than the default, and how many
// environments they step.
TEST_CASE(the_authors_protocol_sets_every_key_in_which_their_runs_differ)
{
    wk_error err = {0};
    const char *const names[] = {"terrain-walker", "waker-m", "paper", "plan2explore", "authors"};
    wk_run_config c = merged(names, 5), theirs = merged(names, 3);
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const char *value = wk_run_fields[i].authors;
        if (*value && strcmp(value, "=") != 0)
            assert_ok(wk_run_config_set(&theirs, i, value, &err));
    }
    theirs.env_count = 1;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        if (!wk_run_config_same(&c, &theirs, i)) fail_msg("%s is another", wk_run_keys[i]);
    const wk_domain *domain;
    wk_learner_config learner;
    assert_ok(wk_domain_find("terrain-walker", &domain, &err));
    assert_ok(wk_run_config_learner(&c, domain, &learner, &err));
    assert_int_equal(learner.ensemble_action, WK_ACTION_ARRIVING);
    assert_int_equal(learner.ensemble_states, WK_STATES_ALL);
    assert_int_equal(learner.ensemble_clip, WK_CLIP_JOINT);
    assert_int_equal(learner.reward_clip, WK_CLIP_JOINT);
    assert_int_equal(learner.adam_epsilon, WK_EPSILON_KERAS);
    assert_true(wk_run_config_replay(&c, domain).complete);
}

TEST_MAIN(NULL, NULL)
