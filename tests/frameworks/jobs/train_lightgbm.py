"""LightGBM; a callback saves the model each few rounds, and the newest goes on as init_model."""
import glob
import re

import lightgbm as lgb

from digits import IMAGES, LABELS, arguments, report, resumed, work

options = arguments()
newest = max(glob.glob(f"{options.dir}/model_*.txt"), key=lambda path: int(re.findall(r"\d+", path)[-1]), default=None)
done = lgb.Booster(model_file=newest).current_iteration() if newest else 0
if done:
    resumed(done)


def each_round(state):
    work()
    step = state.model.current_iteration()
    report(step, state.evaluation_result_list[0][2])
    if options.every and step % options.every == 0:
        state.model.save_model(f"{options.dir}/model_{step}.txt")


data = lgb.Dataset(IMAGES[:400], LABELS[:400])
lgb.train({"objective": "multiclass", "num_class": 10, "num_leaves": 7, "metric": "multi_logloss", "num_threads": 1, "verbose": -1},
          data, options.steps - done, valid_sets=[data], init_model=newest, callbacks=[each_round])
