/* Starts one thread per source, so that a source that hangs delays no other. */
#include "watcher.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/workers.h"
#include "cloud.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	PROBES_OFTEN = 12,
	PROBE_SOON_MS = 5000,
	PROBE_LATER_MS = 60 * 1000,
	JOIN_TIMEOUT_MS = 1000,
};

struct cloud_watch {
	struct watcher_shared shared;
	struct source_table chosen;
	size_t started;
};

/* Neither an override nor the firmware identifies the cloud: probes the services, and takes the
 * provider of the one that replies. */
static bool find_provider(struct watcher *watcher)
{
	watcher->provider =
		source_table_probe(watcher->shared->environment.endpoints[METADATA_AZURE].url,
				   &watcher->shared->cancel);
	if (watcher->provider) {
		pthread_mutex_lock(&watcher->shared->mutex);
		text_set(watcher->state.name, sizeof(watcher->state.name), watcher->provider->name);
		pthread_mutex_unlock(&watcher->shared->mutex);
		return true;
	}
	watcher_report(watcher, SOURCE_UNAVAILABLE,
		       "no cloud answers so far: --notice none if this is none, else name it, as "
		       "in --notice aws");
	return false;
}

static void *watch_source(void *arg)
{
	struct watcher *watcher = arg;

	/* Tries again: one late reply while the machine boots must not leave the whole run without
	 * notices. */
	for (unsigned tries = 0; !watcher->provider && !find_provider(watcher); tries++)
		if (!watcher_sleep(watcher, tries < PROBES_OFTEN ? PROBE_SOON_MS : PROBE_LATER_MS))
			return NULL;
	watcher->provider->run(watcher);
	return NULL;
}

static int choose_sources(struct cloud_watch *watch, const struct cloud_options *options,
			  struct err *err)
{
	if (source_table_select(options->sources, options->deadline, &watch->shared.environment,
				&watch->chosen, err) < 0)
		return -1;
	for (size_t i = 0; i < watch->chosen.count; i++) {
		struct watcher *watcher = &watch->chosen.items[i];

		watcher->shared = &watch->shared;
		watcher->health = HEALTH_START(clock_monotonic_ms());
		watcher->state.optional = !watcher->provider && watch->chosen.count > 1;
		text_set(watcher->state.name, sizeof(watcher->state.name),
			 watcher->provider ? watcher->provider->name : "auto");
	}
	return 0;
}

static int start_threads(struct cloud_watch *watch, struct err *err)
{
	for (; watch->started < watch->chosen.count; watch->started++) {
		struct watcher *watcher = &watch->chosen.items[watch->started];

		if (parallel_start(&watcher->thread, watch_source, watcher) < 0)
			return err_set(err, ERR_FAILED, "no thread for a notice source");
	}
	return 0;
}

int cloud_watch_start(const struct cloud_options *options, struct cloud_watch **result,
		      struct err *err)
{
	struct cloud_watch *watch = memory_new(sizeof(*watch));

	watch->shared.options = *options;
	watch->shared.options.sources = watch->shared.options.deadline = NULL;
	if (cancel_init(&watch->shared.cancel, err) < 0) {
		free(watch);
		return -1;
	}
	pthread_mutex_init(&watch->shared.mutex, NULL);
	detect_read_environment(&watch->shared.environment);
	if (choose_sources(watch, options, err) < 0 || start_threads(watch, err) < 0) {
		cloud_watch_stop(watch);
		return -1;
	}
	*result = watch;
	return 0;
}

/* A thread that hangs in the kernel (on a dead file server) is left until the process ends, with
 * all that it uses. */
static bool join_threads(struct cloud_watch *watch)
{
	const struct timespec moment = {.tv_nsec = 1000 * 1000};
	int64_t until_ms = clock_monotonic_ms() + JOIN_TIMEOUT_MS;
	bool joined = true;

	for (size_t i = 0; i < watch->started; i++) {
		int result;

		/* Polls: ThreadSanitizer does not know pthread_clockjoin_np() (gcc 12), and the
		 * other timed join uses a clock that can be set. */
		while ((result = pthread_tryjoin_np(watch->chosen.items[i].thread, NULL)) ==
			       EBUSY &&
		       clock_monotonic_ms() < until_ms)
			nanosleep(&moment, NULL);
		if (result != 0) {
			pthread_detach(watch->chosen.items[i].thread);
			joined = false;
		}
	}
	return joined;
}

void cloud_watch_stop(struct cloud_watch *watch)
{
	if (!watch)
		return;
	cancel_raise(&watch->shared.cancel);
	if (!join_threads(watch))
		return;
	source_table_release(&watch->chosen);
	pthread_mutex_destroy(&watch->shared.mutex);
	cancel_release(&watch->shared.cancel);
	free(watch);
}

size_t cloud_watch_states(struct cloud_watch *watch, struct source_state *states, size_t most)
{
	pthread_mutex_lock(&watch->shared.mutex);
	for (size_t i = 0; i < watch->chosen.count && i < most; i++)
		states[i] = watch->chosen.items[i].state;
	pthread_mutex_unlock(&watch->shared.mutex);
	return watch->chosen.count;
}

int cloud_watch_approve(struct cloud_watch *watch, const struct notice *notice, int64_t until_ms,
			struct err *err)
{
	struct cancel cancel = CANCEL_AT(until_ms);

	if (!notice->approvable)
		return err_set(err, ERR_INVALID, "a notice from %s cannot be approved",
			       notice->source);
	return azure_approve(&watch->shared.environment, notice->identity, &cancel, err);
}

/* --- what the sources report --- */

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
