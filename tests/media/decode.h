// Decoders of PNG and GIF written from the formats' specifications, for the tests alone: strict,
// and sharing nothing with the encoders.
#ifndef WK_TESTS_MEDIA_DECODE_H
#define WK_TESTS_MEDIA_DECODE_H

#include "media/image.h"
#include "support/check.h"
#include <stdbool.h>
#include <stdlib.h>
#include <zlib.h>

static inline uint32_t read_u32_be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline int read_u16_le(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

/// Undoes the filter of one row; `above` may be NULL. PNG specification, section 9.
static inline void unfilter(int type, uint8_t *row, const uint8_t *above, size_t size)
{
    assert_in_range(type, 0, 4);
    for (size_t i = 0; i < size; i++) {
        int a = i >= 3 ? row[i - 3] : 0, b = above ? above[i] : 0;
        int c = above && i >= 3 ? above[i - 3] : 0, add = 0;
        int p = a + b - c, pa = abs(p - a), pb = abs(p - b), pc = abs(p - c);
        if (type == 1) add = a;
        if (type == 2) add = b;
        if (type == 3) add = (a + b) >> 1;
        if (type == 4) add = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
        row[i] = (uint8_t)(row[i] + add);
    }
}

/// The image in a PNG file of the kind we write: RGB; IHDR, IDAT, IEND. Checks every checksum.
static inline wk_image png_decode(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    wk_image image = {0};
    uint8_t *deflated = malloc(size);
    size_t row_size = 0, deflated_size = 0;
    assert_memory_equal(bytes, "\x89PNG\r\n\x1A\n", 8);
    for (size_t at = 8; at < size;) {
        assert_true(at + 12 <= size);
        size_t length = read_u32_be(bytes + at);
        const uint8_t *name = bytes + at + 4, *data = name + 4;
        assert_true(length <= size - at - 12);
        assert_int_equal(crc32(0, name, (uInt)length + 4), read_u32_be(data + length));
        if (memcmp(name, "IHDR", 4) == 0) {
            assert_memory_equal(data + 8, "\x08\x02\0\0\0", 5);
            assert_ok(wk_image_create((int)read_u32_be(data), (int)read_u32_be(data + 4), 0, &image,
                                      &err));
            row_size = (size_t)image.width * 3;
        } else if (memcmp(name, "IDAT", 4) == 0) {
            memcpy(deflated + deflated_size, data, length);
            deflated_size += length;
        } else
            assert_memory_equal(name, "IEND", 4);
        at += length + 12;
    }
    uLongf raw = (uLongf)((row_size + 1) * (size_t)image.height);
    uint8_t *rows = malloc(raw);
    assert_int_equal(uncompress(rows, &raw, deflated, (uLong)deflated_size), Z_OK);
    assert_int_equal(raw, (row_size + 1) * (size_t)image.height);
    free(deflated);
    for (int y = 0; y < image.height; y++) {
        uint8_t *from = rows + (size_t)y * (row_size + 1), *to = image.rgb + (size_t)y * row_size;
        memcpy(to, from + 1, row_size);
        unfilter(from[0], to, y ? to - row_size : NULL, row_size);
    }
    free(rows);
    return image;
}

/// Reads GIF sub-blocks of LZW codes into `count` indices; returns the byte after the end mark.
static inline const uint8_t *lzw_decode(const uint8_t *in, uint8_t *indices, size_t count)
{
    int bits = *in++, width = bits + 1, clear = 1 << bits, next = clear + 2, last = -1;
    static int prefix[4096];
    static uint8_t suffix[4096], stack[4097];
    uint32_t held = 0;
    int n_held = 0, block = 0;
    size_t done = 0;
    for (;;) {
        while (n_held < width) {
            if (block == 0) block = *in++;
            assert_true(block > 0);
            held |= (uint32_t)*in++ << n_held;
            n_held += 8;
            block--;
        }
        int code = (int)(held & ((1u << width) - 1));
        held >>= width;
        n_held -= width;
        if (code == clear) {
            width = bits + 1;
            next = clear + 2;
            last = -1;
            continue;
        }
        if (code == clear + 1) break;
        assert_true(code <= next && (last >= 0 || code < clear));
        int depth = 0, walk = code == next ? last : code;
        for (; walk >= clear; walk = prefix[walk])
            stack[depth++] = suffix[walk];
        uint8_t first = (uint8_t)walk;
        stack[depth++] = first;
        if (code == next) memmove(stack + 1, stack, (size_t)depth++), stack[0] = first;
        while (depth > 0) {
            assert_true(done < count);
            indices[done++] = stack[--depth];
        }
        if (last >= 0 && next < 4096) {
            prefix[next] = last;
            suffix[next++] = first;
            if (next == 1 << width && width < 12) width++;
        }
        last = code;
    }
    assert_int_equal(done, count);
    assert_int_equal(block, 0);
    assert_int_equal(*in, 0);
    return in + 1;
}

/// The animation of a GIF as it is shown: images with transparency applied.
typedef struct gif_clip {
    wk_image frames[64];
    int count, delay_cs;
    bool loops;
} gif_clip;

static inline void gif_free(gif_clip *clip)
{
    for (int i = 0; i < clip->count; i++)
        wk_image_free(&clip->frames[i]);
}

static inline gif_clip gif_decode(const uint8_t *bytes, size_t size)
{
    wk_error err = {0};
    gif_clip clip = {0};
    assert_memory_equal(bytes, "GIF89a", 6);
    int width = read_u16_le(bytes + 6), height = read_u16_le(bytes + 8), transparent = -1;
    assert_int_equal(bytes[10] & 0x80, 0);
    const uint8_t *in = bytes + 13;
    while (*in != 0x3B) {
        assert_true(in < bytes + size);
        if (in[0] == 0x21 && in[1] == 0xFF) {
            assert_memory_equal(in + 2, "\x0BNETSCAPE2.0\x03\x01\0\0\0", 17);
            clip.loops = true;
            in += 19;
        } else if (in[0] == 0x21 && in[1] == 0xF9) {
            clip.delay_cs = read_u16_le(in + 4);
            transparent = in[3] & 1 ? in[6] : -1;
            in += 8;
        } else {
            assert_int_equal(in[0], 0x2C);
            int x0 = read_u16_le(in + 1), y0 = read_u16_le(in + 3);
            int w = read_u16_le(in + 5), h = read_u16_le(in + 7), bits = (in[9] & 7) + 1;
            assert_true(x0 + w <= width && y0 + h <= height && in[9] & 0x80 && clip.count < 64);
            const uint8_t *palette = in + 10;
            uint8_t *indices = malloc((size_t)w * (size_t)h);
            in = lzw_decode(palette + (3 << bits), indices, (size_t)w * (size_t)h);
            wk_image *frame = &clip.frames[clip.count];
            assert_ok(wk_image_create(width, height, 0, frame, &err));
            if (clip.count > 0) wk_image_paste(frame, frame - 1, 0, 0, 1);
            for (int i = 0; i < w * h; i++)
                if (indices[i] != transparent)
                    memcpy(frame->rgb + 3 * ((y0 + i / w) * width + x0 + i % w),
                           palette + 3 * indices[i], 3);
            free(indices);
            clip.count++;
        }
    }
    assert_ptr_equal(in + 1, bytes + size);
    return clip;
}

#endif
