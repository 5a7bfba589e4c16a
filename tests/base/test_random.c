// Streams against the published Philox vectors, and what streams promise: pure, independent,
// unbiased.
#include "base/random.h"
#include "support/check.h"

// Known-answer vectors of the Random123 distribution (philox4x32, 10 rounds).
TEST_CASE(philox_matches_published_vectors)
{
    wk_u32x4 zero = wk_philox(0, (wk_u32x4){{0, 0, 0, 0}});
    const uint32_t zero_expected[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    assert_memory_equal(zero.v, zero_expected, sizeof zero_expected);

    wk_u32x4 ones = wk_philox(UINT64_MAX, (wk_u32x4){{~0u, ~0u, ~0u, ~0u}});
    const uint32_t ones_expected[] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    assert_memory_equal(ones.v, ones_expected, sizeof ones_expected);

    wk_u32x4 pi = wk_philox(0x299f31d0a4093822u,
                            (wk_u32x4){{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}});
    const uint32_t pi_expected[] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    assert_memory_equal(pi.v, pi_expected, sizeof pi_expected);
}

TEST_CASE(streams_are_pure_and_differ_by_seed_name_and_substream)
{
    wk_rng a = wk_rng_stream(7, "layout", 3), b = a;
    for (int i = 0; i < 100; i++)
        assert_int_equal(wk_rng_u32(&a), wk_rng_u32(&b));
    wk_rng base = wk_rng_stream(7, "layout", 3),
           other[] = {wk_rng_stream(8, "layout", 3), wk_rng_stream(7, "layouts", 3),
                      wk_rng_stream(7, "layout", 4)};
    uint64_t first = wk_rng_u64(&base);
    for (int i = 0; i < 3; i++)
        assert_true(wk_rng_u64(&other[i]) != first);
}

// Wherever in a block of four it begins.
TEST_CASE(a_long_word_is_the_next_two_short_ones)
{
    for (int before = 0; before < 4; before++) {
        wk_rng a = wk_rng_stream(7, "layout", 3), b = a;
        for (int i = 0; i < before; i++)
            assert_int_equal(wk_rng_u32(&a), wk_rng_u32(&b));
        for (int i = 0; i < 9; i++) {
            uint64_t low = wk_rng_u32(&b), high = wk_rng_u32(&b);
            assert_true(wk_rng_u64(&a) == (low | high << 32));
        }
        assert_int_equal(wk_rng_u32(&a), wk_rng_u32(&b));
    }
}

TEST_CASE(below_is_uniform_over_all_values)
{
    enum { VALUES = 7, DRAWS = 70000 };
    wk_rng rng = wk_rng_stream(1, "test", 0);
    int counts[VALUES] = {0};
    for (int i = 0; i < DRAWS; i++)
        counts[wk_rng_below(&rng, VALUES)]++;
    // Chi-square with 6 degrees of freedom exceeds 22.5 once in a thousand; the seed is fixed.
    double chi = 0;
    for (int i = 0; i < VALUES; i++)
        chi += pow(counts[i] - DRAWS / VALUES, 2) / (DRAWS / VALUES);
    assert_true(chi < 22.5);
}

TEST_CASE(unit_has_the_right_mean)
{
    enum { DRAWS = 100000 };
    wk_rng rng = wk_rng_stream(2, "test", 0);
    double mean = 0;
    for (int i = 0; i < DRAWS; i++) {
        double u = wk_rng_unit(&rng);
        assert_true(u >= 0 && u < 1);
        mean += u / DRAWS;
    }
    assert_near(mean, 0.5, 0.004);
    assert_true(wk_unit_float(0) > 0 && wk_unit_float(UINT32_MAX) < 1);
}

TEST_MAIN(NULL, NULL)
