#!/bin/bash
# Installs what is missing, builds Reprieve, and shows on this machine what it does: a training job whose machine is taken away twice.
# Debian 12 or 13, or Ubuntu 24.04; root or sudo only where packages are missing. Exit status 0 only if all of it held.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
reprieve=$root/build/supervisor/reprieve

say() {
	printf '\n== %s\n' "$1"
}

# quietly LOG COMMAND...: shows the log only if it fails.
quietly() {
	local log=$1
	shift
	"$@" >"$log" 2>&1 && return
	tail -n 30 "$log" >&2
	echo "quickstart: failed: $* (the whole log: $log)" >&2
	exit 1
}

say "1/3  Packages (missing ones: a minute, or as long as the mirror takes)"
"$here/install_packages.sh" build run
echo "All there."

say "2/3  Build (the first time a minute or two)"
mkdir -p "$root/build"
if [[ ! -f $root/build/CMakeCache.txt ]]; then
	quietly "$root/build/configure.log" cmake -G Ninja -S "$root" -B "$root/build" -DREPRIEVE_TESTS=OFF
fi
# All of it, so that it can be installed; but not the tests of a build that was configured before.
targets=(reprieve reprieve-shim)
if grep -q '^REPRIEVE_TESTS:[A-Z]*=OFF' "$root/build/CMakeCache.txt"; then targets=(all); fi
quietly "$root/build/build.log" cmake --build "$root/build" --target "${targets[@]}"
echo "$reprieve"

say "3/3  Drill: a real training job loses its machine, twice"
cat <<'END'

examples/train_digits.py trains a small neural network on scikit-learn's handwritten digits. It saves a checkpoint when
SIGUSR1 asks for one, continues from the newest one when it starts, and knows nothing of Reprieve. Now it runs

  - on machine 0, undisturbed, so that there is something to compare with;
  - on machine 1, until AWS announces that the machine will be taken away (here a metadata server on this computer says
    so): Reprieve asks the job to save, brings the checkpoint to the store, and the machine dies with all its processes;
  - on machine 2, which is empty: Reprieve puts the checkpoint back, the job goes on, and loses this machine as well;
  - on machine 3, to the end. Its final weights have to equal those of machine 0, bit for bit.

END
cd "$here"
if ! "$reprieve" drill --cloud aws --rounds 2 --notice-after 4 --compare final.npy -- \
	run --checkpoint-signal USR1 -- \
	/usr/bin/python3 train_digits.py --steps 600 --step-time 0.025 --print-every 1; then
	echo "quickstart: the drill did not pass, see above" >&2
	exit 1
fi

cat <<END

The job lost its machine twice and the weights are the same: what was not saved was computed again. That is what it
trained in the second between its save and its end; a script that leaves once it has saved loses no step.

Your own job, from the directory that it runs in (it saves into ./checkpoints, or say --checkpoint-dir). SIGUSR1 is the
signal that this example saves at; leave the option out if your script saves at SIGTERM, or only from time to time:

  $reprieve run --checkpoint-signal USR1 --store file:///a/shared/disk -- python3 train.py

and the same drill with it, before you rely on it:

  $reprieve drill -- run --checkpoint-signal USR1 -- python3 train.py
END
