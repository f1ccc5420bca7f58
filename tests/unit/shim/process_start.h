/* When a process began, as the supervisor writes it into the channel. */
#ifndef PROCESS_START_H
#define PROCESS_START_H

#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* In clock ticks since boot: field 22 of /proc/PID/stat. */
static uint64_t start_of(pid_t pid)
{
	char path[40], line[1024];
	unsigned long long start = 0;
	const char *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	fclose(file);
	at = strrchr(line, ')');
	assert_non_null(at);
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	assert_int_equal(sscanf(at, "%llu", &start), 1);
	assert_true(start > 0);
	return start;
}

#endif
