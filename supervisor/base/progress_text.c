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

/* How long nothing has moved: the last rate would be a wrong estimate. False: it moves. */
static bool append_standstill(const struct progress_facts *facts, char *buffer, size_t capacity)
{
	char text[32];

	if (facts->still_ms < STILL_MS || (facts->total > 0 && facts->done >= facts->total))
		return false;
	append(buffer, capacity, ", nothing moved for %s",
	       format_seconds(facts->still_ms, text, sizeof(text)));
	return true;
}

static void append_amount(const struct progress_facts *facts, char *buffer, size_t capacity)
{
	char done[24], total[24];

	append(buffer, capacity, "%s", text_bytes(facts->done, done, sizeof(done)));
	if (facts->total > 0)
		append(buffer, capacity, " of %s", text_bytes(facts->total, total, sizeof(total)));
}

const char *progress_text_line(const struct progress_facts *facts, char *buffer, size_t capacity)
{
	int64_t left_ms = progress_left_ms(facts);
	char text[32];

	snprintf(buffer, capacity, "%s%s", facts->what ? facts->what : "", facts->what ? ": " : "");
	append_amount(facts, buffer, capacity);
	if (facts->total > 0)
		append(buffer, capacity, " (%u %%)", percent(facts));
	if (append_standstill(facts, buffer, capacity))
		return buffer;
	if (facts->rate > 0)
		append(buffer, capacity, ", %s/s", text_bytes(facts->rate, text, sizeof(text)));
	if (left_ms > 0)
		append(buffer, capacity, ", %s left", format_seconds(left_ms, text, sizeof(text)));
	return buffer;
}

/* --- the countdown --- */

static void append_sent(const struct countdown_facts *facts, char *buffer, size_t capacity)
{
	int64_t need_ms = progress_left_ms(&facts->sent);
	char text[32];

	append(buffer, capacity, ", ");
	append_amount(&facts->sent, buffer, capacity);
	append(buffer, capacity, " sent");
	if (facts->sent.total > 0 && append_standstill(&facts->sent, buffer, capacity))
		return;
	if (need_ms > 0)
		append(buffer, capacity, ", %s at this rate%s",
		       format_seconds(need_ms, text, sizeof(text)),
		       facts->left_ms >= 0 && need_ms > facts->left_ms ? ": too slow" : "");
}

const char *progress_text_countdown(const struct countdown_facts *facts, char *buffer,
				    size_t capacity)
{
	char left[32];

	snprintf(buffer, capacity, "preempted");
	if (facts->left_ms >= 0)
		append(buffer, capacity, ": %s left",
		       format_seconds(facts->left_ms, left, sizeof(left)));
	if (facts->sending)
		append_sent(facts, buffer, capacity);
	else if (facts->doing)
		append(buffer, capacity, ", %s", facts->doing);
	return buffer;
}

bool countdown_is_worth_a_line(int64_t said_ms, int64_t left_ms)
{
	return left_ms >= COUNTDOWN_LEAST_MS && left_ms <= said_ms / 2;
}
