// OpenBLAS under limits on memory. It takes 128 MiB of address space for every thread that calls
// it, at its first call, and tries for ever where there is none (ulimit -v, as batch systems set
// it): so it is taken here, where a lack of it is an error.
#ifndef WK_BASE_BLAS_H
#define WK_BASE_BLAS_H

#include "waker/error.h"

/// Has OpenBLAS take its memory for `threads` threads that call it at the same time. Keeps it.
wk_status wk_blas_prepare(int threads, wk_error *err);

/// For main, before anything else: OpenBLAS also starts a thread for each further core as it is
/// loaded, which we never use, and cannot end where they find no memory. Under a limit the program
/// starts itself again without them.
void wk_blas_without_threads(char **argv);

#endif
