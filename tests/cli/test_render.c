// waker render, as a user runs it: what the files contain, what is said, and every way to get it
// wrong.
#include "base/file.h"
#include "media/decode.h"
#include "support/ffmpeg.h"
#include "support/program.h"
#include "waker/env.h"
#include <mujoco/mujoco.h>
#include <stdio.h>

#define BALL "--plugin " WAKER_BINARY_DIR "/tests/plugins/ball.so "

static wk_image read_png(const char *name)
{
    unsigned long size;
    uint8_t *bytes = program_read(name, &size);
    assert_non_null(bytes);
    wk_image image = png_decode(bytes, size);
    free(bytes);
    return image;
}

static gif_clip read_gif(const char *name)
{
    unsigned long size;
    uint8_t *bytes = program_read(name, &size);
    assert_non_null(bytes);
    gif_clip clip = gif_decode(bytes, size);
    free(bytes);
    return clip;
}

static bool same_picture(const char *a, const char *b)
{
    wk_image x = read_png(a), y = read_png(b);
    bool same = x.width == y.width && x.height == y.height &&
                memcmp(x.rgb, y.rgb, (size_t)x.width * (size_t)x.height * 3) == 0;
    wk_image_free(&x);
    wk_image_free(&y);
    return same;
}

// The image must be the one that the library draws for the same episode.
TEST_CASE(a_still_shows_the_start_of_the_episode)
{
    wk_error err = {0};
    program_prints("render --domain terrain-walker --params 0.8,0.3 --seed 5 --size 96 --out a.png",
                   "amplitude=0.8, length=0.3, seed 5", "a.png");
    const wk_domain *domain;
    wk_env *env;
    uint8_t expected[96 * 96 * 3];
    assert_ok(wk_domain_find("terrain-walker", &domain, &err));
    assert_ok(wk_env_create(domain, NULL, &env, &err));
    assert_ok(wk_env_reset(env, (double[]){0.8, 0.3}, 2, 5, 0, &(wk_frame){0}, &err));
    assert_ok(wk_env_render(env, 96, 96, expected, &err));
    wk_image image = read_png("a.png");
    assert_int_equal(image.width, 96);
    assert_memory_equal(image.rgb, expected, sizeof expected);
    wk_image_free(&image);
    wk_env_destroy(env);
}

TEST_CASE(every_domain_can_be_drawn_with_nothing_but_its_name)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        program_succeed("render --domain %s --out domain.png", wk_domain_at(i)->name);
        wk_image image = read_png("domain.png");
        assert_int_equal(image.width, 480);
        assert_int_equal(image.height, 480);
        wk_image_free(&image);
    }
}

TEST_CASE(steps_seed_params_and_case_change_the_image)
{
    const char *const variants[] = {"", "--steps 9", "--seed 1", "--params 1,0.2", "--case steep"};
    for (int i = 0; i < 5; i++)
        program_succeed("render --domain terrain-hopper --size 64 %s --out v%d.png", variants[i],
                        i);
    for (int i = 1; i < 5; i++)
        assert_false(
            same_picture("v0.png", ((char[]){'v', (char)('0' + i), '.', 'p', 'n', 'g', 0})));
}

TEST_CASE(options_reach_the_domain)
{
    program_succeed("render " BALL "--size 64 --out o0.png");
    program_succeed("render " BALL "--size 64 --option start=centre --out o1.png");
    assert_false(same_picture("o0.png", "o1.png"));
}

TEST_CASE(the_same_command_writes_the_same_bytes)
{
    for (int i = 0; i < 2; i++) {
        program_succeed("render --domain terrain-walker --steps 3 --size 64 --out s%d.gif", i);
        program_succeed("render --sheet " BALL "--size 16 --out s%d.png", i);
    }
    const char *const pairs[][2] = {{"s0.gif", "s1.gif"}, {"s0.png", "s1.png"}};
    for (int i = 0; i < 2; i++) {
        unsigned long size[2];
        uint8_t *a = program_read(pairs[i][0], &size[0]), *b = program_read(pairs[i][1], &size[1]);
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(a, b, size[0]);
        free(a);
        free(b);
    }
}

