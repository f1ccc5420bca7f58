"""Reprieve for a training job in Python: one file, no dependencies. Copy it beside your script.

    import reprieve

    for step in range(first, last):
        train(step)
        reprieve.progress(step)
        if step % 1000 == 0 or reprieve.requested():
            save(step)                # written, closed, renamed into its place
            reprieve.saved(step)

Without Reprieve (`reprieve run -- python train.py`) every function does nothing and returns False, or
None where it returns a path: `directory = reprieve.checkpoint_dir() or "checkpoints"`.
requested() stays true until this process calls saved() or the request is withdrawn. Ranks that save
together must agree on the step: use agreed(), which calls requested() on rank 0 and sends the result
to the others through torch.distributed.

For frameworks: LightningCallback, TrainerCallback (Hugging Face) and KerasCallback. They are created
when first used, so that importing this file imports no framework. Loop is for a loop of your own.
Python 3.8 and later, Linux.
"""
import fcntl
import glob
import mmap
import os
import socket
import struct
import sys
import threading
import time

__all__ = ["requested", "agreed", "saved", "progress", "resuming", "checkpoint_dir", "newest", "Loop",
           "LightningCallback", "TrainerCallback", "KerasCallback"]

# The layout of the page and of a slot; reprieve.h describes it.
_MAGIC, _VERSION = 0x47505652, 1
_REQUESTED, _ENDED = 2, 3  # positions of 4-byte words
_DOORBELL, _DOORBELL_END = 64, 192
_PID, _POLLS, _SEEN, _ANSWERED, _SAVED_COUNT, _STEP_COUNT = range(6)
_SAVED_STEP, _STEP = 3, 4  # positions of 8-byte words
_SLOT_SIZE = 64

_page = None  # 4-byte words; None: not opened yet; False: there is none
_doorbell = b""
_memory = None
_slot = None  # 4-byte words of this process's slot
_slot_steps = None  # the same as 8-byte words
_lock = threading.Lock()


def _map(descriptor):
    global _memory, _doorbell
    size = os.fstat(descriptor).st_size
    if size < 192:
        return None
    memory = mmap.mmap(descriptor, size)
    magic, version, _, _, offset, slot_size, count = struct.unpack_from("=7I", memory)
    if (magic != _MAGIC or version != _VERSION or slot_size < _SLOT_SIZE or slot_size % 8 or offset % 64 or count > 65536
            or offset + count * slot_size > size):
        memory.close()
        return None
    _memory = memory
    _doorbell = memory[_DOORBELL:_DOORBELL_END].split(b"\0", 1)[0]
    return memoryview(memory)


def _claim(descriptor, view):
    for _ in range(100):
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
            break
        except OSError:
            time.sleep(0.001)
    else:
        return None
    words = view.cast("I")
    offset, size, count = words[4], words[5], words[6]
    mine, found = os.getpid(), None
    for at in range(offset // 4, (offset + count * size) // 4, size // 4):
        pid = words[at]
        if pid == mine:
            return at * 4
        if pid == 0 and found is None:
            found = at
    if found is None:
        return None
    for field in (_POLLS, _SEEN, _SAVED_COUNT, _STEP_COUNT):
        words[found + field] = 0
    words[found + _ANSWERED] = words[_ENDED]
    words[found + _PID] = mine
    return found * 4


def _begin():
    """Maps the page and claims a slot. False without Reprieve."""
    global _page, _slot, _slot_steps
    with _lock:
        if _page is not None:
            return _page is not False
        path = os.environ.get("REPRIEVE_PAGE", "")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC) if path.startswith("/") else -1
        except OSError:
            descriptor = -1
        page = False
        try:
            if descriptor >= 0:
                view = memoryview(_memory) if _memory is not None else _map(descriptor)
                at = _claim(descriptor, view) if view is not None else None
                if at is not None:
                    slot = view[at:at + _SLOT_SIZE]
                    _slot, _slot_steps = slot.cast("I"), slot.cast("q")
                    page = view.cast("I")
        except (OSError, ValueError):
            page = False
        finally:
            if descriptor >= 0:
                os.close(descriptor)
        _page = page
        return page is not False


def _forget():
    """A forked child reports for itself."""
    global _page, _slot, _slot_steps, _lock
    _page = _slot = _slot_steps = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget)


def requested():
    """True when a checkpoint is wanted as soon as possible, until saved() is called. Call it in every step."""
    if not _page:
        if _page is False or not _begin():
            return False
    if not _slot[_POLLS]:
        _slot[_POLLS] = 1
    number = _page[_REQUESTED]
    if number == 0 or number == _slot[_ANSWERED]:
        return False
    _slot[_SEEN] = number
    return True


def saved(step=None):
    """Reports that a checkpoint is complete: its files are closed and have their final names.

    Call it in every process that wrote a part."""
    if not _page and not _begin():
        return
    _slot_steps[_SAVED_STEP] = -1 if step is None else int(step)
    # A request that came during the save is another one: this checkpoint is too old for it.
    _slot[_ANSWERED] = _slot[_SEEN]
    _slot[_SAVED_COUNT] = (_slot[_SAVED_COUNT] + 1) & 0xFFFFFFFF
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bell:
            bell.setblocking(False)
            bell.sendto(b"\0", _doorbell)
    except OSError:
        pass  # the supervisor reads the slots once a second anyway


def progress(step):
    """Reports that `step` is done: `reprieve status` shows it, and how long a step takes."""
    if not _page:
        if _page is False or not _begin():
            return
    _slot_steps[_STEP] = int(step)
    _slot[_STEP_COUNT] = (_slot[_STEP_COUNT] + 1) & 0xFFFFFFFF


