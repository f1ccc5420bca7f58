#include "machine_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "file_copy.h"
#include "git_directory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *machine_directory_relative(const char *path)
{
	auto_free char *plain = memory_new(strlen(path) + 2);
	size_t used = 0;

	if (*path == '/')
		return NULL;
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && path[0] == '.' && path[1] == '.')
			return NULL;
		if (length > 0 && !(length == 1 && path[0] == '.')) {
			if (used)
				plain[used++] = '/';
			memcpy(plain + used, path, length);
			used += length;
		}
		path += length;
		path += strspn(path, "/");
	}
	return used ? steal(&plain) : NULL;
}

char *machine_directory_below(const char *path, const char *from)
{
	size_t length = text_equal(from, "/") ? 0 : strlen(from);

	if (*path != '/')
		return machine_directory_relative(path);
	if (strncmp(path, from, length) != 0 || path[length] != '/')
		return NULL;
	path += length;
	return machine_directory_relative(path + strspn(path, "/"));
}

/* --- what is left out --- */

static bool is_at(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return text_starts(path, directory) && (path[length] == '/' || path[length] == '\0');
}

/* One path that a machine has not, and what lies there. */
struct excluded {
	const char *path;
	char *real; /* NULL: nothing is there */
	dev_t device;
	ino_t inode;
};

struct making {
	const char *from, *to;
	struct excluded *excluded;
	size_t excluded_count;
	/* directories of `look` that were left out, and so is what they hold; borrowed */
	const char **skipped;
	size_t skipped_count;
	uint64_t room;
	char *left_out; /* the first that found no room; NULL: all did */
	size_t left_out_count;
};

static void making_release(struct making *making)
{
	for (size_t i = 0; i < making->excluded_count; i++)
		free(making->excluded[i].real);
	free(making->excluded);
	free(making->skipped);
	free(making->left_out);
}
AUTO(struct making, making_release);

static void exclude(struct making *making, const char *const *paths, size_t count)
{
	making->excluded = memory_grow(NULL, count + 1, sizeof(*making->excluded));
	for (size_t i = 0; i < count; i++) {
		struct excluded one = {.path = paths[i]};
		auto_free char *whole =
			*paths[i] == '/' ? text_copy(paths[i])
					 : text_format("%s/%s", making->from, paths[i]);
		struct stat about;

		if (stat(whole, &about) == 0) {
			one.real = realpath(whole, NULL);
			one.device = about.st_dev;
			one.inode = about.st_ino;
		}
		making->excluded[making->excluded_count++] = one;
	}
}

/* By its name, or as it is the same by another one. */
static bool is_excluded(const struct making *making, const struct tree_entry *entry)
{
	for (size_t i = 0; i < making->excluded_count; i++) {
		const struct excluded *one = &making->excluded[i];

		if (is_at(entry->path, one->path))
			return true;
		if (!one->real || entry->kind == TREE_LINK)
			continue;
		if ((one->inode == entry->inode && one->device == entry->device) ||
		    (entry->target && is_at(entry->target, one->real)))
			return true;
	}
	for (size_t i = 0; i < making->skipped_count; i++)
		if (is_at(entry->path, making->skipped[i]))
			return true;
	return false;
}

static void skip(struct making *making, const struct tree_entry *entry)
{
	if (entry->kind != TREE_DIRECTORY)
		return;
	making->skipped =
		memory_grow(making->skipped, making->skipped_count + 1, sizeof(*making->skipped));
	making->skipped[making->skipped_count++] = entry->path;
}

static void leave_out(struct making *making, const struct tree_entry *entry)
{
	if (making->left_out_count++ == 0)
		making->left_out = text_copy(entry->path);
}

/* --- what is made --- */

static int make_file(struct making *making, const struct tree_entry *entry, const char *from,
		     const char *to, struct err *err)
{
	struct err why = {0};

	if (file_copy(from, to, &making->room, &why) == 0 || why.kind == ERR_NOT_FOUND)
		return 0;
	if (why.kind != ERR_NO_SPACE) {
		*err = why;
		return -1;
	}
	leave_out(making, entry);
	return 0;
}

static int make_git(const char *from, const char *to, struct err *err)
{
	struct err why = {0};

	if (git_directory_make(from, to, &why) == 0 || why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

static int make_link(const char *target, const char *to, struct err *err)
{
	return symlink(target, to) < 0 ? err_os(err, errno, "link %s", to) : 0;
}

static int make_entry(struct making *making, const struct tree_entry *entry, struct err *err)
{
	auto_free char *from = text_format("%s/%s", making->from, entry->path);
	auto_free char *to = text_format("%s/%s", making->to, entry->path);

	if (entry->kind != TREE_LINK && text_equal(text_last_part(entry->path), ".git"))
		return make_git(from, to, err);
	switch (entry->kind) {
	case TREE_DIRECTORY:
		return mkdir(to, 0777) < 0 ? err_os(err, errno, "%s", to) : 0;
	case TREE_FILE:
		return make_file(making, entry, from, to, err);
	case TREE_LINK:
		if (entry->target)
			return make_link(entry->target, to, err);
		if (file_exists(from) && access(from, F_OK) == 0)
			leave_out(making, entry);
		return 0;
	case TREE_CLOSED:
	case TREE_OTHER:
		return make_link(from, to, err);
	}
	return 0;
}

static void print_left_out(const struct making *making, char text[MACHINE_TEXT])
{
	char name[120];

	*text = '\0';
	if (making->left_out_count == 0)
		return;
	text_elide(name, sizeof(name), making->left_out);
	if (making->left_out_count == 1)
		text_set(text, MACHINE_TEXT, name);
	else
		snprintf(text, MACHINE_TEXT, "%s and %zu more", name, making->left_out_count - 1);
}

int machine_directory_make(const struct tree_look *look, const char *from, const char *to,
			   const char *const *excluded, size_t count, uint64_t room,
			   char left_out[MACHINE_TEXT], struct err *err)
{
	auto_(making_release) struct making making = {.from = from, .to = to, .room = room};

	exclude(&making, excluded, count);
	if (mkdir(to, 0777) < 0)
		return err_os(err, errno, "%s", to);
	for (size_t i = 0; i < look->count; i++) {
		if (is_excluded(&making, &look->items[i]))
			skip(&making, &look->items[i]);
		else if (make_entry(&making, &look->items[i], err) < 0)
			return -1;
	}
	print_left_out(&making, left_out);
	return 0;
}
