#include "media/h264_cavlc.h"

#include <assert.h>
#include <stdlib.h>

void wk_bits_put(wk_bits *bits, uint32_t value, int length)
{
    assert(length <= 24 && value < 1u << length);
    bits->held = bits->held << length | value;
    bits->count += length;
    while (bits->count >= 8) {
        bits->count -= 8;
        char byte = (char)(bits->held >> bits->count & 255);
        wk_text_append(bits->out, &byte, 1);
    }
}

void wk_bits_put_ue(wk_bits *bits, uint32_t value)
{
    int length = 0;
    while ((value + 1) >> length > 1)
        length++;
    wk_bits_put(bits, 0, length);
    wk_bits_put(bits, value + 1, length + 1);
}

void wk_bits_put_se(wk_bits *bits, int value)
{
    wk_bits_put_ue(bits, value > 0 ? 2 * (uint32_t)value - 1 : 2 * (uint32_t)-value);
}

void wk_bits_end(wk_bits *bits)
{
    wk_bits_put(bits, 1, 1);
    wk_bits_put(bits, 0, (8 - bits->count) % 8);
}

// A code word.
typedef struct word {
    uint8_t length, bits;
} word;

static void put(wk_bits *bits, word w)
{
    assert(w.length > 0);
    wk_bits_put(bits, w.bits, w.length);
}

// Table 9-5: coeff_token by the number of levels and of trailing ones, for 0 and 1, 2 and 3, 4 to 7
// levels nearby. Lengths and bits apart, as the rows are easier to compare with the standard.
static const uint8_t token_lengths[3][17 * 4] = {
    {1,  0,  0,  0,  6,  2,  0,  0,  8,  6,  3,  0,  9,  8,  7,  5,  10, 9,  8,  6,  11, 10, 9,
     7,  13, 11, 10, 8,  13, 13, 11, 9,  13, 13, 13, 10, 14, 14, 13, 11, 14, 14, 14, 13, 15, 15,
     14, 14, 15, 15, 15, 14, 16, 15, 15, 15, 16, 16, 16, 15, 16, 16, 16, 16, 16, 16, 16, 16},
    {2,  0,  0,  0,  6,  2,  0,  0,  6,  5,  3,  0,  7,  6,  6,  4,  8,  6,  6,  4,  8,  7,  7,
     5,  9,  8,  8,  6,  11, 9,  9,  6,  11, 11, 11, 7,  12, 11, 11, 9,  12, 12, 12, 11, 12, 12,
     12, 11, 13, 13, 13, 12, 13, 13, 13, 13, 13, 14, 13, 13, 14, 14, 14, 13, 14, 14, 14, 14},
    {4, 0, 0, 0, 6, 4, 0,  0, 6, 5, 4,  0,  6,  5,  5,  4,  7,  5,  5,  4,  7,  5, 5,
     4, 7, 6, 6, 4, 7, 6,  6, 4, 8, 7,  7,  5,  8,  8,  7,  6,  9,  8,  8,  7,  9, 9,
     8, 8, 9, 9, 9, 8, 10, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10}};
static const uint8_t token_bits[3][17 * 4] = {
    {1, 0,  0,  0,  5,  1,  0,  0, 7, 4,  1,  0,  7,  6,  5,  3,  7, 6,  5,  3,  7,  6,  5,
     4, 15, 6,  5,  4,  11, 14, 5, 4, 8,  10, 13, 4,  15, 14, 9,  4, 11, 10, 13, 12, 15, 14,
     9, 12, 11, 10, 13, 8,  15, 1, 9, 12, 11, 14, 13, 8,  7,  10, 9, 12, 4,  6,  5,  8},
    {3, 0, 0,  0,  11, 2,  0,  0,  7, 7,  3,  0,  7, 10, 9,  5, 7,  6,  5,  4,  4,  6, 5,
     6, 7, 6,  5,  8,  15, 6,  5,  4, 11, 14, 13, 4, 15, 10, 9, 4,  11, 14, 13, 12, 8, 10,
     9, 8, 15, 14, 13, 12, 11, 10, 9, 12, 7,  11, 6, 8,  9,  8, 10, 1,  7,  6,  5,  4},
    {15, 0,  0,  0,  15, 14, 0,  0, 11, 15, 13, 0,  8,  12, 14, 12, 15, 10, 11, 11, 11, 8,  9,
     10, 9,  14, 13, 9,  8,  10, 9, 8,  15, 14, 13, 13, 11, 14, 10, 12, 15, 10, 13, 12, 11, 14,
     9,  12, 8,  10, 13, 8,  13, 7, 9,  12, 9,  12, 11, 10, 5,  8,  7,  6,  1,  4,  3,  2}};
