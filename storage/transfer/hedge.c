#include "hedge.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define LATE_LEAST_MS 1000
#define LATE_BEYOND_MS 700

void hedge_add_sample(struct hedge *hedge, int64_t took_ms)
{
	hedge->took_ms[hedge->count++ % HEDGE_SAMPLES] = took_ms;
}

static int compare_times(const void *a, const void *b)
{
	int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;

	return (first > second) - (first < second);
}

int64_t hedge_late_ms(const struct hedge *hedge)
{
	unsigned count = hedge->count < HEDGE_SAMPLES ? hedge->count : HEDGE_SAMPLES;
	int64_t sorted[HEDGE_SAMPLES], late;

	if (count < HEDGE_SAMPLES_LEAST)
		return CLOCK_NEVER;
	memcpy(sorted, hedge->took_ms, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), compare_times);
	late = sorted[(count * 9 + 9) / 10 - 1] + LATE_BEYOND_MS;
	return late > LATE_LEAST_MS ? late : LATE_LEAST_MS;
}

bool hedge_is_due(const struct hedge *hedge, const struct hedge_facts *facts)
{
	unsigned most = facts->connections / 4 ? facts->connections / 4 : 1;

	return facts->sent == 1 && facts->hedged_now < most &&
	       facts->age_ms >= hedge_late_ms(hedge);
}
