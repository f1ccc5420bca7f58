#include "machine_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
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

static bool is_excluded(const char *path, const char *const *excluded, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(excluded[i]);

		if (text_starts(path, excluded[i]) && (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

/* `left`: how many bytes may still be copied; what shares the content costs none. */
static bool copy_content(int in, int out, uint64_t size, uint64_t *left)
{
	char buffer[65536];
	ssize_t got;

	if (ioctl(out, FICLONE, in) == 0)
		return true;
	if (size > MACHINE_FILE_MOST || size > *left)
		return false;
	*left -= size;
	/* No more than its size: a read of some files of the kernel, which have none, never ends.
	 */
	for (; size > 0; size -= (uint64_t)got) {
		got = read(in, buffer, size < sizeof(buffer) ? size : sizeof(buffer));
		if (got <= 0 || file_write_all(out, buffer, (size_t)got, NULL) < 0)
			return false;
	}
	return true;
}

/* With its time: Python compares that with what it has compiled. False: nothing is there. */
static bool copy_file(const char *from, const char *to, uint64_t *left)
{
	struct stat about;
	auto_close int in = file_open(from, O_RDONLY, 0, NULL);
	auto_close int out = -1;

	if (in < 0 || fstat(in, &about) < 0)
		return false;
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (out < 0)
		return false;
	if (copy_content(in, out, (uint64_t)about.st_size, left) &&
	    fchmod(out, about.st_mode & 0777) == 0 &&
	    futimens(out, (const struct timespec[]){about.st_atim, about.st_mtim}) == 0)
		return true;
	unlink(to);
	return false;
}

static int make_entry(const struct tree_entry *entry, const char *from, const char *to,
		      uint64_t *left, struct err *err)
{
	char target[PATH_MAX] = "";
	ssize_t length = entry->kind == TREE_LINK ? readlink(from, target, sizeof(target) - 1) : -1;

	if (entry->kind == TREE_DIRECTORY)
		return mkdir(to, 0777) < 0 ? err_os(err, errno, "%s", to) : 0;
	if (entry->kind == TREE_FILE && copy_file(from, to, left))
		return 0;
	return symlink(length > 0 && tree_link_stays(entry->path, target) ? target : from, to) < 0
		       ? err_os(err, errno, "link %s", to)
		       : 0;
}

int machine_directory_make(const struct tree_look *look, const char *from, const char *to,
			   const char *const *excluded, size_t count, struct err *err)
{
	uint64_t left = MACHINE_COPIED_MOST;

	if (mkdir(to, 0777) < 0)
		return err_os(err, errno, "%s", to);
	for (size_t i = 0; i < look->count; i++) {
		auto_free char *source = text_format("%s/%s", from, look->items[i].path);
		auto_free char *target = text_format("%s/%s", to, look->items[i].path);

		if (!is_excluded(look->items[i].path, excluded, count) &&
		    make_entry(&look->items[i], source, target, &left, err) < 0)
			return -1;
	}
	return 0;
}
