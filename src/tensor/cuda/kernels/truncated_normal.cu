// The actor's truncated normal; the formulas are those of the CPU (truncated.h), a thread for each
// dimension, or for each row where dimensions are summed: rows have few.
#include "tensor/cuda/runtime/device.cuh"
#include "tensor/truncated.h"

// Rows and action dimensions of raw [..,2A].
typedef struct actions {
    unsigned rows, dims;
} actions;

static actions actions_of(const wk_cuda_call *c)
{
    wk_rows r = wk_rows_of(wk_call_input_shape(c, 0), 1);
    actions a = {(unsigned)r.rows, (unsigned)r.cols / 2};
    return a;
}

// Index in raw of element i's m; its s lies `dims` further.
static __device__ unsigned raw_at(unsigned dims, unsigned i)
{
    return i + i / dims * dims;
}

static __device__ wk_truncated load(const float *raw, unsigned dims, unsigned i)
{
    unsigned at = raw_at(dims, i);
    return wk_truncated_of(raw[at], raw[at + dims]);
}

static __device__ void store(float *draw, unsigned dims, unsigned i, wk_truncated t,
                             wk_truncated_grad d)
{
    unsigned at = raw_at(dims, i);
    d = wk_truncated_to_raw(t, d);
    draw[at] = d.mean;
    draw[at + dims] = d.std;
}

static __device__ float unit_at(wk_ptr<const uint64_t> key, wk_ptr<const uint64_t> counter,
                                unsigned i)
{
    return wk_unit_float(wk_random_word(*key, *counter, i));
}

void wk_cuda_call_truncated_normal_sample(const wk_cuda_call *c)
{
    actions a = actions_of(c);
    wk_ptr<const uint64_t> key = c->key, counter = wk_call_at<const uint64_t>(c, 1);
    wk_ptr<const float> raw = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_each(c, a.rows * a.dims, [=] __device__(unsigned i) {
        y[i] = wk_truncated_sample(load(raw, a.dims, i), unit_at(key, counter, i));
    });
}

void wk_cuda_call_truncated_normal_sample_grad(const wk_cuda_call *c)
{
    actions a = actions_of(c);
    wk_ptr<const uint64_t> key = c->key, counter = wk_call_at<const uint64_t>(c, 1);
    wk_ptr<const float> raw = wk_call_in(c, 0), dy = wk_call_in(c, 2);
    wk_ptr<float> draw = wk_call_out(c, 0);
    bool exact = c->node->attrs.random.gradient == WK_SAMPLE_EXACT;
    wk_cuda_each(c, a.rows * a.dims, [=] __device__(unsigned i) {
        wk_truncated t = load(raw, a.dims, i);
        float u = unit_at(key, counter, i), z = wk_truncated_standard(t.low, t.high, u);
        store(draw, a.dims, i, t,
              exact ? wk_truncated_standard_grad(t, z, u, dy[i])
                    : wk_truncated_location_scale_grad(z, dy[i]));
    });
}

void wk_cuda_call_truncated_normal_mode(const wk_cuda_call *c)
{
    actions a = actions_of(c);
    wk_ptr<const float> raw = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_each(c, a.rows * a.dims, [=] __device__(unsigned i) {
        y[i] = wk_truncated_clip(wk_tanhf(raw[raw_at(a.dims, i)]));
    });
}

void wk_cuda_call_truncated_normal_entropy(const wk_cuda_call *c)
{
    actions a = actions_of(c);
    wk_ptr<const float> raw = wk_call_in(c, 0);
    wk_ptr<float> y = wk_call_out(c, 0);
    wk_cuda_each(c, a.rows, [=] __device__(unsigned r) {
        float sum = 0;
        for (unsigned i = r * a.dims; i < (r + 1) * a.dims; i++)
            sum += wk_truncated_entropy(load(raw, a.dims, i));
        y[r] = sum;
    });
}

void wk_cuda_call_truncated_normal_entropy_grad(const wk_cuda_call *c)
{
    actions a = actions_of(c);
    wk_ptr<const float> raw = wk_call_in(c, 0), dy = wk_call_in(c, 1);
    wk_ptr<float> draw = wk_call_out(c, 0);
    wk_cuda_each(c, a.rows * a.dims, [=] __device__(unsigned i) {
        wk_truncated t = load(raw, a.dims, i);
        store(draw, a.dims, i, t, wk_truncated_entropy_grad(t, dy[i / a.dims]));
    });
}
