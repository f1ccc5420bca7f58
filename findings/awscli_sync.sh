#!/bin/bash
# Software: awscli 1.46.3 (PyPI), against moto 5.2.5 as the S3 server.
# One would guess: `aws s3 sync DIRECTORY s3://...` sends every file whose content differs from what is in the bucket, or whose
#   time differs, as rsync does.
# What happens: size and time alone are compared, and the time in one direction: a file of the same size whose time is older than
#   the object's is taken for the same, without a word, exit code 0. Files that were put back by `cp -p`, tar or rsync -t have
#   such times.
# Why it matters: checkpoints of one model all have one size. After an older one was put back over a newer file, sync leaves the
#   newer one in the bucket; what is restored from there is not what the directory held.
# Seen:
#   > in the bucket: step 200
#   > then step 100 is put back over it, with its own time, and synced: exit code 0
#   > in the directory: step 100
#   > in the bucket: step 200
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'awscli==1.46.3' 'moto[server]==5.2.5'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi
wait_for() { # COMMAND...: until it succeeds, for at most a minute
	for ((i = 0; i < 600; i++)); do
		if "$@"; then return; fi
		sleep 0.1
	done
	echo "CHANGED: waited in vain for $*"
	exit 1
}

cat >server.py <<'EOF'
import os
import time

from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
with open("url.new", "w") as file:
    file.write(f"http://127.0.0.1:{server._server.server_port}")
os.rename("url.new", "url")
parent = os.getppid()
while os.getppid() == parent:
    time.sleep(0.2)
EOF
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1
venv/bin/python server.py >server.log 2>&1 &
server=$!
wait_for test -s url
s3() { venv/bin/aws --endpoint-url "$(cat url)" s3 "$@"; }
mkdir run kept
echo 'step 100' >kept/model
touch -d '1 hour ago' kept/model
echo 'step 200' >run/model
s3 mb s3://bucket >s3.log
s3 sync run s3://bucket >>s3.log
before=$(s3 cp s3://bucket/model -)
cp -p kept/model run/model
code=0
s3 sync run s3://bucket >>s3.log || code=$?
got="in the bucket: $before
then step 100 is put back over it, with its own time, and synced: exit code $code
in the directory: $(cat run/model)
in the bucket: $(s3 cp s3://bucket/model -)" || true
kill "$server"

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
