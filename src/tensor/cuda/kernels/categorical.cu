// Uniform numbers and categorical variables: a warp for each variable. Variables have 16 to 32
// classes, so a lane mostly holds one class; the logits of longer ones are read again instead of
// kept.
//
// A draw must be the CPU's: the same function of the same bits, its sum over classes taken one by
// one. All other sums go by the warp's tree.
#include "tensor/cuda/runtime/device.cuh"
#include "tensor/vmath.h"

static __device__ void store_uniform(float *y, unsigned n, unsigned block, wk_u32x4 words,
                                     float low, float width)
{
    float u[4];
    for (int k = 0; k < 4; k++)
        u[k] = low + width * wk_unit_float(words.v[k]);
    if (4 * block + 4 <= n)
        ((float4 *)y)[block] = make_float4(u[0], u[1], u[2], u[3]);
    else
        for (unsigned i = 4 * block; i < n; i++)
            y[i] = u[i % 4];
}

void wk_cuda_call_uniform(const wk_cuda_call *c)
{
    unsigned n = (unsigned)wk_call_count(c);
    wk_ptr<const uint64_t> key = c->key;
    float low = c->node->attrs.random.low, width = c->node->attrs.random.high - low;
    wk_ptr<const uint64_t> counter = wk_call_at<const uint64_t>(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_each(c, (n + 3) / 4, [=] __device__(unsigned block) {
        wk_u32x4 words = wk_philox_at(*key, *counter, block);
        store_uniform(y, n, block, words, low, width);
    });
}

static __device__ float variable_max(unsigned n, const float *x, unsigned lane)
{
    float best = -INFINITY;
    for (unsigned i = lane; i < n; i += 32)
        best = fmaxf(best, x[i]);
    return wk_warp_max(best);
}

// The largest logit and the sum of exp(x - it): p_i = exp(x_i - max) / sum.
typedef struct normaliser {
    float max, sum;
} normaliser;

static __device__ normaliser normaliser_of(unsigned n, const float *x, unsigned lane)
{
    normaliser z = {variable_max(n, x, lane), 0};
    for (unsigned i = lane; i < n; i += 32)
        z.sum += wk_weightf(x[i] - z.max);
    z.sum = wk_warp_sum(z.sum);
    return z;
}

// Variables and classes of logits [..,C].
static wk_rows variables_of(const wk_cuda_call *c)
{
    return wk_rows_of(wk_call_input_shape(c, 0), 1);
}

void wk_cuda_call_softmax(const wk_cuda_call *c)
{
    wk_rows r = variables_of(c);
    unsigned n = (unsigned)r.cols;
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_warps(c, r.rows, [=] __device__(unsigned g, unsigned lane) {
        const float *from = x + (size_t)g * n;
        normaliser z = normaliser_of(n, from, lane);
        float scale = 1.0f / z.sum;
        for (unsigned i = lane; i < n; i += 32)
            y[(size_t)g * n + i] = wk_weightf(from[i] - z.max) * scale;
    });
}

// Variables whose classes come in fours, four a thread (WK_KERNEL_CLASS_QUADS): the lanes of a
// variable are neighbours, and a warp has as many variables as fit.

// Where a thread's four classes lie, counted from its row's or the tensor's beginning; `real` is
// false for lanes that are left over.
struct four_place {
    unsigned variable, quad;
    bool real;
};

static __device__ inline four_place place_of(unsigned warp, unsigned lane, unsigned lanes,
                                             unsigned variables)
{
    unsigned each = 32 / lanes, slot = lane / lanes, variable = warp * each + slot;
    return {variable, variable * lanes + (lane - slot * lanes),
            slot < each && variable < variables};
}

// Joins what the lanes of a variable have; the same in each.
template <class F> static __device__ inline float lane_join(float x, unsigned lanes, F join)
{
    if ((lanes & (lanes - 1)) == 0) {
        for (unsigned offset = lanes / 2; offset > 0; offset /= 2)
            x = join(x, __shfl_xor_sync(0xffffffffu, x, offset));
        return x;
    }
    unsigned first = threadIdx.x % 32 / lanes * lanes;
    float all = __shfl_sync(0xffffffffu, x, first);
    for (unsigned k = 1; k < lanes; k++)
        all = join(all, __shfl_sync(0xffffffffu, x, first + k));
    return all;
}

static __device__ inline float lane_sum(float x, unsigned lanes)
{
    return lane_join(x, lanes, [](float a, float b) { return a + b; });
}

static __device__ inline float lane_max(float x, unsigned lanes)
{
    return lane_join(x, lanes, [](float a, float b) { return fmaxf(a, b); });
}

static void softmax_grad4(const wk_cuda_call *c)
{
    wk_rows r = variables_of(c);
    wk_ptr<const float4> y = wk_call_in(c, 0).as<const float4>();
    wk_terms dy = wk_call_terms(c, 1);
    wk_out dx = wk_call_store(c, 0);
    unsigned lanes = (unsigned)r.cols / 4, variables = (unsigned)r.rows, each = 32 / lanes;
    wk_cuda_warps(c, (variables + each - 1) / each, [=] __device__(unsigned i, unsigned lane) {
        four_place at = place_of(i, lane, lanes, variables);
        float4 p = make_float4(0, 0, 0, 0), d = p;
        if (at.real) {
            p = y[at.quad];
            d = dy.get4(at.quad);
        }
        float dot = lane_sum(p.x * d.x + p.y * d.y + (p.z * d.z + p.w * d.w), lanes);
        if (at.real)
            dx.put4(at.quad, make_float4(p.x * (d.x - dot), p.y * (d.y - dot), p.z * (d.z - dot),
                                         p.w * (d.w - dot)));
    });
}

void wk_cuda_call_softmax_grad(const wk_cuda_call *c)
{
    wk_rows r = variables_of(c);
    unsigned n = (unsigned)r.cols;
    wk_ptr<const float> y = wk_call_in(c, 0);
    wk_terms dy = wk_call_terms(c, 1);
    wk_out dx = wk_call_store(c, 0);
    wk_cuda_warps(c, r.rows, [=] __device__(unsigned g, unsigned lane) {
        unsigned at = g * n;
        float dot = 0;
        for (unsigned i = lane; i < n; i += 32)
            dot += y[at + i] * dy[at + i];
        dot = wk_warp_sum(dot);
        for (unsigned i = lane; i < n; i += 32)
            dx[at + i] = y[at + i] * (dy[at + i] - dot);
    });
}

// Adds the lanes' weights to *sum one by one from lane 0; returns the sum up to this lane's own.
static __device__ float running_sum(float weight, unsigned lane, float *sum)
{
    float mine = 0;
#pragma unroll
    for (unsigned k = 0; k < 32; k++) {
        *sum += __shfl_sync(0xffffffffu, weight, k);
        if (k == lane) mine = *sum;
    }
    return mine;
}

// The weight of class i; a class beyond the last adds nothing.
static __device__ float weight_of(unsigned n, const float *x, float max, unsigned i)
{
    return i < n ? wk_weightf(x[i] - max) : 0.0f;
}

// How many of the warp's classes have their running sum below the threshold.
static __device__ int count_below(bool real, float sum, float threshold)
{
    return __popc(__ballot_sync(0xffffffffu, real && sum <= threshold));
}

// The rule of wk_cpu_sample_onehot.
static __device__ void sample_variable(unsigned n, const float *x, float u, wk_out onehot,
                                       float *probs, unsigned lane)
{
    float max = variable_max(n, x, lane), total = 0, sum = 0;
    unsigned drawn = 0;
    float weight = weight_of(n, x, max, lane), mine = running_sum(weight, lane, &total);
    if (n <= 32) {
        drawn = (unsigned)count_below(lane < n, mine, u * total);
    } else {
        for (unsigned i = lane + 32; i - lane < n; i += 32)
            running_sum(weight_of(n, x, max, i), lane, &total);
        for (unsigned i = lane; i - lane < n; i += 32) {
            mine = running_sum(weight_of(n, x, max, i), lane, &sum);
            drawn += (unsigned)count_below(i < n, mine, u * total);
        }
    }
    drawn = drawn < n ? drawn : n - 1; // n - 1: only for logits that are NaN
    float scale = 1.0f / total;
    for (unsigned i = lane; i < n; i += 32) {
        probs[i] = (n <= 32 ? weight : wk_weightf(x[i] - max)) * scale;
        onehot[i] = i == drawn ? 1.0f : 0.0f;
    }
}

// Many variables of N classes: a thread for each, which keeps its weights in registers. The block's
// logits come and go through shared memory, in rows that do not share banks. What is drawn is the
// same as by sample_variable.
enum { SAMPLERS = 64 };

template <unsigned N>
static __global__ void sample_kernel(unsigned variables, wk_ptr<const uint64_t> key,
                                     wk_ptr<const uint64_t> counter, wk_ptr<const float> x,
                                     wk_out onehot, wk_ptr<float> probs)
{
    __shared__ float row[SAMPLERS][N + 1];
    __shared__ unsigned drawn[SAMPLERS];
    wk_begin();
    unsigned first = blockIdx.x * SAMPLERS, count = min(variables - first, (unsigned)SAMPLERS) * N;
    size_t begin = (size_t)first * N;
    if (count == SAMPLERS * N) {
        float4 v[N / 4]; // all loads in flight at once
#pragma unroll
        for (unsigned k = 0; k < N / 4; k++)
            v[k] = (x + begin).at<const float4>()[threadIdx.x + k * SAMPLERS];
#pragma unroll
        for (unsigned k = 0; k < N / 4; k++) {
            unsigned i = 4 * (threadIdx.x + k * SAMPLERS);
            float *to = &row[i / N][i % N];
            to[0] = v[k].x;
            to[1] = v[k].y;
            to[2] = v[k].z;
            to[3] = v[k].w;
        }
    } else {
        for (unsigned i = threadIdx.x; i < count; i += SAMPLERS)
            row[i / N][i % N] = x[begin + i];
    }
    __syncthreads();
    unsigned g = first + threadIdx.x;
    if (g < variables) {
        float weight[N], max = -INFINITY, total = 0, sum = 0;
        unsigned below = 0;
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            max = fmaxf(max, weight[i] = row[threadIdx.x][i]);
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            total += weight[i] = wk_weightf(weight[i] - max);
        float threshold = wk_unit_float(wk_random_word(*key, *counter, g)) * total;
        float scale = 1.0f / total;
#pragma unroll
        for (unsigned i = 0; i < N; i++) {
            sum += weight[i];
            below += sum <= threshold;
            row[threadIdx.x][i] = weight[i] * scale;
        }
        drawn[threadIdx.x] = min(below, N - 1); // N - 1: only for logits that are NaN
    }
    __syncthreads();
    for (unsigned i = 4 * threadIdx.x; i < count; i += 4 * SAMPLERS) {
        const float *from = &row[i / N][i % N];
        unsigned one = drawn[i / N] - i % N; // of these four, or beyond them
        probs.at<float4>()[(begin + i) / 4] = make_float4(from[0], from[1], from[2], from[3]);
        onehot.put4((begin + i) / 4, make_float4(one == 0, one == 1, one == 2, one == 3));
    }
}

void wk_cuda_sample_many(const wk_cuda_call *c)
{
    wk_rows r = variables_of(c);
    void (*kernel)(unsigned, wk_ptr<const uint64_t>, wk_ptr<const uint64_t>, wk_ptr<const float>,
                   wk_out, wk_ptr<float>) = NULL;
#define MODEL(name, hidden, deter, variables, classes, forward, backward, together)                \
    if (r.cols == classes) kernel = sample_kernel<classes>;
#include "tensor/cuda/passes/model_sizes.def"
#undef MODEL
    assert(kernel);
    wk_launch(c, kernel, (unsigned)((r.rows + SAMPLERS - 1) / SAMPLERS), SAMPLERS, (unsigned)r.rows,
              c->key, wk_call_at<const uint64_t>(c, 1), wk_call_in(c, 0), wk_call_store(c, 0),
              wk_call_out(c, 1));
}

void wk_cuda_call_sample_onehot(const wk_cuda_call *c)
{
    wk_rows r = variables_of(c);
    unsigned n = (unsigned)r.cols;
    wk_ptr<const uint64_t> key = c->key;
    wk_ptr<const uint64_t> counter = wk_call_at<const uint64_t>(c, 1);
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_out onehot = wk_call_store(c, 0);
    wk_ptr<float> probs = wk_call_out(c, 1);
    wk_cuda_warps(c, r.rows, [=] __device__(unsigned g, unsigned lane) {
        size_t at = (size_t)g * n;
        float u = wk_unit_float(wk_random_word(*key, *counter, g));
        sample_variable(n, x + at, u, onehot + at, probs + at, lane);
    });
}

// The first class whose logit is the largest.
static __device__ unsigned variable_mode(unsigned n, const float *x, unsigned lane)
{
    float max = variable_max(n, x, lane);
    for (unsigned i = lane; i - lane < n; i += 32) {
        unsigned equal = __ballot_sync(0xffffffffu, i < n && x[i] == max);
        if (equal) return i - lane + (unsigned)__ffs((int)equal) - 1;
    }
    return 0; // only for logits that are NaN
}

void wk_cuda_call_mode_onehot(const wk_cuda_call *c)
{
    wk_rows r = variables_of(c);
    unsigned n = (unsigned)r.cols;
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_warps(c, r.rows, [=] __device__(unsigned g, unsigned lane) {
        size_t at = (size_t)g * n;
        unsigned mode = variable_mode(n, x + at, lane);
        for (unsigned i = lane; i < n; i += 32)
            y[at + i] = i == mode ? 1.0f : 0.0f;
    });
}

// Logits [..,V,C] as rows of V variables of C classes.
typedef struct categorical {
    unsigned rows, variables, classes;
} categorical;

static categorical categorical_of(const wk_cuda_call *c)
{
    wk_shape x = wk_call_input_shape(c, 0);
    size_t variables = (size_t)x.dim[x.rank - 2], classes = (size_t)x.dim[x.rank - 1];
    categorical k = {(unsigned)(wk_shape_count(x) / variables / classes), (unsigned)variables,
                     (unsigned)classes};
    return k;
}

// The sum of value(g) over the variables of a row: a block's warps take variables in turn, and
// their totals are added in order. The first thread has the result.
template <class F> static __device__ double sum_variables(unsigned variables, F value)
{
    enum { WARPS = WK_CUDA_THREADS / 32 };
    __shared__ double part[WARPS];
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    double total = 0;
    for (unsigned g = warp; g < variables; g += WARPS)
        total += value(g, lane);
    if (lane == 0) part[warp] = total;
    __syncthreads();
    if (threadIdx.x == 0)
        for (unsigned i = 1; i < WARPS; i++)
            total += part[i];
    return total;
}

static __device__ float variable_entropy(unsigned n, const float *x, unsigned lane)
{
    normaliser z = normaliser_of(n, x, lane);
    float scale = 1.0f / z.sum, shift = z.max + wk_logf(z.sum), sum = 0;
    for (unsigned i = lane; i < n; i += 32)
        sum += wk_weightf(x[i] - z.max) * scale * (x[i] - shift);
    return -wk_warp_sum(sum);
}

// A block takes a row of such variables.
static unsigned row_warps(categorical k)
{
    unsigned each = 32 / (k.classes / 4);
    return (k.variables + each - 1) / each;
}

// The block's row, and this thread's place in the tensor.
static __device__ inline four_place row_place(categorical k)
{
    unsigned lanes = k.classes / 4;
    four_place at = place_of(threadIdx.x / 32, threadIdx.x % 32, lanes, k.variables);
    at.quad += blockIdx.x * k.variables * lanes;
    return at;
}

struct four {
    float v[4];
};

static __device__ inline four load4(const float *x, const four_place &at)
{
    float4 v = make_float4(0, 0, 0, 0);
    if (at.real) v = ((const float4 *)x)[at.quad];
    return {{v.x, v.y, v.z, v.w}};
}

static __device__ inline void store4(float *x, const four_place &at, const four &v)
{
    if (at.real) ((float4 *)x)[at.quad] = make_float4(v.v[0], v.v[1], v.v[2], v.v[3]);
}

// Probabilities of this thread's four classes; log p_i = x_i - shift.
static __device__ inline four probabilities4(const four &x, unsigned lanes, float *shift)
{
    float max = fmaxf(fmaxf(x.v[0], x.v[1]), fmaxf(x.v[2], x.v[3])), sum = 0;
    max = lane_max(max, lanes);
    four p;
    for (int i = 0; i < 4; i++)
        sum += p.v[i] = wk_expf(x.v[i] - max);
    sum = lane_sum(sum, lanes);
    float scale = 1.0f / sum;
    for (int i = 0; i < 4; i++)
        p.v[i] *= scale;
    *shift = max + wk_logf(sum);
    return p;
}

// Adds up what the variables of a row have, variable after variable; `value` is the same in all
// lanes of one.
static __device__ inline void put_row(float *y, categorical k, const four_place &at, float value)
{
    __shared__ float part[WK_CLASS_QUADS_MAX];
    if (at.real && threadIdx.x % 32 % (k.classes / 4) == 0) part[at.variable] = value;
    __syncthreads();
    if (threadIdx.x > 0) return;
    double total = 0;
    for (unsigned g = 0; g < k.variables; g++)
        total += (double)part[g];
    y[blockIdx.x] = (float)total;
}

static __global__ void entropy4_kernel(categorical k, wk_ptr<const float> x, wk_ptr<float> y)
{
    wk_begin();
    unsigned lanes = k.classes / 4;
    four_place at = row_place(k);
    four v = load4(x, at);
    float shift, sum = 0;
    four p = probabilities4(v, lanes, &shift);
    for (int i = 0; i < 4; i++)
        sum += p.v[i] * (v.v[i] - shift);
    put_row(y, k, at, -lane_sum(sum, lanes));
}

// Both sides of a divergence for this thread's four classes: p, q and log p - log q.
static __device__ inline float divergence4(const float *post, const float *prior,
                                           const four_place &at, unsigned lanes, four *p, four *q,
                                           four *ratio)
{
    four a = load4(post, at), b = load4(prior, at);
    float post_shift, prior_shift, sum = 0;
    *p = probabilities4(a, lanes, &post_shift);
    *q = probabilities4(b, lanes, &prior_shift);
    for (int i = 0; i < 4; i++) {
        ratio->v[i] = (a.v[i] - b.v[i]) - (post_shift - prior_shift);
        sum += p->v[i] * ratio->v[i];
    }
    return lane_sum(sum, lanes);
}

static __global__ void kl4_kernel(categorical k, wk_ptr<const float> post,
                                  wk_ptr<const float> prior, wk_ptr<float> y)
{
    wk_begin();
    four p, q, ratio;
    four_place at = row_place(k);
    put_row(y, k, at, divergence4(post, prior, at, k.classes / 4, &p, &q, &ratio));
}

// The gradient for the logits of p, or of q.
static __global__ void kl4_grad_kernel(categorical k, bool of_post, wk_ptr<const float> post,
                                       wk_ptr<const float> prior, wk_ptr<const float> dy,
                                       wk_ptr<float> dx)
{
    wk_begin();
    four p, q, ratio, d;
    four_place at = row_place(k);
    float kl = divergence4(post, prior, at, k.classes / 4, &p, &q, &ratio), down = dy[blockIdx.x];
    for (int i = 0; i < 4; i++)
        d.v[i] = of_post ? down * p.v[i] * (ratio.v[i] - kl) : down * (q.v[i] - p.v[i]);
    store4(dx, at, d);
}

void wk_cuda_class_quads(const wk_cuda_call *c)
{
    wk_op op = c->node->op;
    if (op == WK_OP_softmax_grad) return softmax_grad4(c);
    categorical k = categorical_of(c);
    unsigned threads = 32 * row_warps(k);
    wk_ptr<float> y = wk_call_out(c, 0);
    if (op == WK_OP_entropy)
        wk_launch(c, entropy4_kernel, k.rows, threads, k, wk_call_in(c, 0), y);
    else if (op == WK_OP_kl)
        wk_launch(c, kl4_kernel, k.rows, threads, k, wk_call_in(c, 0), wk_call_in(c, 1), y);
    else
        wk_launch(c, kl4_grad_kernel, k.rows, threads, k, op == WK_OP_kl_dp, wk_call_in(c, 0),
                  wk_call_in(c, 1), wk_call_in(c, 2), y);
}

void wk_cuda_call_entropy(const wk_cuda_call *c)
{
    categorical k = categorical_of(c);
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_blocks(c, k.rows, [=] __device__(unsigned r) {
        const float *row = x + (size_t)r * k.variables * k.classes;
        double total = sum_variables(k.variables, [&](unsigned g, unsigned lane) {
            return variable_entropy(k.classes, row + (size_t)g * k.classes, lane);
        });
        if (threadIdx.x == 0) y[r] = (float)total;
    });
}

// Both sides of a divergence: p_i = exp(post_i - p.max) / p.sum, and log p_i - log q_i = (post_i -
// prior_i) - shift.
typedef struct divergence {
    normaliser p, q;
    float shift;
} divergence;

static __device__ divergence divergence_of(unsigned n, const float *post, const float *prior,
                                           unsigned lane)
{
    divergence d;
    d.p = normaliser_of(n, post, lane);
    d.q = normaliser_of(n, prior, lane);
    d.shift = (d.p.max + wk_logf(d.p.sum)) - (d.q.max + wk_logf(d.q.sum));
    return d;
}

static __device__ float variable_kl(unsigned n, const float *post, const float *prior, divergence d,
                                    unsigned lane)
{
    float scale = 1.0f / d.p.sum, sum = 0;
    for (unsigned i = lane; i < n; i += 32)
        sum += wk_weightf(post[i] - d.p.max) * scale * ((post[i] - prior[i]) - d.shift);
    return wk_warp_sum(sum);
}

void wk_cuda_call_kl(const wk_cuda_call *c)
{
    categorical k = categorical_of(c);
    wk_ptr<const float> post = wk_call_in(c, 0), prior = wk_call_in(c, 1);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_blocks(c, k.rows, [=] __device__(unsigned r) {
        double total = sum_variables(k.variables, [&](unsigned g, unsigned lane) {
            size_t at = ((size_t)r * k.variables + g) * k.classes;
            divergence d = divergence_of(k.classes, post + at, prior + at, lane);
            return variable_kl(k.classes, post + at, prior + at, d, lane);
        });
        if (threadIdx.x == 0) y[r] = (float)total;
    });
}

void wk_cuda_call_kl_dp(const wk_cuda_call *c)
{
    categorical k = categorical_of(c);
    unsigned n = k.classes;
    wk_ptr<const float> post = wk_call_in(c, 0), prior = wk_call_in(c, 1), dy = wk_call_in(c, 2);
    wk_ptr<float> dpost = wk_call_out(c, 0);
    wk_cuda_warps(c, (size_t)k.rows * k.variables, [=] __device__(unsigned g, unsigned lane) {
        size_t at = (size_t)g * n;
        divergence d = divergence_of(n, post + at, prior + at, lane);
        float kl = variable_kl(n, post + at, prior + at, d, lane), down = dy[g / k.variables];
        float scale = 1.0f / d.p.sum;
        for (size_t i = at + lane; i < at + n; i += 32) {
            float p = wk_weightf(post[i] - d.p.max) * scale;
            dpost[i] = down * p * (((post[i] - prior[i]) - d.shift) - kl);
        }
    });
}

void wk_cuda_call_kl_dq(const wk_cuda_call *c)
{
    categorical k = categorical_of(c);
    unsigned n = k.classes;
    wk_ptr<const float> post = wk_call_in(c, 0), prior = wk_call_in(c, 1), dy = wk_call_in(c, 2);
    wk_ptr<float> dprior = wk_call_out(c, 0);
    wk_cuda_warps(c, (size_t)k.rows * k.variables, [=] __device__(unsigned g, unsigned lane) {
        size_t at = (size_t)g * n;
        normaliser p = normaliser_of(n, post + at, lane), q = normaliser_of(n, prior + at, lane);
        float p_scale = 1.0f / p.sum, q_scale = 1.0f / q.sum, down = dy[g / k.variables];
        for (size_t i = at + lane; i < at + n; i += 32)
            dprior[i] = down * (wk_weightf(prior[i] - q.max) * q_scale -
                                wk_weightf(post[i] - p.max) * p_scale);
    });
}
