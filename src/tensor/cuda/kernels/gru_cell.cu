// The GRU cell of bf16 products, for rows that share their parameters and need no gradients of
// them, as in imagination: a block for each row, four neighbouring units a thread, everything in
// registers from the load to the store. The exponentials are the fast ones, exact to some 1e-6.
// Faster than the general one in layer.cu.
#include "tensor/cuda/runtime/device.cuh"

// What the cell reads: pre [rows,3 hidden], parameters [3 hidden], h [rows,hidden].
typedef struct gru_cell {
    unsigned rows, hidden;
    wk_ptr<const float> pre, gate_bias, gain, offset, h;
} gru_cell;

enum { WARPS_MAX = WK_GRU_CELL_MAX / 128 };

static __device__ inline float sigmoid(float x)
{
    return __fdividef(1.0f, 1.0f + __expf(-x));
}

static __device__ inline float tangent(float x)
{
    return fmaf(2.0f, sigmoid(2.0f * x), -1.0f);
}

// The sums of two numbers over the block, the same in every thread.
static __device__ inline float2 block_sums(float a, float b)
{
    __shared__ float2 part[WARPS_MAX];
    float2 sum = make_float2(wk_warp_sum(a), wk_warp_sum(b));
    __syncthreads();
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = part[0];
    for (unsigned i = 1; i < blockDim.x / 32; i++)
        sum = make_float2(sum.x + part[i].x, sum.y + part[i].y);
    return sum;
}

struct four {
    float v[4];
};

static __device__ inline four load4(const float *x, unsigned quad)
{
    float4 v = ((const float4 *)x)[quad];
    return {{v.x, v.y, v.z, v.w}};
}

static __device__ inline float4 pack4(const four &x)
{
    return make_float4(x.v[0], x.v[1], x.v[2], x.v[3]);
}

// pre + gate bias of the three gates; zeros for a thread without units.
static __device__ inline void load_gates(const gru_cell &k, unsigned row, unsigned quad, bool real,
                                         four (&gate)[3])
{
#pragma unroll
    for (int j = 0; j < 3; j++) {
        gate[j] = {};
        if (!real) continue;
        unsigned at = j * (k.hidden / 4) + quad;
        gate[j] = load4(k.pre + (size_t)row * 3 * k.hidden, at);
        four bias = load4(k.gate_bias, at);
#pragma unroll
        for (int i = 0; i < 4; i++)
            gate[j].v[i] += bias.v[i];
    }
}

static __global__ void forward_kernel(gru_cell k, float epsilon, wk_out y, wk_ptr<float> means,
                                      wk_ptr<float> rstds)
{
    wk_begin();
    unsigned row = blockIdx.x, quad = threadIdx.x;
    bool real = quad < k.hidden / 4;
    four gate[3], h = {};
    load_gates(k, row, quad, real, gate);
    if (real) h = load4(k.h + (size_t)row * k.hidden, quad);
    float sum = 0, squares = 0, n = (float)(3 * k.hidden);
#pragma unroll
    for (int i = 0; i < 12; i++)
        sum += gate[i / 4].v[i % 4];
    float mean = block_sums(sum, 0).x / n;
#pragma unroll
    for (int i = 0; i < 12; i++) {
        float away = real ? gate[i / 4].v[i % 4] - mean : 0.0f;
        squares += away * away;
    }
    float rstd = 1.0f / sqrtf(block_sums(squares, 0).x / n + epsilon);
    if (threadIdx.x == 0) {
        means[row] = mean;
        rstds[row] = rstd;
    }
    if (!real) return;
#pragma unroll
    for (int j = 0; j < 3; j++) {
        four gain = load4(k.gain, j * (k.hidden / 4) + quad);
        four offset = load4(k.offset, j * (k.hidden / 4) + quad);
#pragma unroll
        for (int i = 0; i < 4; i++)
            gate[j].v[i] = (gate[j].v[i] - mean) * rstd * gain.v[i] + offset.v[i];
    }
    four result;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float reset = sigmoid(gate[0].v[i]), update = sigmoid(gate[2].v[i] - 1.0f);
        float candidate = tangent(reset * gate[1].v[i]);
        result.v[i] = update * candidate + (1.0f - update) * h.v[i];
    }
    y.put4((size_t)row * (k.hidden / 4) + quad, pack4(result));
}

