"""One rank of a training job on several machines, for the tests: the ranks make each step together, as a collective does, and each
saves its own shard under the step's number.

It knows nothing of Reprieve but the attempt's number, by which the ranks of one start meet: in a directory that they share. Every line
it prints is one fact: "resumed 12", "step 13", "saved 13", "finished 40".
"""
import argparse
import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--dir", required=True)
parser.add_argument("--meet", required=True, help="the directory that all ranks share")
parser.add_argument("--rank", type=int, required=True)
parser.add_argument("--ranks", type=int, required=True)
parser.add_argument("--steps", type=int, default=100000)
parser.add_argument("--every", type=int, default=10)
parser.add_argument("--step-time", type=float, default=0.01)
parser.add_argument("--size", type=int, default=20000)
parser.add_argument("--signal", default="", help="save when it comes to any rank, all at one step")
parser.add_argument("--answers", type=int, default=1000, help="so many times it saves when any was asked")
parser.add_argument("--leave", type=int, default=0, help="ends with 0 at the step at which any was asked, once it has saved")
parser.add_argument("--keep", type=int, default=3)
parser.add_argument("--savers", default="all", help="the ranks that save: 0,2")
parser.add_argument("--offset", type=int, default=0, help="save at the steps that are this much behind those of --every")
parser.add_argument("--until", type=int, default=0, help="save no more after this step")
parser.add_argument("--fail-at", type=int, default=0, help="ends with 3 at this step")
parser.add_argument("--anew-at", type=int, default=0, help="at this step, the ranks begin anew as a launcher lets them, some steps earlier")
parser.add_argument("--anew-from", type=int, default=-1, help="then from this step, whatever there is")
parser.add_argument("--loop", type=int, default=0, help="1: by a loop that starts the rank again; 0: by exec()")
parser.add_argument("--settings", type=int, default=0, help="writes args.json at the start")
parser.add_argument("--curve", type=int, default=0, help="adds a line to curve.csv at each step")
parser.add_argument("--fixed", default="", help="saves under this name, too, with each checkpoint of the others")
parser.add_argument("--final", default="", help="in the end it waits for this file, and saves final_model/weights.bin")
parser.add_argument("--mark", default="", help="is kept beside each shard: who has saved it")
parser.add_argument("--layout", default="shards", help="shards: a file of each rank; dcp: the files of torch's distributed checkpoints, "
                    "which any number of ranks reads if it has all of them")
parser.add_argument("--elastic", type=int, default=0, help="1: at SIGTERM it goes after the step that all are at, and the others go on without it")
options = parser.parse_args()
BEGINS_ANEW = 9
if options.loop:
    sys.argv += ["--loop", "0"]
    count = 0
    while (code := subprocess.call([sys.executable, *sys.argv], env={**os.environ, "TORCHELASTIC_RESTART_COUNT": str(count)})) == BEGINS_ANEW:
        count += 1
    sys.exit(code)
