"""The changes that are made to C sources: which there are, and what they look like. PURE.

A mutant is one small change inside a function body. Whatever the change, line numbers stay as they are."""
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<directive>(?<![^\n])[ \t]*\#(?:[^\n\\]|\\.)*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<sign>->|\+\+|--|<<=|>>=|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|\.\.\.|.)""",
    re.VERBOSE | re.DOTALL,
)
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
OPENERS = {"(": ")", "[": "]", "{": "}"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "++", "--"}
CONTROL = {"if", "for", "while", "switch"}
# No calls, or none whose absence shows in one run: a data race is ThreadSanitizer's to find, a fault point is the tests' own.
NOT_DROPPED = CONTROL | {
    "assert", "va_start", "va_end", "return", "sizeof", "_Static_assert", "fault_point",
    "pthread_mutex_lock", "pthread_mutex_unlock", "pthread_mutex_init", "pthread_mutex_destroy", "pthread_cond_destroy",
}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mutant:
    path: str
    start: int
    end: int
    replacement: str
    operator: str

    def apply(self, source):
        return source[: self.start] + self.replacement + source[self.end :]

    def line(self, source):
        return source.count("\n", 0, self.start) + 1

    def lines(self, source):
        """The lines concerned, before and after, each joined to one and stripped."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        last = len(source) if last < 0 else last
        after = source[first : self.start] + self.replacement + source[self.end : last]
        return " ".join(source[first:last].split()), " ".join(after.split())


def tokens_of(source):
    found = []
    for match in TOKEN.finditer(source):
        if match.lastgroup != "space":
            found.append(Token(match.lastgroup, match.group(), match.start(), match.end()))
    return found


def pairs_of(tokens):
    """The position of each bracket's other end, both ways."""
    pairs, stack = {}, []
    for i, token in enumerate(tokens):
        if token.kind == "sign" and token.text in OPENERS:
            stack.append(i)
        elif token.kind == "sign" and token.text in OPENERS.values() and stack:
            pairs[i] = stack.pop()
            pairs[pairs[i]] = i
    return pairs


def blocks_of(tokens, pairs):
    """The bracket around each token; None at the outermost level."""
    around, stack = [], []
    for i, token in enumerate(tokens):
        if stack and pairs.get(stack[-1]) == i:
            stack.pop()
        around.append(tokens[stack[-1]].text if stack else None)
        if pairs.get(i, -1) > i:
            stack.append(i)
    return around


def bodies_of(tokens, pairs):
    """(first, last) of each function body: braces at the outermost level that follow a parameter list."""
    i = 0
    while i < len(tokens):
        if tokens[i].text == "{" and i in pairs:
            if i > 0 and tokens[i - 1].text == ")":
                yield i, pairs[i]
            i = pairs[i]
        i += 1


class Finder:
    def __init__(self, path, source):
        self.path, self.source = path, source
        self.tokens = tokens_of(source)
        self.pairs = pairs_of(self.tokens)
        self.around = blocks_of(self.tokens, self.pairs)
        self.found = []

    def add(self, first, last, replacement, operator):
        start, end = self.tokens[first].start, self.tokens[last].end
        missing = self.source.count("\n", start, end) - replacement.count("\n")
        self.found.append(Mutant(self.path, start, end, replacement + "\n" * missing, operator))

    def text(self, i):
        return self.tokens[i].text

    def all(self):
        for first, last in bodies_of(self.tokens, self.pairs):
            for i in range(first + 1, last):
                self.condition(i)
                self.sign(i)
                self.word(i)
                self.number(i)
                self.statement(i)
        return self.found

    def is_compound(self, first, last):
        return any(self.text(i) in ("&&", "||", "?") for i in range(first, last))

    def condition(self, i):
        if self.text(i) not in ("if", "while") or i + 1 not in self.pairs:
            return
        first, last = i + 2, self.pairs[i + 1]
        single = not self.is_compound(first, last)
        if single and (self.text(first) == "!" or any(self.text(k) in ("==", "!=") for k in range(first, last))):
            return  # another operator does the same
        inside = self.source[self.tokens[first].start : self.tokens[last - 1].end]
        self.add(first, last - 1, f"!({inside})", "turn a condition")

    def sign(self, i):
        token, before = self.tokens[i], self.tokens[i - 1]
        if token.kind != "sign":
            return
        if token.text in COMPARISONS:
            kind = "turn" if token.text in ("==", "!=") else "move"
            self.add(i, i, COMPARISONS[token.text], f"{kind} a comparison")
        elif token.text in ("&&", "||"):
            self.add(i, i, "||" if token.text == "&&" else "&&", "swap && and ||")
        elif token.text == "!":
            self.add(i, i, "", "drop a negation")
        elif token.text in ("+", "-") and (before.kind in ("word", "number") or before.text in (")", "]")):
            if before.text != "return":
                self.add(i, i, "-" if token.text == "+" else "+", "swap + and -")

    def word(self, i):
        text = self.text(i)
        if text in ("true", "false"):
            self.add(i, i, "false" if text == "true" else "true", "swap true and false")
        elif text == "continue":
            self.add(i, i, "break", "break for continue")

    def number(self, i):
        token, before = self.tokens[i], self.tokens[i - 1]
        if token.kind != "number":
            return
        if before.text == "return" and self.text(i + 1) == ";" and token.text == "0":
            self.add(i, i, "-1", "change a returned code")
            return
        if before.text == "-" and self.text(i - 2) == "return" and token.text == "1":
            self.add(i - 1, i, "0", "change a returned code")
            return
        if before.text in COMPARISONS and before.text not in ("==", "!="):
            return  # moving the comparison does the same
        if before.text == "[" and token.text not in ("0", "1"):
            return  # the size of a buffer
        if before.text == "{" and self.text(i + 1) == "}":
            return  # {0}
        match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|\d+\.\d*|\.\d+|\d+)([uUlLfF]*)", token.text)
        if not match:
            return
        digits, suffix = match.groups()
        if "." in digits:
            changed = str(float(digits) + 1)
        else:
            value = int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0)
            changed = "0" if value == 1 else str(value + 1)
        self.add(i, i, changed + suffix, "replace a constant")

    def begins_statement(self, i):
        if self.around[i] != "{":
            return False  # the head of a for
        before = self.text(i - 1)
        if before == ")" and i - 1 in self.pairs:
            return self.text(self.pairs[i - 1] - 1) in CONTROL
        return before in (";", "{", "}", "else", "do") or (before == ":" and self.text(i - 3) == "case")

    def statement(self, i):
        if not self.begins_statement(i) or self.text(i) in NOT_DROPPED:
            return
        first = i
        if self.text(i) == "(" and self.text(i + 1) == "void":
            i += 3
        stars = i
        while self.text(i) == "*":
            i += 1
        if self.tokens[i].kind != "word" or self.text(i) in NOT_DROPPED:
            return
        i += 1
        while True:
            if self.text(i) in ("->", ".") and self.tokens[i + 1].kind == "word":
                i += 2
            elif self.text(i) == "[" and i in self.pairs:
                i = self.pairs[i] + 1
            else:
                break
        if self.text(i) == "(" and stars == first or self.text(first) == "(":
            last = self.pairs.get(i)
            if last and self.text(last + 1) == ";":
                self.add(first, last, "", "drop a call")
        elif self.text(i) in ASSIGNMENTS:
            last = i
            while self.text(last) != ";":
                last = self.pairs.get(last, last) + 1
            self.add(first, last - 1, "", "drop an assignment")


def find_mutants(path, source):
    return Finder(path, source).all()
