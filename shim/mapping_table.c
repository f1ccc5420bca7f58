#include "mapping_table.h"

#include <stdint.h>

#define SPINS 1000

_Atomic int mapping_table_count;

/* By number; `end` 0: a free place. */
static struct part {
	uintptr_t start, end;
} parts[MAPPING_TABLE_MOST];

static atomic_bool table_busy;

/* Does not wait forever: the holder may be this thread, interrupted by a signal. */
static void begin(void)
{
	for (int spin = 0; spin < SPINS && atomic_exchange(&table_busy, true); spin++) {
	}
}

static void end(void)
{
	atomic_store(&table_busy, false);
}

int mapping_table_add(const void *start, size_t length)
{
	int number = 0;

	if (length == 0)
		return MAPPING_NONE;
	begin();
	while (number < MAPPING_TABLE_MOST && parts[number].end != 0)
		number++;
	if (number < MAPPING_TABLE_MOST) {
		parts[number] = (struct part){(uintptr_t)start, (uintptr_t)start + length};
		atomic_fetch_add(&mapping_table_count, 1);
	} else {
		number = MAPPING_NONE;
	}
	end();
	return number;
}

int mapping_table_remove(const void *from, size_t length)
{
	uintptr_t start = (uintptr_t)from, stop = start + length;
	int gone = MAPPING_NONE;

	begin();
	for (int i = 0; i < MAPPING_TABLE_MOST && gone == MAPPING_NONE; i++) {
		struct part *part = &parts[i];

		if (part->end == 0 || part->end <= start || part->start >= stop)
			continue;
		/* What lies before a hole stands for the mapping. */
		if (start > part->start) {
			part->end = start;
		} else if (stop < part->end) {
			part->start = stop;
		} else {
			part->end = 0;
			atomic_fetch_sub(&mapping_table_count, 1);
			gone = i;
		}
	}
	end();
	return gone;
}

bool mapping_table_move(const void *from, const void *to, size_t length)
{
	bool found = false;

	begin();
	for (int i = 0; i < MAPPING_TABLE_MOST && !found; i++) {
		found = parts[i].end != 0 && parts[i].start == (uintptr_t)from;
		if (found)
			parts[i] = (struct part){(uintptr_t)to, (uintptr_t)to + length};
	}
	end();
	return found;
}

void mapping_table_clear(void)
{
	for (int i = 0; i < MAPPING_TABLE_MOST; i++)
		parts[i].end = 0;
	atomic_store(&mapping_table_count, 0);
	atomic_store(&table_busy, false);
}
