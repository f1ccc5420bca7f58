/* A check is about one checkpoint at one generation. An answer about another is dropped and the
 * check is made again, because files were written meanwhile. */
#include "content_check_worker.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

#include <stdlib.h>

/* Lines of log about files that are not saved. */
#define SAID_MOST 5

struct checker {
	struct checker_options options;

	struct workers *workers;
	/* the user knows that we wait for the rest of a checkpoint */
	bool said_waiting;
	/* lines on files that will not be saved; the last of them: several checkpoints that are
	 * given up may have one defect */
	unsigned said_final;
	char *last_final;
	/* what the last check is about; the thread owns it and the results while it runs */
	bool running, answered;
	char *key;
	uint64_t changed;
	struct path_set fresh, alone, valid;
	struct findings findings;
};

int content_check_worker_new(const struct checker_options *options, struct checker **result,
			     struct err *err)
{
	struct checker *checker = memory_new(sizeof(*checker));

	checker->options = *options;
	checker->options.check.fresh = &checker->fresh;
	checker->options.check.alone = &checker->alone;
	checker->options.check.valid = &checker->valid;
	if (workers_new(options->loop, 1, &checker->workers, err) < 0) {
		free(checker);
		return -1;
	}
	*result = checker;
	return 0;
}

bool content_check_worker_end_within(struct checker *checker, int64_t milliseconds)
{
	return workers_end_within(checker->workers, milliseconds);
}

void content_check_worker_free(struct checker *checker)
{
	if (!checker)
		return;
	workers_free(checker->workers);
	path_set_release(&checker->fresh);
	path_set_release(&checker->alone);
	path_set_release(&checker->valid);
	findings_release(&checker->findings);
	free(checker->last_final);
	free(checker->key);
	free(checker);
}

/* If the directory cannot be read there are no findings, and the other evidence decides. */
static void run_checker(void *arg)
{
	struct checker *checker = arg;
	struct err err;

	if (content_check_run(&checker->options.check, &checker->findings, &err) < 0)
		log_debug("the content of the written files is not checked: %s", err.text);
}

static void checker_done(void *arg)
{
	struct checker *checker = arg;

	checker->running = false;
	checker->answered = true;
	checker->options.ready(checker->options.arg);
}

static void add_fresh(void *arg, const char *path)
{
	path_set_mark(arg, path, 1);
}

static void begin_check(struct checker *checker, const struct checkpoint *checkpoint)
{
	path_set_release(&checker->fresh);
	path_set_release(&checker->alone);
	path_set_release(&checker->valid);
	findings_release(&checker->findings);
	free(checker->key);
	checker->key = text_copy(checkpoint->key);
	checker->changed = checkpoint->changed;
	checker->answered = false;
	detector_each_unchecked(checkpoint, add_fresh, &checker->fresh);
	each_file (file, checkpoint)
		if (file->marks & FILE_ADDED)
			path_set_mark(&checker->alone, file->path, 1);
}

bool content_check_worker_run(struct checker *checker, struct detector *detector,
			      struct checkpoint *checkpoint)
{
	bool same;

	if (checker->running)
		return false;
	same = text_equal(checker->key, checkpoint->key) && checker->changed == checkpoint->changed;
	if (!checker->answered || !same) {
		begin_check(checker, checkpoint);
		checker->running = true;
		workers_run(checker->workers, run_checker, checker_done, checker);
		return false;
	}
	checker->answered = false;
	detector_note_findings(detector, checkpoint, &checker->findings, &checker->valid,
			       clock_monotonic_ms());
	return true;
}

bool content_check_worker_is_busy(const struct checker *checker)
{
	return checker->running;
}

static void log_final(struct checker *checker, const char *why)
{
	if (text_equal(checker->last_final, why))
		return;
	free(checker->last_final);
	checker->last_final = text_copy(why);
	checker->said_final++;
	if (checker->said_final < SAID_MOST)
		log_warn("%s: not saved", why);
	else if (checker->said_final == SAID_MOST)
		log_warn("%s: not saved; further files like this are not said: see reprieve status "
			 "--checkpoints",
			 why);
	else
		log_debug("%s: not saved", why);
}

void content_check_worker_log(struct checker *checker, bool final)
{
	for (size_t i = 0; i < checker->findings.count; i++) {
		const char *why = checker->findings.items[i].why;

		if (final)
			log_final(checker, why);
		else if (checker->said_waiting)
			log_debug("%s: waiting for the rest", why);
		else
			log_note("%s: not saved until the rest is written", why);
		checker->said_waiting = true;
	}
}
