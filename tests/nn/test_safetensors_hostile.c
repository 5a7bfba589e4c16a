// Damaged and hostile safetensors files: each is refused with a message that says why, and none
// makes the reader touch memory it does not own (run under the sanitizers).
#include "base/file.h"
#include "base/random.h"
#include "nn/safetensors.h"
#include "nn/safetensors_craft.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static wk_status open_crafted(const crafted *file, wk_error *err)
{
    wk_safetensors *opened = NULL;
    wk_status status = wk_safetensors_open_memory(file->bytes, file->size, "crafted", &opened, err);
    wk_safetensors_close(opened);
    return status;
}

#define ONE(fields) "{\"a\":{" fields "}}"
#define TENSOR(name, dtype, shape, begin, end)                                                     \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end \
    "]}"

// Header text, bytes of data, and what the message must mention.
static const struct {
    const char *json;
    size_t data;
    const char *says;
} refused[] = {
    {"", 0, "does not begin with '{'"},
    {"[]", 0, "does not begin with '{'"},
    {" {}", 0, "does not begin with '{'"},
    {"{", 0, "not valid JSON"},
    {"{}\n", 0, "other than spaces"},
    {"{} {}", 0, "other than spaces"},
    {"{}", 1, "belong to none"},
    {"{\"a\":1}", 0, "'a': it is not described by an object"},
    {"{\"a\":{}}", 0, "lacks dtype, shape or data_offsets"},
    {"{,}", 0, "not valid JSON"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],}}", 4, "not valid JSON"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1]"), 4, "lacks"},
    {ONE("\"dtype\":\"F32\",\"data_offsets\":[0,4]"), 4, "lacks"},
    {ONE("\"shape\":[1],\"data_offsets\":[0,4]"), 4, "lacks"},
    {ONE("\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]"), 4,
     "repeated"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"x\":0"), 4, "unknown"},
    {ONE("\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,4]"), 4, "dtype is not a string"},
    {"{" TENSOR("a", "F33", "1", "0", "4") "}", 4, "'F33', which is not supported"},
    {"{" TENSOR("a", "f32", "1", "0", "4") "}", 4, "'f32', which is not supported"},
    {"{" TENSOR("a", "F4", "2", "0", "1") "}", 1, "'F4', which is not supported"},
    {ONE("\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]"), 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "-1", "0", "4") "}", 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "1.0", "0", "4") "}", 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "1e0", "0", "4") "}", 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "\"1\"", "0", "4") "}", 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "[1]", "0", "4") "}", 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "1,1,1,1,1,1,1,1,1", "0", "4") "}", 4, "at most 8"},
    {"{" TENSOR("a", "F32", "18446744073709551616", "0", "4") "}", 4, "shape is not a list"},
    {"{" TENSOR("a", "F32", "4611686018427387904", "0", "0") "}", 0, "larger than any file"},
    {"{" TENSOR("a", "U8", "9223372036854775808", "0", "4") "}", 4, "larger than any file"},
    {"{" TENSOR("a", "F32", "4294967296,4294967296", "0", "0") "}", 0, "larger than any file"},
    {"{" TENSOR("a", "F32", "65536,65536,65536,65536", "0", "0") "}", 0, "larger than any file"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]"), 4, "two offsets"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]"), 4, "two offsets"},
    {ONE("\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4"), 4, "two offsets"},
    {"{" TENSOR("a", "F32", "1", "4", "0") "}", 4, "two offsets"},
    {"{" TENSOR("a", "F32", "1", "-4", "0") "}", 4, "two offsets"},
    {"{" TENSOR("a", "F32", "1", "18446744073709551612", "18446744073709551616") "}", 4,
     "two offsets"},
    {"{" TENSOR("a", "F32", "1", "18446744073709551608", "18446744073709551612") "}", 4,
     "cut short"},
    {"{" TENSOR("a", "F32", "2", "0", "4") "}", 4, "needs 8 bytes but its data_offsets span 4"},
    {"{" TENSOR("a", "F32", "0", "0", "4") "}", 4, "needs 0 bytes"},
    {"{" TENSOR("a", "F32", "", "0", "0") "}", 0, "needs 4 bytes"},
    {"{" TENSOR("a", "F32", "1", "0", "4") "}", 3, "cut short"},
    {"{" TENSOR("a", "F32", "1", "0", "4") "}", 5, "belong to none"},
    {"{" TENSOR("a", "F32", "1", "4", "8") "}", 8, "'a': there is a hole"},
    {"{" TENSOR("a", "U8", "2", "0", "2") "," TENSOR("b", "U8", "2", "1", "3") "}", 3,
     "'b': its data overlaps"},
    {"{" TENSOR("a", "U8", "2", "0", "2") "," TENSOR("b", "U8", "2", "0", "2") "}", 2, "overlaps"},
    {"{" TENSOR("a", "U8", "2", "0", "2") "," TENSOR("b", "U8", "1", "3", "4") "}", 4,
     "'b': there is a hole"},
    {"{" TENSOR("a", "U8", "4", "0", "4") "," TENSOR("b", "U8", "0", "2", "2") "}", 4, "overlaps"},
    {"{" TENSOR("a", "U8", "1", "0", "1") "," TENSOR("a", "U8", "1", "1", "2") "}", 2,
     "'a': it appears twice"},
    {"{" TENSOR("a", "U8", "1", "0", "1") "," TENSOR("\\u0061", "U8", "1", "1", "2") "}", 2,
     "'a': it appears twice"},
    {"{" TENSOR("a\\u0000b", "U8", "1", "0", "1") "}", 1, "zero byte"},
    {"{" TENSOR("\xff", "U8", "1", "0", "1") "}", 1, "not UTF-8"},
    {"{\"__metadata__\":[]}", 0, "must be an object of strings"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "must be an object of strings"},
    {"{\"__metadata__\":{\"a\":null}}", 0, "must be an object of strings"},
    {"{\"__metadata__\":{\"a\":{}}}", 0, "must be an object of strings"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "'a' appears twice"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ appears twice"},
    {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "zero byte"},
    {"{\"__metadata__\":{\"crc32c\":\"0\"}}", 0, "malformed or names no tensor"},
    {"{\"__metadata__\":{\"crc32c/x\":\"00000000\"}}", 0, "malformed or names no tensor"},
    {"{\"__metadata__\":{\"crc32c\":\"00000001\"}}", 0, "checksum of the metadata does not match"},
    {"{\"__metadata__\":{\"crc32c\":\"00000000\"}," TENSOR("a", "U8", "1", "0", "1") "}", 1,
     "only 0 of 1 tensors"},
};

