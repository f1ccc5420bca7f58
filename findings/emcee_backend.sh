#!/bin/bash
# Software: emcee 3.1.6 (PyPI), with h5py 3.16.0.
# One would guess: a sampler with an HDFBackend whose file holds a chain either goes on from its last sample, or refuses to start
#   where the chain is not empty, as the file would mix two chains.
# What happens: run_mcmc(p0, n) takes p0, as in the first start, and appends what follows to the old chain. The file then is one chain
#   that falls back to its beginning in the middle; nothing is said. Only run_mcmc(None, n) goes on.
# Why it matters: the same command started again after a preemption burns in again, and its result has that in the middle, where no
#   discard= looks for it. That the file has grown does not show that a run was resumed.
# Seen:
#   > first start: 60 samples, from 100 to 0
#   > second start: 120 samples, number 61 at 100
#   > run_mcmc(None): 180 samples, number 121 at 0
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'emcee==3.1.6' 'h5py==3.16.0' 'numpy==2.4.6'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >sample.py <<'EOF'
import sys
import emcee, numpy

numpy.random.seed(1)
start = sys.argv[1]
backend = emcee.backends.HDFBackend("chain.h5")
sampler = emcee.EnsembleSampler(8, 1, lambda x: -0.5 * (x[0] / 10) ** 2, backend=backend)
far_away = 1000 + numpy.random.randn(8, 1)
before = backend.iteration if start != "first start:" else 0
sampler.run_mcmc(None if "None" in start else far_away, 60)
# In hundreds of what the walkers' distribution is wide: 100 is where a start begins, 0 where the chain belongs.
place = [round(abs(float(x)) / 1000) * 100 for x in backend.get_chain()[:, :, 0].mean(1)]
text = f"from {place[0]} to {place[-1]}" if before == 0 else f"number {before + 1} at {place[before]}"
print(start, f"{backend.iteration} samples, {text}")
EOF
got=$(for start in 'first start:' 'second start:' 'run_mcmc(None):'; do venv/bin/python sample.py "$start"; done) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
