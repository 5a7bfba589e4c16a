#include "media/h264_transform.h"

#include <stdint.h>
#include <stdlib.h>

enum { PERIOD = WK_H264_QP / 6, SHIFT = 15 + PERIOD };

// Index of the i-th level in zigzag order within a block [4,4].
static const uint8_t zigzag[16] = {0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15};

// Factors by WK_H264_QP % 6, for places with both numbers even, both odd, and others.
static const int multipliers[6][3] = {{13107, 5243, 8066}, {11916, 4660, 7490}, {10082, 4194, 6554},
                                      {9362, 3647, 5825},  {8192, 3355, 5243},  {7282, 2893, 4559}};
static const int scales[6][3] = {{10, 16, 13}, {11, 18, 14}, {13, 20, 16},
                                 {14, 23, 18}, {16, 25, 20}, {18, 29, 23}};

static int factor(const int table[6][3], int at)
{
    int odd = (at & 1) + (at >> 2 & 1);
    return table[WK_H264_QP % 6][odd == 0 ? 0 : odd == 2 ? 1 : 2];
}

// One dimension: values `apart` from each other.
static void forward_line(int *x, int apart)
{
    int a = x[0] + x[3 * apart], d = x[0] - x[3 * apart];
    int b = x[apart] + x[2 * apart], c = x[apart] - x[2 * apart];
    x[0] = a + b;
    x[apart] = 2 * d + c;
    x[2 * apart] = a - b;
    x[3 * apart] = d - 2 * c;
}

void wk_h264_forward(int block[16])
{
    for (int i = 0; i < 4; i++)
        forward_line(block + 4 * i, 1);
    for (int i = 0; i < 4; i++)
        forward_line(block + i, 4);
}

// `coarser` is 1 for the DC, whose own transform adds a bit.
static int quantise(int value, int multiplier, bool inter, int coarser)
{
    int shift = SHIFT + coarser;
    int64_t size = ((int64_t)abs(value) * multiplier + (1 << shift) / (inter ? 6 : 3)) >> shift;
    return (int)(value < 0 ? -size : size);
}

void wk_h264_quantise(const int coefficients[16], int first, bool inter, int levels[16])
{
    levels[0] = 0;
    for (int i = first; i < 16; i++) {
        int at = zigzag[i];
        levels[i] = quantise(coefficients[at], factor(multipliers, at), inter, 0);
    }
}

void wk_h264_scale(const int levels[16], int first, int coefficients[16])
{
    for (int i = first; i < 16; i++) {
        int at = zigzag[i];
        coefficients[at] = levels[i] * factor(scales, at) * (1 << PERIOD);
    }
}

static void inverse_line(int *x, int apart)
{
    int a = x[0] + x[2 * apart], b = x[0] - x[2 * apart];
    int c = (x[apart] >> 1) - x[3 * apart], d = x[apart] + (x[3 * apart] >> 1);
    x[0] = a + d;
    x[apart] = b + c;
    x[2 * apart] = b - c;
    x[3 * apart] = a - d;
}

void wk_h264_inverse(int block[16])
{
    for (int i = 0; i < 4; i++)
        inverse_line(block + 4 * i, 1);
    for (int i = 0; i < 4; i++)
        inverse_line(block + i, 4);
    for (int i = 0; i < 16; i++)
        block[i] = (block[i] + 32) >> 6;
}

static void hadamard_line(int *x, int apart)
{
    int a = x[0] + x[apart], b = x[0] - x[apart];
    int c = x[2 * apart] + x[3 * apart], d = x[2 * apart] - x[3 * apart];
    x[0] = a + c;
    x[apart] = a - c;
    x[2 * apart] = b - d;
    x[3 * apart] = b + d;
}

// Its own inverse but for the scale.
static void hadamard(int *x, int count)
{
    if (count == 4) {
        int a = x[0] + x[1], b = x[0] - x[1], c = x[2] + x[3], d = x[2] - x[3];
        x[0] = a + c;
        x[1] = b + d;
        x[2] = a - c;
        x[3] = b - d;
        return;
    }
    for (int i = 0; i < 4; i++)
        hadamard_line(x + 4 * i, 1);
    for (int i = 0; i < 4; i++)
        hadamard_line(x + i, 4);
}

// Levels of luma are in scan order, of chroma row by row.
static int place_of(int i, int count)
{
    return count == 16 ? zigzag[i] : i;
}

void wk_h264_dc_forward(const int *dc, int count, bool inter, int *levels)
{
    int x[16];
    for (int i = 0; i < count; i++)
        x[i] = dc[i];
    hadamard(x, count);
    for (int i = 0; i < count; i++) {
        int value = x[place_of(i, count)];
        levels[i] = quantise(count == 16 ? value / 2 : value, factor(multipliers, 0), inter, 1);
    }
}

void wk_h264_dc_inverse(const int *levels, int count, int *dc)
{
    for (int i = 0; i < count; i++)
        dc[place_of(i, count)] = levels[i];
    hadamard(dc, count);
    for (int i = 0; i < count; i++) {
        int value = dc[i] * factor(scales, 0) * (1 << PERIOD);
        dc[i] = count == 16 ? (value + 2) >> 2 : value >> 1;
    }
}
