// Convolutions in bf16 on capability 9.0, in both directions. A block of threads copies the part of
// the images that its tile needs into shared memory once, and every tap of the kernel is a product
// that begins at another place of that copy: wgmma reads chunks of 8 channels of neighbouring
// places, wherever the first lies.
//
// For that, the pixels of all images are numbered through, which gives each its place: place =
// (image * height + row) * width + column, and the tap one below and one to the right is width + 1
// further on. Large to small, the image is seen as stride * stride planes of every other pixel
// (space-to-depth), in each of which neighbouring results read neighbouring places; results whose
// place lies beyond the small image's edge are made and dropped. Small to large, the places of the
// image have zeros between lines and between images, so that a tap to the left of a line finds the
// zeros after the previous line; results are the large pixels of one class (their coordinates
// modulo the stride), or of all classes side by side.
#include "tensor/cuda/hopper/conv_columns.cuh"
#include "tensor/cuda/hopper/wgmma.cuh"

enum { THREADS = 256, WARPGROUP = 128, ROWS = WK_PLANES_ROWS, CHUNK = 8, STAGES = 4 };
enum { CHUNK_BYTES = CHUNK * sizeof(__nv_bfloat16) };
#define OUTSIDE 0xffffffffu

// Weights in shared memory: `depth` terms of COLS columns a stage, as they were laid out before.
template <int COLS> struct tile {
    static const int depth = WK_PLANES_DEPTH(COLS);
    static const int pitch = COLS * CHUNK_BYTES; // from 8 terms to the next
    static const int stage = depth / CHUNK * pitch;
    static const int part = COLS > 96 ? 96 : COLS; // columns of one instruction
    static const int parts = COLS / part;
    static const int line = COLS + 4; // of the results
};

template <int COLS> struct sums {
    static const int part = COLS > 96 ? 96 : COLS;
    float v[COLS / part][part / 2];
};

// The beginning of shared memory, before the image and the weights.
typedef struct front {
    unsigned place[ROWS]; // where a row's results begin, with edges in its low bits, or OUTSIDE
    unsigned copied[ROWS + WK_PLANES_HALO]; // where the copied places begin
    // Where every 16 terms begin in the copy, in chunks, and how much further their second chunk
    // is: as an operand's description has them.
    uint4 terms[WK_PLANES_TERMS / 64];
    uint64_t full[STAGES], empty[STAGES];
} front;

// What a block works on.
typedef struct block_work {
    unsigned down, right; // TRANSPOSED: the class, or the first of all
    unsigned taps_down, taps_right;
    unsigned depth; // terms
    int first;      // the copy's first place
} block_work;

// A block's class of results, and its first column.
template <bool TRANSPOSED> static __device__ unsigned class_of(const wk_planes &j)
{
    return TRANSPOSED ? wk_quotient(blockIdx.y, j.by_blocks) : 0;
}

template <bool TRANSPOSED, int COLS> static __device__ unsigned first_column(const wk_planes &j)
{
    return (blockIdx.y - class_of<TRANSPOSED>(j) * j.by_blocks.value) * COLS;
}

template <bool TRANSPOSED> static __device__ block_work work_of(const wk_planes &j)
{
    block_work b = {};
    b.taps_down = j.p.taps[0], b.taps_right = j.p.taps[0];
    b.first = (int)(blockIdx.x * ROWS);
    if (TRANSPOSED) {
        b.down = class_of<TRANSPOSED>(j) / 2, b.right = class_of<TRANSPOSED>(j) % 2;
        b.taps_down = j.p.taps[b.down], b.taps_right = j.p.taps[b.right];
        b.first -= (int)((b.taps_down - 1) * j.x.width + b.taps_right - 1);
    }
    b.depth = WK_PLANES_TERMS_OF(b.taps_down * b.taps_right, j.p.chunks);
    return b;
}

// The first numbers of the tile's results.
template <bool TRANSPOSED> static __device__ void locate_results(const wk_planes &j, front *f)
{
    if (threadIdx.x >= ROWS) return;
    unsigned place = blockIdx.x * ROWS + threadIdx.x, image, row, column, at = OUTSIDE;
    wk_locate(j.x, place, &image, &row, &column);
    if (TRANSPOSED) row *= 2, column *= 2;
    if (place < j.x.places && row < j.result && column < j.result) {
        at = ((image * j.result + row) * j.result + column) * j.result_c;
        if (TRANSPOSED && j.result_c % WK_CONV_QUAD == 0)
            at |= (row + 1 < j.result ? 1 : 0) | (column + 1 < j.result ? 2 : 0);
    }
    f->place[threadIdx.x] = at;
}

