// Growable arrays.
#include "base/memory.h"
#include "support/check.h"
#include "support/faults.h"

typedef WK_ARRAY(int) ints;

static void pushed_items_stay_in_order(void **state)
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

static void structs_with_commas_can_be_pushed(void **state)
{
    typedef struct pair {
        int a, b;
    } pair;
    WK_ARRAY(pair) pairs = {0};
    assert_true(wk_array_push(&pairs, (pair){1, 2}));
    assert_int_equal(pairs.items[0].b, 2);
    wk_array_free(&pairs);
}

static void reserving_makes_room_once(void **state)
{
    ints a = {0};
    assert_true(wk_array_reserve(&a, 100));
    int *items = a.items;
    for (int i = 0; i < 100; i++)
        assert_true(wk_array_push(&a, i));
    assert_ptr_equal(a.items, items);
    wk_array_free(&a);
}

static void short_memory_leaves_the_array_as_it_was(void **state)
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

static void numbers_sort_in_rising_order(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_items_stay_in_order),
        cmocka_unit_test(structs_with_commas_can_be_pushed),
        cmocka_unit_test(reserving_makes_room_once),
        cmocka_unit_test(short_memory_leaves_the_array_as_it_was),
        cmocka_unit_test(numbers_sort_in_rising_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
