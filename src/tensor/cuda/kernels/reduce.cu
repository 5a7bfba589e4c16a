// Sums over rows, columns and everything.
#include "tensor/cuda/kernels/column_sums.cuh"

enum { SHORT_ROW = 1024, LONG_ROW = 16384, LONG_PIECE = 4096 };

// Whether a block for each row keeps the device busy.
static bool are_many(const wk_cuda_call *c, size_t rows)
{
    return rows >= 2 * (size_t)c->processors;
}

static void sum_columns(const wk_cuda_call *c, size_t outer, size_t rows, size_t cols, float scale,
                        wk_in x, wk_ptr<float> y)
{
    unsigned width = (unsigned)cols;
    // A few narrow columns are four rows wide instead.
    size_t fold = cols % 4 && rows % 4 == 0 && outer == 1 && cols < 4 * WK_QUADS_WIDE ? 4 : 1;
    if (cols * fold % 4 == 0 && x.aligned4()) {
        unsigned quads = (unsigned)(cols * fold / 4);
        wk_cuda_quads(
            c, outer, rows / fold, cols * fold, fold, scale,
            [=] __device__(unsigned row, unsigned quad) {
                return x.get4((size_t)row * quads + quad);
            },
            y);
        return;
    }
    wk_cuda_columns(
        c, outer, rows, cols, scale,
        [=] __device__(unsigned row, unsigned col) { return x[(size_t)row * width + col]; }, y);
}

void wk_cuda_column_sums(const wk_cuda_call *c, size_t outer, size_t rows, size_t cols, float scale,
                         wk_ptr<const float> x, wk_ptr<float> y)
{
    sum_columns(c, outer, rows, cols, scale, wk_in{x, NULL}, y);
}

// y[r] = scale * sum of value(r, col): a warp for a short row, a block for a long one.
template <class F>
static void sum_rows(const wk_cuda_call *c, size_t rows, size_t cols, float scale, F value,
                     wk_ptr<float> y)
{
    unsigned width = (unsigned)cols;
    if (cols <= SHORT_ROW && are_many(c, rows)) {
        wk_cuda_warps(c, rows, [=] __device__(unsigned row, unsigned lane) {
            float sum = 0;
            for (unsigned col = lane; col < width; col += 32)
                sum += value(row, col);
            sum = wk_warp_sum(sum);
            if (lane == 0) y[row] = scale * sum;
        });
        return;
    }
    wk_cuda_blocks(c, rows, [=] __device__(unsigned row) {
        float sum = 0;
        for (unsigned col = threadIdx.x; col < width; col += WK_CUDA_THREADS)
            sum += value(row, col);
        sum = wk_block_sum(sum);
        if (threadIdx.x == 0) y[row] = scale * sum;
    });
}

// Few very long rows are cut into pieces first.
void wk_cuda_row_sums(const wk_cuda_call *c, size_t rows, size_t cols, float scale,
                      wk_ptr<const float> x, wk_ptr<float> y)
{
    if (cols < LONG_ROW || are_many(c, rows)) {
        sum_rows(
            c, rows, cols, scale,
            [=] __device__(unsigned row, unsigned col) { return x[(size_t)row * cols + col]; }, y);
        return;
    }
    size_t pieces = (cols + LONG_PIECE - 1) / LONG_PIECE;
    wk_ptr<float> partial = wk_cuda_scratch_of<float>(c, rows * pieces);
    sum_rows(
        c, rows * pieces, LONG_PIECE, 1,
        [=] __device__(unsigned piece, unsigned i) {
            size_t row = piece / pieces, col = (piece % pieces) * LONG_PIECE + i;
            return col < cols ? x[row * cols + col] : 0.0f;
        },
        partial);
    wk_cuda_row_sums(c, rows, pieces, scale, partial, y);
}

void wk_cuda_call_reduce(const wk_cuda_call *c)
{
    wk_split from = wk_shape_split(wk_call_input_shape(c, 0), c->node->attrs.reduce.axis,
                                   c->node->attrs.reduce.axes);
    float scale = c->node->attrs.reduce.scale;
    if (from.inner == 1)
        wk_cuda_row_sums(c, from.outer, from.length, scale, wk_call_in(c, 0), wk_call_out(c, 0));
    else
        wk_cuda_column_sums(c, from.outer, from.length, from.inner, scale, wk_call_in(c, 0),
                            wk_call_out(c, 0));
}

void wk_cuda_call_column_sum(const wk_cuda_call *c)
{
    wk_rows r = wk_rows_of(wk_call_input_shape(c, 0), c->node->attrs.stack);
    sum_columns(c, r.stacks, r.rows, r.cols, 1, wk_call_load(c, 0), wk_call_out(c, 0));
}
