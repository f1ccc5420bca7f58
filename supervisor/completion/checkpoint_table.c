#include "checkpoint_table.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* Of files by their paths, and of checkpoints by their keys. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void *find(void *const *tree, const char *name)
{
	void **found = name ? tfind(&name, tree, by_name) : NULL;

	return found ? *found : NULL;
}

static void enter(void **tree, const void *item)
{
	if (!tsearch(item, tree, by_name))
		abort();
}

static void free_file(void *item)
{
	struct tracked_file *file = item;

	free(file->path);
	free(file);
}

static void free_checkpoint(void *item)
{
	struct checkpoint *checkpoint = item;

	free(checkpoint->key);
	free(checkpoint->writers);
	free(checkpoint->added_to);
	free(checkpoint);
}

void checkpoint_table_release(struct checkpoint_table *table)
{
	tdestroy(table->files, free_file);
	tdestroy(table->keys, free_checkpoint);
	for (struct family *family = table->families, *next; family; family = next) {
		next = family->next;
		signature_release(&family->signature);
		signature_release(&family->partners);
		free(family->name);
		free(family->taught_by);
		free(family);
	}
	*table = (struct checkpoint_table){0};
}

/* --- checkpoints --- */

struct checkpoint *checkpoint_table_find_key(const struct checkpoint_table *table, const char *key)
{
	return find(&table->keys, key);
}

static struct checkpoint *add_key(struct checkpoint_table *table, const char *key,
				  struct family *family)
{
	struct checkpoint *checkpoint = memory_new(sizeof(*checkpoint));

	*checkpoint = (struct checkpoint){
		.key = text_copy(key),
		.number = -1,
		.family = family,
		.step = -1,
		.sibling = table->checkpoints,
	};
	table->checkpoints = checkpoint;
	enter(&table->keys, checkpoint);
	return checkpoint;
}

struct checkpoint *checkpoint_table_fixed(struct checkpoint_table *table)
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

struct checkpoint *checkpoint_table_apart(struct checkpoint_table *table, struct family *family,
					  const char *path)
{
	struct checkpoint *checkpoint = checkpoint_table_find_key(table, path);

	if (checkpoint)
		return checkpoint;
	checkpoint = add_key(table, path, family);
	checkpoint->number = step_of_path(path);
	return checkpoint;
}

/* Is it the file's own one, or does it lack what the file is a part of? What has the number a
 * second time, as "epoch-2/step-500/" does, is another one. */
static bool may_have(const struct checkpoint *checkpoint, const struct family *kind,
		     const char *key)
{
	each_file (file, checkpoint) {
		auto_free char *own = NULL;

		if (file->kind != kind)
			continue;
		own = checkpoint_name_key(file->path);
		return text_equal(own, key);
	}
	return true;
}

/* The one of that number that other parts have begun; NULL: none. */
static struct checkpoint *find_siblings(const struct checkpoint_table *table,
					const struct family *kind, const char *key, int64_t number)
{
	const struct family *leader = kind->with ? kind->with : kind;

	if (!leader->leads)
		return NULL;
	each_checkpoint (checkpoint, table)
		if (checkpoint->family == leader && checkpoint->number == number &&
		    may_have(checkpoint, kind, key))
			return checkpoint;
	return NULL;
}

/* *kind: of the path itself. */
static struct checkpoint *add_checkpoint(struct checkpoint_table *table, const char *path,
					 struct family **kind)
{
	auto_free char *key = is_nameless(path) ? text_copy("") : checkpoint_name_key(path);
	auto_free char *family_name = *key ? checkpoint_name_family(path) : text_copy("");
	struct checkpoint *checkpoint = checkpoint_table_find_key(table, key);
	struct checkpoint_name name;
	struct family *family = *kind = checkpoint_table_find_apart(table, path);

	if (family)
		return checkpoint_table_apart(table, family, path);
	if (checkpoint_table_is_part_name(table, path)) {
		*kind = checkpoint_table_family(table, "");
		return checkpoint_table_fixed(table);
	}
	family = *kind = checkpoint_table_family(table, family_name);
	if (checkpoint)
		return checkpoint;
	if (!*key || family->parts)
		return checkpoint_table_fixed(table);
	name = checkpoint_name_parse(path);
	checkpoint = find_siblings(table, family, key, name.number);
	if (checkpoint)
		return checkpoint;
	family = family->with ? family->with : family;
	checkpoint = add_key(table, key, family);
	checkpoint->number = name.number;
	checkpoint->in_directory = name.unit_length > 0;
	family->sure |= name.certain;
	return checkpoint;
}

static void leave_under_way(struct checkpoint_table *table, struct checkpoint *checkpoint)
{
	struct checkpoint *next = checkpoint->under_way_next;
	struct checkpoint *previous = checkpoint->under_way_previous;

	*(previous ? &previous->under_way_next : &table->under_way) = next;
	*(next ? &next->under_way_previous : &table->under_way_last) = previous;
	checkpoint->under_way_next = checkpoint->under_way_previous = NULL;
}

