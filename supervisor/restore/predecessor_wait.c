#include "predecessor_wait.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "handover.h"

#define LOOK_MS 1000

struct waiting {
	struct draining seen;
	int64_t until_ms; /* for what was seen last */
	int64_t end_ms;   /* the other one's, by that */
	int64_t most_ms;  /* whatever they say: a wait that began ends */
};

static void say_for_whom(const struct waiting *waiting, struct awaited *awaited)
{
	const struct draining *seen = &waiting->seen;
	char time[32];

	if (awaited->attempt == seen->attempt)
		return;
	awaited->attempt = seen->attempt;
	text_set(awaited->host, sizeof(awaited->host), seen->host);
	log_note("attempt %u on %s is being preempted and still saves: waiting for its end, %s at "
		 "most, to go on from that save (Ctrl-C ends this one)",
		seen->attempt, seen->host[0] ? seen->host : "another machine",
		text_duration(clock_left_ms(waiting->end_ms), time, sizeof(time)));
}

/* A new word counts from now: its age is known, and no other clock than ours is needed from here on. */
static int look(
	struct storage *storage, struct waiting *waiting, struct cancel *cancel, struct err *err)
{
	struct draining now = waiting->seen;
	bool news;

	if (storage_look_for_draining(storage, &now, cancel, err) < 0)
		return -1;
	news = now.attempt != waiting->seen.attempt || now.word != waiting->seen.word || now.ended;
	waiting->seen = now;
	if (news) {
		waiting->until_ms = clock_monotonic_ms() + handover_wait_ms(&now);
		waiting->end_ms = clock_monotonic_ms() + handover_left_ms(&now);
	}
	if (waiting->until_ms > waiting->most_ms)
		waiting->until_ms = waiting->most_ms;
	return 0;
}

int predecessor_await(
	struct storage *storage, struct awaited *awaited, struct cancel *cancel, struct err *err)
{
	int64_t began_ms = clock_monotonic_ms();
	struct waiting waiting = {.most_ms = began_ms + HANDOVER_MOST_MS + HANDOVER_MARGIN_MS};

	*awaited = (struct awaited){0};
	if (look(storage, &waiting, cancel, err) < 0)
		return -1;
	while (clock_monotonic_ms() < waiting.until_ms) {
		struct err own;

		say_for_whom(&waiting, awaited);
		if (cancel_sleep(cancel, LOOK_MS, err) < 0)
			return -1;
		if (look(storage, &waiting, cancel, &own) < 0)
			log_debug("attempt %u: %s", awaited->attempt, own.text);
	}
	if (awaited->attempt == 0)
		return 0;
	awaited->waited_ms = clock_monotonic_ms() - began_ms;
	awaited->ended = waiting.seen.attempt == awaited->attempt && waiting.seen.ended;
	if (!awaited->ended)
		log_warn("attempt %u has left no word of its end: going on from what it has "
			 "committed by now",
			awaited->attempt);
	return 0;
}
