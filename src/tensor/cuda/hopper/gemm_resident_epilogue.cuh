// The epilogue of gemm_resident_weights.cu: a warp's results go from registers to memory, and the
// layer outputs that slopes are computed from go to registers, sixteen bytes a lane.
//
// With b not transposed, four lanes have two neighbouring columns of every eight each, and exchange
// them. With b transposed, its columns are loaded to shared memory in an order that gives a lane
// eight neighbouring ones of 32, and four of the last 16.
//
// A chunk is eight results of a lane: chunks 2g and 2g + 1 are columns 32g ... 32g + 31 of the
// upper and lower eight rows of a warp, the last is the last 16 columns of both.
#ifndef WK_TENSOR_CUDA_HOPPER_GEMM_RESIDENT_EPILOGUE_CUH
#define WK_TENSOR_CUDA_HOPPER_GEMM_RESIDENT_EPILOGUE_CUH

#include "tensor/cuda/hopper/gemm_epilogue.cuh"

enum {
    COLS = 208,         // of a block
    CHUNKS = COLS / 16, // of a lane
};

struct resident_result {
    unsigned m, n;
    unsigned stride_bias;
    wk_ptr<const float> bias;
    wk_ptr<const __nv_bfloat16> y;
    wk_ptr<__nv_bfloat16> out;
};

// The first of a lane's two columns in the eight of a product.
template <bool K_MAJOR> static __device__ inline unsigned column_of(int eight)
{
    unsigned lane = threadIdx.x % 4;
    if (!K_MAJOR) return eight * 8 + lane * 2;
    if (eight < (CHUNKS - 1) * 2) return eight / 4 * 32 + lane * 8 + eight % 4 * 2;
    return (CHUNKS - 1) * 16 + lane * 4 + eight % 2 * 2;
}

template <bool K_MAJOR>
static __device__ inline void load_biases(const resident_result &r, const warp_tile &p,
                                          float2 (&bias)[COLS / 8])
{
    const float *from = r.bias.at() + p.stack * r.stride_bias + p.col;
#pragma unroll
    for (int i = 0; i < COLS / 8; i++) {
        unsigned column = column_of<K_MAJOR>(i);
        bool inside = r.bias && p.col + column < r.n;
        bias[i] = inside ? __ldg((const float2 *)(from + column)) : make_float2(0, 0);
    }
}

// Where the chunks of a lane lie in the result, in eights from its begin.
struct chunk_rows {
    unsigned at, left, eight, eights; // of the upper row; rows and eights

    __device__ chunk_rows(const resident_result &r, const warp_tile &p)
    {
        unsigned row = p.row + threadIdx.x % 32 / 4;
        eights = r.n / 8;
        eight = p.col / 8;
        at = (p.stack * r.m + row) * eights + eight;
        left = row < r.m ? r.m - row : 0;
    }

    // Whether the eight of a lane in a lower or upper row is inside.
    __device__ bool has(unsigned lower, unsigned e) const
    {
        return lower * 8 < left && eight + e < eights;
    }

    __device__ unsigned place(unsigned lower, unsigned e) const
    {
        return at + lower * 8 * eights + e;
    }
};

static __device__ inline void load_slopes(const resident_result &r, const warp_tile &p,
                                          uint4 (&y)[CHUNKS])
{
    chunk_rows rows(r, p);
    unsigned lane = threadIdx.x % 4;
    const uint4 *from = r.y.at<const uint4>();
#pragma unroll
    for (int i = 0; i + 1 < CHUNKS; i++) {
        unsigned eight = i / 2 * 4 + lane;
        y[i] = rows.has(i % 2, eight) ? from[rows.place(i % 2, eight)] : make_uint4(0, 0, 0, 0);
    }
    unsigned half[2][2] = {}, eight = (CHUNKS - 1) * 2 + lane / 2;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (!rows.has(i, eight)) continue;
        uint2 two = ((const uint2 *)(from + rows.place(i, eight)))[lane % 2];
        half[i][0] = two.x;
        half[i][1] = two.y;
    }
    y[CHUNKS - 1] = make_uint4(half[0][0], half[0][1], half[1][0], half[1][1]);
}

// Transposes words among four lanes: from a word of each of four eights to one whole eight.
static __device__ inline void transpose_words(unsigned (&word)[4])
{
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
        bool upper = threadIdx.x & bit;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i & bit) continue;
            unsigned given = __shfl_xor_sync(~0u, upper ? word[i] : word[i | bit], bit);
            word[i] = upper ? given : word[i];
            word[i | bit] = upper ? word[i | bit] : given;
        }
    }
}

// Stores a chunk; the last with two words of the upper row, then two of the lower.
template <bool K_MAJOR>
static __device__ inline void store_chunk(const resident_result &r, const chunk_rows &rows,
                                          int chunk, unsigned (&word)[4])
{
    unsigned lane = threadIdx.x % 4, lower = chunk % 2, eight = chunk / 2 * 4 + lane;
    uint4 *out = r.out.at<uint4>();
    const bool last = chunk + 1 == CHUNKS;
    if (!K_MAJOR) transpose_words(word);
    if (K_MAJOR && last) {
        eight = (CHUNKS - 1) * 2 + lane / 2;
        if (rows.has(0, eight))
            ((uint2 *)(out + rows.place(0, eight)))[lane % 2] = make_uint2(word[0], word[1]);
        if (rows.has(1, eight))
            ((uint2 *)(out + rows.place(1, eight)))[lane % 2] = make_uint2(word[2], word[3]);
        return;
    }
    if (last) {
        lower = lane / 2;
        eight = (CHUNKS - 1) * 2 + lane % 2;
    }
    if (rows.has(lower, eight))
        out[rows.place(lower, eight)] = make_uint4(word[0], word[1], word[2], word[3]);
}

// Inputs of a lane's epilogue: slopes of a tile, or biases of a member.
template <epilogue_kind KIND> struct epilogue_inputs {
    float2 bias[COLS / 8];

    __device__ float2 bias_of(int eight) const
    {
        return bias[eight];
    }

    __device__ unsigned word_of(int, int) const
    {
        return 0;
    }
};

template <> struct epilogue_inputs<EPILOGUE_SLOPE> {
    uint4 y[CHUNKS];

    __device__ float2 bias_of(int) const
    {
        return make_float2(0, 0);
    }

    __device__ unsigned word_of(int chunk, int i) const
    {
        return i == 0 ? y[chunk].x : i == 1 ? y[chunk].y : i == 2 ? y[chunk].z : y[chunk].w;
    }
};

template <bool K_MAJOR, epilogue_kind KIND>
static __device__ inline void finish(const resident_result &r, const float (&d)[COLS / 2],
                                     const epilogue_inputs<KIND> &with, const warp_tile &p)
{
    chunk_rows rows(r, p);
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        unsigned word[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const bool last = i + 1 == CHUNKS;
            const int eight = last ? i * 2 + k % 2 : i / 2 * 4 + k;
            const float *from = d + eight * 4 + (last ? k / 2 : i % 2) * 2;
            word[k] = finish_pair<KIND>(from[0], from[1], with.bias_of(eight), with.word_of(i, k));
        }
        store_chunk<K_MAJOR>(r, rows, i, word);
    }
}

#endif
