"""PyTorch Lightning with nothing but a ModelCheckpoint, and no thought of preemption."""
import lightning.pytorch as pl
from lightning.pytorch.callbacks import ModelCheckpoint

from digits import arguments
from lit import Batches, Digits

options = arguments()
trainer = pl.Trainer(
    max_epochs=1, default_root_dir=options.dir, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
    enable_model_summary=False, callbacks=[ModelCheckpoint(options.dir, every_n_train_steps=options.every, save_top_k=-1)])
trainer.fit(Digits(), Batches(options.steps))
