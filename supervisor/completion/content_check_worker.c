/* A check looks at all checkpoints that are decided as far as their files are known, each at one
 * generation: the directory is listed once for all. What is written meanwhile makes the answer
 * about that checkpoint void, and it is looked at again. */
#include "tracker_state.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"

#include <stdlib.h>

/* Lines of log about files that are not saved. */
#define SAID_MOST 5

/* More of them wait for the next check, so that the newest is not kept waiting by thousands. */
#define CHECKED_AT_ONCE 1000

struct checker {
	struct checker_options options;

	struct workers *workers;
	/* the user knows that we wait for the rest of a checkpoint */
	bool said_waiting;
	/* lines on files that will not be saved; the last of them: several checkpoints that are
	 * given up may have one defect */
	unsigned said_final;
	char *last_final;
	/* how many checks there were; what the last one is about: the thread owns it and the
	 * results while it runs */
	uint64_t checks;
	bool running;
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

static void forget_checked(struct checker *checker)
{
	path_set_release(&checker->fresh);
	path_set_release(&checker->alone);
	path_set_release(&checker->valid);
	findings_release(&checker->findings);
}

void content_check_worker_free(struct checker *checker)
{
	if (!checker)
		return;
	workers_free(checker->workers);
	forget_checked(checker);
	free(checker->last_final);
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
	checker->options.ready(checker->options.arg);
}

static void add_fresh(void *arg, const char *path)
{
	path_set_mark(arg, path, 1);
}

static void add_checkpoint(struct checker *checker, struct checkpoint *checkpoint)
{
	checkpoint->check = checker->checks;
	checkpoint->checked = checkpoint->changed;
	detector_each_unchecked(checkpoint, add_fresh, &checker->fresh);
	each_file (file, checkpoint)
		if (checkpoint->added_to)
			path_set_mark(&checker->alone, file->path, 1);
}

static void begin_check(struct checker *checker, struct detector *detector,
			struct checkpoint *first)
{
	int64_t now_ms = clock_monotonic_ms();
	size_t count = 1;

	forget_checked(checker);
	checker->checks++;
	add_checkpoint(checker, first);
	each_under_way (other, &detector->table)
		if (other != first && count < CHECKED_AT_ONCE &&
		    detector_judge(detector, other, now_ms).verdict == VERDICT_COMPLETE) {
			add_checkpoint(checker, other);
			count++;
		}
	checker->running = true;
	workers_run(checker->workers, run_checker, checker_done, checker);
}

/* An answer counts once. */
static bool take_answer(const struct checker *checker, struct checkpoint *checkpoint)
{
	bool answered =
		checkpoint->check == checker->checks && checkpoint->checked == checkpoint->changed;

	checkpoint->check = 0;
	return answered && checker->checks > 0;
}

bool content_check_worker_run(struct checker *checker, struct detector *detector,
			      struct checkpoint *checkpoint)
{
	if (checker->running)
		return false;
	if (!take_answer(checker, checkpoint)) {
		begin_check(checker, detector, checkpoint);
		return false;
	}
	detector_note_findings(detector, checkpoint, &checker->findings, &checker->valid,
			       clock_monotonic_ms());
	return true;
}

bool content_check_worker_is_busy(const struct checker *checker)
{
	return checker->running;
}

static bool finding_concerns(const struct finding *finding, const struct checkpoint *checkpoint)
{
	each_file (file, checkpoint)
		if (path_set_is_below(file->path, finding->path))
			return true;
	return false;
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

void content_check_worker_log(struct checker *checker, const struct checkpoint *checkpoint,
			      bool final)
{
	for (size_t i = 0; i < checker->findings.count; i++) {
		const struct finding *finding = &checker->findings.items[i];

		if (!finding_concerns(finding, checkpoint))
			continue;
		if (final)
			log_final(checker, finding->why);
		else if (checker->said_waiting)
			log_debug("%s: waiting for the rest", finding->why);
		else
			log_note("%s: not saved until the rest is written", finding->why);
		checker->said_waiting = true;
	}
}
