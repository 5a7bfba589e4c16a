"""The keys of a run and their defaults, for Python programs: read from the field lists of the C headers."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
LISTS = ("src/config/config.h", "src/curriculum/config.h", "src/model/config.h")
ROW = re.compile(r'\bX\(\w+, \w+, "([\w.]+)", ("[^"]*"|[\w.+-]+),')


def config_defaults():
    """{key: default} as texts."""
    text = "".join((ROOT / name).read_text() for name in LISTS)
    rows = ROW.findall(re.sub(r"\s*\\\n\s*", " ", text))
    return {key: value.strip('"') for key, value in rows}


def run_format():
    """The number that a config.yaml begins with."""
    return re.search(r"WK_RUN_FORMAT = (\d+)", (ROOT / LISTS[0]).read_text()).group(1)
