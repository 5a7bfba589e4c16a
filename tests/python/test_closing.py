"""What is closed while it is used, by a callback, a signal handler or another thread, lives until the
call is through. Each test is a process of its own, whose end says whether freed memory was used."""

import subprocess
import sys

import pytest

SETUP = """
import os, pickle, signal, sys, threading, time
import numpy as np
import waker

class Closing:
    \"\"\"A curriculum that closes something while it chooses.\"\"\"
    closes = None
    def next(self):
        if self.closes is not None:
            self.closes.close()
        return [0.5]

def make_env():
    return waker.WakerEnv("toy", curriculum=waker.Curriculum("dr", "toy"))

def make_vector():
    return waker.WakerVectorEnv("toy", 2, threads=2, render_mode="rgb_array",
                                curriculum=waker.Curriculum("dr", "toy"))

def use_env(env):
    env.reset(seed=1)
    env.step([0, 0])
    pickle.dumps(env)

def use_vector(envs):
    envs.reset(seed=1)
    for _ in range(21): # one more than an episode has
        envs.step(np.zeros((2, 2)))
    envs.render()
    pickle.dumps(envs)

def use_curriculum(curriculum):
    theta = curriculum.next()
    curriculum.report(theta, [1.0])
    curriculum.distribution()
    curriculum.visits()
    pickle.dumps(curriculum)

def use_policy(policy):
    image = np.zeros((64, 64, 3), np.uint8)
    action, state = policy.act(image, policy.reset(3))
    policy.act(image)
    policy.act(image, state)

def use_model(model):
    states = model.observe(np.zeros((2, 1, 64, 64, 3), np.uint8), np.zeros((2, 1, 2), np.float32))
    model.decode(states)

KINDS = {"env": (make_env, use_env), "vector": (make_vector, use_vector),
         "curriculum": (lambda: waker.Curriculum("dr", "toy"), use_curriculum),
         "policy": (lambda: waker.Policy(sys.argv[1], "west"), use_policy),
         "model": (lambda: waker.Model(sys.argv[1]), use_model)}

def is_closed(thing, use):
    try:
        use(thing)
    except waker.ClosedError as error:
        return "is closed" in str(error)
    return False
"""


def run_child(code, *arguments):
    ended = subprocess.run([sys.executable, "-c", SETUP + code, *arguments], capture_output=True,
                           text=True)
    assert ended.returncode == 0, f"ended with {ended.returncode}: {ended.stderr}"
    return ended.stdout


# A signal handler runs between any two instructions: here one runs before each line in turn.
EVERY_LINE = """
make, use = KINDS[sys.argv[2]]
package = os.path.dirname(waker.__file__)

def close_at(number):
    thing, seen = make(), 0
    def watch(frame, event, argument):
        nonlocal seen
        if not frame.f_code.co_filename.startswith(package):
            return None
        seen += event == "line"
        if event == "line" and seen == number:
            thing.close()
        return watch
    sys.settrace(watch)
    try:
        use(thing)
    except waker.ClosedError:
        pass
    finally:
        sys.settrace(None)
    assert seen < number or is_closed(thing, use)
    return seen >= number

number = 1
while close_at(number):
    number += 1
print(number)
"""


@pytest.mark.parametrize("kind", ["env", "vector", "curriculum", "policy", "model"])
def test_a_handler_closes_it_before_any_line(run, kind):
    assert int(run_child(EVERY_LINE, str(run), kind)) > 20


ALARMS = """
random = np.random.default_rng(1)
now = [None]
signal.signal(signal.SIGALRM, lambda number, frame: now[0].close())
for _ in range(40):
    for make, use in KINDS.values():
        now[0] = make()
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.0002, 0.02))
        try:
            while True:
                use(now[0])
        except waker.ClosedError:
            pass
        assert is_closed(now[0], use)
"""


def test_an_alarm_closes_what_is_used(run):
    run_child(ALARMS, str(run))


CURRICULA = """
for make in waker.WakerEnv, waker.WakerVectorEnv:
    for _ in range(200):
        chooses = Closing()
        env = make("toy", curriculum=chooses)
        env.reset(seed=1)
        before = env.step(np.zeros(env.action_space.shape))[0].copy()
        chooses.closes = env
        seen = env.reset(seed=1)[0] # the call that was going on ends as if nothing was
        assert seen.shape == before.shape and seen.any()
        assert is_closed(env, lambda env: env.reset())

    class Itself(waker.Curriculum):
        def next(self):
            theta = super().next()
            self.close()
            return theta

    env = make("toy", curriculum=Itself("dr", "toy"))
    env.reset(seed=1)
    assert is_closed(env.curriculum, use_curriculum) and is_closed(env, lambda env: env.reset())
"""


def test_a_curriculum_closes_its_environment_or_itself():
    run_child(CURRICULA)


THREADS = """
def work(thing, use, ended):
    try:
        while True:
            use(thing)
    except waker.ClosedError:
        ended.append(True)

for _ in range(10):
    for make, use in KINDS.values():
        thing, ended = make(), []
        threads = [threading.Thread(target=work, args=(thing, use, ended)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.01)
        thing.close()
        for thread in threads:
            thread.join()
        assert len(ended) == 2
"""


def test_another_thread_closes_what_is_used(run):
    run_child(THREADS, str(run))


AT_THE_END = """
for make, use in KINDS.values():
    def work(thing=make(), use=use):
        while True:
            use(thing)
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""


def test_threads_that_go_on_at_the_end_of_the_program(run):
    for _ in range(5):
        run_child(AT_THE_END, str(run))


DOMAINS = """
policy = waker.Policy(sys.argv[1], "west")
domain = policy.domain
env = waker.WakerEnv(domain)
policy.close()
assert is_closed(domain, lambda domain: domain.task("west"))
assert is_closed(domain, waker.Space)
env.reset(seed=1) # made before: it holds what it was made of
env.step([0, 0])
"""


def test_the_domain_of_a_closed_policy_is_closed(run):
    run_child(DOMAINS, str(run))
