#include "untracked_writers.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "monitor/monitor.h"
#include "process/process.h"

#include <stdlib.h>
#include <sys/wait.h>

/* Time between two searches: this long, but at least SCAN_SHARE times as long as the last search
 * took. */
#define SCAN_EVERY_MS 100
#define SCAN_SHARE 20

struct untracked_writer {
	pid_t pid;
	bool speaks; /* the shim is in it and reports what it closes */
	bool closed; /* it has closed its files itself, and has opened none since */
};

struct untracked {
	struct untracked_writers_options options;
	struct exit_watch *exit_watch;
	struct untracked_writer *writers;
	size_t count;
	int64_t next_ms; /* no search before this time */
	bool warned;
};

static struct untracked_writer *find_writer(struct untracked *untracked, pid_t pid)
{
	for (size_t i = 0; i < untracked->count; i++)
		if (untracked->writers[i].pid == pid)
			return &untracked->writers[i];
	return NULL;
}

/* Its exit status is unknown. Files that it closed itself count as whole; files that its end has
 * closed do not. */
static enum writer_end guess_writer_end(struct untracked *untracked,
					const struct untracked_writer *untracked_writer)
{
	if (!untracked_writer || untracked_writer->speaks)
		return WRITER_END_UNKNOWN;
	if (untracked_writer->closed)
		return WRITER_END_EXITED;
	if (!untracked->warned)
		log_warn("process %d (not preloaded) exited while writing to %s; its exit status "
			 "is unknown, so the files are treated as incomplete",
			 (int)untracked_writer->pid, untracked->options.directory);
	untracked->warned = true;
	return WRITER_END_UNKNOWN;
}

static void writer_ended(void *arg, pid_t pid, int wait_status)
{
	struct untracked *untracked = arg;
	struct untracked_writer *untracked_writer = find_writer(untracked, pid);
	enum writer_end end;

	if (wait_status == -1)
		end = guess_writer_end(untracked, untracked_writer);
	else if (WIFSIGNALED(wait_status))
		end = WRITER_END_KILLED;
	else
		end = WEXITSTATUS(wait_status) == 0 ? WRITER_END_EXITED : WRITER_END_FAILED;
	if (untracked_writer)
		*untracked_writer = untracked->writers[--untracked->count];
	untracked->options.ended(untracked->options.arg, pid, end);
}

struct untracked *untracked_writers_new(const struct untracked_writers_options *options)
{
	struct untracked *untracked = memory_new(sizeof(*untracked));

	untracked->options = *options;
	untracked->exit_watch = exit_watch_new(options->loop, writer_ended, untracked);
	return untracked;
}

void untracked_writers_free(struct untracked *untracked)
{
	if (!untracked)
		return;
	exit_watch_free(untracked->exit_watch);
	free(untracked->writers);
	free(untracked);
}

/* NULL: its exit cannot be watched. */
static struct untracked_writer *add_writer(struct untracked *untracked, pid_t pid)
{
	struct untracked_writer *untracked_writer = find_writer(untracked, pid);

	if (untracked_writer)
		return untracked_writer;
	if (!exit_watch_add(untracked->exit_watch, pid))
		return NULL;
	untracked->writers = memory_grow(untracked->writers, untracked->count + 1,
					 sizeof(untracked->writers[0]));
	untracked_writer = &untracked->writers[untracked->count++];
	*untracked_writer = (struct untracked_writer){.pid = pid};
	return untracked_writer;
}

void untracked_writers_add(struct untracked *untracked, pid_t pid)
{
	struct untracked_writer *untracked_writer = add_writer(untracked, pid);

	if (untracked_writer)
		untracked_writer->speaks = true;
}

static void holder_found(void *arg, pid_t pid)
{
	struct untracked *untracked = arg;
	struct untracked_writer *untracked_writer = add_writer(untracked, pid);

	if (!untracked_writer)
		return;
	untracked_writer->closed = false;
	untracked->options.on_writer_seen(untracked->options.arg, pid);
}

void untracked_writers_scan(struct untracked *untracked, int64_t now_ms)
{
	int64_t took_ms;

	if (now_ms < untracked->next_ms)
		return;
	open_files_find_holders(untracked->options.directory, holder_found, untracked);
	took_ms = clock_monotonic_ms() - now_ms;
	untracked->next_ms = now_ms + took_ms + SCAN_EVERY_MS;
	if (took_ms * SCAN_SHARE > SCAN_EVERY_MS)
		untracked->next_ms = now_ms + took_ms * SCAN_SHARE;
}

void untracked_writers_scan_soon(struct untracked *untracked)
{
	untracked->next_ms = 0;
}

void untracked_writers_file_closed(struct untracked *untracked)
{
	for (size_t i = 0; i < untracked->count; i++) {
		struct untracked_writer *untracked_writer = &untracked->writers[i];

		/* A process that has begun to exit may have left the close to the kernel. */
		if (!untracked_writer->speaks && !untracked_writer->closed)
			untracked_writer->closed =
				!open_files_is_holder(untracked->options.directory,
						      untracked_writer->pid) &&
				open_files_is_running(untracked_writer->pid);
	}
}

static void set_flag(void *arg, pid_t pid)
{
	(void)pid;
	*(bool *)arg = true;
}

bool untracked_writers_may_hold(struct untracked *untracked, char *const *paths)
{
	bool unknown = false;
	bool any = false;

	for (; *paths; paths++) {
		auto_free char *path = text_format("%s/%s", untracked->options.directory, *paths);
		enum open_files_state word = open_files_query_file(path);

		if (word == OPEN_FILES_OPEN)
			return true;
		unknown |= word == OPEN_FILES_UNKNOWN;
	}
	if (unknown)
		open_files_find_holders(untracked->options.directory, set_flag, &any);
	return any;
}