def resuming():
    """True when this run continues from a checkpoint of an earlier one."""
    return os.environ.get("REPRIEVE_RESUMING") == "1"


def checkpoint_dir(default=None):
    """The checkpoint directory that Reprieve saves, as a path; without Reprieve `default`."""
    return os.environ.get("REPRIEVE_CHECKPOINT_DIR") or default


def newest(pattern="*", directory=None):
    """The newest path in that directory (checkpoint_dir()) that matches, or None: what to resume from."""
    directory = directory or checkpoint_dir()
    paths = glob.glob(os.path.join(glob.escape(directory), pattern)) if directory else ()
    return max(paths, key=os.path.getmtime, default=None)


def _distributed():
    torch_distributed = sys.modules.get("torch.distributed")
    if torch_distributed is None or not torch_distributed.is_available() or not torch_distributed.is_initialized():
        return None
    return torch_distributed if torch_distributed.get_world_size() > 1 else None


def agreed():
    """requested() of rank 0, on all ranks of torch.distributed. All ranks must call it in every step."""
    distributed = _distributed()
    if distributed is None:
        return requested()
    torch = sys.modules["torch"]
    device = torch.device("cuda", torch.cuda.current_device()) if distributed.get_backend() == "nccl" else torch.device("cpu")
    word = torch.tensor([int(requested())], device=device)
    distributed.broadcast(word, 0)
    wanted = bool(word.item())
    if wanted and _slot is not None:
        _slot[_SEEN] = _page[_REQUESTED]
    return wanted


class Loop:
    """For a loop of your own: call done(step) after each step.

    It calls save(step) when a checkpoint is wanted, and every `every` steps."""

    def __init__(self, save, every=None):
        self.save, self.every = save, every

    def done(self, step):
        """True if it has saved."""
        progress(step)
        wanted = agreed()
        if not wanted and not (self.every and step and step % self.every == 0):
            return False
        self.save(step)
        saved(step)
        return True


def _replace(previous, path):
    """Deletes the previous checkpoint of a callback; returns the path of the new one."""
    if previous and previous != path and os.path.isfile(previous):
        os.unlink(previous)
    return path


def _make_lightning_callback():
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

    class LightningCallback(Callback):
        """Trainer(callbacks=[reprieve.LightningCallback()]) saves `reprieve-STEP.ckpt` on request. To resume:
        trainer.fit(model, ckpt_path=reprieve.newest("*.ckpt"))."""

        def __init__(self, dirpath=None):
            super().__init__()
            self.dirpath, self.newest = dirpath, None

        def on_train_batch_end(self, trainer, *_):
            step = trainer.global_step
            progress(step)
            if not agreed():
                return
            directory = self.dirpath or checkpoint_dir(trainer.default_root_dir)
            path = os.path.join(directory, f"reprieve-{step}.ckpt")
            trainer.save_checkpoint(path)
            saved(step)
            if trainer.is_global_zero:
                self.newest = _replace(self.newest, path)

    return LightningCallback


def _make_trainer_callback():
    from transformers import TrainerCallback as Base

    class TrainerCallback(Base):
        """Trainer(..., callbacks=[reprieve.TrainerCallback()]) saves checkpoint-STEP on request. To resume:
        trainer.train(resume_from_checkpoint=reprieve.resuming())."""

        def on_step_end(self, args, state, control, **_):
            progress(state.global_step)
            if agreed():
                control.should_save = True
            return control

        def on_save(self, args, state, control, **_):
            saved(state.global_step)
            return control

    return TrainerCallback


def _make_keras_callback():
    try:
        from keras.callbacks import Callback
    except ImportError:
        from tensorflow.keras.callbacks import Callback

    class KerasCallback(Callback):
        """model.fit(..., callbacks=[reprieve.KerasCallback()]) saves `reprieve-STEP.keras` on request, or what save(model, step)
        saves. To resume: keras.models.load_model(reprieve.newest("*.keras"))."""

        def __init__(self, save=None):
            super().__init__()
            self.save, self.newest, self.step = save, None, 0

        def _save_here(self, model, step):
            os.makedirs(checkpoint_dir("."), exist_ok=True)
            path = os.path.join(checkpoint_dir("."), f"reprieve-{step}.keras")
            partial = path[:-len(".keras")] + ".partial.keras"
            model.save(partial)
            os.replace(partial, path)
            self.newest = _replace(self.newest, path)

        def on_train_batch_end(self, batch, logs=None):
            # The optimizer's step continues after a resume, as the names of the checkpoints must.
            optimizer = getattr(self.model, "optimizer", None)
            self.step = int(optimizer.iterations) if hasattr(optimizer, "iterations") else self.step + 1
            progress(self.step)
            if requested():
                (self.save or self._save_here)(self.model, self.step)
                saved(self.step)

    return KerasCallback


_MAKERS = {"LightningCallback": _make_lightning_callback, "TrainerCallback": _make_trainer_callback,
           "KerasCallback": _make_keras_callback}


def __getattr__(name):
    maker = _MAKERS.get(name)
    if maker is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = globals()[name] = maker()
    return made


def _program():
    """Where `pip install` has put the program; else the one on PATH."""
    import importlib.metadata
    import shutil

    try:
        files = importlib.metadata.files("reprieve") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == "reprieve" and file.parent.name == "bin":
            return str(file.locate().resolve())
    return shutil.which("reprieve")


def _main():
    """`python -m reprieve ...` is `reprieve ...`: the same process, for whoever sends it signals."""
    program = _program()
    if not program:
        sys.exit("reprieve: the program is not installed: this module is for training scripts")
    os.execv(program, ["reprieve", *sys.argv[1:]])


if __name__ == "__main__":
    _main()
