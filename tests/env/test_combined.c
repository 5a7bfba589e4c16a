// The combined domain against the two domains it consists of.
#include "env/domain.h"
#include "env/domains/domains.h"
#include "support/worlds.h"

static wk_error err;

static const wk_domain *const parts[] = {&wk_terrain_walker, &wk_clean_up};

static void random_action(wk_rng *rng, float *action)
{
    for (int i = 0; i < 6; i++)
        action[i] = (float)wk_rng_uniform(rng, -1, 1);
}

static void assert_same_picture(const wk_domain *part, void *ours, void *theirs)
{
    static uint8_t a[WK_IMAGE_BYTES], b[WK_IMAGE_BYTES];
    wk_combined.render(ours, 64, 64, a);
    part->render(theirs, 64, 64, b);
    assert_memory_equal(a, b, sizeof a);
}

// What the combined domain must report, given what the part reports.
static void assert_same_outcome(const wk_domain *part, const wk_outcome *ours,
                                const wk_outcome *theirs)
{
    for (int i = 0; i < wk_combined.n_tasks; i++) {
        int task =
            wk_row_find(part->tasks, part->n_tasks, sizeof *part->tasks, wk_combined.tasks[i].name);
        assert_near(ours->rewards[i], task < 0 ? 0 : theirs->rewards[task], 0);
        assert_near(ours->completion[i], task < 0 ? 0 : theirs->completion[task], 0);
    }
    assert_int_equal(ours->diverged, theirs->diverged);
    assert_int_equal(ours->terminal, theirs->terminal);
}

// At a reset they are not read.
static void assert_same_indicators(const wk_domain *part, const wk_outcome *ours,
                                   const wk_outcome *theirs)
{
    for (int i = 0; i < wk_combined.n_indicators; i++) {
        int indicator = wk_row_find(part->indicators, part->n_indicators, sizeof *part->indicators,
                                    wk_combined.indicators[i].name);
        float want = indicator < 0 ? NAN : theirs->indicators[indicator];
        assert_true(ours->indicators[i] == want || (isnan(want) && isnan(ours->indicators[i])));
    }
}

TEST_CASE(every_episode_is_that_of_the_single_domain)
{
    static const double thetas[][4] = {{0, 0.6, 0.5, 0}, {1, 4, 2, 2}, {0, -1, 0, 0}, {1, 0, 0, 0}};
    const int options[WK_OPTIONS_MAX] = {0};
    void *ours = make_env(&wk_combined, options);
    void *theirs[2] = {make_env(parts[0], options), make_env(parts[1], options)};
    for (int t = 0; t < 4; t++) {
        int p = (int)thetas[t][0];
        wk_outcome a = start_env(&wk_combined, ours, thetas[t], 17, 2);
        wk_outcome b = start_env(parts[p], theirs[p], thetas[t] + 1, 17, 2);
        assert_same_outcome(parts[p], &a, &b);
        wk_rng rng = wk_rng_stream(4, "test", (uint64_t)t);
        for (int i = 0; i < 30; i++) {
            float action[6];
            random_action(&rng, action);
            a = step_env(&wk_combined, ours, action);
            b = step_env(parts[p], theirs[p], action);
            assert_same_outcome(parts[p], &a, &b);
            assert_same_indicators(parts[p], &a, &b);
        }
        assert_same_picture(parts[p], ours, theirs[p]);
    }
    wk_combined.destroy(ours);
    for (int p = 0; p < 2; p++)
        parts[p]->destroy(theirs[p]);
}

TEST_CASE(the_grid_is_both_grids_at_one_half_each)
{
    assert_int_equal(wk_combined.grid_count(), 21 * 37 + 35);
    double sum[2] = {0};
    bool seen[21][37] = {{0}};
    for (size_t i = 0; i < wk_combined.grid_count(); i++) {
        double theta[4], p, their_theta[3], their_p;
        wk_combined.grid_point(i, theta, &p);
        assert_ok(wk_combined.check(theta, &err));
        sum[(int)theta[0]] += p;
        if (i < 21 * 37) {
            assert_near(p, 0.5 / (21 * 37), 1e-15);
            int a = (int)lround(theta[1] * 20), l = (int)lround(theta[2] * 20);
            // The doubles a user writes: 0.15, not 3 * 0.05.
            assert_near(theta[1], a / 20.0, 0);
            assert_near(theta[2], l / 20.0, 0);
            assert_false(seen[a][l - 4]);
            seen[a][l - 4] = true;
        } else {
            wk_clean_up.grid_point(i - 21 * 37, their_theta, &their_p);
            assert_memory_equal(theta + 1, their_theta, sizeof their_theta);
            assert_near(p, their_p / 2, 0);
        }
    }
    assert_near(sum[0], 0.5, 1e-12);
    assert_near(sum[1], 0.5, 1e-12);
}

TEST_CASE(theta_is_checked_by_the_domain_it_belongs_to)
{
    assert_ok(wk_combined.check((double[]){0, -1, 0, 0}, &err));
    assert_ok(wk_combined.check((double[]){1, 5, 5, 0}, &err));
    assert_refused(wk_combined.check((double[]){0.5, 0, 1, 0}, &err), WK_E_INPUT, "domain = 0.5");
    assert_refused(wk_combined.check((double[]){0, 2, 1, 0}, &err), WK_E_INPUT, "amplitude = 2");
    assert_refused(wk_combined.check((double[]){0, 1, 1, 1}, &err), WK_E_INPUT, "p2 = 1");
    assert_refused(wk_combined.check((double[]){0, -0.5, 1, 0}, &err), WK_E_INPUT, "amplitude");
    assert_refused(wk_combined.check((double[]){1, 1, 1, 1}, &err), WK_E_INPUT, "do not fit");
    assert_refused(wk_combined.check((double[]){1, 4, 6, 0}, &err), WK_E_INPUT, "green = 6");
}

