// Observations with a vector, besides or instead of the image: every number comes back as it was,
// from the store, from its log after a kill, and from an exported episode; logs of images alone
// have the bytes that they always had.
#include "replay/folder.h"
#include "replay/log.h"
#include "replay/npz.h"
#include "support/check.h"
#include "support/python.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FOLDER "replay_vectors.tmp"

enum { A = 3, K = 2, V = 5, ROWS_MAX = 40, STEPS = 150 };

static const wk_replay_log_config where = {.directory = FOLDER, .segment_bytes = 100000};
static const wk_observation_spec both = {.vector = V}, alone = {.vector = V, .no_image = true};

static wk_error err;

static int tear_down(void **state)
{
    folder_remove(FOLDER);
    return 0;
}

static wk_replay *make_store(wk_observation_spec observation)
{
    wk_replay_config config = {.capacity = 400,
                               .frame_bytes = 2000,
                               .slots = 2,
                               .action_size = A,
                               .n_tasks = K,
                               .n_params = 1,
                               .observation = observation};
    wk_replay *replay = NULL;
    assert_ok(wk_replay_create(&config, &replay, &err));
    return replay;
}

// Numbers at the ends of the range too.
static float number_of(uint64_t episode, uint32_t row, int i)
{
    static const float rare[] = {-0.0f, FLT_MAX, -FLT_MIN, 1e-45f};
    if (i == 0 && row % 5 == 0) return rare[(row / 5 + episode) % 4];
    return (float)((double)episode / 3 + row * 0.7 - i);
}

static uint8_t pixel_of(uint64_t episode, uint32_t row)
{
    return (uint8_t)(episode * 31 + row * 7);
}

static wk_status append(wk_replay *replay, int slot, uint64_t episode, uint32_t row, bool last)
{
    static uint8_t image[WK_IMAGE_BYTES];
    float vector[V], action[A] = {0, 1, 0};
    const double theta = (double)episode;
    memset(image, pixel_of(episode, row), sizeof image);
    for (int i = 0; i < V; i++)
        vector[i] = number_of(episode, row, i);
    const wk_replay_row values = {
        .slot = slot,
        .image = wk_replay_settings(replay)->observation.no_image ? NULL : image,
        .vector = vector,
        .action = row > 0 ? action : NULL,
        .flags = (uint8_t)((row == 0 ? WK_IS_FIRST : 0) | (last ? WK_IS_LAST : 0)),
        .theta = &theta};
    return wk_replay_append(replay, &values, 1, &err);
}

// Steps of two environments whose episodes have different lengths, the second cut off at times;
// what is done depends on the store's content only.
static void play(wk_replay *replay, int steps)
{
    for (int step = 0; step < steps; step++)
        for (int slot = 0; slot < 2; slot++) {
            uint64_t next = wk_replay_get_stats(replay).evicted + wk_replay_count(replay);
            uint64_t id = next;
            uint32_t row = 0;
            for (size_t i = 0; i < wk_replay_count(replay); i++)
                if (wk_replay_at(replay, i).slot == slot) {
                    id = wk_replay_at(replay, i).id;
                    row = wk_replay_at(replay, i).rows;
                }
            const wk_replay_row end = {.slot = slot};
            if (slot == 1 && row == 9)
                assert_ok(wk_replay_append(replay, &end, 1, &err));
            else
                assert_ok(append(replay, slot, id, row, row + 1 == ROWS_MAX - 3 * (uint32_t)slot));
        }
}

// Fails unless the row at index `at` of a batch is that of the episode.
static void assert_row(const wk_replay_batch *b, size_t at, uint64_t episode, uint32_t row)
{
    for (int i = 0; i < V; i++) {
        float expected = number_of(episode, row, i);
        assert_memory_equal(&b->vectors[at * V + (size_t)i], &expected, sizeof expected);
    }
    for (size_t i = 0; b->images && i < WK_IMAGE_BYTES; i += 4095)
        assert_int_equal(b->images[at * WK_IMAGE_BYTES + i], pixel_of(episode, row));
}

static void assert_content(wk_replay *replay)
{
    static uint8_t images[ROWS_MAX * WK_IMAGE_BYTES];
    static float vectors[ROWS_MAX * V];
    bool pictures = !wk_replay_settings(replay)->observation.no_image;
    const wk_replay_batch out = {.images = pictures ? images : NULL, .vectors = vectors};
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        wk_replay_episode e = wk_replay_at(replay, i);
        wk_replay_read(replay, i, 0, e.rows, &out);
        for (uint32_t row = 0; row < e.rows; row++)
            assert_row(&out, row, e.id, row);
    }
}

