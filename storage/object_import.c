/* What others have written, into a directory: archives, and plain objects of a store. All of it
 * is hostile input. */
#include "storage.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/held_directory.h"
#include "base/workers.h"
#include "scheme_table.h"
#include "storage/backend/backend.h"
#include "storage/format/format.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK_SIZE ((size_t)1 << 20)
#define RANGE_SIZE ((uint64_t)16 << 20)
#define CONNECTIONS 8

AUTO_POINTER(struct archive, archive_read_free);
AUTO_POINTER(struct archive, archive_write_free);

/* What a name takes on the disk, at least. */
#define NAME_SIZE 4096

/* What may still be written. */
struct allowance {
	uint64_t most, used;
};

static int use_allowance(struct allowance *allowance, uint64_t bytes, struct err *err)
{
	char most[32];

	if (bytes <= allowance->most - allowance->used) {
		allowance->used += bytes;
		return 0;
	}
	return err_set(err, ERR_NO_SPACE, "it becomes more than the %s that are allowed",
		       text_bytes(allowance->most, most, sizeof(most)));
}

/* --- archives --- */

static int set_archive_error(struct archive *archive, const char *what, struct err *err)
{
	const char *words = archive_error_string(archive);

	/* Of the target, what the system said matters: a full disk is not damage. */
	if (archive_errno(archive) == ENOSPC || archive_errno(archive) == EDQUOT)
		return err_os(err, archive_errno(archive), "%s", what);
	return err_set(err, ERR_CORRUPT, "%s: %s", what, words ? words : "unknown reason");
}

/* "./a/b/" -> "a/b"; NULL for what is not to be in a directory. "" is the
 * directory itself. The caller frees. */
static char *normalise_path(const char *path)
{
	auto_free char *plain = NULL;

	while (text_starts(path, "./"))
		path += strspn(path + 1, "/") + 1;
	plain = text_copy(text_equal(path, ".") ? "" : path);
	while (text_ends(plain, "/"))
		plain[strlen(plain) - 1] = '\0';
	if (plain[0] && !safe_path_is_valid(plain))
		return NULL;
	return steal(&plain);
}

/* Only user.* are of use to others, and trusted.* or security.* are none of an
 * archive's business. */
static void keep_user_attributes(struct archive_entry *entry)
{
	struct archive_entry *copy = archive_entry_clone(entry);
	const char *name;
	const void *value;
	size_t size;

	archive_entry_xattr_clear(entry);
	archive_entry_xattr_reset(copy);
	while (archive_entry_xattr_next(copy, &name, &value, &size) == ARCHIVE_OK)
		if (text_starts(name, "user."))
			archive_entry_xattr_add_entry(entry, name, value, size);
	archive_entry_free(copy);
}

enum entry_verdict {
	ENTRY_IMPORT,
	ENTRY_SKIP,
	ENTRY_REFUSE
};

/* Puts the entry below the directory. */
static enum entry_verdict place_entry(struct archive_entry *entry, const char *directory,
				      struct err *err)
{
	const char *path = archive_entry_pathname(entry);
	const char *target = archive_entry_hardlink(entry);
	mode_t type = archive_entry_filetype(entry);
	auto_free char *plain = path ? normalise_path(path) : NULL;
	auto_free char *plain_target = target ? normalise_path(target) : NULL;
	auto_free char *full = NULL;
	auto_free char *full_target = NULL;

	if (!plain || (target && (!plain_target || !plain_target[0]))) {
		err_set(err, ERR_CORRUPT, "the archive holds a name that leads out of it: %.200s",
			path ? path : "(none)");
		return ENTRY_REFUSE;
	}
	if (!plain[0] || (!target && type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK))
		return ENTRY_SKIP;
	full = text_format("%s/%s", directory, plain);
	archive_entry_copy_pathname(entry, full);
	if (target) {
		full_target = text_format("%s/%s", directory, plain_target);
		archive_entry_copy_hardlink(entry, full_target);
	}
	archive_entry_set_perm(entry, archive_entry_perm(entry) & 0777);
	archive_entry_set_uid(entry, geteuid());
	archive_entry_set_gid(entry, getegid());
	keep_user_attributes(entry);
	return ENTRY_IMPORT;
}

/* No further than `length`, which is what was allowed for. */
static int copy_content(struct archive *from, struct archive *to, uint64_t length, uint64_t *bytes,
			struct cancel *cancel, struct err *err)
{
	const void *block;
	size_t size;
	la_int64_t offset;

