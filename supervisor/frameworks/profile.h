/*
 * PURE. What is known about a framework's checkpoints: how to recognise a job of it, how to ask the
 * job to save, how a finished save differs from a torn one, and what exit codes mean after a
 * request. profile_table.c has one row for each framework. profile_detect() reads the files by
 * which a row is recognised; completion/content_check.h reads the checkpoints.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include "storage/storage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROFILE_NAMES 8
#define PROFILE_RULES 4
#define PROFILE_CODES 5

enum profile_ask {
	PROFILE_ASK_NONE,   /* it cannot be asked; there are only its periodic checkpoints */
	PROFILE_ASK_SIGNAL, /* by `signal`, which is sent only to a process that catches it */
};

enum profile_target {
	PROFILE_TARGET_ALL,    /* every rank must get the request */
	PROFILE_TARGET_ANY,    /* one rank, the lowest, gets it and tells the others */
	PROFILE_TARGET_RANK_0, /* only rank 0 may get it */
};

/* What the job does after a request. */
enum profile_after {
	PROFILE_AFTER_ENDS,      /* it saves and ends: ask only if it has to end anyway */
	PROFILE_AFTER_CONTINUES, /* it saves and continues: it may be asked at any time */
};

enum profile_rule_kind {
	/* ends the list */
	PROFILE_RULE_NONE,
	/* a directory that contains `member` (NULL: any file) must contain `marker` */
	PROFILE_RULE_NEEDS,
	/* a directory that contains `marker` is not complete */
	PROFILE_RULE_FORBIDS,
	/* the file `marker` names a number: directories beside it with a higher number are not
	 * complete */
	PROFILE_RULE_POINTER,
};

/* Names are fnmatch(3) patterns without slashes. */
struct profile_rule {
	enum profile_rule_kind kind;
	bool anywhere;          /* the names are unmistakable: apply it to all jobs */
	const char *checkpoint; /* the checkpoint's directory; NULL: any */
	const char *member;     /* a file in it */
	const char *marker;     /* a file in it, or beside it for POINTER */
	/* where several machines save one checkpoint into directories of their own, the one with
	 * rank 0 alone has the marker */
	bool at_rank_0;
};

/* The members are in the order in which they are read. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct profile {
	/* for --profile */
	const char *name;
	/* what else people call it, besides the modules of `imports` */
	const char *also[PROFILE_NAMES];
	/* for people */
	const char *title;

	/*
	 * How it is recognised; one match in any list is enough, and each list ends in NULL.
	 * `words`: a program, a module after -m, or an option of the command line. `programs`: the
	 * same, but not as an option's value, because the name is short or common. `imports`: a
	 * module that the script imports; if `with` is not empty, the script must contain one of
	 * its texts too. `texts`: a text in the script. `files`: a name in the checkpoint
	 * directory.
	 */
	const char *words[PROFILE_NAMES], *programs[PROFILE_NAMES];
	const char *imports[PROFILE_NAMES], *with[PROFILE_NAMES];
	const char *texts[PROFILE_NAMES];
	const char *files[PROFILE_NAMES];

	/* It knows the files of any program that writes them, so that a command which is recognised
	 * by it need not train. */
	bool only_format;

	enum profile_ask ask;
	int signal;
	enum profile_target whom;
	enum profile_after after;
	/* how long the framework itself waits between the request and the first write */
	int32_t patience_ms;
	/* the framework handles no signal: a request has an effect only if the script does */
	bool script_handles;
	/* a request has an effect only if the script or the command contains one of these; empty:
	 * always */
	const char *enables[PROFILE_NAMES];
	/* a clause for the user: what a request needs, or why the job cannot be asked */
	const char *ask_note;

	/* names of files whose rename or close ends a save, if one process writes all of it;
	 * empty: only the quiet time ends a save */
	const char *completion_markers[PROFILE_NAMES];
	/* a clause for the user: how a finished save is recognised */
	const char *completion_note;
	struct profile_rule rules[PROFILE_RULES];
	/* names of files and directories that no snapshot contains */
	const char *temporary[PROFILE_NAMES];

	/* patterns of files that it writes all the time, as by --running */
	const char *running[PROFILE_NAMES];

	/* names of files: what is in the directory of one can be read by any number of machines, if
	 * they have the files of all that have saved it */
	const char *resharded[PROFILE_NAMES];
	/* names of files that each rank has for itself, and that it does without */
	const char *by_rank[PROFILE_NAMES];

	/* a clause for the user: how to make the job resume */
	const char *resume_note;
	/* exit codes other than 0 that mean "saved, run me again" after a request; ended by 0 */
	int resume_codes[PROFILE_CODES];
	/* after a request, exit code 0 does not mean that the training is finished */
	bool zero_is_asked;
	/* if it cannot be asked, SIGTERM ends it without a save */
	bool ends_unsaved;
	/* nor does SIGTERM end it: SIGKILL does */
	bool ends_by_kill;
	/* under Slurm it saves on SIGUSR1 and continues: see lightning_slurm.c */
	bool lightning_slurm;
	/* it renames files out of $TMPDIR, which must be on the checkpoints' file system */
	bool local_tmpdir;
};

/* --- the table (profile_table.c) --- */

/* The most specific first: they are tried in this order. */
extern const struct profile profile_rows[];
extern const size_t profile_count;

/* By its name, or by what else it is called, in any case: "transformers", "PyTorch". NULL: none. */
const struct profile *profile_find(const char *name);
/* All names, "files, torch, ..."; the caller frees. */
char *profile_names(void);

/* --- recognising --- */

/* What is known about a job before it starts. All borrowed; NULL: unknown. */
struct profile_evidence {
	char *const *command;                     /* NULL-terminated */
	const char *script;                       /* text of the Python script that it runs */
	const char *shell;                        /* text of the shell script that it runs */
	const char *script_name;                  /* for messages */
	const struct snapshot_files *checkpoints; /* files in the checkpoint directory */
};

struct profile_choice {
	const struct profile *profile; /* NULL: none was recognised */
	char why[160];                 /* "train.py imports lightning" */
	bool can_be_asked;
	/* it can be asked only if another module than the script that was read handles signals */
	bool handler_unseen;
	bool polls;      /* the script imports our module: ask it by the flag */
	bool like_slurm; /* it can be asked by SIGUSR1 in an emulated Slurm environment */
};

void profile_choose(const struct profile_evidence *evidence, struct profile_choice *choice);
/* Does this Python text import the module or a part of it? */
bool profile_imports(const char *script, const char *module);

/* --- names --- */

/*
 * Has the path, or a directory above it, a name that a framework gives to unfinished files? Applies
 * the patterns of `profile`, and the unmistakable ones of all profiles. `profile` may be NULL, as
 * in all functions below.
 */
bool profile_is_temporary_path(const struct profile *profile, const char *path);

/* Does a save end when this file is closed or renamed into place? */
bool profile_is_completion_marker(const struct profile *profile, const char *path);
/* Is the file called like the marker of a rule of this kind, of `profile` or of those that apply
 * anywhere? The removal of one that is forbidden ends a save. */
bool profile_has_marker(const struct profile *profile, enum profile_rule_kind kind,
			const char *path);

/* After a request: does this exit code mean "saved, run me again"? */
bool profile_is_resume_code(const struct profile *profile, int code);

#endif
