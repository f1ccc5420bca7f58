#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

static int64_t read_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_monotonic_ms(void)
{
	return read_ms(CLOCK_MONOTONIC);
}

int64_t clock_boot_ms(void)
{
	return read_ms(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
	return read_ms(CLOCK_REALTIME);
}

int64_t clock_left_ms(int64_t deadline_ms)
{
	int64_t now = clock_monotonic_ms();

	if (deadline_ms == CLOCK_NEVER)
		return CLOCK_NEVER;
	return deadline_ms > now ? deadline_ms - now : 0;
}

int64_t clock_from_wall_ms(int64_t wall_ms)
{
	return wall_ms - clock_wall_ms() + clock_monotonic_ms();
}

/* The program never calls setlocale(), so that the names of days and months are English. */
static bool time_to_ms(const struct tm *parts, int64_t *wall_ms)
{
	struct tm copy = *parts;
	int64_t seconds = timegm(&copy);

	/* timegm() takes a 31st of April for the 1st of May; a leap second is of the next day. */
	if (seconds < 0 || (copy.tm_mday != parts->tm_mday && parts->tm_sec < 60))
		return false;
	*wall_ms = seconds * 1000;
	return true;
}

static bool parse_iso(const char *text, int64_t *wall_ms)
{
	struct tm parts = {0}, zone = {0};
	const char *end = strptime(text, "%Y-%m-%d", &parts);
	int64_t seconds_ms, fraction = 0, scale = 100;

	if (!isdigit((unsigned char)text[0]) || !end || !*end || !strchr("Tt ", *end))
		return false;
	end = strptime(end + 1, "%H:%M:%S", &parts);
	if (end && *end == '.')
		for (end++; isdigit((unsigned char)*end); end++, scale /= 10)
			fraction += (*end - '0') * scale;
	if (!end || !time_to_ms(&parts, &seconds_ms))
		return false;
	/* "", "Z", "+02:00", "-0530" */
	if (!*end || strcasecmp(end, "Z") == 0)
		zone.tm_gmtoff = 0;
	else if (!strchr("+-", *end) || strlen(end) < 5 || !(end = strptime(end, "%z", &zone)) ||
		 *end || labs(zone.tm_gmtoff) >= 24 * 3600)
		return false;
	*wall_ms = seconds_ms + fraction - (int64_t)zone.tm_gmtoff * 1000;
	return true;
}

static bool parse_rfc1123(const char *text, int64_t *wall_ms)
{
	const char *comma = strchr(text, ','), *end;
	struct tm parts = {0};

	end = strptime(comma ? comma + 1 : text, " %d %b %Y %H:%M:%S", &parts);
	return end && (strcmp(end, " GMT") == 0 || strcmp(end, " UTC") == 0) &&
	       time_to_ms(&parts, wall_ms);
}

bool datetime_parse(const char *text, int64_t *wall_ms)
{
	return parse_iso(text, wall_ms) || parse_rfc1123(text, wall_ms);
}

bool datetime_parse_local(const char *text, int64_t *wall_ms)
{
	struct tm parts = {.tm_isdst = -1};
	time_t at;

	if (!strptime(text, "%Y-%m-%dT%H:%M:%S", &parts))
		return false;
	at = mktime(&parts);
	*wall_ms = (int64_t)at * 1000;
	return at != (time_t)-1;
}

static struct tm split_utc(int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	return parts;
}

const char *datetime_iso(int64_t wall_ms, char buffer[DATETIME_SIZE])
{
	struct tm parts = split_utc(wall_ms);

	strftime(buffer, DATETIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
	return buffer;
}

const char *datetime_compact(int64_t wall_ms, char buffer[DATETIME_SIZE])
{
	struct tm parts = split_utc(wall_ms);

	strftime(buffer, DATETIME_SIZE, "%Y%m%dT%H%M%SZ", &parts);
	return buffer;
}

const char *datetime_rfc1123(int64_t wall_ms, char buffer[DATETIME_SIZE])
{
	struct tm parts = split_utc(wall_ms);

	strftime(buffer, DATETIME_SIZE, "%a, %d %b %Y %H:%M:%S GMT", &parts);
	return buffer;
}

const char *clock_format(int64_t wall_ms, char *buffer, size_t capacity)
{
	char date[DATETIME_SIZE];
	int seconds = (int)strlen(datetime_iso(wall_ms, date)) - 1;

	snprintf(buffer, capacity, "%.*s.%03dZ", seconds, date, (int)(wall_ms % 1000));
	return buffer;
}

/* --- pauses between tries --- */

int64_t backoff_ms(unsigned tries, int64_t first_ms, int64_t most_ms, uint32_t random)
{
	int64_t bound = first_ms;

	for (unsigned i = 1; i < tries && bound < most_ms; i++)
		bound *= 2;
	if (bound > most_ms)
		bound = most_ms;
	/* 64 bits: the product of a random number and a bound does not fit 32. */
	return (int64_t)(((uint64_t)random * (uint64_t)(bound + 1)) >> 32);
}

uint32_t backoff_random(void)
{
	uint32_t random;

	return getrandom(&random, sizeof(random), 0) < 0 ? UINT32_MAX / 2 : random;
}
