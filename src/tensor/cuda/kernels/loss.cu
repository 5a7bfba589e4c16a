// Losses, returns, the ensemble's disagreement, and images: each one pass over memory, by 16 bytes
// where addresses and lengths allow it. Views begin anywhere, so addresses are looked at.
#include "tensor/cuda/runtime/device.cuh"

static bool wide(wk_ptr<const void> x)
{
    return (uintptr_t)x % sizeof(float4) == 0;
}

// x as rows of columns; a target without x's stack is shared by it.
typedef struct error_sizes {
    unsigned count, rows, cols, target_rows; // rows: of all stacks
} error_sizes;

static error_sizes error_of(const wk_cuda_call *c)
{
    wk_shape x = wk_call_input_shape(c, 0);
    size_t count = wk_shape_count(x), target = wk_shape_count(wk_call_input_shape(c, 1));
    int axes = c->node->attrs.axes;
    size_t cols = wk_shape_split(x, x.rank - axes, axes).length;
    error_sizes e = {(unsigned)count, (unsigned)(count / cols), (unsigned)cols,
                     (unsigned)(target / cols)};
    return e;
}

enum { SHORT_ROW = 8 }; // by one thread

static __device__ float4 difference(float4 x, float4 target)
{
    return make_float4(x.x - target.x, x.y - target.y, x.z - target.z, x.w - target.w);
}

// A target, in numbers or as the bytes of an image.
typedef struct error_target {
    wk_ptr<const float> x;
    wk_ptr<const uint8_t> bytes; // or NULL

    __device__ float operator[](size_t i) const
    {
        return bytes ? wk_pixel(bytes[i]) : x[i];
    }

    __device__ float4 get4(size_t i) const
    {
        if (!bytes) return x.at<const float4>()[i];
        uchar4 v = bytes.at<const uchar4>()[i];
        return make_float4(wk_pixel(v.x), wk_pixel(v.y), wk_pixel(v.z), wk_pixel(v.w));
    }

    __device__ error_target operator+(size_t i) const
    {
        return {x ? x + i : NULL, bytes ? bytes + i : NULL};
    }

    bool aligned4() const
    {
        return wide(x) && (uintptr_t)bytes % sizeof(uchar4) == 0;
    }
} error_target;

static error_target target_of(const wk_cuda_call *c)
{
    wk_ptr<const uint8_t> bytes = wk_call_bytes(c, 1);
    return {bytes ? NULL : wk_call_in(c, 1), bytes};
}

static __device__ float row_error(unsigned cols, wk_in x, error_target target)
{
    float sum = 0;
    for (unsigned i = threadIdx.x; i < cols; i += WK_CUDA_THREADS) {
        float d = x[i] - target[i];
        sum += d * d;
    }
    return wk_block_sum(sum);
}

static __device__ float row_error_wide(unsigned quads, wk_in x, error_target target)
{
    float4 sum = make_float4(0, 0, 0, 0);
    for (unsigned i = threadIdx.x; i < quads; i += WK_CUDA_THREADS) {
        float4 d = difference(x.get4(i), target.get4(i));
        sum.x += d.x * d.x;
        sum.y += d.y * d.y;
        sum.z += d.z * d.z;
        sum.w += d.w * d.w;
    }
    return wk_block_sum((sum.x + sum.y) + (sum.z + sum.w));
}

void wk_cuda_call_half_squared_error(const wk_cuda_call *c)
{
    error_sizes e = error_of(c);
    wk_in x = wk_call_load(c, 0);
    error_target target = target_of(c);
    wk_ptr<float> y = wk_call_out(c, 0);
    if (e.cols <= SHORT_ROW) {
        wk_cuda_each(c, e.rows, [=] __device__(unsigned r) {
            float sum = 0;
            for (unsigned i = 0; i < e.cols; i++) {
                float d = x[(size_t)r * e.cols + i] - target[(r % e.target_rows) * e.cols + i];
                sum += d * d;
            }
            y[r] = 0.5f * sum;
        });
        return;
    }
    bool quads = e.cols % 4 == 0 && x.aligned4() && target.aligned4();
    wk_cuda_blocks(c, e.rows, [=] __device__(unsigned r) {
        wk_in row = x + (size_t)r * e.cols;
        error_target to = target + (size_t)(r % e.target_rows) * e.cols;
        float sum = quads ? row_error_wide(e.cols / 4, row, to) : row_error(e.cols, row, to);
        if (threadIdx.x == 0) y[r] = 0.5f * sum;
    });
}

