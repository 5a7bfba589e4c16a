#include "report/browser.h"
#include "base/file.h"
#include "base/text.h"
#include "media/decode.h"
#include "plot/figure.h"
#include <stdio.h>

static char directory[1024], *measured; // where it is, and what the browser's page says

static void write_file(const char *name, const wk_text *text)
{
    wk_error err = {0};
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_ok(wk_file_write(path, text->chars, text->length, &err));
}

static char *read_file(const char *name, size_t *size)
{
    wk_error err = {0};
    char path[1200], *bytes = NULL;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_ok(wk_file_read(path, 1 << 28, &bytes, size, &err));
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
    "  const beyond = all('body *').filter((e) => !e.closest('.scroll *') &&\n"
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
    "  say('foreign', all('b, img:not([src^=data]), script, iframe, object').length);\n"
    "}\n"
    "const out = document.createElement('pre');\n"
    "out.id = 'measured';\n"
    "out.style = 'display:none';\n"
    "out.textContent = lines;\n"
    "document.body.prepend(out);\n"
    "});\n";

static void write_probe(const char *page)
{
    static const int widths[] = {BROWSER_PHONE, BROWSER_DESKTOP};
    wk_text probe = {0};
    wk_text_puts(&probe, "<!doctype html><html><head><meta charset=\"utf-8\"><title>probe</title>"
                         "<style>body{margin:0;display:flex;gap:10px;background:#888}"
                         "iframe{border:0;flex:none}</style></head><body>\n");
    for (int i = 0; i < 2; i++) {
        wk_text_printf(&probe, "<iframe style=\"width:%dpx;height:%dpx\" srcdoc=\"", widths[i],
                       BROWSER_HEIGHT);
        wk_xml_escape(page, &probe);
        wk_text_puts(&probe, "\"></iframe>\n");
    }
    wk_text_printf(&probe, "<script>\n%s</script></body></html>\n", script);
    write_file("probe.html", &probe);
    wk_text_free(&probe);
}

const char *browser_find(void)
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

void browser_open(const char *folder, const char *page)
{
    wk_error err = {0};
    wk_text copy = {0};
    snprintf(directory, sizeof directory, "%s/tests/%s", WAKER_BINARY_DIR, folder);
    assert_ok(wk_dir_create(directory, &err));
    wk_text_puts(&copy, page);
    write_file("page.html", &copy);
    wk_text_free(&copy);
    write_probe(page);
    char command[4096];
    snprintf(
        command, sizeof command,
        "cd '%s' && rm -rf picture.png profile && timeout 300 '%s' --headless "
        "--no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars "
        "--force-device-scale-factor=1 --user-data-dir=profile --window-size=%d,%d "
        "--screenshot=picture.png --dump-dom probe.html >dom.html 2>chromium.log; rm -rf profile",
        directory, browser_find(), BROWSER_PHONE + 10 + BROWSER_DESKTOP, BROWSER_HEIGHT);
    assert_int_equal(system(command), 0);
    size_t size;
    measured = read_file("dom.html", &size);
}

void browser_close(void)
{
    free(measured);
    measured = NULL;
}

double browser_measure(int width, const char *name)
{
    char key[64];
    int length = snprintf(key, sizeof key, "|%d %s ", width, name);
    const char *at = measured ? strstr(measured, key) : NULL;
    if (!at) fail_msg("the browser did not measure '%s' at %d; see %s", name, width, directory);
    return strtod(at + length, NULL);
}

void browser_expect(const char *name, double expected)
{
    static const int widths[] = {BROWSER_PHONE, BROWSER_DESKTOP};
    for (int i = 0; i < 2; i++)
        if (browser_measure(widths[i], name) != expected)
            fail_msg("%s at width %d: %g instead of %g; see %s", name, widths[i],
                     browser_measure(widths[i], name), expected, directory);
}

wk_image browser_picture(void)
{
    size_t size;
    char *bytes = read_file("picture.png", &size);
    wk_image image = png_decode((const uint8_t *)bytes, size);
    free(bytes);
    return image;
}
