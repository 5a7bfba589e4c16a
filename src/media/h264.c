#include "media/h264.h"

#include "media/h264_cavlc.h"
#include "media/h264_transform.h"
#include <stdlib.h>
#include <string.h>

enum {
    PLANES = 3,
    KEY_EVERY = 100,    // frames from one that decoding can begin with to the next
    FRAME_NUMBERS = 16, // they count modulo this
    SEARCH = 8,         // first step of the search for motion, in pixels
    TURN_COST = 8,      // differences that another motion than the expected one has to save
    REFERENCE = 3 << 5, // nal_ref_idc
    NAL_SLICE = 1,
    NAL_KEY = 5,
    NAL_SEQUENCE = 7,
    NAL_PICTURE = 8,
};

// One of Y, Cb, Cr, padded to whole macroblocks.
typedef struct plane {
    uint8_t *source, *made, *before; // to encode; as a decoder has it; that of the frame before
    uint8_t *counts;                 // levels in every block of 4x4
    int side, stride;                // of a macroblock; of a row
} plane;

typedef struct motion {
    int x, y; // pixels, even: then chroma moves by whole pixels too
    bool there, inter;
} motion;

struct wk_h264 {
    int width, height, across, down; // pixels shown; macroblocks
    int level;
    plane planes[PLANES];
    motion *motions; // of every macroblock
    int64_t frames;
    int since_key;
    uint32_t skipped; // macroblocks since the last one that was written
    wk_bits bits;
    wk_text slice;
};

// Table A-1: how many macroblocks a frame and a second may have. A side may have the root of eight
// times those of a frame (A.3.1).
static const struct {
    int level, frame;
    double second;
} levels[] = {
    {30, 1620, 40500},   {31, 3600, 108000},   {40, 8192, 245760},    {42, 8704, 522240},
    {51, 36864, 983040}, {52, 36864, 2073600}, {60, 139264, 4177920}, {62, 139264, 16711680},
};

static int level_of(int across, int down, double rate)
{
    size_t last = sizeof levels / sizeof *levels - 1, i = 0;
    int macroblocks = across * down, side = across > down ? across : down;
    while (i < last && (macroblocks > levels[i].frame || side * side > 8 * levels[i].frame ||
                        macroblocks * rate > levels[i].second))
        i++;
    return levels[i].level;
}

static bool allocate(wk_h264 *e)
{
    size_t count = (size_t)e->across * (size_t)e->down;
    e->motions = calloc(count, sizeof *e->motions);
    bool done = e->motions;
    for (int i = 0; i < PLANES; i++) {
        plane *p = &e->planes[i];
        p->side = i == 0 ? 16 : 8;
        p->stride = e->across * p->side;
        size_t pixels = count * (size_t)(p->side * p->side);
        p->source = malloc(pixels);
        p->made = malloc(pixels);
        p->before = malloc(pixels);
        p->counts = malloc(pixels / 16);
        done = done && p->source && p->made && p->before && p->counts;
    }
    return done;
}

wk_status wk_h264_create(int width, int height, double rate, wk_h264 **out, wk_error *err)
{
    if (width < 1 || height < 1 || width > WK_H264_SIDE_MAX || height > WK_H264_SIDE_MAX)
        return wk_fail(err, WK_E_INPUT, "a video of %d x %d pixels: each side must be 1 to %d",
                       width, height, WK_H264_SIDE_MAX);
    wk_h264 *e = calloc(1, sizeof *e);
    if (!e) return wk_fail(err, WK_E_MEMORY, "video: no memory");
    e->width = width + width % 2;
    e->height = height + height % 2;
    e->across = (width + 15) / 16;
    e->down = (height + 15) / 16;
    e->level = level_of(e->across, e->down, rate);
    if (!allocate(e)) {
        wk_h264_destroy(e);
        return wk_fail(err, WK_E_MEMORY, "video of %d x %d pixels: no memory", width, height);
    }
    *out = e;
    return WK_OK;
}

void wk_h264_destroy(wk_h264 *e)
{
    if (!e) return;
    for (int i = 0; i < PLANES; i++) {
        free(e->planes[i].source);
        free(e->planes[i].made);
        free(e->planes[i].before);
        free(e->planes[i].counts);
    }
    free(e->motions);
    wk_text_free(&e->slice);
    free(e);
}

int wk_h264_width(const wk_h264 *e)
{
    return e->width;
}

int wk_h264_height(const wk_h264 *e)
{
    return e->height;
}

