#!/bin/bash
# Software: s3fs 2026.9.0 and fsspec 2026.9.0 (PyPI), against moto 5.2.5 as the S3 server.
# One would guess: an object in S3 is there whole or not at all, so a save that is broken off in `with files.open(NAME, 'wb')` leaves
#   the object as it was.
# What happens: the file is closed when the exception leaves the block, and to close it is to publish it. What had been written until
#   then takes the place of the good object, for a short one as well as for one in parts.
# Why it matters: a handler of SIGTERM that raises SystemExit or KeyboardInterrupt in the middle of a save turns the newest good
#   checkpoint in the store into a torn one, which no half upload and no temporary name betrays. SIGKILL at the same place does no
#   harm.
# Seen:
#   > before: 10 bytes
#   > after an exception in a short save: 3 bytes
#   > after an exception in a long save: 12000000 bytes
#   > after SIGKILL in a short save: 12000000 bytes
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 's3fs==2026.9.0' 'aiobotocore==3.10.0' 'boto3==1.43.117' 'botocore==1.43.117' 'moto[server]==5.2.5'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import os, signal
import boto3, s3fs
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = f"http://127.0.0.1:{server._server.server_port}"
other = boto3.client("s3", endpoint_url=url)
other.create_bucket(Bucket="bucket")
other.put_object(Bucket="bucket", Key="latest", Body=b"0123456789")

def show(when):
    print(f"{when}: {other.head_object(Bucket='bucket', Key='latest')['ContentLength']} bytes", flush=True)

def save(size, end):
    child = os.fork()
    if child == 0:
        with s3fs.S3FileSystem(endpoint_url=url).open("bucket/latest", "wb") as file:
            file.write(bytes(size))
            end()
    os.waitpid(child, 0)

def be_told():
    signal.signal(signal.SIGTERM, lambda *_: exit(143))
    signal.raise_signal(signal.SIGTERM)

show("before")
save(3, be_told)
show("after an exception in a short save")
save(12_000_000, be_told)
show("after an exception in a long save")
save(5, lambda: os.kill(os.getpid(), signal.SIGKILL))
show("after SIGKILL in a short save")
os._exit(0)
EOF
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1
got=$(timeout 600 venv/bin/python job.py 2>errors.log | grep -v '^Starting a new Thread') || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
