// cuBLAS comes with its first call, not with the program, and gets what it is called with. Needs no
// GPU.
#include "support/check.h"

#ifdef BUILT_WITH_CUDA
#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_loaded(void)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, "libcublas.so");
    fclose(maps);
    return found;
}

static void the_first_call_loads_the_library(void **state)
{
    assert_false(is_loaded());
    assert_non_null(strstr(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED), "not supported"));
    assert_true(is_loaded());
}

// Without a GPU descriptors can be made, not used. One of an impossible type is refused.
static void arguments_and_results_pass_through(void **state)
{
    cublasLtMatmulDesc_t product = NULL;
    cublasLtMatrixLayout_t layout = NULL;
    int32_t op = CUBLAS_OP_T;
    assert_int_equal(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
    assert_non_null(product);
    assert_int_equal(
        cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op), 0);
    assert_int_equal(
        cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &op, sizeof op + 1),
        CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(cublasLtMatmulDescDestroy(product), 0);
    assert_int_equal(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 3, 4, 3), 0);
    assert_non_null(layout);
    assert_int_equal(cublasLtMatrixLayoutDestroy(layout), 0);
}
#else
static void the_first_call_loads_the_library(void **state)
{
    skip();
}

static void arguments_and_results_pass_through(void **state)
{
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_call_loads_the_library),
        cmocka_unit_test(arguments_and_results_pass_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
