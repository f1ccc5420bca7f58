#include "monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "shared_file.h"
#include "shim/reprieve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 512u
#define SLOTS_AT 4096u
#define PAGE_SIZE_ALL (SLOTS_AT + SLOTS * sizeof(struct reprieve__slot))
#define FLAG_UP_MOST_MS 60000

_Static_assert(sizeof(struct reprieve__slot) == 64, "one line of the cache");
_Static_assert(sizeof(struct reprieve__page) == 192, "as reprieve.py reads it");

/* What earlier scans have read from a slot. */
struct slot_history {
	pid_t pid; /* 0: free */
	uint32_t saved_count, step_count;
	bool saved; /* a "saved" report is not delivered yet */
	int64_t saved_step;
	uint64_t steps;
	int64_t step_ms;
	double mean_ms;
};

struct progress_page {
	struct shared_file file;
	struct reprieve__page *page;
	struct reprieve__page intact; /* for a job that empties it */
	struct slot_history slots[SLOTS];
	uint32_t newest;  /* number of the newest request */
	uint32_t number;  /* number of the current request; 0: none */
	bool over;        /* the request has ended, but its flag is still up */
	int64_t lower_ms; /* when the flag is lowered at the latest */
	/* the newest step that was reported; -1: none was */
	int64_t last_step;
};

static struct reprieve__slot *slot_at(const struct progress_page *page, size_t index)
{
	return (struct reprieve__slot *)((char *)page->page + SLOTS_AT) + index;
}

