/* PRIVATE to storage/. The commit of a snapshot: looks up what its manifest names, and whether
 * another attempt has taken over; puts the manifest, or as a member of a gang its part; and looks
 * once more whether it is in force. */
#ifndef SNAPSHOT_COMMIT_H
#define SNAPSHOT_COMMIT_H

#include "storage/gangs/gangs.h"

struct snapshot_commit {
	struct storage *storage;
	const struct save_request *request;
	struct cancel *cancel;
	/* No commit: a pack that the manifest names is gone or damaged. */
	bool packs_missing;
	/* A newer attempt was seen before the manifest was put once more. */
	bool overtaken;
	/* Of a gang. */
	enum gang_outcome outcome;
};

/* Every pack must have been sent. `bytes`: of the manifest. */
int snapshot_commit(struct snapshot_commit *commit, const struct manifest *manifest,
		    uint64_t *bytes, struct err *err);

#endif