// The same for the DC levels of chroma.
static const word chroma_tokens[5][4] = {{{2, 1}},
                                         {{6, 7}, {1, 1}},
                                         {{6, 4}, {6, 6}, {3, 1}},
                                         {{6, 3}, {7, 3}, {7, 2}, {6, 5}},
                                         {{6, 2}, {8, 3}, {8, 2}, {7, 0}}};

static void put_token(wk_bits *bits, int total, int ones, int nearby)
{
    if (nearby == WK_H264_CHROMA_DC) {
        put(bits, chroma_tokens[total][ones]);
    } else if (nearby >= 8) {
        wk_bits_put(bits, total == 0 ? 3 : (uint32_t)(4 * (total - 1) + ones), 6);
    } else {
        int table = nearby < 2 ? 0 : nearby < 4 ? 1 : 2, place = 4 * total + ones;
        put(bits, (word){token_lengths[table][place], token_bits[table][place]});
    }
}

// Tables 9-7 and 9-8: total_zeros by the number of levels, from 1.
static const uint8_t zeros_lengths[15][16] = {{1, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9},
                                              {3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 6, 6, 6, 6},
                                              {4, 3, 3, 3, 4, 4, 3, 3, 4, 5, 5, 6, 5, 6},
                                              {5, 3, 4, 4, 3, 3, 3, 4, 3, 4, 5, 5, 5},
                                              {4, 4, 4, 3, 3, 3, 3, 3, 4, 5, 4, 5},
                                              {6, 5, 3, 3, 3, 3, 3, 3, 4, 3, 6},
                                              {6, 5, 3, 3, 3, 2, 3, 4, 3, 6},
                                              {6, 4, 5, 3, 2, 2, 3, 3, 6},
                                              {6, 6, 4, 2, 2, 3, 2, 5},
                                              {5, 5, 3, 2, 2, 2, 4},
                                              {4, 4, 3, 3, 1, 3},
                                              {4, 4, 2, 1, 3},
                                              {3, 3, 1, 2},
                                              {2, 2, 1},
                                              {1, 1}};
static const uint8_t zeros_bits[15][16] = {{1, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 1},
                                           {7, 6, 5, 4, 3, 5, 4, 3, 2, 3, 2, 3, 2, 1, 0},
                                           {5, 7, 6, 5, 4, 3, 4, 3, 2, 3, 2, 1, 1, 0},
                                           {3, 7, 5, 4, 6, 5, 4, 3, 3, 2, 2, 1, 0},
                                           {5, 4, 3, 7, 6, 5, 4, 3, 2, 1, 1, 0},
                                           {1, 1, 7, 6, 5, 4, 3, 2, 1, 1, 0},
                                           {1, 1, 5, 4, 3, 3, 2, 1, 1, 0},
                                           {1, 1, 1, 3, 3, 2, 2, 1, 0},
                                           {1, 0, 1, 3, 2, 1, 1, 1},
                                           {1, 0, 1, 3, 2, 1, 1},
                                           {0, 1, 1, 2, 1, 3},
                                           {0, 1, 1, 1, 1},
                                           {0, 1, 1, 1},
                                           {0, 1, 1},
                                           {0, 1}};
