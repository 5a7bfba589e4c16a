// Compiled to something only in tests that link with the wrappers (support/faults.cmake).
#ifdef WAKER_FAULTS
#include "support/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static struct {
    bool armed, fired;
    fault_plan plan;
    long calls, blocks, files;
} faults;

void faults_arm(fault_plan plan)
{
    faults.plan = plan;
    faults.fired = false;
    faults.calls = faults.blocks = faults.files = 0;
    faults.armed = true;
}

bool faults_disarm(void)
{
    faults.armed = false;
    return faults.fired;
}

long faults_calls(void)
{
    return faults.calls;
}

long faults_live_blocks(void)
{
    return faults.blocks;
}

long faults_open_files(void)
{
    return faults.files;
}

// Counts a call; whether it must fail.
static bool strikes(int error)
{
    if (!faults.armed) return false;
    long call = ++faults.calls;
    bool hit = faults.plan.call > 0 &&
               (faults.plan.persistent ? call >= faults.plan.call : call == faults.plan.call);
    if (!hit) return false;
    if (faults.plan.crash) _exit(FAULT_CRASH_CODE);
    faults.fired = true;
    errno = error;
    return true;
}

static bool file_strikes(void)
{
    return strikes(faults.plan.error ? faults.plan.error : EIO);
}

static void *count_block(void *block)
{
    if (faults.armed && block) faults.blocks++;
    return block;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *block);
int __real_open(const char *path, int flags, ...);
ssize_t __real_read(int fd, void *bytes, size_t size);
ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __real_fsync(int fd);
int __real_fstat(int fd, struct stat *info);
int __real_rename(const char *from, const char *to);
int __real_close(int fd);
int __real_ftruncate(int fd, off_t size);
int __real_unlink(const char *path);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_read(int fd, void *bytes, size_t size);
ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __wrap_fsync(int fd);
int __wrap_fstat(int fd, struct stat *info);
int __wrap_rename(const char *from, const char *to);
int __wrap_close(int fd);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_unlink(const char *path);

void *__wrap_malloc(size_t size)
{
    return strikes(ENOMEM) ? NULL : count_block(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return strikes(ENOMEM) ? NULL : count_block(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (strikes(ENOMEM)) return NULL;
    void *grown = __real_realloc(block, size);
    return block ? grown : count_block(grown);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return strikes(ENOMEM) ? NULL : count_block(__real_aligned_alloc(alignment, size));
}

char *__wrap_strdup(const char *text)
{
    return strikes(ENOMEM) ? NULL : count_block(__real_strdup(text));
}

void __wrap_free(void *block)
{
    if (faults.armed && block) faults.blocks--;
    __real_free(block);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    if (file_strikes()) return -1;
    int fd = __real_open(path, flags, mode);
    if (faults.armed && fd >= 0) faults.files++;
    return fd;
}

static size_t moved(size_t size)
{
    return faults.armed && faults.plan.short_io && size > 1 ? 1 : size;
}

ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
    return file_strikes() ? -1 : __real_read(fd, bytes, moved(size));
}

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset)
{
    return file_strikes() ? -1 : __real_pread(fd, bytes, moved(size), offset);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    return file_strikes() ? -1 : __real_write(fd, bytes, moved(size));
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return file_strikes() ? -1 : __real_pwrite(fd, bytes, moved(size), offset);
}

int __wrap_fsync(int fd)
{
    return file_strikes() ? -1 : __real_fsync(fd);
}

int __wrap_fstat(int fd, struct stat *info)
{
    return file_strikes() ? -1 : __real_fstat(fd, info);
}

int __wrap_rename(const char *from, const char *to)
{
    return file_strikes() ? -1 : __real_rename(from, to);
}

int __wrap_ftruncate(int fd, off_t size)
{
    return file_strikes() ? -1 : __real_ftruncate(fd, size);
}

int __wrap_unlink(const char *path)
{
    return file_strikes() ? -1 : __real_unlink(path);
}

// A close that reports an error has closed the file all the same.
int __wrap_close(int fd)
{
    bool failed = file_strikes();
    int code = errno;
    if (faults.armed) faults.files--;
    int result = __real_close(fd);
    if (!failed) return result;
    errno = code;
    return -1;
}
#endif
