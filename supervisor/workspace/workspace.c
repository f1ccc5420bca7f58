#include "workspace.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

/* --- paths --- */

static char *absolute_as_written(const char *path)
{
	char current[PATH_MAX];
	auto_free char *copy = text_copy(path);

	while (strlen(copy) > 1 && text_ends(copy, "/"))
		copy[strlen(copy) - 1] = '\0';
	if (copy[0] == '/' || !getcwd(current, sizeof(current)))
		return steal(&copy);
	return text_format("%s/%s", current, text_starts(copy, "./") ? copy + 2 : copy);
}

void workspace_init(struct workspace *workspace, const char *directory)
{
	/* One that leads through a link of another user is refused when it is opened. */
	auto_free char *found = held_directory_resolve(directory, NULL);

	*workspace = (struct workspace){
		.directory = absolute_as_written(found ? found : directory),
	};
	workspace->alias = absolute_as_written(directory);
	if (text_equal(workspace->alias, workspace->directory))
		workspace->alias[0] = '\0';
}

void workspace_release(struct workspace *workspace)
{
	free(workspace->directory);
	free(workspace->alias);
	free(workspace->beside);
	if (workspace->folder > 0)
		close(workspace->folder);
	workspace_let_go(workspace);
	workspace_unlock(workspace);
	*workspace = (struct workspace){0};
}