// Where a chunk of the sum begins in the copy.
template <bool TRANSPOSED>
static __device__ unsigned chunk_place(const wk_planes &j, const block_work &b,
                                       const wk_planes_chunk &c)
{
    unsigned u = c.tap / b.taps_right, v = c.tap - u * b.taps_right, plane = 0;
    if (TRANSPOSED) {
        u = b.taps_down - 1 - u, v = b.taps_right - 1 - v;
    } else if (j.x.split == 2) {
        plane = u % 2 * 2 + v % 2;
        u /= 2, v /= 2;
    }
    unsigned chunk = plane * j.x.plane_chunks + c.chunk;
    return chunk * (j.p.pitch / CHUNK_BYTES) + u * j.x.width + v;
}

// Those of all stages. Beyond the last terms the weights are zero, and any images will do.
template <bool TRANSPOSED>
static __device__ void locate_terms(const wk_planes &j, const block_work &b, unsigned stages_terms,
                                    front *f)
{
    unsigned *terms = (unsigned *)f->terms, taps = b.taps_down * b.taps_right;
    for (unsigned i = threadIdx.x; i < stages_terms / 16; i += THREADS) {
        unsigned at = min(i * 2, b.depth / CHUNK - 2);
        unsigned first =
            chunk_place<TRANSPOSED>(j, b, wk_planes_chunk_at(at, j.p.chunks, taps, TRANSPOSED));
        unsigned second =
            chunk_place<TRANSPOSED>(j, b, wk_planes_chunk_at(at + 1, j.p.chunks, taps, TRANSPOSED));
        terms[i] = first | (second - first) << 16;
    }
}

// Multiplies a stage. `left` is the first operand's description, to which the terms' chunks are
// added.
template <int COLS>
static __device__ void multiply(const front *f, unsigned step, uint64_t left, unsigned weights,
                                sums<COLS> &sum)
{
    typedef tile<COLS> t;
    uint2 terms[2]; // of 64 or 32
    for (int i = 0; i < t::depth / 32; i++)
        terms[i] = ((const uint2 *)f->terms)[step * (t::depth / 32) + i];
    uint64_t right = wk_operand(weights, t::pitch, 128);
    wk_wgmma_begin();
#pragma unroll
    for (unsigned k = 0; k < t::depth / 16; k++) {
        unsigned at = k % 2 ? terms[k / 2].y : terms[k / 2].x;
#pragma unroll
        for (unsigned i = 0; i < t::parts; i++)
            wk_wgmma<0, 0>(sum.v[i], left + at, right + k * 2 * COLS + i * t::part, 1);
    }
    wk_wgmma_commit();
}

// Results leave the registers through shared memory.
template <int COLS> static __device__ void stage_results(const sums<COLS> &sum, float *to)
{
    typedef tile<COLS> t;
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *at = to + (warp * 16 + lane / 4) * t::line + lane % 4 * 2;
#pragma unroll
    for (int p = 0; p < t::parts; p++)
#pragma unroll
        for (int i = 0; i < t::part / 2; i += 2)
            *(float2 *)(at + i / 2 % 2 * 8 * t::line + p * t::part + i / 4 * 8) =
                make_float2(sum.v[p][i], sum.v[p][i + 1]);
}

// A thread's columns: where they begin in a row's results, and which edges they need.
typedef struct result_chunk {
    unsigned column, channel, offset, edges;
} result_chunk;

template <bool TRANSPOSED>
static __device__ result_chunk result_chunk_of(const wk_planes &j, unsigned column)
{
    result_chunk r = {column, column, column, 0};
    if (!TRANSPOSED) return r;
    unsigned down = class_of<TRANSPOSED>(j) / 2, right = class_of<TRANSPOSED>(j) % 2;
    if (j.p.joined) {
        unsigned index = wk_quotient(column, j.by_result_c);
        r.channel = column - index * j.result_c;
        down = index / 2, right = index % 2;
    }
    r.offset = (down * j.result + right) * j.result_c + r.channel;
    r.edges = down | right << 1;
    return r;
}

