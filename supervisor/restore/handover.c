#include "handover.h"

int64_t handover_left_ms(const struct draining *draining)
{
	int64_t left_ms;

	if (draining->attempt == 0 || draining->ended || draining->left_ms <= draining->age_ms)
		return 0;
	left_ms = draining->left_ms - draining->age_ms;
	return (left_ms < HANDOVER_MOST_MS ? left_ms : HANDOVER_MOST_MS) + HANDOVER_MARGIN_MS;
}

int64_t handover_wait_ms(const struct draining *draining)
{
	int64_t left_ms = handover_left_ms(draining);
	int64_t silent_ms =
		draining->age_ms < HANDOVER_SILENCE_MS ? HANDOVER_SILENCE_MS - draining->age_ms : 0;

	return left_ms < silent_ms ? left_ms : silent_ms;
}
