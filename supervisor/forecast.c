#include "forecast.h"

#include "base/text.h"

#include <stdio.h>

static int64_t known(int64_t duration_ms)
{
	return duration_ms < 0 ? 0 : duration_ms;
}

static int64_t needed(const struct forecast_facts *facts)
{
	return known(facts->save_ms) + known(facts->upload_ms);
}

bool forecast_is_too_long(const struct forecast_facts *facts)
{
	return facts->window_ms > 0 && needed(facts) > facts->window_ms;
}

enum forecast_plan forecast_choose(const struct forecast_facts *facts)
{
	if (facts->can_ask && needed(facts) <= facts->window_ms)
		return FORECAST_SAVE;
	if (facts->pending && known(facts->upload_ms) <= facts->window_ms)
		return FORECAST_FINISH;
	return FORECAST_KEEP;
}

static const char *duration_or(int64_t duration_ms, char *buffer, size_t capacity)
{
	return duration_ms < 0 ? "?" : text_duration(duration_ms, buffer, capacity);
}

const char *forecast_format_plan(const struct forecast_facts *facts, char *buffer, size_t capacity)
{
	char save[32], upload[32], window[32];
	const char *save_text = duration_or(facts->save_ms, save, sizeof(save));
	const char *upload_text = duration_or(facts->upload_ms, upload, sizeof(upload));
	bool unknown = facts->save_ms < 0 && facts->upload_ms < 0;

	text_duration(facts->window_ms, window, sizeof(window));
	switch (forecast_choose(facts)) {
	case FORECAST_SAVE:
		if (unknown)
			snprintf(buffer, capacity,
				"plan: a fresh checkpoint; what saving and uploading take is not "
				"known yet");
		else
			snprintf(buffer, capacity,
				"plan: a fresh checkpoint (to save takes %s, to make it durable "
				"%s, of %s)",
				save_text, upload_text, window);
		break;
	case FORECAST_FINISH:
		snprintf(buffer, capacity,
			"plan: make the newest complete checkpoint durable (that takes %s, of "
			"%s)%s",
			upload_text, window,
			facts->can_ask ? "; a fresh one if the job is quicker than usual" : "");
		break;
	case FORECAST_KEEP:
		snprintf(buffer, capacity, "plan: %s",
			!facts->any_durable ? "nothing is durable, and there is no time for "
					      "anything; it is tried all the same"
			: facts->can_ask ? "what is durable counts; a fresh checkpoint is tried, "
					   "but usually takes longer than there is time"
					 : "what is durable counts: the job cannot be asked for a "
					   "checkpoint");
		break;
	}
	return buffer;
}

const char *forecast_format_loss(const struct forecast_facts *facts, char *buffer, size_t capacity)
{
	bool fits = facts->can_ask && facts->save_ms >= 0 && facts->upload_ms >= 0 &&
		    facts->window_ms > 0 && !forecast_is_too_long(facts);
	char behind[32];

	text_duration(facts->behind_ms, behind, sizeof(behind));
	snprintf(buffer, capacity, "a preemption now would lose %s%s", behind,
		fits ? " if nothing announced it" : "");
	return buffer;
}

/* As the clouds document it: AWS two minutes, Google Cloud and Azure half of one. */
int64_t forecast_window_of(const char *cloud)
{
	if (text_equal(cloud, "aws"))
		return 120000;
	return text_equal(cloud, "gcp") || text_equal(cloud, "azure") ? 30000 : 0;
}
