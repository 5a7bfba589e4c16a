// H.264 in MP4: every frame as a decoder written by others shows it is the encoder's own, bit for
// bit (with ffmpeg, where it is installed); and without it, files known to decode so.
#include "base/file.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "media/animation.h"
#include "media/h264.h"
#include "media/mp4.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static wk_error err;

// What videos have: still parts, things that move and turn up, noise, and a cut to another scene.
static wk_image draw(int width, int height, int t)
{
    wk_image image;
    wk_rng rng = wk_rng_stream(3, "test-video", (uint32_t)t);
    assert_ok(wk_image_create(width, height, t % 37 < 18 ? 0xFFFFFF : 0x204080, &image, &err));
    wk_image_text(&image, 3, 3, 0x101010, "frame");
    wk_image_fill(&image, 2 * t % width, height / 3, width / 4 + 1, height / 4 + 1, 0xE02060);
    wk_image_fill(&image, width / 2, 3 * t % height, 9, 9, 0x20C040);
    for (int i = 0; i < (t % 7 == 3 ? width * height * 3 : 0); i++)
        image.rgb[i] = (uint8_t)wk_rng_below(&rng, 256);
    return image;
}

static const struct {
    int width, height, frames;
    const char *sha256;
} videos[] = {
    {64, 64, 110, "c5eb988dd55557c5139ba3198ebdda1da52033be205637fddcbee53d99fa8b61"},
    {130, 75, 40, "ad7fe00b38e1c3b8c1b1d2f2a3821174703d00c56f605e585f118bdd75902844"},
    {17, 33, 12, "a9effe534906effa4caf14a2ed0b9daf16896092d6146291b80042eb86a52481"},
    {1, 1, 3, "e1de641c58b30254fa7021b0ffe74746c1b4fdf8603a24b4875055f7c4cb78ae"},
};
enum { VIDEOS = sizeof videos / sizeof *videos };

static wk_mp4 *open_video(int i, wk_image *frames)
{
    wk_mp4 *mp4;
    assert_ok(wk_mp4_create(videos[i].width, videos[i].height, 0.04, &mp4, &err));
    for (int t = 0; t < videos[i].frames; t++) {
        frames[t] = draw(videos[i].width, videos[i].height, t);
        assert_ok(wk_mp4_add(mp4, &frames[t], &err));
    }
    return mp4;
}

static void the_same_frames_give_the_same_bytes(void **state)
{
    (void)state;
    for (int i = 0; i < VIDEOS; i++) {
        wk_image frames[128];
        wk_mp4 *mp4 = open_video(i, frames);
        uint8_t *bytes;
        size_t size;
        char hash[WK_SHA256_CHARS];
        assert_ok(wk_mp4_finish(mp4, &bytes, &size, &err));
        wk_sha256 sha = wk_sha256_start();
        wk_sha256_add(&sha, bytes, size);
        wk_sha256_finish(&sha, hash);
        if (strcmp(hash, videos[i].sha256) != 0)
            fail_msg("video %d has hash %s: where ffmpeg shows it as the encoder does, write that "
                     "down",
                     i, hash);
        free(bytes);
        wk_mp4_destroy(mp4);
        for (int t = 0; t < videos[i].frames; t++)
            wk_image_free(&frames[t]);
    }
}

// The planes of the next frame of the decoder against the encoder's.
static void compare(const wk_h264 *encoder, FILE *decoded, int video, int t)
{
    for (int p = 0; p < 3; p++) {
        int stride, part = p == 0 ? 1 : 2;
        const uint8_t *made = wk_h264_shown(encoder, p, &stride);
        for (int y = 0; y < wk_h264_height(encoder) / part; y++) {
            uint8_t row[WK_H264_SIDE_MAX];
            size_t width = (size_t)(wk_h264_width(encoder) / part);
            if (fread(row, 1, width, decoded) != width)
                fail_msg("video %d: the decoder has no frame %d", video, t);
            if (memcmp(row, made + y * stride, width) != 0)
                fail_msg("video %d, frame %d, plane %d, row %d differs", video, t, p, y);
        }
    }
}

static void a_decoder_shows_what_the_encoder_expects(void **state)
{
    (void)state;
    if (system("command -v ffmpeg >/dev/null") != 0) skip();
    for (int i = 0; i < VIDEOS; i++) {
        uint8_t *bytes;
        size_t size;
        wk_image frames[128];
        wk_mp4 *mp4 = open_video(i, frames);
        assert_ok(wk_mp4_finish(mp4, &bytes, &size, &err));
        assert_ok(wk_file_write("video-test.mp4", bytes, size, &err));
        free(bytes);
        wk_mp4_destroy(mp4);
        FILE *decoded = popen(
            "ffmpeg -v error -xerror -i video-test.mp4 -f rawvideo -pix_fmt yuv420p - 2>&1", "r");
        wk_h264 *encoder;
        assert_ok(wk_h264_create(videos[i].width, videos[i].height, 25, &encoder, &err));
        for (int t = 0; t < videos[i].frames; t++) {
            wk_text ignored = {0};
            bool key;
            assert_ok(wk_h264_add(encoder, &frames[t], &ignored, &key, &err));
            assert_int_equal(key, t % 100 == 0);
            compare(encoder, decoded, i, t);
            wk_text_free(&ignored);
            wk_image_free(&frames[t]);
        }
        assert_int_equal(fgetc(decoded), EOF);
        assert_int_equal(pclose(decoded), 0);
        wk_h264_destroy(encoder);
    }
    unlink("video-test.mp4");
}

