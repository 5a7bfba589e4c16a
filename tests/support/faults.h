// Fault injection for code linked into a test: the n-th allocation, write, sync, ... fails. The
// linker redirects the calls, so a test that includes this asks for it in its .cmake file:
//
//   include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
//
// Include it in one file of a test program only.
#ifndef WK_TESTS_FAULTS_H
#define WK_TESTS_FAULTS_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

/// Kinds of calls that can be made to fail.
typedef enum fault_call {
    FAULT_ALLOC,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_RENAME,
    FAULT_THREAD,
    FAULT_CALLS
} fault_call;

static atomic_int fault_countdown[FAULT_CALLS]; // calls until the fault, from 1; 0 is off
static atomic_int fault_errno;

/// Lets call number `n` (from 0) of a kind fail with `code`, once.
static inline void fault_arm(fault_call call, int n, int code)
{
    fault_errno = code;
    fault_countdown[call] = n + 1;
}

/// Disarms the kind; true if its fault had happened.
static inline bool fault_disarm(fault_call call)
{
    return atomic_exchange(&fault_countdown[call], 0) == 0;
}

static inline bool fault_now(fault_call call)
{
    int left = fault_countdown[call];
    if (left == 0) return false;
    fault_countdown[call] = left - 1;
    if (left > 1) return false;
    errno = fault_errno;
    return true;
}

#define FAULT_WRAP(result, name, parameters, call, failed, arguments)                              \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        return fault_now(call) ? (failed) : __real_##name arguments;                               \
    }

FAULT_WRAP(void *, malloc, (size_t n), FAULT_ALLOC, NULL, (n))
FAULT_WRAP(void *, calloc, (size_t n, size_t m), FAULT_ALLOC, NULL, (n, m))
FAULT_WRAP(void *, realloc, (void *p, size_t n), FAULT_ALLOC, NULL, (p, n))
FAULT_WRAP(void *, aligned_alloc, (size_t a, size_t n), FAULT_ALLOC, NULL, (a, n))
FAULT_WRAP(char *, strdup, (const char *s), FAULT_ALLOC, NULL, (s))
FAULT_WRAP(ssize_t, read, (int fd, void *p, size_t n), FAULT_READ, -1, (fd, p, n))
FAULT_WRAP(ssize_t, write, (int fd, const void *p, size_t n), FAULT_WRITE, -1, (fd, p, n))
FAULT_WRAP(int, fsync, (int fd), FAULT_SYNC, -1, (fd))
FAULT_WRAP(int, rename, (const char *a, const char *b), FAULT_RENAME, -1, (a, b))
FAULT_WRAP(int, pthread_create,
           (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *x), FAULT_THREAD,
           EAGAIN, (t, a, f, x))

#endif
