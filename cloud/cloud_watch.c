/* One thread per source, so that a source that hangs delays no other; what they
 * tell goes out through here. */
#include "cloud.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "detect.h"
#include "health.h"
#include "provider.h"
#include "source_table.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum {
	DEADLINE_NOTICE_MS = 120 * 1000,
	STACK_BYTES = 512 * 1024,
	PROBES_OFTEN = 12,
	PROBE_SOON_MS = 5000,
	PROBE_LATER_MS = 60 * 1000,
	JOIN_TIMEOUT_MS = 1000,
};

struct watcher {
	struct cloud_watch *watch;
	const struct source_entry *chosen;
	const struct provider *provider; /* NULL: to be found by a probe */
	pthread_t thread;
	struct {
		struct health health;
		struct source_state state;
		struct notices announced;
	} locked; /* under watch->mutex */
};

struct cloud_watch {
	struct cloud_options options;
	char *shared_directory;
	struct environment environment;
	struct cancel cancel;
	pthread_mutex_t mutex;
	struct source_table chosen;
	struct watcher watchers[CLOUD_SOURCES_MOST]; /* of each that was chosen */
	size_t started;
};

struct cancel *watcher_cancel(struct watcher *watcher)
{
	return &watcher->watch->cancel;
}

const struct environment *watcher_environment(struct watcher *watcher)
{
	return &watcher->watch->environment;
}

const char *watcher_argument(struct watcher *watcher)
{
	return watcher->chosen->argument;
}

int64_t watcher_deadline_notice_ms(struct watcher *watcher)
{
	int64_t chosen = watcher->watch->options.deadline_notice_ms;

	return chosen > 0 ? chosen : DEADLINE_NOTICE_MS;
}

const char *watcher_shared_directory(struct watcher *watcher)
{
	return watcher->watch->shared_directory;
}

bool watcher_stopping(struct watcher *watcher)
{
	return cancel_raised(watcher_cancel(watcher));
}

bool watcher_sleep(struct watcher *watcher, int64_t milliseconds)
{
	return cancel_sleep(watcher_cancel(watcher), milliseconds, NULL) == 0;
}

void watcher_set_endpoint(struct watcher *watcher, const char *endpoint)
{
	pthread_mutex_lock(&watcher->watch->mutex);
	text_set(watcher->locked.state.endpoint, sizeof(watcher->locked.state.endpoint), endpoint);
	pthread_mutex_unlock(&watcher->watch->mutex);
}

enum poll_outcome {
	POLL_STARTING,
	POLL_KNOWN,
	POLL_UNKNOWN,
	POLL_UNAVAILABLE
};

static bool update_health(struct health *health, enum poll_outcome outcome)
{
	switch (outcome) {
	case POLL_KNOWN:
		return health_known(health);
	case POLL_UNKNOWN:
		return health_unknown(health, clock_monotonic_ms());
	case POLL_UNAVAILABLE:
		return health_unavailable(health);
	case POLL_STARTING:
	default:
		return true;
	}
}

static void report_outcome(struct watcher *watcher, enum poll_outcome outcome, const char *why)
{
	struct cloud_watch *watch = watcher->watch;
	struct source_state *state = &watcher->locked.state, copy;
	bool changed;

	/* A request that ended because we are ending says nothing about the service. */
	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&watch->mutex);
	changed = update_health(&watcher->locked.health, outcome);
	state->health = watcher->locked.health.state;
	state->polls += outcome != POLL_STARTING;
	state->unknowns += outcome == POLL_UNKNOWN;
	/* A single bad answer of an armed source is counted, but it is not its state. */
	if (changed || state->health != SOURCE_ARMED)
		text_set(state->why, sizeof(state->why), outcome == POLL_KNOWN ? "" : why);
	copy = *state;
	pthread_mutex_unlock(&watch->mutex);
	/* Without the lock: the callback may ask for the states. */
	if (changed && watch->options.health)
		watch->options.health(watch->options.arg, &copy);
}

void watcher_known(struct watcher *watcher)
{
	report_outcome(watcher, POLL_KNOWN, "");
}

void watcher_unknown(struct watcher *watcher, const char *why)
{
	report_outcome(watcher, POLL_UNKNOWN, why);
}

void watcher_unavailable(struct watcher *watcher, const char *why)
{
	report_outcome(watcher, POLL_UNAVAILABLE, why);
}

void watcher_starting(struct watcher *watcher, const char *why)
{
	report_outcome(watcher, POLL_STARTING, why);
}

void watcher_notice(struct watcher *watcher, const struct notice *notice)
{
	struct cloud_watch *watch = watcher->watch;
	bool news;

	/* Perhaps after a long wait for a file server, when nobody is there to be told. */
	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&watch->mutex);
	news = notices_is_news(&watcher->locked.announced, notice);
	if (news)
		notices_add(&watcher->locked.announced, notice);
	pthread_mutex_unlock(&watch->mutex);
	if (news && watch->options.notice)
		watch->options.notice(watch->options.arg, notice);
}

void watcher_set_note(struct watcher *watcher, const char *text)
{
	struct cloud_watch *watch = watcher->watch;
	struct source_state *state = &watcher->locked.state, copy;
	bool tell;

	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&watch->mutex);
	tell = state->health == SOURCE_ARMED && !text_equal(state->why, text);
	if (tell)
		text_set(state->why, sizeof(state->why), text);
	copy = *state;
	pthread_mutex_unlock(&watch->mutex);
	if (tell && watch->options.health)
		watch->options.health(watch->options.arg, &copy);
}

