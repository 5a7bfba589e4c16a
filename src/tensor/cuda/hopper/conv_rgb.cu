// Convolutions between RGB images of 64 x 64 pixels and small images of few channels, in bf16 on
// capability 9.0. They have so few terms that memory bounds them. Places are counted as in conv.cu:
// with 32 of them in a line, a tile is four whole lines, a tap is a constant distance and all
// weights stay in shared memory. A block takes one tile after another, as many apart as there are
// blocks, and begins to load the next one before it multiplies. RGB pixels are read as they are and
// get their fourth colour, zero, on the way to shared memory: a chunk is two neighbouring pixels of
// a line.
#include "tensor/cuda/hopper/conv_columns.cuh"
#include "tensor/cuda/hopper/wgmma.cuh"

enum { THREADS = 128, WIDTH = WK_RGB_WIDTH, LINES = 4, ROWS = LINES * WIDTH };
enum { TILES = WIDTH / LINES };                // of an image
enum { PARTS = ROWS / 64 };                    // of a tile, by instruction
enum { CHUNK_BYTES = 16, COLUMN_BYTES = 128 }; // COLUMN_BYTES: of 8 rows or columns of a chunk
enum { COPIERS = 96 };                         // threads that copy the small image

// The RGB image in shared memory: two chunks of every place, and of those that taps reach beyond.
template <int TAPS> struct large_tile {
    static const int lines = LINES + TAPS - 1;
    static const int pitch = ((lines * WIDTH + TAPS - 1) | 1) * CHUNK_BYTES;
    static const int bytes = 2 * pitch;
    static const int terms = 2 * TAPS * TAPS;     // chunks
    static const int row_tiles = (terms + 7) / 8; // of the weights' gradient
};

// A small image of PIECES times W channels; COLUMNS of the instructions.
template <int PIECES, int W> struct small_tile {
    static const int channels = PIECES * W, chunks = (channels + 7) / 8;
    static const int columns = PIECES == 3 ? 24 : 48;
    static const int high = COPIERS / PIECES; // places at once
    static const int passes = ROWS / high;
};

// From row to row of the results: 8 rows' pairs of columns lie in different banks.
#define LINE(columns) ((columns) == 48 ? 56 : 24)

// Blocks of a multiprocessor, as registers and shared memory allow.
template <int PIECES> constexpr int at_once(void)
{
    return PIECES == 3 ? WK_RGB_NARROW : WK_RGB_WIDE;
}

static __device__ void clear(char *to, unsigned bytes)
{
    for (unsigned i = threadIdx.x; i < bytes / sizeof(uint4); i += THREADS)
        ((uint4 *)to)[i] = make_uint4(0, 0, 0, 0);
}

// RGB pixels on their way: a thread's pairs, six numbers each as they are stored.
enum { PAIRS = 3 };
typedef struct pixels {
    unsigned v[PAIRS][6];
} pixels;

// A warp has every second line of one chunk; what lies beyond the image is used by
// no result.
template <int TAPS>
static __device__ void fetch_pixels(const wk_pixels &x, unsigned tile, pixels &to)
{
    unsigned column = threadIdx.x % WIDTH, chunk = threadIdx.x / WIDTH % 2;
#pragma unroll
    for (unsigned i = 0; i < PAIRS; i++) {
        unsigned line = threadIdx.x / (2 * WIDTH) + 2 * i, row = tile % TILES * LINES + line;
        bool real = line < large_tile<TAPS>::lines && row < WIDTH;
        unsigned at = ((tile / TILES * WIDTH + row) * 2 + chunk) * 2 * WIDTH + 2 * column;
#pragma unroll
        for (unsigned k = 0; k < 3; k++) {
            uint2 v = make_uint2(0, 0);
            if (real && x.bytes)
                v.x = (x.bytes + 3 * at).at<const uint16_t>()[k];
            else if (real && x.numbers.bf16)
                v.x = (x.numbers.bf16 + 3 * at).at<const unsigned>()[k];
            else if (real)
                v = (x.numbers.x + 3 * at).at<const uint2>()[k];
            to.v[i][2 * k] = v.x, to.v[i][2 * k + 1] = v.y;
        }
    }
}

