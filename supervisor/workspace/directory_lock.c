#include "workspace.h"

#include "base/beneath.h"
#include "base/file.h"
#include "base/text.h"
#include "base/walk.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define PATIENCE_MS 1000
#define RETRY_MS 50
#define TEXT_MOST 1024

static void write_note(int fd, const char *job)
{
	char id[40];
	auto_free char *text = NULL;

	workspace_read_boot(id);
	text = text_format("%s %d %s\n", id, (int)getpid(), job);
	if (ftruncate(fd, 0) == 0)
		(void)file_write_all(fd, text, strlen(text), NULL);
}

/* Where the line of the job begins: after that of its supervisor. */
static off_t job_line_offset(int fd)
{
	char text[TEXT_MOST];
	ssize_t size = pread(fd, text, sizeof(text), 0);
	const char *end = size > 0 ? memchr(text, '\n', (size_t)size) : NULL;

	return end ? end + 1 - text : 0;
}

void directory_lock_note_job(int fd, pid_t pid)
{
	auto_free char *identity = process_identity(pid);
	auto_free char *line = text_format("%s\n", identity);
	off_t at = job_line_offset(fd);

	if (at > 0 && ftruncate(fd, at) == 0 && lseek(fd, at, SEEK_SET) == at)
		(void)file_write_all(fd, line, strlen(line), NULL);
}

/* Content of the lock file; it describes the last holder if nobody holds the lock. */
struct lock_note {
	char boot[40], job[LOCK_HOLDER_SIZE];
	int supervisor;    /* 0: not written yet */
	char process[128]; /* process_identity() of the job; "": unknown */
};

static void read_note(int fd, struct lock_note *note)
{
	char text[TEXT_MOST];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	const char *second;

	*note = (struct lock_note){.job = "?"};
	text[size < 0 ? 0 : size] = '\0';
	second = strchr(text, '\n');
	if (sscanf(text, "%39s %d %159s", note->boot, &note->supervisor, note->job) < 2)
		note->supervisor = 0;
	else
		text_set(note->process, sizeof(note->process), second ? second + 1 : "");
}

static bool is_of_this_boot(const struct lock_note *note)
{
	char own[40];

	workspace_read_boot(own);
	return text_equal(note->boot, own);
}

/* True: a process of this machine holds the lock, which `err` names. */
static bool is_locked_on_this_host(const struct lock_note *note, struct err *err)
{
	/* The holder has not written yet, so that it has just started: it is on this machine,
	 * because over a network the lock would have taken longer. */
	if (note->supervisor == 0)
		return err_set(err, ERR_EXISTS, "another run here uses it") < 0;
	return is_of_this_boot(note) &&
	       err_set(err, ERR_EXISTS, "another run here uses it (process %d, job %s)",
		       note->supervisor, note->job) < 0;
}

/* True: the job of a dead supervisor is still running, which `err` names. */
static bool has_running_job(const struct lock_note *note, struct err *err)
{
	pid_t pid;

	return is_of_this_boot(note) && process_identity_runs(note->process, &pid) &&
	       err_set(err, ERR_EXISTS,
		       "the job of an earlier run, whose supervisor is gone, still runs in it "
		       "(process %d, job %s)",
		       (int)pid, note->job) < 0;
}

/* False: the run that held the lock has removed the file since we opened it, so that our lock of it
 * keeps nobody out. */
static bool is_lock_file(int fd, int folder)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && beneath_status(folder, "lock", &named) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

enum lock_state {
	LOCK_TAKEN,   /* it is ours now */
	LOCK_HELD,    /* somebody on this machine has it, or its job still runs: ERR_EXISTS */
	LOCK_USELESS, /* locks do not work here, or another machine's has outlived it */
};

static enum lock_state try_lock(int fd, int kind, struct lock_note *note, struct err *err)
{
	bool held = flock(fd, kind | LOCK_NB) < 0, works = !held || errno == EWOULDBLOCK;

	read_note(fd, note);
	if (!works || (held && !is_locked_on_this_host(note, err)))
		return LOCK_USELESS;
	return held || has_running_job(note, err) ? LOCK_HELD : LOCK_TAKEN;
}

