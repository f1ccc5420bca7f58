/* Use the kernel's structures, whatever offset size the compiler was given. */
#undef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64

#include "channel_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The longest path that can be inside: directory, slash, name. A longer one is still recognised as
 * inside, and cut off. */
#define WORK_SIZE (1024 + SHIM_PATH_MOST + 64)

#define DELETED " (deleted)"

/* Expects a normalised absolute path of `length` bytes. */
static bool match_directory(const char *directory, const char *path, size_t length,
			    struct resolved_path *resolved_path)
{
	size_t prefix = strlen(directory);

	if (prefix == 0 || length <= prefix + 1 || memcmp(path, directory, prefix) != 0 ||
	    path[prefix] != '/')
		return false;
	path += prefix + 1;
	length -= prefix + 1;
	if (length > SHIM_PATH_MOST) {
		length = SHIM_PATH_MOST;
		resolved_path->flags |= SHIM_FLAG_TRUNCATED_PATH;
	}
	memcpy(resolved_path->path, path, length);
	resolved_path->length = (uint16_t)length;
	resolved_path->inside = true;
	return true;
}

static bool is_anchor(const struct shim_header *header, const char *path, bool if_absent)
{
	struct stat status;

	if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) < 0)
		return if_absent;
	return status.st_ino == header->anchor_inode && status.st_dev == header->anchor_device;
}

/*
 * One of the directories above the path may be the anchor under another name, as a bind mount and
 * a container have it. Then the path goes on from there as it does from the name that we know. A
 * directory of which that is not so is remembered, and not asked about for each of its files.
 */
static void match_by_anchor(const struct shim_header *header, const char *path, size_t length,
			    struct resolved_path *resolved_path)
{
	char text[WORK_SIZE];
	size_t parent = length, end, anchor = header->anchor_length;

	if (anchor == 0 || anchor >= sizeof(header->directory) || length >= WORK_SIZE ||
	    path[0] != '/')
		return;
	while (parent > 0 && path[--parent] != '/') {
	}
	memcpy(text, path, parent);
	text[parent] = '\0';
	if (path_is_known_outside(text))
		return;
	for (end = parent; end > 0 && !is_anchor(header, text, false); text[end] = '\0')
		while (text[--end] != '/') {
		}
	if (end == 0) {
		memcpy(text, path, parent);
		text[parent] = '\0';
		path_remember_outside(text);
		return;
	}
	length -= end;
	if (length > WORK_SIZE - anchor)
		length = WORK_SIZE - anchor;
	memcpy(text, header->directory, anchor);
	text[anchor] = '\0';
	/* Moved away, and another one has its place: then it is another directory now. */
	if (!is_anchor(header, text, true))
		return;
	memcpy(text + anchor, path + end, length);
	match_directory(header->directory, text, anchor + length, resolved_path);
}

static void set_relative_path(const struct shim_header *header, const char *path, size_t length,
			      struct resolved_path *resolved_path)
{
	if (!match_directory(header->directory, path, length, resolved_path) &&
	    !match_directory(header->alias, path, length, resolved_path))
		match_by_anchor(header, path, length, resolved_path);
}

void path_with_number(char path[40], const char *before, unsigned number)
{
	char digits[12];
	size_t count = 0;
	size_t length = strlen(before);

	memcpy(path, before, length);
	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count > 0)
		path[length++] = digits[--count];
	path[length] = '\0';
}

static ssize_t read_descriptor_link(int fd, char *target, size_t capacity)
{
	char name[40];

	path_with_number(name, "/proc/self/fd/", (unsigned)fd);
	return syscall(SYS_readlinkat, AT_FDCWD, name, target, capacity);
}

/* Appends `path` to the normalised `text` and resolves "." and ".." by text. False: it does not
 * fit. */
static bool append_normalised(char *text, size_t *length, const char *path)
{
	while (*path) {
		size_t part = strcspn(path, "/");

		if (part == 2 && path[0] == '.' && path[1] == '.') {
			while (*length > 0 && text[--*length] != '/') {
			}
		} else if (part > 0 && !(part == 1 && path[0] == '.')) {
			if (*length + 1 + part >= WORK_SIZE)
				return false;
			text[(*length)++] = '/';
			memcpy(text + *length, path, part);
			*length += part;
		}
		path += part;
		path += strspn(path, "/");
	}
	return true;
}

