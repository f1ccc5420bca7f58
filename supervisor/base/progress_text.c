#include "progress_text.h"

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SAMPLE_MS 500
#define STILL_MS 5000
#define LEFT_MOST_MS 86400000
#define LINE_EVERY_MS 30000
#define COUNTDOWN_LEAST_MS 5000
#define BAR_MOST 24
#define WORDS_MOST 200

/* --- the rate --- */

struct transfer_meter transfer_meter_new(int64_t now_ms, uint64_t done)
{
	return (struct transfer_meter){.sample_ms = now_ms,
				       .moved_ms = now_ms,
				       .sample_done = done,
				       .done = done};
}

uint64_t transfer_rate(uint64_t rate, uint64_t bytes, int64_t milliseconds)
{
	double now = milliseconds > 0 ? (double)bytes * 1000 / (double)milliseconds : (double)rate;

	return (uint64_t)(rate == 0 ? now : 0.7 * (double)rate + 0.3 * now);
}

void transfer_meter_add(struct transfer_meter *meter, int64_t now_ms, uint64_t done)
{
	int64_t past_ms = now_ms - meter->sample_ms;

	if (done > meter->done) {
		meter->done = done;
		/* The rate before a pause does not predict the rate after it. */
		if (now_ms - meter->moved_ms >= STILL_MS)
			meter->rate = 0;
		meter->moved_ms = now_ms;
	}
	if (past_ms < SAMPLE_MS)
		return;
	meter->rate = transfer_rate(meter->rate, meter->done - meter->sample_done, past_ms);
	meter->sample_ms = now_ms;
	meter->sample_done = meter->done;
}

struct progress_facts transfer_meter_facts(const struct transfer_meter *meter, const char *what,
					   uint64_t total, int64_t now_ms)
{
	return (struct progress_facts){what, meter->done, total, meter->rate,
				       now_ms - meter->moved_ms};
}

int64_t progress_left_ms(const struct progress_facts *facts)
{
	double left;

	if (facts->rate == 0 || facts->total < facts->done)
		return -1;
	left = (double)(facts->total - facts->done) * 1000 / (double)facts->rate;
	return left <= LEFT_MOST_MS ? (int64_t)left : -1;
}

bool progress_is_worth_a_line(int64_t since_line_ms, int64_t still_ms)
{
	int64_t pause_ms = still_ms / 2 > STILL_MS ? still_ms / 2 : STILL_MS;

	return since_line_ms >= (still_ms >= STILL_MS ? pause_ms : LINE_EVERY_MS);
}

/* --- the words --- */

