/*
 * PURE. What a file is by its name and by what the user says of it (--running, --exclude,
 * --include): part of a checkpoint, or a file that is written for as long as the job lives
 * (metrics.csv, logs, a tracker's records), or none of our business.
 *
 * A pattern is one of fnmatch(3). Without a '/' it is compared with every part of the path: "wandb"
 * takes the directory and all in it. With a '/' it is compared with the whole path, relative to the
 * checkpoint directory, and '*' also stands for '/'; "run/wandb" takes what is below as well. Upper
 * and lower case are different.
 */
#ifndef FILE_PATTERNS_H
#define FILE_PATTERNS_H

#include "base/err.h"
#include "file_list.h"

#include <stdbool.h>

enum file_kind {
	/* Nothing is said of it: it belongs to a checkpoint unless its behaviour says otherwise. */
	FILE_KIND_ORDINARY,
	/* It is written all the time: it delays no checkpoint, is saved with each, and stays where
	 * it is at a start. */
	FILE_KIND_RUNNING,
	/* It is in no snapshot, delays none, and stays where it is at a start. */
	FILE_KIND_EXCLUDED,
};

/* The user's patterns, owned. All zero: there are none. */
struct file_patterns {
	struct path_list running, exclude, include;
};

/*
 * Adds a copy to one of the lists. `text` is one pattern, or several with commas between; "./a" and
 * "a/" are the same as "a". ERR_INVALID: a pattern is empty, absolute, or leads out of the
 * directory by ".."; the sentence says what to write.
 */
int file_patterns_add(struct path_list *list, const char *text, struct err *err);

void file_patterns_release(struct file_patterns *patterns);

/*
 * The kind of a path, which is relative to the checkpoint directory. An --include wins over an
 * --exclude, which wins over a --running, whatever their order; all win over the names that are
 * known (*.csv, *.log, ...; *.lock). `patterns` NULL: there are only those names.
 */
enum file_kind file_patterns_kind(const struct file_patterns *patterns, const char *path);

/* Does it lie in a .git? */
bool file_patterns_is_repository(const char *path);

/* A lock is a word or two, or a link. What has its name and is larger, as uv.lock, or is a
 * directory, is none, and belongs to the snapshot all the same. */
#define FILE_LOCK_MOST 4096
/* The known name of locks by which file_patterns_kind() is EXCLUDED; NULL: it is not by one. */
const char *file_patterns_lock_name(const struct file_patterns *patterns, const char *path);

/*
 * The pattern of the user's that decides file_patterns_kind(); NULL: none of them matches. It is
 * borrowed from `patterns`, and the same pointer for each path that one pattern matches.
 */
const char *file_patterns_match(const struct file_patterns *patterns, const char *path);

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

/* `path` is relative to the checkpoint directory. */
bool companion_file_is(const char *path);
/* Does a word of the name say that it is a setting (args.json, config.yaml, train_opt.txt), or is
 * it a page or a source (index.html, train.py)? It may be written before there is anything to
 * resume from. */
bool companion_file_is_setting(const char *path);
/* Says a word of the name that it is a state of the job's ("state.cpt", "weights")? */
bool file_is_called_state(const char *path);
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
