// The sample page, with one of everything, in a browser. Skipped where there is no Chromium.
#include "report/browser.h"
#include "report/sample.h"
#include "support/check.h"

enum { PHONE = BROWSER_PHONE, DESKTOP = BROWSER_DESKTOP, HEIGHT = BROWSER_HEIGHT };

static int look(void **state)
{
    wk_text page = {0};
    sample_page(&page);
    browser_open("report-page.tmp", page.chars);
    wk_text_free(&page);
    return 0;
}

static int forget(void **state)
{
    browser_close();
    return 0;
}

TEST_CASE(the_page_is_as_wide_as_the_screen)
{
    browser_expect("overflow", 0);
    browser_expect("beyond", 0);
}

TEST_CASE(the_first_number_of_every_row_is_seen_without_scrolling)
{
    browser_expect("unseen", 0);
}

TEST_CASE(every_table_figure_and_section_is_there)
{
    browser_expect("tables", SAMPLE_TABLES);
    browser_expect("figures", SAMPLE_FIGURES);
    browser_expect("sections", SAMPLE_SECTIONS);
    browser_expect("links", SAMPLE_SECTIONS);
}

TEST_CASE(nothing_is_fetched_and_nothing_runs)
{
    browser_expect("fetched", 0);
    browser_expect("scripts", 0);
    browser_expect("foreign", 0);
}

TEST_CASE(text_in_figures_fits_and_can_be_read_on_a_phone)
{
    browser_expect("spilled", 0);
    double smallest = browser_measure(PHONE, "smallest");
    if (smallest < 8) fail_msg("%g pixels", smallest);
}

// Share of the pixels of a rectangle that are far from white.
static double share_of_ink(const wk_image *image, int x, int y, int width, int height)
{
    int ink = 0;
    for (int row = y; row < y + height; row++)
        for (int column = x; column < x + width; column++) {
            const uint8_t *p = image->rgb + 3 * (row * image->width + column);
            ink += p[0] + p[1] + p[2] < 600;
        }
    return (double)ink / (width * height);
}

TEST_CASE(the_images_are_neither_blank_nor_black)
{
    enum { BANDS = 6 };
    wk_image image = browser_picture();
    assert_int_equal(image.width, PHONE + 10 + DESKTOP);
    assert_true(image.height >= HEIGHT);
    for (int band = 0; band < BANDS; band++) {
        int y = band * HEIGHT / BANDS;
        double phone = share_of_ink(&image, 0, y, PHONE, HEIGHT / BANDS);
        double desktop = share_of_ink(&image, PHONE + 10, y, DESKTOP, HEIGHT / BANDS);
        if (!(phone > 0.005 && phone < 0.7)) fail_msg("phone, band %d: %g", band, phone);
        if (!(desktop > 0.002 && desktop < 0.7)) fail_msg("desktop, band %d: %g", band, desktop);
    }
    wk_image_free(&image);
}

int main(void)
{
    if (!browser_find()) {
        print_message("skipped: no Chromium; install it or set WAKER_CHROMIUM\n");
        return BROWSER_SKIPPED;
    }
    return run_all_tests(look, forget);
}
