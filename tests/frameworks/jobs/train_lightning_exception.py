"""PyTorch Lightning as its documentation says for preemptible machines: OnExceptionCheckpoint, and ckpt_path at the next start."""
import os

import lightning.pytorch as pl
from lightning.pytorch.callbacks import OnExceptionCheckpoint

from digits import arguments
from lit import Batches, Digits

options = arguments()
path = os.path.join(options.dir, "on_exception.ckpt")
trainer = pl.Trainer(
    max_epochs=1, default_root_dir=options.dir, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
    enable_model_summary=False, enable_checkpointing=True, callbacks=[OnExceptionCheckpoint(options.dir)])
trainer.fit(Digits(), Batches(options.steps), ckpt_path=path if os.path.exists(path) else None)
