// The pool: every piece once, whatever the threads, the sizes and the order of calls.
#include "base/pool.h"
#include "support/check.h"
#include "support/faults.h"
#include <unistd.h>

enum { PIECES_MAX = 1000 };

static wk_error err;

// Counts how often each piece ran and on which threads.
typedef struct tally {
    int threads;
    int pieces[PIECES_MAX]; // each written by one thread only, if the pool is right
    atomic_int bad_threads;
    atomic_int running[16]; // pieces inside, per thread number
} tally;

static void count_piece(void *context, size_t piece, int thread)
{
    tally *t = context;
    if (thread < 0 || thread >= t->threads) {
        t->bad_threads++;
        return;
    }
    // Two pieces at once under one thread number would share scratch memory.
    if (t->running[thread]++ != 0) t->bad_threads++;
    t->pieces[piece]++;
    t->running[thread]--;
}

static void assert_each_once(const tally *t, size_t pieces)
{
    assert_int_equal(t->bad_threads, 0);
    for (size_t i = 0; i < PIECES_MAX; i++)
        assert_int_equal(t->pieces[i], i < pieces ? 1 : 0);
}

static wk_pool *make(int threads)
{
    wk_pool *pool = NULL;
    assert_ok(wk_pool_create(threads, &pool, &err));
    return pool;
}

TEST_CASE(every_piece_runs_exactly_once)
{
    const size_t sizes[] = {0, 1, 2, 3, 7, 64, PIECES_MAX};
    for (int threads = 1; threads <= 4; threads++) {
        wk_pool *pool = make(threads);
        assert_int_equal(wk_pool_threads(pool), threads);
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            tally t = {.threads = threads};
            wk_pool_run(pool, sizes[i], count_piece, &t);
            assert_each_once(&t, sizes[i]);
        }
        wk_pool_destroy(pool);
    }
}

TEST_CASE(a_null_pool_runs_in_the_caller)
{
    tally t = {.threads = 1};
    wk_pool_run(NULL, 9, count_piece, &t);
    assert_each_once(&t, 9);
    assert_int_equal(wk_pool_threads(NULL), 1);
    wk_pool_destroy(NULL);
}

TEST_CASE(started_jobs_are_done_after_waiting)
{
    for (int threads = 1; threads <= 4; threads++) {
        wk_pool *pool = make(threads);
        for (int round = 0; round < 50; round++) {
            tally t = {.threads = threads};
            size_t pieces = (size_t)round % 9;
            wk_pool_start(pool, pieces, count_piece, &t);
            if (round % 5 == 0) usleep(300);
            wk_pool_wait(pool);
            assert_each_once(&t, pieces);
        }
        wk_pool_destroy(pool);
    }
}

typedef struct meeting {
    atomic_int arrived;
} meeting;

static void arrive(void *context, size_t piece, int thread)
{
    (void)piece;
    (void)thread;
    ((meeting *)context)->arrived++;
}

TEST_CASE(workers_work_while_the_caller_does_something_else)
{
    wk_pool *pool = make(2);
    meeting m = {0};
    wk_pool_start(pool, 3, arrive, &m);
    // Nobody waits for the job, and yet it gets done.
    for (int i = 0; i < 10000 && m.arrived < 3; i++)
        usleep(1000);
    assert_int_equal(m.arrived, 3);
    wk_pool_wait(pool);
    wk_pool_destroy(pool);
}

TEST_CASE(many_short_jobs_in_a_row)
{
    for (int threads = 2; threads <= 4; threads++) {
        wk_pool *pool = make(threads);
        meeting m = {0};
        for (int job = 0; job < 5000; job++)
            wk_pool_run(pool, 3, arrive, &m);
        assert_int_equal(m.arrived, 15000);
        wk_pool_destroy(pool);
    }
}

TEST_CASE(workers_that_fell_asleep_wake_up)
{
    wk_pool *pool = make(3);
    meeting m = {0};
    for (int job = 0; job < 5; job++) {
        usleep(20000);
        wk_pool_run(pool, 8, arrive, &m);
    }
    assert_int_equal(m.arrived, 40);
    wk_pool_destroy(pool);
}

// What a job wrote is visible to the caller and to the next job without further care.
static void add_left_neighbour(void *context, size_t piece, int thread)
{
    (void)thread;
    long(*rows)[64] = context;
    rows[1][piece] = rows[0][piece] + rows[0][(piece + 63) % 64];
}

TEST_CASE(jobs_see_what_the_last_job_wrote)
{
    long sums[2];
    for (int threads = 1; threads <= 4; threads += 3) {
        wk_pool *pool = make(threads);
        long rows[2][64] = {{1}};
        for (int job = 0; job < 50; job++) {
            wk_pool_run(pool, 64, add_left_neighbour, rows);
            memcpy(rows[0], rows[1], sizeof rows[0]);
        }
        sums[threads == 4] = rows[0][17];
        wk_pool_destroy(pool);
    }
    assert_true(sums[0] == sums[1] && sums[0] != 0);
}

TEST_CASE(pools_can_be_made_and_destroyed_without_work)
{
    for (int i = 0; i < 20; i++)
        wk_pool_destroy(make(4));
}

TEST_CASE(zero_threads_means_one_per_core)
{
    wk_pool *pool = make(0);
    assert_int_equal(wk_pool_threads(pool), wk_cpu_count());
    assert_true(wk_cpu_count() >= 1);
    wk_pool_destroy(pool);
}

TEST_CASE(impossible_pools_are_refused)
{
    wk_pool *pool;
    assert_refused(wk_pool_create(-1, &pool, &err), WK_E_INPUT, "give 1 to 1024");
    assert_refused(wk_pool_create(1025, &pool, &err), WK_E_INPUT, "1025 threads");
    fault_arm(FAULT_THREAD, 1, 0);
    assert_refused(wk_pool_create(4, &pool, &err), WK_E_MEMORY, "cannot start thread 3 of 4");
    for (int n = 0; n < 2; n++) {
        fault_arm(FAULT_ALLOC, n, ENOMEM);
        assert_int_equal(wk_pool_create(3, &pool, &err), WK_E_MEMORY);
        assert_true(fault_disarm(FAULT_ALLOC));
    }
}

TEST_MAIN(NULL, NULL)
