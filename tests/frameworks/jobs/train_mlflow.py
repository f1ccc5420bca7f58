"""MLflow's file store in the checkpoint directory: a file for each metric, and models as artifacts. One run for all starts."""
import os

import mlflow

from digits import arguments
from softmax import Softmax

options = arguments()
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
mlflow.set_tracking_uri(f"file://{os.path.abspath(options.dir)}/mlruns")
model = Softmax()
model.resume(f"{options.dir}/mlruns/*/*/artifacts/model-*.npz")
earlier = mlflow.search_runs(["0"], output_format="list")
with mlflow.start_run(earlier[0].info.run_id if earlier else None) as run:
    artifacts = f"{options.dir}/mlruns/0/{run.info.run_id}/artifacts"
    while model.step < options.steps:
        mlflow.log_metric("loss", model.train(), step=model.step)
        if options.every and model.step % options.every == 0:
            os.makedirs(artifacts, exist_ok=True)
            model.save(artifacts)
