"""The least work of one reward-free update, by part and preset: floating-point operations of the matrix products and
convolutions (a multiplication and an addition count as two), and bytes of the optimiser's traffic.

usage: python3 tools/update_floor.py [--actions A] [--gflops RATE]
Products are counted forward, by weight gradient and by input gradient, each only where the update needs it.
With the rate of one core's matrix product, the time it would take at that rate.
"""
import argparse

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--actions', type=int, default=6)
parser.add_argument('--gflops', type=float)
options = parser.parse_args()

PRESETS = {
    'quick': dict(depth=12, deter=128, hidden=128, stoch=16, classes=16, units=128, layers=2, ensemble=5, batch=8, length=16, horizon=8),
    'small': dict(depth=24, deter=256, hidden=256, stoch=24, classes=24, units=256, layers=3, ensemble=7, batch=16, length=32, horizon=12),
    'paper': dict(depth=48, deter=600, hidden=600, stoch=32, classes=32, units=400, layers=4, ensemble=10, batch=16, length=50, horizon=15),
}


def mlp(c, inputs, outputs):
    """Multiplications of one row through hidden layers and output; also the number of weights but for biases."""
    return inputs * c['units'] + (c['layers'] - 1) * c['units'] ** 2 + c['units'] * outputs


def parts(c):
    """Multiply-adds of an update by part."""
    rows, imagined = c['batch'] * c['length'], c['batch'] * c['length'] * c['horizon']
    flat, action = c['stoch'] * c['classes'], options.actions
    features, embed, d = flat + c['deter'], 32 * c['depth'], c['depth']

    # Output pixels x kernel and input channels x output channels, or the same seen from the other end.
    convolutions = [31 * 31 * 48 * d, 14 * 14 * 16 * d * 2 * d, 6 * 6 * 32 * d * 4 * d, 2 * 2 * 64 * d * 8 * d]
    deconvolutions = [embed * 25 * 4 * d, 25 * 4 * d * 25 * 2 * d, 169 * 2 * d * 36 * d, 900 * d * 36 * 3]
    encoder, decoder = sum(convolutions), features * embed + sum(deconvolutions)
    advance = (flat + action) * c['hidden'] + (c['hidden'] + c['deter']) * 3 * c['deter']
    prior = c['deter'] * c['hidden'] + c['hidden'] * flat
    posterior = (c['deter'] + embed) * c['hidden'] + c['hidden'] * flat
    actor, critic = mlp(c, features, 2 * action), mlp(c, features, 1)
    member, first = mlp(c, features + action, features), (features + action) * c['units']

    return {
        'encoder': rows * (3 * encoder - convolutions[0]),  # nobody asks for the images' gradient
        'recurrence': rows * 3 * (advance + prior + posterior),
        'decoder': rows * 3 * decoder,
        'imagination': imagined * (2 * (advance + prior) + 3 * actor - features * c['units']),
        'ensemble reward': imagined * 2 * c['ensemble'] * member,
        'policy': (imagined + rows) * 2 * critic + imagined * (3 * critic - features * c['units']),
        'ensemble': (rows - c['batch']) * c['ensemble'] * (3 * member - first),
    }


def weights(c):
    """Weights that an update trains, but for biases."""
    flat, action, d = c['stoch'] * c['classes'], options.actions, c['depth']
    features, embed = flat + c['deter'], 32 * c['depth']
    vision = 48 * d + 32 * d * d + 128 * d * d + 512 * d * d + features * embed
    vision += embed * 100 * d + 200 * d * d + 72 * d * d + 108 * d
    rssm = (flat + action) * c['hidden'] + (c['hidden'] + c['deter']) * 3 * c['deter']
    rssm += c['deter'] * c['hidden'] + 2 * c['hidden'] * flat + (c['deter'] + embed) * c['hidden']
    ensemble = c['ensemble'] * mlp(c, features + action, features)
    return vision + rssm + ensemble + mlp(c, features, 2 * action) + mlp(c, features, 1)


for name, config in PRESETS.items():
    work = {part: 2 * count for part, count in parts(config).items()}
    total = sum(work.values())
    # Adam reads gradient, weight and two moments and writes all but the gradient.
    traffic = 7 * 4 * weights(config)
    line = f'{name}: {total / 1e9:.1f} GFLOP, {weights(config) / 1e6:.1f} M weights, {traffic / 1e6:.0f} MB'
    print(line + (f', {total / 1e6 / options.gflops:.0f} ms' if options.gflops else ''))
    for part, count in work.items():
        print(f'  {part:16} {count / 1e9:9.2f} GFLOP {100 * count / total:4.0f} %')
