// Figures: SVG that any XML reader takes, images that show the same, hostile text, and equal bytes
// for equal figures.
#include "base/file.h"
#include "media/decode.h"
#include "plot/figure.h"
#include "plot/parts.h"
#include "plot/xml_check.h"
#include <unistd.h>

// What a test makes; freed after it.
static wk_error err;
static wk_figure *f;
static wk_text svg;
static wk_image image;

static int clean(void **state)
{
    wk_figure_destroy(f);
    wk_text_free(&svg);
    wk_image_free(&image);
    f = NULL;
    return 0;
}

static void create(double width, double height)
{
    clean(NULL);
    assert_ok(wk_figure_create(width, height, "a <test> & \"more\"", &f, &err));
}

static const char *to_svg(void)
{
    wk_text_free(&svg);
    assert_ok(wk_figure_svg(f, &svg, &err));
    return svg.chars;
}

static void draw(double scale)
{
    assert_ok(wk_figure_draw(f, scale, &image, &err));
}

// One mark of every kind and paint.
static void everything(void)
{
    create(120, 80);
    wk_point zigzag[] = {{10, 10}, {50.25, 30}, {90, 10}, {110, 70}};
    wk_figure_line(f, zigzag, 4, (wk_paint){.colour = 0x0072b2, .width = 2});
    wk_figure_line(f, zigzag, 3, (wk_paint){.colour = WK_INK, .width = 1, .dash = 3});
    wk_figure_polygon(f, zigzag, 4, (wk_paint){.colour = 0xd55e00, .opacity = 0.25});
    wk_figure_rectangle(f, 5, 5, 20, 10, (wk_paint){.colour = WK_FAINT});
    wk_figure_rectangle(f, 5, 25, 20, 10, (wk_paint){.colour = WK_MUTED, .width = 1.5});
    wk_figure_disc(f, 60, 60, 7, (wk_paint){.colour = 0x009e73});
    wk_figure_disc(f, 60, 60, 9, (wk_paint){.colour = 0x009e73, .width = 1});
    wk_figure_text(f, 60, 40, "θ ± 2 <b>&\"'", (wk_text_style){.colour = WK_INK});
    wk_figure_text(f, 20, 70, "up", (wk_text_style){.size = 9, .bold = true, .upwards = true});
}

TEST_CASE(svg_is_well_formed_and_has_every_mark)
{
    static const struct {
        const char *name;
        int count;
    } elements[] = {{"path", 3}, {"rect", 3}, {"circle", 2}, {"text", 2}}; // one is the paper
    static const char *const parts[] = {"viewBox=\"0 0 120 80\"",
                                        "<path d=\"M10 10L50.25 30 90 10 110 70\" fill=\"none\" "
                                        "stroke=\"#0072b2\" stroke-width=\"2\"/>",
                                        "stroke-dasharray=\"3\"",
                                        "opacity=\"0.25\"",
                                        ">θ ± 2 &lt;b&gt;&amp;&quot;&#39;</text>",
                                        "rotate(-90 20 70)"};
    everything();
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        assert_int_equal(xml_check(to_svg(), elements[i].name), elements[i].count);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(to_svg(), parts[i])) fail_msg("no %s in %s", parts[i], svg.chars);
    assert_null(strstr(to_svg(), " id="));
}

TEST_CASE(roles_are_colours_on_paper_and_classes_for_a_page)
{
    create(10, 10);
    wk_figure_rectangle(f, 0, 0, 5, 5, (wk_paint){.colour = WK_INK});
    wk_figure_rectangle(f, 0, 0, 5, 5, (wk_paint){.colour = WK_FAINT, .width = 1});
    assert_non_null(strstr(to_svg(), "fill=\"#1b1f24\" class=\"ink\""));
    assert_non_null(strstr(to_svg(), "stroke=\"#dde1e6\" class=\"line faint\""));
    assert_non_null(strstr(to_svg(), "fill=\"#ffffff\" class=\"paper\""));
}

TEST_CASE(hostile_names_stay_text)
{
    static const char *const names[] = {"<script>alert(1)</script>",
                                        "\"><img src=x onerror=alert(1)>",
                                        "' onload='alert(1)",
                                        "]]><!--",
                                        "&amp;",
                                        "a\x01"
                                        "b\x7f",
                                        "\xff\xfe\xc3(",
                                        "\xed\xa0\x80",
                                        "\xef\xbf\xbf",
                                        "tab\tnewline\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        clean(NULL);
        assert_ok(wk_figure_create(100, 50, names[i], &f, &err));
        wk_figure_text(f, 10, 20, names[i], (wk_text_style){.colour = WK_INK});
        assert_int_equal(xml_check(to_svg(), "text"), 1);
        assert_int_equal(xml_check(svg.chars, "script") + xml_check(svg.chars, "img"), 0);
        draw(1);
    }
}

TEST_CASE(escaping_names_the_five_characters_and_replaces_what_xml_forbids)
{
    wk_xml_escape("a<b>&\"c'\td\xc3\xa9\x02\xff\u202e", &svg);
    assert_string_equal(svg.chars, "a&lt;b&gt;&amp;&quot;c&#39;\td\xc3\xa9\ufffd\ufffd\ufffd");
}

static double darkness(int x0, int y0, int x1, int y1)
{
    double sum = 0;
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            sum += (255 - image.rgb[3 * (y * image.width + x)]) / 255.0;
    return sum;
}