void wk_cuda_call_half_squared_error_grad(const wk_cuda_call *c)
{
    error_sizes e = error_of(c);
    wk_in x = wk_call_load(c, 0);
    error_target target = target_of(c);
    wk_ptr<const float> dy = wk_call_in(c, 2);
    wk_out dx = wk_call_store(c, 0);
    unsigned targets = e.target_rows * e.cols;
    if (e.cols % 4 == 0 && x.aligned4() && target.aligned4() && dx.aligned4()) {
        wk_cuda_each(c, e.count / 4, [=] __device__(unsigned i) {
            float4 d = difference(x.get4(i), target.get4(i % (targets / 4)));
            float down = dy[i / (e.cols / 4)];
            dx.put4(i, make_float4(down * d.x, down * d.y, down * d.z, down * d.w));
        });
        return;
    }
    wk_cuda_each(c, e.count, [=] __device__(unsigned i) {
        dx[i] = dy[i / e.cols] * (x[i] - target[i % targets]);
    });
}

// Sizes of reward [S,H,N]; every column of N is a recurrence of its own.
typedef struct return_sizes {
    unsigned stacks, steps, rows;
    float discount, lambda;
} return_sizes;

static return_sizes returns_of(const wk_cuda_call *c)
{
    wk_shape reward = wk_call_input_shape(c, 0);
    return_sizes p = {(unsigned)(reward.rank == 3 ? reward.dim[0] : 1),
                      (unsigned)reward.dim[reward.rank - 2], (unsigned)reward.dim[reward.rank - 1],
                      c->node->attrs.lambda_return.discount, c->node->attrs.lambda_return.lambda};
    return p;
}

void wk_cuda_call_lambda_return(const wk_cuda_call *c)
{
    return_sizes p = returns_of(c);
    wk_ptr<const float> reward = wk_call_in(c, 0), value = wk_call_in(c, 1);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_each(c, (size_t)p.stacks * p.rows, [=] __device__(unsigned i) {
        unsigned s = i / p.rows, column = i % p.rows;
        size_t at = (size_t)s * p.steps * p.rows + column;
        const float *v = value + (size_t)s * (p.steps + 1) * p.rows + column;
        float rest = 1.0f - p.lambda, next = v[(size_t)p.steps * p.rows];
        for (unsigned t = p.steps; t-- > 0;) {
            size_t step = (size_t)t * p.rows;
            next = reward[at + step] + p.discount * (rest * v[step + p.rows] + p.lambda * next);
            y[at + step] = next;
        }
    });
}

void wk_cuda_call_lambda_return_grad(const wk_cuda_call *c)
{
    return_sizes p = returns_of(c);
    wk_ptr<const float> dy = wk_call_in(c, 0);
    wk_ptr<float> dreward = wk_call_out(c, 0), dvalue = wk_call_out(c, 1);
    wk_cuda_each(c, (size_t)p.stacks * p.rows, [=] __device__(unsigned i) {
        unsigned s = i / p.rows, column = i % p.rows;
        size_t at = (size_t)s * p.steps * p.rows + column;
        float *dv = dvalue + (size_t)s * (p.steps + 1) * p.rows + column;
        // The gradient of the return of step t, by itself and through the returns before it.
        float carry = 0, decay = p.discount * p.lambda;
        dv[0] = 0;
        for (unsigned t = 0; t < p.steps; t++) {
            size_t step = (size_t)t * p.rows;
            float share = t + 1 < p.steps ? p.discount * (1.0f - p.lambda) : p.discount;
            carry = dy[at + step] + decay * carry;
            dreward[at + step] = carry;
            dv[step + p.rows] = share * carry;
        }
    });
}

// Mean and variance over the members of one column; members are `step` apart.
typedef struct moments {
    float mean, variance;
} moments;

static __device__ moments moments_of(unsigned stacks, size_t step, wk_in x)
{
    float part = 1.0f / (float)stacks, sum = 0, squares = 0;
    for (unsigned s = 0; s < stacks; s++)
        sum += x[s * step];
    moments m = {sum * part, 0};
    for (unsigned s = 0; s < stacks; s++) {
        float d = x[s * step] - m.mean;
        squares += d * d;
    }
    m.variance = squares * part;
    return m;
}

