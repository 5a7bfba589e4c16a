#include "media/lzw.h"

#include <assert.h>
#include <string.h>

enum { CODES_MAX = 4096, TABLE_BITS = 13, TABLE_SIZE = 1 << TABLE_BITS, BLOCK_MAX = 255 };

// Strings seen so far, as (code of all but the last index, last index) -> code.
typedef struct encoder {
    wk_text *out;
    uint8_t block[BLOCK_MAX + 1]; // its size, then its bytes
    uint32_t pending;             // bits not yet in the block
    int n_pending;
    int bits, width, next;
    uint32_t keys[TABLE_SIZE]; // prefix << 8 | index, plus 1; 0 when free
    uint16_t codes[TABLE_SIZE];
} encoder;

static void flush_block(encoder *e)
{
    if (e->block[0] == 0) return;
    wk_text_append(e->out, (const char *)e->block, (size_t)e->block[0] + 1);
    e->block[0] = 0;
}

static void put_byte(encoder *e, uint8_t byte)
{
    e->block[++e->block[0]] = byte;
    if (e->block[0] == BLOCK_MAX) flush_block(e);
}

static void put_code(encoder *e, int code)
{
    e->pending |= (uint32_t)code << e->n_pending;
    e->n_pending += e->width;
    for (; e->n_pending >= 8; e->n_pending -= 8, e->pending >>= 8)
        put_byte(e, (uint8_t)e->pending);
}

// Tells the decoder to forget every string, and does so here.
static void clear(encoder *e)
{
    put_code(e, 1 << e->bits);
    memset(e->keys, 0, sizeof e->keys);
    e->width = e->bits + 1;
    e->next = (1 << e->bits) + 2;
}

// The place of (prefix, index) in the table, or the free one where it belongs.
static uint32_t find(const encoder *e, uint32_t key)
{
    uint32_t i = (key * 0x9E3779B1u) >> (32 - TABLE_BITS);
    while (e->keys[i] != 0 && e->keys[i] != key)
        i = (i + 1) & (TABLE_SIZE - 1);
    return i;
}

// The decoder learns each string one code later, so the width grows after the code that fills it.
static void widen(encoder *e)
{
    if (e->next == 1 << e->width && e->next < CODES_MAX) e->width++;
}

static void learn(encoder *e, uint32_t place, uint32_t key)
{
    if (e->next == CODES_MAX) {
        clear(e);
        return;
    }
    e->keys[place] = key;
    e->codes[place] = (uint16_t)e->next;
    widen(e);
    e->next++;
}

void wk_lzw_encode(const uint8_t *indices, size_t count, int bits, wk_text *out)
{
    assert(bits >= 2 && bits <= 8 && count > 0);
    encoder e = {.out = out, .bits = bits, .width = bits + 1};
    char width = (char)bits;
    wk_text_append(out, &width, 1);
    clear(&e);
    int prefix = indices[0];
    for (size_t i = 1; i < count; i++) {
        uint32_t key = ((uint32_t)prefix << 8 | indices[i]) + 1;
        uint32_t place = find(&e, key);
        if (e.keys[place] == key) {
            prefix = e.codes[place];
            continue;
        }
        put_code(&e, prefix);
        learn(&e, place, key);
        prefix = indices[i];
    }
    put_code(&e, prefix);
    widen(&e);
    put_code(&e, (1 << bits) + 1);
    if (e.n_pending > 0) put_byte(&e, (uint8_t)e.pending);
    flush_block(&e);
    wk_text_append(out, "", 1);
}
