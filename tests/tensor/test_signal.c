// Where a graph signals that others may run: behind the last node that conflicts with them.
#include "support/check.h"
#include "support/engine.h"
#include "tensor/backend.h"
#include "tensor/node.h"

enum { NUMBERS = 16, BYTES = NUMBERS * sizeof(float) };

typedef struct fixture {
    engine e;
    wk_graph *other;
    wk_buffer *buffer; // room for four tensors
    wk_event *event;
} fixture;

static fixture open_fixture(void)
{
    wk_error err = {0};
    fixture f = {.e = engine_open(1)};
    assert_ok(wk_graph_create(&f.other, &err));
    assert_ok(wk_buffer_create(f.e.backend, 4 * BYTES, &f.buffer, &err));
    assert_ok(wk_event_create(f.e.backend, &f.event, &err));
    return f;
}

static void close_fixture(fixture *f)
{
    wk_program_destroy(f->e.program);
    f->e.program = NULL;
    wk_event_destroy(f->event);
    wk_graph_destroy(f->other);
    wk_buffer_destroy(f->buffer);
    engine_close(&f->e);
}

// Tensor i of the buffer in a graph.
static wk_tensor shared(const fixture *f, wk_graph *g, int i)
{
    return wk_graph_persistent(g, WK_F32, WK_SHAPE(NUMBERS), "shared", f->buffer,
                               (size_t)i * BYTES);
}

// Records two stores of x: the first into `to`, the second elsewhere. Returns the node behind the
// first.
static int store_twice(fixture *f, wk_tensor to, wk_tensor x)
{
    wk_graph_store(f->e.g, to, x);
    int behind = (int)wk_graph_node_count(f->e.g);
    wk_tensor last = engine_state(&f->e, WK_SHAPE(NUMBERS));
    wk_graph_store(f->e.g, last, wk_graph_affine(f->e.g, to, 2, 0));
    return behind;
}

static void expect_signal_at(fixture *f, int at)
{
    const wk_graph *const others[] = {f->other};
    wk_graph_signal(f->e.g, others, 1, f->event);
    for (int i = 0; i < (int)wk_graph_node_count(f->e.g); i++)
        assert_int_equal(f->e.g->nodes.items[i].op == WK_OP_mark, i == at);
}

TEST_CASE(it_is_behind_the_last_write_of_what_another_graph_reads)
{
    fixture f = open_fixture();
    wk_graph_output(f.other, wk_graph_affine(f.other, shared(&f, f.other, 1), 1, 0));
    wk_tensor x = engine_state(&f.e, WK_SHAPE(NUMBERS));
    expect_signal_at(&f, store_twice(&f, shared(&f, f.e.g, 1), x));
    close_fixture(&f);
}

TEST_CASE(it_is_behind_the_last_read_of_what_another_graph_writes)
{
    fixture f = open_fixture();
    wk_graph_store(f.other, shared(&f, f.other, 2), wk_graph_fill(f.other, WK_SHAPE(NUMBERS), 1));
    wk_tensor own = engine_state(&f.e, WK_SHAPE(NUMBERS));
    expect_signal_at(&f, store_twice(&f, own, shared(&f, f.e.g, 2)));
    close_fixture(&f);
}

TEST_CASE(neighbours_in_memory_and_what_both_only_read_do_not_count)
{
    fixture f = open_fixture();
    wk_graph_output(f.other, wk_graph_affine(f.other, shared(&f, f.other, 1), 1, 0));
    int behind = store_twice(&f, shared(&f, f.e.g, 1), shared(&f, f.e.g, 0));
    wk_graph_store(f.e.g, shared(&f, f.e.g, 2), wk_graph_affine(f.e.g, shared(&f, f.e.g, 1), 3, 0));
    expect_signal_at(&f, behind);
    close_fixture(&f);
}

TEST_CASE(the_graph_computes_the_same_around_it)
{
    fixture f = open_fixture();
    wk_error err = {0};
    float in[NUMBERS], out[NUMBERS];
    for (int i = 0; i < NUMBERS; i++)
        in[i] = (float)i;
    wk_graph_output(f.other, wk_graph_affine(f.other, shared(&f, f.other, 1), 1, 0));
    wk_tensor x = engine_state(&f.e, WK_SHAPE(NUMBERS));
    int behind = store_twice(&f, shared(&f, f.e.g, 1), x);
    wk_tensor y = wk_graph_affine(f.e.g, shared(&f, f.e.g, 1), 3, 1);
    wk_graph_output(f.e.g, y);
    expect_signal_at(&f, behind);
    engine_compile(&f.e);
    assert_ok(wk_program_upload(f.e.program, x, in, sizeof in, &err));
    assert_ok(wk_program_run(f.e.program, &err));
    assert_ok(wk_program_download(f.e.program, y, out, sizeof out, &err));
    for (int i = 0; i < NUMBERS; i++)
        assert_true(out[i] == 3 * in[i] + 1);
    close_fixture(&f);
}

TEST_MAIN(NULL, NULL)
