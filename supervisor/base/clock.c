#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
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

int64_t clock_monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
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

/* strptime("%b") and strftime("%a") follow the locale, so the names are here. */
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char days[] = "SunMonTueWedThuFriSat";

static bool time_to_ms(const struct tm *parts, int64_t *wall_ms)
{
	static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct tm copy = *parts;

	if (parts->tm_year < 70 || parts->tm_year > 8099 || parts->tm_mon < 0 ||
	    parts->tm_mon > 11 || parts->tm_mday < 1 || parts->tm_mday > lengths[parts->tm_mon] ||
	    parts->tm_hour < 0 || parts->tm_hour > 23 || parts->tm_min < 0 || parts->tm_min > 59 ||
	    parts->tm_sec < 0 || parts->tm_sec > 60)
		return false;
	*wall_ms = (int64_t)timegm(&copy) * 1000;
	return true;
}

/* "", "Z", "+02:00", "-0530" */
static bool parse_zone(const char *text, int64_t *offset_ms)
{
	unsigned hours, minutes;
	int used = 0;
	bool east = text[0] == '+';

	*offset_ms = 0;
	if (text[0] == '\0' || strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
		return true;
	if (!east && text[0] != '-')
		return false;
	if ((sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &used) != 2 &&
	     sscanf(text + 1, "%2u%2u%n", &hours, &minutes, &used) != 2) ||
	    text[1 + used] != '\0' || hours > 23 || minutes > 59)
		return false;
	*offset_ms = (int64_t)(hours * 60 + minutes) * 60000 * (east ? 1 : -1);
	return true;
}

static bool parse_iso(const char *text, int64_t *wall_ms)
{
	struct tm parts = {0};
	int used = 0;
	int64_t offset, fraction = 0;

	if (!isdigit((unsigned char)text[0]) ||
	    sscanf(text, "%4d-%2d-%2d%*[Tt ]%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
		   &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6)
		return false;
	text += used;
	if (text[0] == '.') {
		int64_t scale = 100;

		for (text++; isdigit((unsigned char)text[0]); text++, scale /= 10)
			fraction += (text[0] - '0') * scale;
	}
	parts.tm_year -= 1900;
	parts.tm_mon -= 1;
	if (!parse_zone(text, &offset) || !time_to_ms(&parts, wall_ms))
		return false;
	*wall_ms += fraction - offset;
	return true;
}

static bool parse_rfc1123(const char *text, int64_t *wall_ms)
{
	struct tm parts = {0};
	const char *comma = strchr(text, ',');
	char month[4] = "";
	const char *found;
	int used = 0;

	if (comma)
		text = comma + 1;
	if (sscanf(text, " %2d %3s %4d %2d:%2d:%2d%n", &parts.tm_mday, month, &parts.tm_year,
		   &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6)
		return false;
	if (strcmp(text + used, " GMT") != 0 && strcmp(text + used, " UTC") != 0)
		return false;
	found = strlen(month) == 3 ? strstr(months, month) : NULL;
	if (!found || (found - months) % 3 != 0)
		return false;
	parts.tm_mon = (int)(found - months) / 3;
	parts.tm_year -= 1900;
	return time_to_ms(&parts, wall_ms);
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

const char *clock_format(int64_t wall_ms, char *buffer, size_t capacity)
{
	char date[DATETIME_SIZE];
	int seconds = (int)strlen(datetime_iso(wall_ms, date)) - 1;

	snprintf(buffer, capacity, "%.*s.%03dZ", seconds, date, (int)(wall_ms % 1000));
	return buffer;
}

const char *datetime_rfc1123(int64_t wall_ms, char buffer[DATETIME_SIZE])
{
	struct tm parts = split_utc(wall_ms);

	snprintf(buffer, DATETIME_SIZE, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
		 days + 3 * parts.tm_wday, parts.tm_mday, months + 3 * parts.tm_mon,
		 (parts.tm_year + 1900) % 10000, parts.tm_hour, parts.tm_min, parts.tm_sec);
	return buffer;
}
