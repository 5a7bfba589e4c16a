// Ops that write persistent tensors: the optimiser, copies, counters. What the CPU decides with a
// branch on the host is decided on the device, so that the whole update stays one launch.
#include "tensor/cuda/runtime/stream_context.cuh"

// The spans of one global norm, cut into pieces by their length: most are biases, too short for
// more than one.
enum { SPANS = 64, SPAN_PIECES = 256, SPAN_PIECE = 16 * WK_CUDA_THREADS };
typedef struct spans {
    unsigned spans;
    uint64_t wide; // a bit for each that is read by 16 bytes
    wk_ptr<const float> x[SPANS];
    unsigned count[SPANS];     // elements of one stack member
    unsigned first[SPANS + 1]; // of its pieces
} spans;

static unsigned pieces_of(size_t count)
{
    size_t pieces = (count + SPAN_PIECE - 1) / SPAN_PIECE;
    return pieces < 1 ? 1 : pieces > SPAN_PIECES ? SPAN_PIECES : (unsigned)pieces;
}

static __device__ inline float square(float x)
{
    return x * x;
}

static __device__ inline float square(float4 x)
{
    return (x.x * x.x + x.y * x.y) + (x.z * x.z + x.w * x.w);
}

// The sum of the squares of every `step`th of `count` vectors from `begin` on.
template <class T>
static __device__ inline float sum_squares(const T *x, unsigned begin, unsigned count,
                                           unsigned step)
{
    enum { PREFETCH = 4 }; // loads in flight
    float sum = 0;
    for (unsigned i = begin; i < count; i += PREFETCH * step) {
        T v[PREFETCH];
#pragma unroll
        for (unsigned k = 0; k < PREFETCH; k++)
            v[k] = i + k * step < count ? x[i + k * step] : T();
#pragma unroll
        for (unsigned k = 0; k < PREFETCH; k++)
            sum += square(v[k]);
    }
    return sum;
}

// partial[stack][piece]: blockIdx is (piece of these spans, stack).
static __global__ void squares_kernel(spans s, unsigned before, unsigned all, wk_ptr<float> partial)
{
    wk_begin();
    unsigned stack = blockIdx.y, span = 0;
    while (blockIdx.x >= s.first[span + 1])
        span++;
    unsigned count = s.count[span], piece = blockIdx.x - s.first[span];
    unsigned step = (s.first[span + 1] - s.first[span]) * WK_CUDA_THREADS;
    unsigned begin = piece * WK_CUDA_THREADS + threadIdx.x;
    const float *x = s.x[span] + (size_t)stack * count;
    float sum = s.wide >> span & 1 ? sum_squares((const float4 *)x, begin, count / 4, step)
                                   : sum_squares(x, begin, count, step);
    sum = wk_block_sum(sum);
    if (threadIdx.x == 0) partial[(size_t)stack * all + before + blockIdx.x] = sum;
}

// The length of input i in one stack member.
static size_t span_length(const wk_cuda_call *c, unsigned i)
{
    return wk_shape_count(wk_call_input_shape(c, (int)i)) / (size_t)c->node->attrs.stack;
}

static spans spans_of(const wk_cuda_call *c, unsigned begin, unsigned end)
{
    spans s = {};
    for (unsigned i = begin; i < end; i++) {
        unsigned at = s.spans++;
        s.x[at] = wk_call_in(c, (int)i);
        s.count[at] = (unsigned)span_length(c, i);
        bool wide = (uintptr_t)s.x[at] % sizeof(float4) == 0 && s.count[at] % 4 == 0;
        s.wide |= (uint64_t)wide << at;
        s.first[at + 1] = s.first[at] + pieces_of(s.count[at]);
    }
    return s;
}

void wk_cuda_call_global_norm(const wk_cuda_call *c)
{
    unsigned stacks = (unsigned)c->node->attrs.stack, inputs = (unsigned)c->node->input_count;
    unsigned pieces = 0, before = 0;
    for (unsigned i = 0; i < inputs; i++)
        pieces += pieces_of(span_length(c, i));
    wk_ptr<float> partial = wk_cuda_scratch_of<float>(c, (size_t)stacks * pieces);
    for (unsigned i = 0; i < inputs; i += SPANS) {
        spans s = spans_of(c, i, inputs - i < SPANS ? inputs : i + SPANS);
        wk_launch(c, squares_kernel, dim3(s.first[s.spans], stacks), WK_CUDA_THREADS, s, before,
                  pieces, partial);
        before += s.first[s.spans];
    }
    wk_ptr<float> norm = wk_call_out(c, 0);
    wk_cuda_blocks(c, stacks, [=] __device__(unsigned s) {
        float sum = 0;
        for (unsigned i = threadIdx.x; i < pieces; i += WK_CUDA_THREADS)
            sum += partial[(size_t)s * pieces + i];
        sum = wk_block_sum(sum);
        if (threadIdx.x == 0) norm[s] = sqrtf(sum);
    });
}