// A measure of how like its source a frame is shown: the mean error of its luma.
static void what_is_shown_is_near_what_was_drawn(void **state)
{
    (void)state;
    wk_h264 *encoder;
    assert_ok(wk_h264_create(64, 64, 25, &encoder, &err));
    for (int t = 0; t < 20; t++) {
        wk_image frame = draw(64, 64, t);
        wk_text ignored = {0};
        bool key;
        int stride;
        double error = 0;
        assert_ok(wk_h264_add(encoder, &frame, &ignored, &key, &err));
        const uint8_t *shown = wk_h264_shown(encoder, 0, &stride);
        for (int i = 0; i < 64 * 64; i++) {
            const uint8_t *c = frame.rgb + 3 * i;
            double luma = 16 + 219.0 / 255 * (0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]);
            error += fabs(shown[i / 64 * stride + i % 64] - luma) / (64 * 64);
        }
        if (error > 3) fail_msg("frame %d is %.2f levels off on average", t, error);
        wk_text_free(&ignored);
        wk_image_free(&frame);
    }
    wk_h264_destroy(encoder);
}

static void frames_that_do_not_change_cost_little(void **state)
{
    (void)state;
    wk_h264 *encoder;
    wk_image frame = draw(256, 256, 5);
    wk_text out = {0};
    bool key;
    assert_ok(wk_h264_create(256, 256, 25, &encoder, &err));
    assert_ok(wk_h264_add(encoder, &frame, &out, &key, &err));
    assert_ok(wk_h264_add(encoder, &frame, &out, &key, &err)); // may still improve on the first
    size_t before = out.length;
    for (int i = 0; i < 10; i++)
        assert_ok(wk_h264_add(encoder, &frame, &out, &key, &err));
    if (out.length - before > 10 * 100) fail_msg("%zu bytes", out.length - before);
    wk_text_free(&out);
    wk_image_free(&frame);
    wk_h264_destroy(encoder);
}

static void what_cannot_be_a_video_is_refused(void **state)
{
    (void)state;
    wk_mp4 *mp4;
    wk_animation *animation;
    uint8_t *bytes;
    size_t size;
    assert_refused(wk_mp4_create(0, 8, 0.1, &mp4, &err), WK_E_INPUT, "each side must be 1 to 4096");
    assert_refused(wk_mp4_create(8, 5000, 0.1, &mp4, &err), WK_E_INPUT, "8 x 5000");
    assert_refused(wk_mp4_create(8, 8, NAN, &mp4, &err), WK_E_INPUT, "seconds a frame");
    assert_ok(wk_mp4_create(8, 8, 0.1, &mp4, &err));
    assert_refused(wk_mp4_finish(mp4, &bytes, &size, &err), WK_E_INPUT, "at least one frame");
    wk_image frame = draw(10, 8, 0);
    assert_refused(wk_mp4_add(mp4, &frame, &err), WK_E_INPUT, "10 x 8 pixels in a video of 8 x 8");
    wk_image_free(&frame);
    wk_mp4_destroy(mp4);
    assert_refused(wk_animation_create("a.avi", 8, 8, 0.1, &animation, &err), WK_E_INPUT,
                   "FILE.gif or FILE.mp4");
    assert_true(wk_animation_is_path("a.mp4") && wk_animation_is_path("a/b.gif"));
    assert_false(wk_animation_is_path("mp4") || wk_animation_is_path("a.mp4.png"));
}

// The content of the first box of that type, after its version and flags.
static const uint8_t *find_box(const uint8_t *bytes, size_t size, const char *type)
{
    for (size_t at = 4; at + 8 <= size; at++)
        if (memcmp(bytes + at, type, 4) == 0) return bytes + at + 8;
    fail_msg("no box '%s'", type);
    return NULL;
}

