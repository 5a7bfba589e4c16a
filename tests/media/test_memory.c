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

static const char *path; // of the file that is written
static wk_error err;

typedef wk_status attempt(const wk_image *frames);

static wk_status write_png(const wk_image *frames)
{
    return wk_png_write(path, frames, &err);
}

static wk_status write_clip(const wk_image *frames)
{
    wk_animation *clip;
    WK_TRY(wk_animation_create(path, frames->width, frames->height, 0.05, &clip, &err));
    wk_status status = wk_animation_add(clip, &frames[0], &err);
    if (status == WK_OK) status = wk_animation_add(clip, &frames[1], &err);
    if (status == WK_OK) status = wk_animation_write(clip, &err);
    wk_animation_destroy(clip);
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
            fail_msg("%s, fault %d, call %d: status '%s' (%s)", path, (int)call, failures,
                     wk_status_name(status), err.message);
        assert_true(strlen(err.message) > 0);
        // The last step, making the finished file durable, fails with the file in place.
        if (file_size() >= 0) assert_int_equal(file_size(), whole);
        unlink(path);
    }
    if (failures < at_least) fail_msg("%s, fault %d: %d calls", path, (int)call, failures);
    unlink(path);
    wk_image_free(&frames[0]);
    wk_image_free(&frames[1]);
}

TEST_CASE(every_failing_call_is_an_error_and_leaves_no_broken_file)
{
    static const struct {
        const char *path;
        attempt *try;
        fault_call call;
        wk_status expected;
        int at_least;
    } faults[] = {
        {"memory-test.png", create, FAULT_ALLOC, WK_E_MEMORY, 1},
        {"memory-test.png", write_png, FAULT_ALLOC, WK_E_MEMORY, 3},
        {"memory-test.png", write_png, FAULT_WRITE, WK_E_IO, 1},
        {"memory-test.png", write_png, FAULT_RENAME, WK_E_IO, 1},
        {"memory-test.gif", write_clip, FAULT_ALLOC, WK_E_MEMORY, 9},
        {"memory-test.gif", write_clip, FAULT_WRITE, WK_E_IO, 1},
        {"memory-test.gif", write_clip, FAULT_SYNC, WK_E_IO, 2},
        {"memory-test.mp4", write_clip, FAULT_ALLOC, WK_E_MEMORY, 2},
        {"memory-test.mp4", write_clip, FAULT_READ, WK_E_IO, 1},
        {"memory-test.mp4", write_clip, FAULT_WRITE, WK_E_IO, 1},
    };
    ffmpeg_stub(FFMPEG_WORKS);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        path = faults[i].path;
        fail_each(faults[i].try, faults[i].call, faults[i].expected, faults[i].at_least);
    }
    ffmpeg_stub(NULL);
}

TEST_MAIN(NULL, NULL)
