#include "progress_bar.h"

#include "clock.h"
#include "log.h"
#include "progress_text.h"
#include "status_line.h"
#include "workers.h"

#define DRAW_AFTER_MS 500
#define LOOK_EVERY_MS 200
#define TEXT_MOST 256

static void print_progress(const struct progress_facts *facts, bool redraws)
{
	char text[TEXT_MOST];

	progress_text_line(facts, text, sizeof(text));
	if (redraws)
		status_line_show(text);
	else
		log_note("%s", text);
}

static void *run_progress_bar(void *arg)
{
	struct progress_bar *progress = arg;
	int64_t now_ms = clock_monotonic_ms(), began_ms = now_ms;
	int64_t line_ms = now_ms - PROGRESS_LINE_BEFORE_MS;
	struct transfer_meter meter = transfer_meter_new(now_ms, 0);
	struct progress_facts facts;
	bool due;

	pthread_mutex_lock(&progress->mutex);
	while (!progress->locked.stop) {
		condition_wait(&progress->stopping, &progress->mutex, LOOK_EVERY_MS);
		now_ms = clock_monotonic_ms();
		transfer_meter_add(&meter, now_ms, atomic_load(&progress->done));
		facts = transfer_meter_facts(&meter, progress->what, atomic_load(&progress->total),
					     now_ms);
		due = progress->redraws
			      ? now_ms - began_ms >= DRAW_AFTER_MS
			      : progress_is_worth_a_line(now_ms - line_ms, facts.still_ms);
		if (!due || progress->locked.stop)
			continue;
		print_progress(&facts, progress->redraws);
		line_ms = now_ms;
	}
	pthread_mutex_unlock(&progress->mutex);
	status_line_clear();
	return NULL;
}

void progress_bar_start(struct progress_bar *progress, const char *what)
{
	*progress = (struct progress_bar){.what = what};
	pthread_mutex_init(&progress->mutex, NULL);
	condition_init(&progress->stopping);
	progress->redraws = status_line_is_possible();
	if (progress->redraws)
		status_line_keep_clean();
	if (log_shows(LOG_LEVEL_NOTE))
		progress->running =
			parallel_start(&progress->thread, run_progress_bar, progress) == 0;
}

void progress_bar_update(void *arg, uint64_t bytes_done, uint64_t bytes_total)
{
	struct progress_bar *progress = arg;
	uint64_t before = atomic_load(&progress->done);

	atomic_store(&progress->total, bytes_total);
	/* Threads report out of order. */
	while (bytes_done > before &&
	       !atomic_compare_exchange_weak(&progress->done, &before, bytes_done)) {
	}
}

void progress_bar_stop(struct progress_bar *progress)
{
	pthread_mutex_lock(&progress->mutex);
	progress->locked.stop = true;
	pthread_cond_signal(&progress->stopping);
	pthread_mutex_unlock(&progress->mutex);
	if (progress->running)
		pthread_join(progress->thread, NULL);
	pthread_cond_destroy(&progress->stopping);
	pthread_mutex_destroy(&progress->mutex);
}
