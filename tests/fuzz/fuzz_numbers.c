/* Dates, durations, sizes and numbers as people and services write them. */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cloud/watcher.h"

#include <inttypes.h>

#define UNTOUCHED INT64_C(-4711)
/* 9999-12-31T23:59:59.999Z */
#define LAST_MS INT64_C(253402300799999)
/* 2026-04-11T22:00:00Z */
#define NOW_MS INT64_C(1775944800000)

static bool is_common(int64_t wall_ms)
{
	return wall_ms >= 0 && wall_ms <= LAST_MS;
}

static void read_dates(const char *text)
{
	int64_t ours = UNTOUCHED, again = UNTOUCHED;
	bool is_date = datetime_parse(text, &ours);
	char buffer[DATETIME_SIZE];

	CHECK(is_date || ours == UNTOUCHED);
	if (is_date && is_common(ours)) {
		CHECK(datetime_parse(datetime_iso(ours, buffer), &again));
		CHECK(again == ours - ours % 1000);
		CHECK(datetime_parse(datetime_rfc1123(ours, buffer), &again));
		CHECK(again == ours - ours % 1000);
	}
}

static void read_ends(const char *text)
{
	int64_t wall_ms = UNTOUCHED;
	bool is_span;

	if (!deadline_parse(text, NOW_MS, &wall_ms, &is_span))
		CHECK(wall_ms == UNTOUCHED);
	else if (is_span)
		CHECK(wall_ms >= NOW_MS);
}

static void read_quantities(const char *text)
{
	int64_t milliseconds = UNTOUCHED;
	uint64_t number = (uint64_t)UNTOUCHED;
	char buffer[64];

	if (text_to_duration_ms(text, &milliseconds)) {
		CHECK(milliseconds >= 0);
		text_duration(milliseconds, buffer, sizeof(buffer));
	} else {
		CHECK(milliseconds == UNTOUCHED);
	}
	if (gcp_notice_parse(text, &milliseconds))
		CHECK(milliseconds > 0 && milliseconds <= GCP_NOTICE_MOST_MS);
	if (text_to_bytes(text, &number)) {
		CHECK(number <= INT64_MAX);
		text_bytes(number, buffer, sizeof(buffer));
	} else {
		CHECK(number == (uint64_t)UNTOUCHED);
	}
	if (text_to_u64(text, UINT64_MAX, &number)) {
		text += strspn(text, "0");
		snprintf(buffer, sizeof(buffer), "%" PRIu64, number);
		CHECK(strcmp(buffer, text[0] ? text : "0") == 0);
	}
	if (gcp_etag_is_usable(text))
		CHECK(strlen(text) <= 64 && !strpbrk(text, "&=?#/ "));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = fuzz_text(data, size);

	read_dates(text);
	read_ends(text);
	read_quantities(text);
	return 0;
}