static uint32_t load_word(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* --- life --- */

int progress_page_open(const char *path, const char *doorbell, struct progress_page **result,
		       struct err *err)
{
	auto_(progress_page_close) struct progress_page *page = memory_new(sizeof(*page));
	struct reprieve__page *intact = &page->intact;

	page->file = (struct shared_file){.fd = -1, .slot = -1};
	page->last_step = -1;
	if (strlen(doorbell) >= sizeof(intact->doorbell))
		return err_set(err, ERR_INVALID, "%s: too long for a socket's name", doorbell);
	if (shared_file_make(&page->file, path, PAGE_SIZE_ALL, err) < 0)
		return err_wrap(err, "report page");
	page->page = page->file.memory;
	intact->version = REPRIEVE__VERSION;
	intact->slot_offset = SLOTS_AT;
	intact->slot_size = sizeof(struct reprieve__slot);
	intact->slot_count = SLOTS;
	text_set(intact->doorbell, sizeof(intact->doorbell), doorbell);
	*page->page = *intact;
	intact->magic = REPRIEVE__MAGIC;
	__atomic_store_n(&page->page->magic, REPRIEVE__MAGIC, __ATOMIC_RELEASE);
	*result = steal(&page);
	return 0;
}

void progress_page_close(struct progress_page *page)
{
	if (!page)
		return;
	if (page->page) {
		__atomic_store_n(&page->page->magic, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&page->page->requested, 0, __ATOMIC_RELEASE);
	}
	shared_file_remove(&page->file);
	free(page);
}

/* The slots are gone: who had one is not asked by the flag any more, and its steps are unknown. */
static void mend_page(struct progress_page *page)
{
	page->intact.requested = page->number;
	page->intact.ended = page->over ? page->number : 0;
	(void)shared_file_keep_whole(&page->file, &page->intact, sizeof(page->intact),
				     "the page that it reports to");
}

const char *progress_page_path(const struct progress_page *page)
{
	return page->file.path;
}

/* --- the flag --- */

void progress_page_request(struct progress_page *page)
{
	/* 0 means "no request", also after 2^32 of them. */
	if (++page->newest == 0)
		page->newest = 1;
	page->number = page->newest;
	page->over = false;
	__atomic_store_n(&page->page->requested, page->number, __ATOMIC_RELEASE);
}

static void lower_flag(struct progress_page *page)
{
	page->number = 0;
	page->over = false;
	__atomic_store_n(&page->page->requested, 0, __ATOMIC_RELEASE);
}

void progress_page_end_request(struct progress_page *page, bool answered, int64_t now_ms)
{
	if (page->number == 0 || page->over)
		return;
	__atomic_store_n(&page->page->ended, page->number, __ATOMIC_RELEASE);
	if (!answered || progress_page_count_unanswered(page) == 0) {
		lower_flag(page);
		return;
	}
	/* A rank that saves a part of its own may still be in the middle of a step. */
	page->over = true;
	page->lower_ms = now_ms + FLAG_UP_MOST_MS;
}

/* --- the slots --- */

static bool is_process_there(pid_t pid)
{
	return kill(pid, 0) == 0 || errno != ESRCH;
}

static void note_steps(struct slot_history *slot, uint32_t step_count, int64_t now_ms)
{
	uint32_t more = step_count - slot->step_count;
	double each_ms = (double)(now_ms - slot->step_ms) / more;

	slot->steps += more;
	slot->step_count = step_count;
	/* The time before the first report is start-up, not a step. */
	if (slot->step_ms > 0 && each_ms > 0) {
		/* A moving average over some ten seconds. */
		double weight = (double)(now_ms - slot->step_ms) / 10000;

		if (slot->mean_ms <= 0 || weight > 1)
			weight = 1;
		slot->mean_ms += weight * (each_ms - slot->mean_ms);
	}
	slot->step_ms = now_ms;
}

static void scan_slot(struct progress_page *page, size_t index, int64_t now_ms)
{
	struct reprieve__slot *slot = slot_at(page, index);
	struct slot_history *history = &page->slots[index];
	uint32_t pid = load_word(&slot->pid), saved_count, step_count;

	if (pid != 0 && (pid > INT32_MAX || !is_process_there((pid_t)pid)))
		/* A process in a PID namespace of its own also appears to be gone here, and its
		 * reports are lost. */
		__atomic_compare_exchange_n(&slot->pid, &pid, 0, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED);
	if (pid == 0 || pid > INT32_MAX) {
		/* Its last "saved" may have to wait until the other processes have answered. */
		if (!history->saved)
			*history = (struct slot_history){0};
		return;
	}
	if (history->pid != (pid_t)pid)
		*history = (struct slot_history){.pid = (pid_t)pid};
	saved_count = load_word(&slot->saved_count);
	if (saved_count != history->saved_count) {
		history->saved_count = saved_count;
		history->saved_step = __atomic_load_n(&slot->saved_step, __ATOMIC_RELAXED);
		history->saved = true;
	}
	step_count = load_word(&slot->step_count);
	if (step_count != history->step_count)
		note_steps(history, step_count, now_ms);
}

int64_t progress_page_last_step(struct progress_page *page)
{
	int64_t lowest = INT64_MAX;

	for (size_t index = 0; index < SLOTS; index++) {
		const struct reprieve__slot *slot = slot_at(page, index);
		int64_t step = __atomic_load_n(&slot->step, __ATOMIC_RELAXED);

		/* A slot that its process has given back since the last scan has its last step. */
		if ((load_word(&slot->pid) != 0 || page->slots[index].pid != 0) &&
		    load_word(&slot->step_count) != 0 && step >= 0 && step < lowest)
			lowest = step;
	}
	if (lowest < INT64_MAX)
		page->last_step = lowest;
	return page->last_step;
}

void progress_page_scan(struct progress_page *page, int64_t now_ms)
{
	mend_page(page);
	/* Before the slots of processes that have ended are freed. */
	progress_page_last_step(page);
	for (size_t index = 0; index < SLOTS; index++)
		scan_slot(page, index, now_ms);
	if (page->over && (now_ms >= page->lower_ms || progress_page_count_unanswered(page) == 0))
		lower_flag(page);
}

void progress_page_deliver_saved(struct progress_page *page, progress_page_saved_fn *saved,
				 void *argument)
{
	if (page->number != 0 && !page->over && progress_page_count_unanswered(page) > 0)
		return;
	for (size_t index = 0; index < SLOTS; index++) {
		struct slot_history *history = &page->slots[index];
		int64_t step = history->saved_step;

		if (!history->saved)
			continue;
		history->saved = false;
		saved(argument, history->pid, step < 0 ? -1 : step);
	}
}

static bool slot_is_polling(const struct progress_page *page, size_t index)
{
	const struct reprieve__slot *slot = slot_at(page, index);

	return load_word(&slot->pid) != 0 && load_word(&slot->polls) != 0;
}

static bool has_answered(const struct progress_page *page, size_t index)
{
	return page->number == 0 || load_word(&slot_at(page, index)->answered) == page->number;
}

size_t progress_page_count_polling(const struct progress_page *page)
{
	size_t count = 0;

	for (size_t index = 0; index < SLOTS; index++)
		count += slot_is_polling(page, index);
	return count;
}

size_t progress_page_count_unanswered(const struct progress_page *page)
{
	size_t count = 0;

	for (size_t index = 0; index < SLOTS; index++)
		count += slot_is_polling(page, index) && !has_answered(page, index);
	return count;
}

bool progress_page_read_progress(const struct progress_page *page,
				 struct training_progress *progress)
{
	*progress = (struct training_progress){.step = INT64_MAX};
	for (size_t index = 0; index < SLOTS; index++) {
		const struct slot_history *history = &page->slots[index];
		int64_t step = __atomic_load_n(&slot_at(page, index)->step, __ATOMIC_RELAXED);

		if (history->pid == 0 || history->steps == 0)
			continue;
		progress->step = step < progress->step ? step : progress->step;
		progress->steps =
			history->steps > progress->steps ? history->steps : progress->steps;
		progress->step_ms =
			history->step_ms > progress->step_ms ? history->step_ms : progress->step_ms;
		if (history->mean_ms > progress->mean_ms)
			progress->mean_ms = history->mean_ms;
	}
	return progress->steps > 0;
}
