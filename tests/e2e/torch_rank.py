"""As rank.py, with a real DataLoader of torch: its workers handle SIGTERM by themselves. --heard none: no handler at all.

No option's name may begin one of torchrun's: its parser takes those behind the script for its own, shortened."""
import argparse
import multiprocessing
import os
import signal
import time

import torch
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--witness", required=True)
parser.add_argument("--dir", required=True)
parser.add_argument("--heard", default="USR1")
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--context", default="fork")
options = parser.parse_args()
MAIN = os.getpid() if __name__ == "__main__" else 0
RANK = int(os.environ.get("RANK", "0"))
asked = False


def write(text):
    role = "rank" if os.getpid() == MAIN else "worker"
    with open(os.path.join(options.witness, "%s.%d" % (role, os.getpid())), "a") as file:
        file.write(text + "\n")


def handler(number, frame):
    global asked
    asked = True
    write(signal.Signals(number).name)


class Samples(Dataset):
    def __init__(self):
        self.told = False

    def __len__(self):
        return 10**9

    def __getitem__(self, index):
        if not self.told and os.getpid() != MAIN:
            self.told = True
            write("ready")
        time.sleep(0.01)
        return torch.tensor([float(index)])


if options.heard != "none":
    signal.signal(getattr(signal, "SIG" + options.heard), handler)
if __name__ == "__main__":
    model = torch.nn.Linear(1, 1)
    loader = DataLoader(Samples(), batch_size=2, num_workers=options.workers,
                        multiprocessing_context=multiprocessing.get_context(options.context))
    write("ready")
    for batch in loader:
        model(batch).sum().backward()
        if asked and RANK == 0:
            os.makedirs(options.dir, exist_ok=True)
            torch.save(model.state_dict(), os.path.join(options.dir, "step_1.pt"))
        asked = False
