/* One thread per source, so that a source that hangs delays no other; what they tell goes out through here. */
#include "cloud.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "detect.h"
#include "health.h"
#include "provider.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	WATCHERS_MOST = 12,
	EARLIER_MS = 1000,
	STACK_BYTES = 512 * 1024
};

struct watcher {
	struct cloud_watch *watch;
	const struct provider *provider; /* NULL: to be found by a probe */
	char *argument;
	pthread_t thread;
	struct {
		struct health health;
		struct source_state state;
		struct notices told;
	} locked; /* under watch->mutex */
};

struct cloud_watch {
	struct cloud_options options;
	struct surroundings surroundings;
	struct cancel cancel;
	pthread_mutex_t mutex;
	struct watcher watchers[WATCHERS_MOST];
	size_t count, started;
};

static const struct provider *const providers[] = {
	&provider_aws,
	&provider_gcp,
	&provider_azure,
	&provider_file,
};

/* NULL for an unknown name. */
static const struct provider *provider_named(const char *name)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (strcmp(providers[i]->name, name) == 0)
			return providers[i];
	return NULL;
}

struct cancel *watcher_cancel(struct watcher *watcher)
{
	return &watcher->watch->cancel;
}

const struct surroundings *watcher_surroundings(struct watcher *watcher)
{
	return &watcher->watch->surroundings;
}

const char *watcher_argument(struct watcher *watcher)
{
	return watcher->argument;
}

bool watcher_stopping(struct watcher *watcher)
{
	return cancel_raised(watcher_cancel(watcher));
}

bool watcher_pause(struct watcher *watcher, int64_t milliseconds)
{
	return cancel_sleep(watcher_cancel(watcher), milliseconds, NULL) == 0;
}

void watcher_set_endpoint(struct watcher *watcher, const char *endpoint)
{
	pthread_mutex_lock(&watcher->watch->mutex);
	text_set(watcher->locked.state.endpoint, sizeof(watcher->locked.state.endpoint), endpoint);
	pthread_mutex_unlock(&watcher->watch->mutex);
}

enum outcome {
	OUTCOME_STARTING,
	OUTCOME_KNOWN,
	OUTCOME_UNKNOWN,
	OUTCOME_UNAVAILABLE
};

static bool step(struct health *health, enum outcome outcome)
{
	switch (outcome) {
	case OUTCOME_KNOWN:
		return health_known(health);
	case OUTCOME_UNKNOWN:
		return health_unknown(health, clock_monotonic_ms());
	case OUTCOME_UNAVAILABLE:
		return health_unavailable(health);
	case OUTCOME_STARTING:
	default:
		return true;
	}
}

static void report(struct watcher *watcher, enum outcome outcome, const char *why)
{
	struct cloud_watch *watch = watcher->watch;
	struct source_state *state = &watcher->locked.state, copy;
	bool changed;

	/* A request that ended because we are ending says nothing about the service. */
	if (watcher_stopping(watcher))
		return;
	pthread_mutex_lock(&watch->mutex);
	changed = step(&watcher->locked.health, outcome);
	state->health = watcher->locked.health.state;
	state->polls += outcome != OUTCOME_STARTING;
	state->unknowns += outcome == OUTCOME_UNKNOWN;
	/* A single bad answer of an armed source is counted, but it is not its state. */
	if (changed || state->health != SOURCE_ARMED)
		text_set(state->why, sizeof(state->why), outcome == OUTCOME_KNOWN ? "" : why);
	copy = *state;
	pthread_mutex_unlock(&watch->mutex);
	/* Without the lock: the callback may ask for the states. */
	if (changed && watch->options.health)
		watch->options.health(watch->options.arg, &copy);
}

void watcher_known(struct watcher *watcher)
{
	report(watcher, OUTCOME_KNOWN, "");
}

void watcher_unknown(struct watcher *watcher, const char *why)
{
	report(watcher, OUTCOME_UNKNOWN, why);
}

void watcher_unavailable(struct watcher *watcher, const char *why)
{
	report(watcher, OUTCOME_UNAVAILABLE, why);
}

void watcher_starting(struct watcher *watcher, const char *why)
{
	report(watcher, OUTCOME_STARTING, why);
}

static const struct notice *find_told(const struct notices *told, const struct notice *notice)
{
	for (size_t i = 0; i < told->count; i++)
		if (text_equal(told->items[i].source, notice->source) &&
			text_equal(told->items[i].identity, notice->identity))
			return &told->items[i];
	return NULL;
}

/* The clocks of the service and of this machine are read at each poll: a deadline that differs by less is the same. */
static bool is_news(const struct notices *told, const struct notice *notice)
{
	const struct notice *old = find_told(told, notice);

	if (notice->kind == NOTICE_CANCELLED || !old)
		return (old != NULL) == (notice->kind == NOTICE_CANCELLED);
	if (old->kind != notice->kind)
		return old->kind == NOTICE_ADVICE;
	return notice->kind == NOTICE_STOP && notice->deadline_ms < old->deadline_ms - EARLIER_MS;
}