/* Writes the normalised absolute path, not terminated, to text[WORK_SIZE]. False: there is none. */
static bool make_absolute(int directory_fd, const char *path, char *text, size_t *length)
{
	*length = 0;
	if (!path || !*path)
		return false;
	if (path[0] != '/') {
		/* counts the terminating NUL */
		ssize_t got = directory_fd == AT_FDCWD
				      ? syscall(SYS_getcwd, text, WORK_SIZE) - 1
				      : read_descriptor_link(directory_fd, text, WORK_SIZE);

		/* Too long, deleted, or outside our root directory. */
		if (got <= 0 || (size_t)got >= WORK_SIZE || text[0] != '/')
			return false;
		*length = got == 1 ? 0 : (size_t)got;
	}
	return append_normalised(text, length, path);
}

void path_resolve_name(const struct shim_header *header, int directory_fd, const char *path,
		       struct resolved_path *resolved_path)
{
	char text[WORK_SIZE];
	size_t length;

	memset(resolved_path, 0, offsetof(struct resolved_path, path));
	resolved_path->regular = true;
	if (make_absolute(directory_fd, path, text, &length))
		set_relative_path(header, text, length, resolved_path);
}

bool path_resolve_absolute(int directory_fd, const char *path, struct resolved_path *resolved_path)
{
	char text[WORK_SIZE];
	size_t length;

	memset(resolved_path, 0, offsetof(struct resolved_path, path));
	if (!make_absolute(directory_fd, path, text, &length) || length >= SHIM_PATH_MOST)
		return false;
	memcpy(resolved_path->path, text, length);
	resolved_path->path[length] = '\0';
	resolved_path->length = (uint16_t)length;
	resolved_path->inside = true;
	return true;
}

/* By the system call, because fstat() needs glibc 2.33. */
static bool stat_descriptor(int fd, struct resolved_path *resolved_path, bool *named)
{
	struct stat status;

	if (syscall(SYS_fstat, fd, &status) < 0)
		return false;
	resolved_path->regular = S_ISREG(status.st_mode);
	resolved_path->device = status.st_dev;
	resolved_path->inode = status.st_ino;
	*named = status.st_nlink > 0;
	if (status.st_size == 0)
		resolved_path->flags |= SHIM_FLAG_EMPTY;
	if (!*named)
		resolved_path->flags |= SHIM_FLAG_DELETED;
	return true;
}

void path_resolve_fd(const struct shim_header *header, int fd, int directory_fd, const char *path,
		     struct resolved_path *resolved_path)
{
	char text[WORK_SIZE];
	bool named = true;
	ssize_t got = read_descriptor_link(fd, text, sizeof(text));

	if (got <= 0) {
		path_resolve_name(header, directory_fd, path, resolved_path);
	} else {
		memset(resolved_path, 0, offsetof(struct resolved_path, path));
		resolved_path->regular = true;
		set_relative_path(header, text, (size_t)got, resolved_path);
	}
	if (!resolved_path->inside || !stat_descriptor(fd, resolved_path, &named))
		return;
	if (!named && resolved_path->length > strlen(DELETED) &&
	    !(resolved_path->flags & SHIM_FLAG_TRUNCATED_PATH) &&
	    memcmp(resolved_path->path + resolved_path->length - strlen(DELETED), DELETED,
		   strlen(DELETED)) == 0)
		resolved_path->length = (uint16_t)(resolved_path->length - strlen(DELETED));
}

/* Sixteen paths by hash. After a hash collision, or when a symbolic link is changed to point
 * inside, the shim misses an open; the kernel's events still show it. */
static _Atomic uint64_t outside_hashes[16];

static uint64_t mix_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* Only copies of a fixed size: a call of memcpy() for each word would be most of what the shim adds
 * to the open of a file that it does not track. */
static uint64_t hash_path(const char *path)
{
	size_t length = strlen(path), at = 0;
	uint64_t hash = length + 1, word;

	for (; at + sizeof(word) <= length; at += sizeof(word)) {
		memcpy(&word, path + at, sizeof(word));
		hash = mix_hash(hash, word);
	}
	for (word = 0; at < length; at++)
		word = word << 8 | (unsigned char)path[at];
	return mix_hash(hash, word);
}

bool path_is_known_outside(const char *path)
{
	uint64_t hash = hash_path(path);

	return atomic_load_explicit(&outside_hashes[hash % 16], memory_order_relaxed) == hash;
}

void path_remember_outside(const char *path)
{
	uint64_t hash = hash_path(path);

	atomic_store_explicit(&outside_hashes[hash % 16], hash, memory_order_relaxed);
}