static void join_under_way(struct checkpoint_table *table, struct checkpoint *checkpoint)
{
	struct checkpoint *last = table->under_way_last;

	checkpoint->under_way_previous = last;
	*(last ? &last->under_way_next : &table->under_way) = checkpoint;
	table->under_way_last = checkpoint;
}

void checkpoint_set_state(struct checkpoint_table *table, struct checkpoint *checkpoint,
			  enum checkpoint_state state)
{
	if (checkpoint->state == CHECKPOINT_UNDER_WAY)
		leave_under_way(table, checkpoint);
	checkpoint->state = state;
	if (state == CHECKPOINT_UNDER_WAY)
		join_under_way(table, checkpoint);
}

static void remove_checkpoint(struct checkpoint_table *table, struct checkpoint *checkpoint)
{
	struct checkpoint **link;

	checkpoint_set_state(table, checkpoint, CHECKPOINT_EMPTY);
	tdelete(checkpoint, &table->keys, by_name);
	for (link = &table->checkpoints; *link != checkpoint; link = &(*link)->sibling)
		;
	*link = checkpoint->sibling;
	free_checkpoint(checkpoint);
}

/* --- files --- */

struct tracked_file *checkpoint_table_find(const struct checkpoint_table *table, const char *path)
{
	return find(&table->files, path);
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

void checkpoint_table_put(struct checkpoint_table *table, struct tracked_file *file,
			  struct checkpoint *checkpoint)
{
	leave(table, file);
	join(file, checkpoint);
}

void checkpoint_table_add_to(struct checkpoint_table *table, struct tracked_file *file)
{
	struct family *family = checkpoint_table_family(table, "+");
	struct checkpoint *added = checkpoint_table_apart(table, family, file->path);

	added->number = -1;
	free(added->added_to);
	added->added_to = text_copy(file->checkpoint->key);
	checkpoint_table_put(table, file, added);
}

/* `file` is not in the tree, and in its checkpoint if it has one. */
static void name_file(struct checkpoint_table *table, struct tracked_file *file, const char *path)
{
	struct checkpoint *checkpoint = add_checkpoint(table, path, &file->kind);
	auto_free char *template = checkpoint_name_template(path);

	file->path = text_copy(path);
	/* Of fixed names, parts may differ in a number only. */
	file->name = signature_hash(*checkpoint->key ? template : path);
	enter(&table->files, file);
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

struct tracked_file *checkpoint_table_add(struct checkpoint_table *table, const char *path)
{
	struct tracked_file *file = checkpoint_table_find(table, path);

	if (file)
		return file;
	file = memory_new(sizeof(*file));
	name_file(table, file, path);
	return file;
}

void checkpoint_table_remove(struct checkpoint_table *table, struct tracked_file *file)
{
	tdelete(file, &table->files, by_name);
	leave(table, file);
	free_file(file);
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
	tdelete(file, &table->files, by_name);
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
	each_checkpoint (checkpoint, table)
		for (file = checkpoint->files; file; file = file->sibling)
			if (path_set_is_below(file->path, path)) {
				if (count % 64 == 0)
					found = memory_grow(found, count + 64, sizeof(*found));
				found[count++] = file;
			}
	for (size_t i = 0; i < count; i++)
		act(argument, found[i]);
	free(found);
}

bool checkpoint_table_any_below(const struct checkpoint_table *table, const char *path)
{
	if (checkpoint_table_find(table, path))
		return true;
	each_checkpoint (checkpoint, table)
		each_file (file, checkpoint)
			if (path_set_is_below(file->path, path))
				return true;
	return false;
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

int64_t checkpoint_step_of(const struct checkpoint *checkpoint)
{
	return checkpoint->step >= 0 ? checkpoint->step : checkpoint->number;
}

bool checkpoint_is_after(const struct checkpoint *checkpoint, const struct checkpoint *other)
{
	return checkpoint->begun_ms == other->begun_ms ? checkpoint->save > other->save
						       : checkpoint->begun_ms > other->begun_ms;
}

bool checkpoint_stands(const struct checkpoint *checkpoint)
{
	return *checkpoint->key && checkpoint->state == CHECKPOINT_COMPLETE;
}

bool checkpoint_is_of_members(const struct checkpoint *checkpoint)
{
	return (checkpoint->added_to || checkpoint->rewritten) &&
	       checkpoint_all(checkpoint, FILE_OF_MEMBER);
}

bool tracked_file_was_written(const struct tracked_file *file)
{
	return file->begun_ms > 0;
}

bool checkpoint_any(const struct checkpoint *checkpoint, unsigned marks)
{
	each_file (file, checkpoint)
		if (file->marks & marks)
			return true;
	return false;
}

bool checkpoint_all(const struct checkpoint *checkpoint, unsigned marks)
{
	each_file (file, checkpoint)
		if ((file->marks & FILE_FRESH) && (file->marks & marks) != marks)
			return false;
	return true;
}

void checkpoint_change(struct checkpoint *checkpoint, unsigned which, unsigned drop, unsigned give)
{
	each_file (file, checkpoint)
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
