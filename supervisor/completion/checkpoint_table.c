#include "checkpoint_table.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

void checkpoint_table_init(struct checkpoint_table *table)
{
	*table = (struct checkpoint_table){.bucket_count = TABLE_BUCKETS};
	table->files = memory_new(table->bucket_count * sizeof(struct tracked_file *));
}

static void free_file(struct tracked_file *file)
{
	free(file->path);
	free(file);
}

static void free_checkpoint(struct checkpoint *checkpoint)
{
	free(checkpoint->key);
	free(checkpoint->writers);
	free(checkpoint);
}

void checkpoint_table_release(struct checkpoint_table *table)
{
	for (size_t i = 0; i < table->bucket_count; i++)
		for (struct tracked_file *file = table->files[i], *next; file; file = next) {
			next = file->next;
			free_file(file);
		}
	free(table->files);
	for (struct checkpoint *checkpoint = table->checkpoints, *next; checkpoint;
	     checkpoint = next) {
		next = checkpoint->sibling;
		free_checkpoint(checkpoint);
	}
	for (struct family *family = table->families, *next; family; family = next) {
		next = family->next;
		signature_release(&family->signature);
		free(family->name);
		free(family);
	}
	*table = (struct checkpoint_table){0};
}

/* --- families and checkpoints --- */

struct family *checkpoint_table_find_family(const struct checkpoint_table *table, const char *name)
{
	for (struct family *family = table->families; family; family = family->next)
		if (text_equal(family->name, name))
			return family;
	return NULL;
}

struct family *checkpoint_table_family(struct checkpoint_table *table, const char *name)
{
	struct family *family = checkpoint_table_find_family(table, name);

	if (family)
		return family;
	family = memory_new(sizeof(*family));
	*family = (struct family){
		.name = text_copy(name),
		.lowest = -1,
		.highest = -1,
		.next = table->families,
	};
	table->families = family;
	return family;
}

static struct checkpoint **key_bucket(struct checkpoint_table *table, const char *key)
{
	return &table->keys[signature_hash(key) % TABLE_BUCKETS];
}

struct checkpoint *checkpoint_table_find_key(const struct checkpoint_table *table, const char *key)
{
	struct checkpoint *checkpoint =
		key ? table->keys[signature_hash(key) % TABLE_BUCKETS] : NULL;

	while (checkpoint && !text_equal(checkpoint->key, key))
		checkpoint = checkpoint->next;
	return checkpoint;
}

static struct checkpoint *add_key(struct checkpoint_table *table, const char *key,
				  struct family *family)
{
	struct checkpoint **bucket = key_bucket(table, key);
	struct checkpoint *checkpoint = memory_new(sizeof(*checkpoint));

	*checkpoint = (struct checkpoint){
		.key = text_copy(key),
		.number = -1,
		.family = family,
		.step = -1,
		.next = *bucket,
		.sibling = table->checkpoints,
	};
	*bucket = table->checkpoints = checkpoint;
	return checkpoint;
}

static struct checkpoint *add_fixed(struct checkpoint_table *table)
{
	struct checkpoint *checkpoint = checkpoint_table_find_key(table, "");

	return checkpoint ? checkpoint : add_key(table, "", checkpoint_table_family(table, ""));
}

/* An open file without a name (O_TMPFILE), which the kernel calls "#" and its inode's number. */
static bool is_nameless(const char *path)
{
	const char *name = text_last_part(path);

	return name[0] == '#' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1);
}

static struct checkpoint *add_checkpoint(struct checkpoint_table *table, const char *path)
{
	auto_free char *key = is_nameless(path) ? text_copy("") : checkpoint_name_key(path);
	auto_free char *family_name = NULL;
	struct checkpoint *checkpoint = checkpoint_table_find_key(table, key);
	struct checkpoint_name name;
	struct family *family;

	if (checkpoint)
		return checkpoint;
	family_name = checkpoint_name_family(path);
	family = checkpoint_table_family(table, family_name);
	if (!*key || family->parts)
		return add_fixed(table);
	name = checkpoint_name_parse(path);
	checkpoint = add_key(table, key, family);
	checkpoint->number = name.number;
	checkpoint->in_directory = name.unit_length > 0;
	family->sure |= name.certain;
	return checkpoint;
}

