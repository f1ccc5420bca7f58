/* What sim.py and the driver share. */
#ifndef MODEL_SAVES_DRIVER_H
#define MODEL_SAVES_DRIVER_H

#include "completion/completion.h"

#include <stdint.h>
#include <stdlib.h>

/* Called from Python: no header declares it. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define SIM __attribute__((visibility("default")))

/* Of a file in the simulated directory. */
struct sim_file {
	int exists, link;
	uint64_t size;
	int64_t written_ns;
	/* enum content_mark if it is whole by its format; -1: torn by it; 0: no format says */
	int content;
};
typedef void sim_look_fn(const char *path, struct sim_file *file);
typedef int sim_held_fn(int pid, int descriptor);

/* A look at the directory; `arg` points to the function. */
static inline struct file_look look_at(void *arg, const char *path)
{
	struct sim_file file = {0};

	(*(sim_look_fn **)arg)(path, &file);
	return (struct file_look){file.exists, file.link, file.size, file.written_ns};
}

/* What of the directory is in a snapshot: as of upload/snapshot_contents.c. */
struct contents;
struct contents *contents_new(void);
void contents_free(struct contents *contents);
struct snapshot_plan *contents_plan(struct contents *contents);
/* All that is there was asked for by contents_excludes(): is the newest checkpoint still there? */
bool contents_walked(struct contents *contents);

#endif
