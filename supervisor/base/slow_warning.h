/*
 * A warning about a blocking call that takes long: it is said while the call lasts, by a thread of
 * its own, and once. A call that ends in time leaves no word.
 *
 *	struct slow_warning slow;
 *
 *	slow_warning_begin(&slow, 2500, text);
 *	...
 *	slow_warning_end(&slow);
 */
#ifndef BASE_SLOW_WARNING_H
#define BASE_SLOW_WARNING_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct slow_warning {
	char *text; /* NULL: there is no thread, and nothing will be said */
	int64_t at_ms;
	bool over;
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	pthread_t thread;
};

/* `text` is the line, without the word "warning"; it is copied. Where no thread can be had, nothing
 * is said. */
void slow_warning_begin(struct slow_warning *slow, int64_t after_ms, const char *text);
/* After it the line is not written any more. */
void slow_warning_end(struct slow_warning *slow);

#endif
