#include "base/clock.h"

#include <stdio.h>
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

const char *clock_format(int64_t wall_ms, char *buffer, size_t capacity)
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm parts;
	char date[32];

	gmtime_r(&seconds, &parts);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts);
	snprintf(buffer, capacity, "%s.%03dZ", date, (int)(wall_ms % 1000));
	return buffer;
}
