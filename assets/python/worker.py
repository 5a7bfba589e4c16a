"""The process behind one environment that Python code makes: it builds the environment and answers
resets and steps of its parent. The program starts it as text of its own, so it needs numpy and
nothing of the package. docs/plugins.md says what an environment declares.

    python -c ... locate MODULE:FUNCTION     where the file of the function is
    python -c ... describe FILE.py:FUNCTION  the domain as JSON
    python -c ... serve FILE.py:FUNCTION     resets and steps, until the parent is gone

Wake-ups are single bytes on CONTROL; everything else lies in memory shared with the parent, whose
beginning is struct wk_python_shared (src/env/plugins/python_process.h).

What the parent starts is a guard, which makes the process of the environment and ends everything
that the environment has started: when that process ends, when the parent says so, and when the
parent has gone."""

import sys

if sys.path and sys.path[0] == "":
    del sys.path[0]  # the current folder, which nobody has named

import fcntl
import faulthandler
import importlib
import importlib.util
import json
import math
import mmap
import os
import re
import resource
import select
import signal
import traceback

CONTROL, LIFE, MEMORY = 3, 4, 5
RESET, STEP, SAVE, LOAD = 1, 2, 3, 4
DONE, FAILED, REFUSED = 0, 1, 2  # FAILED: an exception of the environment; REFUSED: a wrong use
TERMINATED, TRUNCATED = 1, 2
SEED, THETA, ACTION, REWARDS, MESSAGE, NUMBERS, REST = 32, 40, 104, 232, 296, 4392, 4400
PARAMS_MAX, ACTION_MAX, TASKS_MAX, VECTOR_MAX = 8, 32, 16, 4096
GRID_POINTS = 11  # of a real parameter that says nothing else


class ParentGone(BaseException):
    """No error of the environment, whatever that raises."""


class Refused(Exception):
    """What is wrong with the environment, and what to do."""


def named(text, what):
    if not re.fullmatch("[a-z0-9_-]{1,63}", text):
        raise Refused(f"{what} {text!r} is not a name; use 1 to 63 characters of a-z 0-9 - _")
    return text


def kind_of(space):
    """Name of the class of spaces that it is, of whatever package."""
    for cls in type(space).__mro__:
        if cls.__name__ in ("Box", "Discrete", "MultiBinary", "MultiDiscrete", "Dict"):
            return cls.__name__
    return type(space).__name__


def attribute(env, name, default=None):
    """An attribute of the environment or of what its wrappers contain."""
    while env is not None:
        value = getattr(env, name, None)
        if value is not None:
            return value
        env = getattr(env, "env", None)
    return default


# ---- Where the function is ----------------------------------------------------------------------


