// λ-returns, backwards through time; rows are independent and lie side by side.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include <assert.h>

enum { TILE = 1024 };

typedef struct job {
    const wk_lambda_return *p;
    const float *reward, *value, *dy;
    float *y, *dreward, *dvalue;
} job;

// y of step t from y of step t + 1 (`next`).
WK_INLINE void return_step(size_t n, float discount, float lambda, const float *reward,
                           const float *value, const float *next, float *y)
{
    float rest = 1.0f - lambda;
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        y[i] = reward[i] + discount * (rest * value[i] + lambda * next[i]);
}

WK_MULTI
static void forward_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t rows = j->p->rows, n = end - begin;
    const float *next = j->value + j->p->steps * rows + begin;
    for (size_t t = j->p->steps; t-- > 0;) {
        size_t at = t * rows + begin;
        return_step(n, j->p->discount, j->p->lambda, j->reward + at, j->value + at + rows, next,
                    j->y + at);
        next = j->y + at;
    }
}

void wk_cpu_lambda_return(const wk_lambda_return *p, const float *reward, const float *value,
                          float *y, wk_pool *pool)
{
    assert(p->steps >= 1);
    for (size_t s = 0; s < p->stacks; s++) {
        size_t at = s * p->steps * p->rows;
        job j = {.p = p,
                 .reward = reward + at,
                 .y = y + at,
                 .value = value + s * (p->steps + 1) * p->rows};
        wk_cpu_for(p->rows, TILE, forward_range, &j, pool);
    }
}

// `carry` is the gradient of the return of step t, by itself and through the returns before it.
WK_MULTI
static void backward_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    const wk_lambda_return *p = j->p;
    size_t n = end - begin;
    float carry[TILE] = {0}, decay = p->discount * p->lambda;
    for (size_t t = 0; t < p->steps; t++) {
        size_t at = t * p->rows + begin;
        float share = t + 1 < p->steps ? p->discount * (1.0f - p->lambda) : p->discount;
        for (size_t i = 0; i < n; i++)
            carry[i] = j->dy[at + i] + decay * carry[i];
        for (size_t i = 0; j->dreward && i < n; i++)
            j->dreward[at + i] = carry[i];
        for (size_t i = 0; j->dvalue && i < n; i++)
            j->dvalue[at + p->rows + i] = share * carry[i];
    }
    for (size_t i = begin; j->dvalue && i < end; i++)
        j->dvalue[i] = 0;
}

void wk_cpu_lambda_return_backward(const wk_lambda_return *p, const float *dy, float *dreward,
                                   float *dvalue, wk_pool *pool)
{
    assert(p->steps >= 1);
    for (size_t s = 0; s < p->stacks; s++) {
        size_t at = s * p->steps * p->rows;
        job j = {.p = p,
                 .dy = dy + at,
                 .dreward = dreward ? dreward + at : NULL,
                 .dvalue = dvalue ? dvalue + s * (p->steps + 1) * p->rows : NULL};
        wk_cpu_for(p->rows, TILE, backward_range, &j, pool);
    }
}
