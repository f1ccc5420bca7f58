#include "content_check.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POINTER_MOST 4096

struct look {
	const struct inspection *inspection;
	int directory;
	struct snapshot_files files;
	struct refusals *refusals;
	uint8_t *head, *tail;
	size_t head_capacity;
	char pointer[POINTER_MOST + 1];
};

void refusals_release(struct refusals *refusals)
{
	for (size_t i = 0; i < refusals->count; i++) {
		free(refusals->items[i].path);
		free(refusals->items[i].why);
	}
	free(refusals->items);
	*refusals = (struct refusals){0};
}

/* --- reading --- */

/* Fewer than wanted at the end of the file, or when it fails. */
static size_t read_at(int fd, void *target, size_t wanted, uint64_t offset)
{
	size_t got = 0;

	while (got < wanted) {
		ssize_t count =
			pread(fd, (char *)target + got, wanted - got, (off_t)(offset + got));

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break;
		got += (size_t)count;
	}
	return got;
}

/* Never waits for a FIFO's other end, nor follows a link out of the directory. */
static int open_file(const struct look *look, const char *path, uint64_t *size)
{
	auto_close int fd = openat(
		look->directory, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return -1;
	*size = (uint64_t)status.st_size;
	return take_fd(&fd);
}

static void grow_head(struct look *look, size_t wanted)
{
	if (wanted <= look->head_capacity)
		return;
	look->head = memory_grow(look->head, wanted, 1);
	look->head_capacity = wanted;
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static enum content_verdict judge(struct look *look, const char *path, char *why, size_t why_size)
{
	struct content_sample sample = {.name = name_of(path)};
	auto_close int fd = open_file(look, path, &sample.size);
	size_t wanted;

	if (fd < 0)
		return CONTENT_UNKNOWN;
	sample.head_size = read_at(fd, look->head, CONTENT_HEAD, 0);
	sample.head = look->head;
	wanted = content_head_wanted(&sample);
	if (wanted > sample.head_size) {
		grow_head(look, wanted);
		sample.head_size = read_at(fd, look->head, wanted, 0);
		sample.head = look->head;
	}
	sample.tail_size = sample.size < CONTENT_TAIL ? (size_t)sample.size : CONTENT_TAIL;
	sample.tail = look->tail;
	/* It has shrunk, or cannot be read: then nothing can be said. */
	if (read_at(fd, look->tail, sample.tail_size, sample.size - sample.tail_size) !=
		sample.tail_size)
		return CONTENT_UNKNOWN;
	return content_judge(&sample, why, why_size);
}

static const char *pointer_text(void *arg, const char *path)
{
	struct look *look = arg;
	uint64_t size;
	auto_close int fd = open_file(look, path, &size);

	if (fd < 0 || size > POINTER_MOST)
		return NULL;
	look->pointer[read_at(fd, look->pointer, POINTER_MOST, 0)] = '\0';
	return look->pointer;
}

static bool is_fresh(void *arg, const char *path)
{
	const struct look *look = arg;

	return path_set_marks(look->inspection->fresh, path) != 0;
}

/* --- refusing --- */

static int64_t still_ms(const struct look *look, const char *path)
{
	int64_t newest = 0;

	for (size_t i = 0; i < look->files.count; i++)
		if (path_set_is_below(look->files.items[i].path, path) &&
			look->files.items[i].mtime_ns > newest)
			newest = look->files.items[i].mtime_ns;
	newest = clock_wall_ms() - newest / 1000000;
	return newest > 0 ? newest : 0;
}

static struct refusal *refuse(struct look *look, const char *path, const char *why)
{
	struct refusals *refusals = look->refusals;
	struct refusal *refusal;

	for (size_t i = 0; i < refusals->count; i++)
		if (text_equal(refusals->items[i].path, path))
			return &refusals->items[i];
	refusals->items =
		memory_grow(refusals->items, refusals->count + 1, sizeof(refusals->items[0]));
	refusal = &refusals->items[refusals->count++];
	*refusal = (struct refusal){
		.path = text_copy(path), .why = text_copy(why), .still_ms = still_ms(look, path)};
	return refusal;
}

static void refuse_set(void *arg, const char *path, const char *why)
{
	refuse(arg, path, why)->by_rule = true;
}

static bool is_to_be_read(const struct look *look, const char *path)
{
	const struct inspection *inspection = look->inspection;

	return !run_log_matches(path) && !profile_is_temporary(inspection->profile, path) &&
	       (!inspection->fresh || path_set_marks(inspection->fresh, path));
}

static void read_files(struct look *look)
{
	for (size_t i = 0; i < look->files.count; i++) {
		const char *path = look->files.items[i].path;
		auto_free char *unit = text_copy_n(path, numbered_unit(path));
		auto_free char *sentence = NULL;
		char why[128];

		if (!is_to_be_read(look, path) ||
			judge(look, path, why, sizeof(why)) != CONTENT_TORN)
			continue;
		sentence = text_format("%s %s", path, why);
		refuse(look, *unit ? unit : path, sentence);
	}
}

/* Whoever saved a later one has given this one up. */
static void find_abandoned(struct look *look)
{
	const struct torn_set_view view = {.files = &look->files};

	for (size_t i = 0; i < look->refusals->count; i++) {
		struct refusal *refusal = &look->refusals->items[i];
		auto_free char *later =
			torn_set_later(look->inspection->profile, &view, refusal->path);
		bool refused = false;

		for (size_t j = 0; later && j < look->refusals->count; j++)
			refused |= text_equal(look->refusals->items[j].path, later);
		refusal->abandoned = later && !refused;
	}
}

int inspection_run(const struct inspection *inspection, struct refusals *refusals, struct err *err)
{
	struct look look = {.inspection = inspection, .refusals = refusals};
	struct torn_set_view view = {.files = &look.files,
		.text = pointer_text,
		.fresh = inspection->fresh ? is_fresh : NULL,
		.arg = &look};
	auto_close int directory = -1;

	*refusals = (struct refusals){0};
	if (directory_files(inspection->directory, &look.files, err) < 0)
		return -1;
	directory = open(inspection->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0 && look.files.count > 0) {
		snapshot_files_release(&look.files);
		return err_os(err, errno, "%s", inspection->directory);
	}
	look.directory = directory;
	grow_head(&look, CONTENT_HEAD);
	look.tail = memory_new(CONTENT_TAIL);
	read_files(&look);
	torn_set_find(inspection->profile, &view, refuse_set, &look);
	find_abandoned(&look);
	snapshot_files_release(&look.files);
	free(look.head);
	free(look.tail);
	return 0;
}
