/* One snapshot of a directory, without a job: what `save` makes. */
#ifndef MANUAL_SNAPSHOT_H
#define MANUAL_SNAPSHOT_H

#include "store_command.h"

struct manual_snapshot {
	const char *directory;
	const char *reason;  /* in the manifest */
	const char *outcome; /* in the attempt's end record */
	int64_t step;        /* -1: unknown */
	const char *tag;     /* NULL: none */
	bool of_job;         /* it may be a job's checkpoint directory, as it is now */
	bool take_over;      /* of a job that may be running */
};

/* The option --take-over; of struct manual_snapshot. */
#define MANUAL_SNAPSHOT_TAKE_OVER(type, member)                                                \
	{                                                                                      \
		"take-over", 0, NULL, NULL,                                                    \
			"also of a job that may be running: what that run saves from then on " \
			"does not count",                                                      \
			OPTION_FLAG(type, member)                                              \
	}

/* Looks whether there is something to take, and whether the job may be running, claims an attempt,
 * takes, ends it, and prints what was done ("saved ...", or JSON). If the job runs here and the
 * directory is its own, its supervisor is asked instead. Returns the exit code. */
int manual_snapshot_save(struct store_command *store_command,
			 const struct manual_snapshot *manual_snapshot, const char *word);

#endif
