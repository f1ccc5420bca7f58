"""A terminal for the tests: a pseudo terminal, and what a person would see on it."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading

from harness import LIMIT, die_with_parent, wait_for

TOKEN = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[78]|[\r\n\b]|[^\x1b\r\n\b]+|\x1b", re.DOTALL)
UNSET = ("CI", "NO_COLOR", "COLUMNS", "LINES")


class Screen:
    """Lines of text, as an xterm keeps them: it wraps with the character after the last column. It never scrolls anything away."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column = columns, [""], 0, 0

    def put(self, text):
        for character in text:
            if self.column == self.columns:
                self.row, self.column = self.row + 1, 0
            while len(self.lines) <= self.row:
                self.lines.append("")
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def control(self, arguments, letter):
        number = int(arguments) if arguments.isdigit() else 0
        if letter == "K":
            self.lines[self.row] = self.lines[self.row][:self.column]
        elif letter == "J":
            self.lines[self.row] = self.lines[self.row][:self.column]
            del self.lines[self.row + 1:]
        elif letter == "H":
            self.row, self.column = 0, 0
        elif letter == "A":
            self.row = max(0, self.row - (number or 1))
        else:
            assert letter in "hlm", f"ESC [ {arguments} {letter} is not known here"

    def feed(self, text):
        for token in TOKEN.finditer(text):
            word = token[0]
            if token[2]:
                self.control(token[1], token[2])
            elif word == "\r":
                self.column = 0
            elif word == "\n":
                self.row += 1
                while len(self.lines) <= self.row:
                    self.lines.append("")
            else:
                self.put(word)

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.lines).rstrip("\n")


class Terminal:
    """A program on a terminal. `on`: which of its 0, 1, 2 are the terminal; the others are pipes or files, given to Popen."""

    def __init__(self, arguments, cwd, environment, columns=80, on=(0, 1, 2), **others):
        self.raw, self.screen, self.seen = b"", Screen(columns), []
        self.lock = threading.Lock()
        self.master, slave = pty.openpty()
        self.resize(columns)
        names = ("stdin", "stdout", "stderr")
        streams = {name: slave if number in on else others.pop(name, subprocess.DEVNULL) for number, name in enumerate(names)}

        def own_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            die_with_parent()

        environment = {name: value for name, value in environment.items() if name not in UNSET}
        environment.setdefault("TERM", "xterm-256color")
        self.process = subprocess.Popen([str(argument) for argument in arguments], cwd=cwd, env=environment, preexec_fn=own_terminal,
                                        pass_fds=(slave,), **streams)
        os.close(slave)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def resize(self, columns, rows=24):
        with self.lock:
            self.screen.columns = columns
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        rest = b""
        while True:
            try:
                got = os.read(self.master, 65536)
            except OSError:  # the last one has closed it
                return
            if not got:
                return
            with self.lock:
                self.raw += got
                text = (rest + got).decode(errors="replace")
                # What is cut within a sequence waits for its end.
                cut = text.rfind("\x1b")
                whole = len(text) if cut < 0 or re.match(r"\x1b(\[[?0-9;]*[A-Za-z]|[78])", text[cut:]) else cut
                self.screen.feed(text[:whole])
                rest = text[whole:].encode()
                self.seen.append(self.screen.text)

    @property
    def text(self):
        with self.lock:
            return self.screen.text

    def __str__(self):
        return self.text

    def wait_for(self, pattern):
        """Waits until it is on the screen, or has been."""
        return wait_for(f"{pattern!r} on the screen", lambda: self.find(pattern), process=self.process, about=self)

    def find(self, pattern):
        with self.lock:
            for text in self.seen:
                match = re.search(pattern, text, re.MULTILINE)
                if match:
                    return match
        return None

    def all(self, pattern):
        """Everything that was ever seen and matches, each once, in order."""
        with self.lock:
            found = [match[0] for text in self.seen for match in re.finditer(pattern, text, re.MULTILINE)]
        return list(dict.fromkeys(found))

    def type(self, text):
        os.write(self.master, text.encode())

    def wait(self):
        code = self.process.wait(LIMIT)
        self.reader.join(LIMIT)
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.reader.join(LIMIT)
        os.close(self.master)
