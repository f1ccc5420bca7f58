/*
 * PURE. The files that the job has written, grouped into checkpoints by their names
 * (checkpoint_name.h): a numbered directory, files that share a number, or all files with fixed
 * names, which are one checkpoint that is written anew. Only the grouping and what is remembered of
 * each; detector.c fills it from the evidence, verdict.h judges.
 */
#ifndef CHECKPOINT_TABLE_H
#define CHECKPOINT_TABLE_H

#include "family.h"
#include "verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// clang-format off
/* Marks of a file. */
enum file_mark {
	/* written, created or renamed since its checkpoint was decided last */
	FILE_FRESH = 1,
	/* its writer died: no snapshot holds it until it is written anew, replaced or deleted */
	FILE_TORN = 2,
	/* a content check or a layout rule found it incomplete: as TORN */
	FILE_REJECTED = 4,
	/* the shim reports this file, and is believed rather than the kernel on open and closed */
	FILE_REPORTED = 8,
	/* the kernel has reported a write and no close yet */
	FILE_UNCLOSED = 16,
	/* it was empty when it was opened: all of its content is of this writing */
	FILE_CREATED = 32,
	/* torn, and the kernel has reported a write since */
	FILE_REWRITTEN = 64,
	/* written, and its content not checked since */
	FILE_UNCHECKED = 128,
	/* the content check knows its format, and it is whole */
	FILE_VALID = 256,
	/* it is written for as long as the job lives: part of no checkpoint */
	FILE_RUNNING = 512,
	/* the shim has reported the close or the rename that ended this writing */
	FILE_WITNESSED = 1024,
	/* the kernel has reported a write, and not that the last holder has closed it */
	FILE_HELD = 2048,
	/* it has a name that its framework gives to unfinished files */
	FILE_TEMPORARY = 4096,
	/* a save that takes very long: it holds nothing up, and is in no snapshot until its close */
	FILE_SLOW = 8192,
	/* it was opened empty and closed: if it is so again and stays open, it is a slow save */
	FILE_REWRITES = 16384,
	/* it was not there before this writing: no snapshot holds it */
	FILE_NEW = 32768,
	/* written since its checkpoint was decided to be complete last */
	FILE_WRITTEN = 65536,
	/* of the fixed names: one of those that were decided to be complete last, all in one save */
	FILE_NEWEST = 131072,
	/* only a look has found it, in a directory that other members of a gang write into */
	FILE_OF_MEMBER = 1048576,
	/* in no snapshot until it is written anew */
	FILE_DAMAGED = FILE_TORN | FILE_REJECTED,
};
// clang-format on

struct tracked_file {
	char *path; /* the first member: by_name() */
	struct checkpoint *checkpoint;
	struct family *kind; /* of its own name: of a part, not that of the checkpoint */
	unsigned marks;
	/* the process that the shim reported for it last; 0: unknown */
	int pid;
	/* when this writing began, in ms of CLOCK_MONOTONIC */
	int64_t begun_ms;
	/* when this machine was last seen to write, close or rename it; 0: another one has, or
	 * nobody */
	int64_t here_ms;
	/* since when it is closed and not there any more, although nobody told; 0: it is there */
	int64_t missing_ms;
	/* signature_hash() of the name without the numbers */
	uint64_t name;
	/* when it was closed last: its size, and when it was written (file_look.h) */
	uint64_t size;
	int64_t written;
	/* for running files: saves that the job had begun when it was opened; how often it was
	 * opened with content and then closed longer */
	uint64_t saves_at_open;
	unsigned grown;
	/* in the checkpoint */
	struct tracked_file *sibling, *previous;
};

enum checkpoint_state {
	CHECKPOINT_EMPTY,     /* a directory without files, or nothing written yet */
	CHECKPOINT_UNDER_WAY, /* written since it was decided last */
	CHECKPOINT_COMPLETE,
	CHECKPOINT_TORN,
};

/* One of the processes that wrote to it ended badly. */
enum writer_death {
	DEATH_NONE,
	DEATH_AFTER_CLOSE, /* it had closed the only file: see enum format_evidence */
	DEATH_TEARS,
};

struct checkpoint {
	/* checkpoint_name_key() of its first file; "": the fixed names; the first member: by_name()
	 */
	char *key;
	int64_t number; /* -1: the fixed names */
	bool in_directory;
	struct family *family;
	struct tracked_file *files;
	size_t file_count;

	enum checkpoint_state state;
	enum verdict_reason reason;
	/* processes that have written to it since it was decided last */
	int *writers;
	size_t writer_count;
	enum writer_death death;
	/* when its writer or the job ended, all that it has was closed, and nothing was known to be
	 * missing */
	bool closed_at_death;
	/* over by quiet before the event that is being handled: later events begin it anew */
	bool settled;
	/* until then, and while it is as it was at this generation, that is not so */
	int64_t unsettled_ms;
	uint64_t unsettled;
	/* files that it had when it was complete are being written anew */
	bool rewritten;
	/* of a number: a file of it got the name of its backup */
	bool put_aside;
	/* of the fixed names: saves have followed each other, and none was known to be complete, so
	 * that what was complete last is not what the newest one has written over */
	bool overtaken;
	/* it was complete, and files of it were deleted since: it is nothing new */
	bool reduced;
	/* of the fixed names: one that the newest complete save had was deleted since */
	bool gone;
	/* how many later ones all of its writers have begun since it was written, up to the one of
	 * this number */
	unsigned later;
	int64_t later_number;
	int64_t begun_ms, last_ms;
	/* since when it is under way without a verdict */
	int64_t since_ms;
	/* how many saves had been begun by then: the order of those of one millisecond */
	uint64_t save;
	/* struct detector's stalled_ms at the last write: what was stalled since is not quiet time
	 */
	int64_t stalled_ms;
	int64_t pause_ms;
	/* the longest pause before a file that it did not have, and when that came */
	int64_t gap_ms, gap_end_ms;
	/* detector generation of its last change; at which it was called complete, committed,
	 * renamed into place as a directory (which commits it too), and found defective (0: never)
	 */
	uint64_t changed, own_word, committed, placed, defect;
	int64_t defect_ms, defect_until_ms;
	/* the last check of its contents, and `changed` then (tracker_verdicts.c) */
	uint64_t check, checked;
	/* Of a file that came to a numbered one which was complete without it: the key of that one.
	 * It is a save of its own, and says nothing of the others. NULL: it is none. */
	char *added_to;
	/* the step that its writer reported; -1: none */
	int64_t step;
	/* `position` of the table when it was begun */
	uint64_t position;
	struct checkpoint *sibling; /* all of them, the newest first */
	struct checkpoint *under_way_next, *under_way_previous;
};

