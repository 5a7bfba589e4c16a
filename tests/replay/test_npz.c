// Exported episodes: NumPy reads them with the names, types and shapes of dreamerv2, the same
// episode gives the same bytes, and failures leave no file. The NumPy part is skipped where no
// Python has it (WAKER_PYTHON names one).
#include "base/file.h"
#include "replay/episodes.h"
#include "replay/folder.h"
#include "replay/npz.h"
#include "support/check.h"
#include "support/faults.h"
#include "support/python.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define FOLDER "replay_npz.tmp"
#define PATH FOLDER "/episode.npz"

enum { EPISODE = 4, ROWS = 21 };

static int set_up(void **state)
{
    wk_error err = {0};
    wk_replay *replay = NULL;
    wk_replay_config config = episode_config(100, 1);
    mkdir(FOLDER, 0777);
    assert_ok(wk_replay_create(&config, &replay, &err));
    assert_ok(episode_write(replay, 0, EPISODE, ROWS, &err));
    *state = replay;
    return 0;
}

static int tear_down(void **state)
{
    wk_replay_destroy(*state);
    remove_tree(FOLDER);
    return 0;
}

TEST_CASE(numpy_reads_every_array_of_an_episode)
{
    wk_error err = {0};
    const char *python = python_with("numpy");
    assert_ok(wk_npz_write(*state, 0, PATH, &err));
    char arguments[256];
    snprintf(arguments, sizeof arguments, "%s %d %d", PATH, EPISODE, ROWS);
    const char *script =
        "import sys, zipfile, numpy as np\n"
        "assert zipfile.ZipFile(sys.argv[1]).testzip() is None\n"
        "e, n = int(sys.argv[2]), int(sys.argv[3])\n"
        "f = np.load(sys.argv[1])\n"
        "t = np.arange(n)\n"
        "want = {'image': ('uint8', (n, 64, 64, 3)), 'action': ('float32', (n, 3)),\n"
        "        'reward': ('float32', (n, 2)), 'task_completion': ('float32', (n, 2)),\n"
        "        'env_params': ('float32', (n, 2)), 'is_first': ('bool', (n,)),\n"
        "        'is_last': ('bool', (n,)), 'is_terminal': ('bool', (n,)),\n"
        "        'log_diverged': ('bool', (n,))}\n"
        "assert {k: (str(f[k].dtype), f[k].shape) for k in f.files} == want\n"
        "k = np.arange(2)\n"
        "assert (f['reward'] == e + t[:, None] * 0.25 + k).all()\n"
        "assert (f['task_completion'] == (e + t[:, None] + k) % 5 / 4).all()\n"
        "assert (f['env_params'] == (e / 3 + k).astype('f4')).all()\n"
        "assert (f['action'][0] == 0).all() and (f['action'][1:] != 0).all()\n"
        "assert (f['is_first'] == (t == 0)).all() and (f['is_last'] == (t == n - 1)).all()\n"
        "assert not f['is_terminal'].any() and not f['log_diverged'].any()\n"
        "y, x, c = np.ogrid[:64, :64, :3]\n"
        "for i in t:\n"
        "    assert (f['image'][i] == np.where(x == i, 255, (e * 7 + y * 2 + c * 50) % "
        "256)).all()\n";
    assert_int_equal(python_run(python, script, arguments), 0);
}

// The first member by hand, for machines without NumPy.
TEST_CASE(the_first_array_unpacks_to_a_numpy_header_and_the_frames)
{
    wk_error err = {0};
    assert_ok(wk_npz_write(*state, 0, PATH, &err));
    size_t size;
    unsigned char *file = folder_read(PATH, &size), image[WK_IMAGE_BYTES];
    assert_memory_equal(file, "PK\x03\x04", 4);
    assert_int_equal(file[26] | file[27] << 8, strlen("image.npy"));
    assert_memory_equal(file + 30, "image.npy", 9);
    uLong wanted = 128 + (uLong)ROWS * WK_IMAGE_BYTES;
    unsigned char *content = malloc(wanted);
    z_stream stream = {.next_in = file + 39,
                       .avail_in = (uInt)(size - 39),
                       .next_out = content,
                       .avail_out = (uInt)wanted};
    assert_int_equal(inflateInit2(&stream, -15), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.total_out, wanted);
    inflateEnd(&stream);
    assert_memory_equal(content, "\x93NUMPY\x01\x00\x76\x00", 10);
    const char *dictionary = "{'descr': '|u1', 'fortran_order': False, 'shape': (21, 64, 64, 3), }";
    assert_memory_equal(content + 10, dictionary, strlen(dictionary));
    assert_int_equal(content[127], '\n');
    episode_image(EPISODE, ROWS - 1, false, image);
    assert_memory_equal(content + wanted - WK_IMAGE_BYTES, image, WK_IMAGE_BYTES);
    free(content);
    free(file);
}

TEST_CASE(the_same_episode_gives_the_same_bytes)
{
    wk_error err = {0};
    size_t one, two;
    assert_ok(wk_npz_write(*state, 0, PATH, &err));
    unsigned char *first = folder_read(PATH, &one);
    assert_ok(wk_npz_write(*state, 0, PATH, &err));
    unsigned char *second = folder_read(PATH, &two);
    assert_int_equal(one, two);
    assert_memory_equal(first, second, one);
    free(first);
    free(second);
}

TEST_CASE(the_name_has_time_uuid_and_steps)
{
    char name[WK_NPZ_NAME_MAX], again[WK_NPZ_NAME_MAX], other[WK_NPZ_NAME_MAX];
    wk_npz_name(*state, 0, 1, 1700000000, name); // 2023-11-14 22:13:20 UTC
    assert_memory_equal(name, "20231114T221320-", 16);
    for (int i = 16; i < 48; i++)
        assert_true(isxdigit((unsigned char)name[i]));
    assert_int_equal(name[28], '4');
    assert_non_null(strchr("89ab", name[32]));
    assert_string_equal(name + 48, "-20.npz");
    wk_npz_name(*state, 0, 1, 1700000000, again);
    assert_string_equal(name, again);
    wk_npz_name(*state, 0, 2, 1700000000, other);
    assert_string_not_equal(name, other);
}

TEST_CASE(an_export_that_fails_leaves_no_file_and_leaks_nothing)
{
    long call = 1;
    for (;; call++) {
        wk_error err = {0};
        fault_sweep_arm((fault_plan){.call = call});
        wk_status status = wk_npz_write(*state, 0, PATH, &err);
        bool fired = fault_sweep_disarm();
        assert_int_equal(fault_sweep.blocks, 0);
        assert_int_equal(fault_sweep.files, 0);
        if (!fired) {
            assert_ok(status);
            break;
        }
        assert_int_equal(folder_count(FOLDER, ""), status == WK_OK || wk_path_exists(PATH));
        if (status != WK_OK) assert_non_null(strstr(err.message, "episode.npz"));
        unlink(PATH);
    }
    assert_true(call > 20);
}

TEST_MAIN_EACH(set_up, tear_down)
