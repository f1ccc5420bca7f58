#!/usr/bin/env python3
"""Writes the traces beside it, for `reprieve drill --trace FILE`: made from what was published of preemptions, not recorded ones.

A gap is the same each time, or drawn (exponentially, from a fixed seed) around the mean; a line has the time and the notice, in seconds.
"""
import random
from pathlib import Path

HOUR, DAY = 3600, 86400
TRACES = {
    "google-preemptible.txt": (24 * HOUR, False, 30, 7, "A preemptible VM stops after 24 hours at the latest, announced 30 s ahead:\n"
                               "# https://docs.cloud.google.com/compute/docs/instances/create-use-preemptible"),
    "llama3-405b.txt": (54 * DAY / 419, True, 0, 16, "419 unexpected interruptions in 54 days on 16,384 GPUs, none of them announced:\n"
                        "# The Llama 3 Herd of Models, https://arxiv.org/abs/2407.21783"),
    "aws-spot-64-machines.txt": (30 * DAY / (64 * 0.2), True, 120, 12, "A job of 64 machines of which 20 % are interrupted in a month, announced 2 min ahead;\n"
                                 "# the highest class of https://aws.amazon.com/ec2/spot/instance-advisor/ is above 20 %"),
}


def trace(mean, drawn, notice, count, source):
    rng, now, lines = random.Random(1), 0, [f"# {source}"]
    for _ in range(count):
        now += rng.expovariate(1 / mean) if drawn else mean
        lines.append(f"{now:.0f} {notice}" if notice else f"{now:.0f}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name, row in TRACES.items():
        (Path(__file__).parent / name).write_text(trace(*row))