const uint8_t *wk_h264_shown(const wk_h264 *e, int i, int *stride)
{
    *stride = e->planes[i].stride;
    return e->planes[i].made;
}

// A NAL unit of the payload: after two zero bytes, what could be taken for a start code is escaped.
static void put_nal(wk_text *out, int header, const wk_text *payload)
{
    char byte = (char)header;
    int zeros = 0;
    wk_text_append(out, &byte, 1);
    for (size_t i = 0; i < payload->length; i++) {
        byte = payload->chars[i];
        if (zeros == 2 && (uint8_t)byte <= 3) {
            wk_text_append(out, "\3", 1);
            zeros = 0;
        }
        zeros = byte == 0 ? zeros + 1 : 0;
        wk_text_append(out, &byte, 1);
    }
}

// 7.3.2.1.1 and E.1.1.
static void put_sequence(const wk_h264 *e, wk_bits *b)
{
    wk_bits_put(b, 66 << 8 | 0xC0, 16); // Constrained Baseline
    wk_bits_put(b, (uint32_t)e->level, 8);
    wk_bits_put_ue(b, 0); // number of the set
    wk_bits_put_ue(b, 0); // frame numbers of 4 bits
    wk_bits_put_ue(b, 2); // frames are shown in the order of the stream
    wk_bits_put_ue(b, 1); // one reference
    wk_bits_put(b, 0, 1);
    wk_bits_put_ue(b, (uint32_t)e->across - 1);
    wk_bits_put_ue(b, (uint32_t)e->down - 1);
    wk_bits_put(b, 7, 3); // frames, not fields; direct inference; cropping:
    wk_bits_put_ue(b, 0);
    wk_bits_put_ue(b, (uint32_t)(e->across * 16 - e->width) / 2);
    wk_bits_put_ue(b, 0);
    wk_bits_put_ue(b, (uint32_t)(e->down * 16 - e->height) / 2);
    wk_bits_put(b, 1, 1);          // what follows is about showing it
    wk_bits_put(b, 1, 3);          // no aspect ratio, no overscan, but a type of signal:
    wk_bits_put(b, 5 << 2 | 1, 5); // any format, 16 to 235, colours of
    wk_bits_put(b, 0x010101, 24);  // BT.709
    wk_bits_put(b, 0, 5);          // no place of chroma, timing, buffers, structure of pictures
    wk_bits_put(b, 2, 2);          // but limits: no motion from outside of the frame
    wk_bits_put_ue(b, 0);
    wk_bits_put_ue(b, 0);
    wk_bits_put_ue(b, 14); // any length of motion
    wk_bits_put_ue(b, 14);
    wk_bits_put_ue(b, 0); // no reordering
    wk_bits_put_ue(b, 1); // one frame kept
    wk_bits_end(b);
}

// 7.3.2.2.
static void put_picture(wk_bits *b)
{
    wk_bits_put_ue(b, 0); // number of this set
    wk_bits_put_ue(b, 0); // and of the other
    wk_bits_put(b, 0, 2); // CAVLC
    wk_bits_put_ue(b, 0); // one slice group
    wk_bits_put_ue(b, 0); // one reference
    wk_bits_put_ue(b, 0);
    wk_bits_put(b, 0, 3); // no weights
    wk_bits_put_se(b, WK_H264_QP - 26);
    wk_bits_put_se(b, 0);
    wk_bits_put_se(b, 0); // chroma as luma
    wk_bits_put(b, 4, 3); // slices say whether there is deblocking
    wk_bits_end(b);
}

void wk_h264_parameters(const wk_h264 *e, wk_text *sequence, wk_text *picture)
{
    wk_text payload = {0};
    put_sequence(e, &(wk_bits){.out = &payload});
    put_nal(sequence, REFERENCE | NAL_SEQUENCE, &payload);
    sequence->failed |= payload.failed;
    wk_text_free(&payload);
    put_picture(&(wk_bits){.out = &payload});
    put_nal(picture, REFERENCE | NAL_PICTURE, &payload);
    picture->failed |= payload.failed;
    wk_text_free(&payload);
}

// Of BT.709, 16 to 235 (240): thousandths of the channels, and where zero is.
static const int colours[PLANES][4] = {
    {183, 614, 62, 16}, {-101, -339, 440, 128}, {440, -400, -40, 128}};

