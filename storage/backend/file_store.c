/*
 * file://: objects are files below a directory, local or shared. An object appears whole or not at
 * all: written and synced under tmp/, then given its name, if-absent as file_publish_if_absent()
 * does it.
 */
#include "file_store.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "base/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * How an object of file:// gets its name: by link(2), or, where the file system has no hard links,
 * by a rename that spares what is there. Both are refused if the name is taken; whether that holds
 * is proven when a store is opened for writing.
 */

/* Rounds in which two threads want one name: one that is looked up first and given then is lost
 * in one of them. */
#define RACES 8
#define RACERS 2

/* Of the wait for each other, which may be in vain where no thread can be started. */
#define YIELDS_MOST 1000

#define WHAT_TO_DO                                                                               \
	"so that two machines could take one place: use another file system for the store, or, " \
	"where this is a mount of a bucket, the bucket itself (s3://, gs://, az://)"

/* --- to give a name --- */

/* FAT, exFAT and many FUSE file systems have no links; some have none from one directory to
 * another. rclone's mounts say EIO. */
static bool may_have_no_links(int error)
{
	return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK ||
	       error == EXDEV || error == EIO;
}

static int rename_if_absent(const char *temporary, const char *path)
{
	int result = renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE);

	if (result < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		errno = EINVAL;
	return result;
}

int file_publish_if_absent(const char *temporary, const char *path)
{
	int why;

	if (link(temporary, path) == 0)
		return 0;
	why = errno;
	if (!may_have_no_links(why))
		return -1;
	if (rename_if_absent(temporary, path) == 0)
		return 0;
	/* Of a file system that has links it was an error, and not its way to say that it has none.
	 */
	if (errno == EINVAL && why == EIO)
		errno = EIO;
	return -1;
}

/* --- to prove it --- */

/* One name, and those who want it. */
struct contest {
	char *name;
	char *wanting[RACERS];
	atomic_int arrived, winners, error; /* of one who has not got it */
	bool unknown;                       /* they could not be made */
};

static void contest_init(struct contest *contest, const char *directory)
{
	char nonce[33];

	random_hex(nonce);
	*contest = (struct contest){.name = text_format("%s/%s", directory, nonce)};
	for (int i = 0; i < RACERS; i++)
		contest->wanting[i] = text_format("%s-%d", contest->name, i);
}

static void contest_release(struct contest *contest)
{
	for (int i = 0; i < RACERS; i++) {
		unlink(contest->wanting[i]);
		free(contest->wanting[i]);
	}
	unlink(contest->name);
	free(contest->name);
}
AUTO(struct contest, contest_release);

