#!/bin/bash
# What is packed installs, runs and goes again.
#	packages.sh --short BUILD    the Debian package of a build, unpacked; the target uninstall; what pyproject.toml and CI's files name
#	packages.sh DIRECTORY        what supervisor/packaging/release.sh has made: each Debian package in bare Debian 12 and 13, the wheel in
#	                             an empty venv there, without compilers. As root, or as a user whom mmdebstrap lets have a user
#	                             namespace; needs mmdebstrap and a mirror.
#	packages.sh DIRECTORY arm64  those for arm64, in a bare Debian 12 of that machine under qemu-user. As root; also needs arch-test and
#	                             qemu-user-static. Takes some five minutes.
set -euo pipefail
export LC_ALL=C.UTF-8
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-packages.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# mmdebstrap's own user has to read it.
chmod 755 "$scratch"

fail() {
	echo "packages: $*" >&2
	exit 1
}

version=$(sed -nE 's/^project\(reprieve VERSION ([0-9.]+) .*/\1/p' "$root/CMakeLists.txt")

# --- the short form ---

# check_runs PROGRAM: it says what it is, finds its library, and runs a job.
check_runs() {
	local told
	told=$("$1" --version)
	[ "$(head -n 1 <<<"$told")" = "reprieve $version" ] || fail "$1 --version says: $told"
	grep -qxE 'commit ([0-9a-f]{12}|unknown)' <<<"$told" || fail "$1 --version names no commit: $told"
	"$1" doctor --store "file://$scratch/store" >"$scratch/doctor" || true
	grep -qE "^ok +shim +$2.*loads" "$scratch/doctor" || fail "$1 does not find its library in $2: $(grep shim "$scratch/doctor")"
	# Not in a checkout: there may be checkpoints of an example, which would then be this job's.
	[ "$(cd "$scratch" && "$1" run -- sh -c 'echo hi')" = hi ] || fail "$1 runs no job"
}

check_deb() {
	local deb path closed
	deb=$scratch/reprieve_${version}_$(dpkg --print-architecture).deb
	# The package is for every user, whatever the umask of who makes it.
	(umask 077 && cpack --config "$1/CPackConfig.cmake" -G DEB -B "$scratch" >"$scratch/cpack.log" 2>&1) || fail "$(tail -n 5 "$scratch/cpack.log")"
	[ -f "$deb" ] || fail "cpack made no $deb"
	dpkg-deb -f "$deb" Depends | grep -qE '(^|, )libc6 \(>= ' || fail "it depends on no C library: $(dpkg-deb -f "$deb" Depends)"
	[ "$(dpkg-deb -f "$deb" Version)" = "$version" ] || fail "its version is $(dpkg-deb -f "$deb" Version)"
	dpkg-deb -x "$deb" "$scratch/unpacked"
	for path in bin/reprieve lib/reprieve/libreprieve-shim.so include/reprieve.h lib/python3/dist-packages/reprieve.py \
		share/man/man1/reprieve.1.gz share/man/man1/reprieve-run.1.gz share/man/man7/reprieve-store.7.gz share/bash-completion/completions/reprieve share/zsh/site-functions/_reprieve \
		share/fish/vendor_completions.d/reprieve.fish share/doc/reprieve/copyright share/doc/reprieve/changelog.gz \
		share/doc/reprieve/README.md share/doc/reprieve/supervisor/restore/RESTARTS.md share/doc/reprieve/examples/train_digits.py; do
		[ -f "$scratch/unpacked/usr/$path" ] || fail "the package has no /usr/$path"
	done
	[ "$(find "$scratch/unpacked" -mindepth 1 -maxdepth 1 -printf '%f ')" = "usr " ] || fail "the package has more than /usr"
	dpkg-deb -e "$deb" "$scratch/control"
	(cd "$scratch/unpacked" && md5sum --quiet -c "$scratch/control/md5sums") || fail "its checksums are those of other files"
	[ "$(find "$scratch/unpacked/usr" -type f | wc -l)" = "$(wc -l <"$scratch/control/md5sums")" ] || fail "not each of its files has a checksum"
	closed=$(find "$scratch/unpacked" -mindepth 1 -not -perm -o=r)
	[ -z "$closed" ] || fail "not everybody can read $(head -n 3 <<<"$closed")"
	check_runs "$scratch/unpacked/usr/bin/reprieve" "$scratch/unpacked/usr/lib/reprieve"
	check_removal "$deb"
	if command -v lintian >"$scratch/which"; then
		# A static build embeds libraries: that is what it is for.
		lintian --allow-root --suppress-tags embedded-library --fail-on error,warning "$deb" >"$scratch/lintian.log" 2>&1 || fail "lintian: $(cat "$scratch/lintian.log")"
	else
		echo "lintian is not installed: the package is not held against Debian's policy"
	fi
}