	for (;;) {
		int result = archive_read_data_block(from, &block, &size, &offset);

		if (result == ARCHIVE_EOF)
			return 0;
		if (result < ARCHIVE_OK)
			return set_archive_error(from, "the archive is damaged or cut short", err);
		if (cancel_check(cancel, err) < 0)
			return -1;
		if (offset < 0 || (uint64_t)offset > length || size > length - (uint64_t)offset)
			return err_set(err, ERR_CORRUPT, "a file is longer than the archive says");
		if (archive_write_data_block(to, block, size, offset) < ARCHIVE_OK)
			return set_archive_error(to, "cannot unpack", err);
		*bytes += size;
	}
}

static int unpack_entry(struct archive *from, struct archive *to, struct archive_entry *entry,
			struct allowance *allowance, struct import_result *result,
			struct cancel *cancel, struct err *err)
{
	bool is_file = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
	uint64_t length = archive_entry_size(entry) > 0 ? (uint64_t)archive_entry_size(entry) : 0;

	if (use_allowance(allowance, NAME_SIZE, err) < 0 ||
	    use_allowance(allowance, length, err) < 0)
		return -1;
	if (archive_write_header(to, entry) < ARCHIVE_OK)
		return set_archive_error(to, "cannot unpack", err);
	if (length > 0 && copy_content(from, to, length, &result->bytes, cancel, err) < 0)
		return -1;
	if (archive_write_finish_entry(to) < ARCHIVE_WARN)
		return set_archive_error(to, "cannot unpack", err);
	result->files += is_file;
	return 0;
}

static int unpack_all(struct archive *from, struct archive *to, const char *directory,
		      struct allowance *allowance, struct import_result *result,
		      struct cancel *cancel, struct err *err)
{
	struct archive_entry *entry;
	int status;

	while ((status = archive_read_next_header(from, &entry)) >= ARCHIVE_WARN) {
		enum entry_verdict verdict;

		if (status == ARCHIVE_EOF)
			return archive_write_close(to) < ARCHIVE_WARN
				       ? set_archive_error(to, "cannot unpack", err)
				       : 0;
		verdict = place_entry(entry, directory, err);
		if (verdict == ENTRY_REFUSE)
			return -1;
		if (verdict == ENTRY_SKIP)
			result->left_out += archive_entry_filetype(entry) != AE_IFDIR;
		else if (unpack_entry(from, to, entry, allowance, result, cancel, err) < 0)
			return -1;
	}
	return set_archive_error(from, "cannot read the archive", err);
}

int storage_import_archive(int fd, const char *directory, uint64_t most,
			   struct import_result *result, struct cancel *cancel, struct err *err)
{
	auto_(archive_read_free) struct archive *from = archive_read_new();
	auto_(archive_write_free) struct archive *to = archive_write_disk_new();
	struct allowance allowance = {.most = most};
	char root[PATH_MAX];

	*result = (struct import_result){0};
	if (!from || !to)
		return err_os(err, ENOMEM, "archive");
	/* The check for links on the way would stumble over one above the directory. */
	if (!realpath(directory, root))
		return err_os(err, errno, "%s", directory);
	if (archive_read_support_format_tar(from) < ARCHIVE_WARN ||
	    archive_read_support_filter_all(from) < ARCHIVE_WARN ||
	    archive_write_disk_set_options(to, ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_PERM |
						       ARCHIVE_EXTRACT_XATTR |
						       ARCHIVE_EXTRACT_SECURE_SYMLINKS |
						       ARCHIVE_EXTRACT_SECURE_NODOTDOT) <
		    ARCHIVE_OK)
		return set_archive_error(from, "archive", err);
	if (archive_read_open_fd(from, fd, BLOCK_SIZE) < ARCHIVE_OK)
		return set_archive_error(from, "this is no tar archive", err);
	return unpack_all(from, to, root, &allowance, result, cancel, err);
}

/* --- plain objects --- */

/* One range of one object. */
struct object_range {
	const struct store_object *object;
	uint64_t offset;
};

struct import_job {
	struct store *store;
	int directory; /* held open */
	struct cancel *cancel;
	void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total);
	void *arg;
	struct object_range *pieces;
	size_t piece_count;
	uint64_t bytes_total;
	_Atomic uint64_t bytes_done;
	atomic_size_t next;
	pthread_mutex_t mutex;
	bool failed; /* under mutex, like the next */
	struct err err;
};

static int make_file(const struct import_job *import_job, const struct store_object *object,
		     struct err *err)
{
	const char *path = object->key, *slash = strrchr(path, '/');
	auto_free char *parent = text_copy_n(path, slash ? (size_t)(slash - path) : 0);
	auto_close int fd = -1;

	if (slash && beneath_make_directories(import_job->directory, parent, 0777, err) < 0)
		return -1;
	fd = beneath_open(import_job->directory, path, O_WRONLY | O_CREAT | O_EXCL, 0666);
	if (fd < 0 || ftruncate(fd, (off_t)object->size) < 0)
		return err_os(err, errno, "%s", path);
	return 0;
}

