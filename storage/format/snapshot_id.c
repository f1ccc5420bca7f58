#include "snapshot_id.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

bool snapshot_id_is_none(struct snapshot_id id)
{
	return id.attempt == 0;
}

int snapshot_id_compare(struct snapshot_id a, struct snapshot_id b)
{
	if (a.attempt != b.attempt)
		return a.attempt < b.attempt ? -1 : 1;
	return (a.sequence > b.sequence) - (a.sequence < b.sequence);
}

const char *snapshot_id_format(struct snapshot_id id, char text[SNAPSHOT_ID_TEXT])
{
	snprintf(text, SNAPSHOT_ID_TEXT, "%06u-%06u", id.attempt, id.sequence);
	return text;
}

bool snapshot_id_parse(const char *text, struct snapshot_id *id)
{
	const char *dash = strchr(text, '-');
	uint64_t attempt, sequence;
	char first[16];

	if (!dash || (size_t)(dash - text) >= sizeof(first))
		return false;
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	if (!text_to_u64(first, UINT32_MAX, &attempt) ||
	    !text_to_u64(dash + 1, UINT32_MAX, &sequence) || attempt == 0 || sequence == 0)
		return false;
	*id = (struct snapshot_id){(uint32_t)attempt, (uint32_t)sequence};
	return true;
}
