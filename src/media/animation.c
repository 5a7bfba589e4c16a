#include "media/animation.h"

#include "base/file.h"
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Steps of a domain may be microseconds or hours; these are what can be watched and written.
static const double SECONDS_MIN = 0.001, SECONDS_MAX = 1;

enum { VIDEO_MAX = 1 << 30 }; // bytes of a video

// ffmpeg as a child process. It reads raw frames from its stdin and writes the video to its stdout,
// which is memory without a name: whatever happens, no half-written file is left.
typedef struct encoder {
    pid_t pid;               // 0: not running
    int frames, video, said; // its stdin (a socket), stdout and stderr (memory); -1: closed
} encoder;

struct wk_animation {
    char *path;
    int width, height;
    wk_gif *gif; // NULL: a video
    bool begun;  // the video has a frame
    encoder ffmpeg;
};

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

bool wk_animation_is_path(const char *path)
{
    return ends_in(path, ".gif") || ends_in(path, ".mp4");
}

static void close_end(int *end)
{
    if (*end >= 0) close(*end);
    *end = -1;
}

// A process group of its own keeps Ctrl-C away from ffmpeg: the caller decides when to stop.
static wk_status start(encoder *e, const char *const words[], wk_error *err)
{
    int pair[2];
    *e = (encoder){.frames = -1,
                   .video = memfd_create("waker-video", MFD_CLOEXEC),
                   .said = memfd_create("waker-ffmpeg", MFD_CLOEXEC)};
    if (e->video < 0 || e->said < 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return wk_fail(err, WK_E_IO, "cannot start ffmpeg: %s", strerror(errno));
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_adddup2(&files, pair[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, e->video, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, e->said, STDERR_FILENO);
    int fault = posix_spawnp(&e->pid, words[0], &files, &attributes,
                             (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(pair[0]);
    e->frames = pair[1];
    if (fault == 0) return WK_OK;
    e->pid = 0;
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "cannot start ffmpeg, which encodes MP4: %s; install it (Debian: apt install "
                   "ffmpeg), or write a GIF instead",
                   strerror(fault));
}

// Waits until ffmpeg has ended, which it does after the last frame; fails with what it said.
static wk_status finish(encoder *e, wk_error *err)
{
    int code = 0;
    pid_t ended = 0;
    assert(e->pid > 0);
    close_end(&e->frames);
    while ((ended = waitpid(e->pid, &code, 0)) < 0 && errno == EINTR)
        ;
    e->pid = 0;
    if (ended < 0) return wk_fail(err, WK_E_IO, "cannot wait for ffmpeg: %s", strerror(errno));
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0) return WK_OK;
    char said[300];
    ssize_t length = pread(e->said, said, sizeof said - 1, 0);
    while (length > 0 && said[length - 1] == '\n')
        length--;
    said[length > 0 ? length : 0] = 0;
    return wk_fail(err, WK_E_IO,
                   "ffmpeg, which encodes MP4, ended with %s %d%s%s; a GIF needs none",
                   WIFSIGNALED(code) ? "signal" : "exit code",
                   WIFSIGNALED(code) ? WTERMSIG(code) : WEXITSTATUS(code), *said ? ": " : "", said);
}

static void stop(encoder *e)
{
    if (e->pid) {
        kill(e->pid, SIGKILL);
        (void)finish(e, NULL);
    }
    close_end(&e->frames);
    close_end(&e->video);
    close_end(&e->said);
}

wk_status wk_animation_find_ffmpeg(wk_error *err)
{
    encoder e;
    const char *const words[] = {"ffmpeg", "-version", NULL};
    wk_status status = start(&e, words, err);
    if (status == WK_OK) status = finish(&e, err);
    stop(&e);
    return status;
}

// One thread and no version strings: the same frames and ffmpeg give the same bytes. H.264 wants
// even sides, and browsers the index in front.
static wk_status start_video(wk_animation *clip, double seconds, wk_error *err)
{
    char size[32], rate[32];
    snprintf(size, sizeof size, "%dx%d", clip->width, clip->height);
    snprintf(rate, sizeof rate, "1000000/%ld", lround(1e6 * seconds));
    const char *const words[] = {
        "ffmpeg", "-nostdin", "-v", "error",
        // what comes in
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-video_size", size, "-framerate", rate, "-i",
        "pipe:0",
        // what is made of it
        "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2,scale=out_color_matrix=bt709", "-colorspace", "bt709",
        "-color_primaries", "bt709", "-color_trc", "bt709", "-pix_fmt", "yuv420p", "-c:v", "h264",
        "-threads", "1", "-flags:v", "+bitexact", "-fflags", "+bitexact", "-movflags", "+faststart",
        // by name, since ffmpeg goes back in it
        "-f", "mp4", "-y", "/proc/self/fd/1", NULL};
    return start(&clip->ffmpeg, words, err);
}

wk_status wk_animation_create(const char *path, int width, int height, double seconds,
                              wk_animation **out, wk_error *err)
{
    if (!wk_animation_is_path(path))
        return wk_fail(err, WK_E_INPUT, "'%s': a clip is called FILE.gif or FILE.mp4", path);
    wk_animation *clip = calloc(1, sizeof *clip);
    char *copy = strdup(path);
    if (!clip || !copy) {
        free(clip);
        free(copy);
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory", path);
    }
    *clip =
        (wk_animation){.path = copy, .width = width, .height = height, .ffmpeg = {0, -1, -1, -1}};
    seconds = fmin(fmax(seconds, SECONDS_MIN), SECONDS_MAX);
    int delay = (int)fmax(2, round(100 * seconds));
    wk_status status = ends_in(path, ".mp4") ? start_video(clip, seconds, err)
                                             : wk_gif_create(width, height, delay, &clip->gif, err);
    if (status != WK_OK) {
        wk_animation_destroy(clip);
        return status;
    }
    *out = clip;
    return WK_OK;
}

// Where ffmpeg has ended, sending fails with EPIPE instead of a signal.
static wk_status send_frame(wk_animation *clip, const wk_image *frame, wk_error *err)
{
    if (frame->width != clip->width || frame->height != clip->height)
        return wk_fail(err, WK_E_INPUT, "a frame of %d x %d pixels in a video of %d x %d",
                       frame->width, frame->height, clip->width, clip->height);
    size_t size = (size_t)frame->width * (size_t)frame->height * 3;
    for (size_t at = 0; at < size;) {
        ssize_t sent = send(clip->ffmpeg.frames, frame->rgb + at, size - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) {
            WK_TRY(finish(&clip->ffmpeg, err));
            return wk_fail(err, WK_E_IO, "ffmpeg, which encodes MP4, ended before the last frame");
        }
        at += (size_t)sent;
    }
    clip->begun = true;
    return WK_OK;
}

wk_status wk_animation_add(wk_animation *clip, const wk_image *frame, wk_error *err)
{
    return clip->gif ? wk_gif_add(clip->gif, frame, err) : send_frame(clip, frame, err);
}

static wk_status finish_video(wk_animation *clip, uint8_t **bytes, size_t *size, wk_error *err)
{
    char path[64];
    if (!clip->begun) return wk_fail(err, WK_E_INPUT, "a video needs at least one frame");
    WK_TRY(finish(&clip->ffmpeg, err));
    snprintf(path, sizeof path, "/proc/self/fd/%d", clip->ffmpeg.video);
    WK_TRY(wk_file_read(path, VIDEO_MAX, (char **)bytes, size, err));
    if (*size > 0) return WK_OK;
    free(*bytes);
    return wk_fail(err, WK_E_IO, "ffmpeg, which encodes MP4, wrote nothing");
}

wk_status wk_animation_write(wk_animation *clip, wk_error *err)
{
    uint8_t *bytes;
    size_t size;
    WK_TRY(clip->gif ? wk_gif_finish(clip->gif, &bytes, &size, err)
                     : finish_video(clip, &bytes, &size, err));
    wk_status status = wk_file_write(clip->path, bytes, size, err);
    free(bytes);
    return status;
}

void wk_animation_destroy(wk_animation *clip)
{
    if (!clip) return;
    wk_gif_destroy(clip->gif);
    stop(&clip->ffmpeg);
    free(clip->path);
    free(clip);
}
