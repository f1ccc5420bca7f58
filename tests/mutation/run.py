#!/usr/bin/env python3
"""Makes small changes to the program, one at a time, and says which of them no test sees.

    tests/mutation/run.py --folder storage/snapshots --count 40
    tests/mutation/run.py --folder supervisor/job --count 10 --e2e tests/e2e/test_run.py

For each mutant, only the unit tests are built and run that link the changed module, with the address and undefined behaviour
sanitizers, and then the end-to-end tests that --e2e names. What no test sees is printed with its place, and a score for each
folder. What is judged to change nothing that matters belongs into the list of --equivalent, which is not counted. All of it
happens in copies of the sources below $TMPDIR, which are built once (minutes) and removed afterwards; --keep DIR keeps them."""
import argparse
import collections
import random
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

sys.dont_write_bytecode = True
from operators import find_mutants  # noqa: E402
from workshop import Trouble, Workshop  # noqa: E402

HERE = Path(__file__).resolve().parent


def read_equivalent(path):
    """Blocks of four lines: the file, "- " the line before, "+ " the line after, "= " why that changes nothing."""
    known = {}
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    for i in range(0, len(lines), 4):
        block = lines[i : i + 4]
        if len(block) < 4 or [line[:2] for line in block[1:]] != ["- ", "+ ", "= "]:
            raise Trouble(f"{path}: not a block of file, '- ', '+ ' and '= ': {block[0]}")
        known[block[0].strip(), block[1][2:], block[2][2:]] = block[3][2:]
    return known


def read_survivors(path):
    """What an earlier run has printed: (file, line before, line after) of each that survived."""
    found, lines = set(), path.read_text().splitlines()
    for i, line in enumerate(lines[:-2]):
        place = line.split(":")
        if len(place) > 3 and place[2] == " survived":
            found.add((place[0], lines[i + 1][2:], lines[i + 2][2:]))
    return found


def choose(sources, folder, only, seed):
    """All mutants of a folder, as (mutant, source), in the order of the seed."""
    found = []
    for path in sorted((sources / folder).glob("*.c")):
        if only and path.name not in only:
            continue
        source = path.read_text()
        found += [(mutant, source) for mutant in find_mutants(str(path.relative_to(sources)), source)]
    random.Random(f"{seed} {folder}").shuffle(found)
    return found


class Run:
    def __init__(self, arguments, known):
        self.arguments, self.known = arguments, known
        self.lock = threading.Lock()
        self.scores = collections.defaultdict(collections.Counter)
        self.waiting, self.failures = [], []
        for folder in arguments.folder:
            chosen = choose(arguments.sources, folder, arguments.file, arguments.seed)
            if arguments.again:
                again = read_survivors(arguments.again)
                chosen = [pair for pair in chosen if (pair[0].path, *pair[0].lines(pair[1])) in again]
            else:
                chosen = chosen[: arguments.count]
            # File by file: each is compiled again when another one's turn comes.
            self.waiting += [[pair for pair in chosen if pair[0].path == path] for path in sorted({m.path for m, _ in chosen})]
        self.waiting.sort(key=len)

    def next_file(self):
        with self.lock:
            return self.waiting.pop() if self.waiting else None

    def report(self, mutant, source, verdict, by):
        before, after = mutant.lines(source)
        folder = str(Path(mutant.path).parent)
        with self.lock:
            self.scores[folder][verdict] += 1
            if verdict == "survived" or self.arguments.verbose:
                place = f"{mutant.path}:{mutant.line(source)}"
                print(f"{place}: {verdict}: {mutant.operator} ({by})\n- {before}\n+ {after}\n", flush=True)

    def work(self, workshop):
        try:
            while (pairs := self.next_file()) is not None:
                for mutant, source in pairs:
                    verdict = "equivalent", "known"
                    if (mutant.path, *mutant.lines(source)) not in self.known:
                        verdict = workshop.judge(mutant, source, self.arguments.e2e)
                    self.report(mutant, source, *verdict)
        except Exception as failure:  # told by the main thread
            with self.lock:
                self.failures.append(failure)

    def score(self):
        total = collections.Counter()
        for folder, counts in sorted(self.scores.items()):
            print(line_of(folder, counts))
            total.update(counts)
        if len(self.scores) > 1:
            print(line_of("all", total))
        return total


