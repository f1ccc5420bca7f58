/* Nanoseconds of one reprieve_requested() and one reprieve_progress() in a loop, and the KiB of its
 * own memory that the shim has touched. */
#define _GNU_SOURCE
#include "shim/reprieve.h"

#include <stdio.h>
#include <time.h>

#define CALLS 20000000

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static long dirty_of_shim(void)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[600];
	long total = 0, kilobytes;
	int ours = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		/* The library's zeroed data follows its file without a name. */
		if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
			ours = strstr(line, "libreprieve-shim") != NULL ||
			       (ours && !strchr(line, '/') && !strchr(line, '['));
		else if (ours && sscanf(line, "Private_Dirty: %ld", &kilobytes) == 1)
			total += kilobytes;
	}
	if (maps)
		fclose(maps);
	return total;
}

int main(void)
{
	unsigned long wanted = 0;
	double began;

	wanted += (unsigned long)reprieve_requested();
	began = now();
	for (int i = 0; i < CALLS; i++) {
		wanted += (unsigned long)reprieve_requested();
		__asm__ volatile("" ::: "memory"); /* as if the step did something */
	}
	printf("requested %.2f\n", (now() - began) / CALLS);
	began = now();
	for (int i = 0; i < CALLS; i++) {
		reprieve_progress(i);
		__asm__ volatile("" ::: "memory");
	}
	printf("progress %.2f\n", (now() - began) / CALLS);
	printf("dirty %ld\n", dirty_of_shim());
	return wanted > 0;
}