TEST_CASE(a_clip_has_a_frame_per_step_in_real_time)
{
    program_succeed("render --domain terrain-walker --steps 12 --size 64 --out clip.gif");
    gif_clip clip = read_gif("clip.gif");
    assert_int_equal(clip.count, 13);
    assert_int_equal(clip.delay_cs, 5);
    assert_true(clip.loops);
    assert_memory_not_equal(clip.frames[0].rgb, clip.frames[12].rgb, 64 * 64 * 3);
    gif_free(&clip);
}

// What is in it: tests/media/test_video.c.
TEST_CASE(a_clip_may_be_a_video)
{
    unsigned long size;
    ffmpeg_stub(FFMPEG_WORKS);
    // Also where the starter ignores the ends of its children.
    program_result r = program_run_after("env --ignore-signal=CHLD",
                                         "render --domain toy --steps 4 --size 64 --out clip.mp4");
    ffmpeg_stub(NULL);
    program_expect_success(r);
    expect_parts(r.out, "4 random agent steps, 5 frames of 64 x 64, written to clip.mp4");
    uint8_t *bytes = program_read("clip.mp4", &size);
    assert_true(bytes && size == 12 && memcmp(bytes + 4, "ftypisom", 8) == 0);
    free(bytes);
    program_expect_error(
        program_run_after("PATH=/nowhere", "render --domain toy --size 64 --out none.mp4"), 2,
        "cannot start ffmpeg");
    assert_null(program_read("none.mp4", NULL));
    program_refuses("render --domain toy --out clip.avi", "must end in .png, .gif or .mp4");
}

TEST_CASE(a_clip_longer_than_the_episode_ends_with_it)
{
    program_prints("render " BALL "--steps 100000 --size 8 --out long.png", "end of the episode");
}

TEST_CASE(a_sheet_shows_the_grid_and_every_case)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        program_result r = program_succeed("render --sheet --domain %s --size 24 --out sheet.png",
                                           wk_domain_at(i)->name);
        expect_parts(r.out, " world");
        wk_image image = read_png("sheet.png");
        // The control suite has one world of each robot.
        const wk_param *first = wk_domain_at(i)->params;
        int columns = first->max > first->min ? 3 : 1, rows = first->max > first->min ? 2 : 1;
        assert_true(image.width > columns * 24);
        assert_true(image.height > (rows + wk_domain_at(i)->n_cases) * 24);
        wk_image_free(&image);
    }
}

TEST_CASE(a_long_path_is_said_whole)
{
    char path[1024] = "";
    while (strlen(path) < 600)
        strcat(path, "./");
    strcat(path, "far.png");
    static const char *const drawings[] = {"", "--sheet "};
    for (int i = 0; i < 2; i++) {
        program_result r =
            program_succeed("render --domain toy %s--size 8 --out %s", drawings[i], path);
        if (!strstr(r.out, path)) fail_msg("no whole path in: %s", r.out);
    }
}

TEST_CASE(quiet_says_nothing)
{
    program_result r = program_succeed("render " BALL "--size 8 --quiet --out q.png");
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "");
}

TEST_CASE(wrong_worlds_are_refused)
{
    program_refuses("render --out a.png", "--domain");
    program_refuses("render --domain terain-walker --out a.png", "terrain-walker");
    program_refuses("render --domain terrain-walker " BALL "--out a.png", "not both");
    program_refuses("render --plugin nowhere.so --out a.png", "nowhere.so");
    program_refuses("render --domain terrain-walker --option latice=fresh --out a.png", "lattice");
    program_refuses("render --domain terrain-walker --option lattice=frsh --out a.png", "fresh");
    program_refuses("render --domain terrain-walker --option lattice --out a.png", "name=choice");
}

