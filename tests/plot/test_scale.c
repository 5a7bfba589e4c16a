// Axes: ticks at round numbers inside the range, labels that say the numbers, odd data.
#include "plot/parts.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static const wk_plot_axis linear, logarithmic = {.log = true};

static wk_scale scale_of(const wk_plot_axis *axis, double least, double largest, bool tight)
{
    wk_range extent = WK_RANGE_EMPTY;
    wk_range_add(&extent, axis, least);
    wk_range_add(&extent, axis, largest);
    return wk_scale_make(axis, extent, 5, tight);
}

static void check_labels(const wk_scale *s, const char *const *expected, int count)
{
    assert_int_equal(s->count, count);
    for (int i = 0; i < count; i++)
        assert_string_equal(s->labels[i], expected[i]);
}

TEST_CASE(ticks_are_round_numbers)
{
    wk_scale s = scale_of(&linear, 0, 1, true);
    check_labels(&s, (const char *const[]){"0", "0.2", "0.4", "0.6", "0.8", "1"}, 6);
    s = scale_of(&linear, 0, 1e6, true);
    check_labels(&s, (const char *const[]){"0", "0.2M", "0.4M", "0.6M", "0.8M", "1M"}, 6);
    s = scale_of(&linear, 0, 5e5, true);
    check_labels(&s, (const char *const[]){"0", "100k", "200k", "300k", "400k", "500k"}, 6);
    s = scale_of(&linear, -30, 12, true);
    check_labels(&s, (const char *const[]){"-30", "-20", "-10", "0", "10"}, 5);
    s = scale_of(&linear, 0.98, 1.02, true);
    check_labels(&s, (const char *const[]){"0.98", "0.99", "1", "1.01", "1.02"}, 5);
    s = scale_of(&linear, 1e-7, 5e-7, true);
    check_labels(&s, (const char *const[]){"1e-7", "2e-7", "3e-7", "4e-7", "5e-7"}, 5);
}

TEST_CASE(logarithmic_ticks_are_powers_of_ten_and_their_parts)
{
    wk_scale s = scale_of(&logarithmic, 0.012, 0.4, false);
    check_labels(&s, (const char *const[]){"0.01", "0.02", "0.05", "0.1", "0.2", "0.5"}, 6);
    s = scale_of(&logarithmic, 1, 1e6, false);
    check_labels(&s, (const char *const[]){"1", "10", "100", "1000", "10k", "100k", "1M"}, 7);
    s = scale_of(&logarithmic, 3, 3, false);
    check_labels(&s, (const char *const[]){"2", "5"}, 2);
    assert_near(wk_scale_position(&s, 2), 0, 1e-12);
    assert_near(wk_scale_position(&s, sqrt(10)), 0.5, 1e-12);
    assert_near(wk_scale_position(&s, 5), 1, 1e-12);
}

// The label is the number: reading it back gives the tick, to the digits shown.
static double read_label(const char *label)
{
    char *end;
    double value = strtod(label, &end);
    static const char units[] = "kMGT";
    const char *unit = *end ? strchr(units, *end) : NULL;
    return unit ? value * pow(1000, (double)(unit - units + 1)) : value;
}

static void check_scale(const wk_scale *s, double least, double largest)
{
    if (!(s->min < s->max) || !isfinite(s->min) || !isfinite(s->max))
        fail_msg("%g to %g: the scale goes from %g to %g", least, largest, s->min, s->max);
    if (s->count < 2 || s->count > WK_TICKS_MAX)
        fail_msg("%g to %g: %d ticks", least, largest, s->count);
    for (int i = 0; i < s->count; i++) {
        double place = wk_scale_position(s, s->ticks[i]), step = s->ticks[1] - s->ticks[0];
        if (!(place >= -1e-9 && place <= 1 + 1e-9))
            fail_msg("%g to %g: tick %g lies at %g", least, largest, s->ticks[i], place);
        if (i > 0 && !(s->ticks[i] > s->ticks[i - 1]))
            fail_msg("%g to %g: ticks fall", least, largest);
        if (i > 0 && strcmp(s->labels[i], s->labels[i - 1]) == 0)
            fail_msg("%g to %g: two ticks say %s", least, largest, s->labels[i]);
        if (!(fabs(read_label(s->labels[i]) - s->ticks[i]) <=
              0.01 * step + 1e-12 * fabs(s->ticks[i])))
            fail_msg("%g to %g: tick %.17g says %s", least, largest, s->ticks[i], s->labels[i]);
    }
}

