// Kinds that the graph and the kernels of every backend name: the activations that a bias can be
// fused with, and measures of disagreement.
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

/// How the members of a stack disagree: by the population's standard deviation, or its variance.
typedef enum wk_disagreement { WK_DISAGREEMENT_STD, WK_DISAGREEMENT_VARIANCE } wk_disagreement;

/// The gradient of a sample of the truncated normal: that of the quantile at a fixed mass, which
/// fades where the mean is at a bound; or that of mean + std z with z held, as TensorFlow
/// Probability computes it.
typedef enum wk_sample_gradient { WK_SAMPLE_EXACT, WK_SAMPLE_LOCATION_SCALE } wk_sample_gradient;

#endif
