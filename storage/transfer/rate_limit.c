#include "rate_limit.h"

#define BURST_MS 1000

int64_t rate_limit_consume(struct rate_limit *rate, uint64_t bytes, int64_t now_ms)
{
	int64_t wait_ms;

	if (rate->bytes_per_second == 0)
		return 0;
	if (rate->paid_ms < now_ms - BURST_MS)
		rate->paid_ms = now_ms - BURST_MS;
	wait_ms = rate->paid_ms > now_ms ? rate->paid_ms - now_ms : 0;
	rate->paid_ms += (int64_t)(bytes * 1000 / rate->bytes_per_second);
	return wait_ms;
}
