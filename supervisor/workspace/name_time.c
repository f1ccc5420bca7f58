#include "name_time.h"

#include <stdbool.h>
#include <string.h>

struct span {
	const char *text;
	size_t length;
};

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static char byte_at(const struct span *span, size_t at)
{
	return at < span->length ? span->text[at] : '\0';
}

static size_t digits_at(const struct span *span, size_t at)
{
	size_t end = at;

	while (is_digit(byte_at(span, end)))
		end++;
	return end - at;
}

/* Two digits from `least` to `most`. */
static bool is_pair(const struct span *span, size_t at, int least, int most)
{
	int value;

	if (at + 2 > span->length || !is_digit(span->text[at]) || !is_digit(span->text[at + 1]))
		return false;
	value = (span->text[at] - '0') * 10 + (span->text[at + 1] - '0');
	return value >= least && value <= most;
}

static bool is_year(const struct span *span, size_t at)
{
	return (is_pair(span, at, 20, 20) && is_pair(span, at + 2, 0, 99)) ||
	       (is_pair(span, at, 19, 19) && is_pair(span, at + 2, 70, 99));
}

static bool is_separator(char byte)
{
	return byte && strchr("-_.:", byte);
}

/* End of "14-36-21", "143621" or, behind a date, "14-36" or "1436"; 0: no time of day. */
static size_t time_of_day_end(const struct span *span, size_t at, bool behind_date)
{
	size_t apart = is_separator(byte_at(span, at + 2)) ? 1 : 0;
	size_t minutes = at + 2 + apart, seconds = minutes + 2 + apart;

	if (!is_pair(span, at, 0, 23) || !is_pair(span, minutes, 0, 59) || (!behind_date && !apart))
		return 0;
	if (is_pair(span, seconds, 0, 59) && (!apart || is_separator(byte_at(span, seconds - 1))) &&
	    !is_digit(byte_at(span, seconds + 2)))
		return seconds + 2;
	return behind_date && !is_digit(byte_at(span, minutes + 2)) ? minutes + 2 : 0;
}

/* End of "2026-11-22", "20261122" or "22-11-2026"; 0: no date. More digits may follow. */
static size_t date_end(const struct span *span, size_t at)
{
	size_t apart = is_separator(byte_at(span, at + 4)) ? 1 : 0;

	if (is_year(span, at) && is_pair(span, at + 4 + apart, 1, 12) &&
	    is_pair(span, at + 6 + 2 * apart, 1, 31) &&
	    (!apart || is_separator(byte_at(span, at + 7))))
		return at + 8 + 2 * apart;
	if (is_pair(span, at, 1, 31) && is_separator(byte_at(span, at + 2)) &&
	    is_pair(span, at + 3, 1, 31) && is_separator(byte_at(span, at + 5)) &&
	    is_year(span, at + 6))
		return at + 10;
	return 0;
}

/* Milliseconds or microseconds: ".123". */
static size_t fraction_length(const struct span *span, size_t at)
{
	size_t digits = byte_at(span, at) == '.' ? digits_at(span, at + 1) : 0;

	return digits == 3 || digits == 6 ? digits + 1 : 0;
}

size_t name_time_length(const char *text, size_t length)
{
	const struct span whole = {text, length}, *span = &whole;
	size_t date = date_end(span, 0), time;

	if (date == 0)
		return time_of_day_end(span, 0, false);
	time = is_digit(byte_at(span, date)) ? date : date + 1;
	time = time < span->length ? time_of_day_end(span, time, true) : 0;
	if (time)
		return time + fraction_length(span, time);
	return is_digit(byte_at(span, date)) ? 0 : date;
}
