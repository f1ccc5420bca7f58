"""PyTorch Lightning with reprieve.LightningCallback."""
import lightning.pytorch as pl

import reprieve
from digits import arguments
from lit import Batches, Digits

options = arguments()
trainer = pl.Trainer(
    max_epochs=1, default_root_dir=options.dir, accelerator="cpu", devices=1, logger=False, enable_progress_bar=False,
    enable_model_summary=False, enable_checkpointing=False, callbacks=[reprieve.LightningCallback()])
trainer.fit(Digits(), Batches(options.steps), ckpt_path=reprieve.newest("*.ckpt"))
