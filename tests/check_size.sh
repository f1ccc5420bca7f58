#!/bin/bash
# How many lines of code there are, by cloc, against the limits in tests/size_limits.txt, and how many lines each page has. It prints all
# counts.
#   check_size.sh [ROOT]        fails if one is above its limit, or its limit is more than 300 above it
#   check_size.sh --self-test   tries limits of each kind on a small tree
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
readonly slack=300

# LANGUAGES FOLDER...: lines that are neither blank nor comments; what a test has installed does not count. The judges (tests/model,
# tests/differential) have a number of their own: what they judge by may grow where the tests that they replace go.
count_lines() {
	cloc --quiet --csv --exclude-dir=.venv"${without:+,$without}" --include-lang="$1" "${@:2}" | awk -F, '$2 == "SUM" { sum = $5 } END { print sum + 0 }'
}

# A page has at most 150 lines, but for the format's description. One that has more is listed with its number.
check_pages() {
	local page lines most limit failed=0
	while read -r page; do
		case $page in
		storage/FORMAT.md) most=450 ;;
		*) most=150 ;;
		esac
		lines=$(wc -l <"$page")
		limit=$(awk -v page="$page" '$1 == "page" && $2 == page { print $3 }' tests/size_limits.txt)
		if [ "$lines" -gt "${limit:-$most}" ]; then
			echo "$page has $lines lines, $((lines - ${limit:-$most})) too many: say less" >&2
			failed=1
		elif [ -n "$limit" ] && [ "$lines" -lt "$limit" ]; then
			if [ "$lines" -gt "$most" ]; then limit="write \"page $page $lines\""; else limit="take its line out"; fi
			echo "tests/size_limits.txt: $page has shrunk: $limit" >&2
			failed=1
		fi
	done < <(find . -name '*.md' -not -path './build/*' -not -path '*/.*/*' -printf '%P\n' | sort)
	[ "$failed" -eq 0 ]
}

check_limits() {
	local root=$1 name limit failed=0 without=
	local -A counts=()
	cd "$root"
	counts[product]=$(count_lines 'C,C/C++ Header' supervisor storage cloud shim)
	counts[tests-model]=$(count_lines 'C,C/C++ Header,Python' tests/model tests/differential)
	without=model,differential
	counts[tests-c]=$(count_lines 'C,C/C++ Header' tests)
	counts[tests-python]=$(count_lines Python tests)
	for name in product tests-c tests-python tests-model; do
		limit=$(awk -v name="$name" '$1 == name { print $2 }' tests/size_limits.txt)
		echo "$name ${counts[$name]} lines, limit ${limit:-missing}"
		if ! [[ $limit =~ ^[0-9]+$ ]]; then
			echo "tests/size_limits.txt: no limit for $name: write \"$name ${counts[$name]}\"" >&2
			failed=1
		elif [ "${counts[$name]}" -gt "$limit" ]; then
			echo "$name is $((counts[$name] - limit)) lines above its limit: take out as many elsewhere, in this change" >&2
			failed=1
		elif [ "$limit" -gt $((counts[$name] + slack)) ]; then
			echo "tests/size_limits.txt: $name has shrunk: write \"$name ${counts[$name]}\"" >&2
			failed=1
		fi
	done
	check_pages || failed=1
	[ "$failed" -eq 0 ]
}

# The small tree has four lines of product, one of C tests, one of Python, one of the models, and a page. What is looked at | product's
# limit | lines of the page | its limit | code | what is said
readonly trials='
check_limits | 4   | 150 |     | 0 | product 4 lines, limit 4
check_limits | 304 | 150 |     | 0 | product 4 lines, limit 304
check_limits | 3   | 150 |     | 1 | product is 1 lines above its limit
check_limits | 305 | 150 |     | 1 | write "product 4"
check_limits | 4   | 151 |     | 1 | supervisor/PAGE.md has 151 lines, 1 too many
check_pages  | x   | 150 |     | 0 |
check_pages  | x   | 160 | 160 | 0 |
check_pages  | x   | 161 | 160 | 1 | supervisor/PAGE.md has 161 lines, 1 too many
check_pages  | x   | 159 | 160 | 1 | write "page supervisor/PAGE.md 159"
check_pages  | x   | 150 | 160 | 1 | supervisor/PAGE.md has shrunk: take its line out
check_limits | x   | 150 |     | 1 | no limit for product
'

self_test() {
	local tree name what limit lines page code said got failed=0
	tree=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-size.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$tree'" EXIT
	mkdir -p "$tree"/{supervisor,storage,cloud,shim,tests/.venv,tests/model}
	# cloc takes files that are the same for one.
	for name in supervisor storage cloud shim tests tests/.venv; do printf '/* none */\n\nint %s;\n' "${name##*/}" >"$tree/$name/a.c"; done
	printf '# none\nx = 1\n' >"$tree/tests/a.py"
	printf 'y = 1\n' >"$tree/tests/model/b.py"
	while IFS='|' read -r what limit lines page code said; do
		[ -n "$what" ] || continue
		printf '# comment\nproduct %s\ntests-c 1\ntests-python 1\ntests-model 1\n' "${limit// /}" >"$tree/tests/size_limits.txt"
		[ -z "${page// /}" ] || echo "page supervisor/PAGE.md ${page// /}" >>"$tree/tests/size_limits.txt"
		seq "${lines// /}" >"$tree/supervisor/PAGE.md"
		got=0
		(cd "$tree" && "${what// /}" .) >"$tree/said" 2>&1 || got=1
		if [ "$got" -ne "${code// /}" ] || { [ "${said# }" ] && ! grep -qF "${said# }" "$tree/said"; }; then
			echo "$what, limit $limit, $lines lines of the page, limit $page: exit $got, and:"
			cat "$tree/said"
			failed=1
		fi
	done <<<"$trials"
	[ "$failed" -eq 0 ] && echo "each limit did what it should"
}

case ${1-} in
--self-test) self_test ;;
*) check_limits "${1-$here}" ;;
esac
