#!/bin/bash
# Plants a hole: a small program whose test does not see one change and sees another. run.py has to tell them apart, leave out what
# is listed as equivalent, end a mutant that hangs or that removes things, and leave the sources as they are. Exit 77: not possible here.
set -euo pipefail
cd "$(dirname "$0")"

unshare --mount --pid --fork true 2>/dev/null || unshare --map-root-user --mount --pid --fork true 2>/dev/null || {
	echo "no name spaces can be had here"
	exit 77
}
place=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-mutation-test.XXXXXX")
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/sources/part"
cd "$place/sources"
git init -q .
cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(planted LANGUAGES C)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
enable_testing()
add_library(part STATIC part/part.c part/unused.c)
add_subdirectory(tests)
END
mkdir tests
cat >tests/CMakeLists.txt <<'END'
add_executable(test_part test_part.c)
target_link_libraries(test_part PRIVATE part)
add_test(NAME part COMMAND test_part)
set_tests_properties(part PROPERTIES LABELS part)
add_executable(test_other test_other.c)
add_test(NAME other COMMAND test_other)
END
cat >part/part.c <<'END'
int part_limit(int x);
int part_count(int x);

int part_limit(int x)
{
	if (x > 3)
		return 0;
	return -1;
}

int part_count(int x)
{
	while (x > 0)
		x = x - 2;
	return x;
}
END
cat >part/unused.c <<'END'
int part_unused(int x);

int part_unused(int x)
{
	return x + 1;
}
END
cat >tests/test_part.c <<'END'
#include <signal.h>

int part_limit(int x);
int part_count(int x);

int main(void)
{
	if (signal(SIGINT, SIG_DFL) == SIG_IGN || signal(SIGQUIT, SIG_DFL) == SIG_IGN)
		return 1;
	return part_limit(9) != 0 || part_limit(1) != -1 || part_count(4) != 0;
}
END
echo 'int main(void) { return 0; }' >tests/test_other.c
cat >equivalent.txt <<'END'
part/part.c
- while (x > 0)
+ while (x >= 0)
= not so, in fact; the list is believed
END
# One that runs into the limit is seen by that only if the sources as they are pass within it.
cat >slow.py <<'END'
import pathlib
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import workshop


class Slow(workshop.Workshop):
    """Tests end as `ends` says, one after the other; None: not within the limit."""

    def __init__(self, ends):
        self.limit, self.ends, self.ran = 1, ends, []

    def ninja(self, *targets, jobs=1):
        return True

    def run_test(self, test, limit):
        self.ran.append((path.read_text(), limit))
        return self.ends.pop(0)


path = pathlib.Path("part/mutated")
test = workshop.Test("part", "test_part", set())
test.seconds = 0.1
for ends, seen, ran in (
    ([1], True, [("mutant", 2)]),
    ([0], False, [("mutant", 2)]),
    ([None, 0], True, [("mutant", 2), ("original", 2)]),
    ([None, None, 0], False, [("mutant", 2), ("original", 2), ("mutant", 6)]),
    ([None, None, None, 0], True, [("mutant", 2), ("original", 2), ("mutant", 6), ("original", 6)]),
    ([None] * 6, None, None),
):
    path.write_text("mutant")
    slow = Slow(ends)
    try:
        assert slow.fails(test, path, "original") is seen and slow.ran == ran, slow.ran
    except workshop.Trouble:
        assert seen is None
    assert path.read_text() == "mutant"
path.unlink()
END
python3 slow.py "$OLDPWD"
rm slow.py
git add .
before=$(sha256sum part/*.c)

# As a shell starts what it does not wait for: the tests are to begin with the usual signals all the same.
said=$(trap '' INT QUIT && "$OLDPWD/run.py" --sources . --folder part --count 99 --limit 1 --sanitize '' --equivalent equivalent.txt --verbose 2>&1) && {
	echo "nothing survived:"
	echo "$said"
	exit 1
}
expect() {
	grep -qF -- "$1" <<<"$said" && return
	printf 'this is missing: %s\n%s\n' "$1" "$said"
	exit 1
}
expect 'part/part.c:6: survived: move a comparison (1 tests)'
expect '+ if (x >= 3)'
expect 'part/part.c:6: killed: turn a condition (part)'
expect 'part/part.c:7: killed: change a returned code (part)'
expect 'part/part.c:14: killed: drop an assignment (part)'
expect 'part/part.c:13: equivalent: move a comparison'
expect 'part/unused.c:5: survived: swap + and - (0 tests)'
expect '1 test programs'
expect 'part: 7 of 10 seen (70 %)'
[ "$before" = "$(sha256sum part/*.c)" ] || {
	echo "the sources were changed"
	exit 1
}
if git status --porcelain --untracked-files=all | grep -v '^A'; then
	echo "these were left in the sources"
	exit 1
fi
echo "the planted hole was seen"
