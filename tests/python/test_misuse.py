"""What users do by mistake: an exception with a message, never a crash."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import gymnasium as gym
import numpy as np
import pytest
import waker


@pytest.fixture(params=["one", "many"])
def env(request):
    made = (waker.WakerEnv("toy") if request.param == "one" else
            waker.WakerVectorEnv("toy", 3, threads=2))
    made.reset(seed=1)
    yield made
    made.close()


def test_actions_of_the_wrong_kind(env):
    shape = env.action_space.shape
    for wrong in ("a", None, np.full(shape, "x"), np.full(shape, 1j), np.full(shape, None), {}):
        with pytest.raises((TypeError, ValueError)):
            env.step(wrong)
    for wrong in (np.zeros((*shape, 1)), np.zeros(5), 0.5, np.zeros((0,)), []):
        with pytest.raises(waker.InputError, match="shape"):
            env.step(wrong)
    for wrong in (np.nan, np.inf):
        with pytest.raises(waker.InputError, match="finite"):
            env.step(np.full(shape, wrong))
    env.step(np.full(shape, 100.0))  # clipped


def test_arrays_that_are_not_contiguous_or_of_other_numbers():
    results = []
    for change in (lambda a: a, lambda a: np.repeat(a, 2, axis=1)[:, ::2], np.asfortranarray,
                   lambda a: a.astype(np.float64), lambda a: a.tolist(),
                   lambda a: a[::-1][::-1], lambda a: a.astype(">f4")):
        envs = waker.WakerVectorEnv("toy", 3)
        envs.reset(seed=1)
        actions = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
        results.append(envs.step(change(actions))[0].copy())
        envs.close()
    assert all((result == results[0]).all() for result in results)


def test_closed_environments(env):
    env.close()
    env.close()
    for use in (lambda: env.step(np.zeros(env.action_space.shape)), lambda: env.reset(),
                lambda: pickle.dumps(env)):
        with pytest.raises(waker.ClosedError, match="is closed"):
            use()


def test_steps_out_of_order():
    for env in (waker.WakerEnv("toy"), waker.WakerVectorEnv("toy", 2)):
        with pytest.raises(waker.InputError, match="reset"):
            env.step(np.zeros(env.action_space.shape))
    env = waker.WakerEnv("toy")
    env.reset(seed=1)
    for _ in range(20):
        env.step([0, 0])
    with pytest.raises(waker.InputError, match="reset"):
        env.step([0, 0])


@pytest.mark.parametrize("arguments", [
    {"num_envs": 0}, {"num_envs": -1}, {"num_envs": 10**6}, {"num_envs": 2, "threads": -1}])
def test_numbers_of_environments(arguments):
    with pytest.raises(waker.Error):
        waker.WakerVectorEnv("toy", **arguments)


def test_pictures_of_impossible_sizes():
    for width, height in ((0, 10), (-1, 10), (5000, 10)):
        with pytest.raises((waker.Error, ValueError)):
            env = waker.WakerEnv("toy", render_mode="rgb_array", width=width, height=height)
            env.reset(seed=1)
            env.render()
    with pytest.raises(waker.InputError, match="render_mode"):
        waker.WakerEnv("toy", render_mode="human")


def test_seeds_that_are_none():
    env = waker.WakerEnv("toy")
    for wrong in ("a", -1, 1.5):
        with pytest.raises(Exception):
            env.reset(seed=wrong)
    env.reset(seed=2**63)
    many = waker.WakerVectorEnv("toy", 2)
    for place, seed in (env, 2**64), (many, 2**64 - 1), (many, [0, 2**64]):
        with pytest.raises(waker.InputError, match="seed must be .*, not 18446744073709551616"):
            place.reset(seed=seed)
    many.reset(seed=[np.int64(3), 2**64 - 1])
    scores = np.ones((2, 2))
    for draw in (lambda: waker.stats.bootstrap(scores, seed=2**64),
                 lambda: waker.Space("toy").sample(2**64, 0),
                 lambda: waker.Policy("nowhere", "walk", seed=-1), lambda: waker.Model("nowhere", seed=-1)):
        with pytest.raises(waker.InputError, match="seed must be "):
            draw()


def test_a_forked_child_is_told(env):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            env.step(np.zeros(env.action_space.shape))
        except waker.ForkError as error:
            env.close()
            # A new one works, with threads of its own.
            own = waker.WakerVectorEnv("toy", 4, threads=2)
            own.reset(seed=1)
            own.step(np.zeros((4, 2)))
            own.close()
            status = 0 if "forked" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    env.step(np.zeros(env.action_space.shape))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_gymnasiums_processes(method):
    envs = gym.vector.AsyncVectorEnv([lambda: gym.make("waker/Toy-v0")] * 2, context=method) \
        if method == "fork" else gym.vector.AsyncVectorEnv([make_toy] * 2, context=method)
    assert envs.reset(seed=1)[0].shape == (2, 64, 64, 3)
    envs.step(np.zeros((2, 2), np.float32))
    envs.close()


def make_toy():
    return waker.WakerEnv("toy")


def test_threads_take_turns(env):
    problems, ended = [], [0]

    def work():
        try:
            for _ in range(200):
                try:
                    env.step(np.zeros(env.action_space.shape))
                except waker.InputError:  # the other thread took the last step
                    env.reset()
            ended[0] += 1
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and ended[0] == 4


def test_closing_while_another_thread_steps(env):
    stopped = threading.Event()

    def work():
        try:
            while True:
                try:
                    env.step(np.zeros(env.action_space.shape))
                except waker.ClosedError:
                    raise
                except waker.InputError:
                    env.reset()
        except waker.ClosedError:
            stopped.set()

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    env.close()
    assert stopped.wait(60)
    thread.join()


def objects_of(run):
    """What a run is opened as, each with something to do."""
    image = np.zeros((64, 64, 3), np.uint8)
    policy, model = waker.Policy(run, "west"), waker.Model(run)
    curriculum = waker.Curriculum("dr", "toy")
    return [(policy, lambda: policy.act(image)),
            (model, lambda: model.observe(image[None, None], np.zeros((1, 1, 2), np.float32))),
            (curriculum, curriculum.next)]


def raises(error, call):
    try:
        call()
    except error:
        return True
    return False


def test_policies_models_and_curricula_in_a_forked_child(run):
    objects = objects_of(run)
    child = os.fork()
    if child == 0:
        try:
            told = all(raises(waker.ForkError, use) for _, use in objects)
            objects_of(run)[0][1]()  # one of its own acts
            os._exit(0 if told else 2)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for _, use in objects:
        use()


def test_policies_models_and_curricula_that_are_closed(run):
    for thing, use in objects_of(run):
        use()
        thing.close()
        thing.close()
        with pytest.raises(waker.ClosedError, match="is closed"):
            use()


def test_threads_share_a_policy(run):
    policy = waker.Policy(run, "west")
    images = np.random.default_rng(1).integers(0, 256, (4, 6, 64, 64, 3), np.uint8)

    def act(i):
        state, actions = policy.reset(7), []
        for image in images[i]:
            action, state = policy.act(image, state)
            actions.append(action)
        return actions

    alone = [act(i) for i in range(4)]
    together = [None] * 4
    threads = [threading.Thread(target=lambda i=i: together.__setitem__(i, act(i)))
               for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(alone, together)


# A second interpreter in the process: numpy may refuse to be imported there, but nothing crashes,
# and the first one goes on.
INTERPRETERS = """
import numpy as np, waker
SECOND = '''
try:
    import waker
    env = waker.WakerEnv("toy")
    env.reset(seed=1)
    env.step([0, 0])
    env.close()
except ImportError:
    pass
'''
try:
    import concurrent.interpreters as interpreters
    run = lambda: interpreters.create().exec(SECOND)