/* Zero-initialise. */
struct checkpoint_table {
	void *files, *keys; /* trees, tsearch(3): by path, by key */
	struct checkpoint *checkpoints;
	struct checkpoint *under_way, *under_way_last;
	struct family *families;
	/* the number of the report that is handed in, or of the next one; set by whoever does it */
	uint64_t position;
	bool keeps_apart; /* one of the families is a stream, or of parts */
};

/* All checkpoints, the newest first; those that are under way, of which there are few, the one that
 * was begun first first; all files of one. In the body, none may be removed or change its state. */
#define each_checkpoint(name, table) \
	for (struct checkpoint *name = (table)->checkpoints; name; name = name->sibling)
#define each_under_way(name, table) \
	for (struct checkpoint *name = (table)->under_way; name; name = name->under_way_next)
#define each_file(name, of) \
	for (struct tracked_file *name = (of)->files; name; name = name->sibling)

void checkpoint_table_release(struct checkpoint_table *table);

/* NULL: not in the table. */
struct tracked_file *checkpoint_table_find(const struct checkpoint_table *table, const char *path);
/* The file's entry; makes it, and its checkpoint, if there is none. */
struct tracked_file *checkpoint_table_add(struct checkpoint_table *table, const char *path);
/* By its key; "": the fixed names; NULL: none. NULL: it is not in the table. */
struct checkpoint *checkpoint_table_find_key(const struct checkpoint_table *table, const char *key);
/* The fixed names'. Makes it if there is none. */
struct checkpoint *checkpoint_table_fixed(struct checkpoint_table *table);
/* That of a file which is kept apart, as a checkpoint of this family. Makes it if there is none. */
struct checkpoint *checkpoint_table_apart(struct checkpoint_table *table, struct family *family,
					  const char *path);
/* The file is one that was added to its checkpoint: makes that a save of its own. */
void checkpoint_table_add_to(struct checkpoint_table *table, struct tracked_file *file);
/* Removes the entry; the checkpoint too if it was numbered and that was its last file. */
void checkpoint_table_remove(struct checkpoint_table *table, struct tracked_file *file);
/* Gives it a new path, and the checkpoint of that path. An entry with that path is removed. */
void checkpoint_table_move(struct checkpoint_table *table, struct tracked_file *file,
			   const char *path);

/* Makes the file one of this checkpoint. The one that it was of is removed with its last file,
 * unless it is the fixed names'. */
void checkpoint_table_put(struct checkpoint_table *table, struct tracked_file *file,
			  struct checkpoint *checkpoint);

typedef void tracked_file_fn(void *argument, struct tracked_file *file);
/* Calls `act`, which may remove or move the file, for `path` and everything below it. */
void checkpoint_table_each_below(struct checkpoint_table *table, const char *path,
				 tracked_file_fn *act, void *argument);
/* Is there any such file? */
bool checkpoint_table_any_below(const struct checkpoint_table *table, const char *path);
/* Removes the entries of `path` and everything below it. */
void checkpoint_table_remove_below(struct checkpoint_table *table, const char *path);

/* Of a checkpoint in the table. Nobody else sets it. */
void checkpoint_set_state(struct checkpoint_table *table, struct checkpoint *checkpoint,
			  enum checkpoint_state state);

/* A numbered one, or one that stands alone: is it complete? */
bool checkpoint_stands(const struct checkpoint *checkpoint);
/* As it was said, or by its number; -1: it has neither. */
int64_t checkpoint_step_of(const struct checkpoint *checkpoint);
/* Was it begun after the other one? Of those of one millisecond the order of the saves tells. */
bool checkpoint_is_after(const struct checkpoint *checkpoint, const struct checkpoint *other);
/* It was complete, and all that was written or added to it since is of other members of the gang,
 * which tell of it themselves: that is no news here. */
bool checkpoint_is_of_members(const struct checkpoint *checkpoint);
/* Does any file of it have one of the marks? */
bool checkpoint_any(const struct checkpoint *checkpoint, unsigned marks);
/* Was it written here? Else it lay there before, and nothing else is known of it. */
bool tracked_file_was_written(const struct tracked_file *file);
/* Has each file that was written in this save all of the marks? */
bool checkpoint_all(const struct checkpoint *checkpoint, unsigned marks);
/* For the files with one of the marks `which`: removes `drop` and adds `give`. */
void checkpoint_change(struct checkpoint *checkpoint, unsigned which, unsigned drop, unsigned give);
/* Nobody asks any longer what became of its newest save. */
void checkpoint_save_is_over(struct checkpoint *checkpoint);
void checkpoint_add_writer(struct checkpoint *checkpoint, int pid);
bool checkpoint_has_writer(const struct checkpoint *checkpoint, int pid);

#endif
