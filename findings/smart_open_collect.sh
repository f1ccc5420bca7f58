#!/bin/bash
# Software: smart_open 9.0.2 (PyPI), against moto 5.2.5 as the S3 server.
# One would guess: what an exception breaks off is never an object: in a `with` block the upload is given up, and so it is where
#   the writer is only dropped, as nobody has closed it.
# What happens: in a `with` block it is given up. A writer without one is closed when Python drops it, while the exception is on
#   its way: the half checkpoint is put under its final name, over the whole one.
# Why it matters: whether a save that failed leaves the old checkpoint or half of the new one hangs on a keyword; a trainer that
#   goes on after the exception (out of memory in one step) has replaced its good checkpoint without any word.
# Seen:
#   > exception in a with block: whole
#   > exception without one: half
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'smart_open[s3]==9.0.2' 'boto3==1.43.117' 'moto[server]==5.2.5'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = f"http://127.0.0.1:{server._server.server_port}"
s3 = boto3.client("s3", endpoint_url=url)
s3.create_bucket(Bucket="bucket")

import smart_open

def open_for_writing():
    return smart_open.open("s3://bucket/checkpoint", "wb", transport_params={"client": s3})

def save_in_block():
    with open_for_writing() as file:
        file.write(b"half")
        raise MemoryError

def save():
    file = open_for_writing()
    file.write(b"half")
    raise MemoryError

for save, words in ((save_in_block, "in a with block"), (save, "without one")):
    s3.put_object(Bucket="bucket", Key="checkpoint", Body=b"whole")
    try:
        save()
    except MemoryError:
        pass
    print(f"exception {words}:", s3.get_object(Bucket="bucket", Key="checkpoint")["Body"].read().decode())
server.stop()
EOF
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1
got=$(venv/bin/python job.py 2>errors.log | grep -v '^Starting a new Thread') || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
