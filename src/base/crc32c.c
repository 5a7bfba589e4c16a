#include "base/crc32c.h"

#include <string.h>

// The remainder is linear over bits: that of a byte followed by k zero bytes is the exclusive or of
// those of its single bits, which are given here for k = 0 ... 7 (polynomial 0x1EDC6F41,
// reflected). The tables expand from these 64 numbers at compile time.
#define BITS_0(BYTE, b)                                                                            \
    BYTE(b, 0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede, 0x417b1dbc,    \
         0x82f63b78)
#define BITS_1(BYTE, b)                                                                            \
    BYTE(b, 0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302, 0xff17c604,    \
         0xfbc3faf9)
#define BITS_2(BYTE, b)                                                                            \
    BYTE(b, 0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14, 0xc76580d9,    \
         0x8b277743)
#define BITS_3(BYTE, b)                                                                            \
    BYTE(b, 0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b, 0xaba65fe7,    \
         0x52a0c93f)
#define BITS_4(BYTE, b)                                                                            \
    BYTE(b, 0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557, 0x37516aae,    \
         0x6ea2d55c)
#define BITS_5(BYTE, b)                                                                            \
    BYTE(b, 0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d, 0x0e045beb,    \
         0x1c08b7d6)
#define BITS_6(BYTE, b)                                                                            \
    BYTE(b, 0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd, 0x7ab7077a,    \
         0xf56e0ef4)
#define BITS_7(BYTE, b)                                                                            \
    BYTE(b, 0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599, 0x1a00cb32,    \
         0x34019664)

#define BYTE(b, r0, r1, r2, r3, r4, r5, r6, r7)                                                    \
    (((b)&1 ? r0 : 0u) ^ ((b)&2 ? r1 : 0u) ^ ((b)&4 ? r2 : 0u) ^ ((b)&8 ? r3 : 0u) ^               \
     ((b)&16 ? r4 : 0u) ^ ((b)&32 ? r5 : 0u) ^ ((b)&64 ? r6 : 0u) ^ ((b)&128 ? r7 : 0u))
#define ROW_4(bits, b) bits(BYTE, b), bits(BYTE, b + 1), bits(BYTE, b + 2), bits(BYTE, b + 3)
#define ROW_16(bits, b) ROW_4(bits, b), ROW_4(bits, b + 4), ROW_4(bits, b + 8), ROW_4(bits, b + 12)
#define ROW_64(bits, b)                                                                            \
    ROW_16(bits, b), ROW_16(bits, b + 16), ROW_16(bits, b + 32), ROW_16(bits, b + 48)
#define ROW_256(bits) ROW_64(bits, 0), ROW_64(bits, 64), ROW_64(bits, 128), ROW_64(bits, 192)

// table[k][b]: the remainder of byte b followed by k zero bytes.
static const uint32_t table[8][256] = {
    {ROW_256(BITS_0)}, {ROW_256(BITS_1)}, {ROW_256(BITS_2)}, {ROW_256(BITS_3)},
    {ROW_256(BITS_4)}, {ROW_256(BITS_5)}, {ROW_256(BITS_6)}, {ROW_256(BITS_7)},
};

static uint64_t load_le64(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static uint32_t fold_word(uint64_t word)
{
    uint32_t crc = 0;
    for (int byte = 0; byte < 8; byte++)
        crc ^= table[7 - byte][word >> 8 * byte & 0xff];
    return crc;
}

uint32_t wk_crc32c_portable(uint32_t crc, const void *bytes, size_t size)
{
    const unsigned char *next = bytes;
    crc = ~crc;
    for (; size >= 8; size -= 8, next += 8)
        crc = fold_word(load_le64(next) ^ crc);
    for (; size > 0; size--, next++)
        crc = crc >> 8 ^ table[0][(crc ^ *next) & 0xff];
    return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *bytes,
                                                               size_t size)
{
    const unsigned char *next = bytes;
    uint64_t sum = ~crc;
    for (; size >= 8; size -= 8, next += 8)
        sum = __builtin_ia32_crc32di(sum, load_le64(next));
    crc = (uint32_t)sum;
    for (; size > 0; size--, next++)
        crc = __builtin_ia32_crc32qi(crc, *next);
    return ~crc;
}

uint32_t wk_crc32c(uint32_t crc, const void *bytes, size_t size)
{
    return __builtin_cpu_supports("sse4.2") ? crc32c_sse42(crc, bytes, size)
                                            : wk_crc32c_portable(crc, bytes, size);
}
#else
uint32_t wk_crc32c(uint32_t crc, const void *bytes, size_t size)
{
    return wk_crc32c_portable(crc, bytes, size);
}
#endif

uint64_t wk_fnv1a(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}