static uint64_t read_number(const uint8_t *bytes, int count)
{
    uint64_t value = 0;
    for (int i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

// A header says its duration after `before` bytes, dates left out, and then that many bytes more
// where its numbers have 64 bits.
static void assert_duration(const uint8_t *bytes, size_t size, const char *type, int before,
                            uint64_t ticks)
{
    const uint8_t *box = find_box(bytes, size, type);
    bool wide = box[-4] == 1;
    assert_int_equal(wide, ticks > UINT32_MAX);
    assert_int_equal(read_number(box + (wide ? 16 : 8) + before, wide ? 8 : 4), ticks);
}

static void a_video_of_many_hours_says_how_long_it_is(void **state)
{
    (void)state;
    wk_image frame = draw(2, 2, 0);
    for (int frames = 477; frames <= 478; frames++) { // on either side of 2^32 ticks
        wk_mp4 *mp4;
        uint8_t *bytes;
        size_t size;
        assert_ok(wk_mp4_create(2, 2, 100, &mp4, &err));
        for (int t = 0; t < frames; t++)
            assert_ok(wk_mp4_add(mp4, &frame, &err));
        assert_ok(wk_mp4_finish(mp4, &bytes, &size, &err));
        uint64_t ticks = (uint64_t)frames * 100 * 90000;
        assert_duration(bytes, size, "mvhd", 4, ticks);
        assert_duration(bytes, size, "tkhd", 8, ticks);
        assert_duration(bytes, size, "mdhd", 4, ticks);
        free(bytes);
        wk_mp4_destroy(mp4);
    }
    wk_image_free(&frame);
}

static void a_refused_frame_leaves_no_trace(void **state)
{
    (void)state;
    wk_image first = draw(16, 16, 0), wrong = draw(18, 16, 1), second = draw(16, 16, 2);
    uint8_t *bytes[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        wk_mp4 *mp4;
        assert_ok(wk_mp4_create(16, 16, 0.1, &mp4, &err));
        assert_ok(wk_mp4_add(mp4, &first, &err));
        if (i == 1) assert_refused(wk_mp4_add(mp4, &wrong, &err), WK_E_INPUT, "18 x 16");
        assert_ok(wk_mp4_add(mp4, &second, &err));
        assert_ok(wk_mp4_finish(mp4, &bytes[i], &size[i], &err));
        wk_mp4_destroy(mp4);
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(bytes[0], bytes[1], size[0]);
    for (int i = 0; i < 2; i++)
        free(bytes[i]);
    wk_image_free(&first);
    wk_image_free(&wrong);
    wk_image_free(&second);
}

// Table A-1 and A.3.1: a side has at most the root of eight times the macroblocks of a frame.
static void the_level_allows_long_sides(void **state)
{
    (void)state;
    static const struct {
        int width, height, level;
    } sizes[] = {{1808, 16, 30}, {1809, 16, 31}, {2704, 16, 31}, {2705, 16, 40},
                 {4096, 16, 40}, {16, 4096, 40}, {640, 480, 30}, {4096, 4096, 60}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wk_h264 *encoder;
        wk_text sequence = {0}, picture = {0};
        assert_ok(wk_h264_create(sizes[i].width, sizes[i].height, 25, &encoder, &err));
        wk_h264_parameters(encoder, &sequence, &picture);
        if (sequence.chars[3] != sizes[i].level)
            fail_msg("%d x %d has level %d, not %d", sizes[i].width, sizes[i].height,
                     sequence.chars[3], sizes[i].level);
        wk_text_free(&sequence);
        wk_text_free(&picture);
        wk_h264_destroy(encoder);
    }
}

// Steps of a domain may be of any length.
static void frames_of_any_time_make_a_clip(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        uint32_t ticks, hundredths;
    } times[] = {{1e-6, 90, 2}, {0.05, 4500, 5}, {1, 90000, 100}, {3600, 90000, 100}};
    wk_image frame = draw(8, 8, 0);
    for (int i = 0; i < 8; i++) {
        const char *path = i % 2 ? "times-test.mp4" : "times-test.gif";
        wk_animation *clip;
        char *bytes;
        size_t size;
        assert_ok(wk_animation_create(path, 8, 8, times[i / 2].seconds, &clip, &err));
        assert_ok(wk_animation_add(clip, &frame, &err));
        assert_ok(wk_animation_write(clip, &err));
        wk_animation_destroy(clip);
        assert_ok(wk_file_read(path, 100000, &bytes, &size, &err));
        const uint8_t *file = (const uint8_t *)bytes;
        if (i % 2) // after the number of entries and of frames
            assert_int_equal(read_number(find_box(file, size, "stts") + 8, 4), times[i / 2].ticks);
        else // in the first control block, after those that repeat the animation
            assert_int_equal(file[36] | file[37] << 8, times[i / 2].hundredths);
        free(bytes);
        unlink(path);
    }
    wk_image_free(&frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_decoder_shows_what_the_encoder_expects),
        cmocka_unit_test(the_same_frames_give_the_same_bytes),
        cmocka_unit_test(what_is_shown_is_near_what_was_drawn),
        cmocka_unit_test(frames_that_do_not_change_cost_little),
        cmocka_unit_test(what_cannot_be_a_video_is_refused),
        cmocka_unit_test(a_video_of_many_hours_says_how_long_it_is),
        cmocka_unit_test(a_refused_frame_leaves_no_trace),
        cmocka_unit_test(the_level_allows_long_sides),
        cmocka_unit_test(frames_of_any_time_make_a_clip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