static int create_object_files(struct import_job *import_job, const struct store_listing *found,
			       struct allowance *allowance, struct import_result *result,
			       struct err *err)
{
	size_t most = 0;

	for (size_t i = 0; i < found->count; i++)
		most += (size_t)(found->items[i].size / RANGE_SIZE) + 1;
	import_job->pieces = memory_new((most + 1) * sizeof(*import_job->pieces));
	for (size_t i = 0; i < found->count; i++) {
		const struct store_object *object = &found->items[i];

		/* Consoles make empty objects like "dir/" for what they show as directories. */
		if (!safe_path_is_valid(object->key)) {
			result->left_out++;
			continue;
		}
		if (use_allowance(allowance, NAME_SIZE, err) < 0 ||
		    use_allowance(allowance, object->size, err) < 0 ||
		    make_file(import_job, object, err) < 0)
			return -1;
		for (uint64_t at = 0; at < object->size; at += RANGE_SIZE)
			import_job->pieces[import_job->piece_count++] =
				(struct object_range){object, at};
		result->files++;
		result->bytes += object->size;
	}
	import_job->bytes_total = result->bytes;
	return 0;
}

static int copy_range(struct import_job *import_job, const struct object_range *piece,
		      struct bytes *space, struct err *err)
{
	const char *path = piece->object->key;
	auto_close int fd = beneath_open(import_job->directory, path, O_WRONLY, 0);
	uint64_t left = piece->object->size - piece->offset;
	size_t size = (size_t)(left < RANGE_SIZE ? left : RANGE_SIZE), at = 0;

	if (fd < 0)
		return err_os(err, errno, "%s", path);
	space->size = 0;
	if (import_job->store->ops->get(import_job->store, piece->object->key, piece->offset, size,
					space, import_job->cancel, err) < 0)
		return -1;
	while (at < size) {
		ssize_t wrote =
			pwrite(fd, space->data + at, size - at, (off_t)(piece->offset + at));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return err_os(err, errno, "%s", path);
		at += (size_t)wrote;
	}
	return 0;
}

static void copy_worker(void *arg, size_t index)
{
	struct import_job *import_job = arg;
	struct bytes space = {0};
	struct err err = {0};
	size_t i;

	(void)index;
	while ((i = atomic_fetch_add(&import_job->next, 1)) < import_job->piece_count) {
		if (copy_range(import_job, &import_job->pieces[i], &space, &err) == 0) {
			uint64_t done = atomic_fetch_add(&import_job->bytes_done, space.size);

			if (import_job->progress)
				import_job->progress(import_job->arg, done + space.size,
						     import_job->bytes_total);
			continue;
		}
		atomic_store(&import_job->next, import_job->piece_count);
		pthread_mutex_lock(&import_job->mutex);
		if (!import_job->failed)
			import_job->err = err;
		import_job->failed = true;
		pthread_mutex_unlock(&import_job->mutex);
	}
	bytes_release(&space);
}

static int copy_objects(struct import_job *import_job, struct err *err)
{
	size_t threads = import_job->piece_count;

	pthread_mutex_init(&import_job->mutex, NULL);
	if (threads > 0)
		parallel_run(threads < CONNECTIONS ? threads : CONNECTIONS, copy_worker,
			     import_job);
	pthread_mutex_destroy(&import_job->mutex);
	if (!import_job->failed)
		return 0;
	if (err)
		*err = import_job->err;
	return -1;
}

int storage_import_objects(const char *url, const char *directory, uint64_t most,
			   void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total),
			   void *arg, struct import_result *result, struct cancel *cancel,
			   struct err *err)
{
	auto_(store_close) struct store *store = NULL;
	auto_(store_listing_release) struct store_listing found = {0};
	auto_close int held = held_directory_open(directory, err);
	struct import_job import_job = {
		.directory = held,
		.cancel = cancel,
		.progress = progress,
		.arg = arg,
	};
	struct allowance allowance = {.most = most};
	int failed;

	*result = (struct import_result){0};
	if (held < 0 || store_open(url, false, true, &store, cancel, err) < 0 ||
	    store->ops->list(store, "", STORE_ALL, &found, cancel, err) < 0)
		return -1;
	if (found.count == 0)
		return err_set(err, ERR_NOT_FOUND, "%s: no objects under this prefix", url);
	import_job.store = store;
	failed = create_object_files(&import_job, &found, &allowance, result, err) < 0 ||
		 copy_objects(&import_job, err) < 0;
	free(import_job.pieces);
	return failed ? -1 : 0;
}
