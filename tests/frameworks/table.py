"""The proofs, two at a time, and their table.

    table.py [--quick] [--list] [--keep] [--write] [NAME...]

--write puts the rows of what has passed into the table of supervisor/frameworks/FRAMEWORKS.md; the others stay as they are.
Exit code 0 only if all that could run has passed. What a virtual environment lacks is skipped, and said.
"""
import argparse
import os
import re
import shutil
import signal
import sys
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cases import CASES
from proof import CannotRun, Failed

PAGE = Path(__file__).resolve().parents[2] / "supervisor" / "frameworks" / "FRAMEWORKS.md"
BEGIN, END = "<!-- table: tests/frameworks/run.sh --write -->\n\n", "\n<!-- end of the table -->\n"
HEAD = ["framework", "version", "asked", "seen by", "exit", "lost steps", "resumed equal?"]


def prove(case, scratch):
    """(word, row, why)"""
    row = [case.title, case.version or "-"]
    if not case.python:
        return "skip", row, f"{case.name}: {case.missing}"
    try:
        row += case.prove(scratch / case.name)
    except CannotRun as reason:
        return "skip", row, f"{case.name}: {reason}"
    except Failed as failure:
        return "FAIL", row, f"{case.name}: {failure}"
    except Exception as error:  # a fault of the proof itself: it must not take the others with it
        return "FAIL", row, f"{case.name}: {error!r}\n{traceback.format_exc()}"
    return "ok", row, ""


def page_row(row):
    title, version, asked, seen, _, lost, _ = row
    word = seen.startswith("its word, ")
    names = seen.removeprefix("its word, ") if word else seen.rsplit(", ", 1)[0]
    return f"| {title} | {version} | {asked} | `{names}`{', and the job says so' if word else ''} | {lost} |"


def page_with(text, results):
    """The page with a row for each case that has passed, in the order of the cases."""
    before, rest = text.split(BEGIN)
    table, after = rest.split(END)
    head, rows = table.splitlines()[:2], table.splitlines()[2:]
    by_title = {re.match(r"\| (.*?) \|", row).group(1): row for row in rows}
    by_title |= {row[0]: page_row(row) for word, row, _ in results if word == "ok"}
    rows = [by_title[case.title] for case in CASES if case.title in by_title and case.on_page]
    return before + BEGIN + "\n".join([*head, *rows]) + "\n" + END + after


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what is started is killed on the way out
    parser = argparse.ArgumentParser(prog="tests/frameworks/run.sh")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="what the runs have written stays")
    parser.add_argument("--write", action="store_true", help="the rows of what has passed go into FRAMEWORKS.md")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("name", nargs="*")
    options = parser.parse_args()
    unknown = set(options.name) - {case.name for case in CASES}
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    chosen = [case for case in CASES if case.name in options.name or not options.name and (case.quick or not options.quick)]
    if options.list:
        print(*(f"{case.name:20} {case.title}" for case in chosen), sep="\n")
        return 0
    for case in chosen:  # one after the other: pip shares its environments with nobody
        case.install()
    scratch = Path(tempfile.mkdtemp(prefix="reprieve-frameworks."))
    if options.keep:
        print(f"kept in {scratch}")
    try:
        with ThreadPoolExecutor(options.jobs) as pool:
            results = []
            for case, result in zip(chosen, pool.map(lambda case: prove(case, scratch), chosen)):
                results.append(result)
                print(f"{result[0]} {case.name}", flush=True)
    finally:
        if not options.keep:
            shutil.rmtree(scratch, ignore_errors=True)
    # The first thing that is said, each in a line, with what the program says of it: whoever reads may see no more.
    for word, _, why in results:
        if word == "FAIL":
            print("FAILED", "; ".join([why.splitlines()[0], *re.findall(r"^reprieve: error: .*$", why, re.M)]))
    rows = [HEAD, *(row + ["-"] * (len(HEAD) - len(row)) if word != "FAIL" else row + ["FAILED"] for word, row, _ in results)]
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(len(HEAD))]
    print()
    for row in rows:
        print(" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    print()
    for word, _, why in results:
        if word != "ok":
            print(f"{word} {why}\n" if word == "FAIL" else f"skipped  {why}")
    if options.write:
        PAGE.write_text(page_with(PAGE.read_text(), results))
    count = {name: sum(word == name for word, _, _ in results) for name in ("ok", "FAIL", "skip")}
    print(f"{count['ok']} passed, {count['FAIL']} failed, {count['skip']} skipped")
    return 1 if count["FAIL"] or not count["ok"] else 0


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
