// Which steps of different streams must wait for each other, against a plain account of all that
// was touched before. Needs no GPU.
#include "support/check.h"
#include "tensor/cuda/passes/stream_waits.h"

#include "base/random.h"

typedef struct fixture {
    wk_stream_waits *order;
    wk_vector_clock waits;
} fixture;

static fixture begin(void)
{
    fixture f = {.order = wk_stream_waits_create()};
    assert_non_null(f.order);
    return f;
}

static void step(fixture *f, int stream, const wk_access *accesses, size_t count)
{
    assert_true(wk_stream_waits_add(f->order, stream, accesses, count, &f->waits));
}

static void read_from(fixture *f, int stream, uint64_t first, uint64_t past)
{
    step(f, stream, &(wk_access){first, past, false}, 1);
}

static void write_to(fixture *f, int stream, uint64_t first, uint64_t past)
{
    step(f, stream, &(wk_access){first, past, true}, 1);
}

static void expect(const fixture *f, int stream, int waited)
{
    for (int i = 0; i < WK_STREAMS_MAX; i++)
        assert_int_equal(f->waits.step[i], i == stream ? waited : -1);
}

TEST_CASE(a_reader_waits_for_the_writer)
{
    fixture f = begin();
    write_to(&f, 0, 100, 200);
    read_from(&f, 1, 199, 300);
    expect(&f, 0, 0);
    read_from(&f, 2, 200, 300);
    expect(&f, 0, -1);
    wk_stream_waits_destroy(f.order);
}

TEST_CASE(a_writer_waits_for_readers_and_writers)
{
    fixture f = begin();
    read_from(&f, 1, 100, 200);
    write_to(&f, 0, 150, 160);
    expect(&f, 1, 0);
    write_to(&f, 2, 159, 170);
    // The reader was waited for by the writer.
    expect(&f, 0, 1);
    wk_stream_waits_destroy(f.order);
}

TEST_CASE(readers_do_not_wait_for_each_other)
{
    fixture f = begin();
    write_to(&f, 0, 0, 10);
    read_from(&f, 0, 0, 10);
    read_from(&f, 1, 0, 10);
    expect(&f, 0, 0);
    read_from(&f, 0, 0, 10);
    expect(&f, 1, -1);
    wk_stream_waits_destroy(f.order);
}

TEST_CASE(a_stream_waits_once_for_what_it_has_waited_for)
{
    fixture f = begin();
    write_to(&f, 0, 0, 10);
    write_to(&f, 0, 10, 20);
    read_from(&f, 1, 10, 20);
    expect(&f, 0, 1);
    read_from(&f, 1, 0, 10);
    expect(&f, 0, -1);
    // Through stream 1, stream 2 knows of both.
    write_to(&f, 1, 30, 40);
    step(&f, 2, (wk_access[]){{0, 10, false}, {30, 40, false}}, 2);
    expect(&f, 1, 4);
    wk_stream_waits_destroy(f.order);
}

TEST_CASE(what_a_write_covers_partly_is_still_known)
{
    fixture f = begin();
    write_to(&f, 1, 0, 100);
    write_to(&f, 2, 40, 60);
    read_from(&f, 0, 0, 10);
    expect(&f, 1, 0);
    read_from(&f, 3, 60, 61);
    expect(&f, 1, 0);
    read_from(&f, 3, 59, 60);
    expect(&f, 2, 1);
    wk_stream_waits_destroy(f.order);
}

// Against all pairs: memory of 64 bytes, steps with up to three accesses.
enum { STEPS = 400, BYTES = 64, MOST = 3 };

typedef struct account {
    int stream[STEPS];
    wk_access accesses[STEPS][MOST];
    size_t count[STEPS];
    bool after[STEPS][STEPS]; // [a][b]: b is done when a is
} account;

static bool meet(const account *all, int a, int b)
{
    for (size_t i = 0; i < all->count[a]; i++)
        for (size_t k = 0; k < all->count[b]; k++) {
            const wk_access *x = &all->accesses[a][i], *y = &all->accesses[b][k];
            if ((x->write || y->write) && x->begin < y->end && y->begin < x->end) return true;
        }
    return false;
}

static void follow(account *all, int step, int before)
{
    for (int i = 0; i < step; i++)
        all->after[step][i] |= i == before || all->after[before][i];
}

TEST_CASE(random_steps_wait_for_all_they_must)
{
    static account all;
    int waits = 0, previous[WK_STREAMS_MAX] = {-1, -1, -1, -1};
    wk_rng rng = wk_rng_stream(7, "order", 0);
    fixture f = begin();
    for (int i = 0; i < STEPS; i++) {
        all.stream[i] = (int)wk_rng_uniform(&rng, 0, WK_STREAMS_MAX);
        all.count[i] = (size_t)wk_rng_uniform(&rng, 0, MOST + 1);
        for (size_t k = 0; k < all.count[i]; k++) {
            uint64_t at = (uint64_t)wk_rng_uniform(&rng, 0, BYTES);
            uint64_t size = 1 + (uint64_t)wk_rng_uniform(&rng, 0, 6);
            all.accesses[i][k] = (wk_access){at, at + size, wk_rng_uniform(&rng, 0, 1) < 0.3};
        }
        step(&f, all.stream[i], all.accesses[i], all.count[i]);
        if (previous[all.stream[i]] >= 0) follow(&all, i, previous[all.stream[i]]);
        for (int s = 0; s < WK_STREAMS_MAX; s++) {
            int waited = f.waits.step[s];
            if (waited < 0) continue;
            assert_int_equal(all.stream[waited], s);
            assert_int_not_equal(s, all.stream[i]);
            assert_false(all.after[i][waited]);
            follow(&all, i, waited);
            waits++;
        }
        for (int k = 0; k < i; k++)
            if (meet(&all, i, k)) assert_true(all.after[i][k]);
        previous[all.stream[i]] = i;
    }
    // Fewer than if every step waited for all streams.
    assert_in_range(waits, STEPS / 10, STEPS * (WK_STREAMS_MAX - 1) / 2);
    wk_stream_waits_destroy(f.order);
}

TEST_MAIN(NULL, NULL)
