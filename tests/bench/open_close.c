/*
 * What an open and a close cost: open_close FILE COUNT BATCHES prints nanoseconds per pair in the
 * fastest batch: whatever else the machine does only adds, and it adds more than the difference
 * that is looked for. The file is opened for writing, which is what the shim looks at.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double nanoseconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0, batches = argc > 3 ? atol(argv[3]) : 0;
	double least = 0;

	if (count < 1 || batches < 1)
		return 64;
	for (long batch = 0; batch < batches; batch++) {
		double began = nanoseconds_now(), each;

		for (long i = 0; i < count; i++) {
			int fd = open(argv[1], O_WRONLY | O_CREAT, 0644);

			if (fd < 0 || close(fd) < 0) {
				perror(argv[1]);
				return 1;
			}
		}
		each = (nanoseconds_now() - began) / (double)count;
		if (batch == 0 || each < least)
			least = each;
	}
	printf("%.0f\n", least);
	return 0;
}
