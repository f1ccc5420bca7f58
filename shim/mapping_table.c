#include "mapping_table.h"

#include <stdint.h>

#define SPINS 1000

_Atomic int mapping_table_count;

/* In no order; a free place has `end` 0. */
static struct part {
	uintptr_t start, end;
	int number;
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

static bool number_is_used(int number)
{
	for (int i = 0; i < MAPPING_TABLE_MOST; i++)
		if (parts[i].end != 0 && parts[i].number == number)
			return true;
	return false;
}

static bool add_part(uintptr_t start, uintptr_t stop, int number)
{
	for (int i = 0; i < MAPPING_TABLE_MOST; i++) {
		if (parts[i].end != 0)
			continue;
		parts[i] = (struct part){start, stop, number};
		atomic_fetch_add(&mapping_table_count, 1);
		return true;
	}
	return false;
}

static void drop_part(struct part *part)
{
	part->end = 0;
	atomic_fetch_sub(&mapping_table_count, 1);
}

int mapping_table_add(const void *start, size_t length)
{
	int number = 0;

	if (length == 0)
		return MAPPING_NONE;
	begin();
	while (number < MAPPING_TABLE_MOST && number_is_used(number))
		number++;
	if (number == MAPPING_TABLE_MOST ||
	    !add_part((uintptr_t)start, (uintptr_t)start + length, number))
		number = MAPPING_NONE;
	end();
	return number;
}

/* Cuts the range out of a part. True if nothing of the part is left. */
static bool cut_part(struct part *part, uintptr_t start, uintptr_t stop)
{
	uintptr_t old_end = part->end;

	if (start <= part->start && stop >= part->end) {
		drop_part(part);
		return true;
	}
	if (start <= part->start)
		part->start = stop;
	else
		part->end = start;
	/* A hole in the middle. If the table has no room for the second half, the first alone
	 * stands for the mapping. */
	if (start > part->start && stop < old_end)
		add_part(stop, old_end, part->number);
	return false;
}

int mapping_table_remove(const void *from, size_t length)
{
	uintptr_t start = (uintptr_t)from, stop = start + length;
	int gone = MAPPING_NONE;

	begin();
	for (int i = 0; i < MAPPING_TABLE_MOST && gone == MAPPING_NONE; i++) {
		int number = parts[i].number;

		if (parts[i].end == 0 || parts[i].end <= start || parts[i].start >= stop)
			continue;
		if (cut_part(&parts[i], start, stop) && !number_is_used(number))
			gone = number;
	}
	end();
	return gone;
}

bool mapping_table_move(const void *from, const void *to, size_t length)
{
	bool found = false;

	begin();
	for (int i = 0; i < MAPPING_TABLE_MOST && !found; i++) {
		if (parts[i].end == 0 || parts[i].start != (uintptr_t)from)
			continue;
		parts[i].start = (uintptr_t)to;
		parts[i].end = (uintptr_t)to + length;
		found = true;
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
