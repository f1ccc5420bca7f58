#!/bin/bash
# Software: zarr 3.1.6 (PyPI), formats 2 and 3.
# One would guess: zarr.open_group(mode='r') shows the arrays that are in the group. consolidate_metadata() makes that faster for
#   those who ask for it.
# What happens: once consolidated, the list that was made then is what every later open shows by default. An array that a resumed run
#   adds is on the disk and has no place in the list: keys() leaves it out, 'in' says no, and asking for it is a KeyError. The group's
#   attributes, such as the step, are the new ones.
# Why it matters: a checkpoint that is complete loads as one that lacks an array, together with the step of the newer save. Whoever
#   checks by the list, or copies what it names, loses what was added since; the files know better.
# Seen:
#   > format 2: step 2, arrays weights; on the disk momentum weights
#   > format 3: step 2, arrays weights; on the disk momentum weights
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'zarr==3.1.6' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import warnings
import numpy, zarr

warnings.simplefilter("ignore")
for version in (2, 3):
    group = zarr.open_group(f"saved{version}", mode="w", zarr_format=version)
    group["weights"] = numpy.ones(4)
    group.attrs["step"] = 1
    zarr.consolidate_metadata(f"saved{version}")
    resumed = zarr.open_group(f"saved{version}", mode="a")
    resumed["momentum"] = numpy.ones(4)
    resumed.attrs["step"] = 2
    read = zarr.open_group(f"saved{version}", mode="r")
    disk = zarr.open_group(f"saved{version}", mode="r", use_consolidated=False)
    print(f"format {version}: step {read.attrs['step']}, arrays {' '.join(sorted(read.keys()))};",
          f"on the disk {' '.join(sorted(disk.keys()))}")
EOF
got=$(venv/bin/python job.py) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