// Two numbers in bf16.
static __device__ unsigned two_numbers(const wk_pixels &x, unsigned first, unsigned second)
{
    if (x.bytes) return wk_pack_bf16(wk_pixel(first & 0xffu), wk_pixel(first >> 8));
    if (x.numbers.bf16) return first;
    return wk_pack_bf16(__uint_as_float(first), __uint_as_float(second));
}

template <int TAPS>
static __device__ void store_pixels(const wk_pixels &x, const pixels &from, char *image)
{
    unsigned column = threadIdx.x % WIDTH, chunk = threadIdx.x / WIDTH % 2;
#pragma unroll
    for (unsigned i = 0; i < PAIRS; i++) {
        unsigned line = threadIdx.x / (2 * WIDTH) + 2 * i, two[3];
        if (line >= large_tile<TAPS>::lines) break;
#pragma unroll
        for (unsigned k = 0; k < 3; k++)
            two[k] = two_numbers(x, from.v[i][2 * k], from.v[i][2 * k + 1]);
        uint4 *to = (uint4 *)(image + chunk * large_tile<TAPS>::pitch) + line * WIDTH + column;
        *to = make_uint4(two[0], two[1] & 0xffffu, two[1] >> 16 | two[2] << 16, two[2] >> 16);
    }
}

// A thread's piece of the small image: its first place in a tile, and its first channel.
template <int PIECES, int W> struct piece {
    unsigned place, channel;

    __device__ piece(void) : place(threadIdx.x / PIECES), channel(threadIdx.x % PIECES * W) {}

    // Where it begins in pass `pass` over an image's lines from `row` on; false outside.
    __device__ bool find(unsigned small, unsigned image, int row, unsigned pass, unsigned *at) const
    {
        unsigned there = place + pass * small_tile<PIECES, W>::high, column = there % WIDTH;
        row += (int)(there / WIDTH);
        *at = ((image * small + (unsigned)row) * small + column) * (PIECES * W) + channel;
        return (unsigned)row < small && column < small;
    }
};

// Begins to copy lines of the small image from `row` on, `places` in all. In shared memory, a chunk
// is `pitch` bytes from the next; places beyond the small image's right edge stay clear.
template <int PIECES, int W>
static __device__ void copy_small(const wk_planes_image &x, unsigned image, int row,
                                  unsigned places, unsigned pitch, unsigned to)
{
    typedef small_tile<PIECES, W> t;
    const piece<PIECES, W> p;
    if (threadIdx.x >= COPIERS) return;
    to += p.channel / 8 * pitch + p.channel % 8 * 2 + p.place * CHUNK_BYTES;
#pragma unroll
    for (unsigned pass = 0; pass < places / t::high; pass++) {
        unsigned at, there = to + pass * t::high * CHUNK_BYTES;
        if ((p.place + pass * t::high) % WIDTH >= x.side) continue;
        bool real = p.find(x.side, image, row, pass, &at);
        wk_copy_piece<W>(there, x.from.at() + (real ? at : 0), real);
    }
}

// Results of 64 rows leave the registers through shared memory.
template <int COLUMNS>
static __device__ void stage_results(const float (&sum)[COLUMNS / 2], float *to)
{
    const unsigned line = LINE(COLUMNS);
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *at = to + (warp * 16 + lane / 4) * line + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < COLUMNS / 2; i += 2)
        *(float2 *)(at + i / 2 % 2 * 8 * line + i / 4 * 8) = make_float2(sum[i], sum[i + 1]);
}

static __device__ void copy_weights(const wk_planes &j, unsigned bytes, char *to)
{
    for (unsigned i = threadIdx.x; i < bytes / sizeof(uint4); i += THREADS)
        ((uint4 *)to)[i] = j.weights.at<const uint4>()[i];
}

