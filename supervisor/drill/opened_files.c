#include "opened_files.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Of the bytes that a job might read, less than this part is little. */
#define LITTLE_PART 10

/* --- the restored files --- */

void restored_files_add(struct restored_files *files, const char *path, uint64_t size,
			int64_t mtime_ns)
{
	files->items = memory_grow(files->items, files->count + 1, sizeof(*files->items));
	files->items[files->count++] = (struct restored_file){
		.path = text_copy(path),
		.size = size,
		.mtime_ns = mtime_ns,
	};
}

void restored_files_add_link(struct restored_files *files, const char *path, const char *target)
{
	restored_files_add(files, path, 0, 0);
	files->items[files->count - 1].target = text_copy(target);
}

void restored_files_release(struct restored_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free(files->items[i].path);
		free(files->items[i].target);
	}
	free(files->items);
	*files = (struct restored_files){0};
}

static struct restored_file *find_file(struct restored_files *files, const char *path)
{
	for (size_t i = 0; files && i < files->count; i++)
		if (text_equal(files->items[i].path, path))
			return &files->items[i];
	return NULL;
}

/* False: there is no such file. */
static bool mark_opened(struct restored_files *files, const char *path)
{
	struct restored_file *file = find_file(files, path);

	if (file && file->target)
		file = find_file(files, file->target);
	if (file)
		file->opened = true;
	return file != NULL;
}

/* --- the access log --- */

struct inode {
	unsigned long long device, number;
};

struct inodes {
	struct inode *items;
	size_t count;
};

static bool has_inode(const struct inodes *inodes, struct inode inode)
{
	for (size_t i = 0; i < inodes->count; i++)
		if (inodes->items[i].device == inode.device &&
		    inodes->items[i].number == inode.number)
			return true;
	return false;
}

static void add_inode(struct inodes *inodes, struct inode inode)
{
	if (has_inode(inodes, inode))
		return;
	inodes->items = memory_grow(inodes->items, inodes->count + 1, sizeof(*inodes->items));
	inodes->items[inodes->count++] = inode;
}

/* `line` is terminated. */
static void read_line(const char *line, struct inodes *own, struct file_accesses *accesses,
		      struct restored_files *restored, struct job_log *names)
{
	struct inode inode;
	char *at;

	if ((*line != 'r' && *line != 'w') || line[1] != ' ')
		return;
	inode.device = strtoull(line + 2, &at, 10);
	inode.number = strtoull(at, &at, 10);
	if (*at++ != ' ' || !*at)
		return;
	accesses->any = true;
	if (*line == 'w') {
		accesses->written++;
		text_elide(accesses->last_written, sizeof(accesses->last_written), at);
		add_inode(own, inode);
		job_log_add_name(names, at);
	} else if (!has_inode(own, inode) && !mark_opened(restored, at)) {
		accesses->unlisted = true;
	}
}

void file_accesses_read(const char *text, size_t size, struct file_accesses *accesses,
			struct restored_files *restored, struct job_log *names)
{
	struct inodes own = {0};

	*accesses = (struct file_accesses){0};
	for (size_t at = 0; at < size;) {
		const char *newline = memchr(text + at, '\n', size - at);
		size_t length = newline ? (size_t)(newline - text) - at : size - at;
		auto_free char *line = text_copy_n(text + at, length);

		if (newline)
			read_line(line, &own, accesses, restored, names);
		at += length + 1;
	}
	free(own.items);
}

/* --- the judgement --- */

static size_t skip_digits(const char *path, size_t at)
{
	while (path[at] >= '0' && path[at] <= '9')
		at++;
	return at;
}

/* "checkpoint-10/model.bin" and "checkpoint-200/model.bin": alike but for their numbers. */
static bool is_same_kind(const char *a, const char *b)
{
	size_t i = 0, j = 0;

	while (a[i] && b[j]) {
		size_t next_i = skip_digits(a, i), next_j = skip_digits(b, j);

		if ((next_i > i) != (next_j > j))
			return false;
		if (next_i == i && a[next_i++] != b[next_j++])
			return false;
		i = next_i;
		j = next_j;
	}
	return a[i] == b[j];
}

/* The newest of its kind. */
static const struct restored_file *newest_of(const struct restored_files *files,
					     const struct restored_file *one)
{
	const struct restored_file *newest = one;

	for (size_t i = 0; i < files->count; i++)
		if (files->items[i].mtime_ns > newest->mtime_ns &&
		    is_same_kind(files->items[i].path, one->path))
			newest = &files->items[i];
	return newest;
}

/* An older file of a kind was opened, and of no kind with several files the newest. */
static bool reads_older(const struct restored_files *files, struct reading_facts *facts)
{
	const struct restored_file *older = NULL;

	for (size_t i = 0; i < files->count; i++) {
		const struct restored_file *one = &files->items[i];
		const struct restored_file *newest = newest_of(files, one);

		if (one == newest || one->target)
			continue;
		if (newest->opened)
			return false;
		if (!one->opened || (older && older->mtime_ns >= one->mtime_ns))
			continue;
		older = one;
		text_elide(facts->opened, sizeof(facts->opened), one->path);
		text_elide(facts->missed, sizeof(facts->missed), newest->path);
	}
	return older != NULL;
}

/* A record of the training, which a job only adds to: nothing is lost by not reading it. */
static bool is_log(const char *path)
{
	static const char *const ends[] = {".csv", ".tsv", ".jsonl", ".log"};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (text_ends(path, ends[i]))
			return true;
	return strstr(path, "tfevents") != NULL;
}

static void add_up(const struct restored_files *files, struct reading_facts *facts)
{
	const struct restored_file *opened = NULL, *missed = NULL;

	for (size_t i = 0; i < files->count; i++) {
		const struct restored_file *one = &files->items[i];

		if (one->target)
			continue;
		facts->files++;
		facts->opened_files += one->opened;
		if (newest_of(files, one) != one || (!one->opened && is_log(one->path)))
			continue;
		facts->bytes += one->size;
		facts->opened_bytes += one->opened ? one->size : 0;
		if (one->opened && (!facts->oldest_ns || one->mtime_ns < facts->oldest_ns))
			facts->oldest_ns = one->mtime_ns;
		if (one->opened && one->mtime_ns > facts->newest_ns)
			facts->newest_ns = one->mtime_ns;
		if (one->opened && (!opened || one->size > opened->size))
			opened = one;
		if (!one->opened && (!missed || one->size > missed->size))
			missed = one;
	}
	if (opened)
		text_elide(facts->opened, sizeof(facts->opened), opened->path);
	if (missed)
		text_elide(facts->missed, sizeof(facts->missed), missed->path);
}

struct reading_facts opened_files_judge(const struct restored_files *restored, bool heard)
{
	struct reading_facts facts = {.reading = READING_DONE};

	add_up(restored, &facts);
	if (!heard || restored->count == 0)
		facts.reading = READING_UNKNOWN;
	else if (facts.opened_files == 0)
		facts.reading = READING_NOTHING;
	else if (reads_older(restored, &facts))
		facts.reading = READING_OLDER;
	else if (facts.opened_bytes * LITTLE_PART < facts.bytes)
		facts.reading = READING_LITTLE;
	return facts;
}
