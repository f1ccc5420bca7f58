"""What the training scripts share: scikit-learn's handwritten digits, their arguments, and a line for each step. Nothing here knows of
Reprieve; --pause only makes a step last, so that there is a middle of it, and --stand makes one last until --until or its end."""
import argparse
import os
import time

import numpy
from sklearn.datasets import load_digits

CLASSES, PIXELS, BATCH = 10, 64, 64
_images, _labels = load_digits(return_X_y=True)
IMAGES, LABELS = (_images / 16).astype("float32"), _labels.astype("int64")
_pause, _stand, _until, _reported = 0.0, 0, "", 0
STAND_FOR_GOOD = 60  # steps after --stand, also where --until is there


def arguments(*more):
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--every", type=int, default=10)  # steps between periodic checkpoints; 0: none
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--stand", type=int, default=0)  # after so many steps the next one does not end; 0: all do
    parser.add_argument("--until", default="")  # unless this file is there
    for name in more:
        parser.add_argument(name, action="store_true")
    parsed = parser.parse_args()
    slow_down(parsed)
    os.makedirs(parsed.dir, exist_ok=True)
    return parsed


def slow_down(options):
    global _pause, _stand, _until
    _pause, _stand, _until = options.pause, options.stand, options.until


def stands():
    """By the steps that this process has reported, which are saved, if it saves them, before the next one's work."""
    if not _stand or _reported < _stand:
        return False
    return _reported >= _stand + STAND_FOR_GOOD or not (_until and os.path.exists(_until))


def work():
    """As long as a step takes."""
    time.sleep(_pause)
    while stands():
        time.sleep(0.05)


def batch(step, part=0):
    """The same for the same step, wherever it is run. Steps count from 1."""
    chosen = numpy.random.default_rng((step, part)).integers(0, len(LABELS), BATCH)
    work()
    return IMAGES[chosen], LABELS[chosen]


def report(step, loss):
    """The whole number, so that curves can be compared bit for bit. In one piece: several processes may write."""
    global _reported
    _reported = step
    os.write(1, f"step {step} {float(loss)!r}\n".encode())


def resumed(step):
    os.write(1, f"resumed {step}\n".encode())
