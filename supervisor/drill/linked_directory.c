#include "linked_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

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

static int link_directory(const struct linked_directory *linked_directory, const char *from,
			  const char *to, const char *relative, struct err *err);

static int link_entry(const struct linked_directory *linked_directory, const char *from,
		      const char *to, const char *relative, struct err *err)
{
	enum entry_kind entry_kind = kind_of_entry(linked_directory, relative);
	struct stat about;

	if (entry_kind == ENTRY_EXCLUDED)
		return 0;
	if (stat(from, &about) == 0) {
		if (about.st_dev == linked_directory->scratch.st_dev &&
		    about.st_ino == linked_directory->scratch.st_ino)
			return 0;
		if (entry_kind == ENTRY_PARENT && S_ISDIR(about.st_mode))
			return link_directory(linked_directory, from, to, relative, err);
	}
	if (symlink(from, to) < 0)
		return err_os(err, errno, "link %s", to);
	return 0;
}

static int link_directory(const struct linked_directory *linked_directory, const char *from,
			  const char *to, const char *relative, struct err *err)
{
	auto_closedir DIR *directory = opendir(from);
	const struct dirent *entry;

	if (!directory)
		return err_os(err, errno, "%s", from);
	if (mkdir(to, 0777) < 0)
		return err_os(err, errno, "%s", to);
	while ((entry = readdir(directory))) {
		if (text_equal(entry->d_name, ".") || text_equal(entry->d_name, ".."))
			continue;
		auto_free char *source = text_format("%s/%s", from, entry->d_name);
		auto_free char *target = text_format("%s/%s", to, entry->d_name);
		auto_free char *path =
			text_format("%s%s%s", relative, *relative ? "/" : "", entry->d_name);

		if (link_entry(linked_directory, source, target, path, err) < 0)
			return -1;
	}
	return 0;
}

int linked_directory_make(const char *from, const char *to, const char *scratch,
			  const char *const *excluded, size_t count, struct err *err)
{
	struct linked_directory linked_directory = {.excluded = excluded, .count = count};

	if (stat(scratch, &linked_directory.scratch) < 0)
		return err_os(err, errno, "%s", scratch);
	return link_directory(&linked_directory, from, to, "", err);
}
