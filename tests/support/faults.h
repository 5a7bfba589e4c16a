// Fault injection for code linked into a test: the n-th allocation, write, sync, ... fails. The
// linker redirects the calls, so a test that includes this asks for it in its .cmake file:
//
//   include(${CMAKE_CURRENT_SOURCE_DIR}/support/faults.cmake)
//
// Include it in one file of a test program only. There are two ways to use it: arm one kind of call
// (fault_arm), or sweep over all kinds together (fault_sweep_arm), which also counts what leaks.
#ifndef WK_TESTS_FAULTS_H
#define WK_TESTS_FAULTS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/// Kinds of calls that can be made to fail.
typedef enum fault_call {
    FAULT_ALLOC,
    FAULT_OPEN,
    FAULT_STAT,
    FAULT_LIST,
    FAULT_MAKE,
    FAULT_READ,
    FAULT_WRITE,
    FAULT_SYNC,
    FAULT_RENAME,
    FAULT_REMOVE,
    FAULT_LOCK,
    FAULT_CLOSE,
    FAULT_THREAD,
    FAULT_CALLS
} fault_call;

/// Every way a file call fails, for sweeps with fault_arm.
static const struct {
    fault_call call;
    int error;
} fault_files[] = {
    {FAULT_OPEN, EMFILE}, {FAULT_OPEN, EACCES},  {FAULT_STAT, EIO},    {FAULT_STAT, EACCES},
    {FAULT_LIST, EIO},    {FAULT_LIST, ESTALE},  {FAULT_MAKE, ENOSPC}, {FAULT_READ, EIO},
    {FAULT_WRITE, EIO},   {FAULT_WRITE, ENOSPC}, {FAULT_SYNC, EIO},    {FAULT_RENAME, EIO},
    {FAULT_REMOVE, EIO},  {FAULT_LOCK, ENOLCK},  {FAULT_CLOSE, EIO},
};
enum { N_FAULT_FILES = sizeof fault_files / sizeof *fault_files };

/// Under the address sanitizer sweeps have longer strides: there they take ten times as long.
#ifdef __SANITIZE_ADDRESS__
enum { FAULT_SPARSE = 7 };
#else
enum { FAULT_SPARSE = 1 };
#endif

/// From a call of a sweep that fails to the next: WAKER_FAULT_STRIDE where it is set (1: every call
/// fails once).
static inline int fault_stride(int usual)
{
    const char *wanted = getenv("WAKER_FAULT_STRIDE");
    return wanted && atoi(wanted) > 0 ? atoi(wanted) : usual * FAULT_SPARSE;
}

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

/// One step of a sweep over every call of one thread: what happens at which call.
typedef struct fault_plan {
    long call;       // 1 is the first call; 0 fails none
    bool persistent; // every call from then on fails, not only that one
    bool crash;      // instead of failing, the process ends there with FAULT_CRASH_CODE
    int error;       // errno of failing file calls; 0 means EIO
    bool short_io;   // reads and writes move one byte at a time
} fault_plan;

enum { FAULT_CRASH_CODE = 77 };

/// The sweep that is on, and what it has counted since it was armed.
static struct {
    bool armed, fired;
    fault_plan plan;
    long calls;
    long blocks; // allocated less freed
    long files;  // opened less closed
} fault_sweep;

/// Starts counting calls and does what the plan says.
static inline void fault_sweep_arm(fault_plan plan)
{
    fault_sweep.plan = plan;
    fault_sweep.calls = fault_sweep.blocks = fault_sweep.files = 0;
    fault_sweep.fired = false;
    fault_sweep.armed = true;
}

/// Stops; whether the chosen call was reached. The counts stay.
static inline bool fault_sweep_disarm(void)
{
    fault_sweep.armed = false;
    return fault_sweep.fired;
}

static inline bool fault_sweep_now(fault_call call)
{
    const fault_plan *plan = &fault_sweep.plan;
    long n = ++fault_sweep.calls;
    if (plan->call == 0 || (plan->persistent ? n < plan->call : n != plan->call)) return false;
    if (plan->crash) _exit(FAULT_CRASH_CODE);
    fault_sweep.fired = true;
    errno = call == FAULT_ALLOC ? ENOMEM : plan->error ? plan->error : EIO;
    return true;
}

static inline bool fault_now(fault_call call)
{
    if (fault_sweep.armed) return fault_sweep_now(call);
    int left = fault_countdown[call];
    if (left == 0) return false;
    fault_countdown[call] = left - 1;
    if (left > 1) return false;
    errno = fault_errno;
    return true;
}

static inline void *fault_count_block(void *block)
{
    if (fault_sweep.armed && block) fault_sweep.blocks++;
    return block;
}

// How many bytes a read or write is allowed to move.
static inline size_t fault_io_size(size_t size)
{
    return fault_sweep.armed && fault_sweep.plan.short_io && size > 1 ? 1 : size;
}

#define FAULT_WRAP(result, name, parameters, call, failed, success)                                \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters                                                                \
    {                                                                                              \
        return fault_now(call) ? (failed) : (success);                                             \
    }

