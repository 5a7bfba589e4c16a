// What program.c and trace.c share.
#ifndef WK_TENSOR_PROGRAM_INTERNAL_H
#define WK_TENSOR_PROGRAM_INTERNAL_H

#include "tensor/plan.h"

struct wk_program {
    wk_backend *backend;
    wk_plan *plan;
    wk_executable *executable;
    wk_buffer *temporary; // its own, or NULL where it is borrowed
    double *seconds;      // by step of the plan, summed over traced runs; NULL while not tracing
    size_t traced_runs;
};

#endif
