// The gradient of a convolution's weights in bf16 on capability 9.0. Images are seen as in conv.cu:
// with the places of the small image counted as those of the large image's planes, a tap's part of
// the gradient is the sum over places of the large image, so much further on, times the small one.
// So a block copies a tile of both once, and every 64 rows of the result (8 chunks of 8 channels,
// of any taps) are a product over its places: the chunks come from the copy through registers,
// which may begin anywhere, the columns as they lie.
//
// A block keeps its rows' sums in registers over all its tiles, and copies the next tile while it
// multiplies one. The sum over places is split (split-K): blocks sum some of the tiles, and their
// sums are added in order.
#include "tensor/cuda/hopper/conv.cuh"
#include "tensor/cuda/hopper/wgmma.cuh"

enum { WARPGROUP = 128, THREADS = WK_WEIGHTS_WARPGROUPS * WARPGROUP };
enum { STEP = 16 }; // places of an instruction
enum { CHUNK_BYTES = 16, HALO = WK_PLANES_HALO, ROWS = WK_PLANES_ROWS };

// Where the places of a tile begin.
typedef struct tables {
    unsigned x[ROWS + HALO], small[ROWS];
} tables;

// The warpgroup's part: its first rows in tiles of 64, and its places.
typedef struct part {
    unsigned first, places, place_warpgroups;
} part;

template <int TILES> static __device__ part part_of(const wk_planes_weights &j)
{
    unsigned warpgroup = threadIdx.x / WARPGROUP, rows = warpgroup % j.row_warpgroups;
    return {(blockIdx.y * j.row_warpgroups + rows) * TILES, warpgroup / j.row_warpgroups,
            WK_WEIGHTS_WARPGROUPS / j.row_warpgroups};
}

// Where a lane reads a chunk of rows in the copy: its quarter of the warp has the chunk or the next
// one, and the first or the last eight places of a step.
static __device__ unsigned lane_place(const wk_planes_weights &j, unsigned tile)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4, quarter = lane / 8;
    unsigned at = min(tile * 8 + warp * 2 + quarter % 2, j.chunks - 1); // beyond: dropped later
    unsigned tap = at / j.p.chunks, chunk = at % j.p.chunks;
    unsigned u = tap / j.p.taps[0], v = tap % j.p.taps[0];
    if (j.x.split == 2) {
        chunk += (u % 2 * 2 + v % 2) * j.p.chunks;
        u /= 2, v /= 2;
    }
    return chunk * j.p.pitch + (u * j.x.width + v + quarter / 2 * 8 + lane % 8) * CHUNK_BYTES;
}

static __device__ void locate(const wk_planes_weights &j, unsigned tile, tables *t)
{
    wk_locate_places<THREADS>(j.x, (int)(tile * ROWS), j.p.copied, t->x);
    wk_locate_places<THREADS>(j.small, (int)(tile * ROWS), ROWS, t->small);
}

static __device__ void copy(const wk_planes_weights &j, const tables *t, unsigned to)
{
    wk_copy_places<THREADS>(j.x, t->x, j.p.copied, j.p.pitch, to);
    wk_copy_places<THREADS>(j.small, t->small, ROWS, j.w.small_pitch, to + j.p.copied_bytes);
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int COLS, int TILES> struct sums {
    float v[TILES][COLS / 2];
};

template <int COLS, int TILES>
static __device__ void multiply(const part &a, const unsigned (&rows)[TILES], unsigned from,
                                uint64_t columns, sums<COLS, TILES> &sum)
{
#pragma unroll 1
    for (unsigned step = a.places; step < ROWS / STEP; step += a.place_warpgroups) {
        unsigned left[TILES][4];
#pragma unroll
        for (int i = 0; i < TILES; i++)
            wk_load_rows(left[i], from + rows[i] + step * STEP * CHUNK_BYTES);
        wk_wgmma_begin();
#pragma unroll
        for (int i = 0; i < TILES; i++)
            wk_wgmma_rows<1>(sum.v[i], left[i], columns + step * STEP, 1);
        wk_wgmma_commit();
        wk_wgmma_wait<0>(); // before the registers are loaded again
    }
}

template <int COLS, int TILES>
static __device__ void store(const wk_planes_weights &j, const part &a,
                             const sums<COLS, TILES> &sum)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    size_t split = blockIdx.x * a.place_warpgroups + a.places;
    wk_ptr<float> to = j.sums + split * j.chunks * 8 * j.columns;
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (unsigned i = 0; i < COLS / 2; i += 2) {
            unsigned row = (a.first + t) * 64 + warp * 16 + lane / 4 + i / 2 % 2 * 8;
            unsigned column = i / 4 * 8 + lane % 4 * 2;
            if (row < j.chunks * 8 && column < j.columns)
                *(to + (size_t)row * j.columns + column).at<float2>() =
                    make_float2(sum.v[t][i], sum.v[t][i + 1]);
        }
}

