/* What anybody may write: the notice file, the list of sources. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cloud/watcher.h"

#define SEEN_MS 50000
/* 2026-04-11T22:00:00Z */
#define SEEN_WALL_MS 1775944800000

static void check_verdict(const struct verdict *verdict)
{
	const struct notice *notice = &verdict->notices[0];

	CHECK(memchr(verdict->why, '\0', sizeof(verdict->why)));
	if (verdict->kind != VERDICT_POSITIVE) {
		CHECK(notice->kind == NOTICE_NONE ||
		      (verdict->kind == VERDICT_NEGATIVE && notice->kind == NOTICE_CANCELLED));
		return;
	}
	CHECK(notice->identity[0] && notice->reason[0]);
	CHECK(fuzz_is_utf8(notice->identity) && fuzz_is_one_line(notice->identity));
	CHECK(fuzz_is_utf8(notice->reason) && fuzz_is_one_line(notice->reason));
	CHECK(notice->kind == NOTICE_STOP || notice->deadline_ms == CLOCK_NEVER);
	CHECK(notice->deadline_ms >= notice->seen_ms && notice->seen_ms == SEEN_MS);
}

static void read_file(const uint8_t *data, size_t size, const char *path, bool settled)
{
	const struct file_content content = {
		.path = path,
		.text = (const char *)data,
		.size = size,
		.appeared_wall_ms = SEEN_WALL_MS - 5000,
		.seen_ms = SEEN_MS,
		.seen_wall_ms = SEEN_WALL_MS,
		.settled = settled,
	};
	struct verdict verdict;

	file_reply(&content, &verdict);
	check_verdict(&verdict);
	/* A file that is there, and stays as it is, always says something. */
	CHECK(!settled || verdict.kind != VERDICT_UNKNOWN);
}

static void read_sources(const char *list)
{
	struct environment environment = {0};
	struct source_table table = {0};
	struct err err = {0};

	if (source_table_select(list, NULL, &environment, &table, &err) < 0)
		CHECK(err.kind == ERR_INVALID && err.text[0]);
	for (size_t i = 0; i < table.count; i++)
		CHECK(!strchr(table.items[i].argument, ','));
	source_table_release(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);

	read_file(data, size, "/run/notice", false);
	read_file(data, size, "/run/notice", true);
	if (text[0])
		read_file(data, size, text, true);
	read_sources(text);
	return 0;
}
