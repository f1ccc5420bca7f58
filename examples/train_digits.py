#!/usr/bin/env python3
"""Trains a small neural network on scikit-learn's handwritten digits.

This is an ordinary training script. To survive the loss of its machine it does what most scripts do anyway:

1. It saves a checkpoint every --save-every steps, and whenever SIGUSR1 asks for one.
2. When it starts, it continues from the newest checkpoint in --checkpoint-dir, if there is one.

It imports nothing of Reprieve and does not know whether it runs under it:

    reprieve run --checkpoint-signal USR1 -- python3 train_digits.py

A checkpoint holds everything that the next step depends on (weights, the optimiser's moments, the step number), and the order of
the examples follows from the step number alone. So a run that was interrupted ends with the same weights, bit for bit.
"""
import argparse
import os
import signal
import time
from pathlib import Path

# One thread adds in the same order on every machine, however many cores it has. Has to be said before numpy is loaded.
os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from sklearn.datasets import load_digits

SEED = 1
BATCH = 32
HIDDEN = 64
LEARNING_RATE = 0.002
WEIGHTS = ["w1", "b1", "w2", "b2"]


# --- the model: one hidden layer, cross entropy, Adam ---

def new_state(inputs, classes):
    rng = np.random.default_rng(SEED)
    state = {
        "w1": rng.normal(0, np.sqrt(2 / inputs), (inputs, HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": rng.normal(0, np.sqrt(2 / HIDDEN), (HIDDEN, classes)),
        "b2": np.zeros(classes),
    }
    for name in WEIGHTS:
        state["mean_" + name] = np.zeros_like(state[name])
        state["square_" + name] = np.zeros_like(state[name])
    state["step"] = 0
    return state


def forward(state, images):
    hidden = np.maximum(images @ state["w1"] + state["b1"], 0)
    scores = hidden @ state["w2"] + state["b2"]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, odds / odds.sum(axis=1, keepdims=True)


def train_step(state, images, labels):
    hidden, chances = forward(state, images)
    rows = np.arange(len(labels))
    loss = -np.log(chances[rows, labels]).mean()
    chances[rows, labels] -= 1
    error = chances / len(labels)
    hidden_error = (error @ state["w2"].T) * (hidden > 0)
    gradients = {"w1": images.T @ hidden_error, "b1": hidden_error.sum(axis=0),
                 "w2": hidden.T @ error, "b2": error.sum(axis=0)}
    state["step"] += 1
    for name, gradient in gradients.items():
        mean, square = state["mean_" + name], state["square_" + name]
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient ** 2 - square)
        rate = LEARNING_RATE * np.sqrt(1 - 0.999 ** state["step"]) / (1 - 0.9 ** state["step"])
        state[name] -= rate * mean / (np.sqrt(square) + 1e-8)
    return loss


def batch_of(step, count):
    """Which examples step number `step` (from 0) sees: every epoch is shuffled anew, from its own seed."""
    epoch, position = divmod(step, count // BATCH)
    order = np.random.default_rng([SEED, epoch]).permutation(count)
    return order[position * BATCH:(position + 1) * BATCH]


# --- checkpoints: one file each, complete under its final name or not there at all ---

def save(state, directory, keep=3):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"step-{state['step']:06d}.npz"
    unfinished = path.with_suffix(".tmp")
    with open(unfinished, "wb") as file:
        np.savez(file, **state)
    os.replace(unfinished, path)
    for old in sorted(directory.glob("step-*.npz"))[:-keep]:
        old.unlink()


def load_newest(directory):
    found = sorted(directory.glob("step-*.npz"))
    if not found:
        return None
    with np.load(found[-1]) as file:
        state = {name: file[name] for name in file.files}
    state["step"] = int(state["step"])
    return state


def main():
    parser = argparse.ArgumentParser(description="Train a small network on scikit-learn's digits.")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--checkpoint-dir", type=Path, default=Path("checkpoints"))
    parser.add_argument("--save-every", type=int, default=500, metavar="STEPS")
    parser.add_argument("--print-every", type=int, default=10, metavar="STEPS")
    parser.add_argument("--out", type=Path, default=Path("final.npy"), help="the final weights, as one vector")
    parser.add_argument("--step-time", type=float, default=0, metavar="SECONDS", help="stands in for heavier computing")
    args = parser.parse_args()

    save_asked = False

    def ask_for_save(signal_number, frame):
        nonlocal save_asked
        save_asked = True  # the loop saves after the step that is being computed

    signal.signal(signal.SIGUSR1, ask_for_save)

    images, labels = load_digits(return_X_y=True)
    images = images / 16
    order = np.random.default_rng(SEED).permutation(len(labels))
    train, test = order[:1437], order[1437:]

    state = load_newest(args.checkpoint_dir)
    if state:
        print(f"resumed from step {state['step']}", flush=True)
    else:
        state = new_state(images.shape[1], 10)
        print("starting from scratch", flush=True)

    while state["step"] < args.steps:
        batch = train[batch_of(state["step"], len(train))]
        loss = train_step(state, images[batch], labels[batch])
        time.sleep(args.step_time)
        if state["step"] % args.print_every == 0:
            print(f"step {state['step']} loss {loss:.4f}", flush=True)
        if save_asked or state["step"] % args.save_every == 0:
            save_asked = False
            save(state, args.checkpoint_dir)

    chances = forward(state, images[test])[1]
    print(f"test accuracy {(chances.argmax(axis=1) == labels[test]).mean():.3f}", flush=True)
    np.save(args.out, np.concatenate([state[name].ravel() for name in WEIGHTS]))


if __name__ == "__main__":
    main()
