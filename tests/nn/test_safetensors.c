// What goes into a safetensors file comes out of it, in the layout the format prescribes.
#include "base/file.h"
#include "base/hash.h"
#include "nn/safetensors.h"
#include "nn/safetensors_craft.h"
#include "support/check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PATH "test_safetensors.tmp.safetensors"

static const float weights[] = {1.5f, -2, 3, 4, 5, 6};
static const double wide[] = {3.25, -1};
static const uint8_t bytes[] = {9, 8, 7};

static const wk_safetensors_source three[] = {
    {{"b/bytes", WK_ST_U8, 1, {3}}, bytes},
    {{"a/w", WK_ST_F32, 2, {2, 3}}, weights},
    {{"z/wide", WK_ST_F64, 1, {2}}, wide},
};

static void save_three(void)
{
    wk_error err = {0};
    const wk_safetensors_pair metadata[] = {{"step", "12"}, {"odd \"key\"\n", "caf\xc3\xa9\\"}};
    assert_ok(wk_safetensors_save_in(NULL, PATH, three, 3, metadata, 2, &err));
}

static wk_safetensors *open_saved(void)
{
    wk_error err = {0};
    wk_safetensors *file = NULL;
    assert_ok(wk_safetensors_open(PATH, &file, &err));
    return file;
}

