// Runs a recorded graph on the inputs of a golden file (tools/reference/engine.py) and compares
// what comes out with what the file says: outputs and every gradient.
#ifndef WK_TESTS_NN_GOLDEN_H
#define WK_TESTS_NN_GOLDEN_H

#include "nn/params.h"
#include "tensor/program.h"

typedef struct golden golden;

/// Opens tests/nn/golden/NAME.safetensors and an empty graph on the CPU. Failures end the test.
golden *golden_open(const char *name);
void golden_close(golden *file);

wk_graph *golden_graph(golden *file);
wk_backend *golden_backend(golden *file);

/// The shape of a tensor of the file.
wk_shape golden_shape(const golden *file, const char *name);
/// The values of a tensor of the file; free them.
float *golden_values(const golden *file, const char *name);

/// A graph input that gets the values of "in/NAME".
wk_tensor golden_input(golden *file, const char *name);
/// Gives the weight `layer_part` of a scope the values of "in/NAME".
void golden_weight(golden *file, const wk_scope *scope, const char *layer_part, const char *name);

/// A counter (u64 [1]) with this value, for random nodes. One a file.
wk_tensor golden_counter(golden *file, uint64_t value);

/// The sum of output times "in/WEIGHT": a loss under which no gradient hides.
wk_tensor golden_weigh(golden *file, wk_tensor output, const char *weight);

/// Expects x to equal tensor `name`, each element within tolerance times the largest magnitude in
/// the tensor.
void golden_expect(golden *file, wk_tensor x, const char *name, double tolerance);
/// As golden_expect, with the values of an array that stays valid, instead of a tensor of the file.
void golden_expect_values(golden *file, wk_tensor x, const char *name, const float *values,
                          double tolerance);
/// Expects the gradients of `loss` with respect to every input and weight given so far that has a
/// tensor "PREFIX/NAME", of which there must be `count`.
void golden_expect_gradients(golden *file, wk_tensor loss, const char *prefix, size_t count,
                             double tolerance);

/// Makes the program, runs it and compares. Scopes must have been bound.
void golden_check(golden *file);

#endif