def split_file(file):
    """The folder that imports begin at, and the module's name: packages have an __init__.py."""
    folder, name = os.path.split(file)
    parts = [] if name == "__init__.py" else [name[:-len(".py")]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        parts.insert(0, name)
    return folder, ".".join(parts)


def locate(spec):
    module, _, function = spec.rpartition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise Refused(f"there is no Python module {module!r} in {os.getcwd()} or on the path of "
                      f"{sys.executable}; give FILE.py:{function}, or install the package there")
    if not found.origin or not found.origin.endswith(".py"):
        raise Refused(f"the Python module {module!r} is no file of Python code; name the one that "
                      f"defines {function}")
    file = os.path.realpath(found.origin)
    if split_file(file)[1] != module:
        raise Refused(f"{file} is not the module {module!r} by the folders it lies in: each needs "
                      f"an __init__.py")
    return f"{file}:{function}"


def load_function(spec):
    file, _, path = spec.rpartition(":")
    folder, module = split_file(file)
    sys.path.insert(0, folder)
    function = importlib.import_module(module)
    loaded = os.path.realpath(getattr(function, "__file__", None) or "")
    if loaded != file:
        raise Refused(f"a module called {module!r} is there already ({loaded or 'built in'}); "
                      f"rename {file}")
    for name in path.split("."):
        function = getattr(function, name, None)
    if not callable(function):
        raise Refused(f"{file} defines no function {path!r}")
    return function


# ---- Spaces -------------------------------------------------------------------------------------


class Parameters:
    """θ: numbers of the parent, and the member of the environment's theta_space that they are."""

    def __init__(self, space, points):
        self.params = []
        self.space = space
        self.is_dict = kind_of(space) == "Dict"
        parts = space.spaces.items() if self.is_dict else [("theta", space)]
        self.parts = [(key, self.add(key, part, points)) for key, part in parts]
        if not 1 <= len(self.params) <= PARAMS_MAX:
            raise Refused(f"theta_space has {len(self.params)} numbers; 1 to {PARAMS_MAX} are "
                          "possible")

    def param(self, name, low, high, count):
        low, high = float(low), float(high)
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise Refused(f"theta_space: {name!r} goes from {low} to {high}; give finite bounds")
        step = (high - low) / (count - 1) if count > 1 else 1.0
        self.params.append({"name": named(name, "theta_space:"), "help": "", "min": low,
                            "max": high, "step": step, "legal_min": low, "legal_max": high})

    def add(self, key, space, points):
        """Appends the numbers of a part; returns how many, and how they become its value."""
        if kind_of(space) == "Discrete":
            start = int(getattr(space, "start", 0))
            self.param(key, start, start + int(space.n) - 1, int(space.n))
            return 1, lambda numbers: int(round(numbers[0]))
        if kind_of(space) != "Box":
            raise Refused(f"theta_space: {key!r} is a {type(space).__name__}; a Box, a Discrete or "
                          "a Dict of them is possible")
        whole = np.dtype(space.dtype).kind in "iu"
        shape, low, high = tuple(space.shape), np.ravel(space.low), np.ravel(space.high)
        for i in range(low.size):
            count = high[i] - low[i] + 1 if whole else points.get(key, GRID_POINTS)
            self.param(key if low.size == 1 else f"{key}_{i}", low[i], high[i], int(count))
            self.params[-1]["continuous"] = not whole
        return low.size, lambda numbers: np.asarray(numbers, space.dtype).reshape(shape)

    def member(self, numbers):
        values, at = {}, 0
        for key, (count, make) in self.parts:
            values[key] = make(numbers[at:at + count])
            at += count
        return values if self.is_dict else values["theta"]


class Picture:
    """The picture of an observation; the parent draws it in the size that it needs."""

    def __init__(self, key, space):
        self.key, self.shape = key, tuple(int(n) for n in space.shape)

    def connect(self, memory, offset):
        self.view = np.frombuffer(memory, np.uint8, math.prod(self.shape), offset)
        self.view = self.view.reshape(self.shape)

    def write(self, value):
        array = np.asarray(value)
        if array.shape != self.shape or array.dtype != np.uint8:
            raise Refused(f"{self.key}: observation_space says uint8 {self.shape}, the environment "
                          f"gave {array.dtype} {array.shape}; make both the same")
        self.view[...] = array


class Numbers:
    """A part of the vector of an observation."""

    def __init__(self, key, space):
        self.key, kind = key, kind_of(space)
        self.values = None  # of a choice: where each begins and how many there are
        if kind == "Box" or kind == "MultiBinary":
            self.shape = tuple(int(n) for n in space.shape)
            self.size = math.prod(self.shape)
        elif kind == "Discrete":
            self.shape, self.size = (), int(space.n)
            self.values = [(0, int(getattr(space, "start", 0)), int(space.n))]
        elif kind == "MultiDiscrete" and np.ndim(space.nvec) == 1:
            counts = [int(n) for n in space.nvec]
            self.shape, self.size = (len(counts),), sum(counts)
            starts = np.broadcast_to(getattr(space, "start", 0), self.shape)
            self.values = [(sum(counts[:i]), int(starts[i]), n) for i, n in enumerate(counts)]
        else:
            raise Refused(f"{key} is a {type(space).__name__}, which cannot be observed; wrap the "
                          "environment so that it shows Box, Discrete, MultiBinary or "
                          "MultiDiscrete, or a Dict of them")

    def connect(self, memory, offset):
        self.view = np.frombuffer(memory, np.float32, self.size, offset)

    def write(self, value):
        array = np.asarray(value)
        if array.shape != self.shape or array.dtype.kind not in "fiub":
            raise Refused(f"{self.key}: observation_space says numbers of shape {self.shape}, the "
                          f"environment gave {array.dtype} {array.shape}; make both the same")
        if self.values is None:
            self.view[:] = array.ravel()
            return
        self.view[:] = 0
        for (begin, start, count), chosen in zip(self.values, array.ravel()):
            if not 0 <= int(chosen) - start < count:
                raise Refused(f"{self.key}: the environment gave {chosen}, which observation_space "
                              "does not have")
            self.view[begin + int(chosen) - start] = 1


def is_picture(space):
    shape = tuple(getattr(space, "shape", None) or ())
    return kind_of(space) == "Box" and np.dtype(space.dtype) == np.uint8 and len(shape) == 3 and \
        shape[2] in (1, 3)


def looks_like_picture(space):
    """A Box that is_picture does not accept and that yet is hardly meant as a vector. Tables of real
    numbers, such as (objects, features), are vectors."""
    shape = tuple(space.shape) if kind_of(space) == "Box" else ()
    if len(shape) not in (2, 3):
        return False
    if np.dtype(space.dtype) == np.uint8:
        return True
    return len(shape) == 3 and any(
        shape[i] in (1, 3, 4) and min(shape[:i] + shape[i + 1:]) >= 16 for i in range(3))


def shape_text(shape):
    return "[" + ",".join(str(n) for n in shape) + "]"


class Observation:
    def __init__(self, space):
        self.is_dict = kind_of(space) == "Dict"
        parts = list(space.spaces.items()) if self.is_dict else [("observation", space)]
        for key, part in parts:
            if not is_picture(part) and looks_like_picture(part):
                raise Refused(f"{key!r} {shape_text(part.shape)} {np.dtype(part.dtype)} looks like "
                              "an image; images are uint8 [height,width,3 or 1]: transpose or "
                              "convert it (gymnasium.wrappers.TransformObservation), or flatten it "
                              "to one dimension for a vector")
        pictures = [(key, part) for key, part in parts if is_picture(part)]
        if len(pictures) > 1:
            raise Refused(f"the observation has {len(pictures)} pictures "
                          f"({', '.join(key for key, _ in pictures)}); one is possible")
        self.picture = Picture(*pictures[0]) if pictures else None
        self.numbers = [Numbers(key, part) for key, part in parts if not is_picture(part)]
        self.vector = sum(part.size for part in self.numbers)
        if self.vector > VECTOR_MAX:
            largest = max(self.numbers, key=lambda part: part.size)
            raise Refused(f"the vector of the observation has {self.vector} numbers, "
                          f"{largest.size} of them from {largest.key!r} "
                          f"{shape_text(largest.shape)}; at most {VECTOR_MAX} are possible")
        self.shape = self.picture.shape if self.picture else (0, 0, 0)
        self.size = 4 * self.vector + math.prod(self.shape)
        self.parts = self.numbers + ([self.picture] if self.picture else [])

    def connect(self, memory):
        offset = REST
        for part in self.numbers:
            part.connect(memory, offset)
            offset += 4 * part.size
        if self.picture:
            self.picture.connect(memory, offset)

    def write(self, observation):
        if not self.is_dict:
            self.parts[0].write(observation)
            return
        for part in self.parts:
            try:
                value = observation[part.key]
            except (KeyError, TypeError, IndexError):
                raise Refused(f"the observation has no {part.key!r}, which observation_space "
                              "has") from None
            part.write(value)


class Action:
    def __init__(self, space):
        self.discrete = kind_of(space) == "Discrete"
        if self.discrete:
            self.size, self.start = int(space.n), int(getattr(space, "start", 0))
            return
        if kind_of(space) != "Box" or np.dtype(space.dtype).kind not in "fiu":
            raise Refused(f"action_space is a {type(space).__name__}; a Box or a Discrete is "
                          "possible, and a wrapper can make one of it")
        self.shape, self.dtype = tuple(space.shape), np.dtype(space.dtype)
        self.low = np.asarray(space.low, np.float64).ravel()
        self.high = np.asarray(space.high, np.float64).ravel()
        self.size = self.low.size
        if not (np.isfinite(self.low).all() and np.isfinite(self.high).all()):
            raise Refused("action_space has no finite bounds; give the Box low and high")

    def read(self, numbers):
        if self.discrete:
            return int(numbers[:self.size].argmax()) + self.start
        scaled = self.low + (numbers[:self.size].astype(np.float64) + 1) / 2 * (self.high - self.low)
        if self.dtype.kind in "iu":
            scaled = np.rint(scaled)
        return np.clip(scaled, self.low, self.high).astype(self.dtype).reshape(self.shape)


# ---- The environment ----------------------------------------------------------------------------


class Environment:
    def __init__(self, make):
        self.make = make
        self.env = None
        self.create()
        env = self.env
        space = attribute(env, "theta_space")
        points = attribute(env, "theta_grid", {})
        points = points if isinstance(points, dict) else {"theta": points}
        self.parameters = Parameters(space, points) if space is not None else None
        self.observation = Observation(env.observation_space)
        self.action = Action(env.action_space)
        names = attribute(env, "reward_names")
        self.reward_names = None if names is None else \
            [named(str(name), "reward_names:") for name in names]
        if self.reward_names is not None and not 1 <= len(self.reward_names) <= TASKS_MAX:
            raise Refused(f"reward_names has {len(self.reward_names)} names; 1 to {TASKS_MAX} are "
                          "possible")
        self.ends_early = bool(attribute(env, "ends_early", True))
        self.state_bytes = int(attribute(env, "state_bytes", 0))
        for name in ("save_state", "load_state") if self.state_bytes else ():
            if not callable(attribute(env, name)):
                raise Refused(f"the environment has state_bytes but no function {name}; write both "
                              "save_state and load_state, or leave state_bytes out")
        self.size = self.observation.size + self.state_bytes

    def create(self):
        env = self.make()
        for name in ("reset", "step", "observation_space", "action_space"):
            if getattr(env, name, None) is None:
                raise Refused(f"the function returned a {type(env).__name__} without {name!r}; "
                              "return a Gymnasium environment")
        self.env = env

    def episode_steps(self):
        steps = attribute(self.env, "episode_steps")
        if steps is None:
            steps = attribute(self.env, "_max_episode_steps")  # of the wrapper TimeLimit
        if steps is None:
            steps = getattr(attribute(self.env, "spec"), "max_episode_steps", None)
        if steps is None:
            raise Refused("how long an episode lasts is not known; set the environment's "
                          "attribute episode_steps, or wrap it into Gymnasium's TimeLimit")
        return int(steps)

    def name(self):
        text = getattr(attribute(self.env, "spec"), "id", None) or \
            type(getattr(self.env, "unwrapped", self.env)).__name__
        return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:63] or "environment"

    def describe(self):
        params = self.parameters.params if self.parameters else [
            {"name": "none", "help": "the environment has no parameters", "min": 0, "max": 0,
             "step": 1, "legal_min": 0, "legal_max": 0}]
        hardest = attribute(self.env, "hardest_theta")
        hardest = [float(number) for number in hardest] if hardest is not None else \
            [param["max"] for param in params]
        fps = (attribute(self.env, "metadata") or {}).get("render_fps") or 20
        return {"name": self.name(),
                "summary": f"{type(getattr(self.env, 'unwrapped', self.env)).__name__}, made by "
                           "Python code",
                "action_size": self.action.size, "discrete": self.action.discrete,
                "observation_vector": self.observation.vector,
                "observation_no_image": self.observation.picture is None,
                "action_repeat": int(attribute(self.env, "action_repeat", 1)),
                "episode_steps": self.episode_steps(), "ends_early": self.ends_early,
                "step_seconds": 1 / float(fps), "params": params,
                "tasks": [{"name": name, "has_completion": False}
                          for name in self.reward_names or ["reward"]],
                "options": [], "cases": [], "hardest": hardest, "most_complex": hardest}

    def connect(self, memory):
        self.seed = memoryview(memory)[SEED:SEED + 8].cast("Q")
        self.theta = memoryview(memory)[THETA:THETA + 8 * PARAMS_MAX].cast("d")
        self.numbers = np.frombuffer(memory, np.float32, ACTION_MAX, ACTION)
        self.rewards = memoryview(memory)[REWARDS:REWARDS + 4 * TASKS_MAX].cast("f")
        self.observation.connect(memory)
        self.length = memoryview(memory)[12:16].cast("I")
        self.state = memoryview(memory)[REST + self.observation.size:]

    def save(self):
        state = bytes(attribute(self.env, "save_state")())
        if len(state) > self.state_bytes:
            raise Refused(f"save_state returned {len(state)} bytes, more than the {self.state_bytes} "
                          "of state_bytes")
        self.state[:len(state)] = state
        self.length[0] = len(state)
        return 0

    def load(self):
        self.observation.write(attribute(self.env, "load_state")(bytes(self.state[:self.length[0]])))
        return 0

    def reset(self):
        if self.env is None:
            self.create()
        options = {"theta": self.parameters.member(list(self.theta))} if self.parameters else None
        result = self.env.reset(seed=self.seed[0], options=options)
        if not isinstance(result, tuple) or len(result) != 2:
            raise Refused(f"reset returned {summary(result)}; Gymnasium's returns (observation, "
                          "info)")
        self.observation.write(result[0])
        return 0

    def step(self):
        result = self.env.step(self.action.read(self.numbers))
        if not isinstance(result, tuple) or len(result) != 5:
            raise Refused(f"step returned {summary(result)}; Gymnasium's returns (observation, "
                          "reward, terminated, truncated, info)")
        observation, reward, terminated, truncated, info = result
        self.observation.write(observation)
        self.write_rewards(reward, info)
        if terminated and not self.ends_early:
            raise Refused("step returned terminated=True although the environment's ends_early is "
                          "False; leave the attribute out, so that the world model learns when "
                          "episodes end")
        return (TERMINATED if terminated else 0) | (TRUNCATED if truncated else 0)

    def write_rewards(self, reward, info):
        if self.reward_names is None:
            self.rewards[0] = number(reward, "the reward")
            return
        for i, name in enumerate(self.reward_names):
            what = f"info['rewards'][{name!r}]"
            try:
                given = info["rewards"][name]
            except (TypeError, KeyError):
                raise Refused(f"step gave no number as {what}: there is no such entry") from None
            self.rewards[i] = number(given, what)

    def abandon(self):
        """After an exception: the next reset makes a new one."""
        env, self.env = self.env, None
        try:
            env.close()
        except Exception:
            pass

    def close(self, memory):
        """An exception is left for the parent, which reads it when this process has ended."""
        try:
            if self.env is not None and hasattr(self.env, "close"):
                self.env.close()
        except Exception as error:
            data = explain(error).encode("utf-8", "replace")[:NUMBERS - MESSAGE - 1] + b"\0"
            memory[MESSAGE:MESSAGE + len(data)] = data
            memoryview(memory)[NUMBERS:REST].cast("I")[1] = 1


