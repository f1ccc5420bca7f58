#include "slow_warning.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

#include <stdlib.h>

static void *warn_when_due(void *arg)
{
	struct slow_warning *slow = arg;

	pthread_mutex_lock(&slow->mutex);
	while (!slow->over && clock_left_ms(slow->at_ms) > 0)
		condition_wait(&slow->ended, &slow->mutex, clock_left_ms(slow->at_ms));
	if (!slow->over)
		log_warn("%s", slow->text);
	pthread_mutex_unlock(&slow->mutex);
	return NULL;
}

void slow_warning_begin(struct slow_warning *slow, int64_t after_ms, const char *text)
{
	*slow = (struct slow_warning){
		.text = text_copy(text),
		.at_ms = clock_monotonic_ms() + after_ms,
	};
	pthread_mutex_init(&slow->mutex, NULL);
	condition_init(&slow->ended);
	if (parallel_start(&slow->thread, warn_when_due, slow) == 0)
		return;
	free(slow->text);
	slow->text = NULL;
}

void slow_warning_end(struct slow_warning *slow)
{
	pthread_mutex_lock(&slow->mutex);
	slow->over = true;
	pthread_cond_signal(&slow->ended);
	pthread_mutex_unlock(&slow->mutex);
	if (slow->text)
		pthread_join(slow->thread, NULL);
	pthread_cond_destroy(&slow->ended);
	pthread_mutex_destroy(&slow->mutex);
	free(slow->text);
}
