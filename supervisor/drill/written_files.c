#include "written_files.h"

#include "base/text.h"
#include "base/walk.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* "a/b and 2 more files"; what `text` has stays. */
static void print_files(const struct tree_entry *first, size_t count, char text[WRITTEN_TEXT])
{
	char name[120], more[40] = "";
	size_t used = strlen(text);

	if (count == 0)
		return;
	text_elide(name, sizeof(name), first->path);
	if (strstr(text, name))
		return;
	if (count > 1)
		snprintf(more, sizeof(more), " and %zu more file%s", count - 1,
			 count == 2 ? "" : "s");
	snprintf(text + used, WRITTEN_TEXT - used, "%s%s%s", used > 0 ? ", " : "", name, more);
}

void written_add(const char *path, char text[WRITTEN_TEXT])
{
	const struct tree_entry one = {.path = (char *)path};

	print_files(&one, 1, text);
}

/* `path` or below it. */
static bool is_at(const char *path, const char *directory)
{
	size_t length = directory ? strlen(directory) : 0;

	return directory && text_starts(path, directory) &&
	       (path[length] == '\0' || path[length] == '/');
}

static bool is_hidden(const char *path)
{
	return path[0] == '.' || strstr(path, "/.");
}

void written_by_machine(const struct tree_look *before, const struct tree_look *after,
			const char *checkpoint_dir, const char *result, char text[WRITTEN_TEXT])
{
	auto_free const struct tree_entry **changed = NULL;
	auto_free char *beside = text_format("%s.reprieve", checkpoint_dir);
	size_t count = tree_look_compare(before, after, &changed), own = 0;
	const struct tree_entry *newest = NULL;

	*text = '\0';
	for (size_t i = 0; i < count; i++) {
		const struct tree_entry *one = changed[i];

		if (one->kind != TREE_FILE || is_hidden(one->path) || is_at(one->path, beside) ||
		    is_at(one->path, checkpoint_dir) || is_at(one->path, result))
			continue;
		own++;
		if (!newest || one->ctime_ns > newest->ctime_ns)
			newest = one;
	}
	print_files(newest, own, text);
}

/* --- the user's own --- */

struct held {
	const struct tree_entry **entries;
	size_t count;
};

static void drop_hidden(struct held *held)
{
	for (size_t i = 0; i < held->count; i++)
		if (is_hidden(held->entries[i]->path))
			held->entries[i--] = held->entries[--held->count];
}

static void drop_file(struct held *held, const struct stat *about)
{
	for (size_t i = 0; i < held->count; i++)
		if (held->entries[i]->device == about->st_dev &&
		    held->entries[i]->inode == about->st_ino)
			held->entries[i--] = held->entries[--held->count];
}

static void drop_files_of(struct held *held, int process)
{
	auto_(walk_close) struct walk files = {0};
	struct stat about;

	if (walk_open_at(&files, process, "fd", 0) < 0)
		return;
	while (walk_next(&files))
		if (fstatat(files.directory, files.name, &about, 0) == 0)
			drop_file(held, &about);
}

/* Also of ourselves: our output may go to a file there. */
static void drop_held_files(struct held *held)
{
	auto_(walk_close) struct walk processes = {0};

	if (held->count == 0 || walk_open(&processes, "/proc", 0) < 0)
		return;
	while (walk_next(&processes)) {
		auto_close int process = -1;

		if (processes.name[0] < '0' || processes.name[0] > '9')
			continue;
		process = openat(processes.directory, processes.name,
				 O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0)
			drop_files_of(held, process);
	}
}

static bool has_file(const struct tree_look *look, const char *path)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->items[i].kind == TREE_FILE && text_equal(look->items[i].path, path))
			return true;
	return false;
}

enum users_way written_way(const struct tree_look *before, const struct tree_entry *one)
{
	static const char mlruns[] = "mlruns/";
	const char *at = strstr(one->path, mlruns);

	if (one->kind == TREE_CLOSED)
		return USERS_SHARED;
	for (; at; at = strstr(at + 1, mlruns)) {
		const char *experiment = at + sizeof(mlruns) - 1;
		size_t length = (size_t)(experiment - one->path) + strcspn(experiment, "/");
		auto_free char *directory = text_copy_n(one->path, length);
		auto_free char *names = text_format("%s/meta.yaml", directory);

		if ((at == one->path || at[-1] == '/') && has_file(before, names))
			return USERS_BY_MLFLOW;
	}
	return USERS_BY_PATH;
}

void written_to_users_own(const struct tree_look *before, const struct tree_look *after,
			  char text[WRITTEN_TEXT], enum users_way *way)
{
	auto_free const struct tree_entry **changed = NULL;
	struct held held = {.count = tree_look_compare(before, after, &changed)};

	held.entries = changed;
	drop_hidden(&held);
	drop_held_files(&held);
	if (held.count == 0)
		return;
	if (!*text)
		*way = written_way(before, held.entries[0]);
	print_files(held.entries[0], held.count, text);
}
