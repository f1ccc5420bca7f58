#!/bin/bash
# Software: netCDF-C as in netCDF4 1.7.5.1.post1 (PyPI), the classic format (NETCDF3_64BIT_OFFSET).
# One would guess: a file of records to which a simulation appends holds, after a kill, all the records that are in the file, but for
#   the last one, which may be cut.
# What happens: the number of records stands in the header, and is written by sync() and close() only. After a kill records are in the
#   file that no reader shows, however long the file is; and a run that appends to it writes over them.
# Why it matters: the file gets longer and newer all the time, which is no sign that anything can be resumed from. Its length does not
#   say how far the run was, and a copy that is longer may hold no record more.
# Seen:
#   > record 60 lies in the file: True
#   > records that a reader sees: 50, the last one is 50
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'netCDF4==1.7.5.1.post1' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import os, signal, struct
import netCDF4

child = os.fork()
if child == 0:
    file = netCDF4.Dataset("run.nc", "w", format="NETCDF3_64BIT_OFFSET")
    file.createDimension("time", None)
    file.createDimension("cell", 1000)
    state = file.createVariable("state", "f8", ("time", "cell"))
    for step in range(1, 101):
        state[step - 1] = step
        if step == 50:
            file.sync()
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(child, 0)
print("record 60 lies in the file:", struct.pack(">d", 60) * 1000 in open("run.nc", "rb").read())
file = netCDF4.Dataset("run.nc")
records = len(file.dimensions["time"])
print(f"records that a reader sees: {records}, the last one is {file['state'][-1, 0]:.0f}")
EOF
got=$(venv/bin/python job.py) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
