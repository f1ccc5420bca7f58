/* Of a gang: a snapshot waits for its round, is a part of it, and waits for those of the others. */
#include "snapshot_run.h"

/* A part of a gang's snapshot is of one checkpoint, whole, and holds nothing newer: the members
 * would resume from different steps. */
bool snapshot_round_refuse(struct snapshot_run *run)
{
	struct snapshot_outcome *report = &run->report;

	if (!run->owner->options.of_gang || report->empty_part ||
	    !(report->lacks_newest || run->moved))
		return false;
	err_set(&report->err, ERR_RETRY, "the checkpoint of step %lld is not whole",
		(long long)report->checkpoint.step);
	report->result.id = report->id;
	report->result.changed = run->moved;
	report->never = report->lacks_newest && !run->moved;
	return true;
}

bool snapshot_round_is_settled(void *arg)
{
	struct snapshot_run *run = arg;
	const struct snapshot_queue_options *options = &run->owner->options;

	atomic_store(&run->awaits_others, true);
	return options->round_is_settled(options->arg, run->report.id.sequence);
}

bool snapshot_queue_wants_round(const struct snapshot_queue *queue)
{
	return queue->options.of_gang && queue->waiting && !queue->running;
}

void snapshot_queue_take_round(struct snapshot_queue *queue, uint32_t round, uint64_t generation)
{
	if (!snapshot_queue_wants_round(queue))
		return;
	queue->waiting = false;
	queue->next.generation = generation;
	snapshot_queue_start(queue, &queue->next, round);
}

void snapshot_queue_give_empty(struct snapshot_queue *queue, uint32_t round)
{
	struct snapshot_run *run;

	if (queue->running)
		return;
	run = snapshot_run_new(queue, round);
	run->report.empty_part = true;
	run->report.checkpoint.step = -1;
	snapshot_run_start(queue, run);
}

bool snapshot_queue_is_running(const struct snapshot_queue *queue)
{
	return queue->running;
}

bool snapshot_queue_awaits_gang(const struct snapshot_queue *queue)
{
	return snapshot_queue_wants_round(queue) ||
	       (queue->running && atomic_load(&queue->running->awaits_others));
}
