// What a report says in words: claims where the intervals exclude chance, and nothing beyond them.
#include "report/score_fixture.h"

// `seeds` runs of each of the rules, `apart` between the means of neighbours, 1 between seeds.
static void make(const char *root, const char *const *rules, size_t count, uint64_t seeds,
                 double apart)
{
    for (size_t r = 0; r < count; r++)
        for (uint64_t seed = 0; seed < seeds; seed++) {
            char directory[256];
            double mean = 100 - apart * (double)r + (double)seed;
            const made_score scores[] = {{"walk", "dr", NULL, mean, mean - 10, false}};
            snprintf(directory, sizeof directory, "%s/%s/%" PRIu64, root, rules[r], seed);
            made_whole(directory, (made_run){"terrain-walker", rules[r], "plan2explore", seed},
                       scores, 1);
        }
}

static void expect_first(const char *root, const char *wanted)
{
    wk_report report;
    open_report(&report, root, usual);
    assert_int_equal(report.findings.items.count, 2); // CVaR and average
    assert_string_equal(report.findings.items.items[0], wanted);
    wk_report_free(&report);
}

static const char *const rules[] = {"waker-m", "waker-r", "dr"};

TEST_CASE(what_is_certain_is_claimed_and_nothing_else)
{
#define NONE "CVaR 0.1, p2e: no difference can be claimed between 'waker-m'"
    static const struct {
        const char *root;
        size_t rules;
        uint64_t seeds;
        double apart;
        const char *finding;
    } cases[] = {
        {"certain", 2, 5, 20,
         "CVaR 0.1, p2e: 'waker-m' scores higher than 'waker-r' (probability 1.00, interval 1.00 "
         "to 1.00)"},
        // A loser named first is turned around.
        {"turned", 2, 5, -20,
         "CVaR 0.1, p2e: 'waker-r' scores higher than 'waker-m' (probability 1.00, interval 1.00 "
         "to 1.00)"},
        {"noise", 2, 5, 0.5,
         NONE " and 'waker-r': the intervals of all probabilities of improvement include 0.5"},
        // Few runs claim nothing, however far apart they are.
        {"few", 3, 3, 20,
         NONE ", 'waker-r' and 'dr': 3 runs of a task are too few, 4 of each method are needed"},
        {"one", 2, 1, 20,
         NONE " and 'waker-r': 1 run of a task is too few, 4 of each method are needed"},
        {"alone", 1, 5, 0,
         "CVaR 0.1, p2e: only 'waker-m' has results; there is nothing to compare it with"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(cases[i].root, rules, cases[i].rules, cases[i].seeds, cases[i].apart);
        expect_first(cases[i].root, cases[i].finding);
    }
}

TEST_CASE(pairs_without_a_claim_are_named_beside_claims)
{
    static const char *const second[] = {"dr"};
    make("mixed", rules, 2, 5, 0);
    make("mixed", second, 1, 5, 0);
    for (uint64_t seed = 0; seed < 5; seed++) { // dr far below
        char directory[64];
        const made_score low[] = {{"walk", "dr", NULL, 10 + (double)seed, 1 + (double)seed, false}};
        snprintf(directory, sizeof directory, "mixed/dr/%" PRIu64, seed);
        made_whole(directory, (made_run){"terrain-walker", "dr", "plan2explore", seed}, low, 1);
    }
    expect_first("mixed",
                 "CVaR 0.1, p2e: 'waker-m' scores higher than 'dr'; 'waker-r' scores higher than "
                 "'dr'. No difference can be claimed between 'waker-m' and 'waker-r'");
}

TEST_MAIN(made_setup, made_teardown)
