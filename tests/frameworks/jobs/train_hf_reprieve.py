"""Hugging Face Trainer with reprieve.TrainerCallback."""
from transformers import TrainingArguments

import reprieve
from bert import Classifier, Digits, Said, model
from digits import arguments

options = arguments()
training = TrainingArguments(
    output_dir=options.dir, save_strategy="no", max_steps=options.steps, use_cpu=True, per_device_train_batch_size=32,
    learning_rate=1e-3, report_to=[], disable_tqdm=True, logging_steps=10000)
trainer = Classifier(model=model(), args=training, train_dataset=Digits(), callbacks=[Said(), reprieve.TrainerCallback()])
trainer.train(resume_from_checkpoint=reprieve.resuming())
