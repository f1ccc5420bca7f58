#include "rank_progress.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ranks that begin to save one after the other are one line. */
#define LINE_EVERY_MS 1000

void receipts_begin(struct receipts *receipts, int64_t patience_ms, int64_t now_ms)
{
	free(receipts->items);
	*receipts = (struct receipts){
		.begun_ms = now_ms, .asked_ms = now_ms, .patience_ms = patience_ms};
}

void receipts_release(struct receipts *receipts)
{
	free(receipts->items);
	*receipts = (struct receipts){0};
}

void receipts_add(struct receipts *receipts, const struct rank *ranks, size_t count,
	size_t expected, int64_t now_ms)
{
	receipts->items =
		memory_grow(receipts->items, receipts->count + count + 1, sizeof(*receipts->items));
	for (size_t i = 0; i < count; i++)
		receipts->items[receipts->count++] =
			(struct receipt){.rank = ranks[i], .asked_ms = now_ms};
	receipts->expected = expected < receipts->count ? receipts->count : expected;
	receipts->asked_ms = now_ms;
}

void receipts_look(struct receipts *receipts, size_t index, const struct receipt_look *look)
{
	struct receipt *receipt = &receipts->items[index];

	receipt->gone = look->gone;
	receipt->saving |= look->wrote;
	receipt->writes = look->writes;
	if (look->gone)
		return;
	receipt->delivered |= !look->pending;
	receipt->computing = receipt->looked && look->cpu_ticks > receipt->cpu_ticks;
	receipt->cpu_ticks = look->cpu_ticks;
	receipt->state = look->state;
	receipt->looked = true;
}

size_t receipts_saving(const struct receipts *receipts)
{
	size_t count = 0;

	for (size_t i = 0; i < receipts->count; i++)
		count += receipts->items[i].saving;
	return count;
}

static size_t count_gone(const struct receipts *receipts)
{
	size_t count = 0;

	for (size_t i = 0; i < receipts->count; i++)
		count += receipts->items[i].gone && !receipts->items[i].saving;
	return count;
}

bool receipts_is_late(const struct receipts *receipts, size_t index, int64_t now_ms)
{
	const struct receipt *receipt = &receipts->items[index];
	size_t saving = receipts_saving(receipts);

	if (receipt->saving || receipt->gone || now_ms - receipt->asked_ms < receipts->patience_ms)
		return false;
	/* In most jobs rank 0 writes for all: the others' silence is no news once it does. */
	return saving == 0 || receipt->writes || saving * 2 > receipts->count;
}

static size_t count_late(const struct receipts *receipts, int64_t now_ms, size_t *first)
{
	size_t count = 0;

	for (size_t i = receipts->count; i-- > 0;) {
		if (!receipts_is_late(receipts, i, now_ms))
			continue;
		count++;
		*first = i;
	}
	return count;
}

const char *receipts_why(const struct receipt *receipt)
{
	if (receipt->state == 'T' || receipt->state == 't')
		return "it is stopped";
	if (receipt->state == 'D')
		return "it hangs in the kernel, as for a disk";
	if (!receipt->delivered)
		return "it blocks the signal";
	return receipt->computing ? "it is in one long call" : "it waits in one long call";
}

static bool are_numbered(const struct receipts *receipts)
{
	for (size_t i = 0; i < receipts->count; i++)
		if (receipts->items[i].rank.number == PROCESS_NO_RANK)
			return false;
	return receipts->count > 0;
}

static void name_rank(const struct receipt *receipt, char *name, size_t capacity)
{
	if (receipt->rank.number != PROCESS_NO_RANK)
		snprintf(name, capacity, "rank %lld", (long long)receipt->rank.number);
	else
		snprintf(name, capacity, "process %d", (int)receipt->rank.pid);
}

static void format_late(
	const struct receipts *receipts, int64_t now_ms, char *text, size_t capacity)
{
	size_t first = 0, late = count_late(receipts, now_ms, &first);
	const struct receipt *receipt;
	long long seconds;
	char name[40];

	text[0] = '\0';
	if (late == 0)
		return;
	receipt = &receipts->items[first];
	name_rank(receipt, name, sizeof(name));
	seconds = (long long)(now_ms - receipt->asked_ms) / 1000;
	if (late == 1)
		snprintf(text, capacity, "%s has not reacted for %lld s (%s)", name, seconds,
			receipts_why(receipt));
	else
		snprintf(text, capacity, "%zu have not reacted for %lld s (%s: %s)", late, seconds,
			name, receipts_why(receipt));
}

const char *receipts_format(
	const struct receipts *receipts, int64_t now_ms, char *line, size_t capacity)
{
	size_t saving = receipts_saving(receipts), gone = count_gone(receipts);
	char late[192], saving_text[32] = "", gone_text[32] = "";

	format_late(receipts, now_ms, late, sizeof(late));
	if (saving > 0)
		snprintf(saving_text, sizeof(saving_text), ", %zu saving", saving);
	if (gone > 0)
		snprintf(gone_text, sizeof(gone_text), ", %zu gone", gone);
	if (receipts->expected == 1 && late[0])
		snprintf(line, capacity, "%s", late);
	else
		snprintf(line, capacity, "%zu/%zu %s asked in %.1f s%s%s%s%s", receipts->count,
			receipts->expected, are_numbered(receipts) ? "ranks" : "processes",
			(double)(receipts->asked_ms - receipts->begun_ms) / 1000, saving_text,
			gone_text, late[0] ? ", " : "", late);
	return line;
}

static bool is_news(const struct receipts *receipts, size_t late, int64_t now_ms)
{
	/* One process: that it was asked and is saving is said elsewhere. */
	if (receipts->count == 0 || (receipts->expected == 1 && late == 0))
		return false;
	if (!receipts->said.any)
		return late > 0 || receipts->count == receipts->expected ||
		       now_ms - receipts->begun_ms >= LINE_EVERY_MS;
	if (now_ms - receipts->said.ms < LINE_EVERY_MS)
		return false;
	if (receipts->said.count != receipts->count ||
		receipts->said.expected != receipts->expected ||
		receipts->said.saving != receipts_saving(receipts) ||
		receipts->said.gone != count_gone(receipts) || receipts->said.late != late)
		return true;
	/* The same again only when it has taken twice as long. */
	return late > 0 && now_ms - receipts->begun_ms >= 2 * receipts->said.late_ms;
}

bool receipts_say(struct receipts *receipts, int64_t now_ms, char *line, size_t capacity)
{
	size_t first, late = count_late(receipts, now_ms, &first);

	if (!is_news(receipts, late, now_ms))
		return false;
	receipts_format(receipts, now_ms, line, capacity);
	receipts->said.any = true;
	receipts->said.count = receipts->count;
	receipts->said.expected = receipts->expected;
	receipts->said.saving = receipts_saving(receipts);
	receipts->said.gone = count_gone(receipts);
	receipts->said.late = late;
	receipts->said.ms = now_ms;
	receipts->said.late_ms = now_ms - receipts->begun_ms;
	return true;
}
