#include "azure_share.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
	FILE_LIMIT = 256 * 1024
};

/* FNV-1a: one file per endpoint, because another endpoint is another VM, or a test. */
static uint64_t hash_endpoint(const char *text)
{
	uint64_t hash = 14695981039346656037u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
	return hash;
}

/* Times in the file are monotonic, so they are valid for this boot only. */
static void read_boot_id(char boot[40])
{
	auto_(bytes_release) struct bytes content = {.limit = 4096};

	boot[0] = '\0';
	if (file_read("/proc/sys/kernel/random/boot_id", &content, NULL) == 0 && content.size > 36)
		snprintf(boot, 40, "%.36s", (const char *)content.data);
}

void azure_share_open(struct azure_share *share, const char *directory, const char *endpoint)
{
	*share = (struct azure_share){.lock = -1, .opened_ms = clock_monotonic_ms()};
	if (!directory)
		return;
	share->path = text_format("%s/azure-%016llx", directory,
				  (unsigned long long)hash_endpoint(endpoint));
	auto_free char *lock = text_format("%s.lock", share->path);
	read_boot_id(share->boot);
	share->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (share->lock < 0) {
		free(share->path);
		share->path = NULL;
	}
}

void azure_share_close(struct azure_share *share)
{
	if (share->lock >= 0)
		close(share->lock);
	free(share->path);
}

static bool parse_shared(const struct azure_share *share, const struct bytes *content,
			 struct azure_shared *shared)
{
	auto_json json_t *object = json_parse(content->data, content->size, NULL);
	const char *body = json_text_or(object, "body", NULL);
	int64_t now = clock_monotonic_ms();

	if (!body || !text_equal(json_text_or(object, "boot", NULL), share->boot))
		return false;
	shared->asked_ms = json_number_or(object, "asked_ms", 0);
	shared->arrived_ms = json_number_or(object, "arrived_ms", 0);
	shared->arrived_wall_ms = json_number_or(object, "arrived_wall_ms", 0);
	shared->status = (int)json_number_or(object, "status", 0);
	text_set(shared->name, sizeof(shared->name), json_text_or(object, "name", ""));
	if (shared->arrived_ms > now || now - shared->arrived_ms > AZURE_SHARE_STALE_MS ||
	    shared->asked_ms > shared->arrived_ms)
		return false;
	shared->is_early = shared->arrived_ms < share->opened_ms;
	shared->body.size = 0;
	return bytes_append(&shared->body, body, strlen(body), NULL) == 0;
}

bool azure_share_read(struct azure_share *share, struct azure_shared *shared)
{
	auto_(bytes_release) struct bytes content = {.limit = FILE_LIMIT};
	struct stat status;

	if (!share->path || stat(share->path, &status) < 0)
		return false;
	if (status.st_ino == share->seen_inode && status.st_mtim.tv_sec == share->seen.tv_sec &&
	    status.st_mtim.tv_nsec == share->seen.tv_nsec)
		return false;
	share->seen = status.st_mtim;
	share->seen_inode = status.st_ino;
	return file_read(share->path, &content, NULL) == 0 && parse_shared(share, &content, shared);
}

bool azure_share_try_lock(struct azure_share *share)
{
	/* If locks do not work, each supervisor sends its own requests. */
	return !share->path || flock(share->lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void azure_share_write(struct azure_share *share, const struct azure_shared *shared)
{
	auto_json json_t *object = NULL;
	auto_free char *text = NULL;
	auto_free char *hidden = NULL;
	auto_close int fd = -1;
	struct stat status;

	if (!share->path)
		return;
	object = json_pack("{s:s, s:I, s:I, s:I, s:i, s:s, s:s%}", "boot", share->boot, "asked_ms",
			   (json_int_t)shared->asked_ms, "arrived_ms",
			   (json_int_t)shared->arrived_ms, "arrived_wall_ms",
			   (json_int_t)shared->arrived_wall_ms, "status", shared->status, "name",
			   shared->name, "body",
			   shared->body.data ? (const char *)shared->body.data : "",
			   shared->body.size);
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	if (!text)
		return;
	hidden = text_format("%s.%d", share->path, (int)getpid());
	fd = open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	/* Not synced: it is useful for a second only. */
	if (file_write_all(fd, text, strlen(text), NULL) < 0 || fstat(fd, &status) < 0 ||
	    rename(hidden, share->path) < 0) {
		unlink(hidden);
		return;
	}
	share->seen = status.st_mtim;
	share->seen_inode = status.st_ino;
}

void azure_share_unlock(struct azure_share *share)
{
	if (share->path)
		flock(share->lock, LOCK_UN);
}
