/*
 * PURE. What is known of a framework's checkpoints: how a job of it is recognised, how it is asked
 * to save, what a finished save looks like and what a torn one, and what its exit codes mean after
 * a request. One row for each framework in profile_table.c; profile_detect.h reads the files that a
 * row is recognised by, content_check.h those that it judges.
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
	PROFILE_ASK_NONE,   /* nothing makes it save: its periodic checkpoints count */
	PROFILE_ASK_SIGNAL, /* `signal`; sent only where it is caught */
};

enum profile_target {
	PROFILE_TARGET_ALL,    /* every rank has to hear it */
	PROFILE_TARGET_ANY,    /* one rank tells the others: the lowest is asked */
	PROFILE_TARGET_RANK_0, /* the others must not hear it */
};

/* What follows a request that was heard. */
enum profile_after {
	PROFILE_AFTER_ENDS,      /* it saves and ends: only to be asked when it has to end anyway */
	PROFILE_AFTER_CONTINUES, /* it saves and trains on: may be asked at any time */
};

enum profile_rule_kind {
	/* ends the list */
	PROFILE_RULE_NONE,
	/* a directory that holds `member` (NULL: anything) must hold `marker` */
	PROFILE_RULE_NEEDS,
	/* a directory that holds `marker` is not complete */
	PROFILE_RULE_FORBIDS,
	/* STEM`member`... must have STEM`marker`, and the other way round */
	PROFILE_RULE_PAIR,
	/* directories beside the file `marker` that have a higher number than it
	 * names are not complete */
	PROFILE_RULE_POINTER,
};

/* fnmatch(3) patterns of names, without slashes. */
struct profile_rule {
	enum profile_rule_kind kind;
	bool anywhere;          /* unmistakable: holds for jobs of other profiles as well */
	const char *checkpoint; /* of the directory; NULL: any */
	const char *member;     /* of a file in it */
	const char *marker;     /* likewise */
};

struct profile {
	/* for --profile */
	const char *name;
	/* for people */
	const char *title;

	/*
	 * How it is found. Each list ends in NULL, and one hit is enough: a word of the command
	 * line (program, module behind -m, option); a module that the script imports, where, if
	 * `with` is not empty, one of those stands in the script as well; a text in the script; a
	 * name in the checkpoint directory.
	 */
	const char *words[PROFILE_NAMES];
	const char *imports[PROFILE_NAMES], *with[PROFILE_NAMES];
	const char *texts[PROFILE_NAMES];
	const char *files[PROFILE_NAMES];

	enum profile_ask ask;
	int signal;
	enum profile_target whom;
	enum profile_after after;
	/* that passes by itself from the request to the first write */
	int32_t patience_ms;
	/* Without one of these in the script or the command, asking has no effect;
	 * empty: it always has. */
	const char *enables[PROFILE_NAMES];
	/* what the user must do for it, or why it cannot be asked; a clause */
	const char *ask_note;

	/* Names whose rename or close is the last thing that a save does, where one process writes
	 * it all; empty: a checkpoint is complete when nothing has happened for the quiet time. */
	const char *completion_markers[PROFILE_NAMES];
	/* how a finished save is seen; a clause */
	const char *completion_note;
	struct profile_rule rules[PROFILE_RULES];
	/* names of files or directories that no snapshot holds */
	const char *temporary[PROFILE_NAMES];

	/* what makes it resume; a clause */
	const char *resume_note;
	/* Exit codes other than 0 that after a request mean "saved, run me again"; ended by 0. */
	int resume_codes[PROFILE_CODES];
	/* 0 after a request does not mean that the training is finished */
	bool zero_is_asked;
	/* where it cannot be asked, SIGTERM ends it and nothing is saved */
	bool ends_unsaved;
	/* saves on SIGUSR1 and goes on under Slurm, or what looks like it: lightning_slurm.h */
	bool lightning_slurm;
	/* renames out of $TMPDIR, which must be on the checkpoints' file system */
	bool local_tmpdir;
};

/* --- the table (profile_table.c) --- */

/* Most specific first, which is the order in which they are tried. */
extern const struct profile profile_rows[];
extern const size_t profile_count;

/* NULL for a name that there is none of. */
const struct profile *profile_find(const char *name);
/* "files, torch, ..."; the caller frees. */
char *profile_names(void);

/* --- recognising --- */

/* What is known of a job before it starts. All borrowed; NULL where unknown. */
struct profile_evidence {
	char *const *command;                     /* NULL-terminated */
	const char *script;                       /* text of the Python script that it runs */
	const char *shell;                        /* text of the shell script that it runs */
	const char *script_name;                  /* for people */
	const struct snapshot_files *checkpoints; /* what lies in the checkpoint directory */
};

struct profile_choice {
	const struct profile *profile; /* NULL: none was recognised */
	char why[160];                 /* "train.py imports lightning" */
	bool can_be_asked;
	bool polls;      /* the script imports our module, and is asked by the flag */
	bool like_slurm; /* it can, with SIGUSR1, because nothing speaks against that road */
};

void profile_choose(const struct profile_evidence *evidence, struct profile_choice *choice);
/* The same for one that the user named: can it be asked? */
bool profile_can_be_asked(const struct profile *profile, const struct profile_evidence *evidence);

/* The command has a launcher of several processes in it. */
bool profile_is_launched(const struct profile_evidence *evidence);

/* True where Python text imports the module or a part of it. */
bool profile_imports(const char *script, const char *module);

/* --- names --- */

/*
 * A name that the framework gives to what is not finished; the path itself, or a directory above
 * it. Of `profile`, and of every profile where the name is unmistakable. `profile` may be NULL, as
 * everywhere below.
 */
bool profile_is_temporary_path(const struct profile *profile, const char *path);

/* A save ends with this name: by its rename or close, or by its removal. */
bool profile_is_completion_marker(const struct profile *profile, const char *path);
bool profile_is_sentinel(const struct profile *profile, const char *path);

/* After a request: does this exit code mean that the job wants to be run again? */
bool profile_is_resume_code(const struct profile *profile, int code);

#endif
