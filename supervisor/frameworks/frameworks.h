/*
 * supervisor/frameworks/: what is known about each training framework's checkpoints: how to
 * recognise a job of it, how to ask it to save, and what a finished save looks like.
 *
 * Read first: profile.h, then a few rows of profile_table.c.
 *
 * For other folders:
 *
 *	profile.h		PURE: one profile for each framework, and the choice between them
 *	profile.c		by the script that a command names, and the files of its directory
 *	profile_table.c		the profiles: one row for each framework
 *	layout_rules.c		PURE: incomplete checkpoints by names: a marker is missing, or left
 *	file_format.c		PURE: is a file complete by its format: zip, npy, HDF5, ...
 *	lightning_slurm.c	an emulated Slurm environment, in which Lightning saves on SIGUSR1
 */
#ifndef FRAMEWORKS_H
#define FRAMEWORKS_H

#include "base/err.h"
#include "profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- profile.c --- */

/*
 * Recognises the framework that a command trains with. Reads the script that the command names, at
 * most 256 KiB, and the file names in the checkpoint directory. Blocks. It is no error if no
 * framework is recognised.
 */

/* `name`: a profile's name, or "auto". `directory` need not exist. ERR_INVALID: no such profile;
 * the sentence lists all names. */
int profile_detect(const char *name, char *const *command, const char *directory,
		   struct profile_choice *choice, struct err *err);

/* --- layout_rules.c --- */

/*
 * PURE. Finds incomplete checkpoints by the layout rules of the profiles: a marker is missing, a
 * sentinel is still there, or the pointer file names a lower number. The contents of files are
 * checked by file_format.c.
 */

struct layout_view {
	const struct snapshot_files *files; /* sorted by path */
	/* Returns the text of a small file, owned by the view; NULL: it cannot be read. */
	const char *(*text)(void *arg, const char *path);
	/* Was the file written in the save that is being checked? NULL: not known, every file
	 * counts. */
	bool (*fresh)(void *arg, const char *path);
	void *arg;
	/* Another machine has the markers that the one with rank 0 has (profile_rule.at_rank_0). */
	bool marker_elsewhere;
};

/* `path`: the checkpoint's directory or the file, relative. `why`: "checkpoint-5 has no
 * trainer_state.json". Both are valid during the call. Called once for each path. */
typedef void layout_rules_fn(void *arg, const char *path, const char *why);

/* Applies the rules of `profile` (may be NULL), and those rules of all other profiles that are
 * marked `anywhere`. */
void layout_rules_find_incomplete(const struct profile *profile, const struct layout_view *view,
				  layout_rules_fn *report, void *arg);

/* --- file_format.c --- */

/*
 * PURE. Is a file complete by its own format? Judges by its first and last bytes and its size, for
 * formats that record where they end: zip, npy, safetensors, HDF5, XGBoost's, and the frameworks'
 * JSON. Detects a truncated file, but not a hole in the middle.
 *
 * A pickle (protocol 2 to 5) ends where its opcodes say. It is VALID if that is the end of the
 * file: of what lies between head and tail, only the opcodes are read, and not the arrays between
 * them; and TORN if it is shorter than its first frame. With several pickles or other data in one
 * file (joblib, PyTorch's old format), it is UNKNOWN.
 */

/* How many bytes to read: of the head before file_format_head_wanted() is called; of the tail,
 * enough for a zip end record with the longest comment; of the head at most. */
#define FILE_FORMAT_HEAD 4096
#define FILE_FORMAT_TAIL (65536 + 128)
#define FILE_FORMAT_HEAD_MOST (16 << 20)

enum file_format_verdict {
	FILE_FORMAT_UNKNOWN, /* not a format that is known here */
	FILE_FORMAT_VALID,   /* it ends where the format records its end */
	FILE_FORMAT_TORN,    /* truncated, or not finished by its writer */
};

struct file_format_sample {
	const char *name; /* the last part of the path */
	uint64_t size;
	const uint8_t *head; /* the first bytes */
	size_t head_size;
	const uint8_t *tail; /* the last bytes; may overlap the head */
	size_t tail_size;
	bool sparse; /* it has holes: its length was set before it was written */
	/* Reads what lies elsewhere, as pread(2): how many bytes; NULL: nothing more is read. */
	size_t (*read)(const void *file, uint64_t at, void *to, size_t size);
	const void *file;
};

/* Given the first FILE_FORMAT_HEAD bytes: how many of the head file_format_check() needs. Never
 * more than FILE_FORMAT_HEAD_MOST. */
size_t file_format_head_wanted(const struct file_format_sample *sample);

/* `why` (`size` bytes): for TORN, a clause to follow the file's name, such as "has no zip end
 * record". */
enum file_format_verdict file_format_check(const struct file_format_sample *sample, char *why,
					   size_t size);

/* Of a VALID file that was written from empty, and whose close nobody saw: was all of it written?
 */
enum file_format_end {
	FILE_FORMAT_END_UNKNOWN, /* it may be VALID before that, as HDF5 is after each flush */
	/* that is one whole object, and another may have been to follow in the file: a pickle, npy
	 */
	FILE_FORMAT_END_OF_ONE,
	/* what makes it VALID is written last: zip, safetensors, XGBoost's */
	FILE_FORMAT_END_OF_ALL,
};

enum file_format_end file_format_end(const struct file_format_sample *sample);

/* Is that a name which checkpoint files usually have (*.pt, *.safetensors, *.pkl, ...)? By the last
 * part of the path. */
bool file_format_is_checkpoint_name(const char *path);

/* --- lightning_slurm.c --- */

/*
 * An emulated Slurm environment for PyTorch Lightning. Under Slurm, and only there, Lightning saves
 * on SIGUSR1 and continues, calls `scontrol requeue` after the save, and resumes from it by itself.
 * If it is safe, the job gets the environment variables of a Slurm job with one task, and a
 * `scontrol` that does nothing. The script does not change. Measured with Lightning 2.6.6
 * (signal_connector.py, checkpoint_connector.py: <default_root_dir>/hpc_ckpt_N.ckpt).
 */

struct lightning_slurm_facts {
	const char *script;  /* text of the Python script; NULL: unknown */
	bool in_environment; /* our environment has variables of Slurm, a launcher or MPI */
	bool launched;       /* the command contains a launcher */
	bool many_devices;   /* more than one GPU is visible */
	/* the checkpoint directory is the current directory, which is Lightning's default */
	bool directory_is_root;
};

/*
 * PURE. Can the emulation do no harm? With several devices Lightning would expect one Slurm task
 * for each and wait for them for ever. A save outside of the checkpoint directory would not be
 * noticed. False if in doubt.
 */
bool lightning_slurm_is_safe(const struct lightning_slurm_facts *facts);

/* Collects the facts on this machine (environment, GPUs) and judges them. */
bool lightning_slurm_is_available(const char *script, bool launched, const char *checkpoint_dir);

/* Creates `directory` with a `scontrol` that always succeeds. ERR_DENIED: programs in it cannot be
 * executed (noexec). */
int lightning_slurm_create(const char *directory, struct err *err);

/* The job's environment variables, "NAME=value", NULL-terminated; the caller frees each and the
 * array. `directory` is put in front of PATH. */
char **lightning_slurm_environment(const char *directory, unsigned attempt);

#endif
