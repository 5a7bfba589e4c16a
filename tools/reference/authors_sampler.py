#!/usr/bin/env python3
"""Samples of TensorFlow Probability's truncated normal with their gradients, from its own sampler.

The actors of the paper's authors sample from it with the bounds -1 and 1. Nothing of it is replaced: it draws its own random
numbers, and TensorFlow differentiates it. The file holds raw [8,6] (m, then s: mean = tanh(m), std = 2 sigmoid(s/2) + 0.1),
the samples [20,8,3], weights of the same shape and the gradient of their weighted sum with respect to mean and std.

    python3 tools/reference/authors_sampler.py tests/nn/golden/authors_sampler.safetensors

needs tensorflow, tensorflow-probability, tf-keras and safetensors; prints their versions.
"""

import sys

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from safetensors.numpy import save_file

DRAWS, ROWS, ACTIONS = 20, 8, 3
random = np.random.default_rng(7)
raw = np.round(random.normal(size=(ROWS, 2 * ACTIONS)) * 1.2, 3).astype(np.float32)
mean = tf.tanh(raw[:, :ACTIONS])
std = 2 * tf.sigmoid(raw[:, ACTIONS:] / 2) + 0.1
weight = np.round(random.normal(size=(DRAWS, ROWS, ACTIONS)), 3).astype(np.float32)

tf.random.set_seed(1)
samples, by_mean, by_std = [], [], []
for draw in range(DRAWS):
    with tf.GradientTape() as tape:
        tape.watch([mean, std])
        sample = tfp.distributions.TruncatedNormal(mean, std, -1, 1).sample()
        loss = tf.reduce_sum(sample * weight[draw])
    gradients = tape.gradient(loss, [mean, std])
    samples.append(sample.numpy())
    by_mean.append(gradients[0].numpy())
    by_std.append(gradients[1].numpy())

save_file({"raw": raw, "sample": np.stack(samples), "weight": weight, "grad/mean": np.stack(by_mean), "grad/std": np.stack(by_std)}, sys.argv[1])
print("tensorflow", tf.__version__, "tensorflow-probability", tfp.__version__)