// Large to small.

template <int TAPS, int COLUMNS>
static __device__ void multiply_taps(unsigned image, unsigned weights,
                                     float (&sum)[PARTS][COLUMNS / 2])
{
    uint64_t left = wk_operand(image, large_tile<TAPS>::pitch, COLUMN_BYTES);
    uint64_t right = wk_operand(weights, COLUMNS * CHUNK_BYTES, COLUMN_BYTES);
    wk_wgmma_begin();
#pragma unroll
    for (unsigned part = 0; part < PARTS; part++)
#pragma unroll
        for (unsigned tap = 0; tap < TAPS * TAPS; tap++)
            wk_wgmma<0, 0>(sum[part], left + part * 64 + tap / TAPS * WIDTH + tap % TAPS,
                           right + tap * 2 * COLUMNS, tap > 0);
    wk_wgmma_commit();
    wk_wgmma_wait<0>();
#pragma unroll
    for (unsigned part = 0; part < PARTS; part++)
        wk_wgmma_hold(sum[part]);
}

// Layer outputs for slopes, in bf16 as they were stored.
template <int PIECES, int W> struct slopes {
    uint4 v[small_tile<PIECES, W>::passes];

    __device__ void fetch(const wk_planes &j, const piece<PIECES, W> &p, unsigned tile)
    {
        if (!j.sloped || !j.slope.bf16 || threadIdx.x >= COPIERS) return;
#pragma unroll
        for (unsigned i = 0; i < small_tile<PIECES, W>::passes; i++) {
            unsigned at;
            if (!p.find(j.result, tile / TILES, (int)(tile % TILES * LINES), i, &at)) continue;
            if constexpr (W == 8) {
                v[i] = (j.slope.bf16 + at).template at<const uint4>()[0];
            } else {
                uint2 two = (j.slope.bf16 + at).template at<const uint2>()[0];
                v[i].x = two.x, v[i].y = two.y;
            }
        }
    }

    __device__ wk_columns<W> get(const wk_planes &j, unsigned i, unsigned at) const
    {
        if (j.sloped && !j.slope.bf16) return wk_get_columns<W>(j.slope, at);
        const unsigned word[] = {v[i].x, v[i].y, v[i].z, v[i].w};
        wk_columns<W> c;
#pragma unroll
        for (int k = 0; k < W; k += 2) {
            float2 two = wk_unpack_bf16(word[k / 2]);
            c.v[k] = two.x, c.v[k + 1] = two.y;
        }
        return c;
    }
};

template <int PIECES, int W>
static __device__ void store_lines(const wk_planes &j, const piece<PIECES, W> &p, unsigned tile,
                                   const slopes<PIECES, W> &y, const wk_columns<W> &bias,
                                   const float *results, wk_columns<W> &total)
{
    typedef small_tile<PIECES, W> t;
    if (threadIdx.x >= COPIERS) return;
    const float *from = results + p.place * LINE(t::columns) + p.channel;
#pragma unroll
    for (unsigned i = 0; i < t::passes; i++) {
        unsigned at;
        if (!p.find(j.result, tile / TILES, (int)(tile % TILES * LINES), i, &at)) continue;
        wk_columns<W> x = wk_load_columns<W>(from + i * t::high * LINE(t::columns));
        wk_finish_columns(j, y.get(j, i, at), bias, x);
        wk_put_columns(j.out, at, x);
#pragma unroll
        for (int k = 0; k < W; k++)
            total.v[k] += x.v[k];
    }
}

// The block's column sums, in a fixed order.
template <int PIECES, int W>
static __device__ void store_totals(const wk_planes &j, const piece<PIECES, W> &p,
                                    const wk_columns<W> &total, float *part)
{
    typedef small_tile<PIECES, W> t;
    __syncthreads();
    if (threadIdx.x < COPIERS)
#pragma unroll
        for (int i = 0; i < W; i++)
            part[p.place * t::channels + p.channel + i] = total.v[i];
    __syncthreads();
    if (threadIdx.x >= t::channels) return;
    float sum = 0;
    for (unsigned i = 0; i < t::high; i++)
        sum += part[i * t::channels + threadIdx.x];
    j.totals[blockIdx.x * t::channels + threadIdx.x] = sum;
}

