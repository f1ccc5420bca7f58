/*
 * PURE. Whether a checkpoint that some machines have saved can be read by another number of them:
 * by the names of its files, and by who has them.
 */
#ifndef RESHARDING_H
#define RESHARDING_H

#include "storage/storage.h"

#include <stdbool.h>

struct resharding {
	/* Every machine reads it, if it has the files of all. */
	bool fits;
	/* Why it does not; a clause. */
	char why[320];
};

/*
 * It fits if each file is
 *	- in a checkpoint of a kind that is resharded (profile.resharded): its marker is there, at
 *	  whichever member;
 *	- or the state of one rank that does without it (profile.by_rank);
 *	- or a running file;
 *	- or of one member that alone has files other than these, which are not those of several
 *	  ranks ("rank1.pt"); what others have as well, with the same content, counts as its own.
 * Files of one name and different content do not fit, but for running files.
 */
struct resharding resharding_judge(const struct gang_files *files);

/* The files of one member are part of such a checkpoint: even with as many machines as before each
 * needs the files of all, because what all ranks have alike is saved by one of them. */
bool resharding_needs_all(const struct snapshot_files *own);

#endif
