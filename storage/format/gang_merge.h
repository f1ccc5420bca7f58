/*
 * PURE. One directory out of the parts of all members of a gang, for a member that needs the files
 * of the others too: because it has none of its own, or because there are more or fewer members
 * now.
 */
#ifndef GANG_MERGE_H
#define GANG_MERGE_H

#include "manifest.h"

/* Names that several members have with different content. */
struct gang_clashes {
	uint32_t count;
	/* The first by name: whose file it is now, and whose is left out. */
	char path[512];
	uint32_t kept, left;
};

/*
 * The manifest has the entries of all parts, loaded, each below the directory of its member. These
 * directories are taken away. Of several entries of one name the one of `own` stays (a member that
 * is not in it: UINT32_MAX), else that of the lowest member; what lies below a name that is no
 * directory any more is left out. ERR_CORRUPT: an entry is below no member's directory.
 */
int gang_merge(struct manifest *manifest, uint32_t own, struct gang_clashes *clashes,
	       struct err *err);

/* A name in the parts of all members, without the directory of the member. */
struct gang_name {
	const char *path; /* borrowed of the manifest */
	/* A file, or a link to one; of the lowest member that has the name. */
	const struct entry *file;
	uint32_t member;
	/* So many have it; not all with the same content. */
	uint32_t members;
	bool differs;
};

/* The files of a manifest as gang_merge() takes it, which stays as it is; sorted by path. The
 * caller frees the array. */
int gang_merge_names(struct manifest *manifest, struct gang_name **names, size_t *count,
		     struct err *err);

#endif