def number(value, what):
    try:
        return float(value)
    except (TypeError, ValueError):
        given = "None" if value is None else summary(value)
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            given = f"a {type(value).__name__} {shape_text(value.shape)} {value.dtype}"
        raise Refused(f"step gave no number as {what} but {given}; give a float") from None


def summary(value):
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return "nothing" if value is None else f"a {type(value).__name__}"


# ---- The process --------------------------------------------------------------------------------


def explain(error):
    """The exception in one line, with the place where it was raised."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    text = " ".join(text.split())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if frame.filename != "<waker worker>" and not frame.filename.startswith("<frozen")]
    if frames:
        text += f" ({frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name})"
    return text


def answer(memory, status, message="", ended=0, place=MESSAGE, limit=NUMBERS - MESSAGE - 1):
    data = message.encode("utf-8", "replace")[:limit]
    memory[place:place + len(data)] = data
    header = memoryview(memory)[0:16].cast("I")
    header[1], header[2], header[3] = status, ended, len(data)
    wake_parent()


def wake_parent():
    try:
        os.write(CONTROL, b"!")
    except (BrokenPipeError, ConnectionResetError):
        raise ParentGone from None


def is_called():
    """Waits for a command; False: there will be none."""
    try:
        return os.read(CONTROL, 1) != b""
    except ConnectionResetError:
        return False


def describe(memory, spec):
    environment = Environment(load_function(spec))
    shape = memoryview(memory)[16:32].cast("I")
    shape[0], shape[1], shape[2] = environment.observation.shape
    shape[3] = environment.state_bytes
    text = json.dumps(environment.describe())
    if len(text) > len(memory) - REST:
        raise Refused("the description of the environment is too long")
    answer(memory, DONE, text, place=REST, limit=len(memory) - REST)
    environment.close(memory)


def serve(memory, spec):
    environment = Environment(load_function(spec))
    if REST + environment.size != len(memory):
        raise Refused("the function made an environment with another observation_space, or other "
                      "state_bytes, than the first time; they must be the same always")
    environment.connect(memory)
    header = memoryview(memory)[0:16].cast("I")
    answer(memory, DONE)
    commands = {RESET: environment.reset, STEP: environment.step, SAVE: environment.save,
                LOAD: environment.load}
    while is_called():
        try:
            ended = commands[header[0]]()
            header[1], header[2] = DONE, ended
            wake_parent()
        except Refused as error:
            answer(memory, REFUSED, str(error))
        except Exception as error:
            environment.abandon()
            answer(memory, FAILED, explain(error))
    environment.close(memory)


def die_with_parent():
    """The kernel ends this process and its group when the parent has gone, even if the guard has
    gone before."""
    fcntl.fcntl(LIFE, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(LIFE, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(LIFE, fcntl.F_SETFL, fcntl.fcntl(LIFE, fcntl.F_GETFL) | os.O_ASYNC)
    poll = select.poll()
    poll.register(LIFE, 0)
    if poll.poll(0):
        os._exit(1)


# ---- The guard ----------------------------------------------------------------------------------


def adopt_orphans():
    """Processes whose parents have ended become children of this one, also those that have left its
    group or session (PR_SET_CHILD_SUBREAPER)."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # the children themselves are ended all the same


