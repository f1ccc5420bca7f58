#include "monitor.h"

#include "base/file.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>

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
