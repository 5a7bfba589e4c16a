// A graph with a backend (support/backend.h) and its program, for tests that record, run and look.
#ifndef WK_TESTS_ENGINE_H
#define WK_TESTS_ENGINE_H

#include "tensor/program.h"

typedef struct engine {
    wk_graph *g;
    wk_pool *pool;
    wk_backend *backend;
    wk_program *program; // after the first run
} engine;

/// An empty graph on so many threads; every failure fails the test.
engine engine_open(int threads);
void engine_close(engine *e);

/// Makes the program if there is none yet.
void engine_compile(engine *e);
/// Runs the program, making it at the first call.
void engine_run(engine *e);

/// Fills an input or persistent tensor; makes the program if there is none yet.
void engine_set(engine *e, wk_tensor x, const void *values);
/// Copies a tensor out.
void engine_get(engine *e, wk_tensor x, void *values);
/// The first element of an f32, or u64, tensor.
float engine_float(engine *e, wk_tensor x);
uint64_t engine_u64(engine *e, wk_tensor x);

/// A persistent tensor of the program itself, f32 or u64.
wk_tensor engine_state(engine *e, wk_shape shape);
wk_tensor engine_counter(engine *e);

#endif
