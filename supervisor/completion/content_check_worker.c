/* A check is about one generation of the detector. An answer about another generation is dropped
 * and the check is made again, because files were written meanwhile. */
#include "content_check_worker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

#include <stdlib.h>

/* More files than this are checked on the thread. One file takes some 50 us from the page cache. */
#define CHECK_AT_ONCE_MOST 100

struct checker {
	struct loop *loop;
	const char *directory;
	const struct profile *profile;
	void (*ready)(void *arg);
	void *arg;

	/* NULL until there is work for it */
	struct workers *workers;
	/* the user knows that we wait for the rest of a checkpoint */
	bool said_waiting;
	/* the members below belong to the thread */
	bool running;
	/* `findings` are about `generation`, and nobody has taken them yet */
	bool answered;
	uint64_t generation;
	struct path_set fresh;
	struct findings findings;
};

struct checker *content_check_worker_new(struct loop *loop, const char *directory,
					 const struct profile *profile, void (*ready)(void *arg),
					 void *arg)
{
	struct checker *checker = memory_new(sizeof(*checker));

	*checker = (struct checker){
		.loop = loop,
		.directory = directory,
		.profile = profile,
		.ready = ready,
		.arg = arg,
	};
	return checker;
}

void content_check_worker_free(struct checker *checker)
{
	if (!checker)
		return;
	workers_free(checker->workers);
	path_set_release(&checker->fresh);
	findings_release(&checker->findings);
	free(checker);
}

/* If the directory cannot be read there are no findings, and the other evidence decides. */
static void check_fresh_files(struct checker *checker, const struct path_set *fresh,
			      struct findings *findings)
{
	struct check check = {
		.directory = checker->directory,
		.profile = checker->profile,
		.fresh = fresh,
	};
	struct err err;

	if (content_check_run(&check, findings, &err) < 0)
		log_debug("the content of the written files is not checked: %s", err.text);
}

static void run_checker(void *arg)
{
	struct checker *checker = arg;

	check_fresh_files(checker, &checker->fresh, &checker->findings);
}

static void checker_done(void *arg)
{
	struct checker *checker = arg;

	checker->running = false;
	checker->answered = true;
	checker->ready(checker->arg);
}

/* Moves `fresh` to the checker. False: there is no thread. */
static bool start_checker(struct checker *checker, struct path_set *fresh, uint64_t generation)
{
	if (!checker->workers && workers_new(checker->loop, 1, &checker->workers, NULL) < 0)
		return false;
	path_set_release(&checker->fresh);
	checker->fresh = *fresh;
	*fresh = (struct path_set){0};
	checker->generation = generation;
	checker->running = true;
	workers_run(checker->workers, run_checker, checker_done, checker);
	return true;
}

/*
 * True: *findings are about `fresh` at `generation`, and the caller owns them. False: the thread is
 * checking, and `fresh` may have been moved to it.
 */
static bool take_or_start_check(struct checker *checker, struct path_set *fresh,
				uint64_t generation, bool at_once, struct findings *findings)
{
	if (checker->answered) {
		checker->answered = false;
		*findings = checker->findings;
		checker->findings = (struct findings){0};
		if (checker->generation == generation)
			return true;
		findings_release(findings);
	}
	if (!at_once && checker->running)
		return false;
	if (!at_once && fresh->count > CHECK_AT_ONCE_MOST &&
	    start_checker(checker, fresh, generation))
		return false;
	check_fresh_files(checker, fresh, findings);
	return true;
}

static void add_fresh(void *arg, const char *path)
{
	path_set_mark(arg, path, 1);
}

static void log_findings(struct checker *checker, const struct findings *findings,
			 enum detector_verdict verdict)
{
	for (size_t i = 0; i < findings->count; i++) {
		const char *why = findings->items[i].why;

		if (verdict != DETECTOR_BUSY)
			log_warn("%s: not saved", why);
		else if (checker->said_waiting)
			log_debug("%s: waiting for the rest", why);
		else
			log_note("%s: not saved until the rest is written", why);
		checker->said_waiting = true;
	}
}

enum detector_verdict content_check_worker_poll(struct checker *checker, struct detector *detector,
						bool at_once, int64_t *at_ms)
{
	auto_(findings_release) struct findings findings = {0};
	struct path_set fresh = {0};
	enum detector_verdict verdict = DETECTOR_BUSY;

	*at_ms = DETECTOR_NEVER;
	detector_each_unchecked(detector, add_fresh, &fresh);
	if (take_or_start_check(checker, &fresh, detector_generation(detector), at_once,
				&findings)) {
		verdict = detector_apply_findings(detector, &findings, clock_monotonic_ms(), at_ms);
		log_findings(checker, &findings, verdict);
	}
	path_set_release(&fresh);
	return verdict;
}