saves = options.savers == "all" or str(options.rank) in options.savers.split(",")
run_of_job = os.environ.get("TORCHELASTIC_RESTART_COUNT", "")


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def content(step, rank=options.rank):
    seed = hashlib.sha256(b"%d of %d" % (rank, step)).digest()
    return (seed * (options.size // len(seed) + 1))[: options.size]


def steps_here():
    names = os.listdir(options.dir) if os.path.isdir(options.dir) else []
    return sorted(int(match.group(1)) for match in map(re.compile(r"step_(\d+)$").match, names) if match)


def mark_of(step):
    return os.path.join(options.dir, "step_%d" % step, "mark_%d.txt" % options.rank)


def of_run(step):
    """The run that has saved it comes first, so that a mixture can be told."""
    return b"run %s\n" % (run_of_job or "0").encode() + content(step)


def path_of(step, rank=options.rank):
    return os.path.join(options.dir, "step_%d" % step, ("__%d_0.distcp" if options.layout == "dcp" else "shard_%d.bin") % rank)


def ranks_to_read(step):
    """Of a distributed checkpoint, those that .metadata names; else oneself, or rank 0, which saves for all."""
    if options.layout != "dcp":
        return [options.rank if os.path.exists(path_of(step)) else 0]
    with open(os.path.join(options.dir, "step_%d" % step, ".metadata")) as file:
        return list(map(int, file.read().split()))


def resume():
    steps = steps_here()
    if not steps:
        return 0
    for rank in ranks_to_read(steps[-1]):
        rank = rank if os.path.exists(path_of(steps[-1], rank)) else 0  # which saves for all
        with open(path_of(steps[-1], rank), "rb") as file:
            if file.read().split(b"\n", 1)[1] != content(steps[-1], rank):
                say("TORN", steps[-1])
                sys.exit(99)
    if options.mark:
        say("marked", *sorted({mark.read_text() for mark in pathlib.Path(mark_of(steps[-1])).parent.glob("mark_*.txt")}))
    return options.anew_from if run_of_job not in ("", "0") and options.anew_from >= 0 else steps[-1]


def save(step):
    os.makedirs(os.path.dirname(path_of(step)), exist_ok=True)
    if options.mark:
        with open(mark_of(step), "w") as file:
            file.write(options.mark)
    with open(path_of(step), "wb") as file:
        file.write(of_run(step))
    if options.layout == "dcp" and options.rank == present[0]:
        metadata = os.path.join(os.path.dirname(path_of(step)), ".metadata")
        with open(metadata + ".tmp", "w") as file:
            file.write(" ".join(map(str, present)))
        os.rename(metadata + ".tmp", metadata)
    say("saved", step)
    for old in steps_here()[: -options.keep]:
        shutil.rmtree(os.path.dirname(path_of(old)), ignore_errors=True)  # in a shared directory all ranks remove it


def meet(step):
    """Waits until all ranks of this attempt are at the step, but for those that have gone. Returns whether any of them was asked to save: all are
    told the same."""
    global asked, present
    room = os.path.join(options.meet, os.environ.get("REPRIEVE_ATTEMPT", "0") + "." + run_of_job)
    os.makedirs(room, exist_ok=True)
    if goes:
        with open(os.path.join(room, "without-%d" % options.rank), "w"):
            say("goes")
            sys.exit(0)
    with open(os.path.join(room, "new-%d" % options.rank), "w") as file:
        file.write("asked" if asked else "not asked")
    asked = False
    os.rename(file.name, os.path.join(room, "%d.%d" % (step, options.rank)))
    words, here = [], []
    for rank in present:
        path = os.path.join(room, "%d.%d" % (step, rank))
        while not os.path.exists(path):
            if os.path.exists(os.path.join(room, "without-%d" % rank)) and not os.path.exists(path):
                break
            if os.path.exists(os.path.join(room, "failed")):  # as gloo's, when a machine is lost
                sys.exit(1)
            if os.path.exists(os.path.join(room, "gone")):  # a collective fails some time after a rank has
                time.sleep(0.5)
                sys.exit(BEGINS_ANEW)
            time.sleep(0.002)
        else:
            here.append(rank)
            with open(path) as file:
                words.append(file.read())
    present = here
    before = os.path.join(room, "%d.%d" % (step - 1, options.rank))  # all have read it, or they would not be here
    if os.path.exists(before):
        os.remove(before)
    return "asked" in words


def ask(number, frame):
    global asked
    asked = True


def go(number, frame):
    global goes
    goes = True


def add_to_curve(step):
    with open(os.path.join(options.dir, "curve.csv"), "a") as file:
        file.write("%d\n" % step)


def save_final():
    while not os.path.exists(options.final):
        time.sleep(0.01)
    os.makedirs(os.path.join(options.dir, "final_model"))
    with open(os.path.join(options.dir, "final_model", "weights.bin"), "wb") as file:
        file.write(content(options.steps))
    say("saved the final model")


asked = goes = False
present = list(range(options.ranks))
if options.elastic:
    signal.signal(signal.SIGTERM, go)
if options.signal:
    signal.signal(getattr(signal, "SIG" + options.signal), ask)
step = resume()
say("told", os.environ.get("REPRIEVE_RESUMING", "-"), os.environ.get("REPRIEVE_STEP", "-"))
say("resumed", step)
if options.settings:
    os.makedirs(options.dir, exist_ok=True)
    with open(os.path.join(options.dir, "args.json"), "w") as file:
        file.write('{"rank": %d}' % options.rank)
while step < options.steps:
    save_now = meet(step)
    time.sleep(options.step_time)
    step += 1
    say("step", step)
    due = options.every and step % options.every == options.offset and not 0 < options.until < step
    if options.curve:
        os.makedirs(options.dir, exist_ok=True)
        add_to_curve(step)
    if options.fixed and due:
        os.makedirs(options.dir, exist_ok=True)
        with open(os.path.join(options.dir, options.fixed), "wb") as file:
            file.write(content(step))
    if saves and (save_now and options.answers > 0 or due):
        save(step)
    options.answers -= save_now
    if save_now and options.leave:
        say("leaves")
        sys.exit(0)
    if step == options.fail_at:
        sys.exit(3)
    if step == options.anew_at and run_of_job == "0":
        with open(os.path.join(options.meet, os.environ.get("REPRIEVE_ATTEMPT", "0") + ".0", "gone"), "w"):
            sys.exit(BEGINS_ANEW)
    if step == options.anew_at and not run_of_job:
        os.environ["TORCHELASTIC_RESTART_COUNT"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.argv])
meet(step)
if options.final:
    save_final()
say("finished", step)
