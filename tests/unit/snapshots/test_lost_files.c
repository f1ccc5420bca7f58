/* What a verification says of the files that are lost. */
#include "storage/snapshots/lost_files.h"

#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define SNAPSHOTS 2
#define ENTRIES 4

/* Each snapshot has a file, two hard links to it, and another file. */
static void make_manifests(struct entry entries[SNAPSHOTS][ENTRIES],
			   struct chunk chunks[SNAPSHOTS][2], struct manifest manifests[SNAPSHOTS])
{
	static const struct entry all[ENTRIES] = {
		{.path = "a", .type = ENTRY_FILE, .size = 1},
		{.path = "b", .type = ENTRY_HARDLINK, .target = "a"},
		{.path = "c", .type = ENTRY_HARDLINK, .target = "a"},
		{.path = "d", .type = ENTRY_FILE, .size = 1},
	};

	for (uint32_t i = 0; i < SNAPSHOTS; i++) {
		memcpy(entries[i], all, sizeof(all));
		entries[i][0].chunks = &chunks[i][0];
		entries[i][3].chunks = &chunks[i][1];
		manifests[i] = (struct manifest){.id = {1, i + 1},
						 .entries = entries[i],
						 .entry_count = ENTRIES};
	}
}

static void take_lost(void *arg, struct snapshot_id id, const char *path, struct snapshot_id other,
		      bool same)
{
	bytes_format(arg, NULL, "%u/%s<%u%s ", id.sequence, path, other.sequence, same ? "=" : "");
}

/* "1/b<2= ": of snapshot 1, b is lost, and 2 has the same. */
static void test_lost_files(void **state)
{
	static const struct {
		bool lost[SNAPSHOTS][ENTRIES];
		int other_content; /* of the second snapshot's file */
		const char *said;
	} rows[] = {
		{{{0}}, 0, ""},
		{{{0, 0, 0, 1}}, 0, "1/d<2= "},
		{{{0}, {0, 0, 0, 1}}, 0, "2/d<1= "},
		{{{0, 0, 0, 1}, {0, 0, 0, 1}}, 0, "1/d<0 2/d<0 "},
		/* All names of a file are lost with it, and found again under each. */
		{{{1}}, 0, "1/a<2= 1/b<2= 1/c<2= "},
		{{{1}}, 7, "1/a<2 1/b<2 1/c<2 "},
		{{{1}, {1}}, 0, "1/a<0 1/b<0 1/c<0 2/a<0 2/b<0 2/c<0 "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct entry entries[SNAPSHOTS][ENTRIES];
		struct chunk chunks[SNAPSHOTS][2] = {0};
		struct manifest manifests[SNAPSHOTS];
		const bool *lost[SNAPSHOTS] = {rows[i].lost[0], rows[i].lost[1]};
		struct bytes said = {0};
		const struct verify_request request = {.lost = take_lost, .arg = &said};

		for (size_t j = 0; j < (size_t)SNAPSHOTS * 2; j++)
			chunks[j / 2][j % 2].codec = CHUNK_RAW;
		chunks[1][0].digest[0] = (uint8_t)rows[i].other_content;
		make_manifests(entries, chunks, manifests);
		lost_files_report(manifests, (bool *const *)lost, SNAPSHOTS, &request);
		bytes_append(&said, "", 1, NULL);
		assert_string_equal((const char *)said.data, rows[i].said);
		bytes_release(&said);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
