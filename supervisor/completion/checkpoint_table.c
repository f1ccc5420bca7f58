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
	free(checkpoint);
}

void checkpoint_table_release(struct checkpoint_table *table)
{
	tdestroy(table->files, free_file);
	tdestroy(table->keys, free_checkpoint);
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
		.own_number = -1,
		.own_before = -1,
		.next = table->families,
	};
	table->families = family;
	return family;
}

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

/* The kind of a file that is kept apart; NULL: it is none. */
static struct family *find_apart(const struct checkpoint_table *table, const char *path)
{
	auto_free char *template = NULL, *stream = NULL;
	struct family *family;

	if (!table->keeps_apart)
		return NULL;
	template = checkpoint_name_template(path);
	family = checkpoint_table_find_family(table, template);
	if (family && family->apart)
		return family;
	stream = checkpoint_name_stream(path);
	family = stream ? checkpoint_table_find_family(table, stream) : NULL;
	return family && family->stream ? family : NULL;
}

/* Does the number in this name count the parts of a checkpoint? */
static bool is_part_name(const struct checkpoint_table *table, const char *path)
{
	auto_free char *template = NULL, *name = NULL;
	const struct family *family;

	if (!table->keeps_apart)
		return false;
	template = checkpoint_name_template(path);
	name = text_format(FAMILY_OF_NAME "%s", template);
	family = checkpoint_table_find_family(table, name);
	return family && family->parts;
}

