#include "health_probe.h"

#include "base/text.h"

static const char *phase_of(const struct health_probe_facts *facts)
{
	if (!facts->state[0])
		return "unknown";
	if (text_equal(facts->state, "running"))
		return facts->sending ? "saving" : "training";
	if (text_equal(facts->state, "checkpointing"))
		return "saving";
	if (text_equal(facts->state, "stopping") || text_equal(facts->state, "uploading"))
		return "draining";
	return text_equal(facts->state, "restoring") ? "restoring" : "ended";
}

struct health_probe_result health_probe_decide(enum health_probe_kind kind, int64_t fresh_ms,
					       const struct health_probe_facts *facts)
{
	struct health_probe_result answer = {.passed = true, .phase = phase_of(facts)};
	bool training = text_equal(answer.phase, "training");

	if (kind == HEALTH_PROBE_READY)
		answer.passed = text_equal(facts->state, "running");
	if (kind == HEALTH_PROBE_FRESH)
		answer.passed = !training || facts->at_risk_ms <= fresh_ms;
	return answer;
}
