// Matrix products of a warpgroup on capability 9.0 (wgmma): 64 rows by N columns over 16 terms,
// both operands from shared memory. TMA loads the operands of products swizzled. Without
// swizzling a chunk is 8 neighbouring bf16 numbers, and chunks of neighbouring places are
// contiguous: any place can be the first of an operand, which is what lets a convolution read its
// taps from one copy of an image.
#ifndef WK_TENSOR_CUDA_HOPPER_WGMMA_CUH
#define WK_TENSOR_CUDA_HOPPER_WGMMA_CUH

#include <stdint.h>

/// How an operand's rows are swizzled, by their bytes.
enum wk_swizzle { WK_SWIZZLE_NONE, WK_SWIZZLE_128, WK_SWIZZLE_64, WK_SWIZZLE_32 };

/// An operand: its first chunk's address in shared memory, and the bytes from a chunk to the one
/// that holds the next 8 terms (`terms`) and the next 8 rows or columns (`others`).
static __device__ inline uint64_t wk_operand(unsigned address, unsigned terms, unsigned others,
                                             wk_swizzle swizzle = WK_SWIZZLE_NONE)
{
    return (uint64_t)((address & 0x3ffffu) >> 4) | (uint64_t)(terms >> 4) << 16 |
           (uint64_t)(others >> 4) << 32 | (uint64_t)swizzle << 62;
}

/// Fence before the first product of a group, for registers and shared memory.
static __device__ inline void wk_wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Commits a group.
static __device__ inline void wk_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most N groups are in flight.
template <int N> static __device__ inline void wk_wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/// Keeps the compiler from moving uses of the accumulators across this point.
template <int N> static __device__ inline void wk_wgmma_hold(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

/// Lets products read what this thread stored or copied to shared memory, after the next barrier.
static __device__ inline void wk_publish_shared(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Barriers in shared memory that count arrivals and bytes (mbarrier), by address.
static __device__ inline void wk_barrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

static __device__ inline void wk_barrier_arrive(unsigned barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Waits for the end of the phase of this parity.
static __device__ inline void wk_barrier_wait(unsigned barrier, unsigned parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again%=: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again%=;}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/// Arrives, and begins to copy bytes, a multiple of 16, that complete the phase when they have
/// come.
static __device__ inline void wk_copy_bulk(unsigned to, const void *from, unsigned bytes,
                                           unsigned barrier)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

// d = a b, or d += a b where `add` is not 0, for 64 rows and N = 2 * (numbers of d) columns spread
// over the warpgroup: number i of a lane is row warp * 16 + lane / 4 + i / 2 % 2 * 8 and column
// i / 4 * 8 + lane % 4 * 2 + i % 2. TA and TB: the operand's chunks run along rows or columns
// instead of along the sum.

// The registers of N columns as the instruction lists them, and as operands of the statement.
#define WK_R8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define WK_R12 WK_R8 ", %8, %9, %10, %11"
#define WK_R16 WK_R8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WK_R24 WK_R16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define WK_R40                                                                                     \
    WK_R24 ", %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39"
#define WK_R48 WK_R40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define WK_R64                                                                                     \
    WK_R48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WK_R104                                                                                    \
    WK_R64                                                                                         \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"             \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"             \
    ", %96, %97, %98, %99, %100, %101, %102, %103"
#define WK_R128                                                                                    \
    WK_R104                                                                                        \
    ", %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115"                     \
    ", %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define WK_F8(i)                                                                                   \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),    \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define WK_F12(i) WK_F8(i), "+f"(d[i + 8]), "+f"(d[i + 9]), "+f"(d[i + 10]), "+f"(d[i + 11])
#define WK_F16(i) WK_F8(i), WK_F8(i + 8)
#define WK_F24(i) WK_F16(i), WK_F8(i + 16)
#define WK_F40(i) WK_F24(i), WK_F16(i + 24)
#define WK_F48(i) WK_F24(i), WK_F24(i + 24)
#define WK_F64(i) WK_F48(i), WK_F16(i + 48)
#define WK_F104(i) WK_F48(i), WK_F48(i + 48), WK_F8(i + 96)
#define WK_F128(i) WK_F104(i), WK_F24(i + 104)

// The operands after the registers are numbered from their count on.
#define WK_WGMMA(columns, count, a_at, b_at, add_at, ta_at, tb_at)                                 \
    template <int TA, int TB>                                                                      \
    static __device__ inline void wk_wgmma(float(&d)[count], uint64_t a, uint64_t b, int add)      \
    {                                                                                              \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %" #add_at ", 0; "                             \
                     "wgmma.mma_async.sync.aligned.m64n" #columns                                  \
                     "k16.f32.bf16.bf16 {" WK_R##count "}, %" #a_at ", %" #b_at                    \
                                                       ", p, 1, 1, %" #ta_at ", %" #tb_at ";}"     \
                     : WK_F##count(0)                                                              \
                     : "l"(a), "l"(b), "r"(add), "n"(TA), "n"(TB));                                \
    }
// As WK_WGMMA, with the rows in registers: four for each lane, as mma.m16n8k16 has them, the warps'
// rows below one another. They must not change until the product has been waited for.
#define WK_WGMMA_ROWS(columns, count, a0, a1, a2, a3, b_at, add_at, tb_at)                         \
    template <int TB>                                                                              \
    static __device__ inline void wk_wgmma_rows(float(&d)[count], const unsigned(&a)[4],           \
                                                uint64_t b, int add)                               \
    {                                                                                              \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %" #add_at ", 0; "                             \
                     "wgmma.mma_async.sync.aligned.m64n" #columns                                  \
                     "k16.f32.bf16.bf16 {" WK_R##count "}, {%" #a0 ", %" #a1 ", %" #a2 ", %" #a3   \
                                                       "}, %" #b_at ", p, 1, 1, %" #tb_at ";}"     \
                     : WK_F##count(0)                                                              \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TB));     \
    }
WK_WGMMA_ROWS(24, 12, 12, 13, 14, 15, 16, 17, 18)
WK_WGMMA_ROWS(48, 24, 24, 25, 26, 27, 28, 29, 30)
WK_WGMMA_ROWS(96, 48, 48, 49, 50, 51, 52, 53, 54)

WK_WGMMA(16, 8, 8, 9, 10, 11, 12)
WK_WGMMA(24, 12, 12, 13, 14, 15, 16)
WK_WGMMA(48, 24, 24, 25, 26, 27, 28)
WK_WGMMA(80, 40, 40, 41, 42, 43, 44)
WK_WGMMA(96, 48, 48, 49, 50, 51, 52)
WK_WGMMA(128, 64, 64, 65, 66, 67, 68)
WK_WGMMA(208, 104, 104, 105, 106, 107, 108)
WK_WGMMA(256, 128, 128, 129, 130, 131, 132)

#endif
