#!/bin/bash
# A tiny real model on real data with each framework, unmodified in its own idiom, preempted in the middle of a step and resumed in an
# empty directory under `reprieve run`, which finds the profile by itself; proof.py says how.
#
#	tests/frameworks/run.sh [--quick] [--list] [--keep] [--write] [NAME...]
#
# --quick: the few whose packages are small. --keep: what the runs write stays. --write: what has passed goes into the table of
# supervisor/frameworks/FRAMEWORKS.md. What they need is installed by pip into build/frameworks/FAMILY; what cannot be had is skipped,
# with the reason. REPRIEVE names the binary (default:
# build/supervisor/reprieve), REPRIEVE_FRAMEWORKS_TORCH (environments.py) a python that has the packages already. Exit code 0 only if
# at least one ran and all that ran have passed.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${REPRIEVE:-build/supervisor/reprieve}
if [ ! -x "$program" ]; then
	echo "$program is not there: build it, or say REPRIEVE=PATH" >&2
	exit 70
fi
if ! /usr/bin/python3 -c 'import ensurepip' 2>/dev/null; then
	bash examples/install_packages.sh venv || echo "without python3-venv nothing can be installed"
fi
export PYTHONDONTWRITEBYTECODE=1 AWS_EC2_METADATA_DISABLED=true
exec /usr/bin/python3 tests/frameworks/table.py "$@"
