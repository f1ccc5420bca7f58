/*
 * PURE. What a path in a checkpoint directory says: to which checkpoint the file belongs, and which
 * of the numbers in it counts checkpoints.
 *
 *	path					number	certain	numbered directory
 *	run/checkpoint-500/model.pt		500	yes	run/checkpoint-500
 *	epoch=3-step=1200.ckpt			1200	yes
 *	model-160.bin, 0160.eqx, model.120	160, 120 no
 *	1000/weights.h5				1000	no	1000
 *	last.pt, resnet50.pt, w2v.model		none
 *	out/2026-11-22/14-00-01/ckpt_140.pkl	140	yes
 *
 * A number counts behind a word for it (step, iter, checkpoint, ckpt, epoch, save, round, ...;
 * step before checkpoint before epoch), as "2560_steps", at the end of a file's name, or as a
 * directory's whole name. A date, a time, a version, a hash, an id, a metric (val_loss=0.83) and
 * the number of a part (rank0, shard-3, 00001-of-00004, __0_0.distcp) never count, nor do the epoch
 * and the batch of "recovery-3-120" (timm), where the batch begins anew with each epoch. Nor does 0
 * as a directory's name, nor a directory that is a number below a date, mlruns/, runs/ and the
 *like.
 *
 * The name of a directory is read as a file's would be if it says that it holds a state (model_35,
 * weights-120; with three digits or more optimizer_480, lora-480-state), or is an array store
 * (state_500.zarr, *.n5); in the latter, and below Zarr's directories "c", numbers are those of
 * chunks.
 *
 * A certain name in the path wins over a directory that is only a number; of certain directories,
 * the innermost wins (epoch-1/step-500). A file in a certain directory belongs to it, unless it
 * counts steps and the directory only epochs.
 *
 * "checkpoint-5.tmp/", "tmp-5/", "step-5.bin.tmp.123" and ".ckpt-5.pt.abc" are temporary names of
 * checkpoint 5. Paths are relative to the checkpoint directory; one that names a directory itself
 * ends in a slash, otherwise it is read as a file's.
 */
#ifndef CHECKPOINT_NAME_H
#define CHECKPOINT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoint_name {
	int64_t number;     /* -1: none: a fixed name */
	bool certain;       /* a word says that the number counts checkpoints */
	size_t unit_length; /* of the leading part of the path that is the numbered directory; 0:
			     * the number is in the file's own name, or there is none */
};

struct checkpoint_name checkpoint_name_parse(const char *path);

/*
 * Files with equal keys belong to one checkpoint: "run/checkpoint-500/" for a numbered directory,
 * "run/#160" for the files in run/ that have the number 160 in their own names, "" for all fixed
 * names. A temporary name has the key of the final one. The caller frees.
 */
char *checkpoint_name_key(const char *path);

/*
 * The path with '#' for each number that changes from checkpoint to checkpoint, so that the names
 * of one kind's checkpoints are equal: "checkpoint-#/rank0.pt", "model-#.bin",
 * "epoch=#-val_loss=#.ckpt". Of two numbers in a row, of which the second is not lower, both do: it
 * is a range ("buffer/#_#.pt" for 0_120 and 120_240), or an epoch and a step. Dates and metrics
 * change too, and of what has a number, hashes and UUIDs ("checkpoint-#/d/#"); numbers of parts and
 * versions stay, and so do the directories above a checkpoint, except for those that count epochs
 * or the like. In a numbered directory, a number without a word changes if it is the directory's
 * and is written with three digits or more: a lower one may be that of a part
 * ("checkpoint_1/optimizer_1.bin"). What marks a name as temporary stays. The caller frees.
 */
char *checkpoint_name_template(const char *path);

/* Equal for all checkpoints of one kind: the key with '#' for what changes: "run/checkpoint-#/",
 * "run/#", "". The caller frees. */
char *checkpoint_name_family(const char *path);

/* Of a fixed name that no other file will have, as it has a time of day, a hash or a UUID
 * ("replay/20261122T140001-3fa2b1c9.npz"): its directory and its ending, "replay/?.npz". NULL: it
 * is none. The caller frees. */
char *checkpoint_name_stream(const char *path);

/*
 * Does the name say that this is not finished: "step-5.pt.tmp", "tmp-step-5/model.pt"? Of a file
 * with a number of its own, only that name says so; of one in a numbered directory, the name of
 * that directory and what is below it; of fixed names, all of the path. A hidden name and a backup
 * ("model.pt~") may be finished.
 */
bool checkpoint_name_is_temporary(const char *path);

/* Is `path` the name of a backup of `of`: the same with a word added ("state.ckp~",
 * "old/model.pt", "state_prev.cpt")? A temporary name has no backup: what it becomes is shorter. */
bool checkpoint_name_is_backup(const char *path, const char *of);

/* checkpoint_name_parse().number: -1: none. */
int64_t step_of_path(const char *path);

/* checkpoint_name_parse().unit_length. */
size_t checkpoint_directory_length(const char *path);

/* The number that a word of a single name says to count checkpoints, as in "checkpoint-500" or
 * "epoch=3-step=10"; -1: none. The name has `length` bytes and no slash. */
int64_t checkpoint_number_of_name(const char *name, size_t length);

/* The decimal number at the beginning of the text; -1: none. */
int64_t checkpoint_number_at(const char *text, size_t length);

#endif