// The mean of `side` x `side` pixels of the image, which repeats its last row and column.
static uint8_t convert(const wk_image *image, int i, int x, int y, int side)
{
    const int *c = colours[i];
    int sum = 0, area = side * side;
    for (int k = 0; k < area; k++) {
        int px = x + k % side, py = y + k / side;
        if (px >= image->width) px = image->width - 1;
        if (py >= image->height) py = image->height - 1;
        const uint8_t *rgb = image->rgb + 3 * ((size_t)py * (size_t)image->width + (size_t)px);
        sum += c[0] * rgb[0] + c[1] * rgb[1] + c[2] * rgb[2];
    }
    int scale = 1000 * area; // 2 * 128 keeps what is divided positive
    return (uint8_t)((sum + scale / 2 + 256 * scale) / scale - 256 + c[3]);
}

static void take(wk_h264 *e, const wk_image *image)
{
    for (int i = 0; i < PLANES; i++) {
        plane *p = &e->planes[i];
        int side = i == 0 ? 1 : 2;
        for (int y = 0; y < e->down * p->side; y++)
            for (int x = 0; x < p->stride; x++)
                p->source[y * p->stride + x] = convert(image, i, x * side, y * side, side);
    }
}

// A macroblock while it is encoded.
typedef struct macroblock {
    int x, y; // counted in macroblocks
    bool inter;
    int mode, chroma_mode;           // of the prediction from neighbours
    uint8_t prediction[PLANES][256]; // [side,side]
    int levels[PLANES][16][16], dc[PLANES][16];
    bool coded[4], chroma_ac, chroma_dc; // quarters of luma
} macroblock;

// How a macroblock is predicted from its neighbours.
enum { VERTICAL, HORIZONTAL, DC, MODES };

static uint8_t *pixel(const plane *p, uint8_t *pixels, const macroblock *m, int x, int y)
{
    return pixels + (m->y * p->side + y) * p->stride + m->x * p->side + x;
}

// The mean of the pixels to the left of and above a square of the macroblock.
static int mean_around(const plane *p, const macroblock *m, int x, int y, int size, bool left,
                       bool above)
{
    int sum = 0, count = size * (left + above);
    for (int i = 0; i < size; i++) {
        if (left) sum += *pixel(p, p->made, m, -1, y + i);
        if (above) sum += *pixel(p, p->made, m, x + i, -1);
    }
    return count > 0 ? (sum + count / 2) / count : 128;
}

// The four squares of chroma have means of their own: that of the side they touch, if it is there.
static void predict_dc(const plane *p, const macroblock *m, uint8_t *out)
{
    int size = p->side == 16 ? 16 : 4;
    for (int y = 0; y < p->side; y += size)
        for (int x = 0; x < p->side; x += size) {
            bool left = m->x > 0, above = m->y > 0;
            if (x > y && above) left = false;
            if (y > x && left) above = false;
            int mean = mean_around(p, m, x, y, size, left, above);
            for (int row = y; row < y + size; row++)
                memset(out + row * p->side + x, mean, (size_t)size);
        }
}

static void predict(const plane *p, const macroblock *m, int mode, uint8_t *out)
{
    if (mode == DC) predict_dc(p, m, out);
    for (int y = 0; mode != DC && y < p->side; y++) {
        uint8_t *row = out + y * p->side;
        if (mode == VERTICAL)
            memcpy(row, pixel(p, p->made, m, 0, -1), (size_t)p->side);
        else
            memset(row, *pixel(p, p->made, m, -1, y), (size_t)p->side);
    }
}

// How far a square of pixels is from the source of the macroblock.
static int differences(const plane *p, const macroblock *m, const uint8_t *pixels, int stride)
{
    int sum = 0;
    for (int y = 0; y < p->side; y++) {
        const uint8_t *source = pixel(p, p->source, m, 0, y), *row = pixels + y * stride;
        for (int x = 0; x < p->side; x++)
            sum += abs(source[x] - row[x]);
    }
    return sum;
}

// The best prediction of planes `first` to `last` from the neighbours; returns its differences.
static int predict_intra(const wk_h264 *e, macroblock *m, int first, int last, int *best_mode)
{
    int best = -1;
    for (int mode = 0; mode < MODES; mode++) {
        uint8_t tried[PLANES][256];
        int sum = 0;
        if ((mode == VERTICAL && m->y == 0) || (mode == HORIZONTAL && m->x == 0)) continue;
        for (int i = first; i <= last; i++) {
            const plane *p = &e->planes[i];
            predict(p, m, mode, tried[i]);
            sum += differences(p, m, tried[i], p->side);
        }
        if (best >= 0 && sum >= best) continue;
        best = sum;
        *best_mode = mode;
        memcpy(m->prediction[first], tried[first], (size_t)(last - first + 1) * 256);
    }
    return best;
}