TEST_CASE(ranges_times_and_actions_fit_both_domains)
{
    for (int d = 0; d < 2; d++) {
        assert_true(parts[d]->action_size <= wk_combined.action_size);
        assert_int_equal(parts[d]->episode_steps, wk_combined.episode_steps);
        assert_int_equal(parts[d]->action_repeat, wk_combined.action_repeat);
        for (int i = 0; i < parts[d]->n_params; i++) {
            assert_true(wk_combined.params[1 + i].legal_min <= parts[d]->params[i].legal_min);
            assert_true(wk_combined.params[1 + i].legal_max >= parts[d]->params[i].legal_max);
            assert_true(wk_combined.params[1 + i].min <= parts[d]->params[i].min);
            assert_true(wk_combined.params[1 + i].max >= parts[d]->params[i].max);
        }
    }
}

// Whether `theta` of a part, lifted to four numbers, is among the rows of a table.
static bool listed(const double *rows, int count, int part, const double *theta)
{
    double lifted[4] = {part, 0, 0, 0};
    memcpy(lifted + 1, theta, (size_t)parts[part]->n_params * sizeof *theta);
    for (int i = 0; i < count; i++)
        if (memcmp(rows + 4 * i, lifted, sizeof lifted) == 0) return true;
    return false;
}

TEST_CASE(cases_are_those_of_both_domains)
{
    int paper_cases = 0;
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < parts[d]->n_cases; i++) {
            const wk_case *theirs = &parts[d]->cases[i];
            if (theirs->extra) continue;
            const wk_case *ours = &wk_combined.cases[paper_cases++];
            assert_string_equal(ours->name, theirs->name);
            assert_int_equal(ours->episodes, theirs->episodes);
            assert_int_equal(ours->count, theirs->count);
            for (int k = 0; k < theirs->count; k++)
                assert_true(
                    listed(ours->params + 4 * k, 1, d, theirs->params + k * parts[d]->n_params));
        }
    assert_int_equal(wk_combined.n_cases, paper_cases);
}

TEST_CASE(oracles_are_those_of_both_domains_at_equal_weight)
{
    int rows[2] = {0};
    for (int i = 0; i < wk_combined.n_complex; i++)
        rows[(int)wk_combined.most_complex[4 * i]]++;
    assert_int_equal(rows[0], rows[1]);
    for (int d = 0; d < 2; d++) {
        assert_int_equal(rows[d] % parts[d]->n_complex, 0);
        for (int i = 0; i < parts[d]->n_complex; i++)
            assert_true(listed(wk_combined.most_complex, wk_combined.n_complex, d,
                               parts[d]->most_complex + i * parts[d]->n_params));
    }
    assert_true(listed(wk_combined.hardest, 1, 0, wk_terrain_walker.hardest));
}

TEST_CASE(options_are_the_union_of_both_domains)
{
    for (int d = 0; d < 2; d++)
        for (int i = 0; i < parts[d]->n_options; i++) {
            int ours = wk_row_find(wk_combined.options, wk_combined.n_options, sizeof(wk_option),
                                   parts[d]->options[i].name);
            assert_true(ours >= 0);
            assert_string_equal(wk_combined.options[ours].choices, parts[d]->options[i].choices);
        }
    for (int i = 0; i < wk_combined.n_options; i++)
        assert_true(wk_row_find(parts[0]->options, parts[0]->n_options, sizeof(wk_option),
                                wk_combined.options[i].name) >= 0 ||
                    wk_row_find(parts[1]->options, parts[1]->n_options, sizeof(wk_option),
                                wk_combined.options[i].name) >= 0);
}

TEST_CASE(an_option_reaches_the_domain_it_belongs_to)
{
    static const double theta[4] = {0, 1, 0.3, 0};
    int ours[WK_OPTIONS_MAX] = {0}, theirs[WK_OPTIONS_MAX] = {0};
    ours[wk_row_find(wk_combined.options, wk_combined.n_options, sizeof(wk_option), "lattice")] = 1;
    theirs[wk_row_find(parts[0]->options, parts[0]->n_options, sizeof(wk_option), "lattice")] = 1;
    const int plain[WK_OPTIONS_MAX] = {0};
    void *a = make_env(&wk_combined, ours), *b = make_env(parts[0], theirs),
         *c = make_env(parts[0], plain);
    start_env(&wk_combined, a, theta, 17, 2);
    start_env(parts[0], b, theta + 1, 17, 2);
    start_env(parts[0], c, theta + 1, 17, 2);
    bool differs = false;
    for (int i = 0; i < 30; i++) {
        const float action[6] = {0.2f, -0.1f, 0.4f, 0, 0.3f, 0.1f};
        wk_outcome x = step_env(&wk_combined, a, action), y = step_env(parts[0], b, action);
        wk_outcome z = step_env(parts[0], c, action);
        assert_same_outcome(parts[0], &x, &y);
        differs |= memcmp(&y, &z, sizeof y) != 0;
    }
    assert_true(differs); // the option made a difference at all
    wk_combined.destroy(a);
    parts[0]->destroy(b);
    parts[0]->destroy(c);
}

TEST_MAIN(NULL, NULL)
