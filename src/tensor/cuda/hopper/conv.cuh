// Parameters of the convolutions of capability 9.0; conv.cu explains planes and places.
#ifndef WK_TENSOR_CUDA_HOPPER_CONV_CUH
#define WK_TENSOR_CUDA_HOPPER_CONV_CUH

#include "tensor/cuda/kernels/conv.cuh"

/// An image in bf16 as planes of places. Offsets are in numbers.
typedef struct wk_planes_image {
    wk_ptr<const __nv_bfloat16> from;
    unsigned split;        // planes along each axis
    unsigned side;         // pixels along each axis, in all planes together
    unsigned plane_chunks; // chunks of 8 channels in a plane
    unsigned quads;        // fours of channels where the last chunk is half of one, else 0
    unsigned image, down, right, chunk, plane_down, plane_right; // from one to the next
    unsigned width, height, places;                              // of all images
    unsigned adjacent; // contiguous chunks of a place that neighbouring lanes copy
    wk_divisor by_width, by_height, by_across; // by_across: plane_chunks / adjacent
} wk_planes_image;

/// RGB pixels in the format that exists: numbers, or bytes of a lazy image.
typedef struct wk_pixels {
    wk_in numbers;
    wk_ptr<const uint8_t> bytes; // or NULL
} wk_pixels;

/// A convolution in either direction. Results are act(product + bias), or the product times the
/// slope of ELU at the layer's output.
typedef struct wk_planes {
    wk_planes_image x;
    wk_pixels
        pixels; // of RGB images as conv_rgb.cu reads them, which has no other x than its places
    // For each class, block of columns and stage: [terms / 8][columns][8], zeros where there are
    // none.
    wk_ptr<const __nv_bfloat16> weights;
    unsigned steps; // stages of a block
    wk_conv_planes p;
    unsigned result, result_c;         // the result's side and channels
    wk_divisor by_result_c, by_blocks; // by_blocks: of columns
    wk_ptr<const float> bias;
    bool elu, sloped;
    wk_in slope; // ELU's output where `sloped`
    wk_out out;
    // Column sums of each WK_PLANES_ROWS places [class][tile][column], or of each block of
    // conv_rgb.cu, or NULL.
    wk_ptr<float> totals;
} wk_planes;

/// Columns of a block.
static inline unsigned wk_planes_columns(const wk_planes *j)
{
    if (j->result_c == 3) return 16;
    bool forward = j->p.classes == 1 && !j->p.joined;
    if (forward && j->p.columns <= 24) return 24;
    if (j->p.columns <= 48) return 48;
    return j->p.columns <= 96 ? 96 : 192;
}

/// Terms of a stage.
#define WK_PLANES_DEPTH(columns) ((columns) > 96 ? 32 : 64)

void wk_cuda_planes(const wk_cuda_call *c, const wk_planes *j, bool transposed);

/// The gradient of a convolution's weights, large image times small image over all places.
typedef struct wk_planes_weights {
    wk_planes_image x, small; // the small image at the same places, zero beyond its edge
    wk_pixels pixels;         // as above
    wk_conv_planes p;
    wk_conv_weights w;
    unsigned chunks, columns; // of the result: rows in eights, and small_c
    unsigned tiles;           // of places, WK_PLANES_ROWS each
    // Rows of 64 that a warpgroup has, and warpgroups with rows of their own; the others have
    // other places.
    unsigned row_tiles, row_warpgroups;
    wk_ptr<float> sums; // [split][chunks * 8][columns]
} wk_planes_weights;

/// Warpgroups of a block.
enum { WK_WEIGHTS_WARPGROUPS = 3 };

/// Grid-stride over the tiles; a block has some of the rows.
void wk_cuda_planes_weights(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks,
                            unsigned row_blocks);

/// Both between RGB images of 64 x 64 pixels and small images of 12, 24 or 48 channels, grid-stride
/// over tiles of WK_PLANES_ROWS places.
void wk_cuda_rgb(const wk_cuda_call *c, const wk_planes *j, bool transposed, unsigned channels,
                 unsigned blocks);
void wk_cuda_rgb_weights(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks);

/// Places in a line of those, and blocks of a multiprocessor for up to 24 channels and for more.
enum { WK_RGB_WIDTH = 32, WK_RGB_NARROW = 5, WK_RGB_WIDE = 3 };

/// Which tap's chunk is number `at` of the sum; `real` is false for the one that fills the last
/// step.
typedef struct wk_planes_chunk {
    unsigned tap, chunk;
    bool real;
} wk_planes_chunk;

/// The order of the sum: tap after tap; with an odd number of chunks the last ones of two taps come
/// after the others of both, that of the lower place first: an instruction reads two chunks, the
/// second at a higher address. Taps go up in places large to small, and down small to large.
static __device__ inline wk_planes_chunk wk_planes_chunk_at(unsigned at, unsigned chunks,
                                                            unsigned taps, bool transposed)
{
    if (chunks % 2 == 0) return {at / chunks, at % chunks, at / chunks < taps};
    unsigned first = at / (2 * chunks) * 2, in = at % (2 * chunks), whole = chunks - 1;
    if (first + 1 >= taps) return {first, min(in, whole), first < taps && in < chunks};
    if (in < 2 * whole) return {first + in / whole, in % whole, true};
    return {first + ((in - 2 * whole) ^ transposed), whole, true};
}