def line_of(folder, counts):
    counted = counts["killed"] + counts["survived"]
    share = 100 * counts["killed"] // counted if counted else 100
    return (f"{folder}: {counts['killed']} of {counted} seen ({share} %); not counted: "
            f"{counts['same'] + counts['equivalent']} that change nothing, {counts['stillborn']} that do not build")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", action="append", required=True, help="of the sources, as storage/snapshots; may be repeated")
    parser.add_argument("--file", action="append", help="only this file of the folders, as forget.c; may be repeated")
    parser.add_argument("--count", type=int, default=40, help="mutants of each folder (default 40)")
    parser.add_argument("--seed", type=int, default=1, help="another number chooses other mutants")
    parser.add_argument("--again", type=Path, metavar="FILE", help="only what survived in the run whose output this is")
    parser.add_argument("--label", action="append", help="only the unit tests of this folder, as for ctest -L; may be repeated")
    parser.add_argument("--e2e", action="append", default=[], metavar="FILE", help="end-to-end tests to run as well")
    parser.add_argument("--equivalent", type=Path, default=HERE / "equivalent.txt", metavar="FILE")
    parser.add_argument("--jobs", type=int, default=2, help="copies to work in at the same time (default 2)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the copies here, so that the next run builds less")
    parser.add_argument("--sanitize", default="address,undefined", help="'' builds and runs faster, and sees less")
    parser.add_argument("--verbose", action="store_true", help="print what the tests see as well")
    parser.add_argument("--limit", type=float, default=10, help="seconds for a test, beyond ten times what it usually takes")
    parser.add_argument("--sources", type=Path, default=HERE.parents[1], metavar="DIR", help="another tree than this one")
    parser.add_argument("--list", action="store_true", help="print the mutants and end")
    arguments = parser.parse_args()
    arguments.sources = arguments.sources.resolve()
    return arguments


def have_tests_start_with_usual_signals():
    """A shell starts with SIGINT and SIGQUIT ignored what it does not wait for, and all that is run from there would inherit it. A
    handler, which does nothing here as well, is not inherited."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def main():
    arguments = parse()
    have_tests_start_with_usual_signals()
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="reprieve-mutation."))
    place = place.resolve()
    try:
        run = Run(arguments, read_equivalent(arguments.equivalent) if arguments.equivalent.exists() else {})
        if arguments.list:
            for mutant, source in [pair for pairs in run.waiting for pair in pairs]:
                print(f"{mutant.path}:{mutant.line(source)}: {mutant.operator}: {mutant.lines(source)[1]}")
            return 0
        paths = sorted({mutant.path for pairs in run.waiting for mutant, _ in pairs})
        shops = [Workshop(place / str(i), arguments.sources, arguments.sanitize, arguments.limit)
                 for i in range(min(arguments.jobs, len(run.waiting)))]
        known = None
        for shop in shops:
            shop.check_room()
            known = shop.look_for_tests(paths, arguments.label, arguments.jobs, known)
        if arguments.e2e:
            shops[0].check_end_to_end(arguments.e2e)
        print(f"{sum(map(len, run.waiting))} mutants, {len(shops[0].tests)} test programs", file=sys.stderr)
        threads = [threading.Thread(target=run.work, args=(shop,)) for shop in shops]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if run.failures:
            raise run.failures[0]
        return 1 if run.score()["survived"] else 0
    except Trouble as trouble:
        print(trouble, file=sys.stderr)
        return 70
    finally:
        if not arguments.keep:
            shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
