#include "writer_table.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <string.h>

void writer_table_release(struct writer_table *writers)
{
	for (size_t i = 0; i < writers->open_count; i++)
		free(writers->opens[i].path);
	free(writers->opens);
	free(writers->processes);
	*writers = (struct writer_table){0};
}

struct writer *writer_table_find(struct writer_table *writers, int pid)
{
	for (size_t i = 0; i < writers->process_count; i++)
		if (writers->processes[i].pid == pid)
			return &writers->processes[i];
	return NULL;
}

struct writer *writer_table_add(struct writer_table *writers, int pid)
{
	struct writer *writer = writer_table_find(writers, pid);

	if (writer)
		return writer;
	writers->processes = memory_grow(writers->processes, writers->process_count + 1,
					 sizeof(*writers->processes));
	writer = &writers->processes[writers->process_count++];
	*writer = (struct writer){.pid = pid};
	return writer;
}

void writer_table_forget(struct writer_table *writers, int pid)
{
	struct writer *writer = writer_table_find(writers, pid);

	if (writer)
		*writer = writers->processes[--writers->process_count];
}

void writer_table_forget_all(struct writer_table *writers)
{
	writers->process_count = 0;
}

struct writer_descriptor *writer_table_find_open(struct writer_table *writers, int pid,
						 int descriptor)
{
	for (size_t i = 0; i < writers->open_count; i++)
		if (writers->opens[i].pid == pid && writers->opens[i].descriptor == descriptor)
			return &writers->opens[i];
	return NULL;
}

void writer_table_open(struct writer_table *writers, int pid, int descriptor, const char *path)
{
	struct writer_descriptor *open = writer_table_find_open(writers, pid, descriptor);

	if (open) {
		writer_table_rename_open(open, path);
		open->closed = open->renamed = open->unsure = false;
		return;
	}
	writers->opens =
		memory_grow(writers->opens, writers->open_count + 1, sizeof(*writers->opens));
	writers->opens[writers->open_count++] = (struct writer_descriptor){
		.pid = pid,
		.descriptor = descriptor,
		.path = text_copy(path),
	};
}

void writer_table_rename_open(struct writer_descriptor *open, const char *path)
{
	char *copy = text_copy(path);

	free(open->path);
	open->path = copy;
}

void writer_table_close(struct writer_table *writers, struct writer_descriptor *open)
{
	free(open->path);
	*open = writers->opens[--writers->open_count];
}

char *writer_table_close_next(struct writer_table *writers, int pid)
{
	for (size_t i = 0; i < writers->open_count; i++) {
		if (writers->opens[i].pid == pid) {
			char *path = steal(&writers->opens[i].path);
			writer_table_close(writers, &writers->opens[i]);
			return path;
		}
	}
	return NULL;
}

void writer_table_close_path(struct writer_table *writers, const char *path)
{
	for (size_t i = 0; i < writers->open_count; i++)
		if (text_equal(writers->opens[i].path, path))
			writers->opens[i].closed = true;
}

bool writer_table_has_open(const struct writer_table *writers, const char *path)
{
	for (size_t i = 0; i < writers->open_count; i++)
		if (text_equal(writers->opens[i].path, path))
			return true;
	return false;
}

void writer_table_rename_below(struct writer_table *writers, const char *from, const char *to)
{
	for (size_t i = 0; i < writers->open_count; i++) {
		const char *path = writers->opens[i].path;

		if (path_set_is_below(path, from)) {
			auto_free char *renamed = text_format("%s%s", to, path + strlen(from));
			writer_table_rename_open(&writers->opens[i], renamed);
			writers->opens[i].renamed = true;
		}
	}
}