int workspace_prepare(struct workspace *workspace, struct err *err)
{
	struct err why;
	auto_close int directory = held_directory_open(workspace->directory, &why);
	auto_free char *probe = NULL, *above = NULL;
	const char *at = workspace->directory;
	char nonce[33];
	int fd;

	/* It is the job that makes it, and its file system is this one. */
	if (directory < 0 && why.kind == ERR_NOT_FOUND) {
		at = above = text_copy_n(at, (size_t)(strrchr(at, '/') + 1 - at));
		directory = held_directory_make(above, 0777, &why);
	}
	if (directory < 0)
		return err_set(err, why.kind, "checkpoint directory: %s", why.text);
	random_hex(nonce);
	probe = text_format(".reprieve-%.8s", nonce);
	fd = beneath_open(directory, probe, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return err_os(err, errno, "checkpoint directory %s: %s cannot be written",
			      workspace->directory, at);
	close(fd);
	beneath_remove(directory, probe, 0);
	return 0;
}

/* --- the checkpoint directory, held open --- */

int workspace_open_directory(const struct workspace *workspace, struct err *err)
{
	int fd;

	if (workspace->held <= 0)
		return held_directory_open(workspace->directory, err);
	fd = fcntl(workspace->held, F_DUPFD_CLOEXEC, 1);
	return fd < 0 ? err_os(err, errno, "%s", workspace->directory) : fd;
}

int workspace_hold(struct workspace *workspace, bool make, struct err *err)
{
	struct err why;
	int fd;

	if (workspace->held > 0)
		return 0;
	fd = make ? held_directory_make(workspace->directory, 0777, &why)
		  : held_directory_open(workspace->directory, &why);
	if (fd < 0 && (make || why.kind != ERR_NOT_FOUND))
		return err_set(err, why.kind, "%s", why.text);
	workspace->held = fd < 0 ? 0 : fd;
	return 0;
}

void workspace_let_go(struct workspace *workspace)
{
	if (workspace->held > 0)
		close(workspace->held);
	workspace->held = 0;
}

int workspace_list_files(const struct workspace *workspace, struct snapshot_files *files,
			 struct err *err)
{
	return workspace->held > 0 ? file_list_read_at(workspace->held, files, err)
				   : file_list_read(workspace->directory, files, err);
}

/* --- our folder: where it is, and whether what lies there is ours --- */

/* One that was found, or could not be had. */
struct own_folder {
	int fd; /* -1: it cannot be used */
	char *path;
	const char *foreign; /* why one that is there is not ours; NULL: it is not there */
	bool made;
	/* "DIR.reprieve is ..., and is not used": it is there, and not ours; NULL: that is not so
	 */
	char *passed_over;
};

static void own_folder_release(struct own_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	free(folder->path);
	free(folder->passed_over);
}
AUTO(struct own_folder, own_folder_release);

/* What a server gives to another number than this process's (root_squash) is ours all the same. A
 * file that we make in another user's folder is not his. */
static bool is_ours(int folder, const struct stat *status, const struct stat *like)
{
	return held_directory_is_private(status, like, geteuid()) ||
	       (status->st_uid != geteuid() &&
		held_directory_is_private(status, like, held_directory_own_number(folder)));
}

/* `like`: the checkpoint directory, or that in which it will be. */
static void open_folder(struct own_folder *folder, int parent, const char *name, bool make,
			const struct stat *like)
{
	struct stat status;

	folder->made = make && beneath_make_directory(parent, name, 0700) == 0;
	folder->fd = beneath_open_directory(parent, name);
	if (folder->fd < 0) {
		if (errno == ELOOP || errno == ENOTDIR)
			folder->foreign = "a link or a file";
		return;
	}
	if (fstat(folder->fd, &status) == 0 && is_ours(folder->fd, &status, like))
		return;
	folder->foreign = status.st_uid == geteuid() ? "open to others, who may write to it"
						     : "another user's";
	close(steal_fd(&folder->fd));
}

/* DIR.reprieve. `directory`: the checkpoint directory; NULL: it is not there yet. */
static struct own_folder open_outside(const struct workspace *workspace,
				      const struct stat *directory, bool make)
{
	struct own_folder folder = {.fd = -1,
				    .path = text_format("%s.reprieve", workspace->directory)};
	const char *name;
	auto_close int parent = held_directory_open_above(folder.path, &name, NULL);
	struct stat status, of_parent;

	if (parent < 0 || fstat(parent, &of_parent) < 0)
		return folder;
	open_folder(&folder, parent, name, make, directory ? directory : &of_parent);
	if (folder.fd < 0)
		return folder;
	/* If the directory does not exist yet, it will be created on the file system of our
	 * folder. */
	if ((make && faccessat(folder.fd, ".", W_OK, 0) < 0) || fstat(folder.fd, &status) < 0 ||
	    (directory && status.st_dev != directory->st_dev)) {
		close(steal_fd(&folder.fd));
		if (folder.made)
			beneath_remove(parent, name, AT_REMOVEDIR);
	}
	return folder;
}

/* DIR/.reprieve */
static int open_inside(const struct workspace *workspace, bool make, struct own_folder *folder,
		       struct err *err)
{
	auto_close int directory =
		make && workspace->held <= 0 ? held_directory_make(workspace->directory, 0777, err)
					     : workspace_open_directory(workspace, err);
	struct stat status;

	if (directory < 0)
		return -1;
	if (fstat(directory, &status) < 0)
		return err_os(err, errno, "%s", workspace->directory);
	folder->path = text_format("%s/.reprieve", workspace->directory);
	open_folder(folder, directory, ".reprieve", make, &status);
	if (folder->foreign)
		return err_set(err, ERR_DENIED,
			       "%s is %s, and is not used: remove it, or name another checkpoint "
			       "directory",
			       folder->path, folder->foreign);
	return folder->fd < 0 ? err_os(err, errno, "%s", folder->path) : 0;
}

/* Sets fd and path: DIR.reprieve, or else DIR/.reprieve. ERR_NOT_FOUND: there is none, and `make`
 * is false. ERR_DENIED with no errno: neither is ours. The caller releases `folder`, also after an
 * error. */
static int own_folder_find(const struct workspace *workspace, bool make, struct own_folder *folder,
			   struct err *err)
{
	auto_close int directory = workspace_open_directory(workspace, NULL);
	struct stat status;
	bool exists = directory >= 0 && fstat(directory, &status) == 0;

	*folder = open_outside(workspace, exists ? &status : NULL, make);
	if (folder->fd >= 0)
		return 0;
	if (folder->foreign)
		folder->passed_over =
			text_format("%s is %s, and is not used", folder->path, folder->foreign);
	free(steal(&folder->path));
	folder->foreign = NULL;
	return open_inside(workspace, make, folder, err);
}

static void copy_record(const struct own_folder *from, const struct own_folder *to)
{
	static const char *const names[] = {COMPLETION_RECORD_NAME, UNDER_WAY_NAME};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		auto_(bytes_release) struct bytes text = {0};

		if (beneath_read(from->fd, names[i], &text, NULL) == 0 &&
		    beneath_replace(to->fd, names[i], text.data, text.size, true, NULL) == 0)
			beneath_remove(from->fd, names[i], 0);
	}
}

/* Where that is another file system, what says which files are complete is copied. */
void workspace_follow_link(const struct workspace *workspace)
{
	const struct workspace link = {.directory = workspace->alias};
	auto_(own_folder_release) struct own_folder old = {.fd = -1}, own = {.fd = -1};
	auto_free char *beside = text_format("%s.reprieve", workspace->directory);
	auto_close int parent = -1, old_parent = -1;
	const char *name, *old_name;

	if (!*workspace->alias || own_folder_find(workspace, false, &own, NULL) == 0)
		return;
	old = open_outside(&link, NULL, false);
	if (old.fd < 0)
		return;
	old_parent = held_directory_open_above(old.path, &old_name, NULL);
	parent = held_directory_open_above(beside, &name, NULL);
	if (old_parent < 0 ||
	    (parent >= 0 && beneath_rename(old_parent, old_name, parent, name) == 0))
		return;
	own_folder_release(&own);
	if (own_folder_find(workspace, true, &own, NULL) == 0)
		copy_record(&old, &own);
}

