// Every allocation and file call on the way to an image file fails once: nothing leaks, the caller
// gets an error, and no file appears.
#include "base/file.h"
#include "media/animation.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/ffmpeg.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char path[] = "memory-test.picture";
static wk_error err;

typedef wk_status attempt(const wk_image *frames);

static wk_status write_png(const wk_image *frames)
{
    return wk_png_write(path, frames, &err);
}

static wk_status write_gif(const wk_image *frames)
{
    wk_gif *gif = NULL;
    wk_status status = wk_gif_create(frames->width, frames->height, 5, &gif, &err);
    for (int i = 0; status == WK_OK && i < 2; i++)
        status = wk_gif_add(gif, &frames[i], &err);
    uint8_t *bytes = NULL;
    size_t size;
    if (status == WK_OK) status = wk_gif_finish(gif, &bytes, &size, &err);
    if (status == WK_OK) status = wk_file_write(path, bytes, size, &err);
    free(bytes);
    wk_gif_destroy(gif);
    return status;
}

static wk_status write_mp4(const wk_image *frames)
{
    wk_animation *animation;
    WK_TRY(wk_animation_create("memory-test.mp4", frames->width, frames->height, 0.05, &animation,
                               &err));
    wk_status status = wk_animation_add(animation, &frames[0], &err);
    if (status == WK_OK) status = wk_animation_add(animation, &frames[1], &err);
    if (status == WK_OK) status = wk_animation_write(animation, &err);
    wk_animation_destroy(animation);
    unlink("memory-test.mp4");
    return status;
}

static wk_status create(const wk_image *frames)
{
    wk_image image;
    WK_TRY(wk_image_create(frames->width, frames->height, 0, &image, &err));
    wk_image_free(&image);
    return WK_OK;
}

// -1 where there is no file.
static long file_size(void)
{
    struct stat info;
    return stat(path, &info) == 0 ? (long)info.st_size : -1;
}

static void fail_each(attempt *try, fault_call call, wk_status expected, int at_least)
{
    wk_image frames[2];
    assert_ok(wk_image_create(30, 20, 0x102030, &frames[0], &err));
    assert_ok(wk_image_create(30, 20, 0x405060, &frames[1], &err));
    assert_ok(try(frames));
    long whole = file_size();
    unlink(path);
    int failures = 0;
    for (;; failures++) {
        fault_arm(call, failures, call == FAULT_ALLOC ? ENOMEM : ENOSPC);
        err = (wk_error){0};
        wk_status status = try(frames);
        if (!fault_disarm(call)) break;
        if (status != expected)
            fail_msg("call %d: status '%s' (%s)", failures, wk_status_name(status), err.message);
        assert_true(strlen(err.message) > 0);
        // The last step, making the finished file durable, fails with the file in place.
        if (file_size() >= 0) assert_int_equal(file_size(), whole);
        unlink(path);
    }
    assert_true(failures >= at_least);
    unlink(path);
    wk_image_free(&frames[0]);
    wk_image_free(&frames[1]);
}

static void an_image_without_memory_is_an_error(void **state)
{
    (void)state;
    fail_each(create, FAULT_ALLOC, WK_E_MEMORY, 1);
}

static void writing_a_png_survives_each_failing_allocation(void **state)
{
    (void)state;
    fail_each(write_png, FAULT_ALLOC, WK_E_MEMORY, 5);
}

static void writing_a_gif_survives_each_failing_allocation(void **state)
{
    (void)state;
    fail_each(write_gif, FAULT_ALLOC, WK_E_MEMORY, 10);
}

static void writing_an_mp4_survives_each_failing_allocation(void **state)
{
    (void)state;
    ffmpeg_stub(FFMPEG_WORKS);
    fail_each(write_mp4, FAULT_ALLOC, WK_E_MEMORY, 3);
    ffmpeg_stub(NULL);
}

static void a_disk_that_fills_up_is_an_error_and_leaves_no_broken_file(void **state)
{
    (void)state;
    fail_each(write_png, FAULT_WRITE, WK_E_IO, 1);
    fail_each(write_gif, FAULT_WRITE, WK_E_IO, 1);
    fail_each(write_png, FAULT_RENAME, WK_E_IO, 1);
    fail_each(write_gif, FAULT_SYNC, WK_E_IO, 2);
    ffmpeg_stub(FFMPEG_WORKS);
    fail_each(write_mp4, FAULT_READ, WK_E_IO, 1);
    fail_each(write_mp4, FAULT_WRITE, WK_E_IO, 1);
    ffmpeg_stub(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_image_without_memory_is_an_error),
        cmocka_unit_test(writing_a_png_survives_each_failing_allocation),
        cmocka_unit_test(writing_a_gif_survives_each_failing_allocation),
        cmocka_unit_test(writing_an_mp4_survives_each_failing_allocation),
        cmocka_unit_test(a_disk_that_fills_up_is_an_error_and_leaves_no_broken_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
