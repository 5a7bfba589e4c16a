// What the precision of the device that tests run on allows.
//
// On the CPU and in float32 on a GPU a test's own tolerance holds. Under
// WAKER_TEST_DEVICE=cuda-bf16 matrix products and convolutions round what they read to 8
// significant bits and sum in float32; all else is float32. A rounding is off by 2^-9.3 of a number
// in the root of the mean square, and roundings are independent of each other: K products err by
// sqrt(K) of one where their sum is itself of the size of sqrt(K) of one. So each of the two
// operands of a product adds 2^-9 to the distance in the Euclidean norm, whatever K is, and
// products in a row add up as squares:
//
//     |got - expected| = 2^-9 sqrt(2 P) |expected|    behind P products, counted in the graph
//
// Twice that is allowed, and up to twice again where a tensor has few numbers to average over. Only
// the last eight products of a row count: what is farther back was averaged by the sums between
// (whole updates, up to 64 products deep, are off by what five make). At most 1.6 % are thus
// allowed for a large tensor. A tensor behind no product keeps its float32 tolerance.
#ifndef WK_TESTS_PRECISION_H
#define WK_TESTS_PRECISION_H

#include "tensor/node.h"

/// Whether the tests run on a device that rounds to bf16.
bool test_rounds(void);

/// Matrix products and convolutions on the longest way to a tensor; 0 for none.
int test_products(const wk_graph *g, wk_tensor x);

/// The distance that is allowed behind so many products, as above.
double test_allowance(int products, size_t count);

/// |got - expected| / |expected|; NaN counts as infinitely far.
double test_distance(const float *got, const float *expected, size_t count);

/// Fails the test where numbers behind so many products are farther off than is allowed.
void test_expect_near(const char *what, const float *got, const float *expected, size_t count,
                      int products);

#endif
