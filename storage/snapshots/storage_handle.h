/* PRIVATE to storage/: an open store and the job in it. Callers know it as the opaque struct
 * storage of storage.h. */
#ifndef STORAGE_HANDLE_H
#define STORAGE_HANDLE_H

#include "storage/transfer/transfer.h"

#include <stdbool.h>
#include <stdint.h>

struct storage {
	/* The store, the job, and how its content is moved. */
	struct transfer transfer;
	char *url;
	char host[65];
	unsigned threads;
	bool read_only;
	/* The store was emptied by somebody else after our claim. */
	bool emptied;
	/* The index has seen what lay in the store before this process. */
	bool warmed;
	/* Set by storage_set_progress(). */
	void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total);
	void *progress_arg;
};

#endif
