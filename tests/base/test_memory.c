// Arenas and growable arrays.
#include "base/memory.h"
#include "support/check.h"
#include "support/faults.h"

TEST_CASE(memory_is_zeroed_aligned_and_apart)
{
    wk_arena arena = {.block_size = 256};
    unsigned char *pieces[50];
    for (size_t i = 0; i < 50; i++) {
        size_t size = i * 7 % 200;
        pieces[i] = wk_arena_alloc(&arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % 64, 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)i + 1, size);
    }
    // Later pieces did not touch earlier ones.
    for (size_t i = 0; i < 50; i++)
        for (size_t k = 0; k < i * 7 % 200; k++)
            assert_int_equal(pieces[i][k], i + 1);
    wk_arena_reset(&arena);
}

TEST_CASE(memory_is_zeroed_again_after_a_reset)
{
    wk_arena arena = {0};
    memset(wk_arena_alloc(&arena, 1000), 0xFF, 1000);
    wk_arena_reset(&arena);
    const char *again = wk_arena_alloc(&arena, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(again[i], 0);
    wk_arena_reset(&arena);
}

TEST_CASE(pieces_larger_than_a_block_are_possible)
{
    wk_arena arena = {.block_size = 64};
    char *large = wk_arena_alloc(&arena, 1 << 20);
    assert_non_null(large);
    large[(1 << 20) - 1] = 1;
    wk_arena_reset(&arena);
}

TEST_CASE(use_is_counted_and_the_peak_kept)
{
    wk_arena arena = {0};
    wk_arena_alloc(&arena, 1);
    wk_arena_alloc(&arena, 65);
    assert_int_equal(arena.used, 64 + 128);
    wk_arena_reset(&arena);
    assert_int_equal(arena.used, 0);
    assert_int_equal(arena.peak, 192);
    wk_arena_alloc(&arena, 10);
    assert_int_equal(arena.peak, 192);
    wk_arena_reset(&arena);
}

TEST_CASE(copies_are_copies)
{
    wk_arena arena = {0};
    char text[] = "text";
    char *copy = wk_arena_string(&arena, text);
    const int numbers[] = {1, 2, 3};
    int *same = wk_arena_copy(&arena, numbers, sizeof numbers);
    text[0] = 'n';
    assert_string_equal(copy, "text");
    assert_memory_equal(same, numbers, sizeof numbers);
    assert_non_null(wk_arena_copy(&arena, NULL, 0));
    wk_arena_reset(&arena);
}

TEST_CASE(short_memory_gives_null_and_changes_nothing)
{
    wk_arena arena = {0};
    assert_null(wk_arena_alloc(&arena, SIZE_MAX - 3));
    fault_arm(FAULT_ALLOC, 0, ENOMEM);
    assert_null(wk_arena_string(&arena, "text"));
    assert_int_equal(arena.used, 0);
    assert_non_null(wk_arena_alloc(&arena, 5));
    wk_arena_reset(&arena);
    wk_arena_reset(&arena);
}

typedef WK_ARRAY(int) ints;

TEST_CASE(pushed_items_stay_in_order)
{
    ints a = {0};
    for (int i = 0; i < 1000; i++)
        assert_true(wk_array_push(&a, i * i));
    assert_int_equal(a.count, 1000);
    assert_true(a.capacity >= 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(a.items[i], i * i);
    wk_array_free(&a);
    assert_null(a.items);
    assert_int_equal(a.count + a.capacity, 0);
}

TEST_CASE(structs_with_commas_can_be_pushed)
{
    typedef struct pair {
        int a, b;
    } pair;
    WK_ARRAY(pair) pairs = {0};
    assert_true(wk_array_push(&pairs, (pair){1, 2}));
    assert_int_equal(pairs.items[0].b, 2);
    wk_array_free(&pairs);
}

TEST_CASE(reserving_makes_room_once)
{
    ints a = {0};
    assert_true(wk_array_reserve(&a, 100));
    int *items = a.items;
    for (int i = 0; i < 100; i++)
        assert_true(wk_array_push(&a, i));
    assert_ptr_equal(a.items, items);
    wk_array_free(&a);
}

TEST_CASE(short_memory_leaves_the_array_as_it_was)
{
    ints a = {0};
    for (int i = 0; i < 8; i++)
        assert_true(wk_array_push(&a, i));
    int evaluated = 0;
    fault_arm(FAULT_ALLOC, 0, ENOMEM);
    assert_false(wk_array_push(&a, (evaluated++, 9)));
    assert_int_equal(evaluated, 0);
    assert_int_equal(a.count, 8);
    assert_int_equal(a.items[7], 7);
    assert_false(wk_array_reserve(&a, SIZE_MAX / sizeof(int)));
    fault_arm(FAULT_ALLOC, 0, ENOMEM); // what would otherwise ask the system for half of all memory
    assert_false(wk_array_reserve(&a, SIZE_MAX / sizeof(int) / 2 + 100));
    assert_int_equal(a.capacity, 8);
    wk_array_free(&a);
}

TEST_CASE(numbers_sort_in_rising_order)
{
    double reals[] = {2, -1, 0.5, 2, -0.5};
    const double rising[] = {-1, -0.5, 0.5, 2, 2};
    uint64_t counts[] = {UINT64_MAX, 0, (uint64_t)1 << 63, 7, (uint64_t)1 << 32};
    const uint64_t expected[] = {0, 7, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX};
    qsort(reals, 5, sizeof *reals, wk_compare_doubles);
    qsort(counts, 5, sizeof *counts, wk_compare_u64);
    assert_memory_equal(reals, rising, sizeof rising);
    assert_memory_equal(counts, expected, sizeof expected);
}

TEST_MAIN(NULL, NULL)
