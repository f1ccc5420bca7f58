/*
 * PURE. What lies beside checkpoints and is none: settings, notes, results and pictures. A machine
 * that writes nothing else saves no checkpoints.
 *
 * Only names are looked at. When in doubt a file is taken for one of a checkpoint, since what is
 * taken for a companion may be saved with a checkpoint of another moment:
 *
 *	args.json, config.yaml, README.md, eval/scores.tsv	texts, under fixed names
 *	model_config.json, training_args.yaml			... a word says that it is a setting
 *	samples/step_500.png, attention.svg			pictures, under whatever name
 *	model.json, trainer_state.json, last.txt, state.yaml	not: a word says that it is a state
 *	step-500/args.json, metrics_500.json			not: they have a number
 *	last_rank1.pt, rng.npy, latest, notes			not: other kinds
 *
 * What marks a name as temporary (args.json.tmp) changes nothing.
 */
#ifndef COMPANION_FILE_H
#define COMPANION_FILE_H

#include <stdbool.h>

/* `path` is relative to the checkpoint directory. */
bool companion_file_is(const char *path);
/* Does a word of the name say that it is a setting (args.json, config.yaml, train_opt.txt), or is
 * it a page or a source (index.html, train.py)? It may be written before there is anything to
 * resume from. */
bool companion_file_is_setting(const char *path);
/*
 * Does a word of the path say that this is the best so far ("model_best.pth.tar", "best/model.pt")?
 * It is written when a metric was better, so that a save without it lacks nothing, and an older one
 * beside a newer checkpoint is right.
 */
bool companion_file_is_best(const char *path);
/*
 * Is it what an evaluation of a checkpoint has left ("step-500/eval_results.json",
 * "checkpoint-9/samples.png", "checkpoint-9/logits.npz")? It is written when that is done, which
 * may be long after the save.
 */
bool companion_file_is_result(const char *path);

#endif
