"""The world model's states from a snapshot, in PyTorch: the same numbers to 1e-5 (tests/python).

    states = features("runs/a/snapshots/step-000000500000.safetensors", images, actions)

Names of the tensors: docs/python.md. numpy_reader.py is the same without PyTorch.
"""

import torch
import torch.nn.functional as F
from numpy_reader import load


class WorldModel(torch.nn.Module):
    def __init__(self, path, classes=None):
        super().__init__()
        weights = {name: torch.tensor(array) for name, array in load(path).items()
                   if name.startswith("model/")}
        self.w = torch.nn.ParameterDict({name.replace("/", "_"): torch.nn.Parameter(tensor)
                                         for name, tensor in weights.items()})
        self.flat = len(self["rssm/post/out/b"])
        self.deter = len(self["rssm/gru/b"]) // 3
        self.classes = classes or round(self.flat**0.5)  # as many as variables, unless told

    def __getitem__(self, name):
        return self.w["model_" + name.replace("/", "_")]

    def dense(self, name, *parts):
        return torch.cat(parts, -1) @ self[name + "/w"] + self[name + "/b"]

    def encode(self, images):
        x = images.permute(0, 3, 1, 2).float() / 255 - 0.5
        for i in range(4):
            kernel = self[f"encoder/{i}/w"].permute(3, 2, 0, 1)  # [4,4,in,out] in the file
            x = F.elu(F.conv2d(x, kernel, self[f"encoder/{i}/b"], stride=2))
        return x.permute(0, 2, 3, 1).flatten(1)

    def advance(self, stoch, deter, action):
        x = F.elu(self.dense("rssm/in", stoch, action))
        gates = F.layer_norm(self.dense("rssm/gru", x, deter), (3 * self.deter,),
                             self["rssm/gru/gain"], self["rssm/gru/bias"], eps=1e-3)
        reset, candidate, update = gates.chunk(3, -1)
        update = torch.sigmoid(update - 1)
        return update * torch.tanh(torch.sigmoid(reset) * candidate) + (1 - update) * deter

    def observe(self, images, actions):
        """uint8 [T,N,64,64,3] and [T,N,A] to [stoch, deter] of every step."""
        stoch = images.new_zeros(images.shape[1], self.flat, dtype=torch.float32)
        deter = images.new_zeros(images.shape[1], self.deter, dtype=torch.float32)
        out = []
        for t in range(len(images)):
            deter = self.advance(stoch, deter, actions[t] if t else torch.zeros_like(actions[t]))
            hidden = F.elu(self.dense("rssm/post/hidden", deter, self.encode(images[t])))
            logits = self.dense("rssm/post/out", hidden).unflatten(-1, (-1, self.classes))
            stoch = F.one_hot(logits.argmax(-1), self.classes).float().flatten(1)
            out.append(torch.cat([stoch, deter], -1))
        return torch.stack(out)


def features(path, images, actions, classes=None):
    with torch.no_grad():
        return WorldModel(path, classes).observe(torch.tensor(images), torch.tensor(actions)).numpy()