TEST_CASE(wrong_parameters_are_refused)
{
#define WALKER "render --domain terrain-walker --out a.png "
    program_refuses(
        WALKER "--params 0.5",
        "--params: a θ of domain 'terrain-walker' has 2 numbers (amplitude, length), not 1");
    program_refuses(WALKER "--params 1,1,1,1,1,1,1,1,1,1,1",
                    "has 2 numbers (amplitude, length), not 11");
    program_refuses(WALKER "--params 7,1", "amplitude");
    program_refuses(WALKER "--params 0.5,abc", "'abc' is not a number");
    program_refuses(WALKER "--params 0.5,", "'' is not a number");
    program_refuses(WALKER "--params nan,1", "not a number");
    program_refuses(WALKER "--case stair", "stairs");
    program_refuses(WALKER "--case stairs:9", "outside");
    program_refuses(WALKER "--case stairs:x", "not a whole number");
    program_refuses(WALKER "--case stairs --params 1,1", "not both");
    program_refuses(WALKER "--sheet --params 1,1", "leave out");
}

TEST_CASE(wrong_sizes_are_refused)
{
    program_refuses("render " BALL "--out a.png --size 0", "outside 8 to 4096");
    program_refuses("render " BALL "--out a.png --size 100000", "outside");
    program_refuses("render " BALL "--out a.png --steps -1", "outside");
    program_refuses("render " BALL "--sheet --out a.png --size 4000", "too large");
}

TEST_CASE(wrong_places_are_refused_and_nothing_is_left)
{
    int before = program_count_files();
    program_refuses("render " BALL, "--out");
    program_refuses("render " BALL "--out a.bmp", ".png, .gif or .mp4");
    program_refuses("render " BALL "--out .png", ".png, .gif or .mp4");
    program_refuses("render " BALL "--out /dev/full", ".png, .gif or .mp4");
    program_refuses("render " BALL "--sheet --out a.gif", "a sheet is a .png");
    program_expect_error(program_run("render " BALL "--out no/such/a.png"), 1, "no/such");
    program_expect_error(program_run("render " BALL "--out /proc/a.png"), 1, "/proc/a.png");
    assert_int_equal(program_count_files(), before);
}

static wk_image read_documented(const char *name)
{
    wk_error err = {0};
    char path[512], *bytes;
    size_t size;
    snprintf(path, sizeof path, WAKER_SOURCE_DIR "/%s", name);
    assert_ok(wk_file_read(path, 1 << 22, &bytes, &size, &err));
    wk_image image = png_decode((const uint8_t *)bytes, size);
    free(bytes);
    return image;
}

// README and docs show what the program draws. Other versions of MuJoCo move a little differently.
TEST_CASE(the_documented_pictures_are_those_of_the_program)
{
    static const char *const names[] = {"terrain-walker", "terrain-hopper", "stairs",    "clean-up",
                                        "car-clean-up",   "dmc-walker",     "dmc-hopper"};
    if (mjVERSION_HEADER != 4000001) skip();
    program_expect_success(program_run_after(
        WAKER_SOURCE_DIR "/tools/pictures " WAKER_BINARY_DIR "/waker &&", "--version"));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "docs/images/%s.png", names[i]);
        wk_image drawn = read_png(path), shown = read_documented(path);
        assert_int_equal(drawn.width, shown.width);
        assert_int_equal(drawn.height, shown.height);
        if (memcmp(drawn.rgb, shown.rgb, (size_t)(3 * drawn.width * drawn.height)) != 0)
            fail_msg("%s is out of date: run tools/pictures", path);
        wk_image_free(&drawn);
        wk_image_free(&shown);
    }
}

// A limit on the size of files stands for a full disk.
TEST_CASE(a_full_disk_keeps_the_old_file_and_leaves_nothing_half_written)
{
    program_succeed("render " BALL "--size 8 --out full.png");
    unsigned long size_before, size_after;
    uint8_t *old = program_read("full.png", &size_before);
    int before = program_count_files();
    const char *const outs[] = {"full.png --size 400", "full.gif --size 400"};
    for (int i = 0; i < 2; i++) {
        char arguments[400];
        snprintf(arguments, sizeof arguments, "render " BALL "--steps 9 --out %s", outs[i]);
        program_expect_error(program_run_after("trap '' XFSZ; ulimit -f 1;", arguments), 1,
                             "cannot write");
    }
    uint8_t *now = program_read("full.png", &size_after);
    assert_int_equal(size_before, size_after);
    assert_memory_equal(old, now, size_before);
    assert_int_equal(program_count_files(), before);
    free(old);
    free(now);
}

TEST_MAIN(program_setup, program_teardown)
