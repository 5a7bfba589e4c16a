// Matrix products of a warp group on capability 9.0 (wgmma): 64 rows by N columns over 16 terms,
// both operands from shared memory. Operands lie there without swizzling: a chunk is 8 neighbouring
// bf16 numbers, and chunks of neighbouring places lie one behind the other. Any place can thus be
// the first of an operand, which is what lets a convolution read its taps from one copy of an
// image.
#ifndef WK_TENSOR_CUDA_HOPPER_WGMMA_CUH
#define WK_TENSOR_CUDA_HOPPER_WGMMA_CUH

#include <stdint.h>

/// An operand: its first chunk's address in shared memory, and the bytes from a chunk to the one
/// that holds the next 8 terms (`terms`) and the next 8 rows or columns (`others`).
static __device__ inline uint64_t wk_operand(unsigned address, unsigned terms, unsigned others)
{
    return (uint64_t)((address & 0x3ffffu) >> 4) | (uint64_t)(terms >> 4) << 16 |
           (uint64_t)(others >> 4) << 32;
}

/// Before the first product of a batch: what registers and shared memory hold is what it reads.
static __device__ inline void wk_wgmma_begin(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

/// Ends a batch.
static __device__ inline void wk_wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most N batches are under way.
template <int N> static __device__ inline void wk_wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/// Keeps other uses of sums on their side of this point.
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

/// Arrives when all chunks that this thread began to copy have come.
static __device__ inline void wk_barrier_arrive_copied(unsigned barrier)
{
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
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

// d += a b, with the sums of 64 rows and N = 2 * (numbers of d) columns spread over the warp group:
// number i of a lane is row warp * 16 + lane / 4 + i / 2 % 2 * 8, column i / 4 * 8 + lane % 4 * 2 +
// i % 2. TA and TB: the operand's chunks run along rows or columns instead of along the sum.

template <int TA, int TB>
static __device__ inline void wk_wgmma(float (&d)[8], uint64_t a, uint64_t b)
{
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7"
        "}, %8, %9, p, 1, 1, %10, %11;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "l"(a), "l"(b), "n"(TA), "n"(TB));
}

template <int TA, int TB>
static __device__ inline void wk_wgmma(float (&d)[16], uint64_t a, uint64_t b)
{
    asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0; "
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
                 "}, %16, %17, p, 1, 1, %18, %19;}"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                   "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                   "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                 : "l"(a), "l"(b), "n"(TA), "n"(TB));
}

template <int TA, int TB>
static __device__ inline void wk_wgmma(float (&d)[24], uint64_t a, uint64_t b)
{
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
        "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23"
        "}, %24, %25, p, 1, 1, %26, %27;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
        : "l"(a), "l"(b), "n"(TA), "n"(TB));
}

template <int TA, int TB>
static __device__ inline void wk_wgmma(float (&d)[48], uint64_t a, uint64_t b)
{
    asm volatile(
        "{.reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
        "%12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, "
        "%36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
        "}, %48, %49, p, 1, 1, %50, %51;}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
        : "l"(a), "l"(b), "n"(TA), "n"(TB));
}

#endif