// Finishes and stores a thread's columns of every `high`-th row, and adds them up. Layer outputs
// for slopes are prefetched several rows ahead.
template <int COLS, int W>
static __device__ void store_rows(const wk_planes &j, const front *f, const result_chunk &r,
                                  unsigned first, const float *from, wk_columns<W> &total)
{
    const unsigned high = THREADS / (COLS / W), ahead = 4;
    wk_columns<W> bias;
#pragma unroll
    for (int i = 0; i < W; i++)
        bias.v[i] = j.bias ? j.bias[r.channel + i] : 0.0f;
#pragma unroll 1
    for (unsigned row = first; row < ROWS; row += ahead * high) {
        unsigned place[ahead];
        wk_columns<W> y[ahead];
#pragma unroll
        for (unsigned i = 0; i < ahead; i++) {
            unsigned at = row + i * high < ROWS ? f->place[row + i * high] : OUTSIDE;
            bool real = at != OUTSIDE && (at & r.edges) == r.edges;
            place[i] = real ? (at & ~3u) + r.offset : OUTSIDE;
            if (j.sloped && real) y[i] = wk_get_columns<W>(j.slope, place[i]);
        }
#pragma unroll
        for (unsigned i = 0; i < ahead; i++) {
            if (place[i] == OUTSIDE) continue;
            wk_columns<W> x = wk_load_columns<W>(from + (row + i * high) * tile<COLS>::line);
            wk_finish_columns(j, y[i], bias, x);
            wk_put_columns(j.out, place[i], x);
#pragma unroll
            for (int k = 0; k < W; k++)
                total.v[k] += x.v[k];
        }
    }
}

// Column sums of the tile, in a fixed order.
template <bool TRANSPOSED, int COLS, int W>
static __device__ void store_totals(const wk_planes &j, unsigned first, unsigned at,
                                    const wk_columns<W> &total, float *part)
{
    const unsigned high = THREADS / (COLS / W);
    __syncthreads();
    if (first < high)
#pragma unroll
        for (int i = 0; i < W; i++)
            part[first * COLS + at + i] = total.v[i];
    __syncthreads();
    unsigned column = first_column<TRANSPOSED, COLS>(j) + threadIdx.x;
    if (threadIdx.x >= COLS || column >= j.p.columns) return;
    float sum = 0;
    for (unsigned i = 0; i < high; i++)
        sum += part[i * COLS + threadIdx.x];
    j.totals[(size_t)(class_of<TRANSPOSED>(j) * gridDim.x + blockIdx.x) * j.p.columns + column] =
        sum;
}

// A thread has W columns, which belong to one pixel: four where its channels are no multiple of
// eight.
template <bool TRANSPOSED, int COLS, int W>
static __device__ void store(const wk_planes &j, const front *f, float *results)
{
    const unsigned across = COLS / W, high = THREADS / across;
    unsigned at = threadIdx.x % across * W, first = threadIdx.x / across;
    const result_chunk r = result_chunk_of<TRANSPOSED>(j, first_column<TRANSPOSED, COLS>(j) + at);
    wk_columns<W> total = {};
    if (first < high && r.column < j.p.columns)
        store_rows<COLS, W>(j, f, r, first, results + at, total);
    if (j.totals) store_totals<TRANSPOSED, COLS, W>(j, first, at, total, results);
}

// Three colours of four classes: two neighbouring pixels of a line are six numbers.
static __device__ void store_rgb(const wk_planes &j, const front *f, const float *from)
{
    const unsigned line = tile<16>::line;
    unsigned row = threadIdx.x / 2, down = threadIdx.x % 2, place = f->place[row];
    if (place == OUTSIDE) return;
    place += down * j.result * 3;
    float v[6];
#pragma unroll
    for (int i = 0; i < 6; i++)
        v[i] = from[row * line + down * 6 + i] + (j.bias ? j.bias[i % 3] : 0.0f);
#pragma unroll
    for (int i = 0; i < 6; i += 2) {
        if (j.out.x) *(j.out.x + place + i).at<float2>() = make_float2(v[i], v[i + 1]);
        if (j.out.bf16) *(j.out.bf16 + place + i).at<unsigned>() = wk_pack_bf16(v[i], v[i + 1]);
    }
}

// The ring of stages through which weights come to shared memory; one thread loads them.
typedef struct weight_ring {
    const __nv_bfloat16 *from;
    unsigned to, full, empty, steps;
} weight_ring;

template <int COLS>
static __device__ weight_ring weight_ring_of(const wk_planes &j, front *f, unsigned to)
{
    const size_t numbers = tile<COLS>::stage / sizeof(__nv_bfloat16);
    weight_ring s = {j.weights.at() + (size_t)blockIdx.y * j.steps * numbers, to,
                     (unsigned)__cvta_generic_to_shared(f->full),
                     (unsigned)__cvta_generic_to_shared(f->empty), j.steps};
    return s;
}

template <int COLS> static __device__ void load_stage(const weight_ring &s, unsigned step)
{
    const unsigned bytes = tile<COLS>::stage;
    wk_copy_bulk(s.to + step % STAGES * bytes, (const char *)s.from + (size_t)step * bytes, bytes,
                 s.full + step % STAGES * 8);
}