static struct checkpoint *add_apart(struct checkpoint_table *table, struct family *family,
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
	struct family *family = *kind = find_apart(table, path);

	if (family)
		return add_apart(table, family, path);
	if (is_part_name(table, path)) {
		*kind = checkpoint_table_family(table, "");
		return add_fixed(table);
	}
	family = *kind = checkpoint_table_family(table, family_name);
	if (checkpoint)
		return checkpoint;
	if (!*key || family->parts)
		return add_fixed(table);
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

struct checkpoint *checkpoint_table_add_directory(struct checkpoint_table *table, const char *path)
{
	auto_free char *inside = text_format("%s/-", path);
	struct checkpoint_name name = checkpoint_name_parse(inside);
	struct family *kind;

	if (name.unit_length != strlen(path))
		return NULL;
	return add_checkpoint(table, inside, &kind);
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

void checkpoint_table_remove_empty(struct checkpoint_table *table, const char *directory)
{
	auto_free char *key = text_format("%s/", directory);
	struct checkpoint *checkpoint = checkpoint_table_find_key(table, key);

	if (checkpoint && checkpoint->file_count == 0)
		remove_checkpoint(table, checkpoint);
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

/* Of fixed names, parts may differ in a number only. */
static void make_fixed(struct checkpoint_table *table, struct tracked_file *file,
		       struct checkpoint *fixed)
{
	leave(table, file);
	file->name = signature_hash(file->path);
	join(file, fixed);
}

void checkpoint_table_join_parts(struct checkpoint_table *table, struct family *family)
{
	struct checkpoint *fixed = add_fixed(table);

	family->parts = true;
	family->stream = false;
	for (struct checkpoint *checkpoint = table->checkpoints, *next; checkpoint;
	     checkpoint = next) {
		next = checkpoint->sibling;
		if (checkpoint->family != family)
			continue;
		while (checkpoint->files) {
			struct tracked_file *file = checkpoint->files;
			bool last = checkpoint->file_count == 1;

			make_fixed(table, file, fixed);
			if (last)
				break; /* the checkpoint is gone */
		}
	}
}

void checkpoint_table_join_part_name(struct checkpoint_table *table, struct family *family,
				     uint64_t name)
{
	struct checkpoint *fixed = add_fixed(table);

	for (struct checkpoint *checkpoint = table->checkpoints, *next; checkpoint;
	     checkpoint = next) {
		next = checkpoint->sibling;
		if (checkpoint->family != family)
			continue;
		for (struct tracked_file *file = checkpoint->files, *after; file; file = after) {
			auto_free char *template = checkpoint_name_template(file->path);
			auto_free char *kind = text_format(FAMILY_OF_NAME "%s", template);
			bool last = checkpoint->file_count == 1;

			after = file->sibling;
			if (file->name != name)
				continue;
			checkpoint_table_family(table, kind)->parts = table->keeps_apart = true;
			for (size_t i = 0; i < checkpoint->writer_count; i++)
				checkpoint_add_writer(fixed, checkpoint->writers[i]);
			make_fixed(table, file, fixed);
			if (last)
				break; /* the checkpoint is gone */
		}
	}
}

void checkpoint_table_join_siblings(struct checkpoint_table *table, struct family *part,
				    struct family *leader, struct checkpoint *from,
				    struct checkpoint *into)
{
	for (struct family *family = table->families; family; family = family->next)
		if (family == part || family->with == part)
			family->with = leader;
	part->leads = false;
	leader->leads = true;
	for (size_t i = 0; i < from->writer_count; i++)
		checkpoint_add_writer(into, from->writers[i]);
	for (bool last = false; !last;) {
		struct tracked_file *file = from->files;

		last = from->file_count == 1; /* then it is gone */
		leave(table, file);
		join(file, into);
	}
}

/* What is known of the checkpoint is known of its file. */
static void move_apart(struct checkpoint_table *table, struct tracked_file *file,
		       struct family *family)
{
	struct checkpoint *from = file->checkpoint, *to = add_apart(table, family, file->path);

	checkpoint_set_state(table, to, from->state);
	to->reason = from->reason;
	to->begun_ms = file->begun_ms;
	to->last_ms = from->last_ms;
	to->stalled_ms = from->stalled_ms;
	to->save = from->save;
	to->changed = from->changed;
	for (size_t i = 0; i < from->writer_count; i++)
		checkpoint_add_writer(to, from->writers[i]);
	leave(table, file);
	join(file, to);
}

void checkpoint_table_keep_apart(struct checkpoint_table *table, struct family *family,
				 uint64_t name)
{
	struct tracked_file **found = NULL;
	size_t count = 0;

	each_checkpoint (checkpoint, table)
		if (checkpoint->family == family)
			each_file (file, checkpoint)
				if (file->name == name) {
					found = memory_grow(found, count + 1, sizeof(*found));
					found[count++] = file;
				}
	for (size_t i = 0; i < count; i++) {
		auto_free char *template = checkpoint_name_template(found[i]->path);
		struct family *apart = checkpoint_table_family(table, template);

		apart->apart = table->keeps_apart = true;
		apart->sure = true;
		if (found[i]->checkpoint->number > apart->highest)
			apart->highest = found[i]->checkpoint->number;
		move_apart(table, found[i], apart);
	}
	free(found);
}

void checkpoint_table_make_stream(struct checkpoint_table *table, struct family *family)
{
	struct checkpoint *fixed = add_fixed(table);
	const unsigned fresh = FILE_FRESH | FILE_WRITTEN;
	int64_t last_ms = 0;
	bool any = false;

	family->stream = family->sure = table->keeps_apart = true;
	for (struct tracked_file *file = fixed->files, *next; file; file = next) {
		auto_free char *stream = checkpoint_name_stream(file->path);
		bool closed = (file->marks & FILE_WITNESSED) && !(file->marks & FILE_TORN);

		next = file->sibling;
		if (!stream || !text_equal(stream, family->name)) {
			if ((file->marks & FILE_FRESH) && file->here_ms > last_ms)
				last_ms = file->here_ms;
			any |= file->marks & FILE_FRESH;
			continue;
		}
		if (closed)
			file->marks &= ~fresh;
		move_apart(table, file, family);
		if (file->marks & FILE_TORN)
			checkpoint_set_state(table, file->checkpoint, CHECKPOINT_TORN);
		else if (!(file->marks & FILE_FRESH))
			checkpoint_set_state(table, file->checkpoint, CHECKPOINT_COMPLETE);
	}
	if (any)
		fixed->last_ms = last_ms;
	else if (fixed->state == CHECKPOINT_UNDER_WAY)
		checkpoint_set_state(table, fixed, CHECKPOINT_EMPTY);
}

bool checkpoint_is_of_stream(const struct checkpoint *checkpoint)
{
	return checkpoint->family->stream;
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

static void remove_file(void *argument, struct tracked_file *file)
{
	checkpoint_table_remove(argument, file);
}

void checkpoint_table_remove_below(struct checkpoint_table *table, const char *path)
{
	checkpoint_table_each_below(table, path, remove_file, table);
}

/* --- one checkpoint --- */

bool checkpoint_stands(const struct checkpoint *checkpoint)
{
	return *checkpoint->key &&
	       (checkpoint->state == CHECKPOINT_COMPLETE ||
		(checkpoint->state == CHECKPOINT_UNDER_WAY && checkpoint->base > 0));
}

bool checkpoint_stands_without(const struct checkpoint *checkpoint, const struct tracked_file *file)
{
	return (file->marks & FILE_ADDED) && (file->marks & (FILE_FRESH | FILE_DAMAGED)) &&
	       checkpoint_stands(checkpoint);
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

int64_t checkpoint_still_ms(const struct checkpoint *checkpoint, int64_t last_ms, int64_t now_ms)
{
	return now_ms - last_ms - checkpoint->stalled_ms;
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
