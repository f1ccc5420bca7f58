#include "snapshot_run.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void database_copies_release(struct database_copies *copies)
{
	database_copies_remove(copies);
	path_set_release(&copies->warned);
}

/* In our folder. */
#define COPIES "databases"

static void remove_folder(struct database_copies *copies)
{
	int folder = workspace_folder(copies->workspace, NULL);

	if (folder >= 0)
		(void)beneath_remove_tree(folder, COPIES, NULL);
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

static bool is_database(int directory, const struct snapshot_file *file)
{
	auto_close int fd = -1;
	uint8_t header[DATABASE_HEADER_SIZE];
	ssize_t got;

	if (file->size < DATABASE_SIZE_LEAST)
		return false;
	fd = beneath_open(directory, file->path, O_RDONLY | O_NONBLOCK, 0);
	got = fd < 0 ? -1 : pread(fd, header, sizeof(header), 0);
	return got > 0 && database_header_matches(header, (size_t)got);
}

void database_copies_find(struct database_copies *copies, bool (*skip)(void *arg, const char *path),
			  void *arg, struct cancel *cancel)
{
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	auto_close int directory = held_directory_open(copies->workspace->directory, NULL);

	database_copies_remove(copies);
	if (directory < 0 || file_list_read_at(directory, &files, NULL) < 0)
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
	if (path_set_marks(&copies->warned, path))
		return;
	path_set_mark(&copies->warned, path, 1);
	log_warn("the database %s in %s is NOT in the snapshot, because no copy of it could be "
		 "made: %s; each snapshot tries again",
		 path, copies->workspace->directory, err->text);
}

static int make_copy(struct database_copies *copies, size_t number, int directory,
		     struct cancel *cancel, struct err *err)
{
	const struct workspace *workspace = copies->workspace;
	struct database *database = &copies->items[number];
	auto_free char *path = text_format("%s/%s", workspace->directory, database->path);
	auto_free char *copy = text_format(COPIES "/%zu", number);
	auto_free char *target = text_format("%s/%s", workspace->beside, copy);
	const struct database_place from = {directory, database->path, path};
	const struct database_place to = {workspace->folder, copy, target};
	struct database_time time = database_time_from(cancel_left_ms(cancel));

	if (database_backup(&from, &to, time, cancel, err) < 0)
		return -1;
	database->copy = steal(&copy);
	return 0;
}

/* The empty folder for the copies. */
static int make_folder(struct database_copies *copies, struct err *err)
{
	int folder = workspace_folder(copies->workspace, err);

	if (folder < 0)
		return -1;
	(void)beneath_remove_tree(folder, COPIES, NULL);
	return beneath_make_directories(folder, COPIES, 0700, err);
}

void database_copies_make(struct database_copies *copies, struct cancel *cancel)
{
	auto_close int directory = -1;
	struct err err = {0};
	bool ready;

	if (copies->count == 0)
		return;
	directory = held_directory_open(copies->workspace->directory, &err);
	ready = directory >= 0 && make_folder(copies, &err) == 0;
	for (size_t i = 0; i < copies->count; i++) {
		struct database *database = &copies->items[i];

		database->left_out = !ready || make_copy(copies, i, directory, cancel, &err) < 0;
		if (database->left_out && err.kind != ERR_CANCELLED)
			warn_once(copies, database->path, &err);
	}
}

int database_copies_directory(const struct database_copies *copies)
{
	return copies->workspace->folder;
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
