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

/// std of the gate sigmoid(s / 2).
WK_VMATH float wk_truncated_std(float gate)
{
    return 2.0f * gate + 0.1f;
}

/// Fills in the bounds.
WK_VMATH wk_truncated wk_truncated_bounds(wk_truncated t)
{
    float inverse = 1.0f / t.std;
    t.low = (-1.0f - t.mean) * inverse;
    t.high = (1.0f - t.mean) * inverse;
    return t;
}

/// The distribution of raw m and s: mean = tanh(m), std = 2 sigmoid(s/2) + 0.1.
WK_VMATH wk_truncated wk_truncated_of(float m, float s)
{
    float gate = wk_sigmoidf(0.5f * s);
    wk_truncated t = {wk_tanhf(m), wk_truncated_std(gate), gate, 0, 0};
    return wk_truncated_bounds(t);
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

/// Where the sample of mass u of [low, high] lies: the mass below it, or above it if that is less.
typedef struct wk_truncated_place {
    float tail, sign; // sign -1: the mass above
} wk_truncated_place;

/// The two masses are those cut off.
WK_VMATH wk_truncated_place wk_truncated_place_of(float below_low, float above_high, float u)
{
    float below = below_low * (1.0f - u) + u * (1.0f - above_high);
    float above = (1.0f - below_low) * (1.0f - u) + u * above_high;
    float half = 0.5f, tail = below < above ? below : above;
    wk_truncated_place place = {tail < half ? tail : half, below < above ? 1.0f : -1.0f};
    return place;
}

/// The sample in standard units: the x with mass u of [low, high] below it.
WK_VMATH float wk_truncated_standard(float low, float high, float u)
{
    wk_truncated_place place = wk_truncated_place_of(wk_normal_tail(low), wk_normal_tail(high), u);
    return place.sign * wk_normal_quantile(place.tail);
}

WK_VMATH float wk_truncated_sample(wk_truncated t, float u)
{
    return wk_truncated_clip(t.mean + t.std * wk_truncated_standard(t.low, t.high, u));
}

/// With x = mean + std z and z the quantile at mass u, differentiating the mass below z gives
/// dz/dlow = (1 - u) density(low) / density(z) and dz/dhigh = u density(high) / density(z).
WK_VMATH wk_truncated_grad wk_truncated_standard_grad(wk_truncated t, float z, float u, float dy)
{
    float low = t.low, high = t.high;
    float by_low = (1.0f - u) * wk_expf(0.5f * ((z - low) * (z + low)));
    float by_high = u * wk_expf(0.5f * ((z - high) * (z + high)));
    wk_truncated_grad d;
    d.mean = dy * (1.0f - by_low - by_high);
    d.std = dy * (z - low * by_low - high * by_high);
    return d;
}

/// With z held, as if it did not depend on mean and std: x = mean + std z is a location and a
/// scale.
WK_VMATH wk_truncated_grad wk_truncated_location_scale_grad(float z, float dy)
{
    wk_truncated_grad d = {dy, dy * z};
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

#endif
