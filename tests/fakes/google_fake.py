"""Google as far as a store needs it, in one process: Cloud Storage's JSON API (with which Google's own client library looks at what
was written), a token service and a metadata server.

Objects and the log of requests are plain members, for tests to look into; `faults` makes it misbehave."""
import base64
import hashlib
import json
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def crc32c_of(byte):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 & -(byte & 1))
    return byte


CRC32C = [crc32c_of(byte) for byte in range(256)]


def crc32c(data):
    """Castagnoli's, as RFC 3720 has it; for want of google_crc32c, which is faster."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


PORTAL = "<html><body><h1>Welcome!</h1>Log in.</body></html>"


class GoogleFake:
    PAGE = 3  # keys in a page: small, so that every listing has several

    def __init__(self, bucket="snaps"):
        self.bucket, self.objects, self.lock = bucket, {}, threading.Lock()
        self.generation = 0
        self.modified = {}  # key: seconds since 1970; tests may set it back
        self.circle = False  # listings that begin again and again
        self.requests = []  # (method, path with query, headers)
        self.forms = []  # what the token service was sent
        self.tokens = None  # a set: only these open the storage; None: anonymous
        self.issued = 0
        self.faults = []  # (method, part of the path, status, code): each once, in front of what would be done
        self.conditions = True  # False: as emulators that ignore ifGenerationMatch
        fake = self

        class Handler(FakeHandler):
            google = fake

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = "127.0.0.1:%d" % self.server.server_port
        self.url = "http://" + self.host
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def issue(self, kind):
        with self.lock:
            self.issued += 1
            token = "%s-token-%d" % (kind, self.issued)
            if self.tokens is not None:
                self.tokens.add(token)
        return token

    def checksum(self, key):
        """Of a small object; of a large one it would take seconds, and the fake does not say it."""
        data = self.objects[key][0]
        return base64.b64encode(crc32c(data).to_bytes(4, "big")).decode() if len(data) < 65536 else None

    def take_fault(self, method, path):
        with self.lock:
            for fault in self.faults:
                if fault[0] == method and fault[1] in path:
                    self.faults.remove(fault)
                    return fault
        return None


class FakeHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    google = None

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", kind="application/xml", **headers):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def error(self, status, reason, message="Words."):
        self.answer_json({"error": {"code": status, "message": message, "errors": [{"reason": reason, "domain": "global"}]}}, status)

    def answer_json(self, value, status=200, **headers):
        self.answer(status, json.dumps(value), "application/json", **headers)

    def handle_any(self):
        google = self.google
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with google.lock:
            google.requests.append((self.command, self.path, dict(self.headers)))
        fault = google.take_fault(self.command, self.path)
        if fault:
            return self.answer(200, PORTAL, "text/html") if fault[3] == "portal" else self.error(fault[2], fault[3])
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        path = urllib.parse.unquote(url.path)
        if path.startswith("/computeMetadata/"):
            return self.metadata()
        if path == "/token":
            return self.token_service(body)
        if not self.allowed():
            return self.error(401, "authError", "Invalid Credentials")
        match = re.match(r"(?:/download|/upload)?/storage/v1/b/([^/]+)/o(?:/(.*))?$", path)
        if not match:
            return self.answer(404, "<html>", "text/html")
        return self.json_api(match[1], match[2], query, body)

    do_GET = do_PUT = do_DELETE = do_POST = do_HEAD = handle_any

    def allowed(self):
        google, (kind, _, token) = self.google, self.headers.get("Authorization", "").partition(" ")
        return google.tokens is None or (kind == "Bearer" and token in google.tokens)

    # --- objects ---

    def put(self, key, body, declared, condition):
        """The generation; None: the condition does not hold; "digest": the body is not what was declared."""
        google = self.google
        if len(body) < 65536 and declared:
            if base64.b64decode(declared) != crc32c(body).to_bytes(4, "big"):
                return "digest"
        with google.lock:
            there = google.objects.get(key)
            if condition is not None and google.conditions and int(condition) != (there[1] if there else 0):
                return None
            google.generation += 1
            google.objects[key] = (body, google.generation)
            google.modified[key] = time.time()
            return google.generation

    def object_get(self, key, _):
        there = self.google.objects.get(key)
        if not there:
            return self.answer(404, f"No such object: {self.google.bucket}/{key}", "text/html")
        data, span = there[0], self.headers.get("Range")
        if not span:
            return self.answer(200, data, "application/octet-stream", x_goog_generation=str(there[1]))
        first, last = re.match(r"bytes=(\d+)-(\d*)$", span).groups()
        first, last = int(first), min(int(last or len(data)), len(data) - 1)
        if first >= len(data):
            return self.answer(416, "The requested range cannot be satisfied.", "text/html")
        return self.answer(206, data[first:last + 1], "application/octet-stream", x_goog_generation=str(there[1]),
                           Content_Range="bytes %d-%d/%d" % (first, last, len(data)))

    # --- JSON ---

    def json_api(self, bucket, key, query, body):
        google = self.google
        if bucket != google.bucket:
            return self.error(404, "notFound", "The specified bucket does not exist.")
        if self.command == "POST":
            return self.json_insert(query, body)
        if key is None:
            return self.json_list(query)
        if query.get("alt") == "media":
            return self.object_get(key, body)
        if key not in google.objects:
            return self.error(404, "notFound", f"No such object: {bucket}/{key}")
        if self.command == "DELETE":
            with google.lock:
                google.objects.pop(key, None)
            return self.answer(204)
        return self.answer_json(self.resource(key))

    def json_insert(self, query, body):
        boundary = re.search(r"boundary=\"?([^\";]+)", self.headers.get("Content-Type", ""))
        metadata, content = {}, body
        if query.get("uploadType") == "multipart" and boundary:
            first, second = body.split(b"--" + boundary[1].encode())[1:3]
            metadata = json.loads(first.partition(b"\r\n\r\n")[2])
            content = second.partition(b"\r\n\r\n")[2][:-2]
        elif query.get("uploadType") != "media":
            return self.error(400, "badRequest")
        key = query.get("name") or metadata["name"]
        generation = self.put(key, content, metadata.get("crc32c"), query.get("ifGenerationMatch"))
        if generation is None:
            return self.error(412, "conditionNotMet")
        return self.error(400, "invalid") if generation == "digest" else self.answer_json(self.resource(key))

    def json_list(self, query):
        google, prefix, delimiter = self.google, query.get("prefix", ""), query.get("delimiter")
        names = sorted(name for name in list(google.objects) if name.startswith(prefix))
        entries = sorted({prefix + name[len(prefix):].split(delimiter)[0] + delimiter if delimiter and delimiter in name[len(prefix):] else name
                          for name in names})
        after = "" if google.circle else query.get("pageToken", "")
        entries = [entry for entry in entries if entry > after]
        page = entries[:google.PAGE]
        answer = {"kind": "storage#objects", "prefixes": [entry for entry in page if delimiter and entry.endswith(delimiter)],
                  "items": [self.resource(entry) for entry in page if not (delimiter and entry.endswith(delimiter))]}
        if len(entries) > google.PAGE:
            answer["nextPageToken"] = page[-1]
        self.answer_json({name: value for name, value in answer.items() if value})

    def resource(self, key):
        data, generation = self.google.objects[key]
        return {"kind": "storage#object", "name": key, "bucket": self.google.bucket, "size": str(len(data)),
                "generation": str(generation), "crc32c": self.google.checksum(key), "md5Hash": base64.b64encode(hashlib.md5(data).digest()).decode(),
                "updated": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.google.modified[key]))}

    # --- tokens ---

    def metadata(self):
        google = self.google
        if self.headers.get("Metadata-Flavor") != "Google" or self.headers.get("X-Forwarded-For"):
            return self.answer(403)
        if not self.path.endswith("/service-accounts/default/token"):
            return self.answer(404)
        return self.answer_json({"access_token": google.issue("machine"), "expires_in": 3600, "token_type": "Bearer"},
                                Metadata_Flavor="Google")

    def token_service(self, body):
        google = self.google
        form = {name: values[0] for name, values in urllib.parse.parse_qs(body.decode()).items()}
        google.forms.append(form)
        if (form.get("grant_type"), form.get("refresh_token"), form.get("client_secret")) != ("refresh_token", "the-refresh-token", "the-client-secret"):
            return self.answer_json({"error": "invalid_grant", "error_description": "Token has been expired or revoked."}, 400)
        return self.answer_json({"access_token": google.issue("service"), "expires_in": 3600, "token_type": "Bearer"})
