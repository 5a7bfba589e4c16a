// PNG: a header, one zlib stream of filtered rows, an end mark. Each row has the filter whose bytes
// have the smallest absolute sum, the usual estimate of what deflates best.
#include "base/file.h"
#include "media/image.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { N_FILTERS = 5, BYTES_PER_PIXEL = 3, DEFLATE_LEVEL = 6 };

static uint8_t paeth(int left, int up, int corner)
{
    int guess = left + up - corner;
    int to_left = abs(guess - left), to_up = abs(guess - up), to_corner = abs(guess - corner);
    if (to_left <= to_up && to_left <= to_corner) return (uint8_t)left;
    return (uint8_t)(to_up <= to_corner ? up : corner);
}

// What filter `type` expects at a byte, from its three decoded neighbours (PNG specification, 9.2).
static uint8_t predict(int type, int left, int up, int corner)
{
    switch (type) {
    case 1:
        return (uint8_t)left;
    case 2:
        return (uint8_t)up;
    case 3:
        return (uint8_t)((left + up) / 2);
    case 4:
        return paeth(left, up, corner);
    default:
        return 0;
    }
}

enum { STRETCH = 240 }; // bytes between two looks at the limit

static uint64_t distance_from_zero(const uint8_t *bytes, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += bytes[i] < 128 ? bytes[i] : 256u - bytes[i];
    return sum;
}

// Writes the filter's number and the filtered bytes of a row; returns the sum that ranks filters.
// Stops early once the sum is not below `limit`: the filter has lost then. `above` is all zeros for
// the first row. Inlined, so that each type gets a plain loop of its own.
static inline __attribute__((always_inline)) uint64_t filter_row(int type, const uint8_t *row,
                                                                 const uint8_t *above, size_t size,
                                                                 uint64_t limit, uint8_t *out)
{
    *out++ = (uint8_t)type;
    for (size_t i = 0; i < BYTES_PER_PIXEL; i++)
        out[i] = (uint8_t)(row[i] - predict(type, 0, above[i], 0));
    uint64_t sum = distance_from_zero(out, BYTES_PER_PIXEL);
    for (size_t first = BYTES_PER_PIXEL; first < size && sum < limit; first += STRETCH) {
        size_t end = first + STRETCH < size ? first + STRETCH : size;
        for (size_t i = first; i < end; i++)
            out[i] = (uint8_t)(row[i] - predict(type, row[i - BYTES_PER_PIXEL], above[i],
                                                above[i - BYTES_PER_PIXEL]));
        sum += distance_from_zero(out + first, end - first);
    }
    return sum;
}

static uint64_t filter_row_as(int type, const uint8_t *row, const uint8_t *above, size_t size,
                              uint64_t limit, uint8_t *out)
{
    switch (type) {
    case 1:
        return filter_row(1, row, above, size, limit, out);
    case 2:
        return filter_row(2, row, above, size, limit, out);
    case 3:
        return filter_row(3, row, above, size, limit, out);
    case 4:
        return filter_row(4, row, above, size, limit, out);
    default:
        return filter_row(0, row, above, size, limit, out);
    }
}

// `out` is the row's place of size + 1 bytes; `trial` has as many.
static void filter_row_best(const uint8_t *row, const uint8_t *above, size_t size, uint8_t *out,
                            uint8_t *trial)
{
    uint64_t best = filter_row_as(0, row, above, size, UINT64_MAX, out);
    for (int type = 1; type < N_FILTERS && best > 0; type++) {
        uint64_t sum = filter_row_as(type, row, above, size, best, trial);
        if (sum >= best) continue;
        best = sum;
        memcpy(out, trial, size + 1);
    }
}

static void put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (uint8_t)(value >> (24 - 8 * i));
}

// Adds length, name and checksum around `size` bytes that already lie at out + 8; returns its end.
static uint8_t *finish_chunk(uint8_t *out, const char *name, size_t size)
{
    put_u32(out, (uint32_t)size);
    memcpy(out + 4, name, 4);
    put_u32(out + 8 + size, (uint32_t)crc32(0, out + 4, (uInt)(size + 4)));
    return out + 12 + size;
}

wk_status wk_png_encode(const wk_image *image, uint8_t **bytes, size_t *size, wk_error *err)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    static const uint8_t depth8_rgb[5] = {8, 2, 0, 0, 0};
    size_t row_size = (size_t)image->width * BYTES_PER_PIXEL + 1;
    size_t raw_size = row_size * (size_t)image->height;
    if (raw_size >= UINT32_MAX / 2)
        return wk_fail(err, WK_E_INPUT, "an image of %d x %d pixels is too large for a PNG file",
                       image->width, image->height);
    uLongf packed_size = compressBound((uLong)raw_size);
    uint8_t *rows = malloc(raw_size + 2 * row_size); // and a trial, and what is above the first
    uint8_t *out = malloc(packed_size + 128);
    if (!rows || !out) {
        free(rows);
        free(out);
        return wk_fail(err, WK_E_MEMORY, "PNG of %d x %d pixels: no memory", image->width,
                       image->height);
    }
    uint8_t *zeros = rows + raw_size + row_size;
    memset(zeros, 0, row_size);
    for (int y = 0; y < image->height; y++) {
        const uint8_t *row = image->rgb + (size_t)y * (row_size - 1);
        filter_row_best(row, y ? row - (row_size - 1) : zeros, row_size - 1,
                        rows + (size_t)y * row_size, rows + raw_size);
    }
    memcpy(out, signature, sizeof signature);
    uint8_t *end = out + sizeof signature;
    put_u32(end + 8, (uint32_t)image->width);
    put_u32(end + 12, (uint32_t)image->height);
    memcpy(end + 16, depth8_rgb, sizeof depth8_rgb);
    end = finish_chunk(end, "IHDR", 13);
    int result = compress2(end + 8, &packed_size, rows, (uLong)raw_size, DEFLATE_LEVEL);
    free(rows);
    if (result != Z_OK) {
        free(out);
        return wk_fail(err, WK_E_MEMORY, "PNG of %d x %d pixels: zlib says '%s'", image->width,
                       image->height, zError(result));
    }
    end = finish_chunk(end, "IDAT", packed_size);
    end = finish_chunk(end, "IEND", 0);
    *bytes = out;
    *size = (size_t)(end - out);
    return WK_OK;
}

wk_status wk_png_write(const char *path, const wk_image *image, wk_error *err)
{
    uint8_t *bytes;
    size_t size;
    WK_TRY(wk_png_encode(image, &bytes, &size, err));
    wk_status status = wk_file_write(path, bytes, size, err);
    free(bytes);
    return status;
}