TEST_CASE(an_image_shows_marks_at_their_places_in_its_scale)
{
    create(40, 30);
    wk_figure_rectangle(f, 5, 10, 12, 6, (wk_paint){.colour = 0});
    draw(2);
    assert_int_equal(image.width, 80);
    assert_int_equal(image.height, 60);
    assert_near(darkness(10, 20, 34, 32), 24 * 12, 0.01);
    assert_near(darkness(0, 0, 80, 60), 24 * 12, 0.01);
}

TEST_CASE(half_of_a_dashed_line_is_drawn)
{
    create(100, 20);
    wk_point bent[] = {{5, 10}, {33, 10}, {85, 10}};
    wk_figure_line(f, bent, 3, (wk_paint){.colour = 0, .width = 2, .dash = 5});
    draw(2);
    assert_near(darkness(0, 0, 200, 40), 40 * 2 * 4, 1);
    assert_near(darkness(10, 0, 20, 40), 10 * 4, 0.5);
    assert_near(darkness(20, 0, 30, 40), 0, 0.5);
}

TEST_CASE(the_outline_of_a_polygon_is_closed)
{
    create(40, 40);
    wk_figure_rectangle(f, 10, 10, 20, 20, (wk_paint){.colour = 0, .width = 2});
    draw(2);
    // The outer square less the inner one, and rounded corners of radius 2.
    assert_near(darkness(0, 0, 80, 80), 44 * 44 - 36 * 36 - (4 - M_PI) * 2 * 2, 0.5);
}

// The columns and rows that have ink.
static void find_ink(int box[4])
{
    box[0] = image.width, box[1] = image.height, box[2] = box[3] = -1;
    for (int y = 0; y < image.height; y++)
        for (int x = 0; x < image.width; x++) {
            if (image.rgb[3 * (y * image.width + x)] > 200) continue;
            box[0] = x < box[0] ? x : box[0];
            box[1] = y < box[1] ? y : box[1];
            box[2] = x > box[2] ? x : box[2];
            box[3] = y > box[3] ? y : box[3];
        }
}

TEST_CASE(text_stands_where_its_anchor_says)
{
    static const char text[] = "Hamburg 123";
    double width = wk_figure_text_width(text, 12);
    for (int anchor = 0; anchor < 3; anchor++)
        for (int upwards = 0; upwards < 2; upwards++) {
            create(200, 200);
            wk_figure_text(f, 100, 100, text,
                           (wk_text_style){.anchor = (wk_anchor)anchor, .upwards = upwards});
            int box[4];
            draw(1);
            find_ink(box);
            double start = 100 - width * anchor / 2, side = 3;
            if (upwards) {
                assert_near(box[3], 200 - start, side);
                assert_near(box[1], 200 - start - width, side);
                assert_near(box[2], 103, side); // the g hangs below the line
            } else {
                assert_near(box[0], start, side);
                assert_near(box[2], start + width, side);
                assert_near(box[1], 100 - 0.73 * 12, 2);
            }
        }
}

TEST_CASE(no_two_characters_look_alike)
{
    wk_image cells[95];
    for (int c = 0; c < 95; c++) {
        create(20, 24);
        wk_figure_text(f, 2, 16, (char[]){(char)(32 + c), 0}, (wk_text_style){.colour = 0});
        assert_ok(wk_figure_draw(f, 2, &cells[c], &err));
        for (int other = 0; other < c; other++) {
            double difference = 0;
            for (int i = 0; i < 40 * 48; i++)
                difference += abs(cells[c].rgb[3 * i] - cells[other].rgb[3 * i]) / 255.0;
            bool allowed = strchr("Il|", 32 + c) && strchr("Il|", 32 + other); // as in Helvetica
            if (difference < 3 && !allowed)
                fail_msg("'%c' and '%c' look alike", 32 + c, 32 + other);
        }
    }
    for (int c = 0; c < 95; c++)
        wk_image_free(&cells[c]);
}

TEST_CASE(text_width_grows_with_size_and_counts_characters)
{
    assert_near(wk_figure_text_width("", 12), 0, 0);
    assert_near(wk_figure_text_width("abc", 24), 2 * wk_figure_text_width("abc", 12), 1e-9);
    assert_near(wk_figure_text_width("0", 10), wk_figure_text_width("8", 10), 1e-9);
    assert_true(wk_figure_text_width("θ", 12) < wk_figure_text_width("00", 12));
}

TEST_CASE(equal_figures_give_equal_bytes)
{
    wk_text first = {0};
    uint8_t *png[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        everything();
        draw(2);
        assert_ok(wk_png_encode(&image, &png[i], &size[i], &err));
        if (i == 0) wk_text_puts(&first, to_svg());
    }
    assert_string_equal(first.chars, to_svg());
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(png[0], png[1], size[0]);
    wk_text_free(&first);
    free(png[0]);
    free(png[1]);
}

TEST_CASE(writing_leaves_an_svg_and_a_picture_of_twice_the_size)
{
    char *bytes;
    size_t size;
    everything();
    assert_ok(wk_figure_write(f, "figure_test", &err));
    assert_ok(wk_file_read("figure_test.svg", 1 << 20, &bytes, &size, &err));
    xml_check(bytes, "svg");
    free(bytes);
    assert_ok(wk_file_read("figure_test.png", 1 << 20, &bytes, &size, &err));
    image = png_decode((const uint8_t *)bytes, size);
    assert_true(image.width == 240 && image.height == 160);
    free(bytes);
    unlink("figure_test.svg");
    unlink("figure_test.png");
    assert_refused(wk_figure_write(f, "no-such-folder/figure", &err), WK_E_NOT_FOUND,
                   "no-such-folder");
}

int main(void)
{
    return run_each_test(NULL, clean);
}
