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

// Matrices [count][rows][cols] of each member for TMA; out-of-bounds elements read as zero. The
// member is the last dimension: a map holds an address that no kernel can move.
typedef struct operand_map {
    wk_ptr<const __nv_bfloat16> x;
    size_t count, rows, cols, row, stride;
    unsigned box_rows, box_cols;
} operand_map;

// What a driver needs to make the maps of a call.
typedef struct map_maker {
    encode_fn *call;
    size_t members;
} map_maker;

static inline map_maker map_maker_of(const wk_cuda_call *c)
{
    return {find_encode(), (size_t)c->members};
}

enum { ELEMENT = sizeof(__nv_bfloat16) };

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

static bool encode(map_maker make, const operand_map *o, CUtensorMap *map)
{
    cuuint64_t dims[4] = {o->cols, o->rows, o->count, make.members};
    size_t stride = o->count > 1 ? o->stride : o->rows * o->row;
    cuuint64_t strides[3] = {o->row * ELEMENT, stride * ELEMENT, WK_MEMBER_STRIDE};
    cuuint32_t box[4] = {o->box_cols, o->box_rows, 1, 1}, steps[4] = {1, 1, 1, 1};
    return make.call(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, (void *)o->x.base, dims, strides,
                     box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(o->box_cols),
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// As encode, for fetch5. A box has the rows of four neighbouring blocks of `columns` rows, in
// pairs: the first two rows of each block, then the next two of each, and so on. The matrices of a
// stack follow each other and count as one: where a box goes on beyond the last row of one, the
// columns of the product that it makes are dropped.
static inline bool encode_transposed(map_maker make, const operand_map *o, unsigned columns,
                                     CUtensorMap *map)
{
    size_t row = o->row * ELEMENT;
    assert(o->rows % columns == 0 && (o->count == 1 || o->stride == o->rows * o->row));
    cuuint64_t dims[5] = {o->cols, 2, o->count * o->rows / columns, columns / 2, make.members};
    cuuint64_t strides[4] = {row, columns * row, 2 * row, WK_MEMBER_STRIDE};
    cuuint32_t box[5] = {o->box_cols, 2, 4, columns / 2, 1}, steps[5] = {1, 1, 1, 1, 1};
    return make.call(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 5, (void *)o->x.base, dims, strides,
                     box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(o->box_cols),
                     CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Puts a kernel of clusters that take tile after tile on the stream: as many as the device holds at
// once, shared out among the members, or one for each tile. An error stays for cudaGetLastError.
template <class J>
static void launch_clusters(const wk_cuda_call *c, void (*kernel)(J), unsigned tiles,
                            unsigned threads, size_t bytes, const J &job)
{
    unsigned members = (unsigned)c->members;
    unsigned clusters = (unsigned)c->processors / CLUSTER / members;
    if (clusters == 0) clusters = 1;
    cudaLaunchAttribute attribute[2] = {};
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim = {CLUSTER, 1, 1};
    attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(CLUSTER * (tiles < clusters ? tiles : clusters), 1, members);
    config.blockDim = threads;
    config.dynamicSmemBytes = bytes;
    config.stream = c->stream;
    config.attrs = attribute;
    config.numAttrs = c->programmatic ? 2 : 1;
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    (void)cudaLaunchKernelEx(&config, kernel, job);
}

// Whether copies of 16 bytes can begin there.
static inline bool aligned(wk_ptr<const void> x)
{
    return (uintptr_t)x % 16 == 0;
}

#endif
