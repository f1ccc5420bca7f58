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

struct looking {
	struct tree_look *look;
	const char *root;
	const char *const *without;
	const char *const *within;
};

/* --- one entry --- */

bool tree_link_stays(const char *path, const char *target)
{
	size_t depth = 0;

	if (*target == '/')
		return false;
	for (const char *at = path; *at; at++)
		depth += *at == '/';
	while (*target) {
		size_t length = strcspn(target, "/");

		if (length == 2 && target[0] == '.' && target[1] == '.') {
			if (depth == 0)
				return false;
			depth--;
		} else if (length > 0 && !(length == 1 && target[0] == '.')) {
			depth++;
		}
		target += length;
		target += strspn(target, "/");
	}
	return true;
}

static bool is_same_file(const char *path, const struct stat *about)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == about->st_dev &&
	       other.st_ino == about->st_ino;
}

static bool is_left_out(const struct looking *looking, const struct stat *about)
{
	for (size_t i = 0; looking->without[i]; i++)
		if (is_same_file(looking->without[i], about))
			return true;
	return false;
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
static bool is_of_system(const struct looking *looking, const struct walk *walk)
{
	static const char *const names[] = {"bin",  "boot", "dev",  "etc", "lib", "lib32", "lib64",
					    "proc", "run",  "sbin", "sys", "tmp", "usr",   "var"};

	for (size_t i = 0; text_equal(looking->root, "/") && i < sizeof(names) / sizeof(names[0]);
	     i++)
		if (text_equal(walk->name, names[i]))
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

/* `path` is taken over. */
static void look_at(const struct looking *looking, struct walk *walk, char *path)
{
	struct tree_entry entry = {.path = path, .kind = TREE_OTHER};
	char target[PATH_MAX];
	struct stat about;
	bool linked = walk_read_link(walk, target, sizeof(target)) >= 0;

	if (fstatat(walk->directory, walk->name, &about, 0) < 0) {
		entry.kind = TREE_LINK; /* to nothing, or it is gone */
	} else if (is_left_out(looking, &about) || text_equal(walk->name, "__pycache__")) {
		free(path);
		return;
	} else {
		entry.device = about.st_dev;
		entry.inode = about.st_ino;
		if (linked && tree_link_stays(path, target)) {
			entry.kind = TREE_LINK;
		} else if (S_ISREG(about.st_mode)) {
			entry.kind = TREE_FILE;
			entry.size = (uint64_t)about.st_size;
			entry.ctime_ns = time_ns(&about.st_ctim);
		} else if (S_ISDIR(about.st_mode)) {
			entry.program = holds_programs(walk->directory, walk->name) ||
					is_of_kernel(walk->directory, walk->name) ||
					(!strchr(path, '/') && is_of_system(looking, walk)) ||
					(linked && holds_root(looking, &about));
			entry.kind = entry.program ? TREE_CLOSED : TREE_DIRECTORY;
		}
	}
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
	while (look->count > count)
		free(look->items[--look->count].path);
}

/* False: its entries do not fit, and none was added. */
static bool list_directory(const struct looking *looking, const char *path)
{
	auto_free char *whole = text_format("%s/%s", looking->root, path);
	auto_(walk_close) struct walk walk = {0};
	size_t before = looking->look->count;

	if (walk_open(&walk, *path ? whole : looking->root, 0) < 0)
		return false;
	while (walk_next(&walk)) {
		if (looking->look->count >= TREE_LOOK_MOST && !is_needed(looking, path)) {
			drop_entries(looking->look, before);
			return false;
		}
		look_at(looking, &walk,
			*path ? text_format("%s/%s", path, walk.name) : text_copy(walk.name));
	}
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

int tree_look_take(struct tree_look *look, const char *root, const char *const *without,
		   const char *const *within, struct err *err)
{
	const struct looking looking =
		{.look = look, .root = root, .without = without, .within = within};
	struct stat about;

	tree_look_release(look);
	if (stat(root, &about) < 0 || !list_directory(&looking, ""))
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
	const struct tree_entry *one = after ? after : before;

	if (!before || !after)
		return one->kind == TREE_FILE;
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
