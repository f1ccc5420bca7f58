#!/usr/bin/env python3
"""An S3 server that misbehaves as a script says. Without a script it behaves.

	fault_server.py [--port N] [--bucket NAME] [SCRIPT.json]        by hand: prints what a client has to set, serves until interrupted

A script is a JSON file, {"about": "...", "rules": [...], ...}; "ahead" is by how many seconds the server's clock is. Of the rules the
first that matches a request decides:

	{"on": {"method": "PUT", "key": "[.]pack$", "nth": 2, ...}, "answer": {...}}

"on", all of it optional: "method"; "operation" ("list"); "key" and "query", patterns searched in the path below the bucket and in
the query; "header", {name: pattern}, where null means that the header is not there; "missing": true, the key is not there; "region" and
"access_key", patterns for the scope of the signature ("(?!...)" negates); "nth", which of the requests that match: a number or
[from, to], with to null for ever.

"answer": "perform": true does first what was asked; "without": [header, ...] does it as if these had not been sent, and "flip_request": N
with one bit of its body changed at N; then, instead of the true answer: "status", "code", "message", "elements" (more of the XML), "headers",
"body" (all of it, raw). And how it goes out: "delay": seconds before anything is sent; "reset": "before" (the body is read), "after"
(it was read); "truncate": N bytes of the body, and the connection is closed; "stall": N bytes, and nothing more until the client
hangs up; "flip": N, one bit of the body.
"""
import argparse
import json
import re
import secrets
import select
import socket
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from s3_memory import Answer, Request, S3Memory, error  # noqa: E402

KNOWN_ON = {"method", "operation", "key", "query", "header", "missing", "region", "access_key", "nth"}
KNOWN_ANSWER = {"perform", "without", "flip_request", "status", "code", "message", "elements", "headers", "body", "delay", "reset",
                "truncate", "stall", "flip"}


class Rule:
    def __init__(self, text):
        self.on, self.answer = text.get("on", {}), text["answer"]
        # A misspelt condition would always hold, a misspelt answer would be none.
        assert set(self.on) <= KNOWN_ON and set(self.answer) <= KNOWN_ANSWER, f"unknown words in {text}"
        nth = self.on.get("nth", [1, None])
        self.first, self.last = nth if isinstance(nth, list) else (nth, nth)
        self.seen = self.used = 0

    def matches(self, request, memory):
        on = self.on
        return (on.get("method", request.method) == request.method and
                ("operation" not in on or request.is_list) and
                bool(re.search(on.get("key", ""), request.key)) and
                bool(re.search(on.get("query", ""), request.target.partition("?")[2])) and
                bool(re.match(on.get("region", ""), request.region)) and
                bool(re.match(on.get("access_key", ""), request.access_key)) and
                all(self.header_matches(request.headers.get(name), pattern) for name, pattern in on.get("header", {}).items()) and
                ("missing" not in on or (bool(request.key) and request.key not in memory.buckets.get(request.bucket, {}))))

    @staticmethod
    def header_matches(value, pattern):
        return value is None if pattern is None else value is not None and bool(re.search(pattern, value))

    def is_due(self):
        self.seen += 1
        due = self.first <= self.seen and (self.last is None or self.seen <= self.last)
        self.used += due
        return due


