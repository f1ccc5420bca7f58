#include "tree_look.h"

#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* What is no part of it. */
struct without {
	dev_t device;
	ino_t inode;
};

struct looking {
	struct tree_look *look;
	const char *root;
	const char *real_root;
	struct without *without;
	size_t without_count;
	const char *const *within;
};

/* --- a link --- */

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* Removes the last part of a path. */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash ? slash : path) = '\0';
}

char *tree_link_path(const char *path, const char *target)
{
	auto_free char *named = memory_new(strlen(path) + strlen(target) + 2);

	if (*target == '/')
		return NULL;
	strcpy(named, path);
	go_up(named);
	while (*target) {
		size_t length = strcspn(target, "/"), used = strlen(named);

		if (length == 2 && target[0] == '.' && target[1] == '.') {
			if (!used)
				return NULL;
			go_up(named);
		} else if (length > 0 && !(length == 1 && target[0] == '.')) {
			if (used)
				named[used++] = '/';
			memcpy(named + used, target, length);
			named[used + length] = '\0';
		}
		target += length;
		target += strspn(target, "/");
	}
	return steal(&named);
}

char *tree_link_target(const char *path, const char *named)
{
	size_t depth = depth_of(path);
	auto_free char *target = memory_new(3 * depth + strlen(named) + 2);

	for (size_t i = 0; i < depth; i++)
		strcat(target, *named || i + 1 < depth ? "../" : "..");
	strcat(target, *named || depth ? named : ".");
	return steal(&target);
}

/* What an absolute path names below the root, as tree_link_path(). */
static char *path_below(const char *path, const char *root)
{
	size_t length = text_equal(root, "/") ? 0 : strlen(root);

	if (strncmp(path, root, length) != 0 || (path[length] != '/' && path[length] != '\0'))
		return NULL;
	path += length;
	return tree_link_path("", path + strspn(path, "/"));
}

/* A copy's .git is another one (git_directory.h), which has not all that links lead to: annexed
 * files lie there. */
static bool is_in_git(const char *path)
{
	const char *at = strstr(path, ".git");

	for (; at; at = strstr(at + 1, ".git"))
		if ((at == path || at[-1] == '/') && (at[4] == '/' || at[4] == '\0'))
			return true;
	return false;
}

static bool is_same_file(const char *path, const struct stat *about)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == about->st_dev &&
	       other.st_ino == about->st_ino;
}

/* `about`: of what it leads to; NULL: of nothing. NULL: it leads out of the root. */
static char *find_target(const struct looking *looking, const char *path, const char *written,
			 const struct stat *about)
{
	auto_free char *link = text_format("%s/%s", looking->root, path);
	auto_free char *named = tree_link_path(path, written);
	auto_free char *whole = text_format("%s/%s", looking->root, named ? named : "");
	auto_free char *real = about ? realpath(link, NULL) : text_copy(written);
	auto_free char *below = NULL;

	/* Its text is kept where it names the same: by way of another link it may not. */
	if (named && !is_in_git(named) && (!about || is_same_file(whole, about)))
		return text_copy(written);
	if (real && *real == '/')
		below = path_below(real, looking->real_root);
	if (!below && real && *real == '/')
		below = path_below(real, looking->root);
	return below && !is_in_git(below) ? tree_link_target(path, below) : NULL;
}

/* --- one entry --- */

static bool is_left_out(const struct looking *looking, const struct stat *about)
{
	for (size_t i = 0; i < looking->without_count; i++)
		if (looking->without[i].device == about->st_dev &&
		    looking->without[i].inode == about->st_ino)
			return true;
	return false;
}

static const struct tree_entry *find_directory(const struct tree_look *look,
					       const struct stat *about)
{
	for (size_t i = 0; i < look->count; i++)
		if (look->items[i].kind == TREE_DIRECTORY &&
		    look->items[i].inode == about->st_ino && look->items[i].device == about->st_dev)
			return &look->items[i];
	return NULL;
}

/* The root, or a directory above it: who follows a link to it comes here again. */
static bool holds_root(const struct looking *looking, const struct stat *about)
{
	auto_free char *path = text_copy(looking->root);

	for (;;) {
		char *slash = strrchr(path, '/');

		if (is_same_file(*path ? path : "/", about))
			return true;
		if (!slash)
			return false;
		*slash = '\0';
	}
}

/* Of a drill in "/", as in a container that names no directory. */
static bool is_of_system(const struct looking *looking, const char *name)
{
	static const char *const names[] = {"bin",  "boot", "dev",  "etc", "lib", "lib32", "lib64",
					    "proc", "run",  "sbin", "sys", "tmp", "usr",   "var"};

	for (size_t i = 0; text_equal(looking->root, "/") && i < sizeof(names) / sizeof(names[0]);
	     i++)
		if (text_equal(name, names[i]))
			return true;
	return false;
}

