"""What the training scripts share: scikit-learn's handwritten digits, their arguments, and a line for each step. Nothing here knows of
Reprieve; --pause only makes a step last, so that there is a middle of it."""
import argparse
import os
import time

import numpy
from sklearn.datasets import load_digits

CLASSES, PIXELS, BATCH = 10, 64, 64
_images, _labels = load_digits(return_X_y=True)
IMAGES, LABELS = (_images / 16).astype("float32"), _labels.astype("int64")
_pause = 0.0


def arguments(*more):
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--every", type=int, default=10)  # steps between periodic checkpoints; 0: none
    parser.add_argument("--pause", type=float, default=0)
    for name in more:
        parser.add_argument(name, action="store_true")
    parsed = parser.parse_args()
    slow_down(parsed.pause)
    os.makedirs(parsed.dir, exist_ok=True)
    return parsed


def slow_down(seconds):
    global _pause
    _pause = seconds


def work():
    """As long as a step takes."""
    time.sleep(_pause)


def batch(step, part=0):
    """The same for the same step, wherever it is run. Steps count from 1."""
    chosen = numpy.random.default_rng((step, part)).integers(0, len(LABELS), BATCH)
    work()
    return IMAGES[chosen], LABELS[chosen]


def report(step, loss):
    """The whole number, so that curves can be compared bit for bit. In one piece: several processes may write."""
    os.write(1, f"step {step} {float(loss)!r}\n".encode())


def resumed(step):
    os.write(1, f"resumed {step}\n".encode())
