// Which formats the kernels of an op read and write besides float32: one table, for the choice of
// formats (formats.h) and of lazy nodes (lazy.h). Operands of products are not in it: they are bf16
// wherever their rows allow it.
#ifndef WK_TENSOR_CUDA_PASSES_OP_FORMATS_H
#define WK_TENSOR_CUDA_PASSES_OP_FORMATS_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/node.h"

/// Inputs of a node that may exist in bf16 alone; those beyond exist in float32.
enum { WK_FORMAT_INPUTS_MAX = 32 };

/// How an input may be given instead of in float32.
enum {
    WK_READS_BF16 = 1,  // in bf16: wk_call_load, wk_call_terms
    WK_READS_TERMS = 2, // as a sum that is never written: wk_call_terms
    WK_READS_BYTES = 4, // as the bytes of an image: wk_call_bytes
};
unsigned wk_op_reads(const wk_graph *g, const wk_node *node, int input,
                     const wk_cuda_limits *limits);

/// Whether output 0 can be written in bf16 alone.
typedef enum wk_writes {
    WK_WRITES_F32,
    WK_WRITES_FOR_PRODUCTS, // where only products read it: by all kernels that write through
                            // wk_call_store and do not read their float32 result again
    WK_WRITES_EITHER,       // whoever reads it
} wk_writes;
wk_writes wk_op_writes_as(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits);

#endif