// What adam_begin hands to adam for each stack member, as floats: the norm (NaN says skip), the
// rate, and the number of the step in two exact halves.
enum { STEP_NORM, STEP_RATE, STEP_LOW, STEP_HIGH, STEP_FLOATS };
enum { STEP_LOW_BITS = 24 };

static __device__ float joint_norm(const float *norm, unsigned stacks)
{
    double sum = 0;
    for (unsigned s = 0; s < stacks; s++)
        sum += (double)norm[s] * (double)norm[s];
    return (float)sqrt(sum);
}

// Input i, which says whether the member of a population does nothing in this run; may be absent.
static wk_ptr<const uint64_t> idle_of(const wk_cuda_call *c, int i)
{
    return wk_call_at<const uint64_t>(c, i);
}

void wk_cuda_call_adam_begin(const wk_cuda_call *c)
{
    wk_ptr<const float> norm = wk_call_in(c, 0), rate = wk_call_in(c, 1);
    wk_ptr<uint64_t> states = wk_call_at<uint64_t>(c, 2);
    wk_ptr<const uint64_t> flag = wk_call_at<const uint64_t>(c, 3);
    wk_ptr<const uint64_t> idle = idle_of(c, 4);
    wk_ptr<float> steps = wk_call_out(c, 0);
    unsigned stacks = (unsigned)wk_call_output_shape(c, 0).dim[0];
    bool joint = c->node->attrs.adam.joint_clip;
    wk_cuda_each(c, stacks, [=] __device__(unsigned s) {
        float clipped = joint ? joint_norm(norm, stacks) : norm[s];
        bool rests = idle && *idle, skip = rests || !isfinite(clipped) || (flag && *flag);
        uint64_t *state = states + 2 * s;
        float *step = steps + STEP_FLOATS * s;
        state[skip] += !rests;
        step[STEP_NORM] = skip ? nanf("") : clipped;
        step[STEP_RATE] = *rate;
        step[STEP_LOW] = (float)(state[0] & ((1u << STEP_LOW_BITS) - 1));
        step[STEP_HIGH] = (float)(state[0] >> STEP_LOW_BITS);
    });
}

// The constants of one member's step, as the CPU computes them.
typedef struct adam_step {
    bool skip;
    float gradient_scale, keep, beta1, one_less_beta1, beta2, one_less_beta2, rate, v_scale, eps;
} adam_step;

static __device__ adam_step adam_step_of(wk_adam_config p, const float *step)
{
    adam_step j = {};
    float norm = step[STEP_NORM];
    j.skip = isnan(norm);
    double t = (double)step[STEP_LOW] + (double)step[STEP_HIGH] * (1u << STEP_LOW_BITS);
    bool clipped = p.clip > 0 && norm > p.clip;
    j.gradient_scale = clipped ? (float)((double)p.clip / (double)norm) : 1.0f;
    j.keep = (float)(1.0 - (double)p.decay);
    j.beta1 = p.beta1;
    j.one_less_beta1 = (float)(1.0 - (double)p.beta1);
    j.beta2 = p.beta2;
    j.one_less_beta2 = (float)(1.0 - (double)p.beta2);
    j.rate = (float)((double)step[STEP_RATE] / (1.0 - pow((double)p.beta1, t)));
    double v_scale = 1.0 / sqrt(1.0 - pow((double)p.beta2, t));
    j.v_scale = (float)v_scale;
    j.eps = p.keras_epsilon ? (float)((double)p.epsilon * v_scale) : p.epsilon;
    return j;
}

// The arrays of one node, and the first of the blocks that work on it.
typedef struct adam_arrays {
    wk_ptr<float> weight, m, v;
    wk_ptr<const float> gradient;
    unsigned count, first; // elements of one stack member
    bool wide;             // by 16 bytes
} adam_arrays;

// All nodes of an optimiser's step go into few launches; a block has a piece of one array.
enum { ADAM_ARRAYS = 64, ADAM_PIECE = 2048 };
typedef struct adam_job {
    unsigned arrays;
    adam_arrays item[ADAM_ARRAYS];
} adam_job;

static __device__ void adam_one(const adam_step &j, float gradient, float *m, float *v, float *w)
{
    float g = gradient * j.gradient_scale;
    *m = j.beta1 * *m + j.one_less_beta1 * g;
    *v = j.beta2 * *v + j.one_less_beta2 * (g * g);
    *w = *w * j.keep - j.rate * *m / (sqrtf(*v) * j.v_scale + j.eps);
}

static __device__ void adam_quad(const adam_step &j, const adam_arrays &a, size_t i)
{
    float4 g = a.gradient.at<const float4>()[i], m = a.m.at<float4>()[i];
    float4 v = a.v.at<float4>()[i], w = a.weight.at<float4>()[i];
    adam_one(j, g.x, &m.x, &v.x, &w.x);
    adam_one(j, g.y, &m.y, &v.y, &w.y);
    adam_one(j, g.z, &m.z, &v.z, &w.z);
    adam_one(j, g.w, &m.w, &v.w, &w.w);
    a.m.at<float4>()[i] = m;
    a.v.at<float4>()[i] = v;
    a.weight.at<float4>()[i] = w;
}

