// Column sums in a fixed order, over values computed by a lambda: many gradients of row parameters
// are such sums.
#ifndef WK_TENSOR_CUDA_KERNELS_COLUMN_SUMS_CUH
#define WK_TENSOR_CUDA_KERNELS_COLUMN_SUMS_CUH

#include "tensor/cuda/runtime/device.cuh"

enum { WK_TILE_COLS = 32, WK_TILE_ROWS = 8 };

/// How the rows of each matrix are cut; the cut depends on the shape and the device alone.
typedef struct wk_column_cut {
    unsigned rows, cols, chunks, chunk_rows;
} wk_column_cut;

// Blocks that sums are cut into, for every multiprocessor.
enum { WK_COLUMN_BLOCKS = 8 };

static inline wk_column_cut wk_column_cut_of(const wk_cuda_call *c, size_t outer, size_t rows,
                                             size_t cols)
{
    size_t tiles = outer * ((cols + WK_TILE_COLS - 1) / WK_TILE_COLS);
    size_t wanted = WK_COLUMN_BLOCKS * (size_t)c->processors / tiles, limit = (rows + 63) / 64;
    size_t chunks = wanted < 1 ? 1 : wanted;
    if (chunks > limit) chunks = limit;
    size_t chunk_rows = (rows + chunks - 1) / chunks;
    wk_column_cut cut = {(unsigned)rows, (unsigned)cols,
                         (unsigned)((rows + chunk_rows - 1) / chunk_rows), (unsigned)chunk_rows};
    return cut;
}

// partial[outer][chunk][col] = scale * sum of value(row, col) over the rows of the chunk; rows are
// counted over all outer matrices.
template <class F>
__global__ void wk_columns_kernel(wk_column_cut cut, float scale, F value, wk_ptr<float> partial)
{
    __shared__ float part[WK_TILE_ROWS][WK_TILE_COLS + 1];
    wk_begin();
    unsigned col = blockIdx.x * WK_TILE_COLS + threadIdx.x;
    unsigned outer = blockIdx.y / cut.chunks, chunk = blockIdx.y % cut.chunks;
    unsigned begin = chunk * cut.chunk_rows, end = min(begin + cut.chunk_rows, cut.rows);
    float sum = 0;
    if (col < cut.cols)
        for (unsigned row = begin + threadIdx.y; row < end; row += WK_TILE_ROWS)
            sum += value(outer * cut.rows + row, col);
    part[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || col >= cut.cols) return;
    for (int i = 1; i < WK_TILE_ROWS; i++)
        sum += part[i][threadIdx.x];
    partial[(size_t)blockIdx.y * cut.cols + col] = scale * sum;
}

// y[outer][col] = sum of partial[outer][chunk][col] over the chunks. A block is as many columns
// wide as it has threads along x.
enum { WK_COLLECT = 512 };
static __global__ void wk_collect_kernel(unsigned chunks, unsigned cols,
                                         wk_ptr<const float> partial, wk_ptr<float> y)
{
    enum { PREFETCH = 16 }; // loads in flight
    __shared__ float part[WK_COLLECT];
    wk_begin();
    const unsigned high = blockDim.y;
    unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
    const float *from = partial + (size_t)blockIdx.y * chunks * cols + col;
    float sum = 0;
    for (unsigned k = threadIdx.y; col < cols && k < chunks; k += PREFETCH * high) {
        float v[PREFETCH];
#pragma unroll
        for (unsigned i = 0; i < PREFETCH; i++) {
            unsigned chunk = k + i * high;
            v[i] = chunk < chunks ? from[(size_t)chunk * cols] : 0.0f;
        }
#pragma unroll
        for (unsigned i = 0; i < PREFETCH; i++)
            sum += v[i];
    }
    part[at] = sum;
    for (unsigned left = high / 2; left > 0; left /= 2) {
        __syncthreads();
        if (threadIdx.y < left) part[at] += part[at + left * blockDim.x];
    }
    if (threadIdx.y == 0 && col < cols) y[(size_t)blockIdx.y * cols + col] = part[at];
}

/// y[outer][col] = sum of partial[outer][chunk][col] over the chunks: many chunks of few columns
/// are taken by narrow blocks.
static inline void wk_cuda_collect(const wk_cuda_call *c, size_t outer, unsigned chunks,
                                   unsigned cols, wk_ptr<const float> partial, wk_ptr<float> y)
{
    bool narrow = chunks >= 256 && outer * cols <= WK_COLUMN_BLOCKS * (size_t)c->processors;
    unsigned wide = narrow ? 8 : WK_TILE_COLS;
    wk_launch(c, wk_collect_kernel, dim3((cols + wide - 1) / wide, (unsigned)outer),
              dim3(wide, WK_COLLECT / wide), chunks, cols, partial, y);
}