# What dpkg has put in place it takes away again, with the byte code that Python has written beside the module, and knows no more of it.
check_removal() {
	local system=$scratch/system known left
	local dpkg=(dpkg --root="$system" --force-script-chrootless --force-not-root --force-bad-path --force-depends)
	mkdir -p "$system/var/lib/dpkg/info" "$system/var/lib/dpkg/updates"
	touch "$system/var/lib/dpkg/status"
	"${dpkg[@]}" --install "$1" >"$scratch/dpkg.log" 2>&1 || fail "$(tail -n 5 "$scratch/dpkg.log")"
	env -u PYTHONDONTWRITEBYTECODE -u PYTHONPYCACHEPREFIX PYTHONPATH="$system/usr/lib/python3/dist-packages" python3 -c 'import reprieve'
	[ -n "$(find "$system" -name 'reprieve.*.pyc')" ] || fail "Python wrote no byte code beside the module"
	"${dpkg[@]}" --remove reprieve >"$scratch/dpkg.log" 2>&1 || fail "$(tail -n 5 "$scratch/dpkg.log")"
	known=$(dpkg-query --admindir="$system/var/lib/dpkg" -W -f '${db:Status-Abbrev}' reprieve 2>/dev/null) || known=
	[ -z "$known" ] || fail "removed, it is still in dpkg's state $known"
	left=$(find "$system" -mindepth 1 -not -path "$system/var*")
	[ -z "$left" ] || fail "removed, it leaves $(head -n 3 <<<"$left")"
}

# Without one of the tools that tell what it depends on there is no package, and one line that says what is missing.
check_tools() {
	local tool
	for tool in file dpkg-shlibdeps; do
		mkdir "$scratch/without-$tool"
		find /usr/local/bin /usr/bin -mindepth 1 -maxdepth 1 -not -name "$tool" -exec ln -sf -t "$scratch/without-$tool" {} +
		# CMake looks in its own folder too, unless it is told not to.
		PATH=$scratch/without-$tool cpack --config "$1/CPackConfig.cmake" -G DEB -B "$scratch/without" \
			-D "CMAKE_IGNORE_PATH=/usr/local/bin;/usr/bin;/bin" >"$scratch/cpack.log" 2>&1 &&
			fail "cpack makes a package without $tool"
		grep -qE "^ *the Debian package needs $tool: .* examples/install_packages.sh build$" "$scratch/cpack.log" ||
			fail "without $tool cpack says: $(tail -n 5 "$scratch/cpack.log")"
		[ -z "$(find "$scratch/without" -name '*.deb')" ] || fail "without $tool cpack leaves a package"
	done
}

install_build() {
	local prefix=$scratch/prefix
	DESTDIR=$prefix cmake --install "$1" >/dev/null
	[ -x "$prefix$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$1/CMakeCache.txt")/bin/reprieve" ] || fail "cmake --install put no program in place"
}

