/* Where a save goes on beside its number, under fixed names: which do (struct family), and which of
 * the newest save are still to come. See detector.h. */
#include "detector_parts.h"

#include "base/cleanup.h"

#include <stdlib.h>

/* A fixed name is nearer to one number than to another by this ratio, or of neither. */
#define NEAR_NUM 3
#define NEAR_DEN 2
/* Nobody waits longer within a save than so many quiet times. */
#define LAG_MOST 10

/* --- learning --- */

/* A fixed name's writes from one number to the next. */
struct visit {
	uint64_t name;
	int64_t first_ms, last_ms; /* the first was begun, the last has ended */
	unsigned writes;
};

/* Was it written behind the number, or while that was? */
static bool is_since(const struct save_round *round, const struct fixed_write *write)
{
	return round->number < 0 || write->begun_ms >= round->begun_ms ||
	       write->ms > round->last_ms;
}

static void note_visit(struct visit *visits, size_t *count, const struct fixed_write *write)
{
	struct visit *visit = visits;

	while (visit < visits + *count && visit->name != write->name)
		visit++;
	if (visit == visits + *count)
		visits[(*count)++] = (struct visit){.name = write->name, .last_ms = write->ms};
	/* The newest one comes first here. */
	visit->first_ms = write->begun_ms;
	visit->writes++;
}

static bool is_nearer(int64_t pause_ms, int64_t other_ms)
{
	return pause_ms * NEAR_NUM < other_ms * NEAR_DEN;
}

/* What was learned of one side, before the number or behind it, from one save. */
struct side {
	struct named_file *names;
	size_t count;
	int64_t lag_ms; /* the longest */
};

static void note_partner(const struct detector *detector, struct side *side,
			 const struct visit *visit, int64_t lag_ms)
{
	if (lag_ms > LAG_MOST * detector->quiet_ms)
		return;
	side->names[side->count++] = (struct named_file){visit->name, 0};
	side->lag_ms = lag_ms > side->lag_ms ? lag_ms : side->lag_ms;
}

/* The next number is begun at `next_ms`. What came nearer behind the number than before the next
 * one is its partner; what came once, and nearer before the next one, is that one's. */
static void learn_partners(const struct detector *detector, struct family *family, int64_t next_ms)
{
	const struct save_round *round = &family->round;
	uint64_t first = detector_first_write(detector), most = detector->write_count - first + 1;
	auto_free struct visit *visits = memory_new(most * sizeof(*visits));
	auto_free struct named_file *names = memory_new(2 * most * sizeof(*names));
	struct side before = {.names = names}, behind = {.names = names + most};
	size_t visited = 0;

	for (uint64_t i = detector->write_count; i > first; i--) {
		const struct fixed_write *write = detector_write_at(detector, i - 1);

		if (write->ms < round->begun_ms)
			break;
		if (write->name != WRITE_RENAMED && write->pairs && is_since(round, write))
			note_visit(visits, &visited, write);
	}
	for (const struct visit *visit = visits; visit < visits + visited; visit++) {
		int64_t behind_ms =
			visit->first_ms > round->last_ms ? visit->first_ms - round->last_ms : 0;
		int64_t before_ms = next_ms > visit->last_ms ? next_ms - visit->last_ms : 0;

		if (is_nearer(behind_ms, before_ms))
			note_partner(detector, &behind, visit, behind_ms);
		else if (visit->writes == 1 && is_nearer(before_ms, behind_ms))
			note_partner(detector, &before, visit, before_ms);
	}
	signature_learn(&family->before, round->number, before.names, before.count, before.lag_ms);
	signature_learn(&family->behind, round->number, behind.names, behind.count, behind.lag_ms);
}

/* NULL: it is not remembered. */
static const struct fixed_write *last_write(const struct detector *detector, uint64_t name)
{
	uint64_t last = detector_last_write_of(detector, name);

	return last == UINT64_MAX ? NULL : detector_write_at(detector, last);
}

/* Has the name been written since the number was begun? */
static bool is_here(const struct detector *detector, const struct save_round *round, uint64_t name)
{
	const struct fixed_write *last = last_write(detector, name);

	return last && is_since(round, last);
}

bool detector_is_followed(const struct detector *detector, const struct family *family,
			  int64_t number)
{
	const struct save_round *round = &family->round;

	if (number != round->number)
		return number == family->followed;
	for (size_t i = 0; i < family->behind.count && !round->said; i++) {
		const struct known_name *name = &family->behind.names[i];

		if (signature_expects(&family->behind, name) &&
		    !is_here(detector, round, name->hash))
			return false;
	}
	return true;
}

void detector_note_number_written(struct detector *detector, struct checkpoint *checkpoint,
				  int64_t now_ms)
{
	struct family *family = checkpoint->family;
	struct save_round *round = &family->round;

	if (family->beside || family->stream || family->parts)
		return;
	if (round->number != checkpoint->number) {
		if (detector_is_followed(detector, family, round->number))
			family->followed = round->number;
		if (round->number >= 0)
			learn_partners(detector, family, now_ms);
		*round = (struct save_round){.number = checkpoint->number, .begun_ms = now_ms};
	}
	round->last_ms = now_ms;
	round->said = false;
}

/* --- waiting --- */

static bool is_being_written(const struct detector *detector, const struct save_round *round,
			     uint64_t name)
{
	const struct checkpoint *fixed = checkpoint_table_find_key(&detector->table, "");

	if (!fixed || fixed->state != CHECKPOINT_UNDER_WAY)
		return false;
	each_file (file, fixed)
		if (file->name == name && (file->marks & FILE_FRESH) &&
		    file->begun_ms >= round->begun_ms)
			return true;
	return false;
}

/* Until when the names of one side, or the number behind them, may come; 0: all are there, or their
 * time does not run. */
static int64_t expected_until_ms(const struct detector *detector, const struct family *family,
				 bool before, int64_t now_ms)
{
	const struct signature *side = before ? &family->before : &family->behind;
	const struct save_round *round = &family->round;
	int64_t wait_ms = verdict_partner_ms(detector->quiet_ms, side->pause_ms), until_ms = 0;

	for (size_t i = 0; i < side->count; i++) {
		uint64_t name = side->names[i].hash;
		bool here = is_here(detector, round, name);
		int64_t at_ms = 0;

		if (!signature_expects(side, &side->names[i]))
			continue;
		if (before && here)
			at_ms = last_write(detector, name)->ms + wait_ms;
		else if (!before && !here && round->number >= 0 && !round->said)
			at_ms = is_being_written(detector, round, name)
					? now_ms + detector->quiet_ms
					: round->last_ms + wait_ms;
		until_ms = at_ms > until_ms ? at_ms : until_ms;
	}
	return until_ms;
}

int64_t detector_partners_until_ms(const struct detector *detector, int64_t now_ms)
{
	int64_t until_ms = 0;

	if (detector->job_end != JOB_END_NOT_YET)
		return 0;
	for (const struct family *family = detector->table.families; family; family = family->next)
		for (int before = 0; before < 2; before++) {
			int64_t at_ms = expected_until_ms(detector, family, before, now_ms);

			until_ms = at_ms > until_ms ? at_ms : until_ms;
		}
	return until_ms > now_ms ? until_ms : 0;
}
