"""A job whose saves take as long as a test wants: "saving N" is printed with the file open, and it goes on when the test has made
"go-N". Then "saved N". It resumes nothing, and handles no SIGTERM unless it is told to.

gated.py SAVES [--handler] [--exit] [--fork]
"""
import os
import signal
import sys
import time

DIRECTORY = os.environ["REPRIEVE_CHECKPOINT_DIR"]


def say(*words):  # in one piece: a handler may speak between two of print()'s
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def told(number, frame):
    say("told to end")
    time.sleep(0.2)  # what a handler does, in one
    say("has cleaned up")
    os._exit(0)


def save(step):
    path = os.path.join(DIRECTORY, "step_%d.pt" % step)
    with open(path + ".tmp", "wb") as file:
        file.write(b"first half of %d\n" % step)
        file.flush()
        say("saving", step)
        wait_for("go-%d" % step)
        file.write(b"second half of %d\n" % step)
    os.rename(path + ".tmp", path)
    say("saved", step)


def save_in_a_child(step):
    pid = os.fork()
    if pid == 0:
        save(step)
        os._exit(0)
    say("writer", pid)
    os.waitpid(pid, 0)


os.makedirs(DIRECTORY, exist_ok=True)
if "--handler" in sys.argv:
    signal.signal(signal.SIGTERM, told)
for number in range(1, int(sys.argv[1]) + 1):
    wait_for("begin-%d" % number)
    save_in_a_child(number) if "--fork" in sys.argv else save(number)
while "--exit" not in sys.argv:
    time.sleep(1)