TEST_CASE(malformed_headers_are_refused_with_the_reason)
{
    wk_error err = {0};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        crafted file = craft(refused[i].json, refused[i].data);
        err = (wk_error){0};
        wk_status status = open_crafted(&file, &err);
        if (status != WK_E_FORMAT || !strstr(err.message, refused[i].says))
            fail_msg("%s: %s: '%s' lacks '%s'", refused[i].json, wk_status_name(status),
                     err.message, refused[i].says);
        if (!strstr(err.message, "'crafted'")) fail_msg("'%s' names no file", err.message);
        crafted_free(&file);
    }
}

TEST_CASE(a_length_word_beyond_the_file_is_refused_before_memory_is_taken)
{
    static const uint64_t lengths[] = {3, 99999999, 100000000, 100000001, UINT64_MAX, 1ull << 63};
    wk_error err = {0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        crafted file = craft_with_length(lengths[i], "{}", 0);
        assert_refused(open_crafted(&file, &err), WK_E_FORMAT, "claims a header of");
        crafted_free(&file);
    }
}

TEST_CASE(files_shorter_than_the_length_word_are_refused)
{
    wk_error err = {0};
    crafted file = craft("{}", 0);
    for (size_t size = 0; size < 8; size++) {
        crafted cut = {file.bytes, size};
        assert_refused(open_crafted(&cut, &err), WK_E_FORMAT, "too few");
    }
    crafted_free(&file);
}

TEST_CASE(very_deep_nesting_is_refused)
{
    enum { DEPTH = 100000 };
    char *json = malloc(DEPTH + 10);
    assert_non_null(json);
    memcpy(json, "{\"a\":", 5);
    memset(json + 5, '[', DEPTH);
    json[5 + DEPTH] = 0;
    crafted file = craft(json, 0);
    wk_error err = {0};
    assert_refused(open_crafted(&file, &err), WK_E_FORMAT, "not described by an object");
    crafted_free(&file);
    free(json);
}

// The advice at the end of a message must survive a name that is as long as the message.
TEST_CASE(a_very_long_name_does_not_push_the_advice_out)
{
    char json[3000];
    memcpy(json, "{\"", 2);
    memset(json + 2, 'n', 2000);
    strcpy(json + 2002, "\":7}");
    crafted file = craft(json, 0);
    wk_error err = {0};
    assert_refused(open_crafted(&file, &err), WK_E_FORMAT, "not written by a safetensors writer");
    crafted_free(&file);
}

