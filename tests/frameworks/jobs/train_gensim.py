"""gensim's Word2Vec on rows of digits; an epoch is a step. model.save() writes the large arrays into files of their own."""
import os

import numpy as np
from gensim.models import Word2Vec

from digits import IMAGES, arguments, report, resumed, work

options = arguments()
path, step = f"{options.dir}/w2v.model", 0
sentences = [[f"p{i}" for i in np.flatnonzero(image > 0.7)] for image in IMAGES[:100]]
if os.path.exists(path):
    model = Word2Vec.load(path)
    step = model.steps_done
    resumed(step)
else:
    model = Word2Vec(vector_size=16, min_count=1, workers=1, seed=7)
    model.build_vocab(sentences)
while step < options.steps:
    work()
    model.train(sentences, total_examples=len(sentences), epochs=1, start_alpha=0.025, end_alpha=0.025)
    step += 1
    report(step, np.abs(model.wv.vectors).sum(dtype="float64"))
    if options.every and step % options.every == 0:
        model.steps_done = step
        model.save(path, sep_limit=100)