static void vectors_come_back_bit_for_bit(void **state)
{
    enum { B = 6, T = 7 };
    const wk_observation_spec specs[] = {both, alone};
    for (int s = 0; s < 2; s++) {
        static uint8_t images[T * B * WK_IMAGE_BYTES];
        static float vectors[T * B * V];
        uint64_t episodes[B];
        uint32_t starts[B];
        wk_replay *replay = make_store(specs[s]);
        play(replay, STEPS);
        assert_content(replay);
        const wk_replay_batch out = {.images = s == 0 ? images : NULL,
                                     .vectors = vectors,
                                     .episodes = episodes,
                                     .starts = starts};
        assert_ok(wk_replay_sample(replay, 1, 2, B, T, &out, &err));
        for (uint32_t t = 0; t < T; t++)
            for (size_t b = 0; b < B; b++)
                assert_row(&out, t * B + b, episodes[b], starts[b] + t);
        wk_replay_destroy(replay);
    }
}

static void a_vector_that_is_not_finite_is_refused(void **state)
{
    wk_replay *replay = make_store(alone);
    const double theta = 0;
    const float vector[V] = {0, 1, NAN};
    const wk_replay_row row = {.vector = vector, .flags = WK_IS_FIRST, .theta = &theta};
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT,
                   "has a vector that is not finite");
    wk_replay_destroy(replay);
}

// Bytes 8 and 12 of a segment: the version of the format, and the size of a frame.
static void assert_segment(uint32_t version, uint32_t frame, uint32_t vector)
{
    size_t size;
    unsigned char *bytes = folder_read(FOLDER "/replay-00000000.log", &size);
    const uint32_t expected[] = {version, frame};
    assert_true(size >= 64);
    assert_memory_equal(bytes + 8, expected, sizeof expected);
    assert_memory_equal(bytes + 56, &vector, sizeof vector);
    free(bytes);
}

static wk_replay_log *open_log(const wk_replay_mark *mark, wk_replay *replay)
{
    wk_replay_log *log = NULL;
    assert_ok(wk_replay_log_open(&where, mark, replay, &log, &err));
    return log;
}

static void a_log_gives_back_a_store_that_goes_on_alike(void **state)
{
    const wk_observation_spec specs[] = {both, alone};
    for (int s = 0; s < 2; s++) {
        wk_replay_mark mark;
        folder_remove(FOLDER);
        wk_replay *replay = make_store(specs[s]);
        wk_replay_log *log = open_log(NULL, replay);
        play(replay, STEPS);
        assert_ok(wk_replay_log_sync(log, &mark, &err));
        play(replay, 5);
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
        assert_segment(2, s == 0 ? WK_IMAGE_BYTES : 0, V);

        replay = make_store(specs[s]);
        log = open_log(&mark, replay);
        wk_replay *whole = make_store(specs[s]);
        play(whole, STEPS);
        play(replay, 20);
        play(whole, 20);
        assert_content(replay);
        wk_replay_stats a = wk_replay_get_stats(replay), b = wk_replay_get_stats(whole);
        assert_memory_equal(&a, &b, sizeof a);
        wk_replay_destroy(whole);
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
    }
}

static void a_log_of_other_observations_is_refused(void **state)
{
    wk_replay_mark mark;
    wk_replay *replay = make_store(alone), *other = make_store(both);
    wk_replay_log *log = open_log(NULL, replay), *none = NULL;
    play(replay, 3);
    assert_ok(wk_replay_log_sync(log, &mark, &err));
    wk_replay_log_close(log);
    assert_refused(wk_replay_log_open(&where, &mark, other, &none, &err), WK_E_FORMAT,
                   "is of another domain: no image and 5 numbers observed instead of one and 5");
    wk_replay_destroy(replay);
    wk_replay_destroy(other);
}

static void pictures_alone_are_logged_as_ever(void **state)
{
    wk_replay *replay = make_store((wk_observation_spec){0});
    wk_replay_log_close(open_log(NULL, replay));
    assert_segment(1, WK_IMAGE_BYTES, 0);
    wk_replay_destroy(replay);
}

static void numpy_reads_the_vectors_of_an_episode(void **state)
{
    const char *python = python_with("numpy");
    wk_replay *replay = make_store(alone);
    mkdir(FOLDER, 0777);
    play(replay, ROWS_MAX);
    assert_ok(wk_npz_write(replay, 0, FOLDER "/episode.npz", &err));
    const char *script = "import sys, numpy as np\n"
                         "f = np.load(sys.argv[1])\n"
                         "assert 'image' not in f.files\n"
                         "assert f['vector'].dtype == np.float32 and f['vector'].shape == (40, 5)\n"
                         "t = np.arange(40)\n"
                         "assert np.allclose(f['vector'][:, 2], t * 0.7 - 2)\n"
                         "assert (f['action'][1:].sum(1) == 1).all()\n";
    assert_int_equal(python_run(python, script, FOLDER "/episode.npz"), 0);
    wk_replay_destroy(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(vectors_come_back_bit_for_bit, tear_down),
        cmocka_unit_test_teardown(a_vector_that_is_not_finite_is_refused, tear_down),
        cmocka_unit_test_teardown(a_log_gives_back_a_store_that_goes_on_alike, tear_down),
        cmocka_unit_test_teardown(a_log_of_other_observations_is_refused, tear_down),
        cmocka_unit_test_teardown(pictures_alone_are_logged_as_ever, tear_down),
        cmocka_unit_test_teardown(numpy_reads_the_vectors_of_an_episode, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
