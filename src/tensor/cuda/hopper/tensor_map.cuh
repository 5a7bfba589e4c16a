// Tensor maps for TMA (capability 9.0).
#ifndef WK_TENSOR_CUDA_HOPPER_TENSOR_MAP_CUH
#define WK_TENSOR_CUDA_HOPPER_TENSOR_MAP_CUH

#include "tensor/cuda/hopper/gemm_tile.cuh"

typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_fn *find_encode(void)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                         cudaEnableDefault, &result);
    if (!error && result == cudaDriverEntryPointSuccess) return (encode_fn *)found;
    (void)cudaGetLastError();
    return NULL;
}

// Matrices [count][rows][cols] for TMA; out-of-bounds elements read as zero.
typedef struct operand_map {
    const __nv_bfloat16 *x;
    size_t count, rows, cols, row, stride;
    unsigned box_rows, box_cols;
} operand_map;

static inline CUtensorMapSwizzle swizzle_of(unsigned box_cols)
{
    switch (box_cols) {
    case K_BLOCK:
        return CU_TENSOR_MAP_SWIZZLE_128B;
    case N_BOX:
        return CU_TENSOR_MAP_SWIZZLE_64B;
    case K_STEP:
        return CU_TENSOR_MAP_SWIZZLE_32B;
    default:
        return CU_TENSOR_MAP_SWIZZLE_NONE;
    }
}

static bool encode(encode_fn *call, const operand_map *o, CUtensorMap *map)
{
    cuuint64_t dims[3] = {o->cols, o->rows, o->count};
    size_t stride = o->count > 1 ? o->stride : o->rows * o->row;
    cuuint64_t strides[2] = {o->row * sizeof *o->x, stride * sizeof *o->x};
    cuuint32_t box[3] = {o->box_cols, o->box_rows, 1}, steps[3] = {1, 1, 1};
    return call(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, (void *)o->x, dims, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(o->box_cols),
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// The same for fetch5, boxes of 4 * `columns` rows: first of `columns` neighbouring rows the first
// two, then of the `columns` after these, four times; then the next two of all these, and so on.
static inline bool encode_transposed(encode_fn *call, const operand_map *o, unsigned columns,
                                     CUtensorMap *map)
{
    size_t row = o->row * sizeof *o->x, stride = o->count > 1 ? o->stride : o->rows * o->row;
    cuuint64_t dims[5] = {o->cols, 2, o->rows / columns, columns / 2, o->count};
    cuuint64_t strides[4] = {row, columns * row, 2 * row, stride * sizeof *o->x};
    cuuint32_t box[5] = {o->box_cols, 2, 4, columns / 2, 1}, steps[5] = {1, 1, 1, 1, 1};
    return call(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 5, (void *)o->x, dims, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(o->box_cols),
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Puts a kernel of clusters that take tile after tile on the stream: as many as the device holds at
// once, or one for each tile. An error stays for cudaGetLastError.
template <class J>
static void launch_clusters(const wk_cuda_call *c, void (*kernel)(J), unsigned tiles,
                            unsigned threads, size_t bytes, const J &job)
{
    unsigned clusters = (unsigned)c->processors / CLUSTER;
    cudaLaunchAttribute attribute[2] = {};
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim = {CLUSTER, 1, 1};
    attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = CLUSTER * (tiles < clusters ? tiles : clusters);
    config.blockDim = threads;
    config.dynamicSmemBytes = bytes;
    config.stream = c->stream;
    config.attrs = attribute;
    config.numAttrs = c->programmatic ? 2 : 1;
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    (void)cudaLaunchKernelEx(&config, kernel, job);
}

// Whether copies of 16 bytes can begin there.
static inline bool aligned(const void *x)
{
    return (uintptr_t)x % 16 == 0;
}

#endif