template <int TAPS, int PIECES, int W>
static __global__ void __launch_bounds__(THREADS, at_once<PIECES>())
    from_rgb_kernel(const wk_planes j)
{
    extern __shared__ __align__(128) char memory[];
    typedef large_tile<TAPS> x;
    typedef small_tile<PIECES, W> t;
    const unsigned weights = 2 * x::bytes, results = weights + x::terms * t::columns * CHUNK_BYTES;
    const unsigned tiles = j.x.places / ROWS, base = (unsigned)__cvta_generic_to_shared(memory);
    const piece<PIECES, W> p;
    clear(memory, 2 * x::bytes);
    wk_begin();
    copy_weights(j, results - weights, memory + weights);
    wk_columns<W> bias, total = {};
#pragma unroll
    for (int i = 0; i < W; i++)
        bias.v[i] = j.bias ? j.bias[p.channel + i] : 0.0f;
    __syncthreads(); // the images are clear
    pixels next;
    fetch_pixels<TAPS>(j.pixels, blockIdx.x, next);
    store_pixels<TAPS>(j.pixels, next, memory);
    unsigned now = 0; // where this tile's image is; the next one's is the other half
#pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        bool more = tile + gridDim.x < tiles;
        slopes<PIECES, W> y;
        float sum[PARTS][t::columns / 2] = {};
        wk_publish_shared();
        __syncthreads(); // this tile is there, and the last one's results were read
        if (more) fetch_pixels<TAPS>(j.pixels, tile + gridDim.x, next);
        y.fetch(j, p, tile);
        multiply_taps<TAPS, t::columns>(base + now, base + weights, sum);
        for (unsigned part = 0; part < PARTS; part++)
            stage_results<t::columns>(sum[part],
                                      (float *)(memory + results) + part * 64 * LINE(t::columns));
        now = x::bytes - now;
        if (more) store_pixels<TAPS>(j.pixels, next, memory + now);
        __syncthreads();
        store_lines<PIECES, W>(j, p, tile, y, bias, (float *)(memory + results), total);
    }
    if (j.totals) store_totals<PIECES, W>(j, p, total, (float *)(memory + results));
}

// Small to large, by kernels of 6 x 6. Copied are a tile's lines and the two before it; the first
// two places are the end of the line before those.
enum { REACH = 3, SMALL_LINES = LINES + REACH - 1, SMALL_BEFORE = REACH - 1 };
enum { SMALL_PITCH = ((SMALL_BEFORE + SMALL_LINES * WIDTH) | 1) * CHUNK_BYTES, RGB_COLUMNS = 16 };

// Where a chunk of the sum begins in the copy, in chunks.
static __device__ unsigned term_place(unsigned at, unsigned chunks)
{
    const wk_planes_chunk c = wk_planes_chunk_at(at, chunks, REACH * REACH, true);
    return c.chunk * (SMALL_PITCH / CHUNK_BYTES) + (REACH - 1 - c.tap / REACH) * WIDTH + REACH - 1 -
           c.tap % REACH;
}

