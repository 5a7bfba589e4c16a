// Matrix products against a triple loop in double: all variants, shared operands, sums over
// stacks, odd and empty extents.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

typedef struct product {
    wk_matmul p;
    const float *a, *b;
    float *c;
} product;

RUN(run_product, product *x, wk_cpu_matmul(&x->p, x->a, x->b, x->c, pool))

static void reference(const wk_matmul *p, const float *a, const float *b, double *c)
{
    size_t row_a = p->transpose_a ? p->m : p->k;
    size_t row_b = p->transpose_b ? p->k : p->n;
    for (size_t s = 0; s < p->stacks; s++)
        for (size_t i = 0; i < p->m; i++)
            for (size_t j = 0; j < p->n; j++) {
                double *out = c + s * p->stride_c + i * p->n + j;
                double sum = p->accumulate || (p->stride_c == 0 && s > 0) ? *out : 0;
                for (size_t k = 0; k < p->k; k++)
                    sum +=
                        (double)
                            a[s * p->stride_a + (p->transpose_a ? k * row_a + i : i * row_a + k)] *
                        b[s * p->stride_b + (p->transpose_b ? j * row_b + k : k * row_b + j)];
                *out = sum;
            }
}

static void check_product(wk_matmul p, uint64_t seed)
{
    arrays arr = arrays_new(seed);
    size_t size_a = p.m * p.k, size_b = p.k * p.n, size_c = p.m * p.n;
    size_t n_a = (p.stride_a ? p.stacks : 1) * size_a, n_b = (p.stride_b ? p.stacks : 1) * size_b;
    size_t n_c = (p.stride_c ? p.stacks : 1) * size_c;
    if (p.stride_a) p.stride_a = size_a;
    if (p.stride_b) p.stride_b = size_b;
    if (p.stride_c) p.stride_c = size_c;
    float *a = new_input(&arr, n_a, -1, 1), *b = new_input(&arr, n_b, -1, 1);
    float *c = new_input(&arr, n_c, -1, 1);
    double *expected = exact_of(&arr, c, n_c);
    reference(&p, a, b, expected);
    product x = {p, a, b, c};
    kernel_call call = {run_product, &x, {{c, n_c}}};
    run_on_all_threads(&call);
    check_close("c", n_c, c, expected, 2e-6 * sqrt((double)p.k * (double)(p.stacks + 1)) + 1e-6,
                1e-6);
    arrays_release(&arr);
}

TEST_CASE(all_variants_match_a_triple_loop)
{
    size_t extents[][3] = {{1, 1, 1},   {7, 5, 3},     {16, 600, 37}, {1, 129, 64},
                           {53, 1, 31}, {130, 17, 71}, {3, 530, 2}};
    uint64_t seed = 1;
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int variant = 0; variant < 8; variant++) {
            wk_matmul p = {.stacks = 1,
                           .m = extents[e][0],
                           .n = extents[e][1],
                           .k = extents[e][2],
                           .transpose_a = variant & 1,
                           .transpose_b = variant & 2,
                           .accumulate = variant & 4};
            check_product(p, seed++);
        }
}

TEST_CASE(stacks_may_share_either_operand_or_be_summed)
{
    uint64_t seed = 100;
    for (int variant = 0; variant < 64; variant++) {
        wk_matmul p = {.stacks = 3,
                       .m = 13,
                       .n = 11,
                       .k = 7,
                       .transpose_a = variant & 1,
                       .transpose_b = variant & 2,
                       .accumulate = variant & 4,
                       .stride_a = variant & 8 ? 1 : 0,
                       .stride_b = variant & 16 ? 1 : 0,
                       .stride_c = variant & 32 ? 1 : 0};
        check_product(p, seed++);
    }
}

TEST_CASE(products_of_many_tiles_match_too)
{
    check_product((wk_matmul){.stacks = 1, .m = 900, .n = 1100, .k = 19}, 300);
    check_product((wk_matmul){.stacks = 1, .m = 5000, .n = 1, .k = 40}, 301);
    check_product((wk_matmul){.stacks = 1, .m = 1030, .n = 600, .k = 16, .transpose_a = true}, 302);
}

TEST_CASE(an_empty_sum_is_zero_and_empty_outputs_are_legal)
{
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        check_product((wk_matmul){.stacks = 2,
                                  .m = 3,
                                  .n = 4,
                                  .k = 0,
                                  .stride_a = 1,
                                  .stride_b = 1,
                                  .stride_c = 1,
                                  .accumulate = accumulate},
                      400);
        check_product((wk_matmul){.stacks = 1, .m = 0, .n = 4, .k = 2, .accumulate = accumulate},
                      401);
        check_product((wk_matmul){.stacks = 1, .m = 4, .n = 0, .k = 2, .accumulate = accumulate},
                      402);
    }
}

TEST_MAIN(NULL, NULL)
