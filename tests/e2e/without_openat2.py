"""Runs a program in which openat2(2) fails as under an old kernel or an old container runtime: without_openat2.py PROGRAM ARGUMENTS..."""
import ctypes
import os
import struct
import sys

EPERM, OPENAT2 = 1, 437
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ERRNO, ALLOW = 0x00050000, 0x7FFF0000

rules = b"".join(struct.pack("HBBI", *rule) for rule in [
    (LOAD, 0, 0, 0), (EQUAL, 0, 1, OPENAT2), (RETURN, 0, 0, ERRNO | EPERM), (RETURN, 0, 0, ALLOW)])
buffer = ctypes.create_string_buffer(rules)
program = struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
