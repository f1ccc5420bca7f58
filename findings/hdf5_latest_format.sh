#!/bin/bash
# Software: HDF5 as in h5py 3.16.0 (PyPI).
# One would guess: a file that has been flushed can be opened after the writer was killed, and the newer format of libver='latest' is
#   the safer one.
# What happens: so it is with the default format. With libver='latest' (or 'v110') the file says that somebody writes to it, until it
#   is closed. After a kill each open fails, to read as well as to go on writing, for ever, though all the data are there. Only
#   h5clear, a tool of its own, takes the mark away.
# Why it matters: a checkpoint that was flushed and is whole cannot be resumed from after a preemption, and looks damaged to every
#   check that opens it. The same bytes are good once the mark is gone.
# Seen:
#   > default, to read: last value 999.0
#   > default, to go on: last value 999.0
#   > latest, to read: OSError, file is already open for write
#   > latest, to go on: OSError, file is already open for write
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'h5py==3.16.0' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import os, signal
import h5py, numpy

for version in (None, "latest"):
    name = f"{version or 'default'}.h5"
    child = os.fork()
    if child == 0:
        file = h5py.File(name, "w", libver=version)
        file["weights"] = numpy.arange(1000.0)
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    for mode, purpose in (("r", "to read"), ("a", "to go on")):
        try:
            with h5py.File(name, mode) as file:
                said = f"last value {file['weights'][-1]}"
        except OSError as error:
            said = "OSError, file is already open for write" if "already open for write" in str(error) else error
        print(f"{version or 'default'}, {purpose}: {said}")
EOF
got=$(venv/bin/python job.py) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
