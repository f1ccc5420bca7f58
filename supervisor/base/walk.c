#include "base/walk.h"

#include "base/beneath.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

/* A directory that is being read. The first `prefix` bytes of the buffer are its path and a slash.
 */
struct walk_level {
	DIR *stream;
	size_t prefix;
};

/* Owns `fd` from here on, also where it fails. */
static int push_level(struct walk *walk, int fd, size_t prefix)
{
	DIR *stream = fdopendir(fd);

	if (!stream) {
		int reason = errno;

		close(fd);
		errno = reason;
		return -1;
	}
	if (walk->count == walk->capacity) {
		walk->capacity = walk->capacity ? 2 * walk->capacity : 4;
		walk->levels = memory_grow(walk->levels, walk->capacity, sizeof(*walk->levels));
	}
	walk->levels[walk->count++] = (struct walk_level){.stream = stream, .prefix = prefix};
	return 0;
}

/* Takes over `fd`. */
static int begin_walk(struct walk *walk, int fd, const char *root, unsigned flags)
{
	*walk = (struct walk){.directory = fd, .flags = flags};
	if (fd < 0 || push_level(walk, fd, 0) < 0)
		return -1;
	walk->root = text_copy(root);
	return 0;
}

int walk_open(struct walk *walk, const char *root, unsigned flags)
{
	int fd = open(root, DIRECTORY_FLAGS | (flags & WALK_NO_LINK ? O_NOFOLLOW : 0));

	return begin_walk(walk, fd, root, flags);
}

int walk_open_at(struct walk *walk, int directory, const char *root, unsigned flags)
{
	return begin_walk(walk, beneath_open_directory(directory, root), root, flags);
}

void walk_close(struct walk *walk)
{
	while (walk->count > 0)
		closedir(walk->levels[--walk->count].stream);
	free(walk->levels);
	free(walk->buffer);
	free(walk->root);
	free(walk->unread);
	*walk = (struct walk){.directory = -1};
}

static void note_unread(struct walk *walk, const struct walk_level *level, int error)
{
	if (walk->error)
		return;
	walk->error = error;
	walk->unread = text_copy(walk->root);
	if (level->prefix > 0) {
		free(walk->unread);
		walk->unread =
			text_format("%s/%.*s", walk->root, (int)level->prefix - 1, walk->buffer);
	}
}

/* The buffer holds the path of the entry, which lies in the innermost directory. */
static void set_entry(struct walk *walk, unsigned char type, bool leaving)
{
	const struct walk_level *level = &walk->levels[walk->count - 1];

	walk->path = walk->buffer;
	walk->name = walk->buffer + level->prefix;
	walk->directory = dirfd(level->stream);
	walk->depth = (int)walk->count;
	walk->type = type;
	walk->leaving = leaving;
}

static void take_entry(struct walk *walk, size_t prefix, const struct dirent *entry)
{
	size_t length = strlen(entry->d_name) + 1;

	if (prefix + length > walk->buffer_size) {
		walk->buffer_size = 2 * (prefix + length);
		walk->buffer = memory_grow(walk->buffer, walk->buffer_size, 1);
	}
	if (prefix > 0)
		walk->buffer[prefix - 1] = '/';
	memcpy(walk->buffer + prefix, entry->d_name, length);
	set_entry(walk, entry->d_type, false);
}

bool walk_next(struct walk *walk)
{
	while (walk->count > 0) {
		const struct walk_level level = walk->levels[walk->count - 1];
		const struct dirent *entry;

		errno = 0;
		entry = readdir(level.stream);
		if (entry && (text_equal(entry->d_name, ".") || text_equal(entry->d_name, "..")))
			continue;
		if (entry) {
			take_entry(walk, level.prefix, entry);
			return true;
		}
		if (errno)
			note_unread(walk, &level, errno);
		closedir(level.stream);
		walk->count--;
		if (walk->count > 0 && (walk->flags & WALK_LEAVE)) {
			walk->buffer[level.prefix - 1] = '\0';
			set_entry(walk, DT_DIR, true);
			return true;
		}
	}
	return false;
}

bool walk_is_directory(const struct walk *walk)
{
	struct stat status;

	if (walk->type != DT_UNKNOWN)
		return walk->type == DT_DIR;
	return fstatat(walk->directory, walk->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(status.st_mode);
}

ssize_t walk_read_link(const struct walk *walk, char *target, size_t capacity)
{
	ssize_t size = readlinkat(walk->directory, walk->name, target, capacity - 1);

	target[size < 0 ? 0 : size] = '\0';
	return size;
}

int walk_enter(struct walk *walk)
{
	int fd = openat(walk->directory, walk->name,
			DIRECTORY_FLAGS | (walk->flags & WALK_FOLLOW ? 0 : O_NOFOLLOW));

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	return push_level(walk, fd, strlen(walk->path) + 1);
}

int walk_check(const struct walk *walk, struct err *err)
{
	return walk->error ? err_os(err, walk->error, "%s", walk->unread) : 0;
}
