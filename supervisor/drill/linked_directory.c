#include "linked_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct linked_directory {
	struct stat scratch;
	const char *const *excluded;
	size_t count;
};

char *linked_directory_relative(const char *path)
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

char *linked_directory_below(const char *path, const char *from)
{
	size_t length = text_equal(from, "/") ? 0 : strlen(from);

	if (*path != '/')
		return linked_directory_relative(path);
	if (strncmp(path, from, length) != 0 || path[length] != '/')
		return NULL;
	path += length;
	return linked_directory_relative(path + strspn(path, "/"));
}

enum entry_kind {
	ENTRY_LINKED,
	ENTRY_EXCLUDED,
	ENTRY_PARENT
};

static enum entry_kind kind_of_entry(const struct linked_directory *linked_directory,
				     const char *relative)
{
	enum entry_kind entry_kind = ENTRY_LINKED;
	size_t length = strlen(relative);

	for (size_t i = 0; i < linked_directory->count; i++) {
		if (text_equal(linked_directory->excluded[i], relative))
			return ENTRY_EXCLUDED;
		if (text_starts(linked_directory->excluded[i], relative) &&
		    linked_directory->excluded[i][length] == '/')
			entry_kind = ENTRY_PARENT;
	}
	return entry_kind;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* `to` is what the entry of the walk becomes. */
static int link_entry(const struct linked_directory *linked_directory, struct walk *walk,
		      const char *from, const char *to, struct err *err)
{
	enum entry_kind entry_kind = kind_of_entry(linked_directory, walk->path);
	struct stat about;

	if (entry_kind == ENTRY_EXCLUDED)
		return 0;
	if (fstatat(walk->directory, walk->name, &about, 0) == 0) {
		if (is_same_file(&about, &linked_directory->scratch))
			return 0;
		if (entry_kind == ENTRY_PARENT && S_ISDIR(about.st_mode)) {
			if (walk_enter(walk) < 0)
				return err_os(err, errno, "%s", from);
			return mkdir(to, 0777) < 0 ? err_os(err, errno, "%s", to) : 0;
		}
	}
	return symlink(from, to) < 0 ? err_os(err, errno, "link %s", to) : 0;
}

int linked_directory_make(const char *from, const char *to, const char *scratch,
			  const char *const *excluded, size_t count, struct err *err)
{
	struct linked_directory linked_directory = {.excluded = excluded, .count = count};
	auto_(walk_close) struct walk walk = {0};

	if (stat(scratch, &linked_directory.scratch) < 0)
		return err_os(err, errno, "%s", scratch);
	if (walk_open(&walk, from, WALK_FOLLOW) < 0)
		return err_os(err, errno, "%s", from);
	if (mkdir(to, 0777) < 0)
		return err_os(err, errno, "%s", to);
	while (walk_next(&walk)) {
		auto_free char *source = text_format("%s/%s", from, walk.path);
		auto_free char *target = text_format("%s/%s", to, walk.path);

		if (link_entry(&linked_directory, &walk, source, target, err) < 0)
			return -1;
	}
	return 0;
}
