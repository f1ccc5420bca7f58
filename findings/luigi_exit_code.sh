#!/bin/bash
# Software: Luigi 3.8.1 (PyPI).
# One would guess: `luigi` ends with another exit code than 0 if a task has failed.
# What happens: it ends with 0, whatever has failed, unless a configuration has a section [retcode]. A task class that is not
#   there gives 1.
# Why it matters: to the scheduler above it a training that ran out of memory, or left because its machine is taken away, has
#   finished: it is not started again, and what was to follow it is.
# Seen:
#   > the task raises an exception: exit code 0
#   > its result is there: False
#   > with [retcode] task_failed=30: exit code 30
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'luigi==3.8.1' 'setuptools==80.9.0'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >tasks.py <<'EOF'
import luigi

class Train(luigi.Task):
    def output(self):
        return luigi.LocalTarget("result")

    def run(self):
        raise MemoryError("out of memory")
EOF
try() { # CONFIGURATION
	local code=0
	LUIGI_CONFIG_PATH=$1 PYTHONPATH=. venv/bin/luigi --module tasks Train --local-scheduler >luigi.log 2>&1 || code=$?
	echo "$code"
}
printf '[core]\n' >plain.cfg
printf '[retcode]\ntask_failed=30\n' >codes.cfg
plain=$(try plain.cfg)
there=False
if [ -e result ]; then there=True; fi
got="the task raises an exception: exit code $plain
its result is there: $there
with [retcode] task_failed=30: exit code $(try codes.cfg)" || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