class FaultServer:
    def __init__(self, script=None, memory=None, host="127.0.0.1", port=0):
        self.memory = memory or S3Memory()
        self.lock = threading.Lock()
        self.load(script or {})
        self.log = []  # (method, key or "", query, status or what was done instead)
        self.open = True
        owner = self

        class Handler(FaultHandler):
            faults = owner

        self.server = QuietServer((host, port), Handler)
        self.server.daemon_threads = True
        self.host, self.port = host, self.server.server_port
        self.url = f"http://{host}:{self.port}"
        # Its own: who looks for it finds nothing of others, which run at the same time.
        self.secret_key = f"SECRET{secrets.token_hex(8)}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def load(self, script):
        """A script's object, or the path of its file."""
        if not isinstance(script, dict):
            script = json.loads(Path(script).read_text())
        self.memory.ahead = script.get("ahead", 0)
        self.rules = [Rule(rule) for rule in script.get("rules", [])]

    def behave(self):
        """From now on, without faults."""
        self.rules = []

    def rule_for(self, request):
        with self.lock:
            for rule in self.rules:
                if rule.matches(request, self.memory) and rule.is_due():
                    return rule.answer
        return {}

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL_S3": self.url, "AWS_ACCESS_KEY_ID": "TESTKEY", "AWS_SECRET_ACCESS_KEY": self.secret_key,
                "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}

    def close(self):
        self.open = False
        self.server.shutdown()
        self.server.server_close()


class QuietServer(ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        """A client that hangs up in the middle is nothing to speak of here."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class FaultHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults = None

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + self.faults.memory.ahead)

    def handle_any(self):
        faults = self.faults
        request = Request(self.command, self.path, self.headers)
        answer = faults.rule_for(request)
        if answer.get("reset") == "before":
            return self.reset(request, "reset before")
        request.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        reply = self.decide(request, answer)
        if "delay" in answer:
            self.wait(answer["delay"])
        if answer.get("reset") == "after":
            return self.reset(request, "reset after")
        faults.log.append((request.method, request.key, request.query, reply.status))
        return self.send(reply, answer)

    do_GET = do_PUT = do_DELETE = do_POST = do_HEAD = handle_any

    def decide(self, request, answer):
        faked = "status" in answer or "body" in answer
        reset_undone = answer.get("reset") == "after" and not answer.get("perform")
        if (faked or reset_undone) and not answer.get("perform"):
            return self.faked(answer)
        for name in answer.get("without", []):
            request.headers.pop(name, None)
        if "flip_request" in answer:
            request.body = flipped(request.body, answer["flip_request"])
        reply = self.faults.memory.answer(request)
        if faked:
            return self.faked(answer)
        reply.headers.update(answer.get("headers", {}))
        return reply

    @staticmethod
    def faked(answer):
        headers = answer.get("headers", {})
        if "body" in answer or "code" not in answer:
            return Answer(answer.get("status", 200), answer.get("body", ""), headers)
        return error(answer["status"], answer["code"], answer.get("message", "Words that explain it."), headers, **answer.get("elements", {}))

    def send(self, reply, answer):
        body = flipped(reply.body, answer["flip"]) if "flip" in answer else reply.body
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if "truncate" in answer or "stall" in answer:
            self.wfile.write(body[:answer.get("truncate", answer.get("stall"))])
            self.wfile.flush()
            self.close_connection = True
            if "stall" in answer:
                self.wait_for_hang_up()
            return
        if self.command != "HEAD":
            self.wfile.write(body)

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while self.faults.open and time.monotonic() < end:
            time.sleep(0.05)

    def wait_for_hang_up(self):
        while self.faults.open:
            if select.select([self.connection], [], [], 0.2)[0]:
                return

    def reset(self, request, what):
        self.faults.log.append((request.method, request.key, request.query, what))
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        # The server would shut the connection down in order; dropping the last reference resets it.
        self.rfile.close()
        self.connection.close()


def flipped(body, position):
    if not body:
        return body
    changed = bytearray(body)
    changed[position % len(body)] ^= 0x10
    return bytes(changed)


def main():
    parser = argparse.ArgumentParser(description="An S3 server that misbehaves as a script says.")
    parser.add_argument("script", nargs="?")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--bucket", default="snaps")
    arguments = parser.parse_args()
    server = FaultServer(arguments.script, port=arguments.port)
    server.memory.buckets[arguments.bucket] = {}
    print(" ".join(f"{name}={value}" for name, value in server.environment.items()), flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        server.close()


if __name__ == "__main__":
    main()