// Four columns a thread. A block is `wide` threads along a row by `high` rows.
enum { WK_QUADS = 256, WK_QUADS_WIDE = 64 };
typedef struct wk_quad_cut {
    unsigned rows, quads, wide, high, chunks, chunk_rows;
} wk_quad_cut;

static inline wk_quad_cut wk_quad_cut_of(const wk_cuda_call *c, size_t outer, size_t rows,
                                         size_t quads)
{
    size_t wide = quads < WK_QUADS_WIDE ? quads : WK_QUADS_WIDE, high = WK_QUADS / wide;
    size_t tiles = outer * ((quads + wide - 1) / wide);
    size_t blocks = WK_COLUMN_BLOCKS * (size_t)c->processors;
    size_t wanted = (blocks + tiles - 1) / tiles, limit = (rows + 4 * high - 1) / (4 * high);
    size_t chunks = wanted < limit ? wanted : limit;
    size_t chunk_rows = (rows + chunks - 1) / chunks;
    wk_quad_cut cut = {(unsigned)rows,
                       (unsigned)quads,
                       (unsigned)wide,
                       (unsigned)high,
                       (unsigned)((rows + chunk_rows - 1) / chunk_rows),
                       (unsigned)chunk_rows};
    return cut;
}

// partial[outer][chunk][quad] = scale * sum of value(row, quad) over the rows of the chunk.
template <class F>
__global__ void wk_quads_kernel(wk_quad_cut cut, float scale, F value, wk_ptr<float4> partial)
{
    __shared__ float4 part[WK_QUADS];
    wk_begin();
    unsigned x = threadIdx.x % cut.wide, y = threadIdx.x / cut.wide;
    unsigned quad = blockIdx.x * cut.wide + x;
    unsigned outer = blockIdx.y / cut.chunks, chunk = blockIdx.y % cut.chunks;
    unsigned begin = chunk * cut.chunk_rows, end = min(begin + cut.chunk_rows, cut.rows);
    float4 sum = make_float4(0, 0, 0, 0);
    if (quad < cut.quads && y < cut.high)
        for (unsigned row = begin + y; row < end; row += cut.high) {
            float4 v = value(outer * cut.rows + row, quad);
            sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
        }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (y > 0 || quad >= cut.quads) return;
    for (unsigned i = 1; i < cut.high; i++) {
        float4 v = part[i * cut.wide + x];
        sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
    }
    partial[(size_t)blockIdx.y * cut.quads + quad] =
        make_float4(scale * sum.x, scale * sum.y, scale * sum.z, scale * sum.w);
}

/// As wk_cuda_columns, with value(row, quad) giving four neighbouring columns of `cols`, a multiple
/// of 4. With `fold` above 1 the columns are `fold` rows of cols / fold columns that are added too.
template <class F>
static void wk_cuda_quads(const wk_cuda_call *c, size_t outer, size_t rows, size_t cols,
                          size_t fold, float scale, F value, wk_ptr<float> y)
{
    wk_quad_cut cut = wk_quad_cut_of(c, outer, rows, cols / 4);
    dim3 grid((cut.quads + cut.wide - 1) / cut.wide, cut.chunks * (unsigned)outer);
    bool whole = cut.chunks * fold == 1 && (uintptr_t)y % sizeof(float4) == 0;
    wk_ptr<float> partial = whole ? y : wk_cuda_scratch_of<float>(c, outer * cut.chunks * cols);
    wk_launch(c, wk_quads_kernel<F>, grid, WK_QUADS, cut, scale, value, partial.as<float4>());
    if (whole) return;
    unsigned width = (unsigned)(cols / fold);
    wk_cuda_collect(c, outer, (unsigned)(cut.chunks * fold), width, partial, y);
}

/// y[o][col] = scale * sum over the rows of matrix o of value(row, col), value a __device__ lambda
/// that is called once for every element and may store something itself.
template <class F>
static void wk_cuda_columns(const wk_cuda_call *c, size_t outer, size_t rows, size_t cols,
                            float scale, F value, wk_ptr<float> y)
{
    wk_column_cut cut = wk_column_cut_of(c, outer, rows, cols);
    dim3 grid((unsigned)((cols + WK_TILE_COLS - 1) / WK_TILE_COLS), cut.chunks * (unsigned)outer);
    dim3 block(WK_TILE_COLS, WK_TILE_ROWS);
    wk_ptr<float> partial =
        cut.chunks > 1 ? wk_cuda_scratch_of<float>(c, outer * cut.chunks * cols) : y;
    wk_launch(c, wk_columns_kernel<F>, grid, block, cut, scale, value, partial);
    if (cut.chunks == 1) return;
    wk_cuda_collect(c, outer, cut.chunks, cut.cols, partial, y);
}

#endif
