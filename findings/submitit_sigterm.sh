#!/bin/bash
# Software: submitit 1.5.4 (PyPI), its local executor.
# One would guess: a job that submitit runs ends at SIGTERM, or checkpoints and ends, as it is made for preemption.
# What happens: submitit sets a handler that writes "Bypassing signal SIGTERM" and does nothing. The function goes on to its end. Only
#   the signal that submitit itself arranges with Slurm (USR2) makes it checkpoint.
# Why it matters: where SIGTERM is the notice (a container, a cloud's host, systemd), such a job hears it and spends its whole grace
#   computing; then comes SIGKILL, and checkpoint() has never been called. The handler in /proc does not mean that somebody listens.
# Seen:
#   > 2 s after SIGTERM it runs: True
#   > it returned: ran to its end
#   > it said: Bypassing signal SIGTERM
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'submitit==1.5.4'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import os, pathlib, signal, time
import submitit

def train(folder):
    import os, pathlib, time

    pathlib.Path(folder, "pid").write_text(str(os.getpid()))
    pathlib.Path(folder, "pid").rename(pathlib.Path(folder, "begun"))
    while not pathlib.Path(folder, "enough").exists():
        time.sleep(0.1)
    return "ran to its end"

here = pathlib.Path.cwd()
executor = submitit.LocalExecutor(here / "logs")
executor.update_parameters(timeout_min=5)
job = executor.submit(train, str(here))
while not (here / "begun").exists():
    time.sleep(0.1)
os.kill(int((here / "begun").read_text()), signal.SIGTERM)
time.sleep(2)
print("2 s after SIGTERM it runs:", not job.done())
(here / "enough").touch()
print("it returned:", job.result())
print("it said:", "Bypassing signal SIGTERM" if "Bypassing signal SIGTERM" in job.stderr() else job.stderr())
EOF
got=$(venv/bin/python job.py) || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
