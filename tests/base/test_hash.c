// Hashes against published values, in pieces and by every implementation.
#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "support/check.h"
#include <stdlib.h>
#include <unistd.h>

// The definition: divide by the reflected polynomial one bit at a time.
static uint32_t by_definition(const unsigned char *bytes, size_t size)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

TEST_CASE(published_vectors_hold)
{
    assert_int_equal(wk_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(wk_crc32c_portable(0, "123456789", 9), 0xe3069283);
    assert_int_equal(wk_crc32c(0, NULL, 0), 0);
    // RFC 3720, B.4: 32 bytes of zeros, of ones, and 0 ... 31.
    unsigned char bytes[32] = {0};
    assert_int_equal(wk_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(wk_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(wk_crc32c(0, bytes, 32), 0x46dd794e);
}

TEST_CASE(both_ways_match_the_definition_at_every_length_and_alignment)
{
    unsigned char bytes[120];
    wk_rng rng = wk_rng_stream(1, "crc", 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)wk_rng_u32(&rng);
    for (size_t begin = 0; begin < 9; begin++)
        for (size_t size = 0; begin + size <= sizeof bytes; size++) {
            uint32_t expected = by_definition(bytes + begin, size);
            assert_int_equal(wk_crc32c(0, bytes + begin, size), expected);
            assert_int_equal(wk_crc32c_portable(0, bytes + begin, size), expected);
        }
}

TEST_CASE(pieces_add_up_to_the_whole)
{
    const char text[] = "the quick brown fox jumps over the lazy dog";
    uint32_t whole = wk_crc32c(0, text, sizeof text);
    for (size_t cut = 0; cut <= sizeof text; cut++)
        assert_int_equal(wk_crc32c(wk_crc32c(0, text, cut), text + cut, sizeof text - cut), whole);
}

static void expect_hash(const char *bytes, size_t size, const char *hex)
{
    char out[WK_SHA256_CHARS];
    wk_sha256 hash = wk_sha256_start();
    wk_sha256_add(&hash, bytes, size);
    wk_sha256_finish(&hash, out);
    assert_string_equal(out, hex);
}

// FIPS 180-2, appendix B, and the empty message of NIST's test vectors.
TEST_CASE(known_answers)
{
    expect_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *many = malloc(1000000);
    memset(many, 'a', 1000000);
    expect_hash(many, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(many);
}

// The hashes of 0, 1, ... 200 bytes, hashed together, so that each way the padding falls counts.
TEST_CASE(every_length_around_a_block)
{
    char bytes[200], out[WK_SHA256_CHARS], pieces[WK_SHA256_CHARS];
    for (int i = 0; i < 200; i++)
        bytes[i] = (char)(i * 7 + 3);
    wk_sha256 all = wk_sha256_start();
    for (size_t size = 0; size <= sizeof bytes; size++) {
        wk_sha256 whole = wk_sha256_start(), parts = wk_sha256_start();
        wk_sha256_add(&whole, bytes, size);
        wk_sha256_finish(&whole, out);
        for (size_t at = 0; at < size; at += 11)
            wk_sha256_add(&parts, bytes + at, size - at < 11 ? size - at : 11);
        wk_sha256_finish(&parts, pieces);
        assert_string_equal(out, pieces);
        wk_sha256_add(&all, out, 64);
    }
    wk_sha256_finish(&all, out);
    assert_string_equal(out, "530566f39d545b371e5360fbfe251c0da6410ba297e67392dfaec0cb575d67ed");
}

TEST_CASE(a_file_has_the_hash_of_its_content)
{
    wk_error err = {0};
    char out[WK_SHA256_CHARS];
    char *bytes = malloc(40000);
    memset(bytes, 'a', 40000);
    assert_ok(wk_file_write("sha256.tmp", bytes, 40000, &err));
    assert_ok(wk_sha256_file("sha256.tmp", out, &err));
    expect_hash(bytes, 40000, out);
    free(bytes);
    unlink("sha256.tmp");
    assert_refused(wk_sha256_file("sha256.tmp", out, &err), WK_E_NOT_FOUND, "sha256.tmp");
    assert_refused(wk_sha256_file(".", out, &err), WK_E_INPUT, "not a regular file");
}

TEST_MAIN(NULL, NULL)
