#include "writer_table.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <string.h>

void writers_release(struct writers *writers)
{
	for (size_t i = 0; i < writers->open_count; i++)
		free(writers->opens[i].path);
	free(writers->opens);
	free(writers->processes);
	*writers = (struct writers){0};
}

struct writer *writers_find(struct writers *writers, int pid)
{
	for (size_t i = 0; i < writers->process_count; i++) {
		if (writers->processes[i].pid == pid)
			return &writers->processes[i];
	}
	return NULL;
}

struct writer *writers_add(struct writers *writers, int pid)
{
	struct writer *writer = writers_find(writers, pid);

	if (writer)
		return writer;
	if (writers->process_count == writers->process_capacity) {
		writers->process_capacity = 2 * writers->process_capacity + 8;
		writers->processes = memory_grow(
			writers->processes, writers->process_capacity, sizeof(*writers->processes));
	}
	writer = &writers->processes[writers->process_count++];
	*writer = (struct writer){.pid = pid};
	return writer;
}

void writers_forget(struct writers *writers, int pid)
{
	struct writer *writer = writers_find(writers, pid);

	if (writer)
		*writer = writers->processes[--writers->process_count];
}

void writers_forget_all(struct writers *writers)
{
	writers->process_count = 0;
}

struct writer_open *writers_find_open(struct writers *writers, int pid, int descriptor)
{
	for (size_t i = 0; i < writers->open_count; i++) {
		if (writers->opens[i].pid == pid && writers->opens[i].descriptor == descriptor)
			return &writers->opens[i];
	}
	return NULL;
}

void writers_open(struct writers *writers, int pid, int descriptor, const char *path)
{
	struct writer_open *open = writers_find_open(writers, pid, descriptor);

	if (open) {
		writers_rename_open(open, path);
		open->closed = open->renamed = false;
		return;
	}
	if (writers->open_count == writers->open_capacity) {
		writers->open_capacity = 2 * writers->open_capacity + 8;
		writers->opens = memory_grow(
			writers->opens, writers->open_capacity, sizeof(*writers->opens));
	}
	writers->opens[writers->open_count++] =
		(struct writer_open){.pid = pid, .descriptor = descriptor, .path = text_copy(path)};
}

void writers_rename_open(struct writer_open *open, const char *path)
{
	char *copy = text_copy(path);

	free(open->path);
	open->path = copy;
}

void writers_close(struct writers *writers, struct writer_open *open)
{
	free(open->path);
	*open = writers->opens[--writers->open_count];
}

char *writers_close_next(struct writers *writers, int pid)
{
	for (size_t i = 0; i < writers->open_count; i++) {
		if (writers->opens[i].pid == pid) {
			char *path = take(&writers->opens[i].path);
			writers_close(writers, &writers->opens[i]);
			return path;
		}
	}
	return NULL;
}

void writers_closed(struct writers *writers, const char *path)
{
	for (size_t i = 0; i < writers->open_count; i++)
		if (text_equal(writers->opens[i].path, path))
			writers->opens[i].closed = true;
}

bool writers_have_open(const struct writers *writers, const char *path)
{
	for (size_t i = 0; i < writers->open_count; i++) {
		if (text_equal(writers->opens[i].path, path))
			return true;
	}
	return false;
}

void writers_rename_below(struct writers *writers, const char *from, const char *to)
{
	for (size_t i = 0; i < writers->open_count; i++) {
		const char *path = writers->opens[i].path;

		if (path_set_is_below(path, from)) {
			auto_free char *renamed = text_format("%s%s", to, path + strlen(from));
			writers_rename_open(&writers->opens[i], renamed);
			writers->opens[i].renamed = true;
		}
	}
}