static __global__ void backward_kernel(gru_cell k, wk_ptr<const float> means,
                                       wk_ptr<const float> rstds, wk_terms dy, wk_out dpre,
                                       wk_ptr<float> dh)
{
    wk_begin();
    unsigned row = blockIdx.x, quad = threadIdx.x;
    bool real = quad < k.hidden / 4;
    four normal[3], slope[3], h = {}, d = {};
    load_gates(k, row, quad, real, normal);
    size_t at = (size_t)row * k.hidden;
    if (real) {
        h = load4(k.h + at, quad);
        float4 v = dy.at4(row, 4 * quad);
        d = {{v.x, v.y, v.z, v.w}};
    }
    float mean = means[row], rstd = rstds[row], sum = 0, dot = 0;
    four parts[3], gain[3], direct;
#pragma unroll
    for (int j = 0; j < 3; j++) {
        gain[j] = {};
        four offset = {};
        if (real) {
            gain[j] = load4(k.gain, j * (k.hidden / 4) + quad);
            offset = load4(k.offset, j * (k.hidden / 4) + quad);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            normal[j].v[i] = (normal[j].v[i] - mean) * rstd;
            parts[j].v[i] = normal[j].v[i] * gain[j].v[i] + offset.v[i];
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float reset = sigmoid(parts[0].v[i]), update = sigmoid(parts[2].v[i] - 1.0f);
        float candidate = tangent(reset * parts[1].v[i]);
        float inner = d.v[i] * update * (1.0f - candidate * candidate);
        slope[0].v[i] = inner * parts[1].v[i] * reset * (1.0f - reset) * gain[0].v[i];
        slope[1].v[i] = inner * reset * gain[1].v[i];
        slope[2].v[i] = d.v[i] * (candidate - h.v[i]) * update * (1.0f - update) * gain[2].v[i];
        direct.v[i] = d.v[i] * (1.0f - update);
    }
#pragma unroll
    for (int i = 0; i < 12; i++) {
        sum += slope[i / 4].v[i % 4];
        dot += slope[i / 4].v[i % 4] * normal[i / 4].v[i % 4];
    }
    float2 sums = block_sums(sum, dot);
    float n = (float)(3 * k.hidden), average = sums.x / n, along = sums.y / n;
    if (!real) return;
    (dh + at).at<float4>()[quad] = pack4(direct);
#pragma unroll
    for (int j = 0; j < 3; j++) {
        four out;
#pragma unroll
        for (int i = 0; i < 4; i++)
            out.v[i] = rstd * (slope[j].v[i] - average - normal[j].v[i] * along);
        dpre.put4((size_t)row * 3 * (k.hidden / 4) + j * (k.hidden / 4) + quad, pack4(out));
    }
}

void wk_cuda_gru_cell(const wk_cuda_call *c)
{
    wk_rows r = wk_rows_of(wk_call_input_shape(c, 4), 1);
    gru_cell k = {(unsigned)r.rows, (unsigned)r.cols, wk_call_in(c, 0), wk_call_in(c, 1),
                  wk_call_in(c, 2), wk_call_in(c, 3), wk_call_in(c, 4)};
    unsigned threads = (k.hidden / 4 + 31) / 32 * 32;
    wk_out y = wk_call_store(c, 0);
    if (c->node->op == WK_OP_gru) {
        wk_ptr<float> means = wk_call_out(c, 1);
        wk_launch(c, forward_kernel, k.rows, threads, k, c->node->attrs.norm.epsilon, y, means,
                  means + k.rows);
        return;
    }
    wk_ptr<const float> means = wk_call_in(c, 5);
    wk_launch(c, backward_kernel, k.rows, threads, k, means, means + k.rows, wk_call_terms(c, 6), y,
              wk_call_out(c, 1));
}
