#!/bin/bash
# Software: ASE 3.29.0 (PyPI), its BFGS optimiser and EMT.
# One would guess: BFGS(atoms, trajectory=..., restart=FILE) goes on where the run before was, as FILE is what a restart takes, and
#   the trajectory gets longer.
# What happens: FILE holds the optimiser's matrix of second derivatives, and not the positions. The run begins at the first geometry
#   again, with the matrix of the last one. The trajectory, which alone knows the positions, is opened anew and written over.
# Why it matters: started again with the same command, a job loses all its steps, and the restart destroys the only file from which it
#   could have gone on. A new restart file is no checkpoint.
# Seen:
#   > first start: energy from 4.745 to 1.683, 11 frames in the trajectory
#   > second start: energy from 4.745, 4 frames in the trajectory
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'ase==3.29.0' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >relax.py <<'EOF'
import sys
from ase.build import molecule
from ase.calculators.emt import EMT
from ase.io import read
from ase.optimize import BFGS

atoms = molecule("CH3CH2OH")
atoms.rattle(0.1, seed=1)
atoms.calc = EMT()
began = atoms.get_potential_energy()
BFGS(atoms, trajectory="relax.traj", restart="relax.json", logfile=None).run(fmax=0.01, steps=int(sys.argv[2]))
ended = f" to {atoms.get_potential_energy():.3f}" if sys.argv[1] == "first" else ""
print(f"{sys.argv[1]} start: energy from {began:.3f}{ended}, {len(read('relax.traj', ':'))} frames in the trajectory")
EOF
got=$(venv/bin/python relax.py first 10 && venv/bin/python relax.py second 3) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
