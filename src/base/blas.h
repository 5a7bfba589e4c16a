// OpenBLAS under limits on memory. It allocates 128 MiB of address space for every thread that
// calls it, at the first call, and retries forever when that fails (ulimit -v, as batch systems set
// it). So the memory is allocated up front, where failure can be reported.
#ifndef WK_BASE_BLAS_H
#define WK_BASE_BLAS_H

#include "waker/error.h"

/// Has OpenBLAS allocate its memory for `threads` threads that call it at the same time, and keep
/// it.
wk_status wk_blas_prepare(int threads, wk_error *err);

/// For main, before anything else: OpenBLAS also starts a thread for each further core as it is
/// loaded. waker never uses them, and where they find no memory they never end, so that the program
/// hangs at its exit. Under a limit the program starts itself again without them.
void wk_blas_without_threads(char **argv);

#endif