// Table 9-9: the same for the DC levels of chroma.
static const word chroma_zeros[3][4] = {
    {{1, 1}, {2, 1}, {3, 1}, {3, 0}}, {{1, 1}, {2, 1}, {2, 0}}, {{1, 1}, {1, 0}}};

// Table 9-10: run_before by the zeros that are left, from 1 to 6.
static const word runs[6][7] = {{{1, 1}, {1, 0}},
                                {{1, 1}, {2, 1}, {2, 0}},
                                {{2, 3}, {2, 2}, {2, 1}, {2, 0}},
                                {{2, 3}, {2, 2}, {2, 1}, {3, 1}, {3, 0}},
                                {{2, 3}, {2, 2}, {3, 3}, {3, 2}, {3, 1}, {3, 0}},
                                {{2, 3}, {3, 0}, {3, 1}, {3, 3}, {3, 2}, {3, 5}, {3, 4}}};

static word run_word(int run, int left)
{
    if (left <= 6) return runs[left - 1][run];
    return run < 7 ? (word){3, (uint8_t)(7 - run)} : (word){(uint8_t)(run - 3), 1};
}

// The levels of a block from the highest frequency down, and the zeros before each.
typedef struct scan {
    int level[16], run[16];
    int total, ones, zeros;
} scan;

static scan look(const int *levels, int count)
{
    scan s = {0};
    bool trailing = true;
    for (int i = count - 1; i >= 0; i--) {
        if (levels[i] == 0) {
            s.zeros += s.total > 0;
            if (s.total > 0) s.run[s.total - 1]++;
            continue;
        }
        trailing = trailing && abs(levels[i]) == 1 && s.ones < 3;
        s.ones += trailing;
        s.level[s.total++] = levels[i];
    }
    return s;
}

// 9.2.2.1 the other way round.
static void put_level(wk_bits *bits, int code, int suffix)
{
    int escape = suffix == 0 ? 30 : 15 << suffix;
    if (code >= escape) {
        assert(code - escape < 4096);
        wk_bits_put(bits, 1, 16);
        wk_bits_put(bits, (uint32_t)(code - escape), 12);
    } else if (suffix == 0 && code >= 14) {
        wk_bits_put(bits, 1, 15);
        wk_bits_put(bits, (uint32_t)(code - 14), 4);
    } else {
        wk_bits_put(bits, 1, (code >> suffix) + 1);
        wk_bits_put(bits, (uint32_t)(code & ((1 << suffix) - 1)), suffix);
    }
}

static void put_all_levels(wk_bits *bits, const scan *s)
{
    int suffix = s->total > 10 && s->ones < 3;
    for (int i = 0; i < s->ones; i++)
        wk_bits_put(bits, s->level[i] < 0, 1);
    for (int i = s->ones; i < s->total; i++) {
        int size = abs(s->level[i]);
        int code = 2 * size - 2 + (s->level[i] < 0);
        if (i == s->ones && s->ones < 3) code -= 2; // it cannot be a one
        put_level(bits, code, suffix);
        if (suffix == 0) suffix = 1;
        if (size > 3 << (suffix - 1) && suffix < 6) suffix++;
    }
}

static void put_runs(wk_bits *bits, const scan *s, int count)
{
    int row = s->total - 1;
    if (count == 4)
        put(bits, chroma_zeros[row][s->zeros]);
    else
        put(bits, (word){zeros_lengths[row][s->zeros], zeros_bits[row][s->zeros]});
    int left = s->zeros;
    for (int i = 0; i < s->total - 1 && left > 0; i++) {
        put(bits, run_word(s->run[i], left));
        left -= s->run[i];
    }
}

int wk_h264_levels_put(wk_bits *bits, const int *levels, int count, int nearby)
{
    scan s = look(levels, count);
    put_token(bits, s.total, s.ones, nearby);
    put_all_levels(bits, &s);
    if (s.total > 0 && s.total < count) put_runs(bits, &s, count);
    return s.total;
}