template <int CHUNKS>
static __device__ void multiply_terms(unsigned image, unsigned weights,
                                      float (&sum)[PARTS][RGB_COLUMNS / 2])
{
    const unsigned steps = WK_PLANES_TERMS_OF(REACH * REACH, CHUNKS) / 16;
    uint64_t left = wk_operand(image, 0, COLUMN_BYTES);
    uint64_t right = wk_operand(weights, RGB_COLUMNS * CHUNK_BYTES, COLUMN_BYTES);
    wk_wgmma_begin();
#pragma unroll
    for (unsigned part = 0; part < PARTS; part++)
#pragma unroll
        for (unsigned k = 0; k < steps; k++) {
            unsigned first = term_place(2 * k, CHUNKS), second = term_place(2 * k + 1, CHUNKS);
            wk_wgmma<0, 0>(sum[part], left + part * 64 + (first | (second - first) << 16),
                           right + k * 2 * RGB_COLUMNS, k > 0);
        }
    wk_wgmma_commit();
    wk_wgmma_wait<0>();
#pragma unroll
    for (unsigned part = 0; part < PARTS; part++)
        wk_wgmma_hold(sum[part]);
}

// A thread has the four pixels of two neighbouring places in one line.
static __device__ void store_pixels_of(const wk_planes &j, unsigned tile, const float *results)
{
    unsigned down = threadIdx.x / 16 % 2, line = threadIdx.x / 32, place = threadIdx.x % 16 * 2;
    const float *from = results + (line * WIDTH + place) * LINE(RGB_COLUMNS) + down * 6;
    float v[12];
#pragma unroll
    for (int i = 0; i < 12; i += 2) {
        float2 two = *(const float2 *)(from + i / 6 * LINE(RGB_COLUMNS) + i % 6);
        v[i] = two.x + (j.bias ? j.bias[i % 3] : 0.0f);
        v[i + 1] = two.y + (j.bias ? j.bias[(i + 1) % 3] : 0.0f);
    }
    unsigned row = tile / TILES * WIDTH + tile % TILES * LINES + line;
    unsigned at = ((row * 2 + down) * 2 * WIDTH + place * 2) * 3;
#pragma unroll
    for (unsigned i = 0; i < 12; i += 4)
        j.out.put4((at + i) / 4, make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]));
}

template <int PIECES, int W>
static __global__ void __launch_bounds__(THREADS, at_once<PIECES>())
    to_rgb_kernel(const wk_planes j)
{
    extern __shared__ __align__(128) char memory[];
    const int chunks = small_tile<PIECES, W>::chunks, bytes = chunks * SMALL_PITCH;
    const unsigned terms = WK_PLANES_TERMS_OF(REACH * REACH, chunks) / 8;
    const unsigned weights = 2 * bytes, results = weights + terms * RGB_COLUMNS * CHUNK_BYTES;
    const unsigned tiles = j.x.places / ROWS, base = (unsigned)__cvta_generic_to_shared(memory);
    clear(memory, 2 * bytes);
    wk_begin();
    copy_weights(j, results - weights, memory + weights);
    __syncthreads(); // the images are clear
    unsigned now = 0, to = base + SMALL_BEFORE * CHUNK_BYTES;
    copy_small<PIECES, W>(j.x, blockIdx.x / TILES, (int)(blockIdx.x % TILES * LINES) - SMALL_BEFORE,
                          SMALL_LINES * WIDTH, SMALL_PITCH, to);
#pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        unsigned next = tile + gridDim.x;
        float sum[PARTS][RGB_COLUMNS / 2] = {};
        wk_copies_wait();
        wk_publish_shared();
        __syncthreads(); // this tile is there, and the last one's results were read
        if (next < tiles)
            copy_small<PIECES, W>(j.x, next / TILES, (int)(next % TILES * LINES) - SMALL_BEFORE,
                                  SMALL_LINES * WIDTH, SMALL_PITCH, to + bytes - now);
        multiply_terms<chunks>(base + now, base + weights, sum);
        now = bytes - now;
        for (unsigned part = 0; part < PARTS; part++)
            stage_results<RGB_COLUMNS>(sum[part],
                                       (float *)(memory + results) + part * 64 * LINE(RGB_COLUMNS));
        __syncthreads();
        store_pixels_of(j, tile, (float *)(memory + results));
    }
}

// The weights' gradient, as in conv_weights.cu: a block has all rows of the result.

enum { STEP = 16, WEIGHTS_PITCH = (ROWS | 1) * CHUNK_BYTES };

