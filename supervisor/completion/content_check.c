/* Reads what file_format.c and layout_rules.c judge by, and collects their findings. */
#include "content_check.h"

#include "base/beneath.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/text.h"
#include "frameworks/frameworks.h"
#include "workspace/workspace.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pointer file (`latest`) holds one name: a larger file is none. */
#define POINTER_MOST 4096

struct state {
	const struct check *check;
	int directory;
	struct snapshot_files files;
	struct findings *findings;
	uint8_t *head, *tail;
	size_t head_capacity;
	char pointer[POINTER_MOST + 1];
};

void findings_release(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->items[i].path);
		free(findings->items[i].why);
	}
	free(findings->items);
	*findings = (struct findings){0};
}

/* --- reading --- */

/* Does not wait for the other end of a FIFO, and does not follow a link out of the directory. */
static int open_file(const struct state *state, const char *path, uint64_t *size, bool *sparse)
{
	auto_close int fd =
		beneath_open(state->directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return -1;
	*size = (uint64_t)status.st_size;
	*sparse = (uint64_t)status.st_blocks * 512 < *size;
	return steal_fd(&fd);
}

static size_t read_more(const void *file, uint64_t at, void *to, size_t size)
{
	return file_read_at(*(const int *)file, to, size, at);
}

static void grow_head(struct state *state, size_t wanted)
{
	if (wanted <= state->head_capacity)
		return;
	state->head = memory_grow(state->head, wanted, 1);
	state->head_capacity = wanted;
}

/* *marks: of a valid one, enum content_mark. */
static enum file_format_verdict check_file(struct state *state, const char *path, char *why,
					   size_t why_size, unsigned *marks)
{
	static const unsigned ends[] = {
		[FILE_FORMAT_END_OF_ONE] = CONTENT_END_OF_ONE,
		[FILE_FORMAT_END_OF_ALL] = CONTENT_END_OF_ALL,
	};
	struct file_format_sample sample = {.name = text_last_part(path)};
	auto_close int fd = open_file(state, path, &sample.size, &sample.sparse);
	enum file_format_verdict verdict;
	size_t wanted;

	if (fd < 0)
		return FILE_FORMAT_UNKNOWN;
	sample.read = read_more;
	sample.file = &fd;
	sample.head_size = file_read_at(fd, state->head, FILE_FORMAT_HEAD, 0);
	sample.head = state->head;
	wanted = file_format_head_wanted(&sample);
	if (wanted > sample.head_size) {
		grow_head(state, wanted);
		sample.head_size = file_read_at(fd, state->head, wanted, 0);
		sample.head = state->head;
	}
	sample.tail_size = sample.size < FILE_FORMAT_TAIL ? (size_t)sample.size : FILE_FORMAT_TAIL;
	sample.tail = state->tail;
	/* The file has shrunk since fstat(), or cannot be read: no verdict. */
	if (file_read_at(fd, state->tail, sample.tail_size, sample.size - sample.tail_size) !=
	    sample.tail_size)
		return FILE_FORMAT_UNKNOWN;
	verdict = file_format_check(&sample, why, why_size);
	if (verdict == FILE_FORMAT_VALID)
		*marks = CONTENT_VALID | ends[file_format_end(&sample)];
	return verdict;
}

static const char *pointer_text(void *arg, const char *path)
{
	struct state *state = arg;
	uint64_t size;
	bool sparse;
	auto_close int fd = open_file(state, path, &size, &sparse);

	if (fd < 0 || size > POINTER_MOST)
		return NULL;
	state->pointer[file_read_at(fd, state->pointer, POINTER_MOST, 0)] = '\0';
	return state->pointer;
}

static bool is_fresh(void *arg, const char *path)
{
	const struct state *state = arg;

	return path_set_marks(state->check->fresh, path) != 0;
}

/* --- findings --- */

static struct finding *find_finding(const struct findings *findings, const char *path)
{
	for (size_t i = 0; i < findings->count; i++)
		if (text_equal(findings->items[i].path, path))
			return &findings->items[i];
	return NULL;
}

/* One finding for each path: the first reason is kept, and the longest patience. */
static void add_finding(struct state *state, const char *path, const char *why, int64_t patience_ms)
{
	struct findings *findings = state->findings;
	struct finding *finding = find_finding(findings, path);

	if (!finding) {
		findings->items = memory_grow(findings->items, findings->count + 1,
					      sizeof(findings->items[0]));
		finding = &findings->items[findings->count++];
		*finding = (struct finding){.path = text_copy(path), .why = text_copy(why)};
	}
	if (patience_ms > finding->wait_ms)
		finding->wait_ms = patience_ms;
}

static void add_rule_finding(void *arg, const char *path, const char *why)
{
	const struct state *state = arg;

	if (file_patterns_kind(state->check->patterns, path) == FILE_KIND_ORDINARY)
		add_finding(arg, path, why, FINDING_MARKER_MS);
}

static bool is_to_be_read(const struct state *state, const char *path)
{
	const struct check *check = state->check;

	return (!check->fresh || path_set_marks(check->fresh, path)) &&
	       file_patterns_kind(check->patterns, path) == FILE_KIND_ORDINARY &&
	       !profile_is_temporary_path(check->profile, path);
}

/* A file in a numbered checkpoint directory condemns the whole checkpoint: one torn shard makes the
 * others useless. Not what was added when it was complete. */
static void check_files(struct state *state)
{
	for (size_t i = 0; i < state->files.count; i++) {
		const char *path = state->files.items[i].path;
		bool alone = state->check->alone && path_set_marks(state->check->alone, path);
		auto_free char *unit = NULL;
		auto_free char *sentence = NULL;
		enum file_format_verdict verdict;
		unsigned marks = 0;
		char why[128];

		if (!is_to_be_read(state, path))
			continue;
		verdict = check_file(state, path, why, sizeof(why), &marks);
		if (verdict == FILE_FORMAT_VALID && state->check->valid)
			path_set_mark(state->check->valid, path, marks);
		if (verdict != FILE_FORMAT_TORN)
			continue;
		unit = text_copy_n(path, alone ? 0 : checkpoint_directory_length(path));
		sentence = text_format("%s %s", path, why);
		add_finding(state, *unit ? unit : path, sentence, FINDING_FORMAT_MS);
	}
}

/* --- the list of files --- */

/* Of a directory: it lies above a file that is checked; all of it belongs to the checkpoint of one.
 */
enum {
	NEAR_ABOVE = 1,
	NEAR_INSIDE = 2,
};

/* The numbered directory of the file, or else the one that it is in; and those above it. */
static void mark_near(struct path_set *near, const char *path)
{
	size_t inside = checkpoint_directory_length(path);
	auto_free char *above = text_copy(path);

	if (inside == 0 && strchr(path, '/'))
		inside = (size_t)(text_last_part(path) - 1 - path);
	for (char *slash; (slash = strrchr(above, '/'));) {
		*slash = '\0';
		path_set_mark(near, above,
			      (size_t)(slash - above) == inside ? NEAR_INSIDE : NEAR_ABOVE);
	}
}

static bool is_near(void *arg, const char *path)
{
	auto_free char *above = text_copy(path);

	if (path_set_marks(arg, path))
		return true;
	for (char *slash; (slash = strrchr(above, '/'));) {
		*slash = '\0';
		if (path_set_marks(arg, above) & NEAR_INSIDE)
			return true;
	}
	return false;
}

/* A job may have thousands of checkpoints: what lies in others is no evidence. */
static int list_files(struct state *state, struct err *err)
{
	const struct path_set *fresh = state->check->fresh;
	auto_(path_set_release) struct path_set near = {0};

	if (!fresh)
		return file_list_read_at(state->directory, &state->files, err);
	for (const struct path_entry *file = fresh->first; file; file = file->next)
		mark_near(&near, file->path);
	return file_list_read_some(state->directory, is_near, &near, &state->files, err);
}

int content_check_run(const struct check *check, struct findings *findings, struct err *err)
{
	struct state state = {.check = check, .findings = findings};
	struct layout_view view = {
		.files = &state.files,
		.text = pointer_text,
		.fresh = check->fresh ? is_fresh : NULL,
		.arg = &state,
		.marker_elsewhere = check->marker_elsewhere,
	};
	struct err why;
	auto_close int opened = check->held > 0 ? -1 : held_directory_open(check->directory, &why);
	int directory = check->held > 0 ? check->held : opened;

	*findings = (struct findings){0};
	if (directory < 0)
		return why.kind == ERR_NOT_FOUND ? 0 : err_set(err, why.kind, "%s", why.text);
	state.directory = directory;
	if (list_files(&state, err) < 0) {
		snapshot_files_release(&state.files);
		return -1;
	}
	grow_head(&state, FILE_FORMAT_HEAD);
	state.tail = memory_new(FILE_FORMAT_TAIL);
	check_files(&state);
	layout_rules_find_incomplete(check->profile, &view, add_rule_finding, &state);
	snapshot_files_release(&state.files);
	free(state.head);
	free(state.tail);
	return 0;
}