def children():
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except FileNotFoundError:  # a kernel without this file
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_child(pid)]


def is_child(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1]) == os.getpid()
    except OSError:
        return False


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except OSError:  # of another user
        return False


def watch(worker, wakeup, told):
    """How the worker ended; None: it is to end. Orphans that end are not left as zombies."""
    poll = select.poll()
    poll.register(LIFE, 0)
    poll.register(wakeup, select.POLLIN)
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == worker:
            return status
        if pid:
            continue
        if told or any(event & select.POLLHUP for place, event in poll.poll() if place == LIFE):
            return None
        os.read(wakeup, 100)


def end_all(worker, status):
    """Ends all children, and those that thereby become children, until there are none."""
    while any([kill(pid) for pid in children()]):
        pid, ended = os.waitpid(-1, 0)
        status = ended if pid == worker else status
    return status


def end_like(status):
    if status is not None and os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # there is one already
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status or 0))


def split():
    """Returns in the worker, which has a group of its own. The guard does not return."""
    wakeup, write = os.pipe()
    told = []
    os.set_blocking(wakeup, False)
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    signal.set_wakeup_fd(write)
    adopt_orphans()
    worker = os.fork()
    if worker:
        os.close(CONTROL)
        os.close(MEMORY)
        end_like(end_all(worker, watch(worker, wakeup, told)))
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.close(wakeup)
    os.close(write)
    os.setpgid(0, 0)


def main(mode, spec):
    global np
    for descriptor in (CONTROL, LIFE, MEMORY):
        os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C ends
    split()
    die_with_parent()
    faulthandler.enable()
    sys.argv = [spec.rpartition(":")[0]]
    os.environ["WAKER_WORKER"] = mode  # so that a script that trains is not started in here
    memory = mmap.mmap(MEMORY, 0)
    memoryview(memory)[NUMBERS:REST].cast("I")[0] = os.getpid()
    try:
        if mode == "locate":
            answer(memory, DONE, locate(spec))
            return
        try:
            import numpy as np
        except ImportError as error:
            raise Refused(f"{sys.executable} has no numpy ({error}); install it there, or name "
                          "another Python by WAKER_PYTHON") from None
        (describe if mode == "describe" else serve)(memory, spec)
    except Refused as error:
        answer(memory, REFUSED, str(error))
    except ParentGone:
        pass
    except Exception as error:
        traceback.print_exc()
        answer(memory, REFUSED, explain(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
