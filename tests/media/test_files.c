// PNG and GIF against decoders written from the specifications, and what writing promises: the same
// bytes for the same image, all of a file or none of it.
#include "base/file.h"
#include "base/random.h"
#include "media/animation.h"
#include "media/decode.h"
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static wk_error err;

static wk_image noise(int width, int height, uint64_t seed, int levels)
{
    wk_image image;
    assert_ok(wk_image_create(width, height, 0, &image, &err));
    wk_rng rng = wk_rng_stream(seed, "test-noise", 0);
    for (int i = 0; i < width * height * 3; i++)
        image.rgb[i] =
            (uint8_t)(wk_rng_below(&rng, (uint64_t)levels) * 255 / (uint64_t)(levels - 1));
    return image;
}

// Smooth in both directions, so that every filter and many colours occur.
static wk_image gradient(int width, int height, int shift)
{
    wk_image image;
    assert_ok(wk_image_create(width, height, 0, &image, &err));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            uint8_t *p = image.rgb + 3 * (y * width + x);
            p[0] = (uint8_t)(255 * ((x + shift) % width) / width);
            p[1] = (uint8_t)(255 * y / height);
            p[2] = (uint8_t)(128 + 100 * sin(0.1 * (x + shift) * y / 20.0));
        }
    return image;
}

static void assert_same_picture(const wk_image *a, const wk_image *b)
{
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_memory_equal(a->rgb, b->rgb, (size_t)a->width * (size_t)a->height * 3);
}

TEST_CASE(png_keeps_every_pixel_and_makes_smooth_pictures_small)
{
    wk_image images[] = {noise(1, 1, 1, 256), noise(17, 5, 2, 256), noise(1, 40, 3, 2),
                         gradient(200, 100, 0)};
    for (int i = 0; i < 4; i++) {
        uint8_t *bytes;
        size_t size;
        assert_ok(wk_png_encode(&images[i], &bytes, &size, &err));
        wk_image decoded = png_decode(bytes, size);
        assert_same_picture(&images[i], &decoded);
        assert_true(i < 3 || size < 200 * 100 * 3 / 4);
        free(bytes);
        wk_image_free(&decoded);
        wk_image_free(&images[i]);
    }
}

