/*
 * PURE. What stays where it is of the save under way when the last supervisor here was killed
 * together with the job (under_way.h).
 *
 * The rule: what was closed, and what nobody was seen to leave half, is whole. It stays unless its
 * content says that it is torn, which is asked before this, or what was there before says that it
 * is not all: it is shorter, or another file of its save is missing. What its writer is known to
 * have had open is torn, unless its format says that all of it was written.
 */
#ifndef LEFT_FILE_H
#define LEFT_FILE_H

#include "workspace/workspace.h"

#include <stdbool.h>
#include <stdint.h>

struct left_file {
	/* under_way.h: what stands in front of it in the list */
	const char *front;
	/* the machine was started anew since: a crash may have lost content */
	bool rebooted;
	/* enum content_mark: what its content says */
	unsigned content;
	/* its size, and that of the one before it, by its name; 0: there is none */
	uint64_t size, before;
	/* a file that the save before had beside it is not there, or is still that one */
	bool lacks;
};

/*
 * Where more may have been lost than its end, a file stays only if its format says that it is
 * whole. If another object may have been to follow in an open one, as behind a pickle, it must not
 * be shorter than the one before it.
 */
bool left_file_stays(const struct left_file *file);

/* What lies here, and what is known of what was there before. */
struct left_files {
	const struct snapshot_files *here;
	const struct snapshot_files *record, *snapshot; /* NULL: none */
	/* torn by their content, and moved aside already; ends in NULL; NULL: none */
	char *const *moved;
	const struct path_set *whole; /* enum content_mark, by path */
	bool rebooted;
};

/* under_way_settle() by this rule. */
void left_files_settle(struct path_list *list, const struct left_files *files);

#endif
