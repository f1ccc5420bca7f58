#!/bin/bash
# Looks at the form of the scripts in findings/ alone: what they say is tried by hand, as each installs packages.
#   check_findings.sh [ROOT]        names what has not the form of findings/README.md, a line each
#   check_findings.sh --self-test   spoils a script in each way, and fails unless each is named
# Exit 1 if there is one.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
readonly longest=80
readonly fields='Software|One would guess|What happens|Why it matters|Seen|Exit code'

# Prints what is wrong with a script.
judge_script() {
	local file=$1 name=${1##*/} code packages
	code=$(grep -v '^#' "$file" || true)
	packages=$(grep -oE '(pip install|apt-get download) [^;&]*' <<<"$code" | cut -d ' ' -f 3- | tr ' ' '\n' | grep -vE '^(-.*)?$' || true)
	[[ $name =~ ^[a-z0-9]+(_[a-z0-9]+)+\.sh$ ]] || echo "is not named software_subject.sh"
	[ -x "$file" ] || echo "is not executable"
	[ "$(head -n 1 "$file")" = '#!/bin/bash' ] || echo "does not begin with #!/bin/bash"
	[ "$(sed -nE "s/^# ($fields):.*/\1/p" "$file" | paste -sd '|')" = "$fields" ] || echo "has not the fields $fields"
	grep -qE '^# Software: .*[0-9](\.|[0-9]{3})' "$file" || echo "names no version"
	grep -qE '^#   > .' "$file" || echo "shows no line that was seen"
	[ -n "$packages" ] || echo "installs no package"
	if grep -qvE "^'[^'=]+==?[0-9][^']*'$" <<<"${packages:-'none=0'}"; then echo "installs a package in any version"; fi
	grep -qx 'set -eu' <<<"$code" || echo "has no set -eu"
	grep -qE '^work=\$\(mktemp -d ' <<<"$code" || echo "makes no temporary folder"
	grep -qxF "trap 'rm -rf \"\$work\"' EXIT" <<<"$code" || echo "does not remove its temporary folder"
	grep -qF "sed -n 's/^#   > //p' \"\$0\"" <<<"$code" || echo "does not compare with what was seen"
	grep -qE '^[[:space:]]*exit 1$' <<<"$code" || echo "has no exit 1"
	if grep -qiw reprieve "$file"; then echo "names Reprieve"; fi
	[ "$(wc -l <"$file")" -le "$longest" ] || echo "has more than $longest lines"
	[ "$(grep -cF "| [${name%.sh}]($name) |" README.md)" -eq 1 ] || echo "has not one row in README.md"
}

check_findings() {
	local file name wrong failed=0 count=0
	cd "$1/findings"
	for file in *.sh; do
		count=$((count + 1))
		while read -r wrong; do
			echo "findings/$file $wrong"
			failed=1
		done < <(judge_script "$file")
	done
	while read -r name; do
		[ -f "$name" ] && continue
		echo "findings/README.md has a row for $name, which is not there"
		failed=1
	done < <(sed -nE 's/^\| \[[^]]*\]\(([^)]*)\) \|.*/\1/p' README.md)
	[ "$failed" -eq 0 ] && echo "$count findings have the form"
}

# how a script is spoilt, {} is its file | what is said then
readonly trials='
true                                                  | 1 findings have the form
mv {} findings/One.sh                                 | is not named software_subject.sh
chmod -x {}                                           | is not executable
sed -i 1s/bash/sh/ {}                                 | does not begin with #!/bin/bash
sed -i "/^# Why it matters/d" {}                      | has not the fields
sed -i "s/^# Seen:/&\n&/" {}                          | has not the fields
sed -i "/^# Software/s/[0-9]//g" {}                   | names no version
sed -i "/^#   > /d" {}                                | shows no line that was seen
sed -i "s/pip install [^;]*;/true;/" {}               | installs no package
sed -i "s/==[0-9.]*//" {}                             | installs a package in any version
sed -i "/^set -eu/d" {}                               | has no set -eu
sed -i "s/mktemp -d/echo/" {}                         | makes no temporary folder
sed -i "/^trap/d" {}                                  | does not remove its temporary folder
sed -i "/^seen=/d" {}                                 | does not compare with what was seen
sed -i "s/exit 1$/exit 0/" {}                         | has no exit 1
echo "reprieve run -- true" >>{}                      | names Reprieve
seq 80 | sed s,^,:, >>{}                              | has more than 80 lines
sed -i "/snakemake_sigterm/d" findings/README.md      | has not one row in README.md
echo "| [a_b](a_b.sh) | x |" >>findings/README.md        | has a row for a_b.sh
'

self_test() {
	local tree how said got code wanted=0 failed=0 name=snakemake_sigterm
	tree=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-findings.XXXXXX")
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$tree'" EXIT
	while IFS= read -r how; do
		[ -n "$how" ] || continue
		said=${how##*| } how=${how% | *}
		rm -rf "$tree/findings"
		mkdir "$tree/findings"
		cp -p "$here/findings/$name.sh" "$tree/findings/"
		grep -F "($name.sh)" "$here/findings/README.md" >"$tree/findings/README.md"
		(cd "$tree" && eval "${how//\{\}/findings/$name.sh}")
		code=0
		got=$(check_findings "$tree") || code=1
		if [ "$code" -ne "$wanted" ] || ! grep -qF "$said" <<<"$got"; then
			echo "after \"${how%% *} ...\" it should end with $wanted and say \"$said\", but it is $code and: $got"
			failed=1
		fi
		wanted=1 # after the first, which spoils nothing
	done <<<"$trials"
	[ "$failed" -eq 0 ] && echo "each spoilt script was named"
}

case ${1-} in
--self-test) self_test ;;
*) check_findings "${1-$here}" ;;
esac
