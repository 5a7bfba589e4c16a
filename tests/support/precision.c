#include "support/precision.h"
#include "support/check.h"

#include <stdlib.h>

bool test_rounds(void)
{
    const char *device = getenv("WAKER_TEST_DEVICE");
    return device && strcmp(device, "cuda-bf16") == 0;
}

static bool is_product(wk_op op)
{
    return op == WK_OP_matmul || op == WK_OP_conv || op == WK_OP_conv_dx || op == WK_OP_conv_dw ||
           op == WK_OP_deconv || op == WK_OP_deconv_dx;
}

int test_products(const wk_graph *g, wk_tensor x)
{
    int *behind = calloc(g->tensors.count, sizeof *behind); // products, by tensor
    assert_non_null(behind);
    for (size_t i = 0; i < g->nodes.count; i++) {
        const wk_node *node = &g->nodes.items[i];
        int most = 0;
        for (int k = 0; k < node->input_count; k++)
            if (behind[wk_node_inputs(g, node)[k]] > most)
                most = behind[wk_node_inputs(g, node)[k]];
        for (int k = 0; k < node->output_count; k++)
            behind[node->outputs + k] = most + is_product(node->op);
    }
    int products = behind[x.id];
    free(behind);
    return products;
}

double test_allowance(int products, size_t count)
{
    enum { FARTHEST = 8 };
    int behind = products < FARTHEST ? products : FARTHEST;
    return 2 * ldexp(sqrt(2.0 * behind), -9) * (1 + 1 / sqrt((double)count));
}

double test_distance(const float *got, const float *expected, size_t count)
{
    double difference = 0, norm = 1e-12;
    for (size_t i = 0; i < count; i++) {
        difference += pow((double)got[i] - expected[i], 2);
        norm += pow(expected[i], 2);
    }
    double d = sqrt(difference / norm);
    return isnan(d) ? INFINITY : d;
}

void test_expect_near(const char *what, const float *got, const float *expected, size_t count,
                      int products)
{
    double d = test_distance(got, expected, count), allowed = test_allowance(products, count);
    if (getenv("WAKER_GOLDEN_SHOW"))
        print_message("%-40s %7zu numbers, %3d products: %.2g off, %.2g allowed\n", what, count,
                      products, d, allowed);
    if (!(d <= allowed))
        fail_msg("%s: %g off, %g is allowed behind %d products", what, d, allowed, products);
}
