"""CatBoost with its own snapshot, in the directory where it also writes its tables."""
from catboost import CatBoostClassifier, Pool

from digits import IMAGES, LABELS, arguments, report, resumed, work

options = arguments()
first = True


class Report:
    def after_iteration(self, info):
        global first
        work()
        if first and info.iteration > 1:
            resumed(info.iteration - 1)
        first = False
        report(info.iteration, info.metrics["learn"]["MultiClass"][-1])
        return True


CatBoostClassifier(iterations=options.steps, depth=3, learning_rate=0.1, loss_function="MultiClass", random_seed=7, thread_count=1,
                   train_dir=options.dir, save_snapshot=True, snapshot_file="experiment.cbsnapshot", snapshot_interval=1,
                   logging_level="Silent").fit(Pool(IMAGES[:400], LABELS[:400]), callbacks=[Report()])
