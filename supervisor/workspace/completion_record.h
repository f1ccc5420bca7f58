/* PURE. What is complete in a checkpoint directory, as a text that the next start can trust or not.
 * Where it lies: workspace.h. */
#ifndef COMPLETION_RECORD_H
#define COMPLETION_RECORD_H

#include "base/err.h"
#include "storage/storage.h"

#include <stddef.h>

struct completion_record {
	char *job;
	struct snapshot_id id; /* attempt, and sequence of the seal */
	struct snapshot_files files;
};

void completion_record_release(struct completion_record *record);

/*
 * JSON; the caller frees. Names that are not UTF-8 cannot stand in it: such a file is then not in
 * the record, and so not trusted at the next start. NULL with ERR_FAILED if that is so of the job's
 * name.
 */
char *completion_record_format(const struct completion_record *record, struct err *err);

/* `size` bytes of it. ERR_CORRUPT for anything but a whole record of this version: there is nothing
 * to release then. */
int completion_record_parse(const void *text, size_t size, struct completion_record *record,
			    struct err *err);

static inline void cleanup_completion_record_release(struct completion_record *record)
{
	completion_record_release(record);
}

#endif