static void append(char *buffer, size_t capacity, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void append(char *buffer, size_t capacity, const char *format, ...)
{
	size_t used = strlen(buffer);
	va_list args;

	va_start(args, format);
	vsnprintf(buffer + used, capacity - used, format, args);
	va_end(args);
}

static unsigned percent(const struct progress_facts *facts)
{
	double share = facts->total ? (double)facts->done / (double)facts->total : 0;

	return share >= 1 ? 100 : (unsigned)(share * 100);
}

/* In whole seconds: milliseconds of an estimate mean nothing. */
static const char *format_seconds(int64_t milliseconds, char *buffer, size_t capacity)
{
	int64_t seconds = (milliseconds + 999) / 1000;

	if (seconds >= 60)
		return text_duration(seconds * 1000, buffer, capacity);
	snprintf(buffer, capacity, "%d s", (int)seconds);
	return buffer;
}

/* What is left out where there is little room, the least first. */
enum words {
	WORDS_ALL,
	WORDS_WITHOUT_PERCENT,
	WORDS_WITHOUT_RATE,
	WORDS_PERCENT_ALONE,
	WORDS_LEAST,
};

static void append_pace(const struct progress_facts *facts, enum words words, char *buffer,
			size_t capacity)
{
	int64_t left_ms = progress_left_ms(facts);
	char text[32];

	/* Without progress, the last rate would be a wrong estimate. */
	if (facts->still_ms >= STILL_MS && (facts->done < facts->total || facts->total == 0)) {
		append(buffer, capacity, ", nothing moved for %s",
		       format_seconds(facts->still_ms, text, sizeof(text)));
		return;
	}
	if (facts->rate > 0 && words < WORDS_WITHOUT_RATE)
		append(buffer, capacity, ", %s/s", text_bytes(facts->rate, text, sizeof(text)));
	if (left_ms > 0)
		append(buffer, capacity, ", %s left", format_seconds(left_ms, text, sizeof(text)));
}

static const char *format_words(const struct progress_facts *facts, enum words words, char *buffer,
				size_t capacity)
{
	char done[24], total[24];

	snprintf(buffer, capacity, "%s%s", facts->what ? facts->what : "", facts->what ? ": " : "");
	text_bytes(facts->done, done, sizeof(done));
	text_bytes(facts->total, total, sizeof(total));
	if (facts->total == 0)
		append(buffer, capacity, "%s", done);
	else if (words >= WORDS_PERCENT_ALONE)
		append(buffer, capacity, "%u %%", percent(facts));
	else
		append(buffer, capacity, "%s of %s", done, total);
	if (facts->total > 0 && words == WORDS_ALL)
		append(buffer, capacity, " (%u %%)", percent(facts));
	if (words < WORDS_LEAST)
		append_pace(facts, words, buffer, capacity);
	return buffer;
}

const char *progress_text_line(const struct progress_facts *facts, char *buffer, size_t capacity)
{
	return format_words(facts, WORDS_ALL, buffer, capacity);
}

/* One of few widths, so that a bar does not change its own with each digit; 0: it does not fit. */
static size_t bar_width(size_t room)
{
	static const size_t widths[] = {BAR_MOST, 16, 10, 6};

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (widths[i] <= room)
			return widths[i];
	return 0;
}

const char *progress_text_bar(const struct progress_facts *facts, unsigned columns, char *buffer,
			      size_t capacity)
{
	char words[WORDS_MOST], bar[BAR_MOST + 1];
	enum words which = WORDS_ALL;
	size_t length, width = 0;

	format_words(facts, which, words, sizeof(words));
	length = strlen(words) + strlen("[] ");
	if (length < columns && facts->total > 0)
		width = bar_width(columns - length);
	if (width == 0) {
		while (strlen(words) > columns && which < WORDS_LEAST)
			format_words(facts, ++which, words, sizeof(words));
		snprintf(buffer, capacity, "%.*s", (int)columns, words);
		return buffer;
	}
	memset(bar, '.', width);
	memset(bar, '#', percent(facts) * width / 100);
	bar[width] = '\0';
	snprintf(buffer, capacity, "[%s] %s", bar, words);
	return buffer;
}

/* --- the countdown --- */

static void append_sent(const struct countdown_facts *facts, enum words words, char *buffer,
			size_t capacity)
{
	const struct progress_facts *sent = &facts->sent;
	int64_t need_ms = progress_left_ms(sent);
	char done[24], total[24], text[32];

	text_bytes(sent->done, done, sizeof(done));
	text_bytes(sent->total, total, sizeof(total));
	if (words >= WORDS_PERCENT_ALONE && sent->total > 0)
		append(buffer, capacity, ", %u %% sent", percent(sent));
	else if (sent->total > 0)
		append(buffer, capacity, ", %s of %s sent", done, total);
	else
		append(buffer, capacity, ", %s sent", done);
	if (words >= WORDS_WITHOUT_RATE)
		return;
	if (sent->still_ms >= STILL_MS && sent->done < sent->total)
		append(buffer, capacity, ", nothing moved for %s",
		       format_seconds(sent->still_ms, text, sizeof(text)));
	else if (need_ms > 0)
		append(buffer, capacity, ", %s at this rate%s",
		       format_seconds(need_ms, text, sizeof(text)),
		       facts->left_ms >= 0 && need_ms > facts->left_ms ? ": too slow" : "");
}

static const char *format_countdown(const struct countdown_facts *facts, enum words words,
				    char *buffer, size_t capacity)
{
	char left[32];

	snprintf(buffer, capacity, "preempted");
	if (facts->left_ms >= 0)
		append(buffer, capacity, ": %s left",
		       format_seconds(facts->left_ms, left, sizeof(left)));
	if (words == WORDS_LEAST)
		return buffer;
	if (facts->sending)
		append_sent(facts, words, buffer, capacity);
	else if (facts->doing && words < WORDS_PERCENT_ALONE)
		append(buffer, capacity, ", %s", facts->doing);
	return buffer;
}

const char *progress_text_countdown(const struct countdown_facts *facts, unsigned columns,
				    char *buffer, size_t capacity)
{
	enum words which = WORDS_ALL;
	char words[WORDS_MOST];

	format_countdown(facts, which, words, sizeof(words));
	while (strlen(words) > columns && which < WORDS_LEAST)
		format_countdown(facts, ++which, words, sizeof(words));
	snprintf(buffer, capacity, "%.*s", (int)columns, words);
	return buffer;
}

bool countdown_is_worth_a_line(int64_t said_ms, int64_t left_ms)
{
	return left_ms >= COUNTDOWN_LEAST_MS && left_ms <= said_ms / 2;
}
