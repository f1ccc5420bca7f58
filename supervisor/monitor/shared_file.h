/*
 * A file that the job's processes map as well, and that any of them can truncate: touching a page
 * that is gone is a SIGBUS, which would end the supervisor. Here it finds zeros instead, and the
 * file is made whole again. One thread, but for the signal.
 *
 * A file in memory that is sealed against shrinking would be simpler, but a process in a PID
 * namespace of its own has no path to it.
 */
#ifndef SHARED_FILE_H
#define SHARED_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_file {
	char *path;
	int fd;       /* -1: there is no file */
	void *memory; /* NULL: not mapped */
	size_t size;
	int slot; /* of the handler's table */
	/* it was torn; and cannot be mended */
	bool mended, given_up;
};

/* Makes a new file of `size` zeros (mode 0600, blocks allocated) and maps it. After an error,
 * shared_file_remove() removes what is there. */
int shared_file_make(struct shared_file *file, const char *path, size_t size, struct err *err);
/* Unmaps and unlinks. */
void shared_file_remove(struct shared_file *file);

/*
 * If somebody has truncated it, or emptied it and made it longer again, so that it does not begin
 * with the first word of `head`: gives it its size back. It begins with `head`, and what follows is
 * as it was, as far as it is still there, and then zeros. Processes that have it mapped go on with
 * it. If there is no space, the memory holds zeros that nobody else sees, and it stays so. Warns
 * once; `what`: "the job has emptied WHAT". True: that was the case.
 */
bool shared_file_keep_whole(struct shared_file *file, const void *head, size_t head_size,
			    const char *what);

#endif
