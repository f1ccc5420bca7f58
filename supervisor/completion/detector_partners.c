/* Where a save goes on beside its number, under fixed names: which do (partners.h), and which of
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

/* What came nearer behind the number than before the next one is its partner; what came once, and
 * nearer before the next one, is that one's. False: neither. */
static bool find_partner(const struct detector *detector, const struct save_round *round,
			 const struct visit *visit, int64_t next_ms, struct partner *partner)
{
	int64_t behind_ms = visit->first_ms > round->last_ms ? visit->first_ms - round->last_ms : 0;
	int64_t before_ms = next_ms > visit->last_ms ? next_ms - visit->last_ms : 0;

	*partner = (struct partner){.name = visit->name, .lag_ms = behind_ms};
	if (!is_nearer(behind_ms, before_ms)) {
		partner->before = true;
		partner->lag_ms = before_ms;
		if (visit->writes > 1 || !is_nearer(before_ms, behind_ms))
			return false;
	}
	return partner->lag_ms <= LAG_MOST * detector->quiet_ms;
}

/* The next number is begun at `next_ms`. */
static void learn_partners(const struct detector *detector, struct family *family, int64_t next_ms)
{
	const struct save_round *round = &family->round;
	uint64_t first = detector_first_write(detector);
	auto_free struct visit *visits =
		memory_new((detector->write_count - first + 1) * sizeof(*visits));
	auto_free struct partner *seen = NULL;
	size_t visited = 0, count = 0;

	for (uint64_t i = detector->write_count; i > first; i--) {
		const struct fixed_write *write = detector_write_at(detector, i - 1);

		if (write->ms < round->begun_ms)
			break;
		if (write->name != WRITE_RENAMED && write->pairs && is_since(round, write))
			note_visit(visits, &visited, write);
	}
	seen = memory_new((visited + 1) * sizeof(*seen));
	for (size_t i = 0; i < visited; i++)
		count += find_partner(detector, round, &visits[i], next_ms, &seen[count]);
	partners_learn(&family->partners, seen, count);
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
	for (size_t i = 0; i < family->partners.count && !round->said; i++) {
		const struct partner *partner = &family->partners.items[i];

		if (!partner->before && partners_expects(&family->partners, partner) &&
		    !is_here(detector, round, partner->name))
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

/* Until when the other one of the two may come; 0: it is there, or its time does not run. */
static int64_t expected_until_ms(const struct detector *detector, const struct family *family,
				 const struct partner *partner, int64_t now_ms)
{
	const struct save_round *round = &family->round;
	int64_t wait_ms = verdict_partner_ms(detector->quiet_ms, partner->lag_ms);
	bool here = is_here(detector, round, partner->name);

	if (partner->before)
		return here ? last_write(detector, partner->name)->ms + wait_ms : 0;
	if (round->number < 0 || round->said || here)
		return 0;
	return is_being_written(detector, round, partner->name)
		       ? now_ms + detector->quiet_ms
		       : round->last_ms + wait_ms;
}

int64_t detector_partners_until_ms(const struct detector *detector, int64_t now_ms)
{
	int64_t until_ms = 0;

	if (detector->job_end != JOB_END_NOT_YET)
		return 0;
	for (const struct family *family = detector->table.families; family; family = family->next)
		for (size_t i = 0; i < family->partners.count; i++) {
			const struct partner *partner = &family->partners.items[i];
			int64_t at_ms =
				partners_expects(&family->partners, partner)
					? expected_until_ms(detector, family, partner, now_ms)
					: 0;

			until_ms = at_ms > until_ms ? at_ms : until_ms;
		}
	return until_ms > now_ms ? until_ms : 0;
}
