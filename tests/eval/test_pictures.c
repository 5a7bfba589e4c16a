// What is written next to the images of clips: all of θ, each where it belongs.
#include "base/file.h"
#include "eval/fixture.h"
#include "eval/open_loop.h"
#include "eval/result.h"
#include "train/runs.h"

#define FOLDER "eval-pictures.tmp"

enum { SEQUENCES = 2, STEPS = 3 };

static wk_image draw_frame(const wk_open_loop *loop, const char *first, const char *second)
{
    wk_error err = {0};
    wk_image frame = {0};
    wk_open_loop_labels labels = {"a, b, c, d, e, f", (const char *[]){first, second}};
    assert_ok(wk_open_loop_frame(loop, 0, &labels, &frame, &err));
    return frame;
}

// Whether two images of one size have the same columns of pixels [from, to).
static bool same_columns(const wk_image *a, const wk_image *b, int from, int to)
{
    assert_int_equal(a->height, b->height);
    for (int y = 0; y < a->height; y++) {
        int at = 3 * (y * a->width + from);
        if (memcmp(a->rgb + at, b->rgb + at, (size_t)(3 * (to - from))) != 0) return false;
    }
    return true;
}

// The width of a sequence is that of the image, less the names of its rows.
TEST_CASE(a_long_theta_keeps_to_its_own_sequence)
{
    wk_error err = {0};
    fixture f = open_fixture(1);
    wk_open_loop *loop;
    assert_ok(wk_open_loop_create(f.learner, SEQUENCES, STEPS, 1, &loop, &err));
    assert_ok(wk_open_loop_run(loop, &err));
    wk_image small = draw_frame(loop, "0, 1", "1, 0");
    wk_image one = draw_frame(loop, "0.25, 1.4, 0.5, 1.6, 0.6, 0.8", "1, 1, 1, 1, 1, 1, 1, 1, 1");
    wk_image two = draw_frame(loop, "0.25, 1.4, 0.5, 1.6, 0.6, 1.2", "1, 1, 1, 1, 1, 1, 1, 1, 1");
    int second = small.width - (2 * WK_IMAGE_SIDE + 1);
    assert_true(one.height > small.height);
    assert_int_equal(one.width, small.width);
    assert_false(same_columns(&one, &two, 0, second));
    assert_true(same_columns(&one, &two, second, one.width));
    wk_image_free(&small);
    wk_image_free(&one);
    wk_image_free(&two);
    wk_open_loop_destroy(loop);
    close_fixture(&f);
}

// The height of the frames of the best episode's clip.
static int clip_height(const wk_domain *domain, wk_learner *learner)
{
    wk_error err = {0};
    wk_eval_setup setup = {
        .learner = learner, .case_names = "dr", .threads = 1, .keep_actions = true};
    wk_eval_result result = {.origin = {.domain = domain,
                                        .curriculum = "dr",
                                        .exploration = "random",
                                        .policy = "alongside"},
                             .envs = 2};
    assert_ok(wk_eval_result_add(&result, &setup, 0, &err));
    assert_ok(wk_eval_result_play(&result, &setup, 0, 0, &err));
    assert_ok(wk_eval_result_folder(FOLDER, &err));
    assert_ok(wk_eval_result_choose(&result, FOLDER, &err));
    assert_ok(wk_video_write(&result, &setup, &result.tasks[0], FOLDER, WK_VIDEO_GIF, &err));
    char path[128], *bytes;
    size_t size;
    snprintf(path, sizeof path, FOLDER "/eval/alongside-000000000000-%s-dr-best.gif",
             domain->tasks[0].name);
    assert_ok(wk_file_read(path, 1 << 24, &bytes, &size, &err));
    int height = (uint8_t)bytes[8] | (uint8_t)bytes[9] << 8;
    free(bytes);
    wk_eval_result_free(&result);
    return height;
}

TEST_CASE(a_video_has_room_for_every_parameter)
{
    enum { LINE = 12, USUAL = 172 };
    static const char *const names[] = {
        "a-name-of-sixty-three-characters-which-is-all-that-there-can-be",
        "b-name-of-sixty-three-characters-which-is-all-that-there-can-be"};
    fixture f = open_fixture(1);
    toy t = toy_make(TOY_SOUND);
    wk_param params[2];
    assert_int_equal(t.domain.n_params, 2);
    remove_tree(FOLDER);
    assert_int_equal(clip_height(&t.domain, f.learner), USUAL);
    for (int i = 0; i < 2; i++) {
        params[i] = t.domain.params[i];
        params[i].name = names[i];
    }
    t.domain.params = params;
    assert_int_equal(clip_height(&t.domain, f.learner), USUAL + LINE);
    remove_tree(FOLDER);
    close_fixture(&f);
}

TEST_MAIN(NULL, NULL)
