// The page in a real browser: headless Chromium lays it out as wide as a phone and as a desktop
// window, a script around it measures, and a picture is taken. Page, picture and measurements stay
// in report-page.tmp/ to be looked at. Skipped where there is no Chromium (WAKER_CHROMIUM names
// one).
#include "base/file.h"
#include "media/decode.h"
#include "report/sample.h"
#include "report/xml.h"
#include <stdio.h>

#define FOLDER WAKER_BINARY_DIR "/tests/report-page.tmp"

enum { PHONE = 390, DESKTOP = 1200, HEIGHT = 3000, SKIPPED = 77 };

static wk_error err;
static char *measured; // what the browser's page says

static void write_file(const char *name, const wk_text *text)
{
    char path[1024];
    snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_ok(wk_file_write(path, text->chars, text->length, &err));
}

static char *read_file(const char *name, size_t *size)
{
    char path[1024], *bytes = NULL;
    snprintf(path, sizeof path, FOLDER "/%s", name);
    assert_ok(wk_file_read(path, 1 << 26, &bytes, size, &err));
    return bytes;
}

// What is measured in a frame, one line each. A frame has its own width, and media queries follow
// it.
static const char script[] =
    "addEventListener('load', () => {\n"
    "let lines = '';\n"
    "for (const frame of document.querySelectorAll('iframe')) {\n"
    "  const d = frame.contentDocument, w = frame.contentWindow, width = w.innerWidth;\n"
    "  const all = (what) => [...d.querySelectorAll(what)];\n"
    "  const box = (e) => e.getBoundingClientRect();\n"
    "  const seen = (what) => all(what).filter((e) => box(e).width > 50 && box(e).height > "
    "20).length;\n"
    "  const beyond = all('body *').filter((e) => !e.closest('.scroll *, pre *') &&\n"
    "    (box(e).right > width + 1 || box(e).left < -1));\n"
    "  const spilled = all('svg text').filter((t) => { const s = box(t.closest('svg')), b = "
    "box(t);\n"
    "    return b.left < s.left - 2 || b.right > s.right + 2 || b.top < s.top - 2 ||\n"
    "      b.bottom > s.bottom + 2; });\n"
    "  const letters = all('svg text').map((t) => { const s = t.closest('svg');\n"
    "    return t.getAttribute('font-size') * box(s).width / s.viewBox.baseVal.width; });\n"
    "  const lost = all('a[href^=\"#\"]').filter((a) => "
    "!d.querySelector(a.getAttribute('href')));\n"
    "  const say = (name, value) => { lines += `|${width} ${name} ${value}\\n`; };\n"
    "  say('overflow', d.documentElement.scrollWidth - width);\n"
    "  say('beyond', beyond.length);\n"
    "  say('spilled', spilled.length);\n"
    "  say('smallest', Math.min(...letters).toFixed(2));\n"
    "  say('tables', seen('table'));\n"
    "  say('unseen', all('tbody tr').filter((r) => box(r.querySelector('td')).right > "
    "width).length);\n"
    "  say('figures', seen('figure svg'));\n"
    "  say('sections', seen('section'));\n"
    "  say('links', all('nav a').length - lost.length);\n"
    "  say('fetched', w.performance.getEntriesByType('resource').length);\n"
    "  say('scripts', d.scripts.length);\n"
    "  say('alerts', all('b, img, script').length);\n"
    "}\n"
    "const out = document.createElement('pre');\n"
    "out.id = 'measured';\n"
    "out.style = 'display:none';\n"
    "out.textContent = lines;\n"
    "document.body.prepend(out);\n"
    "});\n";

static void write_pages(void)
{
    static const int widths[] = {PHONE, DESKTOP};
    wk_text page = {0}, probe = {0};
    sample_page(&page);
    wk_text_puts(&probe, "<!doctype html><html><head><meta charset=\"utf-8\"><title>probe</title>"
                         "<style>body{margin:0;display:flex;gap:10px;background:#888}"
                         "iframe{border:0;flex:none}</style></head><body>\n");
    for (int i = 0; i < 2; i++) {
        wk_text_printf(&probe, "<iframe style=\"width:%dpx;height:%dpx\" srcdoc=\"", widths[i],
                       HEIGHT);
        wk_xml_escape(page.chars, &probe);
        wk_text_puts(&probe, "\"></iframe>\n");
    }
    wk_text_printf(&probe, "<script>\n%s</script></body></html>\n", script);
    assert_ok(wk_dir_create(FOLDER, &err));
    write_file("page.html", &page);
    write_file("probe.html", &probe);
    wk_text_free(&page);
    wk_text_free(&probe);
}

