// MP4 through ffmpeg: what it is given and what is made of its failures, with a stand-in; and with
// the real one, where it is installed, that the video shows the frames.
#include "base/file.h"
#include "media/animation.h"
#include "support/check.h"
#include "support/ffmpeg.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define RECORDS "printf '%s ' \"$@\" >video-words; cat >video-frames; printf video"

static wk_error err;

// Still parts and parts that move.
static wk_image draw(int width, int height, int t)
{
    wk_image image;
    assert_ok(wk_image_create(width, height, t % 37 < 18 ? 0xFFFFFF : 0x204080, &image, &err));
    wk_image_text(&image, 3, 3, 0x101010, "frame");
    wk_image_fill(&image, 2 * t % width, height / 3, width / 4 + 1, height / 4 + 1, 0xE02060);
    return image;
}

static wk_status write_clip(const char *path, int width, int height, double seconds, int frames)
{
    wk_animation *clip;
    WK_TRY(wk_animation_create(path, width, height, seconds, &clip, &err));
    wk_status status = WK_OK;
    for (int t = 0; t < frames && status == WK_OK; t++) {
        wk_image frame = draw(width, height, t);
        status = wk_animation_add(clip, &frame, &err);
        wk_image_free(&frame);
    }
    if (status == WK_OK) status = wk_animation_write(clip, &err);
    wk_animation_destroy(clip);
    return status;
}

// The content of a file, which is removed.
static char *take(const char *path, size_t *size)
{
    char *bytes;
    assert_ok(wk_file_read(path, 1 << 24, &bytes, size, &err));
    unlink(path);
    return bytes;
}

TEST_CASE(ffmpeg_is_given_every_pixel_and_what_it_says_is_the_file)
{
    size_t size;
    ffmpeg_stub(RECORDS);
    assert_ok(write_clip("video-test.mp4", 500, 301, 0.04, 2));
    char *words = take("video-words", NULL), *video = take("video-test.mp4", NULL);
    char *frames = take("video-frames", &size);
    assert_non_null(strstr(words, " -video_size 500x301 -framerate 1000000/40000 -i pipe:0 "));
    assert_string_equal(video, "video");
    assert_int_equal(size, 2 * 500 * 301 * 3);
    for (int t = 0; t < 2; t++) {
        wk_image frame = draw(500, 301, t);
        assert_memory_equal(frames + t * 500 * 301 * 3, frame.rgb, 500 * 301 * 3);
        wk_image_free(&frame);
    }
    free(words);
    free(video);
    free(frames);
    ffmpeg_stub(NULL);
}

// Steps of a domain may be of any length.
TEST_CASE(frames_of_any_time_make_a_clip)
{
    static const struct {
        double seconds;
        const char *rate;
        int hundredths;
    } times[] = {{1e-6, " 1000000/1000 ", 2},
                 {0.05, " 1000000/50000 ", 5},
                 {1, " 1000000/1000000 ", 100},
                 {3600, " 1000000/1000000 ", 100}};
    ffmpeg_stub(RECORDS);
    for (int i = 0; i < 4; i++) {
        assert_ok(write_clip("video-test.mp4", 8, 8, times[i].seconds, 1));
        assert_ok(write_clip("video-test.gif", 8, 8, times[i].seconds, 1));
        char *words = take("video-words", NULL), *gif = take("video-test.gif", NULL);
        if (!strstr(words, times[i].rate)) fail_msg("no %s in %s", times[i].rate, words);
        // In the first control block, after those that repeat the animation.
        assert_int_equal((uint8_t)gif[36] | (uint8_t)gif[37] << 8, times[i].hundredths);
        free(words);
        free(gif);
    }
    unlink("video-test.mp4");
    unlink("video-frames");
    ffmpeg_stub(NULL);
}

// Three megabytes are more than a process that has ended could have in its pipe.
TEST_CASE(an_ffmpeg_that_fails_is_an_error_and_leaves_the_old_file)
{
    static const struct {
        const char *script, *message;
    } faults[] = {
        {"exit 3", "ended with exit code 3; a GIF needs none"},
        {"cat >/dev/null; echo 'no such encoder' >&2; exit 1", "exit code 1: no such encoder"},
        {"head -c 10 >/dev/null; printf half; kill -9 $$", "ended with signal 9"},
        {"exit 0", "ended before the last frame"},
        {"cat >/dev/null", "wrote nothing"},
    };
    assert_ok(wk_file_write("video-test.mp4", "old", 3, &err));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ffmpeg_stub(faults[i].script);
        assert_refused(write_clip("video-test.mp4", 1000, 1000, 0.1, 1), WK_E_IO,
                       faults[i].message);
    }
    char *old = take("video-test.mp4", NULL);
    assert_string_equal(old, "old");
    free(old);
    ffmpeg_stub(NULL);
}

