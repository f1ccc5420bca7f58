"""What another user of the machine does meanwhile. Run as that user: other_user.py WHAT ARGUMENTS...

exchange A B       exchanges two names as fast as it can
exchange-at F A B  exchanges them once, as soon as F exists
pretend FOLDER EVIL  puts a copy of EVIL in the place of whatever lies in FOLDER under a name of a staging area
Each says "ready" first; the first and the last run until they are killed, and keep a count in the file COUNT of the environment.
"""
import ctypes
import os
import shutil
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NOWHERE, EXCHANGE = -100, 2


def exchange(a, b):
    return LIBC.renameat2(NOWHERE, a.encode(), NOWHERE, b.encode(), EXCHANGE) == 0


class Count:
    def __init__(self):
        self.value, self.file = 0, os.open(os.environ["COUNT"], os.O_WRONLY | os.O_CREAT, 0o666)

    def add(self):
        self.value += 1
        if self.value & 63 == 0 or self.value < 8:
            os.pwrite(self.file, b"%d" % self.value, 0)


def main(what, *names):
    count = Count()
    print("ready", flush=True)
    if what == "exchange":
        while exchange(*names):
            count.add()
        sys.exit("an exchange failed")
    if what == "exchange-at":
        while not os.path.lexists(names[0]):
            continue
        assert exchange(*names[1:])
        count.add()
        return
    folder, evil = names
    while True:
        for name in os.listdir(folder):
            if name.startswith("staging-") and not name.endswith("-taken"):
                path = os.path.join(folder, name)
                try:
                    os.rename(path, path + "-taken")
                    shutil.copytree(evil, path)
                    count.add()
                except OSError:
                    pass


main(*sys.argv[1:])
