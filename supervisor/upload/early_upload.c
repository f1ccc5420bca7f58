#include "early_upload.h"

#include "base/log.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Smaller files go along with the rest. */
#define LARGE ((off_t)4 << 20)

struct ahead {
	struct ahead_options options;
	struct cancel cancel;
	atomic_bool enough;
	bool busy;

	/* The worker's while it is busy. */
	struct snapshot_id id, parent;
	char **closed, **open;
};

int ahead_new(const struct ahead_options *options, struct ahead **result, struct err *err)
{
	struct ahead *ahead = memory_new(sizeof(*ahead));

	ahead->options = *options;
	if (cancel_init(&ahead->cancel, err) < 0) {
		free(ahead);
		return -1;
	}
	*result = ahead;
	return 0;
}

void ahead_free(struct ahead *ahead)
{
	if (!ahead)
		return;
	path_list_free(ahead->closed);
	path_list_free(ahead->open);
	cancel_release(&ahead->cancel);
	free(ahead);
}

static size_t keep_large(const struct ahead *ahead, char **paths)
{
	size_t kept = 0;

	for (char **path = paths; *path; path++) {
		char *full = text_format("%s/%s", ahead->options.directory, *path);
		struct stat status;
		bool large = lstat(full, &status) == 0 && S_ISREG(status.st_mode) &&
			     status.st_size >= LARGE;

		free(full);
		if (large)
			paths[kept++] = *path;
		else
			free(*path);
	}
	paths[kept] = NULL;
	return kept;
}

static bool is_enough(void *arg)
{
	const struct ahead *ahead = arg;

	return atomic_load(&ahead->enough);
}

static void send_paths(struct ahead *ahead, char **paths, bool growing)
{
	struct presend_request request = {
		.id = ahead->id,
		.parent = ahead->parent,
		.directory = ahead->options.directory,
		.path_count = keep_large(ahead, paths),
		.paths = (const char *const *)paths,
		.growing = growing,
		.enough = is_enough,
		.arg = ahead,
	};
	struct presend_result result;
	struct err err;

	if (request.path_count == 0 || is_enough(ahead))
		return;
	/* Nothing is lost when it fails: the snapshot will tell of what is wrong with the store. */
	if (storage_presend(ahead->options.storage, &request, &result, &ahead->cancel, &err) < 0)
		log_debug("%s", err.text);
	else if (result.chunks_sent > 0)
		log_debug("sent %u chunks ahead, %u files are complete", result.chunks_sent,
			result.files);
}

static void work(void *arg)
{
	struct ahead *ahead = arg;

	send_paths(ahead, ahead->closed, false);
	send_paths(ahead, ahead->open, true);
}

static void done(void *arg)
{
	struct ahead *ahead = arg;

	path_list_free(ahead->closed);
	path_list_free(ahead->open);
	ahead->closed = ahead->open = NULL;
	ahead->busy = false;
	ahead->options.finished(ahead->options.arg);
}

void ahead_send(struct ahead *ahead, struct snapshot_id id, struct snapshot_id parent,
	char **closed, char **open)
{
	if (ahead->busy) {
		path_list_free(closed);
		path_list_free(open);
		return;
	}
	atomic_store(&ahead->enough, false);
	ahead->busy = true;
	ahead->id = id;
	ahead->parent = parent;
	ahead->closed = closed;
	ahead->open = open;
	workers_run(ahead->options.workers, work, done, ahead);
}

bool ahead_busy(const struct ahead *ahead)
{
	return ahead->busy;
}

void ahead_enough(struct ahead *ahead)
{
	atomic_store(&ahead->enough, true);
}

void ahead_stop(struct ahead *ahead)
{
	ahead_enough(ahead);
	cancel_raise(&ahead->cancel);
}