struct checkpoint *checkpoint_table_add_directory(struct checkpoint_table *table, const char *path)
{
	auto_free char *inside = text_format("%s/-", path);
	struct checkpoint_name name = checkpoint_name_parse(inside);

	if (name.unit_length != strlen(path))
		return NULL;
	return add_checkpoint(table, inside);
}

static void remove_checkpoint(struct checkpoint_table *table, struct checkpoint *checkpoint)
{
	struct checkpoint **link = key_bucket(table, checkpoint->key);

	while (*link != checkpoint)
		link = &(*link)->next;
	*link = checkpoint->next;
	for (link = &table->checkpoints; *link != checkpoint; link = &(*link)->sibling)
		;
	*link = checkpoint->sibling;
	free_checkpoint(checkpoint);
}

void checkpoint_table_remove_empty(struct checkpoint_table *table, const char *directory)
{
	auto_free char *key = text_format("%s/", directory);
	struct checkpoint *checkpoint = checkpoint_table_find_key(table, key);

	if (checkpoint && checkpoint->file_count == 0)
		remove_checkpoint(table, checkpoint);
}

/* --- files --- */

static struct tracked_file **file_bucket(const struct checkpoint_table *table, const char *path)
{
	return &table->files[signature_hash(path) % table->bucket_count];
}

struct tracked_file *checkpoint_table_find(const struct checkpoint_table *table, const char *path)
{
	struct tracked_file *file = *file_bucket(table, path);

	while (file && !text_equal(file->path, path))
		file = file->next;
	return file;
}

static void insert_file(struct checkpoint_table *table, struct tracked_file *file)
{
	struct tracked_file **bucket = file_bucket(table, file->path);

	file->next = *bucket;
	*bucket = file;
}

static void grow_buckets(struct checkpoint_table *table)
{
	struct tracked_file **old = table->files;
	size_t old_count = table->bucket_count;

	table->bucket_count *= 4;
	table->files = memory_new(table->bucket_count * sizeof(struct tracked_file *));
	for (size_t i = 0; i < old_count; i++)
		for (struct tracked_file *file = old[i], *next; file; file = next) {
			next = file->next;
			insert_file(table, file);
		}
	free(old);
}

static void join(struct tracked_file *file, struct checkpoint *checkpoint)
{
	file->checkpoint = checkpoint;
	file->previous = NULL;
	file->sibling = checkpoint->files;
	if (file->sibling)
		file->sibling->previous = file;
	checkpoint->files = file;
	checkpoint->file_count++;
}

static void leave(struct checkpoint_table *table, struct tracked_file *file)
{
	struct checkpoint *checkpoint = file->checkpoint;

	if (file->sibling)
		file->sibling->previous = file->previous;
	if (file->previous)
		file->previous->sibling = file->sibling;
	else
		checkpoint->files = file->sibling;
	checkpoint->file_count--;
	if (checkpoint->file_count == 0 && *checkpoint->key)
		remove_checkpoint(table, checkpoint);
}

/* `file` is in no bucket, and in its checkpoint if it has one. */
static void name_file(struct checkpoint_table *table, struct tracked_file *file, const char *path)
{
	struct checkpoint *checkpoint = add_checkpoint(table, path);
	auto_free char *template = checkpoint_name_template(path);

	file->path = text_copy(path);
	/* Of fixed names, parts may differ in a number only. */
	file->name = signature_hash(*checkpoint->key ? template : path);
	insert_file(table, file);
	/* The only file of a checkpoint may stay in it: what is known of that one stays too. */
	if (file->checkpoint == checkpoint)
		return;
	if (file->checkpoint) {
		/* Whatever comes of it is told of the one that has it now. */
		checkpoint_save_is_over(file->checkpoint);
		leave(table, file);
	}
	join(file, checkpoint);
}

void checkpoint_table_join_parts(struct checkpoint_table *table, struct family *family)
{
	struct checkpoint *fixed = add_fixed(table);

	family->parts = true;
	for (struct checkpoint *checkpoint = table->checkpoints, *next; checkpoint;
	     checkpoint = next) {
		next = checkpoint->sibling;
		if (checkpoint->family != family)
			continue;
		while (checkpoint->files) {
			struct tracked_file *file = checkpoint->files;
			bool last = checkpoint->file_count == 1;

			leave(table, file);
			file->name = signature_hash(file->path);
			join(file, fixed);
			if (last)
				break; /* the checkpoint is gone */
		}
	}
}

