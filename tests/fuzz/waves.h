// Rough waves instead of the C library's: drawing water with true ones would be half the time of an
// input, and nothing that is fuzzed reads the picture's values. The linker redirects the calls
// (tools/fuzz/build).
#ifndef WK_TESTS_FUZZ_WAVES_H
#define WK_TESTS_FUZZ_WAVES_H

double __wrap_sin(double x);
double __wrap_cos(double x);

double __wrap_sin(double x)
{
    return x > 1 ? 1 : x < -1 ? -1 : x;
}

double __wrap_cos(double x)
{
    return __wrap_sin(1 - x);
}

#endif