static motion motion_at(const wk_h264 *e, int x, int y)
{
    if (x < 0 || y < 0 || x >= e->across) return (motion){0};
    motion at = e->motions[y * e->across + x];
    return at.inter ? at : (motion){.there = true};
}

static int median(int a, int b, int c)
{
    return a > b ? (b > c ? b : a > c ? c : a) : (a > c ? a : b > c ? c : b);
}

// 8.4.1.3: what is expected from the neighbours, and where a skipped macroblock comes from.
static motion expected_motion(const wk_h264 *e, const macroblock *m, bool skipped)
{
    motion a = motion_at(e, m->x - 1, m->y), b = motion_at(e, m->x, m->y - 1);
    motion c = motion_at(e, m->x + 1, m->y - 1);
    if (!c.there) c = motion_at(e, m->x - 1, m->y - 1);
    bool still = !a.there || !b.there || (a.inter && a.x == 0 && a.y == 0) ||
                 (b.inter && b.x == 0 && b.y == 0);
    if (skipped && still) return (motion){0};
    if (!b.there && !c.there) return a;
    if (a.inter + b.inter + c.inter == 1) return a.inter ? a : b.inter ? b : c;
    return (motion){.x = median(a.x, b.x, c.x), .y = median(a.y, b.y, c.y)};
}

static bool is_inside(const wk_h264 *e, const macroblock *m, motion by)
{
    int x = 16 * m->x + by.x, y = 16 * m->y + by.y;
    return x >= 0 && y >= 0 && x + 16 <= 16 * e->across && y + 16 <= 16 * e->down;
}

