"""PyTorch Lightning with nothing but a ModelCheckpoint, and no thought of preemption.

Under Slurm, and what looks like it, Lightning saves in the signal's handler, in the middle of a step. What the loader has given by then counts
as used: a loader that knows where it is would skip that batch. So here the step says which data it takes."""
import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader

from digits import arguments
from lit import Digits

options = arguments()
trainer = pl.Trainer(
    max_epochs=1, default_root_dir=options.dir, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
    enable_model_summary=False, callbacks=[ModelCheckpoint(options.dir, every_n_train_steps=options.every, save_top_k=-1)])
trainer.fit(Digits(by_step=True), DataLoader(range(options.steps)))
