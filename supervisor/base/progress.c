#include "base/progress.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

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

const char *progress_text_countdown(int64_t left_ms, const char *doing,
				    const struct progress_facts *sent, char *buffer,
				    size_t capacity)
{
	int64_t need_ms = sent ? progress_left_ms(sent) : -1;
	char text[32];

	snprintf(buffer, capacity, "preempted");
	if (left_ms >= 0)
		append(buffer, capacity, ": %s left", format_seconds(left_ms, text, sizeof(text)));
	if (!sent && doing)
		append(buffer, capacity, ", %s", doing);
	if (!sent)
		return buffer;
	append(buffer, capacity, ", ");
	append_amount(sent, buffer, capacity);
	append(buffer, capacity, " sent");
	if (!(sent->total > 0 && append_standstill(sent, buffer, capacity)) && need_ms > 0)
		append(buffer, capacity, ", %s at this rate%s",
		       format_seconds(need_ms, text, sizeof(text)),
		       left_ms >= 0 && need_ms > left_ms ? ": too slow" : "");
	return buffer;
}

bool countdown_is_worth_a_line(int64_t said_ms, int64_t left_ms)
{
	return left_ms >= COUNTDOWN_LEAST_MS && left_ms <= said_ms / 2;
}

#define DRAW_AFTER_MS 500
#define LOOK_EVERY_MS 200
#define TEXT_MOST 256

static void *run_progress_bar(void *arg)
{
	struct progress_bar *progress = arg;
	int64_t now_ms = clock_monotonic_ms(), began_ms = now_ms;
	int64_t line_ms = now_ms - PROGRESS_LINE_BEFORE_MS;
	struct transfer_meter meter = transfer_meter_new(now_ms, 0);
	struct progress_facts facts;
	char text[TEXT_MOST];
	bool due;

	while (cancel_sleep(&progress->stop, LOOK_EVERY_MS, NULL) == 0) {
		now_ms = clock_monotonic_ms();
		transfer_meter_add(&meter, now_ms, atomic_load(&progress->done));
		facts = transfer_meter_facts(&meter, progress->what, atomic_load(&progress->total),
					     now_ms);
		due = progress->redraws
			      ? now_ms - began_ms >= DRAW_AFTER_MS
			      : progress_is_worth_a_line(now_ms - line_ms, facts.still_ms);
		if (!due)
			continue;
		progress_text_line(&facts, text, sizeof(text));
		if (progress->redraws)
			status_line_show(text);
		else
			log_note("%s", text);
		line_ms = now_ms;
	}
	status_line_clear();
	return NULL;
}

void progress_bar_start(struct progress_bar *progress, const char *what)
{
	*progress = (struct progress_bar){.what = what, .redraws = status_line_is_possible()};
	if (progress->redraws)
		status_line_keep_clean();
	progress->running = cancel_init(&progress->stop, NULL) == 0 && log_shows(LOG_LEVEL_NOTE) &&
			    parallel_start(&progress->thread, run_progress_bar, progress) == 0;
}

void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total)
{
	struct progress_bar *progress = arg;
	uint64_t before = atomic_load(&progress->done);

	atomic_store(&progress->total, bytes_total);
	/* Threads report out of order. */
	while (bytes_done > before &&
	       !atomic_compare_exchange_weak(&progress->done, &before, bytes_done)) {
	}
}

void progress_bar_stop(struct progress_bar *progress)
{
	if (progress->running) {
		cancel_raise(&progress->stop);
		pthread_join(progress->thread, NULL);
	}
	cancel_release(&progress->stop);
}

static void *warn_when_due(void *arg)
{
	struct slow_warning *slow = arg;

	if (cancel_sleep(&slow->ended, slow->after_ms, NULL) == 0)
		log_warn("%s", slow->text);
	return NULL;
}

void slow_warning_begin(struct slow_warning *slow, int64_t after_ms, const char *text)
{
	*slow = (struct slow_warning){.text = text_copy(text), .after_ms = after_ms};
	if (cancel_init(&slow->ended, NULL) == 0 &&
	    parallel_start(&slow->thread, warn_when_due, slow) == 0)
		return;
	free(slow->text);
	slow->text = NULL;
}

void slow_warning_end(struct slow_warning *slow)
{
	if (slow->text) {
		cancel_raise(&slow->ended);
		pthread_join(slow->thread, NULL);
	}
	cancel_release(&slow->ended);
	free(slow->text);
}
