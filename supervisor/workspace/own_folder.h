/* Of workspace.c only: where our folder is, and whether what lies there is ours. */
#ifndef OWN_FOLDER_H
#define OWN_FOLDER_H

#include "base/cleanup.h"
#include "workspace.h"

/* One that was found, or could not be had. */
struct own_folder {
	int fd; /* -1: it cannot be used */
	char *path;
	const char *foreign; /* why one that is there is not ours; NULL: it is not there */
	bool made;
	char *passed_over; /* DIR.reprieve, which is there and not ours; NULL: that is not so */
	const char *passed_over_is; /* why */
};

/* Sets fd and path: DIR.reprieve, or else DIR/.reprieve. ERR_NOT_FOUND: there is none, and `make`
 * is false. ERR_DENIED with no errno: neither is ours. The caller releases `folder`, also after an
 * error. */
int own_folder_find(const struct workspace *workspace, bool make, struct own_folder *folder,
		    struct err *err);
void own_folder_release(struct own_folder *folder);
AUTO(struct own_folder, own_folder_release);

#endif
