/*
 * What an open and a close cost: open_close FILE COUNT BATCHES prints nanoseconds per pair, the
 * median over the batches. The file is opened for writing, which is what the shim looks at.
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

static int compare(const void *a, const void *b)
{
	double first = *(const double *)a, second = *(const double *)b;

	return (first > second) - (first < second);
}

int main(int argc, char **argv)
{
	long count = argc > 2 ? atol(argv[2]) : 0, batches = argc > 3 ? atol(argv[3]) : 0;
	double *each;

	if (count < 1 || batches < 1)
		return 64;
	each = malloc((size_t)batches * sizeof(*each));
	for (long batch = 0; each && batch < batches; batch++) {
		double began = nanoseconds_now();

		for (long i = 0; i < count; i++) {
			int fd = open(argv[1], O_WRONLY | O_CREAT, 0644);

			if (fd < 0 || close(fd) < 0) {
				perror(argv[1]);
				return 1;
			}
		}
		each[batch] = (nanoseconds_now() - began) / (double)count;
	}
	if (!each)
		return 1;
	qsort(each, (size_t)batches, sizeof(*each), compare);
	printf("%.0f\n", each[batches / 2]);
	free(each);
	return 0;
}
