// cuBLAS, loaded by the first call. Linked in the usual way, its two libraries would be mapped and
// relocated at every start of the program, whose commands mostly never see a GPU; that takes five
// times as long as the rest of such a command. Here are the functions that the backend calls, under
// their own names, each handing on to the library's; a function that is missing here does not link.
#include "tensor/cuda/runtime/backend.cuh"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#define TEXT(x) #x
#define NAME(library, version) library ".so." TEXT(version)

static const char *const blas = NAME("libcublas", CUBLAS_VER_MAJOR);
static const char *const cublas_lt = NAME("libcublasLt", CUBLAS_VER_MAJOR);

// The library's function, or NULL. A library that is loaded already is only looked up, which is
// short compared with any of these calls.
static void *find(const char *library, const char *name)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    return loaded ? dlsym(loaded, name) : NULL;
}

const char *wk_cublas_missing(void)
{
    if (!find(cublas_lt, "cublasLtCreate")) return cublas_lt;
    return find(blas, "cublasCreate_v2") ? NULL : blas;
}

template <class... P> static cublasStatus_t pass(const char *library, const char *name, P... with)
{
    auto function = (cublasStatus_t(*)(P...))find(library, name);
    return function ? function(with...) : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    auto function = (const char *(*)(cublasStatus_t))find(blas, __func__);
    return function ? function(status) : "its library is not found; see LD_LIBRARY_PATH";
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    return pass(blas, __func__, handle);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    return pass(blas, __func__, handle);
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    return pass(blas, __func__, handle, stream);
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size)
{
    return pass(blas, __func__, handle, workspace, size);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType a_type,
                                          int lda, long long int a_stride, const void *b,
                                          cudaDataType b_type, int ldb, long long int b_stride,
                                          const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long int c_stride, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    return pass(blas, __func__, handle, transa, transb, m, n, k, alpha, a, a_type, lda, a_stride, b,
                b_type, ldb, b_stride, beta, c, c_type, ldc, c_stride, count, compute, algo);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    return pass(cublas_lt, __func__, handle);
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return pass(cublas_lt, __func__, handle);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    return pass(cublas_lt, __func__, layout, type, rows, columns, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return pass(cublas_lt, __func__, layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void *value, size_t size)
{
    return pass(cublas_lt, __func__, layout, attribute, value, size);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *product, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    return pass(cublas_lt, __func__, product, compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product)
{
    return pass(cublas_lt, __func__, product);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t size)
{
    return pass(cublas_lt, __func__, product, attribute, value, size);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    return pass(cublas_lt, __func__, preference);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return pass(cublas_lt, __func__, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *value, size_t size)
{
    return pass(cublas_lt, __func__, preference, attribute, value, size);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    return pass(cublas_lt, __func__, handle, product, a, b, c, d, preference, asked, results,
                found);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout, const void *beta,
                              const void *c, cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo,
                              void *workspace, size_t size, cudaStream_t stream)
{
    return pass(cublas_lt, __func__, handle, product, alpha, a, a_layout, b, b_layout, beta, c,
                c_layout, d, d_layout, algo, workspace, size, stream);
}