TEST_CASE(tensors_and_metadata_come_back)
{
    wk_error err = {0};
    save_three();
    wk_safetensors *file = open_saved();
    assert_int_equal(wk_safetensors_count(file), 3);
    assert_string_equal(wk_safetensors_metadata(file, "step"), "12");
    assert_string_equal(wk_safetensors_metadata(file, "odd \"key\"\n"), "caf\xc3\xa9\\");
    assert_null(wk_safetensors_metadata(file, "other"));
    assert_int_equal(wk_safetensors_metadata_count(file), 2 + 1 + 3);
    assert_string_equal(wk_safetensors_metadata_at(file, 0).key, "step");
    const wk_safetensors_spec *w = wk_safetensors_find(file, "a/w");
    assert_non_null(w);
    assert_int_equal(w->dtype, WK_ST_F32);
    assert_int_equal(w->rank, 2);
    assert_int_equal(w->shape[0], 2);
    assert_int_equal(w->shape[1], 3);
    float got[6];
    assert_ok(wk_safetensors_read(file, w, got, &err));
    assert_memory_equal(got, weights, sizeof got);
    assert_null(wk_safetensors_find(file, "a/v"));
    assert_ok(wk_safetensors_verify_weights(file, &err));
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(the_layout_is_the_formats)
{
    wk_error err = {0};
    save_three();
    char *content;
    size_t size;
    assert_ok(wk_file_read(PATH, 1 << 20, &content, &size, &err));
    uint64_t length;
    memcpy(&length, content, 8);
    assert_int_equal(length % 8, 0);
    assert_int_equal(content[8], '{');
    assert_int_equal(size, 8 + length + 16 + 24 + 3);
    // Widest elements first.
    assert_memory_equal(content + 8 + length, wide, 16);
    assert_memory_equal(content + 8 + length + 16, weights, 24);
    assert_memory_equal(content + 8 + length + 40, bytes, 3);
    char expected[80];
    snprintf(expected, sizeof expected, "\"crc32c/a/w\":\"%08x\"",
             wk_crc32c_portable(0, weights, sizeof weights));
    assert_non_null(memmem(content, size, expected, strlen(expected)));
    const char entry[] = "\"a/w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]}";
    assert_non_null(memmem(content, size, entry, sizeof entry - 1));
    free(content);
    remove(PATH);
}

TEST_CASE(the_order_given_does_not_change_the_bytes)
{
    wk_error err = {0};
    char *content[2];
    size_t size[2];
    for (int turn = 0; turn < 2; turn++) {
        wk_safetensors_source order[3];
        for (int i = 0; i < 3; i++)
            order[i] = three[turn ? 2 - i : i];
        assert_ok(wk_safetensors_save_in(NULL, PATH, order, 3, NULL, 0, &err));
        assert_ok(wk_file_read(PATH, 1 << 20, &content[turn], &size[turn], &err));
    }
    assert_int_equal(size[0], size[1]);
    assert_memory_equal(content[0], content[1], size[0]);
    free(content[0]);
    free(content[1]);
    remove(PATH);
}

TEST_CASE(a_file_without_tensors_is_valid)
{
    wk_error err = {0};
    assert_ok(wk_safetensors_save_in(NULL, PATH, NULL, 0, NULL, 0, &err));
    wk_safetensors *file = open_saved();
    assert_int_equal(wk_safetensors_count(file), 0);
    assert_ok(wk_safetensors_read_all(file, NULL, 0, NULL, &err));
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(every_dtype_and_scalars_and_empty_tensors_come_back)
{
    wk_error err = {0};
    wk_safetensors_source tensors[WK_ST_DTYPES + 2] = {0};
    char names[WK_ST_DTYPES][8];
    for (int i = 0; i < WK_ST_DTYPES; i++) {
        snprintf(names[i], sizeof names[i], "%s",
                 wk_safetensors_dtype_name((wk_safetensors_dtype)i));
        tensors[i] = (wk_safetensors_source){{names[i], (wk_safetensors_dtype)i, 1, {3}}, weights};
    }
    tensors[WK_ST_DTYPES] = (wk_safetensors_source){{"scalar", WK_ST_F32, 0, {0}}, weights};
    tensors[WK_ST_DTYPES + 1] = (wk_safetensors_source){{"empty", WK_ST_F32, 2, {7, 0}}, NULL};
    assert_ok(wk_safetensors_save_in(NULL, PATH, tensors, WK_ST_DTYPES + 2, NULL, 0, &err));
    wk_safetensors *file = open_saved();
    for (int i = 0; i < WK_ST_DTYPES + 2; i++) {
        const wk_safetensors_spec *spec = wk_safetensors_find(file, tensors[i].spec.name);
        assert_non_null(spec);
        assert_int_equal(spec->dtype, tensors[i].spec.dtype);
        char got[24];
        assert_ok(wk_safetensors_read(file, spec, got, &err));
        if (wk_safetensors_spec_bytes(spec) > 0)
            assert_memory_equal(got, weights, wk_safetensors_spec_bytes(spec));
    }
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(files_of_other_writers_are_read_without_checksums)
{
    wk_error err = {0};
    crafted made = craft("{\"t\":{\"data_offsets\":[0,4],\"dtype\":\"U8\",\"shape\":[2,2]}}   ", 4);
    wk_safetensors *file = NULL;
    assert_ok(wk_safetensors_open_memory(made.bytes, made.size, "other", &file, &err));
    uint8_t got[4];
    assert_ok(wk_safetensors_read(file, wk_safetensors_find(file, "t"), got, &err));
    assert_memory_equal(got, ((uint8_t[]){0, 1, 2, 3}), 4);
    assert_refused(wk_safetensors_verify_weights(file, &err), WK_E_FORMAT, "has no checksums");
    wk_safetensors_close(file);
    crafted_free(&made);
}

TEST_CASE(a_set_of_targets_is_filled)
{
    wk_error err = {0};
    save_three();
    wk_safetensors *file = open_saved();
    float w[6];
    double d[2];
    uint8_t b[3];
    const wk_safetensors_target targets[] = {
        {three[2].spec, d}, {three[0].spec, b}, {three[1].spec, w}};
    assert_ok(wk_safetensors_read_all(file, targets, 3, NULL, &err));
    assert_memory_equal(w, weights, sizeof w);
    assert_memory_equal(d, wide, sizeof d);
    assert_memory_equal(b, bytes, sizeof b);
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(misfits_are_listed_by_name_and_nothing_is_written)
{
    wk_error err = {0};
    save_three();
    wk_safetensors *file = open_saved();
    float w[6] = {0};
    const wk_safetensors_target targets[] = {
        {{"a/w", WK_ST_F32, 2, {3, 2}}, w},
        {{"z/wide", WK_ST_F32, 1, {2}}, w},
        {{"c/new", WK_ST_F32, 1, {1}}, w},
    };
    assert_refused(wk_safetensors_read_all(file, targets, 3, NULL, &err), WK_E_FORMAT,
                   "1 missing: c/new");
    assert_non_null(strstr(err.message, "a/w is F32[2,3], expected F32[3,2]"));
    assert_non_null(strstr(err.message, "z/wide is F64[2], expected F32[2]"));
    assert_non_null(strstr(err.message, "1 unexpected: b/bytes"));
    assert_non_null(strstr(err.message, PATH));
    for (int i = 0; i < 6; i++)
        assert_true(w[i] == 0);
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(long_lists_of_misfits_are_cut)
{
    wk_error err = {0};
    save_three();
    wk_safetensors *file = open_saved();
    static char names[500][16];
    static wk_safetensors_target targets[500];
    for (int i = 0; i < 500; i++) {
        snprintf(names[i], sizeof names[i], "missing/%d", i);
        targets[i] = (wk_safetensors_target){{names[i], WK_ST_F32, 1, {1}}, NULL};
    }
    assert_refused(wk_safetensors_read_all(file, targets, 500, NULL, &err), WK_E_FORMAT,
                   "500 missing");
    assert_non_null(strstr(err.message, "missing/0"));
    assert_non_null(strstr(err.message, "use the config the file was saved with"));
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(weights_that_are_not_finite_are_found)
{
    wk_error err = {0};
    float numbers[3] = {1, 2, 3};
    uint16_t halves[2] = {0x3f80, 0x4000};
    const wk_safetensors_source tensors[] = {{{"w", WK_ST_F32, 1, {3}}, numbers},
                                             {{"b", WK_ST_BF16, 1, {2}}, halves}};
    for (int i = 0; i < 3; i++) {
        numbers[1] = i == 1 ? NAN : 2;
        halves[1] = i == 2 ? 0x7f80 : 0x4000;
        assert_ok(wk_safetensors_save_in(NULL, PATH, tensors, 2, NULL, 0, &err));
        wk_safetensors *file = open_saved();
        if (i == 0)
            assert_ok(wk_safetensors_verify_weights(file, &err));
        else
            assert_refused(wk_safetensors_verify_weights(file, &err), WK_E_FORMAT, "not finite");
        wk_safetensors_close(file);
    }
    remove(PATH);
}

// Where float32 is wanted, 16 and 8 bits are read too; all else has to be what is wanted.
TEST_CASE(packed_tensors_are_read_as_floats)
{
    enum { COUNT = 66, SCALES = 2 };
    wk_error err = {0};
    int8_t small[COUNT];
    float got[COUNT], pair[2];
    const uint16_t halves[2] = {0x3c00, 0xc100}, scales[3] = {0x3800, 0x4000, 0};
    for (int i = 0; i < COUNT; i++)
        small[i] = (int8_t)(i - 33);
    const wk_safetensors_target targets[] = {{{"b", WK_ST_F32, 2, {2, 33}}, got},
                                             {{"h", WK_ST_F32, 1, {2}}, pair}};
    const wk_safetensors_spec whole = {"b", WK_ST_I8, 2, {2, 33}}, half = {"h", WK_ST_F16, 1, {2}};
    static const struct {
        wk_safetensors_spec scales;
        const char *message; // NULL: it is read
    } files[] = {
        {{"b.scale", WK_ST_F16, 1, {2}}, NULL},
        {{"b.scale", WK_ST_F16, 1, {3}}, "different: b is I8[2,33], expected F32[2,33]"},
        {{"b.scale", WK_ST_F16, 2, {2, 1}}, "different: b is I8[2,33]"},
        {{"b.scale", WK_ST_U16, 1, {2}}, "different: b is I8[2,33]"},
        {{"b.scales", WK_ST_F16, 1, {2}}, "unexpected: b.scales"},
        {{"h.scale", WK_ST_F16, 1, {2}}, "unexpected: h.scale"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const wk_safetensors_source tensors[] = {
            {whole, small}, {half, halves}, {files[i].scales, scales}};
        assert_ok(wk_safetensors_save_in(NULL, PATH, tensors, 3, NULL, 0, &err));
        wk_safetensors *file = open_saved();
        if (files[i].message)
            assert_refused(wk_safetensors_read_all(file, targets, 2, NULL, &err), WK_E_FORMAT,
                           files[i].message);
        else
            assert_ok(wk_safetensors_read_all(file, targets, 2, NULL, &err));
        wk_safetensors_close(file);
        if (files[i].message) continue;
        assert_true(pair[0] == 1 && pair[1] == -2.5f);
        for (int k = 0; k < COUNT; k++)
            assert_true(got[k] == (float)small[k] * (k < 64 ? 0.5f : 2));
    }
    const wk_safetensors_target wrong = {{"h", WK_ST_I16, 1, {2}}, pair};
    const wk_safetensors_source alone = {half, halves};
    assert_ok(wk_safetensors_save_in(NULL, PATH, &alone, 1, NULL, 0, &err));
    wk_safetensors *file = open_saved();
    assert_refused(wk_safetensors_read_all(file, &wrong, 1, NULL, &err), WK_E_FORMAT,
                   "different: h");
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(a_damaged_tensor_is_named)
{
    wk_error err = {0};
    save_three();
    char *content;
    size_t size;
    assert_ok(wk_file_read(PATH, 1 << 20, &content, &size, &err));
    content[size - 10] ^= 1;
    assert_ok(wk_file_write(PATH, content, size, &err));
    free(content);
    wk_safetensors *file = open_saved();
    assert_refused(wk_safetensors_verify_weights(file, &err), WK_E_FORMAT,
                   "tensor 'a/w' is damaged");
    float w[6];
    assert_refused(wk_safetensors_read(file, wk_safetensors_find(file, "a/w"), w, &err),
                   WK_E_FORMAT, "tensor 'a/w' is damaged");
    wk_safetensors_close(file);
    remove(PATH);
}

TEST_CASE(names_that_cannot_be_written_are_refused)
{
    wk_error err = {0};
    wk_safetensors_source twice[] = {three[0], three[0]}, reserved = three[0], odd = three[0];
    assert_refused(wk_safetensors_save_in(NULL, PATH, twice, 2, NULL, 0, &err), WK_E_INPUT,
                   "used twice");
    reserved.spec.name = "__metadata__";
    assert_refused(wk_safetensors_save_in(NULL, PATH, &reserved, 1, NULL, 0, &err), WK_E_INPUT,
                   "reserved");
    odd.spec.name = "\xff";
    assert_refused(wk_safetensors_save_in(NULL, PATH, &odd, 1, NULL, 0, &err), WK_E_INPUT,
                   "not UTF-8");
    const wk_safetensors_pair crc = {"crc32c/x", "0"}, same[] = {{"k", "1"}, {"k", "2"}};
    assert_refused(wk_safetensors_save_in(NULL, PATH, three, 1, &crc, 1, &err), WK_E_INPUT,
                   "reserved");
    assert_refused(wk_safetensors_save_in(NULL, PATH, three, 1, same, 2, &err), WK_E_INPUT,
                   "used twice");
    assert_false(wk_path_exists(PATH));
}

TEST_CASE(files_that_cannot_be_opened_say_why)
{
    wk_error err = {0};
    wk_safetensors *file = NULL;
    assert_refused(wk_safetensors_open("no/such/file", &file, &err), WK_E_NOT_FOUND,
                   "check the path");
    assert_refused(wk_safetensors_open(".", &file, &err), WK_E_INPUT, "not a regular file");
    assert_refused(wk_safetensors_save_in(NULL, "no/such/folder/x", three, 3, NULL, 0, &err),
                   WK_E_NOT_FOUND, "no/such/folder/x");
    assert_null(file);
}

TEST_MAIN(NULL, NULL)
