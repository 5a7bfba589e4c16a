// ops.def as a whole: every op belongs to exactly one family of tests.
#include "support/check.h"
#include "tensor/families.h"
#include "tensor/node.h"

TEST_CASE(every_op_belongs_to_one_family_of_tests)
{
    static const wk_op listed[] = {FAMILY_SHAPE(FAMILY_OP) FAMILY_ARITHMETIC(FAMILY_OP)
                                       FAMILY_LAYER(FAMILY_OP) FAMILY_DISTRIBUTION(FAMILY_OP)
                                           FAMILY_LOSS(FAMILY_OP) FAMILY_STATE(FAMILY_OP)};
    int times[WK_OP_COUNT] = {0};
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        times[listed[i]]++;
    for (int op = 0; op < WK_OP_COUNT; op++)
        if (times[op] != 1)
            fail_msg("%s is in %d families of tests/tensor/families.h", wk_op_table[op].name,
                     times[op]);
}

TEST_CASE(every_row_of_the_manifest_is_sound)
{
    for (int op = 0; op < WK_OP_COUNT; op++) {
        const wk_op_info *info = &wk_op_table[op];
        assert_true(info->min_inputs >= 1 && info->min_inputs <= info->max_inputs);
        assert_true(info->outputs >= 0 && info->outputs <= WK_OUTPUTS_MAX);
        // What writes cannot be differentiated.
        assert_true(!wk_op_writes((wk_op)op) || info->gradient == WK_GRADIENT_ONCE);
        // A node without results that writes nothing runs only if its row says so.
        bool runs = wk_op_writes((wk_op)op) != 0 || info->traits & WK_TRAIT_RUNS;
        assert_true(info->outputs > 0 || runs);
    }
}

TEST_MAIN(NULL, NULL)