static const char *find_chromium(void)
{
    static const char *const names[] = {"chromium", "chromium-browser", "google-chrome"};
    const char *named = getenv("WAKER_CHROMIUM");
    if (named && !*named) named = NULL;
    for (size_t i = 0; !named && i < sizeof names / sizeof *names; i++) {
        char command[128];
        snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", names[i]);
        if (system(command) == 0) named = names[i];
    }
    return named;
}

static int look(void **state)
{
    (void)state;
    write_pages();
    char command[4096];
    snprintf(
        command, sizeof command,
        "cd '" FOLDER "' && rm -rf picture.png profile && timeout 120 '%s' --headless "
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars "
        "--force-device-scale-factor=1 --user-data-dir=profile --window-size=%d,%d "
        "--screenshot=picture.png --dump-dom probe.html >dom.html 2>chromium.log; rm -rf profile",
        find_chromium(), PHONE + 10 + DESKTOP, HEIGHT);
    assert_int_equal(system(command), 0);
    size_t size;
    measured = read_file("dom.html", &size);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    free(measured);
    return 0;
}

// A number the page measured in the frame of a width.
static double measure(int width, const char *name)
{
    char key[64];
    int length = snprintf(key, sizeof key, "|%d %s ", width, name);
    const char *at = strstr(measured, key);
    if (!at) fail_msg("the browser did not measure '%s' at %d; see " FOLDER, name, width);
    return strtod(at + length, NULL);
}

static void check_number(const char *name, double expected)
{
    static const int widths[] = {PHONE, DESKTOP};
    for (int i = 0; i < 2; i++)
        if (measure(widths[i], name) != expected)
            fail_msg("%s at width %d: %g instead of %g; see " FOLDER, name, widths[i],
                     measure(widths[i], name), expected);
}

static void the_page_is_as_wide_as_the_screen(void **state)
{
    (void)state;
    check_number("overflow", 0);
    check_number("beyond", 0);
}

static void the_first_number_of_every_row_is_seen_without_scrolling(void **state)
{
    (void)state;
    check_number("unseen", 0);
}

static void every_table_figure_and_section_is_there(void **state)
{
    (void)state;
    check_number("tables", SAMPLE_TABLES);
    check_number("figures", SAMPLE_FIGURES);
    check_number("sections", SAMPLE_SECTIONS);
    check_number("links", SAMPLE_SECTIONS);
}

static void nothing_is_fetched_and_nothing_runs(void **state)
{
    (void)state;
    check_number("fetched", 0);
    check_number("scripts", 0);
    check_number("alerts", 0);
}

static void text_in_figures_fits_and_can_be_read_on_a_phone(void **state)
{
    (void)state;
    check_number("spilled", 0);
    if (measure(PHONE, "smallest") < 8) fail_msg("%g pixels", measure(PHONE, "smallest"));
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

static void the_pictures_are_neither_blank_nor_black(void **state)
{
    (void)state;
    size_t size;
    char *bytes = read_file("picture.png", &size);
    wk_image image = png_decode((const uint8_t *)bytes, size);
    free(bytes);
    assert_int_equal(image.width, PHONE + 10 + DESKTOP);
    assert_true(image.height >= HEIGHT);
    enum { BANDS = 6 };
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
    if (!find_chromium()) {
        print_message("skipped: no Chromium; install it or set WAKER_CHROMIUM\n");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_is_as_wide_as_the_screen),
        cmocka_unit_test(the_first_number_of_every_row_is_seen_without_scrolling),
        cmocka_unit_test(every_table_figure_and_section_is_there),
        cmocka_unit_test(nothing_is_fetched_and_nothing_runs),
        cmocka_unit_test(text_in_figures_fits_and_can_be_read_on_a_phone),
        cmocka_unit_test(the_pictures_are_neither_blank_nor_black),
    };
    return cmocka_run_group_tests(tests, look, forget);
}
