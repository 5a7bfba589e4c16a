// Ops that work on each element alone.
#include "tensor/cuda/runtime/device.cuh"

void wk_cuda_copy(const wk_cuda_call *c, size_t n, wk_ptr<const float> x, wk_ptr<float> y)
{
    wk_cuda_each(c, n, [=] __device__(unsigned i) { y[i] = x[i]; });
}

void wk_cuda_call_add(const wk_cuda_call *c)
{
    wk_ptr<const float> a = wk_call_in(c, 0), b = wk_call_in(c, 1);
    wk_out y = wk_call_store(c, 0);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) { y[i] = a[i] + b[i]; });
}

void wk_cuda_call_mul(const wk_cuda_call *c)
{
    wk_ptr<const float> a = wk_call_in(c, 0), b = wk_call_in(c, 1);
    wk_out y = wk_call_store(c, 0);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) { y[i] = a[i] * b[i]; });
}

enum { TERMS = 64 };
typedef struct terms {
    int count;
    wk_ptr<const float> x[TERMS];
} terms;

static bool aligned4(wk_ptr<const void> x)
{
    return (uintptr_t)x % 16 == 0;
}

// Two to four tensors, four elements a thread; false if they do not begin at whole 16 bytes.
static bool add_few(const wk_cuda_call *c)
{
    wk_ptr<const float4> x[4] = {};
    int count = c->node->input_count;
    bool fits = count >= 2 && count <= 4 && wk_call_count(c) % 4 == 0;
    for (int i = 0; fits && i < count; i++) {
        x[i] = wk_call_at<const float4>(c, i);
        fits = aligned4(x[i]);
    }
    wk_out y = wk_call_store(c, 0);
    if (!fits || !y.aligned4()) return false;
    wk_ptr<const float4> a = x[0], b = x[1], d = x[2], e = x[3];
    wk_cuda_each(c, wk_call_count(c) / 4, [=] __device__(unsigned i) {
        float4 sum = a[i];
        const wk_ptr<const float4> more[3] = {b, d, e};
#pragma unroll
        for (int k = 0; k < 3; k++) {
            if (!more[k]) break;
            float4 v = more[k][i];
            sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
        }
        y.put4(i, sum);
    });
    return true;
}

// Adds up to TERMS tensors a launch, from first to last; y may be one of them.
void wk_cuda_call_add_n(const wk_cuda_call *c)
{
    if (add_few(c)) return;
    wk_ptr<float> partial = wk_call_out(c, 0);
    for (int next = 0; next < c->node->input_count;) {
        terms t = {};
        if (next > 0) t.x[t.count++] = partial;
        while (t.count < TERMS && next < c->node->input_count)
            t.x[t.count++] = wk_call_in(c, next++);
        bool last = next == c->node->input_count;
        wk_out y = last ? wk_call_store(c, 0) : wk_out{partial, NULL};
        wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
            float sum = t.x[0][i];
            for (int k = 1; k < t.count; k++)
                sum += t.x[k][i];
            y[i] = sum;
        });
    }
}

void wk_cuda_call_affine(const wk_cuda_call *c)
{
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_out y = wk_call_store(c, 0);
    float scale = c->node->attrs.affine.scale, offset = c->node->attrs.affine.offset;
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) { y[i] = scale * x[i] + offset; });
}

void wk_cuda_call_clamp_min(const wk_cuda_call *c)
{
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    float limit = c->node->attrs.floor;
    // This way round a NaN stays.
    wk_cuda_each(c, wk_call_count(c),
                 [=] __device__(unsigned i) { y[i] = x[i] < limit ? limit : x[i]; });
}

void wk_cuda_call_clamp_min_grad(const wk_cuda_call *c)
{
    wk_ptr<const float> dy = wk_call_in(c, 0), x = wk_call_in(c, 1);
    wk_ptr<float> dx = wk_call_out(c, 0);
    float limit = c->node->attrs.floor;
    wk_cuda_each(c, wk_call_count(c),
                 [=] __device__(unsigned i) { dx[i] = x[i] < limit ? 0.0f : dy[i]; });
}

void wk_cuda_call_scale_rows(const wk_cuda_call *c)
{
    wk_ptr<const float> x = wk_call_in(c, 0), weight = wk_call_in(c, 1);
    wk_out y = wk_call_store(c, 0);
    size_t rows = wk_shape_count(wk_call_input_shape(c, 1));
    unsigned cols = (unsigned)(wk_call_count(c) / rows);
    wk_cuda_each(c, wk_call_count(c),
                 [=] __device__(unsigned i) { y[i] = weight[i / cols] * x[i]; });
}