// Where in the frame before the macroblock is found; returns its differences.
static int search(const wk_h264 *e, const macroblock *m, motion expected, motion *found)
{
    static const int directions[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    const plane *p = &e->planes[0];
    motion best = {0};
    int least = differences(p, m, pixel(p, p->before, m, 0, 0), p->stride);
    motion from = is_inside(e, m, expected) ? expected : best;
    for (int step = SEARCH; step >= 2 && least > 0; step /= 2)
        for (int k = 0; k <= 4; k++) { // the fifth is where it begins
            motion tried = {.x = from.x + (k < 4 ? step * directions[k][0] : 0),
                            .y = from.y + (k < 4 ? step * directions[k][1] : 0)};
            if (!is_inside(e, m, tried)) continue;
            int sum = differences(p, m, pixel(p, p->before, m, tried.x, tried.y), p->stride);
            if (tried.x != expected.x || tried.y != expected.y) sum += TURN_COST;
            if (sum >= least) continue;
            least = sum;
            best = from = tried;
            k = -1; // on from there
        }
    *found = (motion){best.x, best.y, true, true};
    return least;
}

static void predict_inter(const wk_h264 *e, macroblock *m, motion by)
{
    for (int i = 0; i < PLANES; i++) {
        const plane *p = &e->planes[i];
        int part = 16 / p->side;
        for (int y = 0; y < p->side; y++)
            memcpy(m->prediction[i] + y * p->side,
                   pixel(p, p->before, m, by.x / part, by.y / part + y), (size_t)p->side);
    }
}

// Number of a block of 4x4, row by row, of the k-th in the stream.
static int block_in_stream(int k)
{
    return (k & 1) | (k & 4) >> 1 | (k & 2) << 1 | (k & 8);
}

// Luma of an inter macroblock is coded whole, everything else with its DC apart.
static bool has_own_dc(const macroblock *m, int i)
{
    return i > 0 || !m->inter;
}

static void encode_plane(const wk_h264 *e, macroblock *m, int i)
{
    const plane *p = &e->planes[i];
    int across = p->side / 4, count = across * across, dc[16];
    bool own = has_own_dc(m, i);
    for (int b = 0; b < count; b++) {
        int x = 4 * (b % across), y = 4 * (b / across), block[16];
        for (int k = 0; k < 16; k++)
            block[k] = *pixel(p, p->source, m, x + k % 4, y + k / 4) -
                       m->prediction[i][(y + k / 4) * p->side + x + k % 4];
        wk_h264_forward(block);
        dc[b] = block[0];
        wk_h264_quantise(block, own, m->inter, m->levels[i][b]);
    }
    if (own) wk_h264_dc_forward(dc, count, m->inter, m->dc[i]);
}

static uint8_t clip(int value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

// What a decoder makes of it.
static void decode_plane(const wk_h264 *e, const macroblock *m, int i)
{
    const plane *p = &e->planes[i];
    int across = p->side / 4, count = across * across, dc[16];
    bool own = has_own_dc(m, i);
    if (own) wk_h264_dc_inverse(m->dc[i], count, dc);
    for (int b = 0; b < count; b++) {
        int x = 4 * (b % across), y = 4 * (b / across), block[16];
        wk_h264_scale(m->levels[i][b], own, block);
        if (own) block[0] = dc[b];
        wk_h264_inverse(block);
        for (int k = 0; k < 16; k++)
            *pixel(p, p->made, m, x + k % 4, y + k / 4) =
                clip(m->prediction[i][(y + k / 4) * p->side + x + k % 4] + block[k]);
    }
}

static bool has_levels(const int *values, int count)
{
    for (int i = 0; i < count; i++)
        if (values[i] != 0) return true;
    return false;
}

// Which parts have levels at all.
static void mark_coded(macroblock *m)
{
    for (int b = 0; b < 16; b++)
        m->coded[(b & 3) / 2 + b / 8 * 2] |= has_levels(m->levels[0][b], 16);
    for (int i = 1; i < PLANES; i++) {
        m->chroma_ac |= has_levels(m->levels[i][0], 4 * 16);
        m->chroma_dc |= has_levels(m->dc[i], 4);
    }
    bool any = m->coded[0] || m->coded[1] || m->coded[2] || m->coded[3];
    for (int q = 0; q < 4 && !m->inter; q++)
        m->coded[q] = any; // all or none
}

static int chroma_pattern(const macroblock *m)
{
    return m->chroma_ac ? 2 : m->chroma_dc;
}

// How many levels the blocks to the left of and above a block have on average.
static int nearby(const plane *p, int x, int y)
{
    int stride = p->stride / 4;
    const uint8_t *count = p->counts + y * stride + x;
    if (x > 0 && y > 0) return (count[-1] + count[-stride] + 1) / 2;
    return x > 0 ? count[-1] : y > 0 ? count[-stride] : 0;
}

static void put_block(wk_h264 *e, const macroblock *m, int i, int b)
{
    const plane *p = &e->planes[i];
    int across = p->side / 4, own = has_own_dc(m, i);
    int x = m->x * across + b % across, y = m->y * across + b / across;
    p->counts[y * p->stride / 4 + x] =
        (uint8_t)wk_h264_levels_put(&e->bits, m->levels[i][b] + own, 16 - own, nearby(p, x, y));
}

// 7.3.5.3.
static void put_levels(wk_h264 *e, const macroblock *m)
{
    if (!m->inter)
        wk_h264_levels_put(&e->bits, m->dc[0], 16, nearby(&e->planes[0], 4 * m->x, 4 * m->y));
    for (int k = 0; k < 16; k++)
        if (m->coded[k / 4]) put_block(e, m, 0, block_in_stream(k));
    for (int i = 1; i < PLANES && chroma_pattern(m) > 0; i++)
        wk_h264_levels_put(&e->bits, m->dc[i], 4, WK_H264_CHROMA_DC);
    for (int i = 1; i < PLANES && m->chroma_ac; i++)
        for (int b = 0; b < 4; b++)
            put_block(e, m, i, b);
}

// Table 9-4: patterns of coded parts of inter macroblocks, the usual first.
static int pattern_code(int pattern)
{
    static const uint8_t patterns[48] = {0,  16, 1,  2,  4,  8,  32, 3,  5,  10, 12, 15,
                                         47, 7,  11, 13, 14, 6,  9,  31, 35, 37, 42, 44,
                                         33, 34, 36, 40, 39, 43, 45, 46, 17, 18, 20, 24,
                                         19, 21, 26, 28, 23, 27, 29, 30, 22, 25, 38, 41};
    int code = 0;
    while (patterns[code] != pattern)
        code++;
    return code;
}

// 7.3.5, of a macroblock that is not skipped.
static void put_inter(wk_h264 *e, const macroblock *m, motion by, motion expected)
{
    int pattern = m->coded[0] | m->coded[1] << 1 | m->coded[2] << 2 | m->coded[3] << 3 |
                  chroma_pattern(m) << 4;
    wk_bits_put_ue(&e->bits, e->skipped);
    wk_bits_put_ue(&e->bits, 0);                       // of 16x16, one motion
    wk_bits_put_se(&e->bits, 4 * (by.x - expected.x)); // in quarters of a pixel
    wk_bits_put_se(&e->bits, 4 * (by.y - expected.y));
    wk_bits_put_ue(&e->bits, (uint32_t)pattern_code(pattern));
    if (pattern > 0) wk_bits_put_se(&e->bits, 0); // the same quantiser
    put_levels(e, m);
}

static void put_intra(wk_h264 *e, const macroblock *m, bool key)
{
    int type = 1 + m->mode + 4 * chroma_pattern(m) + 12 * m->coded[0];
    if (!key) wk_bits_put_ue(&e->bits, e->skipped);
    wk_bits_put_ue(&e->bits, (uint32_t)(key ? type : type + 5));
    wk_bits_put_ue(&e->bits, (uint32_t)(DC - m->chroma_mode)); // they count the other way round
    wk_bits_put_se(&e->bits, 0);
    put_levels(e, m);
}

static bool is_same(motion a, motion b)
{
    return a.x == b.x && a.y == b.y;
}

static void put_macroblock(wk_h264 *e, int x, int y, bool key)
{
    macroblock m = {.x = x, .y = y};
    motion by = {.there = true}, expected = {0};
    int intra = predict_intra(e, &m, 0, 0, &m.mode);
    if (!key) {
        expected = expected_motion(e, &m, false);
        m.inter = search(e, &m, expected, &by) <= intra;
        by.inter = m.inter;
    }
    if (m.inter)
        predict_inter(e, &m, by);
    else
        predict_intra(e, &m, 1, PLANES - 1, &m.chroma_mode);
    for (int i = 0; i < PLANES; i++) {
        encode_plane(e, &m, i);
        decode_plane(e, &m, i);
    }
    mark_coded(&m);
    bool empty = !m.coded[0] && !m.coded[1] && !m.coded[2] && !m.coded[3] && !chroma_pattern(&m);
    bool skip = m.inter && empty && is_same(by, expected_motion(e, &m, true));
    if (m.inter && !skip)
        put_inter(e, &m, by, expected);
    else if (!skip)
        put_intra(e, &m, key);
    e->skipped = skip ? e->skipped + 1 : 0;
    e->motions[y * e->across + x] = by;
}

// 7.3.3.
static void put_slice_header(wk_h264 *e, bool key)
{
    wk_bits *b = &e->bits;
    wk_bits_put_ue(b, 0);           // first macroblock
    wk_bits_put_ue(b, key ? 7 : 5); // all slices of the frame are I, P
    wk_bits_put_ue(b, 0);
    wk_bits_put(b, (uint32_t)(e->since_key % FRAME_NUMBERS), 4);
    if (key) wk_bits_put_ue(b, (uint32_t)(e->frames / KEY_EVERY % 2)); // unlike the key before
    wk_bits_put(b, 0, 2); // one reference, in its order; or keep nothing from before a key
    if (!key) wk_bits_put(b, 0, 1);
    wk_bits_put_se(b, 0); // the quantiser of the parameters
    wk_bits_put_ue(b, 1); // no deblocking
}

wk_status wk_h264_add(wk_h264 *e, const wk_image *frame, wk_text *out, bool *key, wk_error *err)
{
    if (frame->width + frame->width % 2 != e->width ||
        frame->height + frame->height % 2 != e->height)
        return wk_fail(err, WK_E_INPUT, "a frame of %d x %d pixels in a video of %d x %d",
                       frame->width, frame->height, e->width, e->height);
    *key = e->frames % KEY_EVERY == 0;
    e->since_key = *key ? 0 : e->since_key + 1;
    take(e, frame);
    for (int i = 0; i < PLANES; i++) {
        plane *p = &e->planes[i];
        uint8_t *made = p->made;
        p->made = p->before;
        p->before = made;
        memset(p->counts, 0, (size_t)(e->down * p->side * p->stride / 16));
    }
    e->slice.length = 0;
    e->skipped = 0;
    e->bits = (wk_bits){.out = &e->slice};
    put_slice_header(e, *key);
    for (int y = 0; y < e->down; y++)
        for (int x = 0; x < e->across; x++)
            put_macroblock(e, x, y, *key);
    if (e->skipped > 0) wk_bits_put_ue(&e->bits, e->skipped);
    wk_bits_end(&e->bits);
    put_nal(out, REFERENCE | (*key ? NAL_KEY : NAL_SLICE), &e->slice);
    e->frames++;
    if (!e->slice.failed && !out->failed) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "video of %d x %d pixels: no memory", e->width, e->height);
}