static void make_contestants(struct contest *contest)
{
	for (int i = 0; i < RACERS; i++) {
		int fd = open(contest->wanting[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

		if (fd < 0)
			contest->unknown = true;
		else
			close(fd);
	}
}

static int refuse_directory(const char *what, struct err *err)
{
	return err_set(err, ERR_UNFIT, "%s, " WHAT_TO_DO, what);
}

/* What one machine is told of a name there, another is not. Here they would prove themselves: both
 * of who wants the name are on one mount. */
static int refuse_known(const char *directory, struct err *err)
{
	struct network_fs_mount mount;
	const char *bucket;

	if (!network_fs_mount_of(directory, &mount) ||
	    !(text_equal(mount.type, "fuse.seaweedfs") || text_equal(mount.type, "fuse.s3fs") ||
	      text_equal(mount.type, "fuse.rclone")))
		return 0;
	/* "host:8888:/buckets/NAME"; rclone's remote may be anything. */
	bucket = text_equal(mount.type, "fuse.rclone") ? NULL : strrchr(mount.source, ':');
	bucket = bucket ? bucket + 1 + (text_starts(bucket + 1, "/buckets/") ? 9 : 0) : "";
	return err_set(err, ERR_UNFIT,
		       "a mount of type %s lets two machines take one name: use the bucket itself, "
		       "s3://%s (AWS_ENDPOINT_URL_S3)",
		       mount.type, *bucket && *bucket != '/' ? bucket : "BUCKET/PREFIX");
}

static void take_name(struct contest *contest, size_t index)
{
	if (file_publish_if_absent(contest->wanting[index], contest->name) == 0)
		atomic_fetch_add(&contest->winners, 1);
	else
		atomic_store(&contest->error, errno);
}

static void race_for_name(void *arg, size_t index)
{
	struct contest *contest = arg;

	atomic_fetch_add(&contest->arrived, 1);
	for (int i = 0; atomic_load(&contest->arrived) < RACERS && i < YIELDS_MOST; i++)
		sched_yield();
	take_name(contest, index);
}

/* *renames: names are given by renames here, not by links. An error that passes is no proof, but
 * EIO twice is one, of a file system that has just made the files. */
static int hold_contest(const char *directory, bool at_once, bool *renames, struct err *err)
{
	auto_(contest_release) struct contest contest = {0};

	contest_init(&contest, directory);
	make_contestants(&contest);
	if (contest.unknown)
		return 0;
	if (at_once)
		parallel_run(RACERS, race_for_name, &contest);
	for (size_t i = 0; !at_once && i < RACERS; i++)
		take_name(&contest, i);
	if (contest.winners > 1)
		return refuse_directory(
			at_once ? "this file system gives one name to two at the same time"
				: "this file system gives a name that is taken a second time",
			err);
	if (contest.winners == 0 && (contest.error == EINVAL || contest.error == EIO))
		return refuse_directory("this file system has neither hard links nor renames that "
					"spare what is there",
					err);
	for (size_t i = 0; i < RACERS; i++)
		*renames = *renames || !file_exists(contest.wanting[i]);
	return 0;
}

int file_publish_prove(const char *directory, struct err *err)
{
	bool renames = false;

	if (refuse_known(directory, err) < 0 || hold_contest(directory, false, &renames, err) < 0)
		return -1;
	/* A link is the same everywhere; such a rename may be made of a look and a rename. */
	for (int i = 0; renames && i < RACES; i++)
		if (hold_contest(directory, true, &renames, err) < 0)
			return -1;
	return 0;
}

/* Stays in the cache of a processor between its reader and its taker. */
#define READ_PIECE ((size_t)256 << 10)
#define STALE_MS (24LL * 3600 * 1000)

struct file_store {
	struct store store;
	char *root;
	/* Of the root when it was opened. */
	dev_t device;
	ino_t inode;
	/* Other machines may see it as well, and this one late what they do. */
	bool shared;
	/* Its directories could not be looked at afresh. */
	atomic_bool late;
};

static struct file_store *file_store_of(struct store *store)
{
	return (struct file_store *)store;
}

static char *path_of(struct store *store, const char *key)
{
	return text_format("%s/%s", file_store_of(store)->root, key);
}

static char *parent_of(const char *path)
{
	return text_copy_n(path, (size_t)(strrchr(path, '/') - path));
}

/*
 * A file system that is unmounted under us leaves an empty directory, or none: on the disk of this
 * machine, where no other one would look. So nothing is asked of another file system than the one
 * that was opened, nor written to it. Mounted anew it may have another number, but not its root.
 * Within the same one a root that is gone is an emptied store.
 */
static int check_place(struct store *store, struct err *err)
{
	struct file_store *dir = file_store_of(store);
	auto_free char *path = text_copy(dir->root);
	struct stat status;
	bool is_root = true;

	while (stat(path, &status) < 0) {
		if (errno != ENOENT || strrchr(path, '/') == path)
			return err_os(err, errno, "%s", dir->root);
		*strrchr(path, '/') = '\0';
		is_root = false;
	}
	if (status.st_dev == dir->device || (is_root && status.st_ino == dir->inode))
		return 0;
	return err_set(err, ERR_RETRY,
		       "%s: its file system is not mounted there any more; mount it again, and "
		       "what is to be saved goes there",
		       dir->root);
}

/* By the clock of the file system, which may be that of a server: ours may be a day ahead. 0: it
 * cannot be told. */
static int64_t store_time_ms(const char *temporaries)
{
	char nonce[33];
	auto_free char *path = NULL;
	struct stat status;
	int64_t now_ms = 0;
	int fd;

	random_hex(nonce);
	path = text_format("%s/%s", temporaries, nonce);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return 0;
	if (write(fd, "now\n", 4) == 4 && fsync(fd) == 0 && fstat(fd, &status) == 0)
		now_ms = (int64_t)status.st_mtime * 1000;
	close(fd);
	unlink(path);
	return now_ms;
}

/* A writer that was killed leaves its temporary file; a day later nobody
 * can still be writing it. */
static void remove_stale_temporaries(const char *root)
{
	auto_free char *temporaries = text_format("%s/tmp", root);
	auto_(walk_close) struct walk walk = {0};
	int64_t now_ms = store_time_ms(temporaries);
	int64_t oldest_ms = now_ms > 0 ? now_ms - STALE_MS : 0;

	(void)walk_open(&walk, temporaries, 0);
	while (walk_next(&walk)) {
		struct stat status;

		if (fstatat(walk.directory, walk.name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode) && (int64_t)status.st_mtime * 1000 < oldest_ms)
			unlinkat(walk.directory, walk.name, 0);
	}
}

/* mkdir -p in which each new name is durable before anything is put below it. */
static int make_durable_directory(const char *path, struct err *err)
{
	auto_free char *parent = NULL;

	if (mkdir(path, 0777) == 0 || errno == EEXIST) {
		parent = parent_of(path);
		return file_sync_directory(parent[0] ? parent : "/", err);
	}
	if (errno != ENOENT)
		return err_os(err, errno, "cannot make directory %s", path);
	parent = parent_of(path);
	if (make_durable_directory(parent, err) < 0)
		return -1;
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_os(err, errno, "cannot make directory %s", path);
	return file_sync_directory(parent, err);
}

static char *root_of_url(const char *url, struct err *err)
{
	const char *path = url + strlen("file://");
	char *root;

	if (path[0] != '/') {
		err_set(err, ERR_INVALID,
			"store %s: a file store is named by an absolute path: file:///DIR", url);
		return NULL;
	}
	root = text_copy(path);
	while (strlen(root) > 1 && text_ends(root, "/"))
		root[strlen(root) - 1] = '\0';
	return root;
}

static int prepare_for_writing(const char *root, bool create, struct err *err)
{
	auto_free char *temporaries = text_format("%s/tmp", root);

	remove_stale_temporaries(root);
	if (create && !file_is_directory(temporaries))
		(void)make_durable_directory(temporaries, NULL);
	return file_publish_prove(temporaries, err);
}

static int file_store_open(const char *url, bool create, bool read_only, struct store **store,
			   struct cancel *cancel, struct err *err)
{
	auto_free char *root = root_of_url(url, err);
	struct file_store *dir;
	struct stat status;

	if (!root || cancel_check(cancel, err) < 0)
		return -1;
	/* Another machine may make it at the same moment. */
	if (!file_exists(root)) {
		if (!create || read_only)
			return err_set(err, ERR_NOT_FOUND,
				       "store %s: there is no directory %s: nothing was saved "
				       "there yet, or it is not mounted: see --store",
				       url, root);
		if (make_durable_directory(root, err) < 0)
			return err_wrap(err, "store %s", url);
	}
	if (!file_is_directory(root))
		return err_set(err, ERR_INVALID,
			       "store %s: %s is not a directory: name one with --store", url, root);
	if (!read_only && prepare_for_writing(root, create, err) < 0)
		return err_wrap(err, "store %s", url);
	if (stat(root, &status) < 0)
		return err_os(err, errno, "store %s: %s", url, root);
	dir = memory_new(sizeof(*dir));
	dir->device = status.st_dev;
	dir->inode = status.st_ino;
	dir->shared = network_fs_of(root) != NULL;
	dir->store.ops = &file_store_ops;
	dir->root = steal(&root);
	*store = &dir->store;
	return 0;
}

static void file_store_close(struct store *store)
{
	free(file_store_of(store)->root);
	free(store);
}

static int write_temporary(const char *path, const void *data, size_t size, struct err *err)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 && errno == ENOENT) {
		auto_free char *parent = parent_of(path);

		if (make_durable_directory(parent, err) < 0)
			return -1;
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	if (fd < 0)
		return err_os(err, errno, "%s", path);
	if (file_write_all(fd, data, size, err) < 0)
		return err_wrap(err, "%s", path);
	if (fsync(fd) < 0)
		return err_os(err, errno, "fsync %s", path);
	/* NFS and quotas report a full disk only here. */
	if (close(steal_fd(&fd)) < 0)
		return err_os(err, errno, "%s", path);
	return 0;
}

static int publish_once(const char *temporary, const char *path, enum store_put_mode mode)
{
	return mode == STORE_UNIQUE ? rename(temporary, path)
				    : file_publish_if_absent(temporary, path);
}

/* Over NFS the answer to a rename may be lost, and the client's second try then finds nothing to
 * rename. */
static bool was_renamed(const char *path, size_t size, enum store_put_mode mode)
{
	struct stat status;

	return mode == STORE_UNIQUE && errno == ENOENT && stat(path, &status) == 0 &&
	       (uint64_t)status.st_size == size;
}

static int publish_error(const char *path, struct err *err)
{
	if (errno == EINVAL)
		return err_set(err, ERR_UNFIT,
			       "%s: this file system has neither hard links nor renames that "
			       "spare what is there: use another one for the store",
			       path);
	return err_os(err, errno, "%s", path);
}

static int publish_temporary(const char *temporary, const char *path, size_t size,
			     enum store_put_mode mode, struct err *err)
{
	auto_free char *parent = parent_of(path);

	fault_point("before_link");
	if (publish_once(temporary, path, mode) < 0) {
		if (errno != ENOENT)
			return publish_error(path, err);
		if (make_durable_directory(parent, err) < 0)
			return -1;
		if (publish_once(temporary, path, mode) < 0 && !was_renamed(path, size, mode))
			return publish_error(path, err);
	}
	fault_point("after_link");
	if (file_sync_directory(parent, err) == 0)
		return 0;
	/* It is there, if not durable: none of the kinds that promise that nothing was written. */
	if (err)
		err->kind = ERR_FAILED;
	return -1;
}

static int file_store_put(struct store *store, const char *key, const void *data, size_t size,
			  enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	auto_free char *path = path_of(store, key);
	auto_free char *temporary = NULL;
	char nonce[33];
	int result;

	if (cancel_check(cancel, err) < 0 || check_place(store, err) < 0)
		return -1;
	random_hex(nonce);
	temporary = text_format("%s/tmp/%s", file_store_of(store)->root, nonce);
	result = write_temporary(temporary, data, size, err);
	if (result == 0) {
		fault_point("after_temporary_write");
		result = publish_temporary(temporary, path, size, mode, err);
	}
	/* "Not found" is the answer to a question; to a put it would be taken for one. */
	if (result < 0 && err && err->kind == ERR_NOT_FOUND)
		err->kind = ERR_FAILED;
	/* Fails where it was renamed or never made: both are fine. */
	unlink(temporary);
	return result;
}

static int file_store_read(struct store *store, const char *key, uint64_t offset, size_t size,
			   const struct store_taker *taker, struct cancel *cancel, struct err *err)
{
	auto_free char *path = path_of(store, key);
	auto_free uint8_t *piece = memory_new(size < READ_PIECE ? size : READ_PIECE);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;

	if (cancel_check(cancel, err) < 0 || (fd < 0 && check_place(store, err) < 0))
		return -1;
	if (fd < 0)
		return err_os(err, errno, "%s", path);
	while (done < size) {
		size_t left = size - done;
		ssize_t got = pread(fd, piece, left < READ_PIECE ? left : READ_PIECE,
				    (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_os(err, errno, "%s", path);
		if (got == 0)
			return err_set(err, ERR_CORRUPT, "%s is too short", path);
		if (taker->take(taker->arg, done, piece, (size_t)got, err) < 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int file_store_get(struct store *store, const char *key, uint64_t offset, size_t size,
			  struct bytes *out, struct cancel *cancel, struct err *err)
{
	struct store_gathering gathering = {out, out->size};
	const struct store_taker taker = {store_gather, &gathering};
	auto_free char *path = path_of(store, key);
	struct stat status;

	if (size == STORE_TO_END && stat(path, &status) < 0) {
		int why = errno;

		return check_place(store, err) < 0 ? -1 : err_os(err, why, "%s", path);
	}
	if (size == STORE_TO_END)
		size = (uint64_t)status.st_size > offset ? (size_t)(status.st_size - (off_t)offset)
							 : 0;
	if (bytes_reserve(out, size, err) < 0)
		return err_wrap(err, "%s", path);
	return file_store_read(store, key, offset, size, &taker, cancel, err);
}

/*
 * A mount may list a directory as it was when it last looked: sshfs for 20 s, NFS for up to 60.
 * What another machine has put since, its newest snapshot too, would be passed over, and then
 * removed for it. A change of our own makes each look again: of the directory's times, which
 * nobody reads. Where they cannot be set, names that are not listed are asked for.
 */
static void look_afresh(struct store *store, int directory, const char *name)
{
	struct file_store *dir = file_store_of(store);

	if (dir->shared && utimensat(directory, name, NULL, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != ENOENT)
		atomic_store(&dir->late, true);
}

/* `key` is the entry's: it is added, or what lies in it comes next. */
static int list_entry(struct store *store, struct walk *walk, const char *key,
		      enum store_depth depth, struct store_listing *listing, struct cancel *cancel,
		      struct err *err)
{
	struct stat status;

	if (fstatat(walk->directory, walk->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : err_os(err, errno, "%s", key);
	if (S_ISREG(status.st_mode))
		store_listing_add_dated(listing, key, (uint64_t)status.st_size,
					(int64_t)status.st_mtim.tv_sec * 1000 +
						status.st_mtim.tv_nsec / 1000000);
	if (!S_ISDIR(status.st_mode))
		return 0;
	if (depth == STORE_LEVEL) {
		auto_free char *folded = text_format("%s/", key);

		store_listing_add(listing, folded, 0);
		return 0;
	}
	if (cancel_check(cancel, err) < 0)
		return -1;
	look_afresh(store, walk->directory, walk->name);
	return walk_enter(walk) < 0 ? err_os(err, errno, "%s", key) : 0;
}

static int list_below(struct store *store, const char *prefix, enum store_depth depth,
		      struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	const char *slash = strrchr(prefix, '/');
	auto_free char *above = text_copy_n(prefix, slash ? (size_t)(slash + 1 - prefix) : 0);
	auto_free char *path = path_of(store, above);
	auto_(walk_close) struct walk walk = {0};

	look_afresh(store, AT_FDCWD, path);
	if (walk_open(&walk, path, 0) < 0)
		return errno == ENOENT ? 0 : err_os(err, errno, "%s", path);
	while (walk_next(&walk)) {
		auto_free char *key = text_format("%s%s", above, walk.path);

		/* Nothing below a directory that does not match could match. */
		if (walk.name[0] == '.' || !text_starts(key, prefix))
			continue;
		if (list_entry(store, &walk, key, depth, listing, cancel, err) < 0)
			return err_wrap(err, "%s", file_store_of(store)->root);
	}
	return walk_check(&walk, err);
}

static int file_store_list(struct store *store, const char *prefix, enum store_depth depth,
			   struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	if (cancel_check(cancel, err) < 0 || check_place(store, err) < 0 ||
	    list_below(store, prefix, depth, listing, cancel, err) < 0) {
		store_listing_release(listing);
		return -1;
	}
	store_listing_sort(listing);
	return 0;
}

static int file_store_remove(struct store *store, const char *key, struct cancel *cancel,
			     struct err *err)
{
	auto_free char *path = path_of(store, key);

	if (cancel_check(cancel, err) < 0 || check_place(store, err) < 0)
		return -1;
	if (unlink(path) < 0 && errno != ENOENT)
		return err_os(err, errno, "%s", path);
	return 0;
}

static void file_store_describe(struct store *store, char *text, size_t capacity)
{
	snprintf(text, capacity, "directory %s, as user %u", file_store_of(store)->root,
		 (unsigned)geteuid());
}

static void file_store_read_health(struct store *store, struct store_health *health)
{
	health->lists_late = atomic_load(&file_store_of(store)->late);
}

const struct store_ops file_store_ops = {
	.scheme = "file",
	.open = file_store_open,
	.close = file_store_close,
	.put = file_store_put,
	.get = file_store_get,
	.read = file_store_read,
	.list = file_store_list,
	.remove = file_store_remove,
	.describe = file_store_describe,
	.read_health = file_store_read_health,
};
