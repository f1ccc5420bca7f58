"""XGBoost with its TrainingCheckPoint; the highest number goes on as xgb_model."""
import glob
import re

import xgboost as xgb

from digits import IMAGES, LABELS, arguments, report, resumed, work

options = arguments()


class Report(xgb.callback.TrainingCallback):
    def before_iteration(self, model, epoch, evals_log):
        work()

    def after_iteration(self, model, epoch, evals_log):
        report(model.num_boosted_rounds(), evals_log["train"]["mlogloss"][-1])
        return False


data = xgb.DMatrix(IMAGES[:400], LABELS[:400])
newest = max(glob.glob(f"{options.dir}/digits_*.ubj"), key=lambda path: int(re.findall(r"\d+", path)[-1]), default=None)
done = 0
if newest:
    done = xgb.Booster(model_file=newest).num_boosted_rounds()
    resumed(done)
checkpoint = xgb.callback.TrainingCheckPoint(options.dir, name="digits", interval=options.every)
xgb.train({"objective": "multi:softprob", "num_class": 10, "max_depth": 3, "eta": 0.1, "nthread": 1, "seed": 7},
          data, options.steps - done, evals=[(data, "train")], verbose_eval=False, xgb_model=newest,
          callbacks=[Report(), checkpoint])