// The same for four columns at once. An ensemble of the usual size is read once and held in
// registers, as differences from the mean.
enum { HELD = 10 };
typedef struct held {
    float4 v[HELD], variance;
} held;

static __device__ held hold(unsigned stacks, size_t step4, wk_in x, size_t i)
{
    float part = 1.0f / (float)stacks;
    float4 sum = make_float4(0, 0, 0, 0), none = sum;
    held h;
#pragma unroll
    for (unsigned s = 0; s < HELD; s++)
        h.v[s] = s < stacks ? x.get4(s * step4 + i) : none;
#pragma unroll
    for (unsigned s = 0; s < HELD; s++)
        sum = make_float4(sum.x + h.v[s].x, sum.y + h.v[s].y, sum.z + h.v[s].z, sum.w + h.v[s].w);
    float4 mean = make_float4(sum.x * part, sum.y * part, sum.z * part, sum.w * part);
    sum = none;
#pragma unroll
    for (unsigned s = 0; s < HELD; s++) {
        float4 d = h.v[s] = s < stacks ? difference(h.v[s], mean) : none;
        sum =
            make_float4(sum.x + d.x * d.x, sum.y + d.y * d.y, sum.z + d.z * d.z, sum.w + d.w * d.w);
    }
    h.variance = make_float4(sum.x * part, sum.y * part, sum.z * part, sum.w * part);
    return h;
}

// What the two directions share.
typedef struct spread {
    unsigned stacks, rows, cols;
    size_t step; // from member to member
    bool deviation, quads;
    float scale;
    wk_in x;
} spread;

static spread spread_of(const wk_cuda_call *c)
{
    wk_shape shape = wk_call_input_shape(c, 0);
    wk_rows r = wk_rows_of(shape, shape.dim[0]);
    spread p = {(unsigned)r.stacks,
                (unsigned)r.rows,
                (unsigned)r.cols,
                r.rows * r.cols,
                c->node->attrs.disagreement.kind == WK_DISAGREEMENT_STD,
                false,
                c->node->attrs.disagreement.scale,
                wk_call_load(c, 0)};
    p.quads = p.cols % 4 == 0 && p.stacks <= HELD && p.x.aligned4();
    return p;
}

static __device__ float spread_in(const spread &p, float variance)
{
    return p.deviation ? sqrtf(variance) : variance;
}

// The spread of eight neighbouring columns of bf16 numbers, added up: what all members have of them
// is in flight at once.
static __device__ float spread8(const spread &p, size_t i)
{
    const uint4 *x = p.x.bf16.at<const uint4>() + i;
    size_t step = p.step / 8;
    float part = 1.0f / (float)p.stacks, all = 0;
    uint4 v[HELD];
#pragma unroll
    for (unsigned s = 0; s < HELD; s++)
        v[s] = s < p.stacks ? x[s * step] : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 sum = make_float2(0, 0), squares = sum;
#pragma unroll
        for (unsigned s = 0; s < HELD; s++) {
            float2 one = wk_unpack_bf16((&v[s].x)[k]);
            sum = make_float2(sum.x + one.x, sum.y + one.y);
        }
        float2 mean = make_float2(sum.x * part, sum.y * part);
#pragma unroll
        for (unsigned s = 0; s < HELD; s++) {
            if (s >= p.stacks) break;
            float2 one = wk_unpack_bf16((&v[s].x)[k]);
            float dx = one.x - mean.x, dy = one.y - mean.y;
            squares = make_float2(squares.x + dx * dx, squares.y + dy * dy);
        }
        all += spread_in(p, squares.x * part) + spread_in(p, squares.y * part);
    }
    return all;
}

// A thread for every eight columns: a block for each row, or a warp where a row has few columns.
static void disagreement8(const wk_cuda_call *c, const spread &p, float scale, wk_ptr<float> y)
{
    enum { FEW = 128 };
    unsigned eights = p.cols / 8;
    if (eights <= FEW) {
        wk_cuda_warps(c, p.rows, [=] __device__(unsigned row, unsigned lane) {
            float sum = 0;
            for (unsigned i = lane; i < eights; i += 32)
                sum += spread8(p, (size_t)row * eights + i);
            sum = wk_warp_sum(sum);
            if (lane == 0) y[row] = scale * sum;
        });
        return;
    }
    wk_cuda_blocks(c, p.rows, [=] __device__(unsigned row) {
        float sum = 0;
        for (unsigned i = threadIdx.x; i < eights; i += WK_CUDA_THREADS)
            sum += spread8(p, (size_t)row * eights + i);
        sum = wk_block_sum(sum);
        if (threadIdx.x == 0) y[row] = scale * sum;
    });
}

