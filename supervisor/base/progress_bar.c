#include "progress_bar.h"

#include "clock.h"
#include "log.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_EVERY_MS 5000
#define BAR_AFTER_MS 500
#define BAR_EVERY_MS 100
#define SAMPLE_MS 500
#define STILL_MS 5000
#define LEFT_MOST_MS 86400000
#define BAR_LEAST 6
#define BAR_MOST 24
#define COLUMNS_MOST 200

/* --- words --- */

int64_t progress_bar_left_ms(const struct progress_bar_facts *facts)
{
	double left;

	if (facts->rate == 0 || facts->total < facts->done)
		return -1;
	left = (double)(facts->total - facts->done) * 1000 / (double)facts->rate;
	return left <= LEFT_MOST_MS ? (int64_t)left : -1;
}

static unsigned percent(const struct progress_bar_facts *facts)
{
	double share = facts->total ? (double)facts->done / (double)facts->total : 0;

	return share >= 1 ? 100 : (unsigned)(share * 100);
}

/* In whole seconds: milliseconds of an estimate mean nothing. */
static const char *format_left(int64_t left_ms, char *buffer, size_t capacity)
{
	return text_duration((left_ms + 999) / 1000 * 1000, buffer, capacity);
}

const char *progress_bar_format_line(const struct progress_bar_facts *facts, char *buffer,
				     size_t capacity)
{
	char done[24], total[24], rate[24], left[32];
	int64_t left_ms = progress_bar_left_ms(facts);
	int used = snprintf(buffer, capacity, "%s: %s of %s (%u %%)", facts->what,
			    text_bytes(facts->done, done, sizeof(done)),
			    text_bytes(facts->total, total, sizeof(total)), percent(facts));

	/* Without progress, the last rate would be a wrong estimate. */
	if (facts->still_ms >= STILL_MS && used > 0 && (size_t)used < capacity) {
		snprintf(buffer + used, capacity - (size_t)used, ", nothing moved for %s",
			 format_left(facts->still_ms, left, sizeof(left)));
		return buffer;
	}
	if (facts->rate > 0 && used > 0 && (size_t)used < capacity)
		used += snprintf(buffer + used, capacity - (size_t)used, ", %s/s",
				 text_bytes(facts->rate, rate, sizeof(rate)));
	if (left_ms >= 0 && used > 0 && (size_t)used < capacity)
		snprintf(buffer + used, capacity - (size_t)used, ", %s left",
			 format_left(left_ms, left, sizeof(left)));
	return buffer;
}

const char *progress_bar_format_bar(const struct progress_bar_facts *facts, unsigned columns,
				    char *buffer, size_t capacity)
{
	char words[160], bar[BAR_MOST + 1];
	size_t length, width;

	progress_bar_format_line(facts, words, sizeof(words));
	length = strlen(words) + strlen("[] ");
	if (length + BAR_LEAST > columns) {
		snprintf(buffer, capacity, "%.*s", (int)columns, words);
		return buffer;
	}
	width = columns - length < BAR_MOST ? columns - length : BAR_MOST;
	memset(bar, '.', width);
	memset(bar, '#', percent(facts) * width / 100);
	bar[width] = '\0';
	snprintf(buffer, capacity, "[%s] %s", bar, words);
	return buffer;
}

uint64_t progress_bar_rate(uint64_t rate, uint64_t bytes, int64_t milliseconds)
{
	double now = milliseconds > 0 ? (double)bytes * 1000 / (double)milliseconds : (double)rate;

	return (uint64_t)(rate == 0 ? now : 0.7 * (double)rate + 0.3 * now);
}

int64_t progress_bar_pause_ms(int64_t still_ms)
{
	return still_ms > LINE_EVERY_MS ? still_ms : LINE_EVERY_MS;
}

/* --- on the screen --- */

static unsigned columns_of_terminal(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return 80;
	return size.ws_col < COLUMNS_MOST ? size.ws_col : COLUMNS_MOST;
}

static void write_terminal(const char *text)
{
	ssize_t ignored = write(STDERR_FILENO, text, strlen(text));

	(void)ignored;
}

static void print_progress(struct progress_bar *progress, const struct progress_bar_facts *facts)
{
	char text[COLUMNS_MOST + 1], line[COLUMNS_MOST + 16];

	if (!progress->bar) {
		log_note("%s", progress_bar_format_line(facts, text, sizeof(text)));
		return;
	}
	/* One column less than the width, because a terminal wraps after the last one. */
	progress_bar_format_bar(facts, columns_of_terminal() - 1, text, sizeof(text));
	snprintf(line, sizeof(line), "\r%s\x1b[K", text);
	write_terminal(line);
	progress->locked.shown = true;
}

void progress_bar_start(struct progress_bar *progress, const char *what, bool may_bar)
{
	const char *terminal = getenv("TERM");
	int64_t now = clock_monotonic_ms();

	*progress = (struct progress_bar){.what = what};
	progress->bar =
		may_bar && terminal && !text_equal(terminal, "dumb") && isatty(STDERR_FILENO);
	pthread_mutex_init(&progress->mutex, NULL);
	progress->locked.sample_ms = progress->locked.moved_ms = now;
	progress->locked.next_ms = now + (progress->bar ? BAR_AFTER_MS : LINE_EVERY_MS);
}

static void take_sample(struct progress_bar *progress, int64_t now)
{
	int64_t past = now - progress->locked.sample_ms;

	if (past < SAMPLE_MS)
		return;
	progress->locked.rate =
		progress_bar_rate(progress->locked.rate,
				  progress->locked.done - progress->locked.sample_done, past);
	progress->locked.sample_ms = now;
	progress->locked.sample_done = progress->locked.done;
}

void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total)
{
	struct progress_bar *progress = arg;
	int64_t now = clock_monotonic_ms();

	pthread_mutex_lock(&progress->mutex);
	/* Threads report out of order. */
	if (bytes_done > progress->locked.done) {
		progress->locked.done = bytes_done;
		/* The rate before a pause does not predict the rate after it. */
		if (now - progress->locked.moved_ms >= STILL_MS)
			progress->locked.rate = 0;
		progress->locked.moved_ms = now;
	}
	take_sample(progress, now);
	if (now >= progress->locked.next_ms) {
		struct progress_bar_facts facts = {progress->what, progress->locked.done,
						   bytes_total, progress->locked.rate,
						   now - progress->locked.moved_ms};

		progress->locked.next_ms =
			now +
			(progress->bar ? BAR_EVERY_MS : progress_bar_pause_ms(facts.still_ms));
		print_progress(progress, &facts);
	}
	pthread_mutex_unlock(&progress->mutex);
}

void progress_bar_stop(struct progress_bar *progress)
{
	if (progress->locked.shown)
		write_terminal("\r\x1b[K");
	pthread_mutex_destroy(&progress->mutex);
}
