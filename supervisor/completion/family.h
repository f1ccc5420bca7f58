/*
 * PURE. Which kinds of checkpoint there are, and what is known of each: the signature, the numbers,
 * which of its files turned out to be none of a checkpoint's (parts, streams, what comes with the
 * next save), and which kinds are saved together. Each checkpoint of the table
 * (checkpoint_table.h) is of one.
 */
#ifndef FAMILY_H
#define FAMILY_H

#include "signature.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoint;
struct checkpoint_table;
struct tracked_file;

/* In front of the names of kinds: of a checkpoint_name_template() whose numbers name parts, and of
 * the leader of fixed names, as signature_hash(). */
#define FAMILY_OF_NAME ":"
#define FAMILY_LED_BY "="

/* The number that was written last of a kind, until the next one is begun. */
struct save_round {
	int64_t number; /* -1: none yet */
	int64_t begun_ms, last_ms;
	bool said; /* the job has called it complete */
};

/* Checkpoints of one kind ("run/checkpoint-#/"); or the fixed names that are written together,
 * called by the one that is written first. */
struct family {
	char *name;
	/* of fixed names: that of the one which is written first; 0: it is of none */
	uint64_t leader;
	struct signature signature;
	/* the key of the checkpoint that it was learned from last; NULL: none in this run */
	char *taught_by;
	/* The partners of its numbers: the fixed names that each save writes before its number (an
	 * `optimizer.pt`) and behind it (a pointer, `last_checkpoint`). The checkpoint is complete
	 * without them, but the save goes on. pause_ms: the longest time between the two. */
	struct signature partners;
	struct save_round round;
	/* the newest number but that one which had all that were expected behind it; -1: none yet
	 */
	int64_t followed;
	/* the lowest and the highest number so far; -1: none yet */
	int64_t lowest, highest;
	/* how often a higher number by one came: many parts of one checkpoint look like that too */
	unsigned rising;
	/* its numbers count checkpoints, and not the parts of one */
	bool sure;
	/* its numbers turned out to name parts: the files count as fixed names. Where others of its
	 * names count checkpoints, it is called by a checkpoint_name_template() with FAMILY_OF_NAME
	 * in front */
	bool parts;
	/* a stream, called by its checkpoint_name_stream(): each file has a name of its own, is
	 * written once, and is a checkpoint of its own that is none to resume from */
	bool stream;
	/* the one before the newest was renamed into place, and nothing came to it after that */
	bool placed_whole;
	/* others are parts of its checkpoints (`with`) */
	bool leads;
	/* before it is known to be a stream: new names that a process has written in a row while
	 * the fixed names were never complete, and since when */
	unsigned once;
	int once_pid;
	int64_t once_ms;
	/* its files are parts of the checkpoints of that kind, which were written together with
	 * them under the same numbers (family.c); NULL: of its own */
	struct family *with;
	/* the number that the shim saw written last to this directory, by whom, the one before it,
	 * and the detector's generation then; -1: none yet */
	int own_pid;
	int64_t own_number, own_before;
	uint64_t own_written;
	/* the last write to any of them */
	int64_t last_ms;
	/* the `save` of the last two that were begun, and the number of the last one; of the newest
	 * that was complete or got another name; and of the one that lacked something for so long
	 * that it was given up while the job lived. 0: none */
	uint64_t begun, begun_before, over, given_up;
	int64_t begun_number;
	struct family *next;
};

/* NULL: there is none. The table owns it, here and below. */
struct family *checkpoint_table_find_family(const struct checkpoint_table *table, const char *name);
/* Makes it if there is none. */
struct family *checkpoint_table_family(struct checkpoint_table *table, const char *name);

/* The stream that a file is of; NULL: it is of none. */
struct family *checkpoint_table_find_apart(const struct checkpoint_table *table, const char *path);
/* Does the number in this name count the parts of a checkpoint? */
bool checkpoint_table_is_part_name(const struct checkpoint_table *table, const char *path);

/* Its numbers name parts and not checkpoints: joins the files of all its checkpoints to the fixed
 * names. `like`: those with the name of this file only, and the others count; NULL: all. */
void checkpoint_table_join_parts(struct checkpoint_table *table, struct family *family,
				 const struct tracked_file *like);

/* The files of this family, which are fixed names so far, are written once each. Those that are
 * closed are at rest. */
void checkpoint_table_make_stream(struct checkpoint_table *table, struct family *family);
/* Is it of a stream, or added to another one? It is complete as soon as
 * it is closed, and none to resume from. */
bool checkpoint_is_alone(const struct checkpoint *checkpoint);

#endif
