"""waker's update against another program that makes the same one, on the same machine in the same run.

usage: python3 tools/compare_update.py PEER.py [--python PYTHON] [--waker BINARY] [--presets quick,small]
                                       [--threads 1,2] [--iters N] [--rounds N] [--tasks N]
PEER.py takes --preset, --threads, --tasks, --iters and prints "... X ms/update ...". The two take turns; the
best round of each is compared. Ratios above 1: waker is faster, or smaller. Memory is the peak of each process.
"""
import argparse
import json
import os
import re
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('peer')
parser.add_argument('--python', default=sys.executable)
parser.add_argument('--waker', default='build/waker')
parser.add_argument('--presets', default='quick,small')
parser.add_argument('--threads', default='1,2')
parser.add_argument('--iters', type=int, default=5)
parser.add_argument('--rounds', type=int, default=3)
parser.add_argument('--tasks', type=int, default=0)
options = parser.parse_args()


def run(command, threads):
    """Standard output of a command, and the peak of its resident memory in MiB."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS='1')
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f'{" ".join(command)}: exit status {os.waitstatus_to_exitcode(status)}')
    return out, usage.ru_maxrss / 1024


def arguments(preset, threads):
    return ['--preset', preset, '--threads', str(threads), '--tasks', str(options.tasks), '--iters', str(options.iters)]


def waker(preset, threads):
    out, peak = run([options.waker, 'bench', 'update', '--json', '--quiet'] + arguments(preset, threads), threads)
    result = json.loads(out)
    return result['update']['median_ms'] + result.get('task_update', {}).get('median_ms', 0), peak


def peer(preset, threads):
    device = ['--device', 'cpu']
    out, peak = run([options.python, options.peer] + device + arguments(preset, threads), threads)
    return float(re.search(r'([\d.]+) ms/update', out).group(1)), peak


print('preset  threads   waker ms    peer ms   ratio   waker MiB   peer MiB   ratio')
for preset in options.presets.split(','):
    for threads in options.threads.split(','):
        rounds = [(waker(preset, threads), peer(preset, threads)) for _ in range(options.rounds)]
        ours, theirs = (min(r[side][0] for r in rounds) for side in (0, 1))
        our_peak, their_peak = (min(r[side][1] for r in rounds) for side in (0, 1))
        print(f'{preset:7} {threads:>7} {ours:10.1f} {theirs:10.1f} {theirs / ours:7.2f} {our_peak:11.0f} '
              f'{their_peak:10.0f} {their_peak / our_peak:7.2f}', flush=True)