template <int COLS, int TILES>
static __global__ void __launch_bounds__(THREADS, 1) weights_kernel(const wk_planes_weights j)
{
    extern __shared__ __align__(128) char memory[];
    tables *t = (tables *)memory;
    unsigned from = (unsigned)__cvta_generic_to_shared(memory) + sizeof(tables);
    unsigned next = from + j.w.stage; // the other tile's images
    const part a = part_of<TILES>(j);
    unsigned rows[TILES];
#pragma unroll
    for (int i = 0; i < TILES; i++)
        rows[i] = lane_place(j, a.first + i);
    sums<COLS, TILES> sum = {};
#pragma unroll
    for (int i = 0; i < TILES; i++)
        wk_wgmma_hold(sum.v[i]);
    locate(j, blockIdx.x, t);
    __syncthreads();
    wk_begin();
    copy(j, t, from);
#pragma unroll 1
    for (unsigned tile = blockIdx.x; tile < j.tiles; tile += gridDim.x) {
        bool last = tile + gridDim.x >= j.tiles;
        __syncthreads(); // the table was read, and the other images are not any more
        if (!last) locate(j, tile + gridDim.x, t);
        __syncthreads();
        if (!last) copy(j, t, next);
        if (last)
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        else
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        wk_publish_shared();
        __syncthreads();
        uint64_t columns = wk_operand(from + j.p.copied_bytes, 8 * CHUNK_BYTES, j.w.small_pitch);
        multiply<COLS, TILES>(a, rows, from, columns, sum);
        unsigned swap = from;
        from = next, next = swap;
    }
#pragma unroll
    for (int i = 0; i < TILES; i++)
        wk_wgmma_hold(sum.v[i]);
    store<COLS, TILES>(j, a, sum);
}

template <int COLS, int TILES>
static void launch(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks,
                   unsigned row_blocks)
{
    static_assert(sizeof(tables) == (2 * ROWS + HALO) * sizeof(unsigned), "as in conv_sizes.c");
    wk_launch_shared(c, weights_kernel<COLS, TILES>, dim3(blocks, row_blocks), THREADS,
                     j->w.tables + 2 * j->w.stage, *j);
}

template <int COLS>
static void launch_tiles(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks,
                         unsigned row_blocks)
{
    switch (j->row_tiles) {
    case 1:
        return launch<COLS, 1>(c, j, blocks, row_blocks);
    case 2:
        return launch<COLS, 2>(c, j, blocks, row_blocks);
    case 3:
        return launch<COLS, 3>(c, j, blocks, row_blocks);
    default:
        return launch<COLS, 5>(c, j, blocks, row_blocks);
    }
}

void wk_cuda_planes_weights(const wk_cuda_call *c, const wk_planes_weights *j, unsigned blocks,
                            unsigned row_blocks)
{
    if (j->w.columns == 24)
        launch_tiles<24>(c, j, blocks, row_blocks);
    else
        launch_tiles<48>(c, j, blocks, row_blocks);
}