/* Its files are made as they are read. */
static bool is_of_kernel(int directory, const char *name)
{
	auto_close int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs about;

	return fd >= 0 && fstatfs(fd, &about) == 0 &&
	       (about.f_type == PROC_SUPER_MAGIC || about.f_type == SYSFS_MAGIC);
}

static bool holds_programs(int directory, const char *name)
{
	auto_free char *mark = text_format("%s/pyvenv.cfg", name);
	auto_free char *conda = text_format("%s/conda-meta", name);
	struct stat about;

	return text_equal(name, ".git") || text_equal(name, "node_modules") ||
	       fstatat(directory, mark, &about, 0) == 0 ||
	       fstatat(directory, conda, &about, 0) == 0;
}

static void add_entry(struct tree_look *look, const struct tree_entry *entry)
{
	if (look->count == look->capacity) {
		look->capacity = look->capacity ? 2 * look->capacity : 256;
		look->items = memory_grow(look->items, look->capacity, sizeof(*look->items));
	}
	look->items[look->count++] = *entry;
}

static int64_t time_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

static bool is_systems(const struct looking *looking, int directory, const char *name,
		       const char *path)
{
	return is_of_kernel(directory, name) || (!strchr(path, '/') && is_of_system(looking, name));
}

static void describe(struct tree_entry *entry, const struct stat *about)
{
	entry->device = about->st_dev;
	entry->inode = about->st_ino;
	if (S_ISREG(about->st_mode)) {
		entry->kind = TREE_FILE;
		entry->size = (uint64_t)about->st_size;
		entry->ctime_ns = time_ns(&about->st_ctim);
	} else if (S_ISDIR(about->st_mode)) {
		entry->kind = TREE_DIRECTORY;
	}
}

/* `about`: as of find_target(). */
static void describe_link(const struct looking *looking, struct tree_entry *entry,
			  const char *written, const struct stat *about)
{
	auto_free char *whole = text_format("%s/%s", looking->root, entry->path);
	const struct tree_entry *same = NULL;

	entry->target = find_target(looking, entry->path, written, about);
	if (entry->target || !about || entry->kind != TREE_DIRECTORY) {
		if (entry->target || !about)
			entry->kind = TREE_LINK;
		else
			entry->target = realpath(whole, NULL);
		return;
	}
	same = find_directory(looking->look, about);
	if (same)
		entry->target = tree_link_target(entry->path, same->path);
	else if (!holds_root(looking, about))
		entry->target = realpath(whole, NULL);
	if (same || !entry->target)
		entry->kind = TREE_LINK;
}

/* `path` is taken over. */
static void look_at(const struct looking *looking, int directory, const char *name, char *path)
{
	struct tree_entry entry = {.path = path, .kind = TREE_OTHER};
	char written[PATH_MAX];
	struct stat about;
	ssize_t length = readlinkat(directory, name, written, sizeof(written) - 1);
	bool leads = fstatat(directory, name, &about, 0) == 0;

	if ((leads && is_left_out(looking, &about)) || text_equal(name, "__pycache__")) {
		free(path);
		return;
	}
	if (leads)
		describe(&entry, &about);
	if (length >= 0) {
		written[length] = '\0';
		describe_link(looking, &entry, written, leads ? &about : NULL);
	}
	if (entry.kind == TREE_DIRECTORY) {
		entry.system = is_systems(looking, directory, name, path);
		entry.program = entry.system || holds_programs(directory, name);
	}
	if (entry.program)
		entry.kind = TREE_CLOSED;
	add_entry(looking->look, &entry);
}

/* --- a directory --- */

static bool is_needed(const struct looking *looking, const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; looking->within[i]; i++)
		if (text_starts(looking->within[i], path) && looking->within[i][length] == '/')
			return true;
	return !*path;
}

static void drop_entries(struct tree_look *look, size_t count)
{
	while (look->count > count) {
		free(look->items[--look->count].path);
		free(look->items[look->count].target);
	}
}

/* Names, of which nothing is known yet. */
struct names {
	char **items;
	size_t count, capacity;
};

static void names_release(struct names *names)
{
	while (names->count > 0)
		free(names->items[--names->count]);
	free(names->items);
}
AUTO(struct names, names_release);

static void add_name(struct names *names, const char *name)
{
	if (names->count == names->capacity) {
		names->capacity = names->capacity ? 2 * names->capacity : 64;
		names->items = memory_grow(names->items, names->capacity, sizeof(*names->items));
	}
	names->items[names->count++] = text_copy(name);
}