void watcher_notice(struct watcher *watcher, const struct notice *notice)
{
	struct cloud_watch *watch = watcher->watch;
	bool news;

	pthread_mutex_lock(&watch->mutex);
	news = is_news(&watcher->locked.told, notice);
	if (news)
		notices_add(&watcher->locked.told, notice);
	pthread_mutex_unlock(&watch->mutex);
	if (news && watch->options.notice)
		watch->options.notice(watch->options.arg, notice);
}

/* No override and no firmware told: ask, and become the watcher of what answers. */
static bool find_provider(struct watcher *watcher)
{
	const struct provider *found;
	char endpoint[160];

	detect_azure_endpoint(watcher_surroundings(watcher), endpoint, sizeof(endpoint));
	found = detect_probe(endpoint, watcher_cancel(watcher));
	if (!found) {
		watcher_unavailable(watcher,
			"no cloud's metadata service answers: name it with --notice "
			"aws, gcp or azure if this is one");
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

	if (watcher->provider || find_provider(watcher))
		watcher->provider->run(watcher);
	return NULL;
}

static int add(struct cloud_watch *watch, const struct provider *provider, const char *name,
	const char *argument, struct err *err)
{
	struct watcher *watcher = &watch->watchers[watch->count];

	for (size_t i = 0; i < watch->count; i++)
		if (watch->watchers[i].provider == provider &&
			text_equal(watch->watchers[i].argument, argument))
			return 0;
	if (watch->count == WATCHERS_MOST)
		return err_set(err, ERR_INVALID, "more than %d notice sources", WATCHERS_MOST);
	watcher->watch = watch;
	watcher->provider = provider;
	watcher->argument = text_copy(argument);
	text_set(watcher->locked.state.name, sizeof(watcher->locked.state.name), name);
	health_init(&watcher->locked.health, clock_monotonic_ms());
	watch->count++;
	return 0;
}

static int add_detected(struct cloud_watch *watch, struct err *err)
{
	unsigned found = detect_choose(&watch->surroundings);

	if (found & DETECT_PROBE)
		return add(watch, NULL, "auto", "", err);
	if ((found & DETECT_AWS) && add(watch, &provider_aws, "aws", "", err) < 0)
		return -1;
	if ((found & DETECT_GCP) && add(watch, &provider_gcp, "gcp", "", err) < 0)
		return -1;
	if ((found & DETECT_AZURE) && add(watch, &provider_azure, "azure", "", err) < 0)
		return -1;
	return 0;
}

static int add_named(struct cloud_watch *watch, const char *name, struct err *err)
{
	const struct provider *provider;

	if (strcmp(name, "none") == 0)
		return err_set(err, ERR_INVALID,
			"\"none\" is none: leave out either that or the other sources");
	if (strcmp(name, "auto") == 0)
		return add_detected(watch, err);
	if (text_starts(name, "file:") && name[5])
		return add(watch, &provider_file, "file", name + 5, err);
	provider = provider_named(name);
	if (!provider || provider == &provider_file)
		return err_set(err, ERR_INVALID,
			"notice source \"%s\" is not known: use auto, none, or a list of aws, gcp, "
			"azure, "
			"file:PATH",
			name);
	return add(watch, provider, name, "", err);
}

static int add_all(struct cloud_watch *watch, const char *sources, struct err *err)
{
	auto_free char *list = text_copy(sources && sources[0] ? sources : "auto");
	char *at = list, *name;

	if (strcmp(list, "none") == 0)
		return 0;
	while ((name = strsep(&at, ",")))
		if (add_named(watch, name, err) < 0)
			return -1;
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
	while (!failed && watch->started < watch->count) {
		struct watcher *watcher = &watch->watchers[watch->started];

		failed = pthread_create(&watcher->thread, &attributes, watch_source, watcher);
		watch->started += !failed;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failed ? err_os(err, failed, "thread for a notice source") : 0;
}

int cloud_watch_start(
	const struct cloud_options *options, struct cloud_watch **result, struct err *err)
{
	struct cloud_watch *watch = memory_new(sizeof(*watch));

	watch->options = *options;
	watch->options.sources = NULL;
	if (cancel_init(&watch->cancel, err) < 0) {
		free(watch);
		return -1;
	}
	pthread_mutex_init(&watch->mutex, NULL);
	detect_look(&watch->surroundings);
	if (add_all(watch, options->sources, err) < 0 || start_threads(watch, err) < 0) {
		cloud_watch_stop(watch);
		return -1;
	}
	*result = watch;
	return 0;
}

void cloud_watch_stop(struct cloud_watch *watch)
{
	if (!watch)
		return;
	cancel_raise(&watch->cancel);
	for (size_t i = 0; i < watch->started; i++)
		pthread_join(watch->watchers[i].thread, NULL);
	for (size_t i = 0; i < watch->count; i++)
		free(watch->watchers[i].argument);
	pthread_mutex_destroy(&watch->mutex);
	cancel_release(&watch->cancel);
	free(watch);
}

size_t cloud_watch_states(struct cloud_watch *watch, struct source_state *states, size_t most)
{
	pthread_mutex_lock(&watch->mutex);
	for (size_t i = 0; i < watch->count && i < most; i++)
		states[i] = watch->watchers[i].locked.state;
	pthread_mutex_unlock(&watch->mutex);
	return watch->count;
}
