#include "handover.h"

int64_t predecessor_left_ms(const struct drain_state *draining)
{
	int64_t left_ms;

	if (draining->attempt == 0 || draining->ended || draining->left_ms <= draining->age_ms)
		return 0;
	left_ms = draining->left_ms - draining->age_ms;
	return (left_ms < PREDECESSOR_WAIT_MOST_MS ? left_ms : PREDECESSOR_WAIT_MOST_MS) +
	       PREDECESSOR_WAIT_MARGIN_MS;
}

int64_t predecessor_wait_ms(const struct drain_state *draining)
{
	int64_t left_ms = predecessor_left_ms(draining);
	int64_t silent_ms = draining->age_ms < PREDECESSOR_HEARTBEAT_TIMEOUT_MS
				    ? PREDECESSOR_HEARTBEAT_TIMEOUT_MS - draining->age_ms
				    : 0;

	return left_ms < silent_ms ? left_ms : silent_ms;
}
