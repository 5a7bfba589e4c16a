"""The program: `waker ...` and `python -m waker ...`."""

import os
import sys
from pathlib import Path


def main() -> None:
    if sys.argv[1:2] == ["relabel"] and any(a.split("=")[0] == "--python" for a in sys.argv):
        from .relabelling import main as relabel

        sys.exit(relabel(sys.argv[2:]))
    program = Path(__file__).with_name("bin") / "waker"
    if not program.exists():
        sys.exit(f"waker: this installation has no program at {program}")
    os.environ.setdefault("WAKER_PYTHON", sys.executable)  # what runs environments of Python
    os.execv(program, ["waker", *sys.argv[1:]])


if __name__ == "__main__":
    main()