struct tracked_file *checkpoint_table_add(struct checkpoint_table *table, const char *path)
{
	struct tracked_file *file = checkpoint_table_find(table, path);

	if (file)
		return file;
	if (table->file_count >= 2 * table->bucket_count)
		grow_buckets(table);
	file = memory_new(sizeof(*file));
	name_file(table, file, path);
	table->file_count++;
	return file;
}

static void unlink_file(struct checkpoint_table *table, struct tracked_file *file)
{
	struct tracked_file **link = file_bucket(table, file->path);

	while (*link != file)
		link = &(*link)->next;
	*link = file->next;
}

void checkpoint_table_remove(struct checkpoint_table *table, struct tracked_file *file)
{
	unlink_file(table, file);
	leave(table, file);
	free_file(file);
	table->file_count--;
}

void checkpoint_table_move(struct checkpoint_table *table, struct tracked_file *file,
			   const char *path)
{
	struct tracked_file *there = checkpoint_table_find(table, path);
	char *old = file->path;

	if (there == file)
		return;
	if (there)
		checkpoint_table_remove(table, there);
	unlink_file(table, file);
	name_file(table, file, path);
	free(old);
}

void checkpoint_table_each_below(struct checkpoint_table *table, const char *path,
				 tracked_file_fn *act, void *argument)
{
	struct tracked_file *file = checkpoint_table_find(table, path);
	struct tracked_file **found = NULL;
	size_t count = 0;

	/* A file has nothing below it. */
	if (file) {
		act(argument, file);
		return;
	}
	for (size_t i = 0; i < table->bucket_count; i++)
		for (file = table->files[i]; file; file = file->next)
			if (path_set_is_below(file->path, path)) {
				if (count % 64 == 0)
					found = memory_grow(found, count + 64, sizeof(*found));
				found[count++] = file;
			}
	for (size_t i = 0; i < count; i++)
		act(argument, found[i]);
	free(found);
}

static void remove_file(void *argument, struct tracked_file *file)
{
	checkpoint_table_remove(argument, file);
}

void checkpoint_table_remove_below(struct checkpoint_table *table, const char *path)
{
	checkpoint_table_each_below(table, path, remove_file, table);
}

/* --- one checkpoint --- */

bool checkpoint_any(const struct checkpoint *checkpoint, unsigned marks)
{
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if (file->marks & marks)
			return true;
	return false;
}

bool checkpoint_all(const struct checkpoint *checkpoint, unsigned marks)
{
	for (const struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if ((file->marks & FILE_FRESH) && (file->marks & marks) != marks)
			return false;
	return true;
}

int64_t checkpoint_still_ms(const struct checkpoint *checkpoint, int64_t last_ms, int64_t now_ms)
{
	return now_ms - last_ms - checkpoint->stalled_ms;
}

void checkpoint_change(struct checkpoint *checkpoint, unsigned which, unsigned drop, unsigned give)
{
	for (struct tracked_file *file = checkpoint->files; file; file = file->sibling)
		if (file->marks & which)
			file->marks = (file->marks & ~drop) | give;
}

bool checkpoint_has_writer(const struct checkpoint *checkpoint, int pid)
{
	for (size_t i = 0; i < checkpoint->writer_count; i++)
		if (checkpoint->writers[i] == pid)
			return true;
	return false;
}

void checkpoint_add_writer(struct checkpoint *checkpoint, int pid)
{
	if (pid == 0 || checkpoint_has_writer(checkpoint, pid))
		return;
	checkpoint->writers = memory_grow(checkpoint->writers, checkpoint->writer_count + 1,
					  sizeof(*checkpoint->writers));
	checkpoint->writers[checkpoint->writer_count++] = pid;
}

void checkpoint_save_is_over(struct checkpoint *checkpoint)
{
	struct family *family = checkpoint->family;

	if (family && checkpoint->save > family->over)
		family->over = checkpoint->save;
}
