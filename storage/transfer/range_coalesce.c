#include "range_coalesce.h"

static uint64_t end_of(const struct pack_range *extent)
{
	return (uint64_t)extent->offset + extent->size;
}

size_t range_coalesce_count(const struct pack_range *extents, size_t count, size_t most)
{
	uint64_t end = end_of(&extents[0]);
	size_t reach = 1;

	while (reach < count) {
		const struct pack_range *next = &extents[reach];
		uint64_t after = end_of(next) > end ? end_of(next) : end;

		if (next->pack != extents[0].pack || next->offset > end + RANGE_GAP_MOST ||
		    after - extents[0].offset > most)
			break;
		end = after;
		reach++;
	}
	return reach;
}

size_t range_coalesce_size(const struct pack_range *extents, size_t count)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++)
		if (end_of(&extents[i]) > end)
			end = end_of(&extents[i]);
	return (size_t)(end - extents[0].offset);
}
