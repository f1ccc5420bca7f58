#!/bin/bash
# Every kind of store against the servers that it is made for, and against one that misbehaves.
#
#	tests/stores/run.sh [--short] [PYTEST-ARGUMENT...]
#
# --short: for every day: without what is marked long, which is most of the kills. Without paths among the arguments all of tests/stores is
# run. What it needs is installed, into build/servers and by apt; what cannot be had is skipped, with the reason. REPRIEVE names the
# binary (default: build/supervisor/reprieve).
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "${1-}" = --short ]; then
	shift
	export REPRIEVE_SMALL=1
fi
paths=(tests/stores) previous=
for argument; do
	case $previous,$argument in
	--ignore,* | --deselect,*) ;; # what is left out
	*,tests/stores/*) paths=() ;;
	esac
	previous=$argument
done

# The clouds' own clients, which look at what we wrote, are in an environment of their own; without them much is skipped.
python=$PWD/build/servers/python/bin/python
if ! reason=$(tests/servers/install.sh python); then
	echo "without the clouds' own clients: $reason"
	python=/usr/bin/python3
fi
# For the tests that start it themselves.
if tests/servers/install.sh azurite; then export AZURITE=${AZURITE:-$PWD/build/servers/node/node_modules/.bin/azurite-blob}; fi

export PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -o cache_dir="$PWD/build/pytest" -q -rs "$@" ${paths[@]+"${paths[@]}"}
