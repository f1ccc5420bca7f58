"""submitit's local executor; PYTHON is the interpreter of its tasks, as its `python=` argument takes it, with words in front."""
import os
import time

import submitit

from digits import arguments
from task import Training

options = arguments()
executor = submitit.LocalExecutor(folder=f"{options.dir}.submitit", python=os.environ["PYTHON"])
executor.update_parameters(timeout_min=60, stderr_to_stdout=True)
job = executor.submit(Training(options))
while not job.done():
    time.sleep(0.1)