TEST_CASE(without_ffmpeg_the_error_says_what_to_install)
{
    char *usual = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    assert_refused(write_clip("video-test.mp4", 8, 8, 0.1, 1), WK_E_UNSUPPORTED,
                   "apt install ffmpeg), or write a GIF");
    assert_refused(wk_animation_find_ffmpeg(&err), WK_E_UNSUPPORTED, "apt install ffmpeg");
    assert_ok(write_clip("video-test.gif", 8, 8, 0.1, 1));
    setenv("PATH", usual, 1);
    free(usual);
    unlink("video-test.gif");
    ffmpeg_stub("exit 1");
    assert_refused(wk_animation_find_ffmpeg(&err), WK_E_IO, "exit code 1");
    ffmpeg_stub(FFMPEG_WORKS);
    assert_ok(wk_animation_find_ffmpeg(&err));
    ffmpeg_stub(NULL);
}

TEST_CASE(a_clip_that_is_given_up_leaves_neither_file_nor_process)
{
    wk_animation *clip;
    wk_image frame = draw(8, 8, 0);
    ffmpeg_stub(FFMPEG_WORKS);
    assert_ok(wk_animation_create("video-test.mp4", 8, 8, 0.1, &clip, &err));
    assert_ok(wk_animation_add(clip, &frame, &err));
    wk_animation_destroy(clip);
    wk_image_free(&frame);
    assert_int_equal(access("video-test.mp4", F_OK), -1);
    assert_int_equal(waitpid(-1, NULL, 0), -1);
    assert_int_equal(errno, ECHILD);
    ffmpeg_stub(NULL);
}

TEST_CASE(what_cannot_be_a_video_is_refused)
{
    wk_animation *clip;
    wk_image frame = draw(10, 8, 0);
    ffmpeg_stub(FFMPEG_WORKS);
    assert_ok(wk_animation_create("video-test.mp4", 8, 8, 0.1, &clip, &err));
    assert_refused(wk_animation_write(clip, &err), WK_E_INPUT, "at least one frame");
    assert_refused(wk_animation_add(clip, &frame, &err), WK_E_INPUT,
                   "10 x 8 pixels in a video of 8 x 8");
    wk_animation_destroy(clip);
    wk_image_free(&frame);
    assert_refused(wk_animation_create("a.avi", 8, 8, 0.1, &clip, &err), WK_E_INPUT,
                   "FILE.gif or FILE.mp4");
    assert_true(wk_animation_is_path("a.mp4") && wk_animation_is_path("a/b.gif"));
    assert_false(wk_animation_is_path("mp4") || wk_animation_is_path("a.mp4.png"));
    ffmpeg_stub(NULL);
}

// The mean error of a pixel of the frames that ffmpeg reads in the video.
static double error_of_video(int width, int height, int frames)
{
    int shown_width = width + width % 2, shown_height = height + height % 2;
    FILE *decoded = popen("ffmpeg -v error -xerror -i video-test.mp4 -vf scale=in_color_matrix="
                          "bt709 -f rawvideo -pix_fmt rgb24 - 2>&1",
                          "r");
    uint8_t *row = malloc((size_t)shown_width * 3);
    double error = 0;
    for (int t = 0; t < frames; t++) {
        wk_image frame = draw(width, height, t);
        for (int y = 0; y < shown_height; y++) {
            assert_int_equal(fread(row, 3, (size_t)shown_width, decoded), shown_width);
            for (int i = 0; i < 3 * width && y < height; i++)
                error += abs(row[i] - frame.rgb[3 * y * width + i]);
        }
        wk_image_free(&frame);
    }
    assert_int_equal(fgetc(decoded), EOF);
    assert_int_equal(pclose(decoded), 0);
    free(row);
    return error / (3.0 * width * height * frames);
}

TEST_CASE(a_video_shows_the_frames_and_is_the_same_every_time)
{
    static const struct {
        int width, height, frames;
    } videos[] = {{64, 64, 40}, {130, 75, 12}, {17, 33, 12}};
    if (system("command -v ffmpeg >/dev/null") != 0) skip();
    for (size_t i = 0; i < sizeof videos / sizeof *videos; i++) {
        int width = videos[i].width, height = videos[i].height, frames = videos[i].frames;
        char *bytes[2];
        size_t size[2];
        for (int k = 0; k < 2; k++) {
            assert_ok(write_clip("video-test.mp4", width, height, 0.04, frames));
            double error = k == 0 ? error_of_video(width, height, frames) : 0;
            if (error > 4) fail_msg("video %zu is %.2f levels off on average", i, error);
            bytes[k] = take("video-test.mp4", &size[k]);
        }
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        assert_memory_equal(bytes[0] + 36, "moov", 4); // the index stands in front
        free(bytes[0]);
        free(bytes[1]);
    }
}

TEST_MAIN(NULL, NULL)
