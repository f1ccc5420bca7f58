#!/bin/bash
# Software: cloudpathlib 0.26.0 (PyPI), against moto 5.2.5 as the S3 server.
# One would guess: reading a cloud path gives what is in the bucket: the copy in the cache is used only if the object has not
#   changed, which S3 tells by its ETag.
# What happens: the times are compared, and S3 gives them in whole seconds. What replaces an object within the second in which it
#   was put is never seen, however much later and however often it is read, also by a path made anew; a client with an empty cache
#   sees it.
# Why it matters: a pointer such as `latest` that is written twice within a second (a save in a loop, a short step, a retention
#   that puts it right) leads each reader that saw the first one to the older checkpoint, until a third one comes.
# Seen:
#   > step_1
#   > then step_2 is put within the same second
#   > three seconds later: step_1
#   > with a cache of its own: step_2
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'cloudpathlib==0.26.0' 'boto3==1.43.117' 'moto[server]==5.2.5'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import time

import boto3
from cloudpathlib import S3Client
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = f"http://127.0.0.1:{server._server.server_port}"
s3 = boto3.client("s3", endpoint_url=url)
s3.create_bucket(Bucket="bucket")

def read(cache):
    return S3Client(endpoint_url=url, local_cache_dir=cache).CloudPath("s3://bucket/latest").read_text()

def put(step):
    s3.put_object(Bucket="bucket", Key="latest", Body=step)
    return s3.head_object(Bucket="bucket", Key="latest")["LastModified"]

for number in range(20):  # until both come within one second
    while time.time() % 1 > 0.2:
        time.sleep(0.01)
    first, was, second = put(b"step_1"), read(f"cache{number}"), put(b"step_2")
    if first == second:
        break
print(was)
print("then step_2 is put within the same second")
time.sleep(3)
print("three seconds later:", read(f"cache{number}"))
print("with a cache of its own:", read("other"))
server.stop()
EOF
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1
got=$(venv/bin/python job.py 2>errors.log | grep -v '^Starting a new Thread') || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
