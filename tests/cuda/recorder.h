// Notes what a CUDA backend captures, without a device: linking it replaces the CUDA runtime and
// cuBLAS.
#ifndef WK_TESTS_CUDA_RECORDER_H
#define WK_TESTS_CUDA_RECORDER_H

/// From now on graphs are numbered from 0. Each prints a line when it is made: its steps (launches,
/// products, copies, waits) and a hash of them; with LAUNCHES in the environment, the steps too.
void cuda_recorder_begin(void);

#endif
