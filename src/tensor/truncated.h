// The actor's normal distribution truncated to [-1, 1], one dimension at a time: the scalar
// formulas that every backend compiles, so that all draw the same actions from the same bits. With
// the mean in [-1, 1] the bounds in standard units, low = (-1 - mean) / std <= 0 <= high = (1 -
// mean) / std, lie on both sides of the mode: at least a third of the mass is inside, and both
// cut-off tails are computed as tails, without subtracting from 1.
#ifndef WK_TENSOR_TRUNCATED_H
#define WK_TENSOR_TRUNCATED_H

#include "tensor/vmath.h"

/// One dimension of the distribution.
typedef struct wk_truncated {
    float mean, std, gate; // gate = sigmoid(s / 2)
    float low, high;       // the bounds in standard units
} wk_truncated;

/// Gradients of its mean and std, or of the raw m and s.
typedef struct wk_truncated_grad {
    float mean, std;
} wk_truncated_grad;

/// The distribution of raw m and s: mean = tanh(m), std = 2 sigmoid(s/2) + 0.1.
WK_VMATH wk_truncated wk_truncated_of(float m, float s)
{
    wk_truncated t;
    t.mean = wk_tanhf(m);
    t.gate = wk_sigmoidf(0.5f * s);
    t.std = 2.0f * t.gate + 0.1f;
    t.low = (-1.0f - t.mean) / t.std;
    t.high = (1.0f - t.mean) / t.std;
    return t;
}

/// The gradients of raw m and s from those of mean and std.
WK_VMATH wk_truncated_grad wk_truncated_to_raw(wk_truncated t, wk_truncated_grad d)
{
    d.mean *= 1.0f - t.mean * t.mean;
    d.std *= t.gate * (1.0f - t.gate);
    return d;
}

/// Actions stay this little inside the bounds.
WK_VMATH float wk_truncated_clip(float x)
{
    const float clip = 0.999999f;
    x = x > clip ? clip : x;
    return x < -clip ? -clip : x;
}

/// The sample in standard units: the x with mass u of [low, high] below it, reached from whichever
/// end is nearer.
WK_VMATH float wk_truncated_standard(float low, float high, float u)
{
    float below_low = wk_normal_tail(low), above_high = wk_normal_tail(high);
    float below = below_low * (1.0f - u) + u * (1.0f - above_high);
    float above = (1.0f - below_low) * (1.0f - u) + u * above_high;
    float tail = below < above ? below : above;
    float x = wk_normal_quantile(tail < 0.5f ? tail : 0.5f);
    return below < above ? x : -x;
}

WK_VMATH float wk_truncated_sample(wk_truncated t, float u)
{
    return wk_truncated_clip(t.mean + t.std * wk_truncated_standard(t.low, t.high, u));
}

/// With x = mean + std z and z the quantile at mass u, differentiating the mass below z gives
/// dz/dlow = (1 - u) density(low) / density(z) and dz/dhigh = u density(high) / density(z).
WK_VMATH wk_truncated_grad wk_truncated_sample_grad(wk_truncated t, float u, float dy)
{
    float low = t.low, high = t.high, z = wk_truncated_standard(low, high, u);
    float by_low = (1.0f - u) * wk_expf(0.5f * ((z - low) * (z + low)));
    float by_high = u * wk_expf(0.5f * ((z - high) * (z + high)));
    wk_truncated_grad d;
    d.mean = dy * (1.0f - by_low - by_high);
    d.std = dy * (z - low * by_low - high * by_high);
    return d;
}

/// Mass between the bounds.
WK_VMATH float wk_truncated_mass(wk_truncated t)
{
    return 1.0f - wk_normal_tail(t.low) - wk_normal_tail(t.high);
}

/// H = log(std mass sqrt(2 pi e)) + (low density(low) - high density(high)) / (2 mass)
WK_VMATH float wk_truncated_entropy(wk_truncated t)
{
    const float log_sqrt_2pi = 0.918938533f;
    float mass = wk_truncated_mass(t);
    float edges = t.low * wk_normal_density(t.low) - t.high * wk_normal_density(t.high);
    return wk_logf(t.std * mass) + (log_sqrt_2pi + 0.5f) + 0.5f * edges / mass;
}

/// With E = low density(low) - high density(high): dH/dlow = density(low) / mass * (-1 + (1 -
/// low^2) / 2 + E / (2 mass)), the same with the opposite sign at high; low and high depend on mean
/// and std.
WK_VMATH wk_truncated_grad wk_truncated_entropy_grad(wk_truncated t, float dy)
{
    float low = t.low, high = t.high, mass = wk_truncated_mass(t);
    float at_low = wk_normal_density(low), at_high = wk_normal_density(high);
    float edges = 0.5f * (low * at_low - high * at_high) / mass;
    float by_low = at_low / mass * (edges - 0.5f - 0.5f * (low * low));
    float by_high = -at_high / mass * (edges - 0.5f - 0.5f * (high * high));
    wk_truncated_grad d;
    d.mean = -dy * (by_low + by_high) / t.std;
    d.std = dy * (1.0f - low * by_low - high * by_high) / t.std;
    return d;
}

/// log p(x) = -z^2 / 2 - log(std mass sqrt(2 pi)), z = (x - mean) / std
WK_VMATH float wk_truncated_log_prob(wk_truncated t, float x)
{
    const float log_sqrt_2pi = 0.918938533f;
    float z = (x - t.mean) / t.std;
    return -0.5f * (z * z) - wk_logf(t.std * wk_truncated_mass(t)) - log_sqrt_2pi;
}

/// Its gradients; `dx` receives that of x.
WK_VMATH wk_truncated_grad wk_truncated_log_prob_grad(wk_truncated t, float x, float dy, float *dx)
{
    float low = t.low, high = t.high, z = (x - t.mean) / t.std;
    float at_low = wk_normal_density(low), at_high = wk_normal_density(high);
    float mass = wk_truncated_mass(t);
    wk_truncated_grad d;
    d.mean = dy * (z - (at_low - at_high) / mass) / t.std;
    d.std = dy * (z * z - 1.0f - (low * at_low - high * at_high) / mass) / t.std;
    *dx = -dy * z / t.std;
    return d;
}

#endif
