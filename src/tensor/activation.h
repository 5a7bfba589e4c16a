// The activations a bias can be fused with. Kept apart because the graph and every backend name
// them.
#ifndef WK_TENSOR_ACTIVATION_H
#define WK_TENSOR_ACTIVATION_H

/// What happens to a layer's output. Every derivative is a function of the output alone, so a
/// backward pass keeps the output and not the input.
typedef enum wk_activation {
    WK_IDENTITY,
    WK_ELU, // x > 0 ? x : exp(x) - 1
    WK_TANH,
    WK_SIGMOID,
} wk_activation;

#endif