/// Where a place lies.
static __device__ inline void wk_locate(const wk_planes_image &x, unsigned place, unsigned *image,
                                        unsigned *row, unsigned *column)
{
    unsigned line = wk_quotient(place, x.by_width);
    *column = place - line * x.width;
    *image = wk_quotient(line, x.by_height);
    *row = line - *image * x.height;
}

/// Begins to copy a chunk, or zeros, to shared memory. Where a place's channels are no whole chunks
/// (`QUADS`), places begin at 8 bytes and a chunk is two copies; `whole` says whether its second
/// half is there too, else it is zeros.
template <bool QUADS>
static __device__ inline void wk_copy_chunk(unsigned to, const __nv_bfloat16 *from, bool real,
                                            bool whole)
{
    if (QUADS) {
        int bytes = real ? 8 : 0, more = real && whole ? 8 : 0;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
                     "r"(bytes));
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to + 8), "l"(from + 4),
                     "r"(more));
        return;
    }
    int bytes = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

/// Begins to copy W numbers, 4 or 8, or zeros, to shared memory.
template <int W>
static __device__ inline void wk_copy_piece(unsigned to, const __nv_bfloat16 *from, bool real)
{
    if constexpr (W == 4) {
        int bytes = real ? 8 : 0;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from),
                     "r"(bytes));
    } else {
        wk_copy_chunk<false>(to, from, real, true);
    }
}

/// Waits for what this thread has begun to copy.
static __device__ inline void wk_copies_wait(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/// Loads rows of a product, as wk_wgmma_rows takes them, from chunks that run along the rows: a
/// lane says where 8 numbers begin.
static __device__ inline void wk_load_rows(unsigned (&r)[4], unsigned place)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(place)
                 : "memory");
}

/// What bits of a place's beginning say, which is a multiple of 4 below 2^31: that it is there, and
/// whether the planes of the lower row and of the right column have it too.
#define WK_PLACE 0x80000000u
#define WK_PLACE_BELOW 1u
#define WK_PLACE_RIGHT 2u
#define WK_PLACE_BITS (WK_PLACE | WK_PLACE_BELOW | WK_PLACE_RIGHT)

/// Where a place of the image begins, with its bits; 0 for places outside.
static __device__ inline unsigned wk_place_begin(const wk_planes_image &x, unsigned place)
{
    unsigned image, row, column;
    wk_locate(x, place, &image, &row, &column);
    if (place >= x.places || row * x.split >= x.side || column * x.split >= x.side) return 0;
    unsigned at = image * x.image + row * x.down + column * x.right;
    at |= row * x.split + 1 < x.side ? WK_PLACE_BELOW : 0;
    return at | (column * x.split + 1 < x.side ? WK_PLACE_RIGHT : 0) | WK_PLACE;
}

/// Finds the places of an image to copy, from `first` on; before the first there is none.
template <int THREADS>
static __device__ void wk_locate_places(const wk_planes_image &x, int first, unsigned count,
                                        unsigned *table)
{
    for (unsigned i = threadIdx.x; i < count; i += THREADS) {
        int place = first + (int)i;
        table[i] = place < 0 ? 0 : wk_place_begin(x, (unsigned)place);
    }
}

/// Begins to copy them to shared memory, `pitch` bytes from chunk to chunk. A warp copies
/// neighbouring places, which lie side by side there, and as many chunks of each (`adjacent`) as
/// fill sectors of global memory.
template <int THREADS, bool QUADS>
static __device__ void wk_copy_chunks(const wk_planes_image &x, const unsigned *table,
                                      unsigned count, unsigned pitch, unsigned to)
{
    unsigned lane = threadIdx.x % 32, plane = x.plane_chunks * pitch;
    unsigned high = 32 / x.adjacent, across = x.plane_chunks / x.adjacent;
    unsigned tasks = (count + high - 1) / high * across, row = lane / x.adjacent;
    for (unsigned task = threadIdx.x / 32; task < tasks; task += THREADS / 32) {
        unsigned strip = wk_quotient(task, x.by_across), at = strip * high + row;
        unsigned chunk = (task - strip * across) * x.adjacent + lane - row * x.adjacent;
        if (at >= count || row == high) continue;
        unsigned place = table[at], there = to + chunk * pitch + at * 16;
        const __nv_bfloat16 *from = x.from.at() + (place & ~WK_PLACE_BITS) + chunk * x.chunk;
        bool whole = 2 * chunk + 1 < x.quads;
        wk_copy_chunk<QUADS>(there, from, place, whole);
        if (x.split == 1) continue;
        bool below = place & WK_PLACE_BELOW, right = place & WK_PLACE_RIGHT;
        wk_copy_chunk<QUADS>(there + plane, from + x.plane_right, right, whole);
        wk_copy_chunk<QUADS>(there + 2 * plane, from + x.plane_down, below, whole);
        wk_copy_chunk<QUADS>(there + 3 * plane, from + x.plane_down + x.plane_right, below && right,
                             whole);
    }
}

template <int THREADS>
static __device__ void wk_copy_places(const wk_planes_image &x, const unsigned *table,
                                      unsigned count, unsigned pitch, unsigned to)
{
    if (x.quads)
        wk_copy_chunks<THREADS, true>(x, table, count, pitch, to);
    else
        wk_copy_chunks<THREADS, false>(x, table, count, pitch, to);
}

#endif