# Behind install_build and check_deb: what cpack has put into the package is not what the build has put in place.
check_uninstall() {
	local prefix=$scratch/prefix
	DESTDIR=$prefix cmake --build "$1" --target uninstall >"$scratch/uninstall.log" || fail "$(tail -n 5 "$scratch/uninstall.log")"
	[ -z "$(find "$prefix" -not -type d)" ] || fail "uninstall leaves $(find "$prefix" -not -type d | head -n 3)"
	[ -z "$(find "$prefix" -path '*/reprieve')" ] || fail "uninstall leaves $(find "$prefix" -path '*/reprieve')"
}

# A tarball without history names the commit that git archive wrote down, and one without both says so.
check_commit() {
	local packaging=$root/supervisor/packaging
	mkdir "$scratch/packaging"
	cp "$packaging/write_commit.cmake" "$scratch/packaging"
	for row in "0123456789abcdef0123456789abcdef01234567=0123456789ab" "\$Format:%H\$=unknown"; do
		echo "${row%=*}" >"$scratch/packaging/commit.txt"
		cmake -D SOURCES="$scratch" -D OUTPUT="$scratch/commit.c" -P "$scratch/packaging/write_commit.cmake"
		grep -qF "\"${row#*=}\"" "$scratch/commit.c" || fail "commit.txt ${row%=*}: $(cat "$scratch/commit.c")"
	done
	grep -q export-subst "$packaging/.gitattributes" || fail "git archive does not fill in commit.txt"
}

# A release is of the commit that has the tag of its version: of another one, or without that tag, nothing is made, and one line says why.
check_release() {
	local sources=$scratch/sources said commit
	command -v git >/dev/null || return 0
	mkdir -p "$sources/supervisor/packaging" "$scratch/programs"
	cp "$root/CMakeLists.txt" "$root/CHANGELOG.md" "$sources"
	cp "$root/supervisor/packaging/release.sh" "$sources/supervisor/packaging"
	# All that it takes to get to where it would begin, and nothing to begin with.
	for said in bash git sed grep ls mkdir dirname; do ln -s "$(command -v "$said")" "$scratch/programs"; done
	local git=(git -C "$sources" -c user.name=tests -c user.email=tests@reprieve.invalid)
	"${git[@]}" init -q
	"${git[@]}" add .
	"${git[@]}" commit -q -m one
	check_refused "none"
	"${git[@]}" tag "v$version"
	commit=$("${git[@]}" rev-parse HEAD)
	"${git[@]}" commit -q --allow-empty -m two
	check_refused "${commit:0:12}"
	"${git[@]}" tag -f -a -m tagged "v$version" >/dev/null
	said=$(make_release) && fail "release.sh makes a release without mmdebstrap"
	[ "$said" = "release: needs mmdebstrap, which is not installed" ] || fail "release.sh says of a tagged commit: $said"
}
make_release() { PATH=$scratch/programs "$sources/supervisor/packaging/release.sh" "$scratch/release" 2>&1; }
check_refused() {
	local head
	head=$("${git[@]}" rev-parse HEAD)
	said=$(make_release) && fail "release.sh makes a release of a commit that has no tag"
	[[ $said == "release: ${head:0:12} is not the commit of the tag v$version ($1): "* && $said != *$'\n'* ]] || fail "release.sh says without the tag: $said"
	[ -z "$(ls -A "$scratch/release")" ] || fail "release.sh leaves $(ls "$scratch/release") without the tag"
}

check_changelog() {
	grep -qx "## $version" "$root/CHANGELOG.md" || fail "CHANGELOG.md says nothing of $version"
}

if [ "${1-}" = --short ]; then
	build=$(cd "${2:?usage: packages.sh --short BUILD}" && pwd)
	install_build "$build"
	check_deb "$build"
	check_tools "$build"
	check_uninstall "$build"
	check_commit
	check_changelog
	check_release
	echo "$build: the Debian package and the target uninstall are whole"
	exit 0
