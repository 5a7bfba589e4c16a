"""Rewards that nobody had when the data was collected, as functions of whole episodes.

    waker relabel runs/a --python rewards.py:walk_at        # with the package's waker
    waker adapt runs/a --task walk-at

docs/plugins.md lists what can be read in each domain. The same rewards as plug-ins in C, which can
also be played for, are in examples/reward.
"""

import numpy as np
import waker

SPEED = 0.5  # metres per second
BLOCKS = [f"xpos/block{i}" for i in range(8)]


@waker.reward("walk-at", reads=["xpos/torso", "xpos/right_foot", "xmat/torso",
                                "subtree_linvel/torso"])
def walk_at(episode):
    """terrain-walker, dmc-walker: walk upright at a given speed, neither slower nor faster."""
    height = episode["xpos/torso"][:, 2] - episode["xpos/right_foot"][:, 2]
    upright = (1 + episode["xmat/torso"][:, 8]) / 2
    off = abs(episode["subtree_linvel/torso"][:, 0] - SPEED) / SPEED
    return np.clip(height / 1.2, 0, 1) * upright * (1 + 5 * np.maximum(0, 1 - off)) / 6


@waker.reward("push-green", reads=["half_size", *(f"{block}?" for block in BLOCKS)])
def push_green(episode):
    """clean-up: green blocks to the right, blue ones stay. A world has up to eight; green first."""
    green, blue = int(episode.theta["green"]), int(episode.theta["blue"])
    left = moved = 0
    for i, block in enumerate(BLOCKS[:green + blue]):
        at = np.vstack([episode.start[block], episode[block]])  # the start, then every control step
        if i < green:
            left = left + (np.append(episode.start["half_size"], episode["half_size"]) - at[:, 0])
        else:
            moved = moved + np.hypot(at[:, 0] - at[0, 0], at[:, 1] - at[0, 1])
    count = len(episode) + 1
    left, moved = np.zeros(count) + left, np.zeros(count) + moved
    return 100 * (left[:-1] - left[1:]) - 100 * np.maximum(0, np.diff(moved))


@waker.reward("north", reads=["position"])
def north(episode):
    """toy: lie at the northern shore."""
    x, y = episode["position"].T
    return np.maximum(0, 1 - np.hypot(x, y - 0.8))
