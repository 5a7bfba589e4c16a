#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

// table[k][b]: the remainder of byte b followed by k zero bytes (polynomial 0x1EDC6F41, reflected).
static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        table[0][b] = b;
        for (int bit = 0; bit < 8; bit++)
            table[0][b] = table[0][b] >> 1 ^ (table[0][b] & 1 ? 0x82f63b78 : 0);
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
}

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
    pthread_once(&table_once, fill_table);
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
