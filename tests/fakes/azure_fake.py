"""Azure as far as a store that uses tokens needs it, in one process: Blob Storage that asks for a bearer token, Microsoft Entra, the
machine's metadata service and App Service's identity endpoint. Signatures are Azurite's to check, not this one's.

Blobs and the log of requests are plain members, for tests to look into; `faults` make it misbehave."""
import json
import re
import threading
import time
import urllib.parse
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


class AzureFake:
    PAGE = 3

    def __init__(self, account="spotacct", container="snaps"):
        self.account, self.container, self.blobs, self.lock = account, container, {}, threading.Lock()
        self.requests, self.asked = [], []
        self.tokens, self.issued = set(), 0
        self.faults = []  # (method, part of the path, status, code): each once
        self.modified = {}  # blob: seconds since 1970; tests may set it back
        self.circle = False  # listings that begin again and again
        self.directories = []  # what a hierarchical namespace lists besides
        fake = self

        class Handler(FakeHandler):
            azure = fake

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def issue(self, kind):
        with self.lock:
            self.issued += 1
            token = "%s-token-%d" % (kind, self.issued)
            self.tokens.add(token)
        return token


class FakeHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    azure = None

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/xml", headers=None):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-ms-request-id", "1")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, code, headers=None):
        self.answer(status, "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>%s</Code>"
                    "<Message>Words.\nRequestId:1\nTime:2</Message></Error>" % code, headers={"x-ms-error-code": code, **(headers or {})})

    def portal(self, status):
        """What is between here and there answers with a page of its own."""
        body = b"<html><body><h1>Welcome!</h1>Log in.</body></html>"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def token(self, kind, as_text):
        until = int(time.time()) + 3600
        value = {"access_token": self.azure.issue(kind), "token_type": "Bearer"}
        value.update({"expires_on": str(until)} if as_text else {"expires_in": 3600})
        self.answer(200, json.dumps(value), "application/json")

    def handle_any(self):
        azure = self.azure
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        path = urllib.parse.unquote(url.path)
        with azure.lock:
            azure.requests.append((self.command, self.path, dict(self.headers)))
        if path == "/metadata/identity/oauth2/token":
            azure.asked.append(query)
            if self.headers.get("Metadata") != "true" or query.get("resource") != "https://storage.azure.com/":
                return self.answer(400, json.dumps({"error": "invalid_request"}), "application/json")
            return self.token("machine", True)
        if path == "/msi/token":
            azure.asked.append(query)
            return self.token("app", True) if self.headers.get("X-IDENTITY-HEADER") == "the-identity-header" else self.answer(401)
        if path.endswith("/oauth2/v2.0/token"):
            return self.entra(path, body)
        with azure.lock:
            for fault in list(azure.faults):
                if fault[0] == self.command and fault[1] in self.path:
                    azure.faults.remove(fault)
                    if fault[3] == "portal":
                        return self.portal(fault[2])
                    return self.error(fault[2], fault[3])
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or token not in azure.tokens or not self.headers.get("x-ms-version"):
            return self.error(401, "InvalidAuthenticationInfo", {"WWW-Authenticate": "Bearer"})
        return self.storage(path, query, body)

    do_GET = do_PUT = do_DELETE = do_POST = handle_any

    def entra(self, path, body):
        form = dict(urllib.parse.parse_qsl(body.decode()))
        self.azure.asked.append({"path": path, **form})
        if form.get("scope") != "https://storage.azure.com/.default" or not (
                form.get("client_secret") == "the-client-secret" or form.get("client_assertion", "").startswith("federated-")):
            return self.answer(401, json.dumps({"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret."}),
                               "application/json")
        return self.token("entra", False)

    def storage(self, path, query, body):
        azure = self.azure
        container, _, key = path[1:].partition("/")
        if container != azure.container:
            return self.error(404, "ContainerNotFound")
        if not key:
            return self.list(query)
        if self.command == "PUT":
            with azure.lock:
                taken = self.headers.get("If-None-Match") == "*" and key in azure.blobs
                if not taken:
                    azure.blobs[key] = body
                    azure.modified[key] = time.time()
            return self.error(409, "BlobAlreadyExists") if taken else self.answer(201)
        if key not in azure.blobs:
            return self.error(404, "BlobNotFound")
        if self.command == "DELETE":
            del azure.blobs[key]
            return self.answer(202)
        data, span = azure.blobs[key], self.headers.get("x-ms-range")
        if not span:
            return self.answer(200, data)
        first, last = re.match(r"bytes=(\d+)-(\d*)$", span).groups()
        first, last = int(first), min(int(last or len(data)), len(data) - 1)
        if first >= len(data):
            return self.error(416, "InvalidRange")
        return self.answer(206, data[first:last + 1], headers={"Content-Range": "bytes %d-%d/%d" % (first, last, len(data))})

    def list(self, query):
        azure, prefix, delimiter = self.azure, query.get("prefix", ""), query.get("delimiter")
        with azure.lock:
            names = sorted([*azure.blobs, *azure.directories])
        entries = []
        for name in names:
            if not name.startswith(prefix):
                continue
            rest = name[len(prefix):]
            folded = prefix + rest.split(delimiter)[0] + delimiter if delimiter and delimiter in rest else None
            if (folded or name, bool(folded)) not in entries:
                entries.append((folded or name, bool(folded)))
        entries = [entry for entry in entries if azure.circle or entry[0] > query.get("marker", "")]
        page, more = entries[:azure.PAGE], len(entries) > azure.PAGE
        parts = ["<BlobPrefix><Name>%s</Name></BlobPrefix>" % escape(name) if folded else
                 "<Blob><Name>%s</Name><Properties><Last-Modified>%s</Last-Modified><Content-Length>%d</Content-Length>"
                 "<ResourceType>%s</ResourceType></Properties></Blob>" % (
                     escape(name), formatdate(azure.modified.get(name, 0), usegmt=True), len(azure.blobs.get(name, b"")),
                     "directory" if name in azure.directories else "file")
                 for name, folded in page]
        self.answer(200, "\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"x\">"
                    "<Blobs>%s</Blobs><NextMarker>%s</NextMarker></EnumerationResults>" % ("".join(parts), escape(page[-1][0]) if more else ""))