TEST_CASE(the_same_picture_gives_the_same_bytes)
{
    wk_image frames[] = {gradient(60, 40, 0), gradient(60, 40, 7)};
    uint8_t *bytes[4];
    size_t size[4];
    for (int i = 0; i < 2; i++) {
        assert_ok(wk_png_encode(&frames[0], &bytes[i], &size[i], &err));
        assert_ok(wk_gif_encode(frames, 2, 4, &bytes[2 + i], &size[2 + i], &err));
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    assert_int_equal(size[2], size[3]);
    assert_memory_equal(bytes[2], bytes[3], size[2]);
    for (int i = 0; i < 4; i++)
        free(bytes[i]);
    wk_image_free(&frames[0]);
    wk_image_free(&frames[1]);
}

static gif_clip gif_round_trip(const wk_image *frames, size_t count, int delay_cs)
{
    uint8_t *bytes;
    size_t size;
    assert_ok(wk_gif_encode(frames, count, delay_cs, &bytes, &size, &err));
    gif_clip clip = gif_decode(bytes, size);
    free(bytes);
    return clip;
}

// Six levels a channel are 216 colours: the palette holds them all.
TEST_CASE(gif_keeps_frames_of_few_colours_exactly)
{
    const int levels[] = {2, 3, 6};
    for (int k = 0; k < 3; k++) {
        wk_image frames[3] = {noise(50, 30, 1, levels[k]), noise(50, 30, 2, levels[k]),
                              noise(50, 30, 3, levels[k])};
        gif_clip clip = gif_round_trip(frames, 3, 7);
        assert_int_equal(clip.count, 3);
        assert_int_equal(clip.delay_cs, 7);
        assert_true(clip.loops);
        for (int i = 0; i < 3; i++) {
            assert_same_picture(&frames[i], &clip.frames[i]);
            wk_image_free(&frames[i]);
        }
        gif_free(&clip);
    }
}

// The last does not compress: the code table fills and is cleared many times.
TEST_CASE(gif_codes_of_every_length_end_cleanly)
{
    for (int width = 1; width <= 261; width++) {
        wk_image frame = width <= 260 ? noise(width, 1, (uint64_t)width, 2) : noise(300, 200, 4, 6);
        gif_clip clip = gif_round_trip(&frame, 1, 2);
        assert_same_picture(&frame, &clip.frames[0]);
        wk_image_free(&frame);
        gif_free(&clip);
    }
}

// 255 equal cells of the whole colour cube have sides of 256 / 255^(1/3) = 40 levels, a mean error
// of 10: a palette fitted to the frame must do better.
TEST_CASE(gif_colours_of_smooth_frames_are_near)
{
    wk_image frames[4];
    for (int i = 0; i < 4; i++)
        frames[i] = gradient(200, 150, 5 * i);
    gif_clip clip = gif_round_trip(frames, 4, 5);
    for (int i = 0; i < 4; i++) {
        double sum = 0;
        for (int k = 0; k < 200 * 150 * 3; k++)
            sum += abs(frames[i].rgb[k] - clip.frames[i].rgb[k]);
        assert_true(sum / (200 * 150 * 3) < 10);
        wk_image_free(&frames[i]);
    }
    gif_free(&clip);
}

TEST_CASE(gif_frames_that_do_not_change_cost_little)
{
    wk_image still = gradient(200, 100, 0), frames[5] = {still, still, still, still, still};
    uint8_t *one, *five;
    size_t one_size, five_size;
    assert_ok(wk_gif_encode(frames, 1, 5, &one, &one_size, &err));
    assert_ok(wk_gif_encode(frames, 5, 5, &five, &five_size, &err));
    assert_true(five_size < one_size + 4 * 48);
    gif_clip clip = gif_decode(five, five_size);
    assert_int_equal(clip.count, 5);
    assert_same_picture(&clip.frames[0], &clip.frames[4]);
    gif_free(&clip);
    free(one);
    free(five);
    wk_image_free(&still);
}

TEST_CASE(gif_refuses_what_it_cannot_hold)
{
    wk_image frames[2] = {noise(4, 4, 1, 2), noise(4, 5, 1, 2)};
    uint8_t *bytes;
    size_t size;
    assert_refused(wk_gif_encode(frames, 2, 5, &bytes, &size, &err), WK_E_INPUT, "4 x 5");
    assert_refused(wk_gif_encode(frames, 0, 5, &bytes, &size, &err), WK_E_INPUT, "at least one");
    assert_refused(wk_gif_encode(frames, 1, -1, &bytes, &size, &err), WK_E_INPUT, "delay");
    wk_gif *empty;
    assert_ok(wk_gif_create(4, 4, 5, &empty, &err));
    assert_refused(wk_gif_finish(empty, &bytes, &size, &err), WK_E_INPUT, "at least one");
    wk_gif_destroy(empty);
    wk_image_free(&frames[0]);
    wk_image_free(&frames[1]);
}

// A limit on the file size stands for the full disk: the write fails half-way.
TEST_CASE(a_failed_write_leaves_the_old_file_and_nothing_else)
{
    char directory[] = "media-XXXXXX", path[64], clip[64];
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/a.png", directory);
    snprintf(clip, sizeof clip, "%s/a.gif", directory);
    assert_ok(wk_file_write(path, "old", 3, &err));
    wk_image image = noise(100, 100, 5, 256);
    wk_animation *film = NULL;
    assert_ok(wk_animation_create(clip, 100, 100, 0.05, &film, &err));
    assert_ok(wk_animation_add(film, &image, &err));
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){.rlim_cur = 1000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    wk_status png = wk_png_write(path, &image, &err);
    wk_status gif = wk_animation_write(film, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(png, WK_E_IO);
    assert_int_equal(gif, WK_E_IO);
    char *content;
    size_t size;
    assert_ok(wk_file_read(path, 100, &content, &size, &err));
    assert_string_equal(content, "old");
    free(content);
    wk_animation_destroy(film);
    wk_image_free(&image);
    unlink(path);
    assert_int_equal(rmdir(directory), 0); // nothing else was in it
}

TEST_MAIN(NULL, NULL)