FAULT_WRAP(void *, malloc, (size_t n), FAULT_ALLOC, NULL, fault_count_block(__real_malloc(n)))
FAULT_WRAP(void *, calloc, (size_t n, size_t m), FAULT_ALLOC, NULL,
           fault_count_block(__real_calloc(n, m)))
FAULT_WRAP(void *, realloc, (void *p, size_t n), FAULT_ALLOC, NULL,
           p ? __real_realloc(p, n) : fault_count_block(__real_realloc(p, n)))
FAULT_WRAP(void *, aligned_alloc, (size_t a, size_t n), FAULT_ALLOC, NULL,
           fault_count_block(__real_aligned_alloc(a, n)))
FAULT_WRAP(char *, strdup, (const char *s), FAULT_ALLOC, NULL, fault_count_block(__real_strdup(s)))
FAULT_WRAP(int, stat, (const char *path, struct stat *info), FAULT_STAT, -1,
           __real_stat(path, info))
FAULT_WRAP(int, fstatat, (int dir, const char *path, struct stat *info, int flags), FAULT_STAT, -1,
           __real_fstatat(dir, path, info, flags))
FAULT_WRAP(char *, realpath, (const char *path, char *out), FAULT_STAT, NULL,
           out ? __real_realpath(path, out) : fault_count_block(__real_realpath(path, out)))
FAULT_WRAP(struct dirent *, readdir, (DIR * stream), FAULT_LIST, NULL, __real_readdir(stream))
FAULT_WRAP(int, mkdir, (const char *path, mode_t mode), FAULT_MAKE, -1, __real_mkdir(path, mode))
FAULT_WRAP(int, mkdirat, (int dir, const char *path, mode_t mode), FAULT_MAKE, -1,
           __real_mkdirat(dir, path, mode))
FAULT_WRAP(int, unlink, (const char *path), FAULT_REMOVE, -1, __real_unlink(path))
FAULT_WRAP(int, unlinkat, (int dir, const char *path, int flags), FAULT_REMOVE, -1,
           __real_unlinkat(dir, path, flags))
FAULT_WRAP(int, rmdir, (const char *path), FAULT_REMOVE, -1, __real_rmdir(path))
FAULT_WRAP(int, flock, (int fd, int operation), FAULT_LOCK, -1, __real_flock(fd, operation))
FAULT_WRAP(int, fstat, (int fd, struct stat *info), FAULT_STAT, -1, __real_fstat(fd, info))
FAULT_WRAP(ssize_t, read, (int fd, void *p, size_t n), FAULT_READ, -1,
           __real_read(fd, p, fault_io_size(n)))
FAULT_WRAP(ssize_t, pread, (int fd, void *p, size_t n, off_t at), FAULT_READ, -1,
           __real_pread(fd, p, fault_io_size(n), at))
FAULT_WRAP(ssize_t, write, (int fd, const void *p, size_t n), FAULT_WRITE, -1,
           __real_write(fd, p, fault_io_size(n)))
FAULT_WRAP(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), FAULT_WRITE, -1,
           __real_pwrite(fd, p, fault_io_size(n), at))
FAULT_WRAP(int, ftruncate, (int fd, off_t n), FAULT_WRITE, -1, __real_ftruncate(fd, n))
FAULT_WRAP(int, fsync, (int fd), FAULT_SYNC, -1, __real_fsync(fd))
FAULT_WRAP(int, rename, (const char *a, const char *b), FAULT_RENAME, -1, __real_rename(a, b))
FAULT_WRAP(int, renameat, (int from, const char *a, int to, const char *b), FAULT_RENAME, -1,
           __real_renameat(from, a, to, b))
FAULT_WRAP(int, pthread_create,
           (pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *x), FAULT_THREAD,
           EAGAIN, __real_pthread_create(t, a, f, x))

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (fault_sweep.armed && block) fault_sweep.blocks--;
    __real_free(block);
}

static inline int fault_count_file(int fd)
{
    if (fault_sweep.armed && fd >= 0) fault_sweep.files++;
    return fd;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    return fault_now(FAULT_OPEN) ? -1 : fault_count_file(__real_open(path, flags, mode));
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    return fault_now(FAULT_OPEN) ? -1 : fault_count_file(__real_openat(dir, path, flags, mode));
}

// The file of fdopendir is counted already.
static inline DIR *fault_count_stream(DIR *stream, int files)
{
    if (fault_sweep.armed && stream) fault_sweep.files += files;
    return stream;
}

FAULT_WRAP(DIR *, opendir, (const char *path), FAULT_LIST, NULL,
           fault_count_stream(__real_opendir(path), 1))
FAULT_WRAP(DIR *, fdopendir, (int fd), FAULT_LIST, NULL,
           fault_count_stream(__real_fdopendir(fd), 0))

int __real_closedir(DIR *stream);
int __wrap_closedir(DIR *stream);
int __wrap_closedir(DIR *stream)
{
    if (fault_sweep.armed) fault_sweep.files--;
    return __real_closedir(stream);
}

// A close that reports an error has closed the file all the same.
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool failed = fault_now(FAULT_CLOSE);
    int code = errno;
    if (fault_sweep.armed) fault_sweep.files--;
    int result = __real_close(fd);
    if (!failed) return result;
    errno = code;
    return -1;
}

#endif
