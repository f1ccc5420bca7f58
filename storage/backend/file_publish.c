#include "file_publish.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/network_fs.h"
#include "base/text.h"
#include "base/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	atomic_int arrived, winners;
	bool unknown; /* they could not be made */
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
	/* "host:8888:/buckets/NAME", "remote:NAME" */
	bucket = strrchr(mount.source, ':');
	bucket = bucket ? bucket + 1 + (text_starts(bucket + 1, "/buckets/") ? 9 : 0) : "";
	return err_set(err, ERR_UNFIT,
		       "two machines that mount this (%s) can both take one name: name the bucket "
		       "itself, s3://%s, with AWS_ENDPOINT_URL_S3 for a server of your own",
		       mount.type, *bucket && *bucket != '/' ? bucket : "BUCKET/PREFIX");
}

/* A passing error is no proof: EIO twice is one, of a file system that has just made the files. */
static int give_first_name(const struct contest *contest)
{
	int result = file_publish_if_absent(contest->wanting[0], contest->name);

	if (result < 0 && errno == EIO)
		result = file_publish_if_absent(contest->wanting[0], contest->name);
	return result;
}

/* *renames: names are given by renames here, not by links. */
static int prove_in_turn(const char *directory, bool *renames, struct err *err)
{
	auto_(contest_release) struct contest contest = {0};

	contest_init(&contest, directory);
	make_contestants(&contest);
	if (contest.unknown)
		return 0;
	if (give_first_name(&contest) < 0)
		return errno == EINVAL || errno == EIO
			       ? refuse_directory("this file system has neither hard links nor "
						  "renames that spare what is there",
						  err)
			       : 0;
	*renames = !file_exists(contest.wanting[0]);
	if (file_publish_if_absent(contest.wanting[1], contest.name) == 0)
		return refuse_directory("this file system gives a name that is taken a second time",
					err);
	return 0;
}

static void race_for_name(void *arg, size_t index)
{
	struct contest *contest = arg;

	atomic_fetch_add(&contest->arrived, 1);
	for (int i = 0; atomic_load(&contest->arrived) < RACERS && i < YIELDS_MOST; i++)
		sched_yield();
	if (file_publish_if_absent(contest->wanting[index], contest->name) == 0)
		atomic_fetch_add(&contest->winners, 1);
}

static int prove_at_once(const char *directory, struct err *err)
{
	auto_(contest_release) struct contest contest = {0};

	contest_init(&contest, directory);
	make_contestants(&contest);
	if (contest.unknown)
		return 0;
	parallel_run(RACERS, race_for_name, &contest);
	if (contest.winners > 1)
		return refuse_directory("this file system gives one name to two at the same time",
					err);
	return 0;
}

int file_publish_prove(const char *directory, struct err *err)
{
	bool renames = false;

	if (refuse_known(directory, err) < 0 || prove_in_turn(directory, &renames, err) < 0)
		return -1;
	/* A link is the same everywhere; such a rename may be made of a look and a rename. */
	for (int i = 0; renames && i < RACES; i++)
		if (prove_at_once(directory, err) < 0)
			return -1;
	return 0;
}