template <int TAPS, int COLUMNS>
static __device__ void multiply_places(unsigned image, uint64_t columns,
                                       const unsigned (&rows)[large_tile<TAPS>::row_tiles],
                                       float (&sum)[large_tile<TAPS>::row_tiles][COLUMNS / 2])
{
    const int high = large_tile<TAPS>::row_tiles, steps = high == 1 ? 4 : 2; // at once
#pragma unroll 1
    for (unsigned first = 0; first < ROWS / STEP; first += steps) {
        unsigned left[steps][high][4];
#pragma unroll
        for (int s = 0; s < steps; s++)
#pragma unroll
            for (int i = 0; i < high; i++)
                wk_load_rows(left[s][i], image + rows[i] + (first + s) * STEP * CHUNK_BYTES);
        wk_wgmma_begin();
#pragma unroll
        for (int s = 0; s < steps; s++)
#pragma unroll
            for (int i = 0; i < high; i++)
                wk_wgmma_rows<1>(sum[i], left[s][i], columns + (first + s) * STEP, 1);
        wk_wgmma_commit();
        wk_wgmma_wait<0>(); // before the registers are loaded again
    }
}

// Where a lane reads a chunk of rows: its quarter of the warp has the chunk or the next one, and
// the first or the last eight places of a step.
template <int TAPS> static __device__ unsigned lane_place(unsigned tile)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, quarter = lane / 8;
    unsigned at = min(tile * 8 + warp * 2 + quarter % 2, large_tile<TAPS>::terms - 1u);
    unsigned tap = at / 2, place = tap / TAPS * WIDTH + tap % TAPS + quarter / 2 * 8 + lane % 8;
    return at % 2 * large_tile<TAPS>::pitch + place * CHUNK_BYTES;
}

template <int TAPS, int COLUMNS>
static __device__ void store_sums(const wk_planes_weights &j,
                                  const float (&sum)[large_tile<TAPS>::row_tiles][COLUMNS / 2])
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned high = large_tile<TAPS>::terms * 8;
    wk_ptr<float> to = j.sums + (size_t)blockIdx.x * high * j.columns;
#pragma unroll
    for (int t = 0; t < large_tile<TAPS>::row_tiles; t++)
#pragma unroll
        for (unsigned i = 0; i < COLUMNS / 2; i += 2) {
            unsigned row = t * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
            unsigned column = i / 4 * 8 + lane % 4 * 2;
            if (row < high && column < j.columns)
                *(to + row * j.columns + column).at<float2>() =
                    make_float2(sum[t][i], sum[t][i + 1]);
        }
}

template <int TAPS, int PIECES, int W>
static __global__ void __launch_bounds__(THREADS, at_once<PIECES>())
    rgb_weights_kernel(const wk_planes_weights j)
{
    extern __shared__ __align__(128) char memory[];
    typedef large_tile<TAPS> x;
    const int columns = small_tile<PIECES, W>::columns;
    const unsigned bytes = x::bytes + columns / 8 * WEIGHTS_PITCH;
    const unsigned tiles = j.x.places / ROWS, base = (unsigned)__cvta_generic_to_shared(memory);
    unsigned rows[large_tile<TAPS>::row_tiles], now = 0;
#pragma unroll
    for (int i = 0; i < large_tile<TAPS>::row_tiles; i++)
        rows[i] = lane_place<TAPS>(i);
    float sum[large_tile<TAPS>::row_tiles][columns / 2] = {};
    clear(memory, 2 * bytes);
    wk_begin();
    __syncthreads(); // the images are clear
    pixels next;
    fetch_pixels<TAPS>(j.pixels, blockIdx.x, next);
    copy_small<PIECES, W>(j.small, blockIdx.x / TILES, (int)(blockIdx.x % TILES * LINES), ROWS,
                          WEIGHTS_PITCH, base + x::bytes);
    store_pixels<TAPS>(j.pixels, next, memory);
#pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        unsigned after = tile + gridDim.x;
        wk_copies_wait();
        wk_publish_shared();
        __syncthreads(); // this tile is there, and the other images are not read any more
        if (after < tiles) {
            fetch_pixels<TAPS>(j.pixels, after, next);
            copy_small<PIECES, W>(j.small, after / TILES, (int)(after % TILES * LINES), ROWS,
                                  WEIGHTS_PITCH, base + bytes - now + x::bytes);
        }
        uint64_t right = wk_operand(base + now + x::bytes, COLUMN_BYTES, WEIGHTS_PITCH);
        multiply_places<TAPS, columns>(base + now, right, rows, sum);
        now = bytes - now;
        if (after < tiles) store_pixels<TAPS>(j.pixels, next, memory + now);
    }