fi

# --- the long form: in each bare system, $1 of these scripts is the version and $2 the machine ---

directory=$(cd "${1:?usage: packages.sh --short BUILD | DIRECTORY}" && pwd)
(cd "$directory" && sha256sum --quiet -c SHA256SUMS)
cp "$root/tests/e2e/saver.py" "$scratch"

cp "$root/tests/preempt.sh" "$scratch/preempt"

cat >"$scratch/deb" <<'END'
set -eux
[ "$(uname -m)" = "$2" ]
find / -xdev -not -path '/proc/*' -not -path '/tmp/*' -not -path '/var/*' | sort >/tmp/before
dpkg -i /reprieve_*.deb
reprieve --version | grep -qx "reprieve $1"
cd /tmp
reprieve doctor --store file:///tmp/doctor | grep -E '^ok +shim +/usr/lib/'
[ "$(reprieve run -- sh -c 'echo hi')" = hi ]
python3 -c 'import reprieve; assert reprieve.__file__ == "/usr/lib/python3/dist-packages/reprieve.py" and not reprieve.requested()'
python3 -m reprieve --version | grep -qx "reprieve $1"
sh /preempt reprieve
dpkg --remove reprieve
if dpkg-query -W reprieve; then exit 1; fi
find / -xdev -not -path '/proc/*' -not -path '/tmp/*' -not -path '/var/*' | sort >/tmp/after
diff /tmp/before /tmp/after
END

cat >"$scratch/wheel" <<'END'
set -eux
[ "$(uname -m)" = "$2" ]
# Not by `!`, which `set -e` does not heed.
if command -v cc || command -v gcc || ldconfig -p | grep -E 'libcurl|libarchive|libmicrohttpd|libjansson'; then exit 1; fi
python3 -m venv /venv
# The first use of pip writes byte code.
/venv/bin/pip list >/dev/null
find /venv -not -path '*/__pycache__*' -type f | sort >/tmp/before
/venv/bin/pip install --no-index /reprieve-*.whl
cd /tmp
PATH=/venv/bin:$PATH
reprieve --version | grep -qx "reprieve $1"
[ "$(head -c 4 /venv/bin/reprieve | od -An -c | tr -d ' ')" = '177ELF' ]
python3 -m reprieve --version | grep -qx "reprieve $1"
python3 -c 'import reprieve; assert reprieve.__file__.startswith("/venv/") and not reprieve.requested()'
reprieve doctor --store file:///tmp/doctor | grep -E '^ok +shim +/venv/lib/'
[ "$(python3 -m reprieve run -- sh -c 'echo hi')" = hi ]
sh /preempt reprieve
pip uninstall -y reprieve
find /venv -not -path '*/__pycache__*' -type f | sort >/tmp/after
diff /tmp/before /tmp/after
END

# Another machine's systems are slow: the oldest is enough.
native=$(dpkg --print-architecture)
architecture=${2-$native} releases=(bookworm trixie) enter=()
if [ "$architecture" != "$native" ]; then releases=(bookworm) enter=("$root/tests/as_aarch64.sh"); fi
case $architecture in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
*) fail "a release has nothing for $architecture" ;;
esac
for release in "${releases[@]}"; do
	${enter[@]+"${enter[@]}"} mmdebstrap --variant=minbase --architectures="$architecture" --include=python3,python3-venv --format=null \
		--customize-hook="copy-in $directory/reprieve_${version}_$architecture.deb $directory/reprieve-$version-py3-none-manylinux_2_34_$machine.whl $scratch/saver.py $scratch/preempt $scratch/deb $scratch/wheel /" \
		--customize-hook="chroot \"\$1\" sh /deb $version $machine" \
		--customize-hook="chroot \"\$1\" sh /wheel $version $machine" \
		"$release" /dev/null
	echo "$release $architecture: the Debian package and the wheel install, run and go again"
done
