// A product of a warp by the tensor cores, on any device that has bf16 ones (mma.sync).
#ifndef WK_TENSOR_CUDA_KERNELS_MMA_CUH
#define WK_TENSOR_CUDA_KERNELS_MMA_CUH

/// c += a b for 16 rows, 8 columns and 16 terms. A word is two neighbouring terms in bf16, those at
/// lane % 4 * 2: of a's row lane / 4 and of the eighth row below it, then both 8 terms later; of
/// b's column lane / 4, then 8 terms later.
static __device__ inline void wk_mma(float (&c)[4], uint4 a, uint2 b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

#endif
