"""The layer over C: structs as a compiler sees them, errors as exceptions, a library that is missing
or another's."""

import ctypes
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import waker
from waker import _library

SOURCE = os.environ.get("WAKER_SOURCE", str(Path(__file__).parents[2]))


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment},
                          capture_output=True, text=True)


@pytest.mark.native
@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_structs_are_those_of_the_headers(tmp_path):
    lines, expected = [], []
    for name, struct in _library.STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(struct)}")
        for field, *_ in struct._fields_:
            place = {"from_": "from", "functions": "grid_count"}.get(field, field)
            lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {place}));')
            expected.append(f"{name}.{field} {getattr(struct, field).offset}")
    headers = "".join(f"#include <waker/{path.name}>\n"
                      for path in sorted(Path(SOURCE, "include/waker").glob("*.h")))
    source = tmp_path / "sizes.c"
    source.write_text(f"#include <stdio.h>\n{headers}int main(void) {{ {' '.join(lines)} }}\n")
    subprocess.run(["cc", f"-I{SOURCE}/include", source, "-o", tmp_path / "sizes"], check=True)
    said = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout
    assert said.split("\n")[:-1] == expected


def test_errors_carry_the_message_of_the_library():
    with pytest.raises(waker.NotFoundError, match="did you mean 'clean-up'"):
        waker.Domain("clean-upp")
    with pytest.raises(LookupError):
        waker.Domain("clean-upp")
    with pytest.raises(waker.InputError, match="NUL"):
        waker.Domain("a\0b")


def test_a_missing_library_is_an_import_error():
    ended = run("import waker; waker.domains()", WAKER_LIBRARY="/nowhere/libwaker.so")
    assert ended.returncode == 1
    assert "ImportError: the C library cannot be used" in ended.stderr
    assert "/nowhere/libwaker.so" in ended.stderr and "pip install ." in ended.stderr


def test_a_library_of_something_else_is_an_import_error():
    other = ctypes.util.find_library("m") if hasattr(ctypes, "util") else "libm.so.6"
    ended = run("import waker; waker.domains()", WAKER_LIBRARY=other or "libm.so.6")
    assert ended.returncode == 1 and "ImportError: the C library cannot be used" in ended.stderr


@pytest.mark.native
def test_the_import_is_quick_and_loads_nothing():
    code = ("import sys, time; began = time.perf_counter(); import waker; "
            "print(time.perf_counter() - began, 'gymnasium' in sys.modules)")
    seconds, loaded = min(run(code).stdout.split() for _ in range(3))
    assert loaded == "False" and float(seconds) < 0.15


def test_the_program_is_in_the_wheel():
    said = subprocess.run([sys.executable, "-m", "waker", "--version"], capture_output=True,
                          text=True, check=True).stdout
    assert said.split()[1] == waker.__version__


def test_domains_are_described():
    domain = waker.Domain("terrain-walker")
    assert domain.task_names[:2] == ("stand", "walk") and domain.action_size == 6
    assert [param.name for param in domain.params] == ["amplitude", "length"]
    assert "steep" in [case.name for case in domain.cases]
    assert {d.name for d in waker.domains()} >= {"clean-up", "car-clean-up", "combined", "toy"}
    with pytest.raises(waker.InputError):
        domain.theta([0.5, 100.0])


def create_and_destroy(cycles):
    domain = waker.Domain("toy")
    for _ in range(cycles):
        waker.Space(domain)
        curriculum = waker.Curriculum("dr", domain)
        curriculum.next()
        curriculum.close()
        env = waker.WakerEnv(domain)
        env.reset(seed=1)
        env.close()
        vector = waker.WakerVectorEnv(domain, 2, threads=2)
        vector.reset(seed=1)
        vector.close()


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# Memory that is lost for good; under the address sanitizer the next one looks instead.
@pytest.mark.native
def test_nothing_leaks():
    cycles = int(os.environ.get("WAKER_LEAK_CYCLES", "300"))
    create_and_destroy(cycles // 5)
    before = resident_bytes()
    create_and_destroy(cycles)
    grown = resident_bytes() - before
    assert grown < 400_000 + 20 * cycles, f"{grown / cycles:.0f} bytes a cycle"
    assert len(os.listdir("/proc/self/task")) < 20


def test_much_is_made_and_closed():
    create_and_destroy(50)


@pytest.mark.parametrize("order", ["waker, gymnasium", "gymnasium, waker"])
def test_environments_are_registered_in_either_order(order):
    ended = run(f"import {order}; print(gymnasium.make('waker/Toy-v0').reset(seed=1)[0].shape)")
    assert ended.stdout == "(64, 64, 3)\n", ended.stderr
