#include "datetime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* strptime() would read names of days in the user's language. */
static const char *const months[] = {
	"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

static bool in_range(const struct tm *parts)
{
	return parts->tm_mon >= 0 && parts->tm_mon < 12 && parts->tm_mday >= 1 &&
	       parts->tm_mday <= 31 && parts->tm_hour >= 0 && parts->tm_hour < 24 &&
	       parts->tm_min >= 0 && parts->tm_min < 60 && parts->tm_sec >= 0 &&
	       parts->tm_sec <= 60;
}

static bool to_ms(struct tm *parts, int64_t offset_s, int64_t *wall_ms)
{
	if (!in_range(parts))
		return false;
	parts->tm_year -= 1900;
	*wall_ms = ((int64_t)timegm(parts) - offset_s) * 1000;
	return true;
}

/* "", "Z", "+05:30"; a fraction before it is dropped. */
static bool parse_zone(const char *text, int64_t *offset_s)
{
	int hours, minutes, used = 0;

	*offset_s = 0;
	if (text[0] == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if (text[0] == '\0' || strcmp(text, "Z") == 0)
		return true;
	if ((text[0] != '+' && text[0] != '-') ||
		sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || text[1 + used])
		return false;
	*offset_s = (text[0] == '-' ? -1 : 1) * (hours * 3600LL + minutes * 60LL);
	return true;
}

bool timestamp_parse_iso(const char *text, int64_t *wall_ms)
{
	struct tm parts = {0};
	int64_t offset_s;
	int used = 0;

	if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
		    &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6 ||
		!parse_zone(text + used, &offset_s))
		return false;
	parts.tm_mon--;
	return to_ms(&parts, offset_s, wall_ms);
}

bool timestamp_parse_http(const char *text, int64_t *wall_ms)
{
	struct tm parts = {0};
	char month[4] = "";
	int used = 0;

	if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT%n", &parts.tm_mday, month,
		    &parts.tm_year, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &used) != 6 ||
		used == 0)
		return false;
	for (parts.tm_mon = 11; parts.tm_mon >= 0; parts.tm_mon--)
		if (strcmp(months[parts.tm_mon], month) == 0)
			break;
	return to_ms(&parts, 0, wall_ms);
}

static struct tm split(int64_t wall_ms)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm parts;

	gmtime_r(&seconds, &parts);
	return parts;
}

const char *timestamp_compact(int64_t wall_ms, char buffer[TIMESTAMP_SIZE])
{
	struct tm parts = split(wall_ms);

	strftime(buffer, TIMESTAMP_SIZE, "%Y%m%dT%H%M%SZ", &parts);
	return buffer;
}

const char *timestamp_http(int64_t wall_ms, char buffer[TIMESTAMP_SIZE])
{
	struct tm parts = split(wall_ms);

	snprintf(buffer, TIMESTAMP_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday],
		parts.tm_mday, months[parts.tm_mon], (parts.tm_year + 1900) % 10000, parts.tm_hour,
		parts.tm_min, parts.tm_sec);
	return buffer;
}
