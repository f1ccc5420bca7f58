/* PURE. After a verification: which other snapshot has a file that is lost. */
#ifndef LOST_FILES_H
#define LOST_FILES_H

#include "storage/format/format.h"
#include "storage/storage.h"

/* Calls request->lost, unless it is NULL, for each file of the manifests, which are in the order of
 * their ids, that is marked in `lost`, which has an array for each; and for its hard links. */
void lost_files_report(const struct manifest *manifests, bool *const *lost, size_t count,
		       const struct verify_request *request);

#endif