/* False: its entries do not fit, and none was added. Nothing is asked of them before that is
 * known. */
static bool list_directory(const struct looking *looking, const char *path)
{
	struct tree_look *look = looking->look;
	auto_free char *whole = text_format("%s/%s", looking->root, path);
	auto_(walk_close) struct walk walk = {0};
	auto_(names_release) struct names names = {0};
	bool needed = is_needed(looking, path);
	auto_close int directory = -1;

	if (!needed && (look->dropped >= TREE_LOOK_MOST || look->count >= TREE_LOOK_MOST))
		return false;
	if (walk_open(&walk, whole, 0) < 0)
		return false;
	while (walk_next(&walk)) {
		add_name(&names, walk.name);
		if (!needed && look->count + names.count > TREE_LOOK_MOST) {
			look->dropped += names.count;
			return false;
		}
	}
	directory = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < names.count; i++)
		look_at(looking, directory, names.items[i],
			*path ? text_format("%s/%s", path, names.items[i])
			      : text_copy(names.items[i]));
	return true;
}

static void close_directory(const struct looking *looking, struct tree_entry *entry)
{
	auto_free char *whole = text_format("%s/%s", looking->root, entry->path);
	struct stat about;

	entry->kind = TREE_CLOSED;
	if (stat(whole, &about) == 0)
		entry->ctime_ns = time_ns(&about.st_mtim);
}

/* The caller frees. */
static struct without *find_without(const char *const *paths, size_t *count)
{
	size_t most = 0;
	struct without *found;
	struct stat about;

	while (paths[most])
		most++;
	found = memory_grow(NULL, most + 1, sizeof(*found));
	*count = 0;
	for (size_t i = 0; i < most; i++)
		if (stat(paths[i], &about) == 0)
			found[(*count)++] = (struct without){about.st_dev, about.st_ino};
	return found;
}

int tree_look_take(struct tree_look *look, const char *root, const char *const *without,
		   const char *const *within, struct err *err)
{
	size_t count;
	auto_free struct without *found = find_without(without, &count);
	auto_free char *real = realpath(root, NULL);
	const struct looking looking = {.look = look,
					.root = root,
					.real_root = real ? real : root,
					.without = found,
					.without_count = count,
					.within = within};

	tree_look_release(look);
	if (!real || !list_directory(&looking, ""))
		return err_os(err, errno, "%s", root);
	/* The list grows while it is gone through: what is nearer to the root comes first. */
	for (size_t i = 0; i < look->count; i++) {
		auto_free char *path = text_copy(look->items[i].path);

		if (look->items[i].kind == TREE_DIRECTORY && !list_directory(&looking, path))
			close_directory(&looking, &look->items[i]);
	}
	return 0;
}

void tree_look_release(struct tree_look *look)
{
	drop_entries(look, 0);
	free(look->items);
	*look = (struct tree_look){0};
}

/* --- two looks --- */

static int compare_entries(const void *a, const void *b)
{
	return strcmp((*(const struct tree_entry *const *)a)->path,
		      (*(const struct tree_entry *const *)b)->path);
}

static const struct tree_entry **sort_entries(const struct tree_look *look)
{
	const struct tree_entry **sorted = memory_grow(NULL, look->count + 1, sizeof(*sorted));

	for (size_t i = 0; i < look->count; i++)
		sorted[i] = &look->items[i];
	qsort(sorted, look->count, sizeof(*sorted), compare_entries);
	return sorted;
}

/* One of them may be NULL: it is not in that look. */
static bool differs(const struct tree_entry *before, const struct tree_entry *after)
{
	if (!before)
		return after && after->kind == TREE_FILE;
	if (!after)
		return before->kind == TREE_FILE;
	if (before->kind != after->kind)
		return true;
	return before->ctime_ns != after->ctime_ns ||
	       (after->kind == TREE_FILE &&
		(before->inode != after->inode || before->size != after->size));
}

size_t tree_look_compare(const struct tree_look *before, const struct tree_look *after,
			 const struct tree_entry ***changed)
{
	auto_free const struct tree_entry **old = sort_entries(before);
	auto_free const struct tree_entry **new = sort_entries(after);
	size_t i = 0, j = 0, count = 0;

	*changed = memory_grow(NULL, before->count + after->count + 1, sizeof(**changed));
	while (i < before->count || j < after->count) {
		int order = i == before->count  ? 1
			    : j == after->count ? -1
						: compare_entries(&old[i], &new[j]);
		const struct tree_entry *was = order <= 0 ? old[i++] : NULL;
		const struct tree_entry *is = order >= 0 ? new[j++] : NULL;

		if (differs(was, is))
			(*changed)[count++] = is ? is : was;
	}
	return count;
}
