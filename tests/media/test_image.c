// Drawing helpers: exact pixels and clipping.
#include "media/image.h"
#include "support/check.h"
#include <limits.h>

static uint32_t pixel(const wk_image *image, int x, int y)
{
    const uint8_t *p = image->rgb + 3 * (y * image->width + x);
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static int count_colour(const wk_image *image, uint32_t colour)
{
    int count = 0;
    for (int y = 0; y < image->height; y++)
        for (int x = 0; x < image->width; x++)
            count += pixel(image, x, y) == colour;
    return count;
}

TEST_CASE(a_new_picture_has_one_colour)
{
    wk_error err = {0};
    wk_image image;
    assert_ok(wk_image_create(7, 3, 0x123456, &image, &err));
    assert_int_equal(count_colour(&image, 0x123456), 21);
    wk_image_free(&image);
}

TEST_CASE(an_image_without_pixels_is_refused)
{
    wk_error err;
    wk_image image;
    assert_refused(wk_image_create(0, 3, 0, &image, &err), WK_E_INPUT, "0 x 3");
    assert_refused(wk_image_create(3, -1, 0, &image, &err), WK_E_INPUT, "3 x -1");
    assert_refused(wk_image_create(INT_MAX, 1, 0, &image, &err), WK_E_INPUT, "each side");
}

TEST_CASE(filling_is_clipped_on_every_side)
{
    wk_error err = {0};
    wk_image image;
    assert_ok(wk_image_create(8, 8, 0, &image, &err));
    wk_image_fill(&image, -2, -2, 4, 4, 0xFF0000);
    wk_image_fill(&image, 7, 6, 1000, INT_MAX, 0x00FF00);
    wk_image_fill(&image, 100, 100, 5, 5, 0x0000FF);
    assert_int_equal(count_colour(&image, 0xFF0000), 4);
    assert_int_equal(count_colour(&image, 0x00FF00), 2);
    assert_int_equal(count_colour(&image, 0x0000FF), 0);
    wk_image_free(&image);
}

TEST_CASE(pasting_enlarges_and_clips)
{
    wk_error err = {0};
    wk_image image, small;
    assert_ok(wk_image_create(6, 6, 0, &image, &err));
    assert_ok(wk_image_create(2, 2, 0xAAAAAA, &small, &err));
    wk_image_fill(&small, 1, 1, 1, 1, 0xBBBBBB);
    wk_image_paste(&image, &small, 3, 3, 2);
    assert_int_equal(count_colour(&image, 0xAAAAAA), 8);
    assert_int_equal(count_colour(&image, 0xBBBBBB), 1);
    assert_int_equal(pixel(&image, 5, 5), 0xBBBBBB);
    wk_image_paste(&image, &small, -2, -2, 2);
    assert_int_equal(pixel(&image, 0, 0), 0xBBBBBB);
    assert_int_equal(pixel(&image, 1, 1), 0xBBBBBB);
    assert_int_equal(pixel(&image, 2, 2), 0);
    wk_image_free(&image);
    wk_image_free(&small);
}

// The letter L: a full left column and a foot of five dots.
TEST_CASE(text_draws_the_letter_that_was_asked_for)
{
    wk_error err = {0};
    wk_image image;
    assert_ok(wk_image_create(20, 20, 0, &image, &err));
    assert_int_equal(wk_image_text(&image, 1, 2, 0xFFFFFF, "L"), 5);
    assert_int_equal(count_colour(&image, 0xFFFFFF), 11);
    for (int row = 0; row < 7; row++)
        assert_int_equal(pixel(&image, 1, 2 + row), 0xFFFFFF);
    assert_int_equal(pixel(&image, 5, 2 + 6), 0xFFFFFF);
    assert_int_equal(pixel(&image, 5, 2), 0);
    wk_image_free(&image);
}

TEST_CASE(no_two_printable_characters_look_alike)
{
    wk_error err = {0};
    wk_image cells[95];
    for (int c = 0; c < 95; c++) {
        assert_ok(wk_image_create(6, 8, 0, &cells[c], &err));
        wk_image_text(&cells[c], 0, 0, 0xFFFFFF, (char[]){(char)(32 + c), 0});
        for (int other = 0; other < c; other++)
            if (memcmp(cells[c].rgb, cells[other].rgb, 6 * 8 * 3) == 0)
                fail_msg("'%c' and '%c' look alike", 32 + c, 32 + other);
    }
    for (int c = 0; c < 95; c++)
        wk_image_free(&cells[c]);
}

TEST_CASE(text_width_counts_characters_not_bytes)
{
    assert_int_equal(wk_image_text_width(""), 0);
    assert_int_equal(wk_image_text_width("ab"), 11);
    assert_int_equal(wk_image_text_width("θ"), 5);
}

TEST_CASE(text_is_broken_between_words_that_do_not_fit)
{
    wk_error err = {0};
    static const struct {
        const char *text;
        int lines;
    } texts[] = {{"", 0},       {"  ", 0},         {"LL LL", 1},
                 {"LL LLL", 2}, {"LLLLLLLL L", 2}, {" L  L L L ", 2}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(wk_image_text_lines(NULL, 0, 0, 29, 10, 0, texts[i].text), texts[i].lines);
    wk_image image, expected;
    assert_ok(wk_image_create(40, 40, 0, &image, &err));
    assert_ok(wk_image_create(40, 40, 0, &expected, &err));
    assert_int_equal(wk_image_text_lines(&image, 1, 2, 29, 10, 0xFFFFFF, "L LLL LL"), 2);
    wk_image_text(&expected, 1, 2, 0xFFFFFF, "L LLL");
    wk_image_text(&expected, 1, 12, 0xFFFFFF, "LL");
    assert_memory_equal(image.rgb, expected.rgb, 40 * 40 * 3);
    wk_image_free(&image);
    wk_image_free(&expected);
}

// Rec. 601 luma.
static double lightness(uint32_t colour)
{
    return 0.299 * (colour >> 16) + 0.587 * (colour >> 8 & 0xff) + 0.114 * (colour & 0xff);
}

TEST_CASE(the_ramp_gets_lighter_all_the_way_and_has_ends)
{
    for (int i = 0; i < 100; i++)
        assert_true(lightness(wk_image_ramp((i + 1) / 100.0)) >
                    lightness(wk_image_ramp(i / 100.0)));
    assert_int_equal(wk_image_ramp(-3), wk_image_ramp(0));
    assert_int_equal(wk_image_ramp(7), wk_image_ramp(1));
}

TEST_MAIN(NULL, NULL)
