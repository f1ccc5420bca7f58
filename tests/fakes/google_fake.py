"""Google as far as a store needs it, in one process: Cloud Storage's XML API, its JSON API (which emulators speak, and with which
Google's own client library looks at what was written), a token service, impersonation and a metadata server.

Objects and the log of requests are plain members, for tests to look into; `refuse` and `faults` make it misbehave."""
import base64
import hashlib
import json
import re
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape


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
        self.verify = None  # or a function of the token
        self.issued, self.life = 0, 3600
        self.metadata_up = True
        self.faults = []  # (method, part of the path, status, code): each once, in front of what would be done
        self.check_crc = True
        self.conditions = True  # False: as emulators that ignore ifGenerationMatch
        self.xml_only = False  # the JSON API is not there
        self.instance = None  # AWS's metadata service as well: {path: text}
        self.aws = None  # a function of the signed request that comes as a subject token: is it good?
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

    def error(self, status, code, message="."):
        self.answer(status, "<?xml version='1.0' encoding='UTF-8'?><Error><Code>%s</Code><Message>%s</Message></Error>"
                    % (code, message))

    def json_error(self, status, reason):
        self.answer_json({"error": {"code": status, "message": "Words.", "errors": [{"reason": reason, "domain": "global"}]}}, status)

    def any_error(self, status, code):
        (self.json_error if "/storage/v1/" in self.path else self.error)(status, code)

    def answer_json(self, value, status=200, **headers):
        self.answer(status, json.dumps(value), "application/json", **headers)

    def handle_any(self):
        google = self.google
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with google.lock:
            google.requests.append((self.command, self.path, dict(self.headers)))
        fault = google.take_fault(self.command, self.path)
        if fault:
            return self.answer(200, PORTAL, "text/html") if fault[3] == "portal" else self.any_error(fault[2], fault[3])
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(url.query, keep_blank_values=True).items()}
        path = urllib.parse.unquote(url.path)
        if google.instance is not None and path.startswith("/latest/"):
            return self.instance_metadata(path)
        if path.startswith("/computeMetadata/"):
            return self.metadata()
        if path in ("/token", "/impersonate", "/subject"):
            return self.token_service(path, body)
        if not self.allowed():
            return self.error(401, "AuthenticationRequired", "Authentication required.")
        match = re.match(r"(?:/download|/upload)?/storage/v1/b/([^/]+)/o(?:/(.*))?$", path)
        if match and not google.xml_only:
            return self.json_api(match[1], match[2], query, body)
        bucket, _, key = path[1:].partition("/")
        if bucket != google.bucket:
            return self.error(404, "NoSuchBucket", "The specified bucket does not exist.")
        if not key:
            return self.list(query)
        return getattr(self, "object_" + self.command.lower())(key, body)

    do_GET = do_PUT = do_DELETE = do_POST = do_HEAD = handle_any

    def allowed(self):
        google, (kind, _, token) = self.google, self.headers.get("Authorization", "").partition(" ")
        if google.tokens is None and google.verify is None:
            return True
        if kind != "Bearer":
            return False
        return google.verify(token) if google.verify else token in google.tokens

    # --- XML ---

    def put(self, key, body, declared, condition):
        """The generation; None: the condition does not hold; "digest": the body is not what was declared."""
        google = self.google
        if google.check_crc and len(body) < 65536 and declared:
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

    def object_put(self, key, body):
        declared = dict(part.split("=", 1) for part in (self.headers.get("x-goog-hash") or "").split(",") if part)
        generation = self.put(key, body, declared.get("crc32c"), self.headers.get("x-goog-if-generation-match"))
        if generation is None:
            return self.error(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
        if generation == "digest":
            return self.error(400, "BadDigest", "The CRC32C you specified did not match what we computed.")
        return self.answer(200, ETag=f'"{generation}"', x_goog_generation=str(generation))

    def object_get(self, key, _):
        there = self.google.objects.get(key)
        if not there:
            return self.error(404, "NoSuchKey", "The specified key does not exist.")
        data, span = there[0], self.headers.get("Range")
        if not span:
            return self.answer(200, data, "application/octet-stream", x_goog_generation=str(there[1]))
        first, last = re.match(r"bytes=(\d+)-(\d*)$", span).groups()
        first, last = int(first), min(int(last or len(data)), len(data) - 1)
        if first >= len(data):
            return self.error(416, "InvalidRange", "The requested range cannot be satisfied.")
        return self.answer(206, data[first:last + 1], "application/octet-stream", x_goog_generation=str(there[1]),
                           Content_Range="bytes %d-%d/%d" % (first, last, len(data)))

    def object_delete(self, key, _):
        with self.google.lock:
            there = self.google.objects.pop(key, None)
        return self.answer(204) if there else self.error(404, "NoSuchKey")

    def list(self, query):
        google, prefix, delimiter = self.google, query.get("prefix", ""), query.get("delimiter")
        with google.lock:
            keys = sorted(key for key in google.objects if key.startswith(prefix))
            sizes = {key: len(google.objects[key][0]) for key in keys}
            times = {key: time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(google.modified[key])) for key in keys}
        entries = []
        for key in keys:
            rest = key[len(prefix):]
            folded = prefix + rest.split(delimiter)[0] + delimiter if delimiter and delimiter in rest else None
            if (folded or key, bool(folded)) not in entries:
                entries.append((folded or key, bool(folded)))
        after = "" if google.circle else query.get("continuation-token", "")
        entries = [entry for entry in entries if entry[0] > after]
        page, more = entries[:google.PAGE], len(entries) > google.PAGE
        parts = ["<CommonPrefixes><Prefix>%s</Prefix></CommonPrefixes>" % escape(name) if folded else
                 "<Contents><Key>%s</Key><Generation>1</Generation><LastModified>%s</LastModified><Size>%d</Size></Contents>" % (
                     escape(name), times[name], sizes[name])
                 for name, folded in page]
        self.answer(200, "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://doc.s3.amazonaws.com/2006-03-01'>"
                    "<Name>%s</Name><IsTruncated>%s</IsTruncated>%s%s</ListBucketResult>" % (
                        google.bucket, str(more).lower(),
                        "<NextContinuationToken>%s</NextContinuationToken>" % escape(page[-1][0]) if more else "",
                        "".join(parts)))

    # --- JSON ---

    def json_api(self, bucket, key, query, body):
        google = self.google
        if bucket != google.bucket:
            return self.json_error(404, "notFound")
        if self.command == "POST":
            return self.json_insert(query, body)
        if key is None:
            return self.json_list(query)
        if key not in google.objects:
            return self.json_error(404, "notFound")
        if self.command == "DELETE":
            with google.lock:
                google.objects.pop(key, None)
            return self.answer(204)
        if query.get("alt") == "media":
            return self.object_get(key, body)
        return self.answer_json(self.resource(key))

    def json_insert(self, query, body):
        boundary = re.search(r"boundary=\"?([^\";]+)", self.headers.get("Content-Type", ""))
        if query.get("uploadType") != "multipart" or not boundary:
            return self.json_error(400, "invalid")
        first, second = body.split(b"--" + boundary[1].encode())[1:3]
        metadata = json.loads(first.partition(b"\r\n\r\n")[2])
        content = second.partition(b"\r\n\r\n")[2][:-2]
        key = query.get("name") or metadata["name"]
        generation = self.put(key, content, metadata.get("crc32c"), query.get("ifGenerationMatch"))
        if generation is None:
            return self.json_error(412, "conditionNotMet")
        return self.json_error(400, "invalid") if generation == "digest" else self.answer_json(self.resource(key))

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
                "generation": str(generation), "md5Hash": base64.b64encode(hashlib.md5(data).digest()).decode(),
                "updated": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.google.modified[key]))}

    # --- tokens ---

    def metadata(self):
        google = self.google
        if not google.metadata_up:
            return self.answer(503)
        if self.headers.get("Metadata-Flavor") != "Google" or self.headers.get("X-Forwarded-For"):
            return self.answer(403)
        if not self.path.endswith("/service-accounts/default/token"):
            return self.answer(404)
        return self.answer_json({"access_token": google.issue("machine"), "expires_in": google.life, "token_type": "Bearer"},
                                Metadata_Flavor="Google")

    def instance_metadata(self, path):
        if self.command == "PUT" and path == "/latest/api/token":
            return self.answer(200, "session-of-instance", "text/plain")
        if self.headers.get("X-aws-ec2-metadata-token") != "session-of-instance":
            return self.answer(401)
        text = self.google.instance.get(path)
        return self.answer(404) if text is None else self.answer(200, text, "text/plain")

    def is_known_issuers(self, form):
        subject = form.get("subject_token", "")
        if form.get("subject_token_type", "").endswith(":aws4_request"):
            return self.google.aws is not None and self.google.aws(json.loads(urllib.parse.unquote(subject)))
        return subject.startswith("subject-of-")

    def token_service(self, path, body):
        google = self.google
        if path == "/subject":
            return self.answer_json({"id": {"token": "x"}, "id_token": "subject-of-url"})
        if path == "/impersonate":
            google.forms.append(json.loads(body))
            if self.headers.get("Authorization", "")[7:] not in google.tokens:
                return self.answer_json({"error": {"code": 403, "message": "may not act as it"}}, 403)
            return self.answer_json({"accessToken": google.issue("acting"), "expireTime": "2099-01-01T00:00:00Z"})
        form = {name: values[0] for name, values in urllib.parse.parse_qs(body.decode()).items()}
        google.forms.append(form)
        good = (form.get("grant_type") == "refresh_token" and form.get("refresh_token") == "the-refresh-token" and
                form.get("client_secret") == "the-client-secret") or (
                    form.get("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange" and self.is_known_issuers(form))
        if not good:
            return self.answer_json({"error": "invalid_grant", "error_description": "Token has been expired or revoked."}, 400)
        return self.answer_json({"access_token": google.issue("service"), "expires_in": google.life, "token_type": "Bearer"})
