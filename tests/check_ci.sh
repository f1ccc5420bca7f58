#!/bin/bash
# The files of GitHub Actions and of GitLab have one job for each lane of tests/run.sh (but for install and tree, which every job has, and
# the builds, which a lane brings along), and are what their schemas allow.
#	check_ci.sh
# Exit 77, after all else has been looked at, where the schemas cannot be had (check-jsonschema of PyPI brings them).
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
readonly github=.github/workflows/ci.yml gitlab=.gitlab-ci.yml environment=build/ci-files
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

tests/run.sh --list | grep -vE '^(install|tree|build-.*)$' | sort >"$scratch/lanes"
# named FILE KEY: the list below KEY, one item a line.
named() {
	awk -v key="$2" '$0 ~ "^[ -]*" key ":$" { inside = 1; next }
		inside && $1 == "-" && NF == 2 { print $2; next }
		{ inside = 0 }' "$1" | sort
}
for row in "$github lane" "$gitlab LANE"; do
	read -r file key <<<"$row"
	diff "$scratch/lanes" <(named "$file" "$key") >"$scratch/difference" || {
		echo "$file does not name the lanes of tests/run.sh (< tests/run.sh, > $file):" >&2
		grep '^[<>]' "$scratch/difference" >&2
		exit 1
	}
done

if [ ! -x "$environment/bin/check-jsonschema" ]; then
	if ! python3 -m venv "$environment" || ! "$environment/bin/pip" -q install 'check-jsonschema>=0.33'; then
		echo "check-jsonschema, which has the schemas, cannot be installed"
		exit 77
	fi
fi
"$environment/bin/check-jsonschema" --builtin-schema vendor.github-workflows "$github"
"$environment/bin/check-jsonschema" --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$gitlab"
