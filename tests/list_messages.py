#!/usr/bin/env python3
"""Lists every message of the program, to be read aloud: what it logs, and its errors, each with its file, the longest first.

list_messages.py [ROOT]. A message is a format: what fills it is not counted. tests/e2e/test_messages.py holds the list against the rules.
"""
import re
import sys
from pathlib import Path

CALL = re.compile(r"\b(?:log_note|log_warn|log_error|err_set|err_os|err_wrap|report_our_failure)\(")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"|PRI[a-zA-Z0-9]+|([()])|(\S)')


def first_text(source, at):
    """The first literal of the call, with those beside it; a call of another function in it is passed over."""
    text, depth = "", 1
    for word in TEXT.finditer(source, at):
        literal, bracket, other = word.groups()
        depth += {"(": 1, ")": -1}.get(bracket, 0)
        if depth == 0 or (text and (other or bracket)):
            return text
        text += literal if literal is not None else "d" if word[0].startswith("PRI") else ""
    return text


def messages(root):
    found = {}
    for path in sorted(path for folder in ("supervisor", "storage", "cloud") for path in (root / folder).rglob("*.c")):
        source = path.read_text()
        for call in CALL.finditer(source):
            text = first_text(source, call.end())
            if " " in text:
                found.setdefault(text, path.relative_to(root))
    return found


if __name__ == "__main__":
    listed = messages(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    for text in sorted(listed, key=len, reverse=True):
        print(f"{len(text):4}  {listed[text]}  {text}")
