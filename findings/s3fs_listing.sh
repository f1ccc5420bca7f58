#!/bin/bash
# Software: s3fs 2026.9.0 and fsspec 2026.9.0 (PyPI), against moto 5.2.5 as the S3 server.
# One would guess: S3FileSystem().ls() and glob() show what is in the bucket when they are called; or at least a new S3FileSystem()
#   does. exists() and ls() agree.
# What happens: what was listed once is kept without an end. A checkpoint that another process has put there since is not in ls() and
#   glob(), exists() denies it, and S3FileSystem() made again is the same object with the same list. find(), open() and
#   ls(refresh=True) see it.
# Why it matters: whoever polls for the newest checkpoint, or looks for it a second time before a resume, gets an older one for as
#   long as the process lives, and no error. "Not listed" does not mean "not there", even where the store itself is consistent.
# Seen:
#   > ls: step_1
#   > then another client puts step_2
#   > ls: step_1
#   > glob: step_1
#   > exists: False
#   > ls of a new S3FileSystem: step_1
#   > find: step_1 step_2
#   > ls with refresh: step_1 step_2
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
import boto3, s3fs
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
url = f"http://127.0.0.1:{server._server.server_port}"
other = boto3.client("s3", endpoint_url=url)
other.create_bucket(Bucket="bucket")
other.put_object(Bucket="bucket", Key="run/step_1", Body=b"1")

def names(paths):
    return " ".join(path.rsplit("/", 1)[1] for path in paths)

files = s3fs.S3FileSystem(endpoint_url=url)
print("ls:", names(files.ls("bucket/run")))
other.put_object(Bucket="bucket", Key="run/step_2", Body=b"2")
print("then another client puts step_2")
print("ls:", names(files.ls("bucket/run")))
print("glob:", names(files.glob("bucket/run/step_*")))
print("exists:", files.exists("bucket/run/step_2"))
print("ls of a new S3FileSystem:", names(s3fs.S3FileSystem(endpoint_url=url).ls("bucket/run")))
print("find:", names(files.find("bucket/run")))
print("ls with refresh:", names(files.ls("bucket/run", refresh=True)))
server.stop()
EOF
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1
got=$(venv/bin/python job.py 2>errors.log | grep -v '^Starting a new Thread') || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