/* No override and no firmware told: ask, and become the watcher of what answers. */
static bool find_provider(struct watcher *watcher)
{
	const struct provider *found;
	char endpoint[160];

	detect_azure_endpoint(watcher_environment(watcher), endpoint, sizeof(endpoint));
	found = detect_probe(endpoint, watcher_cancel(watcher));
	if (!found) {
		watcher_unavailable(
			watcher,
			"no cloud's metadata service answers (it is asked again and again): name "
			"it with --notice aws, gcp, azure, alibaba or tencent if this is one");
		return false;
	}
	pthread_mutex_lock(&watcher->watch->mutex);
	watcher->provider = found;
	text_set(watcher->locked.state.name, sizeof(watcher->locked.state.name), found->name);
	pthread_mutex_unlock(&watcher->watch->mutex);
	return true;
}

static void *watch_source(void *arg)
{
	struct watcher *watcher = arg;

	/* One late answer while the machine boots must not leave the whole run without notices. */
	for (unsigned tries = 0; !watcher->provider && !find_provider(watcher); tries++)
		if (!watcher_sleep(watcher, tries < PROBES_OFTEN ? PROBE_SOON_MS : PROBE_LATER_MS))
			return NULL;
	watcher->provider->run(watcher);
	return NULL;
}

static int choose_sources(struct cloud_watch *watch, const struct cloud_options *options,
			  struct err *err)
{
	int64_t now = clock_monotonic_ms();

	if (source_table_select(options->sources, options->deadline, &watch->environment,
				&watch->chosen, err) < 0)
		return -1;
	for (size_t i = 0; i < watch->chosen.count; i++) {
		struct watcher *watcher = &watch->watchers[i];

		watcher->watch = watch;
		watcher->chosen = &watch->chosen.items[i];
		watcher->provider = watcher->chosen->provider;
		text_set(watcher->locked.state.name, sizeof(watcher->locked.state.name),
			 source_entry_name(watcher->chosen));
		health_init(&watcher->locked.health, now);
	}
	return 0;
}

static int start_threads(struct cloud_watch *watch, struct err *err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int failed = 0;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (!failed && watch->started < watch->chosen.count) {
		struct watcher *watcher = &watch->watchers[watch->started];

		failed = pthread_create(&watcher->thread, &attributes, watch_source, watcher);
		watch->started += !failed;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failed ? err_os(err, failed, "thread for a notice source") : 0;
}

int cloud_watch_start(const struct cloud_options *options, struct cloud_watch **result,
		      struct err *err)
{
	struct cloud_watch *watch = memory_new(sizeof(*watch));

	watch->options = *options;
	watch->options.sources = watch->options.deadline = watch->options.shared_directory = NULL;
	watch->shared_directory =
		options->shared_directory ? text_copy(options->shared_directory) : NULL;
	if (cancel_init(&watch->cancel, err) < 0) {
		free(watch->shared_directory);
		free(watch);
		return -1;
	}
	pthread_mutex_init(&watch->mutex, NULL);
	detect_read_environment(&watch->environment);
	if (choose_sources(watch, options, err) < 0 || start_threads(watch, err) < 0) {
		cloud_watch_stop(watch);
		return -1;
	}
	*result = watch;
	return 0;
}

/* One that hangs in the kernel (a file server that is gone) is left to the process's end, and so
 * is what it uses. */
static bool join_threads(struct cloud_watch *watch)
{
	const struct timespec moment = {.tv_nsec = 1000 * 1000};
	int64_t until_ms = clock_monotonic_ms() + JOIN_TIMEOUT_MS;
	bool joined = true;

	for (size_t i = 0; i < watch->started; i++) {
		int result;

		/* Not pthread_clockjoin_np(), which ThreadSanitizer does not know (gcc 12), and no
		 * waiting by a clock that can be set. */
		while ((result = pthread_tryjoin_np(watch->watchers[i].thread, NULL)) == EBUSY &&
		       clock_monotonic_ms() < until_ms)
			nanosleep(&moment, NULL);
		if (result != 0) {
			pthread_detach(watch->watchers[i].thread);
			joined = false;
		}
	}
	return joined;
}

void cloud_watch_stop(struct cloud_watch *watch)
{
	if (!watch)
		return;
	cancel_raise(&watch->cancel);
	if (!join_threads(watch))
		return;
	source_table_release(&watch->chosen);
	pthread_mutex_destroy(&watch->mutex);
	cancel_release(&watch->cancel);
	free(watch->shared_directory);
	free(watch);
}

size_t cloud_watch_states(struct cloud_watch *watch, struct source_state *states, size_t most)
{
	pthread_mutex_lock(&watch->mutex);
	for (size_t i = 0; i < watch->chosen.count && i < most; i++)
		states[i] = watch->watchers[i].locked.state;
	pthread_mutex_unlock(&watch->mutex);
	return watch->chosen.count;
}

int cloud_watch_approve(struct cloud_watch *watch, const struct notice *notice, int64_t until_ms,
			struct err *err)
{
	const struct provider *provider = provider_by_name(notice->source);
	struct cancel cancel;
	int result;

	if (!notice->approvable || !provider || !provider->approve)
		return err_set(err, ERR_INVALID, "a notice from %s cannot be approved",
			       notice->source);
	if (cancel_init(&cancel, err) < 0)
		return -1;
	cancel_set_deadline(&cancel, until_ms);
	result = provider->approve(&watch->environment, notice->identity, &cancel, err);
	cancel_release(&cancel);
	return result;
}