static __global__ void adam_kernel(wk_adam_config config, const __grid_constant__ adam_job job,
                                   wk_ptr<const float> steps)
{
    __shared__ adam_step j;
    wk_begin();
    if (threadIdx.x == 0) j = adam_step_of(config, steps + STEP_FLOATS * blockIdx.y);
    __syncthreads();
    if (j.skip) return;
    unsigned k = 0;
    while (k + 1 < job.arrays && job.item[k + 1].first <= blockIdx.x)
        k++;
    const adam_arrays &a = job.item[k];
    unsigned begin = (blockIdx.x - a.first) * ADAM_PIECE, end = min(begin + ADAM_PIECE, a.count);
    size_t at = (size_t)blockIdx.y * a.count;
    if (a.wide) {
#pragma unroll 2
        for (unsigned i = begin / 4 + threadIdx.x; i < end / 4; i += WK_CUDA_THREADS)
            adam_quad(j, a, at / 4 + i);
        return;
    }
    for (size_t i = at + begin + threadIdx.x; i < at + end; i += WK_CUDA_THREADS)
        adam_one(j, a.gradient[i], &a.m[i], &a.v[i], &a.weight[i]);
}

static adam_arrays arrays_of(const wk_cuda_call *c, unsigned stacks, unsigned first)
{
    unsigned count = (unsigned)(wk_shape_count(wk_call_input_shape(c, 0)) / stacks);
    adam_arrays a = {wk_call_at<float>(c, 0),
                     wk_call_at<float>(c, 1),
                     wk_call_at<float>(c, 2),
                     wk_call_in(c, 3),
                     count,
                     first};
    uintptr_t any = (uintptr_t)a.weight | (uintptr_t)a.m | (uintptr_t)a.v | (uintptr_t)a.gradient;
    a.wide = any % sizeof(float4) == 0 && count % 4 == 0;
    return a;
}

void wk_cuda_call_adam(const wk_cuda_call *c)
{
    unsigned stacks = (unsigned)wk_call_input_shape(c, 4).dim[0];
    adam_job job = {};
    unsigned blocks = 0;
    for (unsigned i = 0; i <= c->fused_next; i++) {
        adam_arrays a = arrays_of(c + i, stacks, blocks);
        job.item[job.arrays++] = a;
        blocks += (a.count + ADAM_PIECE - 1) / ADAM_PIECE;
        if (job.arrays < ADAM_ARRAYS && i < c->fused_next) continue;
        wk_launch(c, adam_kernel, dim3(blocks, stacks), WK_CUDA_THREADS, c->node->attrs.adam, job,
                  wk_call_in(c, 4));
        job.arrays = blocks = 0;
    }
}

// All threads that find one write the same word.
void wk_cuda_call_check_finite(const wk_cuda_call *c)
{
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_ptr<uint64_t> flag = wk_call_at<uint64_t>(c, 1);
    wk_cuda_each(c, wk_shape_count(wk_call_input_shape(c, 0)), [=] __device__(unsigned i) {
        if (!isfinite(x[i])) *flag = 1;
    });
}

static __device__ bool is_due(const uint64_t *counter, uint64_t period, const uint64_t *idle)
{
    return !counter || (*counter % period == 0 && !(idle && *idle));
}

// Copies bytes if `counter` is NULL or a multiple of the period; by words where they are whole.
static void store(const wk_cuda_call *c, wk_ptr<const uint64_t> counter, uint64_t period)
{
    wk_ptr<const uint64_t> idle = idle_of(c, 3);
    size_t size = wk_type_size(wk_info(c->g, wk_node_inputs(c->g, c->node)[0])->type);
    if (size % 4 == 0) {
        wk_ptr<uint32_t> to = wk_call_at<uint32_t>(c, 0);
        wk_ptr<const uint32_t> from = wk_call_at<const uint32_t>(c, 1);
        wk_cuda_each(c, size / 4, [=] __device__(unsigned i) {
            if (is_due(counter, period, idle)) to[i] = from[i];
        });
        return;
    }
    wk_ptr<uint8_t> to = wk_call_at<uint8_t>(c, 0);
    wk_ptr<const uint8_t> from = wk_call_at<const uint8_t>(c, 1);
    wk_cuda_each(c, size, [=] __device__(unsigned i) {
        if (is_due(counter, period, idle)) to[i] = from[i];
    });
}

void wk_cuda_call_store(const wk_cuda_call *c)
{
    store(c, NULL, 1);
}

void wk_cuda_call_store_every(const wk_cuda_call *c)
{
    store(c, wk_call_at<const uint64_t>(c, 2), c->node->attrs.period);
}

void wk_cuda_call_count(const wk_cuda_call *c)
{
    wk_ptr<uint64_t> counter = wk_call_at<uint64_t>(c, 0);
    uint64_t step = c->node->attrs.period;
    wk_ptr<const uint64_t> idle = idle_of(c, 1);
    wk_cuda_each(c, 1, [=] __device__(unsigned) { *counter += idle && *idle ? 0 : step; });
}
