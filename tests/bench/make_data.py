"""What is saved: make_data.py DIRECTORY MIB FILES SMALL. In a process of its own, because what it takes would count as the peak of whatever
is measured after it: a child begins with its parent's."""
import sys
from pathlib import Path

import numpy


def make_weights(path, mib, seed, files, numbers):
    """fp32 weights as training leaves them: normally distributed, which no compressor makes smaller. Some files, as checkpoints have."""
    path.mkdir(exist_ok=True)
    for number in numbers:
        generator = numpy.random.default_rng((seed, number))
        with open(path / f"weights-{number}.bin", "wb") as file:
            left = mib * 2**20 // files
            while left:
                count = min(left, 2**24) // 4
                (generator.standard_normal(count, dtype=numpy.float32) * numpy.float32(0.02)).tofile(file)
                left -= count * 4


def make_small(path, count):
    generator = numpy.random.default_rng(2)
    for number in range(count):
        place = path / f"part-{number % 100:02}"
        if number < 100:
            place.mkdir(parents=True)
        (place / f"sample-{number:05}.npy").write_bytes(generator.bytes(int(generator.integers(200, 16000))))


work, mib, files, small = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
make_weights(work / "weights", mib, 1, files, range(files))
make_weights(work / "other", mib, 2, files, range(files // 2))
make_weights(work / "quarter", mib // 4, 3, files, range(files))
make_small(work / "small", small)
