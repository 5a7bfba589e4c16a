// Every op of ops.def belongs to one family, and every family has a test program that must cover
// its ops; test_manifest.c checks that none is missing. An op whose gradient cannot be checked
// through a loss is in the family that runs it otherwise.
#ifndef WK_TESTS_TENSOR_FAMILIES_H
#define WK_TESTS_TENSOR_FAMILIES_H

#define FAMILY_OP(name) WK_OP_##name,

// The lists read best filled.
// clang-format off
/// test_op_shape.c
#define FAMILY_SHAPE(X) X(reshape) X(stop_gradient) X(slice) X(concat) X(repeat)

/// test_op_arithmetic.c
#define FAMILY_ARITHMETIC(X)                                                                       \
    X(add) X(mul) X(add_n) X(affine) X(clamp_min) X(clamp_min_grad) X(scale_rows) X(reduce)

/// test_op_layer.c
#define FAMILY_LAYER(X)                                                                            \
    X(matmul) X(bias_act) X(act_grad) X(bias_act_grad) X(column_sum) X(conv) X(conv_dx)            \
    X(deconv) X(deconv_dx) X(conv_dw) X(gru) X(gru_grad)

/// test_op_distribution.c
#define FAMILY_DISTRIBUTION(X)                                                                     \
    X(uniform) X(softmax) X(softmax_grad) X(sample_onehot) X(mode_onehot) X(entropy)               \
    X(kl) X(kl_dp) X(kl_dq)                                                                        \
    X(truncated_normal_sample) X(truncated_normal_sample_grad) X(truncated_normal_mode)            \
    X(truncated_normal_entropy) X(truncated_normal_entropy_grad)

/// test_op_loss.c
#define FAMILY_LOSS(X)                                                                             \
    X(half_squared_error) X(half_squared_error_grad) X(lambda_return) X(lambda_return_grad)        \
    X(disagreement) X(disagreement_grad)

/// test_op_state.c
#define FAMILY_STATE(X)                                                                            \
    X(image) X(global_norm) X(adam_begin) X(adam) X(check_finite) X(store) X(store_every)          \
    X(count) X(mark)

// clang-format on

#endif