static __device__ void begin_barriers(const weight_ring &s)
{
    for (unsigned i = 0; i < STAGES; i++) {
        wk_barrier_init(s.full + i * 8, 1);
        wk_barrier_init(s.empty + i * 8, THREADS / 32);
    }
    wk_publish_shared();
}

// Blocks of a multiprocessor, as registers allow.
template <bool TRANSPOSED, int COLS> constexpr int at_once(void)
{
    return COLS <= 16 ? 6 : COLS > 96 ? 2 : COLS > 48 || (TRANSPOSED && COLS > 24) ? 3 : 4;
}

template <bool TRANSPOSED, int COLS>
static __global__ void __launch_bounds__(THREADS, at_once<TRANSPOSED, COLS>())
    planes_kernel(const wk_planes j)
{
    extern __shared__ __align__(128) char memory[];
    typedef tile<COLS> t;
    front *f = (front *)memory;
    const block_work b = work_of<TRANSPOSED>(j);
    unsigned images = (unsigned)__cvta_generic_to_shared(memory) + sizeof(front);
    unsigned steps = (b.depth + t::depth - 1) / t::depth;
    const weight_ring s = weight_ring_of<COLS>(j, f, images + j.p.copied_bytes);
    if (threadIdx.x == 0) begin_barriers(s);
    locate_results<TRANSPOSED>(j, f);
    locate_terms<TRANSPOSED>(j, b, steps * t::depth, f);
    wk_locate_places<THREADS>(j.x, b.first, j.p.copied, f->copied);
    __syncthreads();
    wk_begin();
    if (threadIdx.x == 0)
        for (unsigned step = 0; step < STAGES && step < steps; step++)
            load_stage<COLS>(s, step);
    wk_copy_places<THREADS>(j.x, f->copied, j.p.copied, j.p.pitch, images);
    wk_copies_wait();
    wk_publish_shared();
    __syncthreads();
    sums<COLS> sum = {};
    for (int i = 0; i < t::parts; i++)
        wk_wgmma_hold(sum.v[i]);
    uint64_t left = wk_operand(images + threadIdx.x / WARPGROUP * 64 * CHUNK_BYTES, 0, 128);
#pragma unroll 1
    for (unsigned step = 0; step < steps; step++) {
        unsigned at = step % STAGES, before = (step - 1) % STAGES;
        wk_barrier_wait(s.full + at * 8, step / STAGES % 2);
        multiply<COLS>(f, step, left, s.to + at * t::stage, sum);
        wk_wgmma_wait<1>();
        if (step == 0) continue;
        if (threadIdx.x % 32 == 0) wk_barrier_arrive(s.empty + before * 8);
        if (threadIdx.x == 0 && step - 1 + STAGES < steps) {
            wk_barrier_wait(s.empty + before * 8, (step - 1) / STAGES % 2);
            load_stage<COLS>(s, step - 1 + STAGES);
        }
        __syncwarp();
    }
    wk_wgmma_wait<0>();
    for (int i = 0; i < t::parts; i++)
        wk_wgmma_hold(sum.v[i]);
    __syncthreads();
    float *result = (float *)(memory + sizeof(front));
    stage_results<COLS>(sum, result);
    __syncthreads();
    if constexpr (COLS == 16)
        store_rgb(j, f, result);
    else if (j.result_c % CHUNK)
        store<TRANSPOSED, COLS, WK_CONV_QUAD>(j, f, result);
    else
        store<TRANSPOSED, COLS, CHUNK>(j, f, result);
}

template <bool TRANSPOSED, int COLS> static void launch(const wk_cuda_call *c, wk_planes j)
{
    typedef tile<COLS> t;
    unsigned blocks = (j.p.columns + COLS - 1) / COLS;
    j.by_blocks = wk_divisor_of(blocks);
    unsigned bytes = j.p.copied_bytes + STAGES * t::stage, results = ROWS * t::line * sizeof(float);
    wk_launch_shared(c, planes_kernel<TRANSPOSED, COLS>,
                     dim3((j.x.places + ROWS - 1) / ROWS, j.p.classes * blocks), THREADS,
                     sizeof(front) + (bytes > results ? bytes : results), j);
}

void wk_cuda_planes(const wk_cuda_call *c, const wk_planes *j, bool transposed)
{
    switch (wk_planes_columns(j)) {
    case 16: // of RGB images, which are large
        return launch<true, 16>(c, *j);
    case 24: // forward alone
        return launch<false, 24>(c, *j);
    case 48:
        return transposed ? launch<true, 48>(c, *j) : launch<false, 48>(c, *j);
    case 96:
        return transposed ? launch<true, 96>(c, *j) : launch<false, 96>(c, *j);
    default:
        return transposed ? launch<true, 192>(c, *j) : launch<false, 192>(c, *j);
    }
}