// A valid file as our writer makes it, read back into memory.
static crafted valid_file(void)
{
    static const float w[] = {1, 2, 3, 4, 5, 6};
    static const uint8_t flags[] = {1, 0, 1};
    const wk_safetensors_source tensors[] = {
        {{"layer/w", WK_ST_F32, 2, {2, 3}}, w},
        {{"flags", WK_ST_U8, 1, {3}}, flags},
        {{"nothing", WK_ST_F32, 1, {0}}, NULL},
    };
    const wk_safetensors_pair metadata[] = {{"step", "17"}, {"note", "caf\xc3\xa9 \"x\""}};
    const char *path = "hostile_valid.safetensors";
    wk_error err = {0};
    assert_ok(wk_safetensors_save_in(NULL, path, tensors, 3, metadata, 2, &err));
    crafted file = {0};
    assert_ok(wk_file_read(path, 1 << 20, &file.bytes, &file.size, &err));
    remove(path);
    return file;
}

// Opens, and verifies all tensors.
static wk_status read_whole(const crafted *file, wk_error *err)
{
    wk_safetensors *opened = NULL;
    WK_TRY(wk_safetensors_open_memory(file->bytes, file->size, "crafted", &opened, err));
    wk_status status = wk_safetensors_verify_weights(opened, err);
    wk_safetensors_close(opened);
    return status;
}

TEST_CASE(a_file_cut_at_any_byte_is_refused)
{
    crafted file = valid_file();
    wk_error err = {0};
    assert_ok(read_whole(&file, &err));
    for (size_t size = 0; size < file.size; size++) {
        crafted cut = {malloc(size + 1), size};
        assert_non_null(cut.bytes);
        memcpy(cut.bytes, file.bytes, size);
        cut.bytes = realloc(cut.bytes, size ? size : 1);
        err = (wk_error){0};
        assert_int_equal(read_whole(&cut, &err), WK_E_FORMAT);
        assert_true(err.message[0] != 0);
        free(cut.bytes);
    }
    crafted_free(&file);
}

TEST_CASE(a_file_with_bytes_added_is_refused)
{
    crafted file = valid_file();
    char *longer = calloc(1, file.size + 1);
    assert_non_null(longer);
    memcpy(longer, file.bytes, file.size);
    crafted more = {longer, file.size + 1};
    wk_error err = {0};
    assert_refused(read_whole(&more, &err), WK_E_FORMAT, "belong to none");
    free(longer);
    crafted_free(&file);
}

// Every single flipped bit of the data or of the metadata's values must be noticed. Bits of names,
// dtypes and shapes are noticed by readers that know what they want; they must not crash.
TEST_CASE(every_flipped_bit_of_the_data_is_noticed)
{
    crafted file = valid_file();
    uint64_t header;
    memcpy(&header, file.bytes, 8);
    wk_error err = {0};
    for (size_t bit = 0; bit < file.size * 8; bit++) {
        file.bytes[bit / 8] ^= (char)(1 << bit % 8);
        err = (wk_error){0};
        wk_status status = read_whole(&file, &err);
        if (bit / 8 >= 8 + header) {
            assert_int_equal(status, WK_E_FORMAT);
            assert_non_null(strstr(err.message, bit / 8 < 8 + header + 24 ? "'layer/w' is damaged"
                                                                          : "'flags' is damaged"));
        }
        file.bytes[bit / 8] ^= (char)(1 << bit % 8);
    }
    crafted_free(&file);
}

TEST_CASE(a_changed_metadata_value_is_noticed)
{
    crafted file = valid_file();
    char *value = memmem(file.bytes, file.size, "\"17\"", 4);
    assert_non_null(value);
    value[1] = '9';
    wk_error err = {0};
    assert_refused(read_whole(&file, &err), WK_E_FORMAT, "checksum of the metadata does not match");
    crafted_free(&file);
}

TEST_CASE(random_damage_never_crashes_the_reader)
{
    crafted file = valid_file();
    crafted copy = {malloc(file.size), file.size};
    assert_non_null(copy.bytes);
    wk_rng rng = wk_rng_stream(5, "damage", 0);
    for (int round = 0; round < 20000; round++) {
        memcpy(copy.bytes, file.bytes, file.size);
        for (uint64_t i = 0, count = 1 + wk_rng_below(&rng, 4); i < count; i++)
            copy.bytes[wk_rng_below(&rng, copy.size)] = (char)wk_rng_u32(&rng);
        wk_error err = {0};
        if (read_whole(&copy, &err) != WK_OK) assert_true(err.message[0] != 0);
    }
    free(copy.bytes);
    crafted_free(&file);
}

TEST_MAIN(NULL, NULL)