int workspace_folder(struct workspace *workspace, struct err *err)
{
	auto_(own_folder_release) struct own_folder folder = {.fd = -1};

	if (workspace->beside)
		return workspace->folder;
	if (own_folder_find(workspace, true, &folder, err) < 0)
		return folder.passed_over ? err_wrap(err, "%s", folder.passed_over) : -1;
	if (folder.passed_over && !workspace->warned_of_folder)
		log_warn("%s: %s is used in its place", folder.passed_over, folder.path);
	workspace->warned_of_folder |= folder.passed_over != NULL;
	/* One that is found anew gets the number of the old one, which other threads may use. */
	if (workspace->folder <= 0)
		workspace->folder = steal_fd(&folder.fd);
	else if (dup3(folder.fd, workspace->folder, O_CLOEXEC) < 0)
		return err_os(err, errno, "%s", folder.path);
	workspace->beside = steal(&folder.path);
	return workspace->folder;
}

static bool is_removed(int folder)
{
	struct stat status;

	return fstat(folder, &status) < 0 || status.st_nlink == 0;
}

/* Our folder, which need not exist; with `held` -1 for any thread: another one may make it at the
 * same time, and remember it. One that the job has removed, with its directory perhaps, is made
 * again. The caller releases it. */
static int find_beside(const struct workspace *workspace, int held, bool make,
		       struct own_folder *folder, struct err *err)
{
	struct workspace own = {.directory = workspace->directory, .held = held};
	int made = atomic_load(&workspace->folder);

	*folder = (struct own_folder){.fd = -1};
	if (made <= 0 || is_removed(made))
		return own_folder_find(&own, make, folder, err);
	folder->fd = fcntl(made, F_DUPFD_CLOEXEC, 1);
	folder->path = held >= 0 && workspace->beside
			       ? text_copy(workspace->beside)
			       : text_format("our folder of %s", workspace->directory);
	return folder->fd < 0 ? err_os(err, errno, "%s", folder->path) : 0;
}

#define LOCK_TRIES 100

/* Our own refusal, and not the system's, which may be of a directory that nobody can write to. */
static int refuse_without_folder(const struct workspace *workspace, const struct err *why,
				 struct err *err)
{
	if (why->kind == ERR_DENIED && why->os == 0)
		return err_set(err, why->kind, "%s", why->text);
	log_debug("%s is not locked: %s", workspace->directory, why->text);
	return 0;
}

int workspace_lock(struct workspace *workspace, const char *job, struct cancel *cancel,
		   struct err *err)
{
	struct err why = {0};
	int fd = -1;

	if (workspace->lock_fd > 0)
		return 0;
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (workspace_folder(workspace, &why) < 0)
			return refuse_without_folder(workspace, &why, err);
		fd = directory_lock(workspace->folder, job, cancel, workspace->holder, &why);
		if (fd != -1 || why.kind != ERR_RETRY)
			break;
		free(steal(&workspace->beside));
	}
	if (fd == -1)
		return err_set(err, why.kind, "checkpoint directory %s: %s", workspace->directory,
			       why.text);
	workspace->lock_fd = fd < 0 ? 0 : fd;
	return 0;
}

bool workspace_is_in_use(const struct workspace *workspace, int *last, struct err *err)
{
	auto_(own_folder_release) struct own_folder folder = {.fd = -1};

	*last = 0;
	if (find_beside(workspace, workspace->held, false, &folder, NULL) < 0 || folder.fd < 0 ||
	    !directory_lock_is_held(folder.fd, last, err))
		return false;
	(void)err_wrap(err, "checkpoint directory %s", workspace->directory);
	return true;
}

void workspace_unlock(struct workspace *workspace)
{
	if (workspace->lock_fd > 0)
		close(workspace->lock_fd);
	workspace->lock_fd = 0;
}

/* Is there nothing in our folder but what every run puts there at its start? */
static bool holds_only_start_files(int folder)
{
	auto_(walk_close) struct walk walk = {0};
	bool only = walk_open_at(&walk, folder, "", 0) == 0;

	while (only && walk_next(&walk))
		only = text_equal(walk.name, "lock") ||
		       text_equal(walk.name, COMPLETION_RECORD_NAME) ||
		       text_equal(walk.name, "tmp");
	return only;
}

