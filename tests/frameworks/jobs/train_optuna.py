"""An Optuna study in the checkpoint directory: --journal in a file of JSON lines, else in SQLite. A trial is a step."""
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from digits import arguments, batch, report, resumed

options = arguments("--journal")
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = JournalStorage(JournalFileBackend(f"{options.dir}/journal.log")) if options.journal else f"sqlite:///{options.dir}/study.db"
study = optuna.create_study(study_name="digits", storage=storage, load_if_exists=True)


def finished():
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))


def objective(trial):
    number = finished() + 1
    threshold = trial.suggest_float("threshold", 0, 1)
    images, labels = batch(number)
    return float(((images.mean(axis=1) > threshold) == (labels > 4)).mean()) + threshold


if finished():
    resumed(finished())
while finished() < options.steps:
    step = finished() + 1
    study.sampler = optuna.samplers.RandomSampler(seed=step)
    study.optimize(objective, n_trials=1)
    report(step, study.get_trials(deepcopy=False)[-1].value)
