/* Whose parts of a gang's snapshot are put into one directory. */
#include "storage/gangs/gangs.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define PARTS_MOST 5

struct pick_row {
	const char *what;
	/* "100": so many bytes; "e": empty; "b9": no checkpoint; "k0": in the part of member 0;
	 * "g": it had gone. */
	const char *parts[PARTS_MOST];
	/* "1of3" restores, and with it those behind "+". */
	const char *taker;
	enum gang_parts_choice choice;
	const char *takes; /* the members' numbers */
};

static const struct pick_row rows[] = {
	{"its own", {"100", "100", "100"}, "1of3", GANG_PARTS_AUTO, "1"},
	{"its own alone", {"100", "9"}, "1of2", GANG_PARTS_OWN, "1"},
	{"little of its own", {"100", "9"}, "1of2", GANG_PARTS_AUTO, "01"},
	{"nothing of its own", {"100", "e"}, "1of2", GANG_PARTS_AUTO, "01"},
	{"nothing of anybody", {"e", "e"}, "1of2", GANG_PARTS_AUTO, "01"},
	{"no checkpoint", {"100", "b99"}, "1of2", GANG_PARTS_AUTO, "01"},
	{"all", {"100", "100"}, "1of2", GANG_PARTS_ALL, "01"},
	{"kept by another", {"100", "k0", "100"}, "1of3", GANG_PARTS_AUTO, "0"},
	{"as ever in one directory", {"100", "k0", "100"}, "0of3+1", GANG_PARTS_AUTO, "0"},
	{"apart before, together now", {"100", "100", "100"}, "0of3+1", GANG_PARTS_AUTO, "01"},
	{"the same, own", {"100", "100", "100"}, "0of3+1", GANG_PARTS_OWN, "01"},
	{"all together now", {"100", "100", "100"}, "0of3+12", GANG_PARTS_OWN, "012"},
	{"two by two before", {"100", "k0", "100", "k2"}, "0of4+123", GANG_PARTS_AUTO, "02"},
	{"with others than before", {"100", "k0", "100", "k2"}, "1of4+2", GANG_PARTS_AUTO, "02"},
	{"the keeper is elsewhere", {"100", "k0", "k0", "100"}, "1of4+2", GANG_PARTS_AUTO, "0"},
	{"one of them has enough", {"9", "100", "100"}, "0of3+1", GANG_PARTS_AUTO, "01"},
	{"little of them all", {"9", "9", "100"}, "0of3+1", GANG_PARTS_AUTO, "012"},
	{"nothing of one of them", {"e", "100", "100"}, "0of3+1", GANG_PARTS_OWN, "01"},
	{"of another number", {"100", "100"}, "0of3+1", GANG_PARTS_AUTO, ""},
	{"all, of another number", {"100", "k0", "9"}, "0of2", GANG_PARTS_ALL, "012"},
	{"all, for one machine", {"100", "100"}, "0of1", GANG_PARTS_ALL, "01"},
	{"one machine", {"100", "100"}, "0of1", GANG_PARTS_AUTO, ""},
	{"one had gone", {"100", "g", "100"}, "0of3", GANG_PARTS_AUTO, ""},
	{"one had gone, own", {"100", "100", "g"}, "0of3", GANG_PARTS_OWN, ""},
	{"one had gone, for as many as were left",
	 {"100", "100", "g"},
	 "0of2",
	 GANG_PARTS_AUTO,
	 ""},
	{"one had gone, all", {"100", "g", "100"}, "0of3", GANG_PARTS_ALL, "012"},
	{"who looks at it", {"100", "100"}, "0of0", GANG_PARTS_ALL, ""},
};

static uint32_t digit(char text)
{
	return (uint32_t)(text - '0');
}

static size_t make_parts(const struct pick_row *row, struct manifest_part *parts)
{
	size_t count = 0;

	for (; count < PARTS_MOST && row->parts[count]; count++) {
		const char *text = row->parts[count];
		struct manifest_part *part = &parts[count];

		*part = (struct manifest_part){.member = (uint32_t)count};
		part->kept = *text == 'k';
		part->keeper = part->kept ? digit(text[1]) : 0;
		part->gone = *text == 'g';
		part->without_checkpoint = *text == 'e' || *text == 'b' || part->gone;
		part->pieces = *text != 'e' && !part->gone && !part->kept;
		if (part->pieces > 0)
			part->bytes = strtoul(text + (*text == 'b'), NULL, 10);
	}
	return count;
}

static void whose_parts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct pick_row *row = &rows[i];
		struct manifest_part parts[PARTS_MOST];
		bool sharers[PARTS_MOST] = {false}, takes[PARTS_MOST];
		size_t count = make_parts(row, parts), taken, at = 0;
		const char *plus = strchr(row->taker, '+');
		struct gang_taker taker = {
			.choice = row->choice,
			.member = digit(row->taker[0]),
			.members = digit(row->taker[3]),
			.sharers = plus ? sharers : NULL,
		};
		char text[PARTS_MOST + 1];

		for (const char *other = plus ? plus + 1 : ""; *other; other++)
			sharers[digit(*other)] = true;
		taken = gang_pick(parts, count, &taker, takes);
		for (size_t j = 0; j < count; j++)
			if (takes[j])
				text[at++] = (char)('0' + j);
		text[at] = '\0';
		if (strcmp(text, row->takes) != 0 || taken != at)
			fail_msg("%s: \"%s\" (%zu) instead of \"%s\"", row->what, text, taken,
				 row->takes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
