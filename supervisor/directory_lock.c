#include "directory_lock.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define PATIENCE_MS 1000
#define AGAIN_MS 50
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* Another at each start of a machine, the same in all its containers. "" where it cannot be known. */
static void boot_id(char *id, size_t capacity)
{
	auto_(bytes_release) struct bytes text = {.limit = 4096 + 4096};

	id[0] = '\0';
	if (file_read(BOOT_ID, &text, NULL) < 0 || bytes_append(&text, "", 1, NULL) < 0)
		return;
	text_set(id, capacity, (const char *)text.data);
	id[strcspn(id, "\n")] = '\0';
}

static void say_who(int fd, const char *job)
{
	char id[64];
	auto_free char *text = NULL;

	boot_id(id, sizeof(id));
	text = text_format("%s %d %s\n", id, (int)getpid(), job);
	if (ftruncate(fd, 0) == 0)
		(void)file_write_all(fd, text, strlen(text), NULL);
}

/* True when it is held by a process of this machine; fills in whose. */
static bool is_held_here(int fd, char *who, size_t capacity)
{
	char text[256], id[64], job[160] = "?", own[64];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	int pid;

	boot_id(own, sizeof(own));
	text[size < 0 ? 0 : size] = '\0';
	if (sscanf(text, "%63s %d %159s", id, &pid, job) < 2) {
		/* It has the lock, and has not written yet: nobody is as fast as that from afar. */
		text_set(who, capacity, "another run");
		return true;
	}
	snprintf(who, capacity, "process %d, job %s", pid, job);
	return text_equal(id, own);
}

int directory_lock(const char *beside, const char *job, struct cancel *cancel, struct err *err)
{
	auto_free char *path = text_format("%s/lock", beside);
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char who[256];

	if (fd < 0)
		return -2;
	for (int64_t waited = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited += AGAIN_MS) {
		if (errno != EWOULDBLOCK || !is_held_here(fd, who, sizeof(who)))
			return -2;
		if (waited >= PATIENCE_MS)
			return err_set(err, ERR_EXISTS, "another run here uses it (%s)", who);
		if (cancel_sleep(cancel, AGAIN_MS, err) < 0)
			return -1;
	}
	say_who(fd, job);
	return take_fd(&fd);
}