int directory_lock(int folder, const char *job, struct cancel *cancel,
		   char holder[LOCK_HOLDER_SIZE], struct err *err)
{
	auto_close int fd = beneath_open(folder, "lock", O_RDWR | O_CREAT | O_NONBLOCK, 0600);
	enum lock_state state = LOCK_HELD;
	struct lock_note note;

	holder[0] = '\0';
	if (fd < 0)
		return -2;
	for (int64_t waited = 0; state == LOCK_HELD; waited += RETRY_MS) {
		state = try_lock(fd, LOCK_EX, &note, err);
		text_set(holder, LOCK_HOLDER_SIZE, note.supervisor ? note.job : "");
		if (state == LOCK_HELD &&
		    (waited >= PATIENCE_MS || cancel_sleep(cancel, RETRY_MS, err) < 0))
			return -1;
	}
	if (state == LOCK_USELESS)
		return -2;
	if (!is_lock_file(fd, folder))
		return err_set(err, ERR_RETRY, "the lock was removed by the run that held it");
	write_note(fd, job);
	return steal_fd(&fd);
}

/* A start at the same moment meets our shared lock, and tries again (PATIENCE_MS). */
bool directory_lock_is_held(int folder, int *last, struct err *err)
{
	auto_close int fd = beneath_open(folder, "lock", O_RDONLY | O_NONBLOCK, 0);
	struct lock_note note = {.supervisor = 0};
	bool held = fd >= 0 && try_lock(fd, LOCK_SH, &note, err) == LOCK_HELD;

	*last = note.supervisor > 0 && is_of_this_boot(&note) ? note.supervisor : 0;
	return held;
}

/* --- marks of the members of a gang --- */

#define MARK "member-"
/* Nobody waits so long for the others. */
#define STALE_SECONDS 86400

int workspace_mark_member(struct workspace *workspace, const char *nonce, struct err *err)
{
	auto_free char *name = text_format(MARK "%s", nonce);
	int folder = workspace_folder(workspace, err);

	return folder < 0 ? -1 : beneath_replace(folder, name, "\n", 1, false, err);
}

void workspace_unmark_member(struct workspace *workspace, const char *nonce)
{
	auto_free char *name = text_format(MARK "%s", nonce);
	int folder = workspace_folder(workspace, NULL);

	if (folder >= 0)
		(void)beneath_remove(folder, name, 0);
}

static const char *nonce_of(const struct walk *walk)
{
	return text_starts(walk->name, MARK) ? walk->name + strlen(MARK) : NULL;
}

bool workspace_has_other_mark(struct workspace *workspace, const char *own)
{
	int folder = workspace_folder(workspace, NULL);
	auto_(walk_close) struct walk walk;
	bool found = false;

	if (folder < 0 || walk_open_at(&walk, folder, "", 0) < 0)
		return false;
	while (!found && walk_next(&walk)) {
		const char *nonce = nonce_of(&walk);

		found = nonce && !text_equal(nonce, own);
	}
	return found;
}

/* By the clock of the file system, which has put the own one just now. */
static bool is_stale(const struct walk *walk, const struct stat *own)
{
	struct stat other;

	return fstatat(walk->directory, walk->name, &other, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own->st_mtime - other.st_mtime > STALE_SECONDS;
}

static uint32_t member_of_nonce(json_t *nonces, const char *nonce)
{
	for (size_t i = 0; i < json_array_size(nonces); i++) {
		const char *member = json_string_value(json_array_get(nonces, i));

		if (member && text_equal(member, nonce))
			return (uint32_t)i;
	}
	return UINT32_MAX;
}

int workspace_find_members(struct workspace *workspace, json_t *nonces, const char *own, bool *here,
			   struct err *err)
{
	auto_free char *name = text_format(MARK "%s", own);
	int folder = workspace_folder(workspace, err);
	auto_(walk_close) struct walk walk;
	struct stat mark;

	memset(here, 0, json_array_size(nonces) * sizeof(*here));
	if (folder < 0 || workspace_mark_member(workspace, own, err) < 0)
		return -1;
	if (fstatat(folder, name, &mark, AT_SYMLINK_NOFOLLOW) < 0 ||
	    walk_open_at(&walk, folder, "", 0) < 0)
		return err_os(err, errno, "our folder beside %s", workspace->directory);
	while (walk_next(&walk)) {
		const char *nonce = nonce_of(&walk);
		uint32_t found = nonce ? member_of_nonce(nonces, nonce) : UINT32_MAX;

		if (found != UINT32_MAX)
			here[found] = true;
		else if (nonce && is_stale(&walk, &mark))
			(void)beneath_remove(folder, walk.name, 0);
	}
	return walk_check(&walk, err);
}
