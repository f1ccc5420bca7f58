"""What is saved: make_data.py DIRECTORY MIB FILES SMALL. In a process of its own, because what it takes would count as the peak of whatever
is measured after it: a child begins with its parent's."""
import sys
from pathlib import Path

import numpy


def make_weights(path, mib, seed, files):
    """fp32 weights as training leaves them: normally distributed, which no compressor makes smaller. Some files, as checkpoints have."""
    path.mkdir()
    for number in range(files):
        generator = numpy.random.default_rng((seed, number))
        with open(path / f"weights-{number}.bin", "wb") as file:
            left = mib * 2**18 // files * 4
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


def make_bf16(source, path):
    path.mkdir()
    for file in sorted(source.iterdir()):
        (numpy.fromfile(file, dtype=numpy.uint32) >> 16).astype(numpy.uint16).tofile(path / file.name)


work, mib, files, small = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
make_weights(work / "weights", mib, 1, files)
make_weights(work / "half", mib // 2, 2, files)
make_bf16(work / "weights", work / "bf16")
make_small(work / "small", small)
