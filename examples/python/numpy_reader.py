"""The world model's states from a snapshot with numpy alone: what the numbers in the file mean.

    python3 numpy_reader.py runs/a/snapshots/step-000000500000.safetensors
"""

import json
import struct
import sys

import numpy as np


def load(path):
    """The tensors of a safetensors file by name."""
    data = open(path, "rb").read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
    return tensors


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def dense(w, name, x):
    return x @ w[f"model/{name}/w"] + w[f"model/{name}/b"]


def encode(w, images):
    """uint8 [N,64,64,3] to [N,32*depth]: four convolutions of 4x4 pixels, stride 2."""
    x = images.astype(np.float32) / 255 - 0.5
    for i in range(4):
        windows = np.lib.stride_tricks.sliding_window_view(x, (4, 4), axis=(1, 2))[:, ::2, ::2]
        kernel = w[f"model/encoder/{i}/w"]  # [4,4,in,out]
        x = elu(np.einsum("nhwcyx,yxco->nhwo", windows, kernel) + w[f"model/encoder/{i}/b"])
    return x.reshape(len(x), -1)


def advance(w, stoch, deter, action):
    """The recurrent state after an action: a GRU with layer norm over its three gates."""
    x = elu(dense(w, "rssm/in", np.concatenate([stoch, action], -1)))
    gates = dense(w, "rssm/gru", np.concatenate([x, deter], -1))
    gates = gates - gates.mean(-1, keepdims=True)
    gates = gates / np.sqrt((gates**2).mean(-1, keepdims=True) + 1e-3)
    gates = gates * w["model/rssm/gru/gain"] + w["model/rssm/gru/bias"]
    reset, candidate, update = np.split(gates, 3, -1)
    update = sigmoid(update - 1)
    return update * np.tanh(sigmoid(reset) * candidate) + (1 - update) * deter


def one_hot(logits, classes):
    logits = logits.reshape(len(logits), -1, classes)
    return np.eye(classes, dtype=np.float32)[logits.argmax(-1)].reshape(len(logits), -1)


def features(path, images, actions, classes=None):
    """[stoch, deter] of every step, as waker.Model.observe: images [T,N,64,64,3], actions [T,N,A]."""
    w = load(path)
    flat, deter = len(w["model/rssm/post/out/b"]), len(w["model/rssm/gru/b"]) // 3
    classes = classes or round(flat**0.5)  # as many classes as variables, unless told otherwise
    state = np.zeros((images.shape[1], flat)), np.zeros((images.shape[1], deter))
    out = []
    for t in range(len(images)):
        action = actions[t] if t else np.zeros_like(actions[t])
        hidden = advance(w, *state, action)
        post = elu(dense(w, "rssm/post/hidden", np.concatenate([hidden, encode(w, images[t])], -1)))
        state = one_hot(dense(w, "rssm/post/out", post), classes), hidden
        out.append(np.concatenate(state, -1))
    return np.array(out, np.float32)


if __name__ == "__main__":
    for name, tensor in load(sys.argv[1]).items():
        print(f"{name:40} {list(tensor.shape)}")
