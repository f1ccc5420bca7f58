#include "monitor.h"

#include "base/file.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* --- shim_record --- */

/* A path below the checkpoint directory; `length` as the job says. */
static bool is_inside(const char *path, size_t length)
{
	return strlen(path) == length && *path != '/' && !text_path_climbs(path);
}

static bool paths_are_sound(const struct shim_record *record, const char *path, const char *path2)
{
	if (record->event == SHIM_HELLO)
		return strlen(path) == record->path_length;
	if (record->event == SHIM_SAVED_ELSEWHERE)
		return record->path_length > 1 && *path == '/' &&
		       is_inside(path + 1, record->path_length - 1u);
	return is_inside(path, record->path_length) && is_inside(path2, record->path2_length);
}

static bool record_is_sound(const struct shim_record *record, uint64_t sequence)
{
	return record->path_length <= SHIM_PATH_MOST && record->path2_length <= SHIM_PATH_MOST &&
	       record->checksum == shim_checksum(record, sequence) && record->event >= SHIM_HELLO &&
	       record->event <= SHIM_SAVED_ELSEWHERE && record->pid != 0 && record->pid <= INT_MAX;
}

bool shim_record_read(const struct shim_record *record, uint64_t sequence,
		      struct shim_record_paths *paths, struct shim_message *message)
{
	if (!record_is_sound(record, sequence))
		return false;
	memcpy(paths->path, record->text, record->path_length);
	paths->path[record->path_length] = '\0';
	memcpy(paths->path2, record->text + record->path_length, record->path2_length);
	paths->path2[record->path2_length] = '\0';
	*message = (struct shim_message){
		.event = record->event,
		.pid = (int)record->pid,
		.descriptor = record->descriptor,
		.flags = record->flags,
		.device = record->device,
		.inode = record->inode,
		.path = paths->path,
		.path2 = paths->path2,
	};
	return paths_are_sound(record, paths->path, paths->path2);
}

/* Of a thousand names it says, and of the signatures. */
#define KNOWN_MOST ((size_t)8 << 20)

static bool is_sound(const struct shim_header *header)
{
	return header->magic == SHIM_MAGIC && header->version == SHIM_VERSION &&
	       header->directory[0] == '/' &&
	       header->directory_length < sizeof(header->directory) &&
	       strnlen(header->directory, sizeof(header->directory)) == header->directory_length &&
	       memchr(header->boot, 0, sizeof(header->boot)) && header->first <= header->listed &&
	       header->listed <= header->head;
}

static bool is_of_use(const struct shim_header *header)
{
	char boot[40];

	workspace_read_boot(boot);
	return boot[0] && text_equal(boot, header->boot) &&
	       header->head - header->listed <= SHIM_RECORDS && header->dropped == header->unheard;
}

static void read_reports(const struct shim_record *records, const struct shim_header *header,
			 struct left_channel *left)
{
	uint64_t first = header->first;

	if (header->head - first > SHIM_RECORDS)
		first = header->head - SHIM_RECORDS;
	left->reports = memory_new((size_t)(header->head - first) * sizeof(left->reports[0]));
	for (uint64_t sequence = first; sequence < header->head; sequence++) {
		const struct shim_record *record = &records[sequence % SHIM_RECORDS];
		struct left_report *report = &left->reports[left->count];

		/* Its producer was killed before it had written it. */
		if (record->published != sequence + 1 ||
		    !shim_record_read(record, sequence, &report->paths, &report->message))
			continue;
		left->count++;
		left->listed += sequence < header->listed;
	}
}

int left_channel_read(const char *session_directory, struct left_channel *left, struct err *err)
{
	auto_free char *path = text_format("%s/shim.channel", session_directory);
	auto_free char *known = text_format("%s/" LEFT_CHANNEL_KNOWN, session_directory);
	auto_(bytes_release) struct bytes content = {.limit = SHIM_CHANNEL_SIZE};
	struct shim_header header;

	*left = (struct left_channel){0};
	if (file_read(path, &content, err) < 0)
		return -1;
	if (content.size == SHIM_CHANNEL_SIZE)
		memcpy(&header, content.data, sizeof(header));
	if (content.size != SHIM_CHANNEL_SIZE || !is_sound(&header))
		return err_set(err, ERR_CORRUPT, "%s: no channel of this version", path);
	if (!is_of_use(&header))
		return err_set(err, ERR_NOT_FOUND, "%s: nothing in it is news", path);
	left->known.limit = KNOWN_MOST;
	if (file_read(known, &left->known, err) < 0)
		return -1;
	left->directory = text_copy(header.directory);
	left->supervisor = (int)header.supervisor_pid;
	read_reports((const void *)(content.data + SHIM_HEADER_SIZE), &header, left);
	return 0;
}

void left_channel_release(struct left_channel *left)
{
	free(left->directory);
	free(left->reports);
	bytes_release(&left->known);
	*left = (struct left_channel){0};
}
