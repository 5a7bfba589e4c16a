// Numbers that choose between kernels and follow from no property of a device: measured on one
// H200, as docs/performance.md describes.
#ifndef WK_TENSOR_CUDA_PASSES_THRESHOLDS_H
#define WK_TENSOR_CUDA_PASSES_THRESHOLDS_H

enum {
    // Terms of a product with its epilogue. Beyond, cuBLAS and a pass over its result took less
    // time: up to 2,048 terms cost five `paper` runs 34.6 instead of 33.9 ms.
    WK_WGMMA_TERMS_MAX = 1024,
    // Terms of a product that is fused with the one added to it: those of an action, for which an
    // update of `paper` got faster (11.55 to 11.32 ms, with the rule of WK_WGMMA_TERMS_MAX).
    WK_WGMMA_ADDEND_TERMS_MAX = 16,
    // Where a member of a population has fewer multiprocessors than this, addends have up to
    // WK_WGMMA_TERMS_MAX terms, and stacks of at most so many rows are one launch with their bias:
    // cuBLAS is launched for each matrix, 13 us apart in an update of 32 `quick` runs.
    WK_SHARED_PROCESSORS = 64,
    WK_SHARED_STACK_ROWS_MAX = 1024,
    // Columns from which weights that are resident in shared memory beat those that pass by: with
    // fewer, too many of its 416 are padding.
    WK_RESIDENT_COLUMNS_MIN = 320,
    // Channels of the small image whose weights' gradient is summed in registers: with 96 an update
    // of `paper` took 8.45 instead of 8.18 ms.
    WK_CONV_WEIGHTS_CHANNELS_MAX = 48,
    // Categorical variables of all members that are drawn by a thread each instead of a warp each.
    // The kernel and two other changes took 0.38 ms off an update of `paper`; the number itself was
    // not varied.
    WK_SAMPLES_MIN = 4096,
};

// The time of a tile of hopper/gemm.cu, in cycles of a multiprocessor, fitted to bench_gemm: bytes
// that are copied in one, cycles of a round, and of a result that is written. The fit was to the
// first three tiles of wk_gemm_tile; the others must be better by the last factor.
#define WK_TILE_BYTES_PER_CYCLE 45
#define WK_TILE_ROUND_CYCLES 600
#define WK_TILE_RESULT_CYCLES 0.06
#define WK_TILE_MARGIN 1.05

#endif
