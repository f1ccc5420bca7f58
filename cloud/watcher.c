#include "watcher.h"

#include "base/clock.h"
#include "base/text.h"

#include <string.h>

/* --- health --- */

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

bool health_note(struct health *health, enum source_health outcome, int64_t now_ms)
{
	enum source_health before = health->state;
	bool armed = before == SOURCE_ARMED;
	int64_t since_ms;

	if (outcome != SOURCE_UNKNOWN) {
		health->unknown_since_ms = CLOCK_NEVER;
		health->state = outcome;
		return health->state != before;
	}
	if (health->unknown_since_ms == CLOCK_NEVER)
		health->unknown_since_ms = now_ms;
	since_ms = armed ? health->unknown_since_ms : health->started_ms;
	if ((!armed && before != SOURCE_STARTING) ||
	    now_ms - since_ms < (armed ? HEALTH_ARMED_PATIENCE_MS : HEALTH_START_PATIENCE_MS))
		return false;
	health->state = SOURCE_UNKNOWN;
	return true;
}

/* --- announced --- */

void announced_withdraw(struct watcher *watcher, struct notice *notice, const char *reason)
{
	struct notice gone = *notice;

	notice->kind = NOTICE_NONE;
	if (gone.kind == NOTICE_NONE)
		return;
	gone.kind = NOTICE_CANCELLED;
	gone.deadline_ms = CLOCK_NEVER;
	gone.seen_ms = clock_monotonic_ms();
	text_set(gone.reason, sizeof(gone.reason), reason);
	watcher_notice(watcher, &gone);
}

/* An event that is near stands for itself as one to come, too. */
static bool is_listed(const struct verdict *verdict, const char *identity)
{
	size_t length = strlen(identity);

	for (size_t i = 0; i < verdict->count; i++) {
		const char *listed = verdict->notices[i].identity;

		if (text_starts(listed, identity) &&
		    (!listed[length] || text_equal(listed + length, AWS_NEAR)))
			return true;
	}
	return false;
}

static void withdraw_missing(struct announced *announced, struct watcher *watcher,
			     const struct verdict *verdict, const char *reason)
{
	bool missing = false;
	size_t kept = 0;

	for (size_t i = 0; i < announced->count; i++)
		missing |= !is_listed(verdict, announced->items[i].identity);
	announced->absent = missing ? announced->absent + 1 : 0;
	for (size_t i = 0; i < announced->count; i++) {
		if (announced->absent < 2 || is_listed(verdict, announced->items[i].identity))
			announced->items[kept++] = announced->items[i];
		else
			announced_withdraw(watcher, &announced->items[i], reason);
	}
	announced->count = kept;
}

void announced_take(struct announced *announced, struct watcher *watcher,
		    const struct verdict *verdict, bool complete, const char *reason)
{
	for (size_t i = 0; i < verdict->count; i++) {
		const struct notice *notice = &verdict->notices[i];
		size_t at = 0;

		watcher_notice(watcher, notice);
		while (at < announced->count &&
		       !text_equal(announced->items[at].identity, notice->identity))
			at++;
		if (at == announced->count && at < ANNOUNCED_MOST)
			announced->items[announced->count++] = *notice;
	}
	if (complete)
		withdraw_missing(announced, watcher, verdict, reason);
}

enum {
	DEADLINE_NOTICE_MS = 120 * 1000
};

int64_t watcher_deadline_notice_ms(struct watcher *watcher)
{
	int64_t chosen = watcher->shared->options.deadline_notice_ms;

	return chosen > 0 ? chosen : DEADLINE_NOTICE_MS;
}

bool watcher_stopping(struct watcher *watcher)
{
	return cancel_raised(&watcher->shared->cancel);
}

bool watcher_sleep(struct watcher *watcher, int64_t milliseconds)
{
	return cancel_sleep(&watcher->shared->cancel, milliseconds, NULL) == 0;
}

void watcher_set_endpoint(struct watcher *watcher, const char *endpoint)
{
	pthread_mutex_lock(&watcher->shared->mutex);
	text_set(watcher->state.endpoint, sizeof(watcher->state.endpoint), endpoint);
	pthread_mutex_unlock(&watcher->shared->mutex);
}

void watcher_report(struct watcher *watcher, enum source_health outcome, const char *why)
{
	struct watcher_shared *shared = watcher->shared;
	struct source_state *state = &watcher->state, copy;
	bool changed;

	/* A request that ended because we are ending says nothing about the service. */
	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&shared->mutex);
	changed = outcome == SOURCE_STARTING ||
		  health_note(&watcher->health, outcome, clock_monotonic_ms());
	state->health = watcher->health.state;
	state->polls += outcome != SOURCE_STARTING;
	state->unknowns += outcome == SOURCE_UNKNOWN;
	/* A single bad answer of an armed source is counted, but it is not its state. */
	if (changed || state->health != SOURCE_ARMED)
		text_set(state->why, sizeof(state->why), why);
	copy = *state;
	pthread_mutex_unlock(&shared->mutex);
	/* Without the lock: the callback may ask for the states. */
	if (changed && shared->options.health)
		shared->options.health(shared->options.arg, &copy);
}

void watcher_notice(struct watcher *watcher, const struct notice *notice)
{
	struct watcher_shared *shared = watcher->shared;
	bool news;

	/* This may come after a long wait for a file server, when the watch has ended. */
	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&shared->mutex);
	news = notices_is_news(&watcher->announced, notice);
	if (news)
		notices_add(&watcher->announced, notice);
	pthread_mutex_unlock(&shared->mutex);
	if (news && shared->options.notice)
		shared->options.notice(shared->options.arg, notice);
}

void watcher_set_note(struct watcher *watcher, const char *text)
{
	struct watcher_shared *shared = watcher->shared;
	struct source_state *state = &watcher->state, copy;
	bool tell;

	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&shared->mutex);
	tell = state->health == SOURCE_ARMED && !text_equal(state->why, text);
	if (tell)
		text_set(state->why, sizeof(state->why), text);
	copy = *state;
	pthread_mutex_unlock(&shared->mutex);
	if (tell && *text && shared->options.health)
		shared->options.health(shared->options.arg, &copy);
}
