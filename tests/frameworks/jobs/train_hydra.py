"""Hydra: each start writes into a directory of its own, named by date and time, with .hydra/ and a log beside the checkpoints."""
import logging
import sys

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig

from digits import arguments
from softmax import Softmax

options = arguments()
sys.argv[1:] = [f"hydra.run.dir={options.dir}/${{now:%Y-%m-%d}}/${{now:%H-%M-%S}}"]
ConfigStore.instance().store("config", {"rate": 0.5})


@hydra.main(version_base=None, config_name="config")
def train(config):
    model, run = Softmax(), HydraConfig.get().runtime.output_dir
    model.resume(f"{options.dir}/*/*/model-*.npz")
    while model.step < options.steps:
        logging.info("step %d: %f", model.step, model.train())
        if options.every and model.step % options.every == 0:
            model.save(run)


train()
