#include "linked_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct mirror {
	struct stat scratch;
	const char *const *left_out;
	size_t count;
};

char *mirror_relative(const char *path)
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
	return used ? take(&plain) : NULL;
}

char *mirror_below(const char *path, const char *from)
{
	size_t length = text_equal(from, "/") ? 0 : strlen(from);

	if (*path != '/')
		return mirror_relative(path);
	if (strncmp(path, from, length) != 0 || path[length] != '/')
		return NULL;
	path += length;
	return mirror_relative(path + strspn(path, "/"));
}

enum place {
	PLACE_SHOWN,
	PLACE_LEFT_OUT,
	PLACE_ON_THE_WAY
};

static enum place place_of(const struct mirror *mirror, const char *relative)
{
	enum place place = PLACE_SHOWN;
	size_t length = strlen(relative);

	for (size_t i = 0; i < mirror->count; i++) {
		if (text_equal(mirror->left_out[i], relative))
			return PLACE_LEFT_OUT;
		if (text_starts(mirror->left_out[i], relative) &&
			mirror->left_out[i][length] == '/')
			place = PLACE_ON_THE_WAY;
	}
	return place;
}

static int mirror_level(const struct mirror *mirror, const char *from, const char *to,
	const char *relative, struct err *err);

static int mirror_entry(const struct mirror *mirror, const char *from, const char *to,
	const char *relative, struct err *err)
{
	enum place place = place_of(mirror, relative);
	struct stat about;

	if (place == PLACE_LEFT_OUT)
		return 0;
	if (stat(from, &about) == 0) {
		if (about.st_dev == mirror->scratch.st_dev &&
			about.st_ino == mirror->scratch.st_ino)
			return 0;
		if (place == PLACE_ON_THE_WAY && S_ISDIR(about.st_mode))
			return mirror_level(mirror, from, to, relative, err);
	}
	if (symlink(from, to) < 0)
		return err_os(err, errno, "link %s", to);
	return 0;
}

static int mirror_level(const struct mirror *mirror, const char *from, const char *to,
	const char *relative, struct err *err)
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

		if (mirror_entry(mirror, source, target, path, err) < 0)
			return -1;
	}
	return 0;
}

int mirror_make(const char *from, const char *to, const char *scratch, const char *const *left_out,
	size_t count, struct err *err)
{
	struct mirror mirror = {.left_out = left_out, .count = count};

	if (stat(scratch, &mirror.scratch) < 0)
		return err_os(err, errno, "%s", scratch);
	return mirror_level(&mirror, from, to, "", err);
}
