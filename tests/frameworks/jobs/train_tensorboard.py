"""TensorBoard's event files beside the checkpoints."""
from tensorboardX import SummaryWriter

from digits import arguments
from softmax import Softmax

options = arguments()
model = Softmax()
model.resume(f"{options.dir}/model-*.npz")
with SummaryWriter(f"{options.dir}/runs", flush_secs=1) as writer:
    while model.step < options.steps:
        writer.add_scalar("loss", model.train(), model.step)
        if options.every and model.step % options.every == 0:
            model.save(options.dir)
