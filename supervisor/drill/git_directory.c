#include "git_directory.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "file_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path that a small file names, behind `prefix`, relative to `directory`. NULL: there is none.
 * The caller frees. */
static char *read_path(const char *file, const char *prefix, const char *directory)
{
	auto_(bytes_release) struct bytes text = {.limit = 1 << 16};
	size_t skip = strlen(prefix), length;
	const char *start;

	if (file_read(file, &text, NULL) < 0 || text.size < skip ||
	    memcmp(text.data, prefix, skip) != 0)
		return NULL;
	start = (const char *)text.data + skip;
	for (length = text.size - skip; length > 0 && strchr("\r\n", start[length - 1]);)
		length--;
	auto_free char *path = text_copy_n(start, length);
	return *path == '/' ? steal(&path) : text_format("%s/%s", directory, path);
}

/* Of this work tree. */
static char *find_own(const char *from)
{
	auto_free char *above = text_copy(from);

	if (file_is_directory(from))
		return text_copy(from);
	*strrchr(above, '/') = '\0';
	return read_path(from, "gitdir: ", above);
}

static bool is_copied(const char *name, bool own)
{
	static const char *const common[] = {"config", "packed-refs", "shallow", "HEAD"};

	if (text_equal(name, "gitdir") || text_equal(name, "commondir") ||
	    text_equal(name, "config.worktree") || text_ends(name, ".lock"))
		return false;
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (text_equal(name, common[i]))
			return true;
	return own;
}

/* The files of the directory itself; one that is there stays. */
static int copy_files(const char *from, const char *to, bool own, struct err *err)
{
	auto_(walk_close) struct walk walk = {0};
	uint64_t room = UINT64_MAX;

	if (walk_open(&walk, from, 0) < 0)
		return err_os(err, errno, "%s", from);
	while (walk_next(&walk)) {
		auto_free char *source = text_format("%s/%s", from, walk.name);
		auto_free char *target = text_format("%s/%s", to, walk.name);
		struct stat about;

		if (is_copied(walk.name, own) && !file_exists(target) &&
		    stat(source, &about) == 0 && S_ISREG(about.st_mode) &&
		    file_copy(source, target, &room, err) < 0)
			return -1;
	}
	return 0;
}

static int copy_tree(const char *from, const char *to, const char *name, struct err *err)
{
	auto_free char *source = text_format("%s/%s", from, name);
	auto_free char *target = text_format("%s/%s", to, name);
	auto_(walk_close) struct walk walk = {0};
	uint64_t room = UINT64_MAX;

	if (!file_is_directory(source))
		return 0;
	if (file_make_directories(target, 0777, err) < 0)
		return -1;
	if (walk_open(&walk, source, 0) < 0)
		return err_os(err, errno, "%s", source);
	while (walk_next(&walk)) {
		auto_free char *inner = text_format("%s/%s", source, walk.path);
		auto_free char *copy = text_format("%s/%s", target, walk.path);

		if (walk_is_directory(&walk)
			    ? file_make_directories(copy, 0777, err) < 0 || walk_enter(&walk) < 0
			    : !text_ends(walk.name, ".lock") &&
				      file_copy(inner, copy, &room, err) < 0)
			return err_wrap(err, "%s", inner);
	}
	return 0;
}

static int write_alternate(const char *common, const char *to, struct err *err)
{
	auto_free char *info = text_format("%s/objects/info", to);
	auto_free char *pack = text_format("%s/objects/pack", to);
	auto_free char *refs = text_format("%s/refs", to);
	auto_free char *file = text_format("%s/alternates", info);
	auto_free char *real = file_absolute(common);
	auto_free char *line = text_format("%s/objects\n", real);

	if (file_make_directories(info, 0777, err) < 0 ||
	    file_make_directories(pack, 0777, err) < 0 ||
	    file_make_directories(refs, 0777, err) < 0)
		return -1;
	return file_replace(file, line, strlen(line), err);
}

/* A work tree that the settings name is the user's own. */
static int set_work_tree(const char *to, struct err *err)
{
	static const char settings[] = "\n[core]\n\tbare = false\n\tworktree = ..\n";
	auto_free char *file = text_format("%s/config", to);
	auto_close int fd = file_open(file, O_WRONLY | O_APPEND | O_CREAT, 0666, err);

	return fd < 0 ? -1 : file_write_all(fd, settings, sizeof(settings) - 1, err);
}

int git_directory_make(const char *from, const char *to, struct err *err)
{
	auto_free char *own = find_own(from);
	auto_free char *file = text_format("%s/commondir", own ? own : "");
	auto_free char *named = own ? read_path(file, "", own) : NULL;
	const char *common = named ? named : own;
	auto_free char *objects = text_format("%s/objects", common ? common : "");

	if (!common || !file_is_directory(objects))
		return err_set(err, ERR_NOT_FOUND, "%s is no repository", from);
	if (file_make_directories(to, 0777, err) < 0 || copy_files(own, to, true, err) < 0 ||
	    copy_files(common, to, false, err) < 0 || copy_tree(common, to, "refs", err) < 0 ||
	    copy_tree(common, to, "reftable", err) < 0 || copy_tree(common, to, "info", err) < 0)
		return -1;
	return write_alternate(common, to, err) < 0 ? -1 : set_work_tree(to, err);
}
