#include "database_copies.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "database_backup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct database {
	char *path;
	char *copy;    /* NULL: there is none yet, or */
	bool left_out; /* it could not be copied */
};

struct database_copies {
	struct workspace *workspace;
	struct database *items;
	size_t count;
	struct path_set warned; /* marked: its warning has been given */
};

enum {
	MARK_WARNED = 1
};

struct database_copies *database_copies_new(struct workspace *workspace)
{
	struct database_copies *copies = memory_new(sizeof(*copies));

	copies->workspace = workspace;
	return copies;
}

void database_copies_free(struct database_copies *copies)
{
	if (!copies)
		return;
	database_copies_remove(copies);
	path_set_release(&copies->warned);
	free(copies);
}

static void remove_folder(struct database_copies *copies)
{
	auto_free char *folder = workspace_path_beside(copies->workspace, "databases", NULL);

	if (folder)
		(void)file_remove_tree(folder, NULL);
}

void database_copies_remove(struct database_copies *copies)
{
	if (copies->count)
		remove_folder(copies);
	for (size_t i = 0; i < copies->count; i++) {
		free(copies->items[i].path);
		free(copies->items[i].copy);
	}
	free(steal(&copies->items));
	copies->count = 0;
}

static bool is_database(const char *directory, const struct snapshot_file *file)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;
	uint8_t header[DATABASE_HEADER_SIZE];
	ssize_t got;

	if (file->size < DATABASE_SIZE_LEAST)
		return false;
	path = text_format("%s/%s", directory, file->path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	got = fd < 0 ? -1 : pread(fd, header, sizeof(header), 0);
	return got > 0 && database_header_matches(header, (size_t)got);
}

void database_copies_find(struct database_copies *copies, bool (*skip)(void *arg, const char *path),
			  void *arg, struct cancel *cancel)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	const char *directory = copies->workspace->directory;

	database_copies_remove(copies);
	if (file_list_read(directory, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.count && !cancel_raised(cancel); i++) {
		const char *path = files.items[i].path;

		if ((skip && skip(arg, path)) || !is_database(directory, &files.items[i]))
			continue;
		copies->items =
			memory_grow(copies->items, copies->count + 1, sizeof(*copies->items));
		copies->items[copies->count++] = (struct database){.path = text_copy(path)};
	}
}

static void warn_once(struct database_copies *copies, const char *path, const struct err *err)
{
	if (path_set_marks(&copies->warned, path) & MARK_WARNED)
		return;
	path_set_mark(&copies->warned, path, MARK_WARNED);
	log_warn("the database %s in %s is NOT in the snapshot, because no copy of it could be "
		 "made: %s; each snapshot tries again",
		 path, copies->workspace->directory, err->text);
}

static int make_copy(struct database_copies *copies, size_t number, const char *folder,
		     struct cancel *cancel, struct err *err)
{
	struct database *database = &copies->items[number];
	auto_free char *path = text_format("%s/%s", copies->workspace->directory, database->path);
	auto_free char *copy = text_format("%s/%zu", folder, number);
	struct database_time time = database_time_from(cancel_left_ms(cancel));

	if (database_backup(path, copy, time, cancel, err) < 0)
		return -1;
	database->copy = steal(&copy);
	return 0;
}

void database_copies_make(struct database_copies *copies, struct cancel *cancel)
{
	auto_free char *folder = NULL;
	struct err err = {0};

	if (copies->count == 0)
		return;
	folder = workspace_path_beside(copies->workspace, "databases", &err);
	if (folder) {
		(void)file_remove_tree(folder, NULL);
		if (file_make_directories(folder, 0700, &err) < 0)
			free(steal(&folder));
	}
	for (size_t i = 0; i < copies->count; i++) {
		struct database *database = &copies->items[i];

		database->left_out = !folder || make_copy(copies, i, folder, cancel, &err) < 0;
		if (database->left_out && err.kind != ERR_CANCELLED)
			warn_once(copies, database->path, &err);
	}
}

static const struct database *find_database(const struct database_copies *copies, const char *path)
{
	for (size_t i = 0; i < copies->count; i++)
		if (text_equal(copies->items[i].path, path))
			return &copies->items[i];
	return NULL;
}

bool database_copies_include(const struct database_copies *copies, const char *path)
{
	return find_database(copies, path) != NULL;
}

const char *database_copies_source(const struct database_copies *copies, const char *path)
{
	const struct database *database = find_database(copies, path);

	return database ? database->copy : NULL;
}

bool database_copies_exclude(const struct database_copies *copies, const char *path)
{
	const struct database *database = find_database(copies, path);

	for (size_t i = 0; i < copies->count; i++)
		if (database_is_side_file(path, copies->items[i].path))
			return true;
	return database && database->left_out;
}
