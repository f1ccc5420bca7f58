"""Nanoseconds of torch.save of some MiB, and of an epoch that keeps the workers of a DataLoader busy with small files: MIB ROUNDS."""
import os
import sys
import tempfile
import time

import torch
from torch.utils.data import DataLoader, Dataset

MIB, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
SAMPLES = 20000


class Files(Dataset):
    def __init__(self, directory):
        self.directory = directory
        for number in range(200):
            with open(f"{directory}/{number}", "wb") as file:
                file.write(os.urandom(4096))

    def __len__(self):
        return SAMPLES

    def __getitem__(self, number):
        with open(f"{self.directory}/{number % 200}", "rb") as file:
            return torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)


def measure(name, act):
    began = time.perf_counter_ns()
    act()
    print(name, time.perf_counter_ns() - began, flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    weights = {f"w{i}": torch.randn(MIB * 2**20 // 4 // 8) for i in range(8)}
    path = os.path.join(os.environ.get("REPRIEVE_CHECKPOINT_DIR", "."), "model.pt")
    torch.save(weights, path)
    for _ in range(3):
        measure("save", lambda: torch.save(weights, path))
    os.unlink(path)
    del weights
    with tempfile.TemporaryDirectory() as directory:
        files = Files(directory)
        for _ in range(max(1, ROUNDS // 7)):
            measure("epoch", lambda: [None for _ in DataLoader(files, batch_size=16, num_workers=2)])
