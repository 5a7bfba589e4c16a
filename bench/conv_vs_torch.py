"""Encoder and decoder, forward and backward, against PyTorch on the same machine in the same run.

usage: python3 bench/conv_vs_torch.py [BINARY] [--rounds N] [--depths 12,24,48] [--batches 128,512,800] [--threads 1,2]
The two programs take turns; the best time of each is compared. On one thread that is CPU time, which a busy machine
disturbs less. Ratios above 1: waker is faster.
"""
import argparse, re, subprocess, time
import torch, torch.nn as nn, torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument('binary', nargs='?', default='build/bench/bench_kernels')
ap.add_argument('--rounds', type=int, default=3)
ap.add_argument('--depths', default='12,24,48'); ap.add_argument('--batches', default='128,512,800'); ap.add_argument('--threads', default='1,2')
o = ap.parse_args()
ints = lambda s: [int(x) for x in s.split(',')]


def stack(depth, decoder):
    if not decoder:
        c = [3, depth, 2 * depth, 4 * depth, 8 * depth]
        return nn.ModuleList([nn.Conv2d(a, b, 4, 2) for a, b in zip(c, c[1:])])
    c = [32 * depth, 4 * depth, 2 * depth, depth, 3]
    return nn.ModuleList([nn.ConvTranspose2d(a, b, k, 2) for a, b, k in zip(c, c[1:], (5, 5, 6, 6))])


def run(layers, x, decoder, grad):
    y = x
    for i, l in enumerate(layers):
        y = l(y) if decoder and i == 3 else F.elu(l(y))
    params = list(layers.parameters())
    torch.autograd.grad(y, params + ([x] if decoder else []), grad)


def torch_ms(depth, batch, decoder, channels_last, rounds, clock):
    layers = stack(depth, decoder)
    x = torch.randn(batch, 32 * depth, 1, 1) if decoder else torch.randn(batch, 3, 64, 64)
    g = torch.randn(batch, 3, 64, 64) if decoder else torch.randn(batch, 8 * depth, 2, 2)
    if channels_last:
        layers, x, g = layers.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last), g.contiguous(memory_format=torch.channels_last)
    x.requires_grad_(decoder)
    best = 1e9
    for _ in range(rounds + 1):
        t = clock(); run(layers, x, decoder, g); best = min(best, clock() - t)
    return best * 1e3


print('torch', torch.__version__)
for threads in ints(o.threads):
    torch.set_num_threads(threads)
    for depth in ints(o.depths):
        for batch in ints(o.batches):
            ours, theirs = {}, {}
            for _ in range(2):
                out = subprocess.run([o.binary, 'conv', str(depth), str(batch), str(threads), str(o.rounds)], capture_output=True, text=True, check=True).stdout
                for name, ms in re.findall(r'(encoder|decoder) ([\d.]+) ms', out):
                    ours[name] = min(ours.get(name, 1e9), float(ms))
                for name in ('encoder', 'decoder'):
                    for last in (False, True):
                        theirs[name, last] = min(theirs.get((name, last), 1e9), torch_ms(depth, batch, name == 'decoder', last, o.rounds, time.process_time if threads == 1 else time.perf_counter))
            for name in ('encoder', 'decoder'):
                best = min(theirs[name, False], theirs[name, True])
                print(f'threads {threads} depth {depth} batch {batch} {name}: waker {ours[name]:.1f} ms, torch {theirs[name, False]:.1f} (channels last {theirs[name, True]:.1f}) ms, ratio {best / ours[name]:.2f}', flush=True)
