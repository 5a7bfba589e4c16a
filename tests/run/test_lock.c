// The lock of a run's directory when flock is interrupted, or somebody else has it: how long it is
// waited for, and that a stop ends the wait.
#include "base/file.h"
#include "run/disk.h"
#include "support/check.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>

#define PLACE "lock.tmp"

static wk_error err;
static wk_dir *dir;
static volatile sig_atomic_t stop;
static int calls, interrupted, stop_at; // of flock: made, still to be interrupted, when to stop

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (++calls == stop_at) stop = SIGTERM;
    if (calls > 100000) fail_msg("it never ends");
    if (interrupted == 0) return __real_flock(fd, operation);
    interrupted--;
    errno = EINTR;
    return -1;
}

static int enter(void **state)
{
    calls = interrupted = stop_at = stop = 0;
    if (wk_dir_create(PLACE, &err) != WK_OK) return -1;
    return wk_dir_open(NULL, PLACE, &dir, &err) == WK_OK ? 0 : -1;
}

static int leave(void **state)
{
    wk_dir_close(dir);
    return system("rm -r " PLACE);
}

TEST_CASE(a_call_that_is_interrupted_is_repeated)
{
    wk_lock lock = {0};
    interrupted = 3;
    assert_ok(wk_lock_take(dir, &lock, &err));
    assert_int_equal(interrupted, 0);
    wk_lock_release(&lock);
}

TEST_CASE(a_call_that_is_interrupted_for_ever_ends_with_a_stop)
{
    wk_lock lock = {0};
    interrupted = 1 << 30, stop_at = 5;
    assert_refused(wk_lock_take_within(dir, 1, &stop, NULL, &lock, &err), WK_E_STOPPED,
                   "run the same command again");
    assert_int_equal(calls, 5);
}

TEST_CASE(a_wait_for_another_process_ends_with_a_stop)
{
    wk_lock held = {0}, lock = {0};
    assert_ok(wk_lock_take(dir, &held, &err));
    calls = 0, stop_at = 40; // there are calls that look whether somebody else only looks, too
    assert_refused(wk_lock_take_within(dir, 1e9, &stop, NULL, &lock, &err), WK_E_STOPPED,
                   "run the same command again");
    wk_lock_release(&held);
    assert_ok(wk_lock_take_within(dir, 1e9, &stop, NULL, &lock, &err)); // it need not wait
    wk_lock_release(&lock);
}

int main(void)
{
    return run_each_test(enter, leave);
}