except ImportError:
    try:
        import _interpreters as interpreters  # of Python 3.13
    except ImportError:
        import _xxsubinterpreters as interpreters
    run = lambda: interpreters.run_string(interpreters.create(), SECOND)
env = waker.WakerEnv("toy")
before = env.reset(seed=1)[0].copy()
for _ in range(2):
    try:
        run()
    except Exception as error:
        print(type(error).__name__, error)
env.step([0, 0])
print((env.reset(seed=1)[0] == before).all())
"""


def test_two_interpreters_in_one_process():
    ended = subprocess.run([sys.executable, "-c", INTERPRETERS], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout == "True\n", ended.stdout + ended.stderr


INTERRUPTED = """
import os, signal, threading, time
import numpy as np, waker
envs = waker.WakerVectorEnv("terrain-walker", 8, threads=2)
envs.reset(seed=1)
actions = np.zeros(envs.action_space.shape)
caught, stepping = 0, False
def interrupt():
    for number in range(20):
        while not stepping:
            time.sleep(0.001)
        time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        while caught == number: # the next one only after that: two that come at once are one
            time.sleep(0.001)
thread = threading.Thread(target=interrupt)
thread.start()
while thread.is_alive():
    try:
        stepping = True
        while thread.is_alive():
            envs.step(actions)
    except KeyboardInterrupt:
        stepping = False
        caught += 1
envs.step(actions)
envs.close()
print(caught == 20)
"""


def test_an_interrupt_leaves_the_environments_usable():
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True)
    assert ended.stdout == "True\n", ended.stderr


def test_domains_and_options_that_are_not_there():
    for make in (lambda: waker.WakerEnv("tox"), lambda: waker.WakerEnv("toy", task="x"),
                 lambda: waker.WakerEnv("clean-up", options={"nothing": "x"})):
        with pytest.raises(waker.NotFoundError):
            make()
    with pytest.raises(waker.Error):
        waker.Domain.load("/nowhere.so")
    with pytest.raises(waker.NotFoundError):
        waker.Curriculum("nothing", "toy")
    with pytest.raises(TypeError, match="nothing"):
        waker.Curriculum("dr", "toy", nothing=1)
