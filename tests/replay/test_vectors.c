// Observations with a vector, besides or instead of the image: every number comes back as it was,
// from the store, from its log after a kill, and from an exported episode; logs of images alone
// have the bytes that they always had.
#include "replay/episodes.h"
#include "replay/folder.h"
#include "replay/npz.h"
#include "support/python.h"
#include <sys/stat.h>

#define FOLDER "replay_vectors.tmp"

enum { V = EPISODE_V, CAPACITY = 400, STEPS = 150, ROWS_MAX = 45 };

static const wk_replay_log_config where = {.directory = FOLDER, .segment_bytes = 100000};
// Images and vectors, and vectors alone.
static const wk_observation_spec specs[] = {{.vector = V}, {.vector = V, .no_image = true}};
enum { SPECS = sizeof specs / sizeof *specs };

static wk_error err;

static int tear_down(void **state)
{
    remove_tree(FOLDER);
    return 0;
}

TEST_CASE(vectors_come_back_bit_for_bit)
{
    enum { B = 6, T = 7 };
    static uint8_t images[ROWS_MAX * WK_IMAGE_BYTES];
    static float vectors[ROWS_MAX * V], numbers[ROWS_MAX * (EPISODE_A + 2 * EPISODE_K)];
    static uint8_t flags[ROWS_MAX];
    uint64_t episodes[B];
    uint32_t starts[B];
    for (int s = 0; s < SPECS; s++) {
        const wk_replay_batch out = {.images = specs[s].no_image ? NULL : images,
                                     .vectors = vectors,
                                     .actions = numbers,
                                     .rewards = numbers + ROWS_MAX * EPISODE_A,
                                     .completion = numbers + ROWS_MAX * (EPISODE_A + EPISODE_K),
                                     .flags = flags,
                                     .episodes = episodes,
                                     .starts = starts};
        wk_replay *replay = script_store_of(CAPACITY, specs[s]);
        assert_ok(script_run(replay, STEPS, &err));
        for (size_t i = 0; i < wk_replay_count(replay); i++) {
            wk_replay_episode e = wk_replay_at(replay, i);
            wk_replay_read(replay, i, 0, e.rows, &out);
            for (uint32_t row = 0; row < e.rows; row++)
                assert_episode_row(&out, row, e.id, row, flags[row] & WK_IS_LAST);
        }
        assert_ok(wk_replay_sample(replay, 1, 2, B, T, &out, &err));
        for (uint32_t t = 0; t < T; t++)
            for (size_t b = 0; b < B; b++)
                assert_episode_row(&out, t * B + b, episodes[b], starts[b] + t,
                                   flags[t * B + b] & WK_IS_LAST);
        wk_replay_destroy(replay);
    }
}

TEST_CASE(a_vector_that_is_not_finite_is_refused)
{
    wk_replay *replay = script_store_of(CAPACITY, specs[1]);
    const double theta[EPISODE_P] = {0};
    const float vector[V] = {0, 1, NAN};
    const wk_replay_row row = {.vector = vector, .flags = WK_IS_FIRST, .theta = theta};
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

// Begins a log of a store that has made so many steps.
static wk_replay *logged_store(wk_observation_spec spec, int steps, wk_replay_log **log,
                               wk_replay_mark *mark)
{
    wk_replay *replay = script_store_of(CAPACITY, spec);
    assert_ok(wk_replay_log_open(&where, NULL, replay, log, &err));
    assert_ok(script_run(replay, steps, &err));
    assert_ok(wk_replay_log_sync(*log, mark, &err));
    return replay;
}

TEST_CASE(a_log_gives_back_a_store_that_goes_on_alike)
{
    for (int s = 0; s < SPECS; s++) {
        wk_replay_mark mark;
        wk_replay_log *log;
        remove_tree(FOLDER);
        wk_replay *replay = logged_store(specs[s], STEPS, &log, &mark);
        assert_ok(script_run(replay, 5, &err));
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
        assert_segment(2, specs[s].no_image ? 0 : WK_IMAGE_BYTES, V);

        replay = script_store_of(CAPACITY, specs[s]);
        wk_replay *whole = script_store_of(CAPACITY, specs[s]);
        assert_ok(wk_replay_log_open(&where, &mark, replay, &log, &err));
        assert_ok(script_run(replay, 20, &err));
        assert_ok(script_run(whole, STEPS + 20, &err));
        assert_same_content(whole, replay);
        wk_replay_stats a = wk_replay_get_stats(replay), b = wk_replay_get_stats(whole);
        assert_memory_equal(&a, &b, sizeof a);
        wk_replay_log_close(log);
        wk_replay_destroy(whole);
        wk_replay_destroy(replay);
    }
}

TEST_CASE(a_log_of_other_observations_is_refused)
{
    wk_replay_mark mark;
    wk_replay_log *log, *none = NULL;
    wk_replay *replay = logged_store(specs[1], 3, &log, &mark);
    wk_replay *other = script_store_of(CAPACITY, specs[0]);
    wk_replay_log_close(log);
    assert_refused(wk_replay_log_open(&where, &mark, other, &none, &err), WK_E_FORMAT,
                   "is of another domain: no image and 5 numbers observed instead of one and 5");
    wk_replay_destroy(replay);
    wk_replay_destroy(other);
}

TEST_CASE(pictures_alone_are_logged_as_ever)
{
    wk_replay_mark mark;
    wk_replay_log *log;
    wk_replay *replay = logged_store((wk_observation_spec){0}, 3, &log, &mark);
    wk_replay_log_close(log);
    assert_segment(1, WK_IMAGE_BYTES, 0);
    wk_replay_destroy(replay);
}

TEST_CASE(numpy_reads_the_vectors_of_an_episode)
{
    const char *python = python_with("numpy");
    wk_replay *replay = script_store_of(CAPACITY, specs[1]);
    mkdir(FOLDER, 0777);
    assert_ok(script_run(replay, ROWS_MAX, &err));
    assert_ok(wk_npz_write(replay, 0, FOLDER "/episode.npz", &err));
    const char *script = "import sys, numpy as np\n"
                         "f = np.load(sys.argv[1])\n"
                         "assert 'image' not in f.files\n"
                         "assert f['vector'].dtype == np.float32 and f['vector'].shape == (32, 5)\n"
                         "assert np.allclose(f['vector'][:, 2], np.arange(32) * 0.7 - 2)\n";
    assert_int_equal(python_run(python, script, FOLDER "/episode.npz"), 0);
    wk_replay_destroy(replay);
}

TEST_MAIN_EACH(NULL, tear_down)
