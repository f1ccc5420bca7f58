"""partial_fit() of scikit-learn; joblib.dump() over the same file."""
import os

import joblib
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import log_loss

from digits import CLASSES, IMAGES, LABELS, arguments, batch, report, resumed

options = arguments()
path, step = f"{options.dir}/classifier.joblib", 0
model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, random_state=7)
if os.path.exists(path):
    step, model = joblib.load(path)
    resumed(step)
while step < options.steps:
    step += 1
    model.partial_fit(*batch(step), classes=range(CLASSES))
    report(step, log_loss(LABELS[:200], model.predict_proba(IMAGES[:200])))
    if options.every and step % options.every == 0:
        joblib.dump((step, model), path)
