"""Hugging Face Trainer with enable_jit_checkpoint."""
from transformers import TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from bert import Classifier, Digits, Said, model
from digits import arguments

options = arguments()
training = TrainingArguments(
    output_dir=options.dir, enable_jit_checkpoint=True, save_steps=options.every, max_steps=options.steps, use_cpu=True,
    per_device_train_batch_size=32, learning_rate=1e-3, report_to=[], disable_tqdm=True, logging_steps=10000)
# It saves between a step's forward pass and its update, so that what the step has drawn from the generator is not drawn again: with
# dropout the losses would be others after the resume, as they would without Reprieve.
trainer = Classifier(model=model(dropout=0), args=training, train_dataset=Digits(), callbacks=[Said()])
trainer.train(resume_from_checkpoint=get_last_checkpoint(options.dir))
