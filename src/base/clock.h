// Time for measuring and for status lines; never an input to results.
#ifndef WK_BASE_CLOCK_H
#define WK_BASE_CLOCK_H

/// Seconds of a clock that never goes back; only differences mean anything.
double wk_clock_seconds(void);

/// CPU seconds the calling thread has used.
double wk_clock_thread_seconds(void);

#endif
