// Files exchanged with the format's own Python package: it reads what we write, we read what it
// writes.
#include "nn/safetensors.h"
#include "support/check.h"
#include "support/python.h"
#include <stdio.h>

#define OURS "safetensors_peer_ours.tmp"
#define THEIRS "safetensors_peer_theirs.tmp"

TEST_CASE(the_python_package_and_we_read_each_others_files)
{
    const char *python = python_with("numpy, safetensors");
    wk_error err = {0};
    const float w[] = {1.5f, -2, 3, 4, 5, 6};
    const int64_t steps[] = {-7, 1ll << 40};
    const wk_safetensors_source tensors[] = {{{"caf\xc3\xa9/w", WK_ST_F32, 2, {2, 3}}, w},
                                             {{"steps", WK_ST_I64, 1, {2}}, steps},
                                             {{"empty", WK_ST_U8, 2, {0, 4}}, NULL}};
    const wk_safetensors_pair metadata[] = {{"note", "line\n\"quoted\""}};
    assert_ok(wk_safetensors_save_in(NULL, OURS, tensors, 3, metadata, 1, &err));
    assert_int_equal(
        python_run(python,
                   "import sys, numpy as np\n"
                   "from safetensors import safe_open\n"
                   "from safetensors.numpy import save_file\n"
                   "with safe_open(sys.argv[1], 'np') as f:\n"
                   "    assert sorted(f.keys()) == ['caf\\u00e9/w', 'empty', 'steps'], f.keys()\n"
                   "    w = f.get_tensor('caf\\u00e9/w')\n"
                   "    assert w.dtype == np.float32\n"
                   "    assert w.tolist() == [[1.5, -2, 3], [4, 5, 6]]\n"
                   "    assert f.get_tensor('steps').tolist() == [-7, 2**40]\n"
                   "    assert f.get_tensor('empty').shape == (0, 4)\n"
                   "    assert f.metadata()['note'] == 'line\\n\"quoted\"'\n"
                   "save_file({'x': np.arange(6, dtype=np.int16).reshape(3, 2),\n"
                   "           'y/\\u20ac': np.array([0.5, 2.0])}, sys.argv[2], {'who': 'peer'})\n",
                   OURS " " THEIRS),
        0);
    wk_safetensors *file = NULL;
    assert_ok(wk_safetensors_open(THEIRS, &file, &err));
    assert_string_equal(wk_safetensors_metadata(file, "who"), "peer");
    int16_t x[6];
    double y[2];
    const wk_safetensors_target targets[] = {{{"x", WK_ST_I16, 2, {3, 2}}, x},
                                             {{"y/\xe2\x82\xac", WK_ST_F64, 1, {2}}, y}};
    assert_ok(wk_safetensors_read_all(file, targets, 2, NULL, &err));
    assert_memory_equal(x, ((int16_t[]){0, 1, 2, 3, 4, 5}), sizeof x);
    assert_memory_equal(y, ((double[]){0.5, 2.0}), sizeof y);
    wk_safetensors_close(file);
    remove(OURS);
    remove(THEIRS);
}

TEST_MAIN(NULL, NULL)
