#!/bin/bash
# Software: boto3 1.43.117 (PyPI), against moto 5.2.5 as the S3 server, with a proxy that loses one answer.
# One would guess: put_object(IfNoneMatch='*') that ends with PreconditionFailed says that somebody else was first.
# What happens: where the answer to a put that has succeeded is lost with its connection, boto3 sends the request again by itself. The
#   second one meets the object of the first, and the caller gets PreconditionFailed for an object that it has written.
# Why it matters: who claims an attempt or a lock by such a put gives way to nobody: no machine has the job, and the claim stays. What
#   lies there has to be read and compared with one's own before "somebody else" is believed.
# Seen:
#   > the call ends with PreconditionFailed
#   > requests sent: 2
#   > the object is that of this caller: True
# Exit code: 0 as described, 1 if that has changed, 77 if it cannot be installed.
set -eu
work=$(mktemp -d "${TMPDIR:-/tmp}/finding.XXXXXX")
trap 'rm -rf "$work"' EXIT
seen=$(sed -n 's/^#   > //p' "$0")
cd "$work"
if ! { python3 -m venv venv && venv/bin/pip install -q --no-compile 'boto3==1.43.117' 'botocore==1.43.117' 'moto[server]==5.2.5'; } >install.log 2>&1; then
	tail -n 2 install.log
	exit 77
fi

cat >job.py <<'EOF'
import http.client, http.server, os, socket, threading
import boto3, botocore.exceptions
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
port = server._server.server_port
sent = []

class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        behind = http.client.HTTPConnection("127.0.0.1", port)
        behind.request("PUT", self.path, body, dict(self.headers))
        answer = behind.getresponse()
        sent.append(answer.status)
        if len(sent) == 1:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        text = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
threading.Thread(target=proxy.serve_forever, daemon=True).start()
direct = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
direct.create_bucket(Bucket="bucket")
client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{proxy.server_port}")
try:
    client.put_object(Bucket="bucket", Key="claim", Body=b"mine", IfNoneMatch="*")
    print("the call succeeds")
except botocore.exceptions.ClientError as error:
    print("the call ends with", error.response["Error"]["Code"])
print("requests sent:", len(sent))
print("the object is that of this caller:", direct.get_object(Bucket="bucket", Key="claim")["Body"].read() == b"mine", flush=True)
os._exit(0)
EOF
export AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret AWS_DEFAULT_REGION=us-east-1
got=$(timeout 600 venv/bin/python job.py 2>errors.log | grep -v '^Starting a new Thread') || true

if [ "$got" != "$seen" ]; then
	echo "CHANGED: ${got//$'\n'/; }"
	exit 1
fi
echo "$got"
