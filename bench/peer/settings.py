"""Sizes, rates and loss weights of an update, from where waker has them: its field lists and configs/presets.yaml."""
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / 'tools'))

from config_defaults import config_defaults

# A setting of an update -> its key in the files.
KEYS = {
    'depth': 'encoder.depth', 'deter': 'rssm.deter', 'hidden': 'rssm.hidden', 'stoch': 'rssm.stoch',
    'classes': 'rssm.classes', 'units': 'units', 'layers': 'layers', 'ensemble': 'ensemble.size', 'batch': 'batch',
    'length': 'length', 'horizon': 'horizon', 'slow_period': 'policy.slow_period', 'kl_scale': 'model.kl_scale',
    'kl_balance': 'model.kl_balance', 'free_nats': 'model.free_nats', 'model_rate': 'model.rate',
    'ensemble_rate': 'ensemble.rate', 'policy_rate': 'policy.rate',
    'exploration_rate': 'policy.exploration_rate', 'discount': 'policy.discount',
    'mixing': 'policy.lambda', 'entropy_scale': 'policy.entropy_scale', 'saturation_scale': 'policy.saturation_scale',
    'disagreement_scale': 'ensemble.scale', 'sample_gradient': 'policy.sample_gradient',
}


@dataclasses.dataclass(frozen=True)
class Settings:
    depth: int
    deter: int
    hidden: int
    stoch: int
    classes: int
    units: int
    layers: int
    ensemble: int
    batch: int
    length: int
    horizon: int
    slow_period: int
    kl_scale: float
    kl_balance: float
    free_nats: float
    model_rate: float
    ensemble_rate: float
    policy_rate: float
    exploration_rate: float  # 0: policy_rate
    discount: float
    mixing: float  # lambda of the returns
    entropy_scale: float
    saturation_scale: float  # of the exploration policy alone
    disagreement_scale: float
    sample_gradient: str  # 'exact' or 'location-scale'
    actions: int = 6
    tasks: int = 0

    @property
    def flat(self):
        return self.stoch * self.classes

    @property
    def features(self):
        return self.flat + self.deter

    @property
    def embed(self):
        return 32 * self.depth

    @property
    def rows(self):
        return self.length * self.batch


def read_blocks(text):
    """{block: {dotted key: value}} of a configuration file's text; knows what these files use of YAML, no more."""
    blocks, prefixes = {}, []
    for line in text.splitlines():
        line = re.sub(r'\s*#.*', '', line)
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        key, value = (part.strip() for part in line.split(':', 1))
        prefixes = [p for p in prefixes if p[0] < indent]
        if not prefixes:
            blocks[key] = {}
            prefixes = [(indent, key)]
            continue
        block, path_of = blocks[prefixes[0][1]], '.'.join([p[1] for p in prefixes[1:]] + [key])
        if not value:
            prefixes.append((indent, key))
        elif value.startswith('{'):
            block.update((f'{path_of}.{k.strip()}', v.strip()) for k, v in
                         (pair.split(':') for pair in value.strip('{}').split(',')))
        else:
            block[path_of] = value
    return blocks


def load(preset, changes=()):
    """The defaults with a preset on top, then changes: {setting: number}."""
    presets = read_blocks((ROOT / 'configs/presets.yaml').read_text())
    if preset not in presets:
        raise ValueError(f"no preset '{preset}'; there are {', '.join(presets)}")
    return of_keys({**config_defaults(), **presets[preset]}, changes)


def load_run(path, changes=()):
    """The settings of a run's config.yaml, then changes."""
    lines = pathlib.Path(path).read_text().splitlines()
    return of_keys(read_blocks('\n'.join(['run:'] + [f'  {line}' for line in lines]))['run'], changes)


def of_keys(keys, changes):
    types = {field.name: field.type for field in dataclasses.fields(Settings)}

    def typed(name, value):
        return value if types[name] is str else types[name](float(value))

    values = {name: typed(name, keys[key]) for name, key in KEYS.items()}
    for name, value in dict(changes).items():
        if name not in types:
            raise ValueError(f"no setting '{name}'; there are {', '.join(types)}")
        values[name] = typed(name, value)
    return Settings(**values)
