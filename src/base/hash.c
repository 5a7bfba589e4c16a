#include "base/hash.h"

#include "base/file.h"
#include <pthread.h>
#include <stdio.h>
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

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void schedule(const uint8_t block[64], uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

// Section 6.2.2 of the standard, with its names.
static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    schedule(block, w);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t a = v[0], b = v[1], c = v[2], e = v[4], f = v[5], g = v[6];
        uint32_t sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
        uint32_t t1 = v[7] + sum1 + ((e & f) ^ (~e & g)) + constants[i] + w[i];
        uint32_t sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
        uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
        memmove(v + 1, v, 7 * sizeof *v);
        v[0] = t1 + t2;
        v[4] += t1;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

wk_sha256 wk_sha256_start(void)
{
    // The same of the square roots of the first 8 primes.
    return (wk_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void wk_sha256_add(wk_sha256 *hash, const void *bytes, size_t size)
{
    const uint8_t *next = bytes;
    while (size > 0) {
        size_t used = hash->length % sizeof hash->block, room = sizeof hash->block - used;
        size_t some = size < room ? size : room;
        memcpy(hash->block + used, next, some);
        hash->length += some;
        next += some;
        size -= some;
        if (some == room) compress(hash->state, hash->block);
    }
}

void wk_sha256_finish(wk_sha256 *hash, char out[WK_SHA256_CHARS])
{
    uint64_t bits = hash->length * 8;
    uint8_t padding[72] = {0x80};
    size_t zeros = (119 - hash->length % 64) % 64; // up to 8 bytes before the end of a block
    for (size_t i = 0; i < 8; i++)
        padding[1 + zeros + i] = (uint8_t)(bits >> (56 - 8 * i));
    wk_sha256_add(hash, padding, 1 + zeros + 8);
    for (size_t i = 0; i < 8; i++)
        snprintf(out + 8 * i, 9, "%08x", hash->state[i]);
}

bool wk_sha256_valid(const char *text)
{
    size_t length = strspn(text, "0123456789abcdef");
    return length == WK_SHA256_CHARS - 1 && !text[length];
}

wk_status wk_sha256_file(const char *path, char out[WK_SHA256_CHARS], wk_error *err)
{
    wk_file_reader *reader = NULL;
    uint8_t bytes[16384];
    WK_TRY(wk_file_reader_open_in(NULL, path, &reader, err));
    wk_sha256 hash = wk_sha256_start();
    wk_status status = WK_OK;
    for (uint64_t at = 0, size = wk_file_reader_size(reader); status == WK_OK && at < size;) {
        size_t some = size - at < sizeof bytes ? (size_t)(size - at) : sizeof bytes;
        status = wk_file_reader_read(reader, at, bytes, some, err);
        if (status == WK_OK) wk_sha256_add(&hash, bytes, some);
        at += some;
    }
    wk_file_reader_close(reader);
    if (status == WK_OK) wk_sha256_finish(&hash, out);
    return status;
}