void workspace_remove_unused(struct workspace *workspace)
{
	auto_close int parent = -1;
	const char *name;

	if (workspace->lock_fd <= 0 || !workspace->beside)
		return;
	parent = held_directory_open_above(workspace->directory, &name, NULL);
	if (parent < 0 || beneath_exists(parent, name) ||
	    !holds_only_start_files(workspace->folder))
		return;
	if (beneath_remove(workspace->folder, "tmp", AT_REMOVEDIR) < 0 && errno != ENOENT)
		return;
	beneath_remove(workspace->folder, COMPLETION_RECORD_NAME, 0);
	/* Whoever waits for the lock sees that its file is gone: directory_lock(). */
	beneath_remove(workspace->folder, "lock", 0);
	if (held_directory_is_at(workspace->folder, workspace->beside))
		beneath_remove(parent, strrchr(workspace->beside, '/') + 1, AT_REMOVEDIR);
}

/* --- the record --- */

void workspace_read_boot(char boot[40])
{
	auto_(bytes_release) struct bytes text = {.limit = 64};

	boot[0] = '\0';
	if (file_read("/proc/sys/kernel/random/boot_id", &text, NULL) < 0)
		return;
	snprintf(boot, 40, "%.*s", (int)text.size, (const char *)text.data);
	boot[strcspn(boot, "\n")] = '\0';
}

int workspace_write_record(struct workspace *workspace, struct completion_record *record,
			   struct err *err)
{
	auto_free char *text = NULL;

	if (workspace->kept_by_other)
		return 0;
	if (workspace_folder(workspace, err) < 0)
		return -1;
	workspace_read_boot(record->boot);
	record->unnamed = workspace->unnamed;
	text = completion_record_format(record, err);
	if (!text)
		return -1;
	if (beneath_replace(workspace->folder, COMPLETION_RECORD_NAME, text, strlen(text), true,
			    err) < 0)
		return err_wrap(err, "%s", workspace->beside);
	return 0;
}

int workspace_read_record(const struct workspace *workspace, struct completion_record *record,
			  struct err *err)
{
	auto_(own_folder_release) struct own_folder folder = {.fd = -1};
	auto_(bytes_release) struct bytes text = {0};

	*record = (struct completion_record){0};
	if (find_beside(workspace, workspace->held, false, &folder, err) < 0 ||
	    beneath_read(folder.fd, COMPLETION_RECORD_NAME, &text, err) < 0)
		return -1;
	if (completion_record_parse(text.data, text.size, record, err) < 0)
		return err_wrap(err, "%s/" COMPLETION_RECORD_NAME, folder.path);
	return 0;
}

int workspace_write_under_way(const struct workspace *workspace, char *const *paths,
			      struct err *err)
{
	auto_(own_folder_release) struct own_folder folder = {.fd = -1};
	auto_(bytes_release) struct bytes text = {0};
	bool any = paths && *paths;
	char boot[40];
	struct err why;

	if (workspace->kept_by_other)
		return 0;
	if (find_beside(workspace, -1, any, &folder, &why) < 0)
		return !any && (why.kind == ERR_NOT_FOUND || why.os == ENOTDIR)
			       ? 0
			       : err_set(err, why.kind, "%s", why.text);
	if (!any)
		return beneath_remove(folder.fd, UNDER_WAY_NAME, 0) < 0 && errno != ENOENT
			       ? err_os(err, errno, "cannot remove " UNDER_WAY_NAME " in %s",
					folder.path)
			       : 0;
	workspace_read_boot(boot);
	under_way_format(paths, boot, &text);
	return beneath_replace(folder.fd, UNDER_WAY_NAME, text.data, text.size, false, err);
}

int workspace_read_under_way(const struct workspace *workspace, struct path_list *paths,
			     bool *rebooted, struct err *err)
{
	auto_(own_folder_release) struct own_folder folder = {.fd = -1};
	auto_(bytes_release) struct bytes text = {0};
	char boot[40], own[40];
	struct err why;

	*rebooted = false;
	if (find_beside(workspace, workspace->held, false, &folder, &why) < 0 ||
	    beneath_read(folder.fd, UNDER_WAY_NAME, &text, &why) < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : err_set(err, why.kind, "%s", why.text);
	/* Without the name of one, nobody knows. */
	workspace_read_boot(own);
	text_set(boot, sizeof(boot), own);
	if (under_way_parse(text.data, text.size, paths, boot, err) < 0)
		return err_wrap(err, "%s/" UNDER_WAY_NAME, folder.path);
	*rebooted = !text_equal(boot, own);
	return 0;
}

char *workspace_path_beside(struct workspace *workspace, const char *name, struct err *err)
{
	return workspace_folder(workspace, err) < 0 ? NULL
						    : text_format("%s/%s", workspace->beside, name);
}
