"""W&B offline, with its directory among the checkpoints."""
import wandb

from digits import arguments
from softmax import Softmax

options = arguments()
model = Softmax()
model.resume(f"{options.dir}/model-*.npz")
run = wandb.init(project="digits", mode="offline", dir=options.dir, settings=wandb.Settings(console="off", silent=True))
while model.step < options.steps:
    run.log({"loss": model.train()}, step=model.step)
    if options.every and model.step % options.every == 0:
        model.save(options.dir)
run.finish()
