#include "watcher.h"

#include "base/clock.h"

const char *source_health_name(enum source_health health)
{
	static const char *const names[] = {
		[SOURCE_STARTING] = "starting",
		[SOURCE_ARMED] = "armed",
		[SOURCE_UNKNOWN] = "unknown",
		[SOURCE_UNAVAILABLE] = "unavailable",
	};
	return names[health];
}

void health_init(struct health *health, int64_t now_ms)
{
	*health = (struct health){.started_ms = now_ms, .unknown_since_ms = CLOCK_NEVER};
}

static bool set_state(struct health *health, enum source_health state)
{
	bool changed = health->state != state;

	health->state = state;
	return changed;
}

bool health_known(struct health *health)
{
	health->unknown_since_ms = CLOCK_NEVER;
	return set_state(health, SOURCE_ARMED);
}

bool health_unknown(struct health *health, int64_t now_ms)
{
	if (health->unknown_since_ms == CLOCK_NEVER)
		health->unknown_since_ms = now_ms;
	switch (health->state) {
	case SOURCE_STARTING:
		if (now_ms - health->started_ms < HEALTH_START_PATIENCE_MS)
			return false;
		return set_state(health, SOURCE_UNKNOWN);
	case SOURCE_ARMED:
		if (now_ms - health->unknown_since_ms < HEALTH_ARMED_PATIENCE_MS)
			return false;
		return set_state(health, SOURCE_UNKNOWN);
	case SOURCE_UNKNOWN:
	case SOURCE_UNAVAILABLE:
	default:
		return false;
	}
}

bool health_unavailable(struct health *health)
{
	health->unknown_since_ms = CLOCK_NEVER;
	return set_state(health, SOURCE_UNAVAILABLE);
}
