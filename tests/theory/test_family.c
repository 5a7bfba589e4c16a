// The families: proper transitions for every θ, noise that mixes, layouts by seed, curricula's
// view.
#include "base/random.h"
#include "support/check.h"
#include "theory/family.h"

static wk_error err;

static void for_each_theta(void (*check)(const wk_family *family, const double *theta))
{
    for (size_t f = 0; f < WK_FAMILIES; f++) {
        wk_space *space;
        assert_ok(wk_space_create(&wk_families[f].domain, false, &space, &err));
        assert_int_equal(wk_space_count(space), 24);
        for (size_t i = 0; i < wk_space_count(space); i++)
            check(&wk_families[f], wk_space_params(space, i));
        wk_space_destroy(space);
    }
}

static void check_rows(const wk_family *family, const double *theta)
{
    wk_mdp mdp;
    wk_family_make(family, theta, 0.9, 5, &mdp);
    for (int pair = 0; pair < mdp.states * mdp.actions; pair++) {
        double sum = 0, max = 0;
        for (int s = 0; s < mdp.states; s++) {
            double p = mdp.next[pair * mdp.states + s];
            assert_true(p >= 0);
            sum += p;
            max = fmax(max, p);
        }
        assert_near(sum, 1, 1e-12);
        if (theta[WK_FAMILY_NOISE] == 0) assert_near(max, 1, 1e-12);
    }
    assert_near(mdp.start[0], 1, 0);
}

TEST_CASE(transitions_are_distributions_and_without_noise_certain)
{
    for_each_theta(check_rows);
}

static void check_mixture(const wk_family *family, const double *theta)
{
    const double none[] = {theta[0], 0}, twice[] = {theta[0], 2 * theta[1]};
    wk_mdp a, b, middle;
    wk_family_make(family, none, 0.9, 5, &a);
    wk_family_make(family, twice, 0.9, 5, &b);
    wk_family_make(family, theta, 0.9, 5, &middle);
    for (int i = 0; i < a.states * a.actions * a.states; i++)
        assert_near(middle.next[i], (a.next[i] + b.next[i]) / 2, 1e-12);
}

TEST_CASE(theta_that_differ_in_noise_are_the_same_world)
{
    for_each_theta(check_mixture);
}

TEST_CASE(the_seed_makes_the_layout)
{
    static const char *const names[] = {"random", "slippery", "windy"};
    for (size_t i = 0; i < 3; i++) {
        const wk_family *family;
        assert_ok(wk_family_find(names[i], &family, &err));
        const double theta[] = {4, 0.3};
        wk_mdp a, b, again;
        wk_family_make(family, theta, 0.9, 1, &a);
        wk_family_make(family, theta, 0.9, 2, &b);
        wk_family_make(family, theta, 0.9, 1, &again);
        size_t size = (size_t)(a.states * a.actions * a.states) * sizeof *a.next;
        assert_memory_equal(a.next, again.next, size);
        assert_true(memcmp(a.next, b.next, size) != 0);
    }
}

TEST_CASE(slips_go_sideways_and_the_border_stops)
{
    const wk_family *family;
    assert_ok(wk_family_find("slippery", &family, &err));
    const double theta[] = {2, 0.4};
    int ice = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        wk_mdp mdp;
        wk_family_make(family, theta, 0.9, seed, &mdp);
        // East from the corner: to its east; on ice at times north, or south, where the border is.
        const double *next = wk_mdp_next_of(&mdp, 0, 0);
        ice += next[1] < 1;
        if (next[1] == 1) continue;
        assert_near(next[1], 0.6, 1e-12);
        assert_near(next[2], 0.2, 1e-12);
        assert_near(next[0], 0.2, 1e-12);
    }
    assert_true(ice > 3 && ice < 17);
}

TEST_CASE(an_unknown_family_is_refused)
{
    const wk_family *family;
    assert_refused(wk_family_find("chains", &family, &err), WK_E_NOT_FOUND, "slippery");
}

TEST_MAIN(NULL, NULL)
