// Checks of ops through the graph: the forward result against a naive double-precision reference,
// the gradients against central differences of that reference, the same bytes for any number of
// threads and any repetition, and untouched guard bytes around every input.
#ifndef WK_TESTS_OP_CHECK_H
#define WK_TESTS_OP_CHECK_H

#include "tensor/backend.h"
#include "tensor/graph.h"
#include "tensor/node.h"

enum { OP_CHECK_INPUTS = 6 };

typedef struct op_case op_case;

/// A result in double precision from the inputs in double precision; `y` starts as zeros.
typedef void op_reference(const op_case *c, const double *const *x, double *y);

/// One check of one op.
struct op_case {
    const char *name;
    wk_shape shapes[OP_CHECK_INPUTS]; // of the f32 inputs; ends at rank 0
    /// Records the op on the inputs; `random` for ops that draw.
    wk_tensor (*build)(wk_graph *g, const wk_tensor *x, wk_random random);
    op_reference *reference;
    /// What reverse mode differentiates where that is not the reference (straight-through ops).
    op_reference *smooth;
    unsigned constants;        // a bit for each input that must get a zero gradient
    double low, high;          // range of the input values; -1 ... 1 if both are 0
    double tolerance;          // relative to the largest value; 2e-5 if 0
    double gradient_tolerance; // 1e-3 if 0
};

/// One row of a table of cases: name, builder, reference, then fields by name.
#define OP_CASE(name_, build_, reference_, ...)                                                    \
    {                                                                                              \
        .name = (name_), .build = (build_), .reference = (reference_), __VA_ARGS__                 \
    }
/// build_NAME, which gives one expression of g, the inputs x and the random source r.
#define BUILD(name, ...)                                                                           \
    static wk_tensor build_##name(wk_graph *g, const wk_tensor *x, wk_random r)                    \
    {                                                                                              \
        (void)r;                                                                                   \
        return __VA_ARGS__;                                                                        \
    }
/// A reference whose element i is an expression of the inputs x and i.
#define EACH(name, ...)                                                                            \
    static void name(const op_case *c, const double *const *x, double *y)                          \
    {                                                                                              \
        for (size_t i = 0; i < op_count(c, 0); i++)                                                \
            y[i] = __VA_ARGS__;                                                                    \
    }
/// An entry of `shapes`.
#define OP_SHAPE(...)                                                                              \
    {                                                                                              \
        .rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dim = { __VA_ARGS__ }                 \
    }

/// The key and the counter value of `random` in a case.
enum { OP_CHECK_KEY = 77, OP_CHECK_COUNTER = 5 };

/// Runs all cases and then checks that each of `ops` was part of some graph.
void op_check_all(const op_case *cases, size_t count, const wk_op *ops, size_t op_count);

/// Runs all cases on two backends and compares what they give, result by result, in the Euclidean
/// norm relative to that of `expected`: at most `tolerance`, or what the case says (negative: the
/// same numbers). Cases need no reference. `got` must repeat its own bytes. Then checks that each
/// of `ops` was part of some graph.
void op_compare_all(const op_case *cases, size_t count, wk_backend *expected, wk_backend *got,
                    double tolerance, const wk_op *ops, size_t op_count);

/// Number of elements of input i, its axis lengths.
size_t op_count(const op_case *c, int i);
int op_dim(const op_case *c, int i, int axis);

#endif