void wk_cuda_call_disagreement(const wk_cuda_call *c)
{
    spread p = spread_of(c);
    float scale = p.scale / (float)p.cols;
    wk_ptr<float> y = wk_call_out(c, 0);
    if (p.x.bf16 && p.cols % 8 == 0 && p.stacks <= HELD && p.x.aligned8()) {
        disagreement8(c, p, scale, y);
        return;
    }
    wk_cuda_blocks(c, p.rows, [=] __device__(unsigned row) {
        float sum = 0;
        size_t at = (size_t)row * p.cols;
        if (p.quads)
            for (unsigned i = threadIdx.x; i < p.cols / 4; i += WK_CUDA_THREADS) {
                float4 v = hold(p.stacks, p.step / 4, p.x, at / 4 + i).variance;
                sum +=
                    spread_in(p, v.x) + spread_in(p, v.y) + spread_in(p, v.z) + spread_in(p, v.w);
            }
        else
            for (unsigned i = threadIdx.x; i < p.cols; i += WK_CUDA_THREADS)
                sum += spread_in(p, moments_of(p.stacks, p.step, p.x + (at + i)).variance);
        sum = wk_block_sum(sum);
        if (threadIdx.x == 0) y[row] = scale * sum;
    });
}

// d spread / d x_s = factor (x_s - mean): 2 / S for the variance, 1 / (S std) for the deviation.
static __device__ float spread_factor(const spread &p, float unit, float variance)
{
    if (!p.deviation) return 2.0f * unit;
    return variance > 0.0f ? unit / sqrtf(variance) : 0.0f;
}

static void disagreement_grad4(const wk_cuda_call *c, const spread &p, wk_ptr<const float> dy,
                               wk_out dx)
{
    unsigned cols4 = p.cols / 4;
    size_t step4 = p.step / 4;
    wk_cuda_each(c, step4, [=] __device__(unsigned i) {
        held h = hold(p.stacks, step4, p.x, i);
        float unit = p.scale * dy[i / cols4] / (float)p.cols / (float)p.stacks;
        float4 f =
            make_float4(spread_factor(p, unit, h.variance.x), spread_factor(p, unit, h.variance.y),
                        spread_factor(p, unit, h.variance.z), spread_factor(p, unit, h.variance.w));
#pragma unroll
        for (unsigned s = 0; s < HELD; s++)
            if (s < p.stacks)
                dx.put4(s * step4 + i, make_float4(f.x * h.v[s].x, f.y * h.v[s].y, f.z * h.v[s].z,
                                                   f.w * h.v[s].w));
    });
}

void wk_cuda_call_disagreement_grad(const wk_cuda_call *c)
{
    spread p = spread_of(c);
    wk_ptr<const float> dy = wk_call_in(c, 1);
    wk_out dx = wk_call_store(c, 0);
    if (p.quads && dx.aligned4()) {
        disagreement_grad4(c, p, dy, dx);
        return;
    }
    wk_cuda_each(c, p.step, [=] __device__(unsigned i) {
        moments m = moments_of(p.stacks, p.step, p.x + i);
        float unit = p.scale * dy[i / p.cols] / (float)p.cols / (float)p.stacks;
        float factor = spread_factor(p, unit, m.variance);
        for (unsigned s = 0; s < p.stacks; s++)
            dx[s * p.step + i] = factor * (p.x[s * p.step + i] - m.mean);
    });
}

void wk_cuda_call_image(const wk_cuda_call *c)
{
    size_t n = wk_call_count(c);
    wk_ptr<const uint8_t> x = wk_call_at<const uint8_t>(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    if (n % 4 == 0 && (uintptr_t)x % sizeof(uchar4) == 0) {
        wk_cuda_each(c, n / 4, [=] __device__(unsigned i) {
            uchar4 p = x.at<const uchar4>()[i];
            y.at<float4>()[i] =
                make_float4(wk_pixel(p.x), wk_pixel(p.y), wk_pixel(p.z), wk_pixel(p.w));
        });
        return;
    }
    wk_cuda_each(c, n, [=] __device__(unsigned i) { y[i] = wk_pixel(x[i]); });
}
