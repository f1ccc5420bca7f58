#include "forecast.h"

#include "base/text.h"

#include <stdio.h>

/* A share that was measured in less time says little. */
#define MEASURED_MS 500
#define RISK_MS (10 * 60 * 1000)

static int64_t known(int64_t duration_ms)
{
	return duration_ms < 0 ? 0 : duration_ms;
}

static int64_t needed(const struct forecast_facts *facts)
{
	return known(facts->save_ms) + known(facts->upload_ms);
}

/* One is sent at a time: what is on its way goes on while the job saves, and then it is the fresh one's turn. */
static bool fresh_fits(const struct forecast_facts *facts)
{
	int64_t rest = facts->pending ? known(facts->rest_ms) : 0;
	int64_t save = known(facts->save_ms);

	return (rest > save ? rest : save) + known(facts->upload_ms) <= facts->window_ms;
}

int64_t forecast_rest_ms(int64_t elapsed_ms, uint64_t done, uint64_t total, int64_t usual_ms)
{
	if (elapsed_ms >= MEASURED_MS && done > 0 && total >= done)
		return (int64_t)((double)elapsed_ms * (double)(total - done) / (double)done);
	if (usual_ms < 0)
		return -1;
	return usual_ms > elapsed_ms ? usual_ms - elapsed_ms : 0;
}

int64_t forecast_worth_saying_ms(int64_t usual_gap_ms, unsigned said)
{
	int64_t first = 2 * usual_gap_ms > RISK_MS ? 2 * usual_gap_ms : RISK_MS;

	return said > 20 ? INT64_MAX : first << said;
}

bool forecast_is_too_long(const struct forecast_facts *facts)
{
	return facts->window_ms > 0 && needed(facts) > facts->window_ms;
}

enum forecast_plan forecast_choose(const struct forecast_facts *facts)
{
	if (facts->can_ask && fresh_fits(facts))
		return FORECAST_SAVE;
	if (facts->pending && known(facts->rest_ms) <= facts->window_ms)
		return FORECAST_FINISH;
	return FORECAST_KEEP;
}

static const char *duration_or(int64_t duration_ms, char *buffer, size_t capacity)
{
	return duration_ms < 0 ? "?" : text_duration(duration_ms, buffer, capacity);
}

const char *forecast_format_plan(const struct forecast_facts *facts, char *buffer, size_t capacity)
{
	char save[32], upload[32], rest[32], window[32];
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
			"plan: first make the newest complete checkpoint durable (%s to go, of "
			"%s)%s",
			duration_or(facts->rest_ms, rest, sizeof(rest)), window,
			facts->can_ask ? "; then a fresh one is tried" : "");
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
