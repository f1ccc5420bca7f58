"""An S3 server's answers, in memory: PUT (also if-absent), ranged GET, list (version 2), DELETE, with S3's own words for what is wrong.
It checks digests, dates and names, but no signatures: radosgw does that.
"""
import base64
import email.utils
import hashlib
import re
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

try:
    from google_crc32c import value as crc32c
except ImportError:
    from google_fake import crc32c

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


class Answer:
    def __init__(self, status, body=b"", headers=None):
        self.status, self.headers = status, dict(headers or {})
        self.body = body.encode() if isinstance(body, str) else body


def error(status, code, message="Words that explain it.", headers=None, **elements):
    more = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in elements.items())
    return Answer(status, f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message>{more}'
                  "<RequestId>4442587FB7D0A2F9</RequestId></Error>", {"Content-Type": "application/xml", **(headers or {})})


class Request:
    """Method, bucket, key, query and headers (lower case) of one request."""

    def __init__(self, method, target, headers):
        url = urllib.parse.urlsplit(target)
        path = urllib.parse.unquote(url.path)[1:]
        self.method, self.target = method, target
        self.bucket, _, self.key = path.partition("/")
        self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        self.headers = {name.lower(): value for name, value in headers.items()}
        scope = re.search(r"Credential=([^/,]*)/\d+/([^/]*)/", self.headers.get("authorization", ""))
        self.access_key, self.region = scope.groups() if scope else ("", "")
        self.body = b""

    @property
    def is_list(self):
        return self.method == "GET" and not self.key


class S3Memory:
    def __init__(self, page=1000):
        self.buckets, self.lock, self.page = {}, threading.Lock(), page
        self.ahead = 0  # seconds by which its clock is

    def copy(self):
        twin = S3Memory(self.page)
        with self.lock:
            twin.buckets = {name: dict(objects) for name, objects in self.buckets.items()}
        return twin

    def answer(self, request):
        if not request.access_key:
            return error(403, "AccessDenied", "Anonymous access is not allowed.")
        wrong = check_date(request, time.time() + self.ahead)
        if wrong:
            return wrong
        objects = self.buckets.get(request.bucket)
        if objects is None:
            return error(404, "NoSuchBucket", "The specified bucket does not exist", BucketName=request.bucket)
        if request.is_list:
            return self.list(objects, request)
        handle = getattr(self, request.method.lower(), None)
        return handle(objects, request) if handle else error(405, "MethodNotAllowed")

    def put(self, objects, request):
        headers, body = request.headers, request.body
        declared = headers.get("x-amz-checksum-crc32c")
        if declared and base64.b64decode(declared) != crc32c(body).to_bytes(4, "big"):
            return error(400, "BadDigest", "The CRC32C you specified did not match the calculated checksum.")
        digest = headers.get("x-amz-content-sha256", "")
        if re.fullmatch("[0-9a-f]{64}", digest) and digest != hashlib.sha256(body).hexdigest():
            return error(400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
        with self.lock:
            if headers.get("if-none-match") == "*" and request.key in objects:
                return error(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold",
                             Condition="If-None-Match")
            objects[request.key] = body
        return Answer(200, headers={"ETag": etag(body)})

    def get(self, objects, request):
        data = objects.get(request.key)
        if data is None:
            return error(404, "NoSuchKey", "The specified key does not exist.", Key=request.key)
        span = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
        if not span:
            return Answer(200, data, {"Content-Type": "application/octet-stream", "ETag": etag(data)})
        first, last = int(span[1]), min(int(span[2] or len(data)), len(data) - 1)
        if first > last:
            return error(416, "InvalidRange", "The requested range is not satisfiable", ActualObjectSize=str(len(data)))
        return Answer(206, data[first:last + 1], {"Content-Type": "application/octet-stream", "ETag": etag(data),
                                                  "Content-Range": f"bytes {first}-{last}/{len(data)}"})

    def delete(self, objects, request):
        with self.lock:
            objects.pop(request.key, None)
        return Answer(204)

    def list(self, objects, request):
        query = request.query
        if query.get("list-type") != "2":
            return error(501, "NotImplemented", "Version 2 of lists is what this server has.")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        after = base64.b64decode(query.get("continuation-token", "")).decode() or query.get("start-after", "")
        with self.lock:
            sizes = {key: len(data) for key, data in objects.items() if key.startswith(prefix)}
        entries = {}
        for key in sorted(sizes, key=str.encode):
            head, cut, _ = key[len(prefix):].partition(delimiter) if delimiter else (key, "", "")
            entries[prefix + head + cut if cut else key] = None if cut else sizes[key]
        names = [name for name in entries if name.encode() > after.encode()]
        page = names[:min(self.page, int(query.get("max-keys", self.page)))]
        return Answer(200, list_body(request, page, entries, len(page) < len(names)), {"Content-Type": "application/xml"})


def list_body(request, page, entries, more):
    def encode(name):
        return urllib.parse.quote(name, safe="/") if request.query.get("encoding-type") == "url" else escape(name)
    items = "".join(f"<CommonPrefixes><Prefix>{encode(name)}</Prefix></CommonPrefixes>" if entries[name] is None else
                    f"<Contents><Key>{encode(name)}</Key><Size>{entries[name]}</Size><StorageClass>STANDARD</StorageClass></Contents>"
                    for name in page)
    token = base64.b64encode(page[-1].encode()).decode() if more else ""
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="{NAMESPACE}"><Name>{request.bucket}</Name>'
            f"<Prefix>{encode(request.query.get('prefix', ''))}</Prefix><KeyCount>{len(page)}</KeyCount><MaxKeys>1000</MaxKeys>"
            f"<EncodingType>url</EncodingType><IsTruncated>{'true' if more else 'false'}</IsTruncated>"
            + (f"<NextContinuationToken>{token}</NextContinuationToken>" if more else "") + f"{items}</ListBucketResult>")


def etag(body):
    return f'"{hashlib.md5(body).hexdigest()}"'


def check_date(request, now):
    """S3 bears a quarter of an hour."""
    try:
        signed = time.strptime(request.headers.get("x-amz-date", ""), "%Y%m%dT%H%M%SZ")
    except ValueError:
        return error(403, "AccessDenied", "AWS authentication requires a valid Date or x-amz-date header")
    skew = abs(now - (time.mktime(signed) - time.timezone))
    return error(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.",
                 ServerTime=email.utils.formatdate()) if skew > 900 else None
