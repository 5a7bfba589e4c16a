// CRC-32C against published vectors and a bit-by-bit division.
#include "base/hash.h"
#include "base/random.h"
#include "support/check.h"

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

static void published_vectors_hold(void **state)
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

static void both_ways_match_the_definition_at_every_length_and_alignment(void **state)
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

static void pieces_add_up_to_the_whole(void **state)
{
    const char text[] = "the quick brown fox jumps over the lazy dog";
    uint32_t whole = wk_crc32c(0, text, sizeof text);
    for (size_t cut = 0; cut <= sizeof text; cut++)
        assert_int_equal(wk_crc32c(wk_crc32c(0, text, cut), text + cut, sizeof text - cut), whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_vectors_hold),
        cmocka_unit_test(both_ways_match_the_definition_at_every_length_and_alignment),
        cmocka_unit_test(pieces_add_up_to_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
