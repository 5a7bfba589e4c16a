// Adam with decoupled weight decay: every weight is multiplied by (1 - decay) before the step.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <assert.h>
#include <math.h>

// The step's constants, computed once in double.
typedef struct job {
    const float *grad;
    float *weight, *m, *v;
    float gradient_scale, keep; // clipping; 1 - decay
    float beta1, one_less_beta1, beta2, one_less_beta2;
    float rate, v_scale, eps; // rate / (1 - beta1^t); 1 / sqrt(1 - beta2^t)
} job;

WK_MULTI
static void step(const void *context, size_t begin, size_t end)
{
    const job j = *(const job *)context;
#pragma GCC ivdep
    for (size_t i = begin; i < end; i++) {
        float g = j.grad[i] * j.gradient_scale;
        float m = j.beta1 * j.m[i] + j.one_less_beta1 * g;
        float v = j.beta2 * j.v[i] + j.one_less_beta2 * (g * g);
        j.m[i] = m;
        j.v[i] = v;
        j.weight[i] = j.weight[i] * j.keep - j.rate * m / (__builtin_sqrtf(v) * j.v_scale + j.eps);
    }
}

void wk_cpu_adam(const wk_adam *p, size_t n, const float *norm, const float *grad, float *weight,
                 float *m, float *v, wk_pool *pool)
{
    assert(norm || p->clip == 0);
    if (norm && !isfinite(*norm)) return;
    assert(p->step >= 1);
    bool clipped = p->clip > 0 && (double)*norm > p->clip;
    double t = (double)p->step;
    job j = {.grad = grad,
             .weight = weight,
             .m = m,
             .v = v,
             .gradient_scale = clipped ? (float)(p->clip / (double)*norm) : 1.0f,
             .keep = (float)(1.0 - p->decay),
             .beta1 = (float)p->beta1,
             .one_less_beta1 = (float)(1.0 - p->beta1),
             .beta2 = (float)p->beta2,
             .one_less_beta2 = (float)(1.0 - p->beta2),
             .rate = (float)(p->rate / (1.0 - pow(p->beta1, t))),
             .v_scale = (float)(1.0 / sqrt(1.0 - pow(p->beta2, t))),
             .eps = (float)p->eps};
    wk_cpu_for(n, WK_GRAIN, step, &j, pool);
}