#pragma unroll
    for (int i = 0; i < large_tile<TAPS>::row_tiles; i++)
        wk_wgmma_hold(sum[i]);
    store_sums<TAPS, columns>(j, sum);
}

// Launching.

template <int TAPS, int PIECES, int W>
static void launch_from(const wk_cuda_call *c, const wk_planes *j, unsigned blocks)
{
    typedef small_tile<PIECES, W> t;
    unsigned bytes = 2 * large_tile<TAPS>::bytes +
                     large_tile<TAPS>::terms * t::columns * CHUNK_BYTES +
                     ROWS * LINE(t::columns) * sizeof(float);
    wk_launch_shared(c, from_rgb_kernel<TAPS, PIECES, W>, dim3(blocks), THREADS, bytes, *j);
}

template <int PIECES, int W>
static void launch_to(const wk_cuda_call *c, const wk_planes *j, unsigned blocks)
{
    const unsigned chunks = small_tile<PIECES, W>::chunks;
    unsigned bytes = 2 * chunks * SMALL_PITCH +
                     WK_PLANES_TERMS_OF(REACH * REACH, chunks) / 8 * RGB_COLUMNS * CHUNK_BYTES +
                     ROWS * LINE(RGB_COLUMNS) * sizeof(float);
    wk_launch_shared(c, to_rgb_kernel<PIECES, W>, dim3(blocks), THREADS, bytes, *j);
}

template <int TAPS, int PIECES, int W>
static void launch_weights(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks)
{
    unsigned bytes = large_tile<TAPS>::bytes + small_tile<PIECES, W>::columns / 8 * WEIGHTS_PITCH;
    wk_launch_shared(c, rgb_weights_kernel<TAPS, PIECES, W>, dim3(blocks), THREADS, 2 * bytes, *j);
}

template <int PIECES, int W>
static void launch(const wk_cuda_call *c, const wk_planes *j, bool transposed, unsigned blocks)
{
    if (transposed)
        launch_to<PIECES, W>(c, j, blocks);
    else if (j->p.taps[0] == 2)
        launch_from<2, PIECES, W>(c, j, blocks);
    else
        launch_from<3, PIECES, W>(c, j, blocks);
}

void wk_cuda_rgb(const wk_cuda_call *c, const wk_planes *j, bool transposed, unsigned channels,
                 unsigned blocks)
{
    if (channels == 12)
        launch<3, 4>(c, j, transposed, blocks);
    else if (channels == 24)
        launch<3, 8>(c, j, transposed, blocks);
    else
        launch<6, 8>(c, j, transposed, blocks);
}

template <int PIECES, int W>
static void launch_gradient(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks)
{
    if (j->p.taps[0] == 2)
        launch_weights<2, PIECES, W>(c, j, blocks);
    else
        launch_weights<3, PIECES, W>(c, j, blocks);
}

void wk_cuda_rgb_weights(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks)
{
    if (j->columns == 12)
        launch_gradient<3, 4>(c, j, blocks);
    else if (j->columns == 24)
        launch_gradient<3, 8>(c, j, blocks);
    else
        launch_gradient<6, 8>(c, j, blocks);
}