TEST_CASE(every_range_has_ticks_inside_it_with_true_labels)
{
    static const double values[] = {0,      1,      -1,     0.3,   2.5,      17,     99.9,
                                    1234.5, 1e4,    2e5,    -7e6,  3e9,      1e12,   1e15,
                                    -1e20,  1e-3,   4e-5,   -1e-9, 1e-30,    1e-300, 1e300,
                                    1e308,  -1e308, 5e-324, 0.1,   1000.0001};
    size_t count = sizeof values / sizeof *values;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (int tight = 0; tight < 2; tight++) {
                double least = fmin(values[i], values[j]), largest = fmax(values[i], values[j]);
                wk_scale s = scale_of(&linear, least, largest, tight);
                check_scale(&s, least, largest);
                if (fabs(least) <= 1e300 && fabs(largest) <= 1e300) {
                    assert_true(wk_scale_position(&s, least) >= -1e-9);
                    assert_true(wk_scale_position(&s, largest) <= 1 + 1e-9);
                }
                if (least <= 0) continue;
                s = scale_of(&logarithmic, least, largest, tight);
                assert_true(s.min < s.max && s.count >= 2);
            }
}

TEST_CASE(values_an_axis_cannot_show_do_not_widen_it)
{
    wk_range extent = WK_RANGE_EMPTY;
    wk_range_add(&extent, &logarithmic, 0);
    wk_range_add(&extent, &logarithmic, -3);
    wk_range_add(&extent, &linear, NAN);
    wk_range_add(&extent, &linear, INFINITY);
    assert_true(extent.min > extent.max);
    wk_scale s = wk_scale_make(&linear, extent, 5, false);
    check_scale(&s, NAN, NAN);
    s = wk_scale_make(&logarithmic, extent, 5, false);
    assert_true(s.count >= 2);
}

TEST_CASE(a_fixed_axis_shows_its_range_and_what_lies_beyond)
{
    const wk_plot_axis axis = {.fixed = true, .min = 0, .max = 1};
    wk_scale s = scale_of(&axis, 0.4, 0.5, false);
    assert_near(s.min, 0, 0);
    assert_near(s.max, 1, 0);
    s = scale_of(&axis, 0.4, 1.3, false);
    assert_near(s.max, 1.3, 0);
}

TEST_CASE(zero_is_shown_when_it_is_near)
{
    wk_scale s = scale_of(&linear, 100, 900, false);
    assert_near(s.min, 0, 0);
    s = scale_of(&linear, 700, 900, false);
    assert_true(s.min > 600 && s.min < 700);
    s = scale_of(&linear, -900, -100, false);
    assert_near(s.max, 0, 0);
}

TEST_CASE(values_are_written_as_a_reader_would)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},        {0.25, "0.25"},      {1.0 / 3, "0.333"}, {12.345, "12.3"},
                 {999.6, "1000"}, {1234, "1234"},      {9999.4, "9999"},   {50000, "50k"},
                 {1.5e6, "1.5M"}, {2e-7, "2e-7"},      {-0.5, "-0.5"},     {1e20, "1e20"},
                 {NAN, "-"},      {-INFINITY, "-inf"}, {123456, "123k"},   {0.00123, "0.00123"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[WK_TICK_LABEL];
        wk_scale_format(cases[i].value, text);
        assert_string_equal(text, cases[i].text);
    }
}

TEST_MAIN(NULL, NULL)
