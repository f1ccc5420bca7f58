/* PURE. The record of the files that were complete at the last snapshot, or lay there at the start,
 * as JSON. To the next start, a file that the record has unchanged is intact (workspace.h). It also
 * says which attempt was here last. */
#ifndef COMPLETION_RECORD_H
#define COMPLETION_RECORD_H

#include "base/cleanup.h"
#include "base/err.h"
#include "storage/storage.h"

#include <stddef.h>

struct completion_record {
	char *job;
	struct snapshot_id id; /* attempt, and number of the complete checkpoint in it */
	/* Nobody had named the job; false also if that is not known. */
	bool unnamed;
	char boot[40]; /* of the machine, when it was written; "": unknown */
	struct snapshot_files files;
};

void completion_record_release(struct completion_record *record);

/*
 * The record as JSON, which the caller frees. JSON cannot contain names that are not UTF-8: such
 * files are left out: nobody vouches for them at the next start. NULL with ERR_FAILED if the job's
 * name is such a name.
 */
char *completion_record_format(const struct completion_record *record, struct err *err);

/* Parses `size` bytes. ERR_CORRUPT: not a complete record of this version; there is nothing to
 * release then. */
int completion_record_parse(const void *text, size_t size, struct completion_record *record,
			    struct err *err);
AUTO(struct completion_record, completion_record_release);

#endif
