/* Fixed names: which of them are written together is learned from the pauses between their writes,
 * and so is which belong to a number (struct family). See detector.h. */
#include "detector_parts.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Two fixed names are written together if the pause between them is shorter than the longest one
 * between two writes of the first, by this ratio. */
#define TOGETHER_NUM 3
#define TOGETHER_DEN 2
/* Nobody trains that briefly between two saves, and any process may be held up for so long. */
#define NOISE_MS 10

struct family *detector_family_led_by(const struct detector *detector,
				      const struct tracked_file *leader)
{
	for (struct family *family = detector->table.families; family; family = family->next)
		if (family->leader == leader->name)
			return family;
	return NULL;
}

/* The writes of fixed names that are remembered: the index of the first, up to `write_count`. */
static uint64_t first_write(const struct detector *detector)
{
	return detector->write_count > DETECTOR_WRITES ? detector->write_count - DETECTOR_WRITES
						       : 0;
}

static const struct fixed_write *write_at(const struct detector *detector, uint64_t index)
{
	return &detector->writes[index % DETECTOR_WRITES];
}

/* Of the last one of the name, or of the partner (partner_name()); UINT64_MAX: it is not
 * remembered.
 */
static uint64_t last_write_of(const struct detector *detector, uint64_t name)
{
	for (uint64_t i = detector->write_count; i > first_write(detector); i--)
		if ((write_at(detector, i - 1)->name | 1) == (name | 1))
			return i - 1;
	return UINT64_MAX;
}

static bool learned_already(const struct named_file *names, size_t count, uint64_t name)
{
	for (size_t i = 0; i < count; i++)
		if (names[i].hash == name)
			return true;
	return false;
}

/* A temporary name that got its final one is not written together with anything. One that was
 * deleted or put aside is: the save that begins with that writes it anew. */
void detector_note_renamed(struct detector *detector, const struct tracked_file *file)
{
	for (size_t i = 0; i < DETECTOR_WRITES; i++)
		if (detector->writes[i].name == file->name)
			detector->writes[i].name = WRITE_RENAMED;
}

/* The pause before a write behind the one at `index`: they are remembered as they ended. */
static int64_t pause_behind(const struct detector *detector, uint64_t index, int64_t begun_ms)
{
	int64_t closed_ms = write_at(detector, index)->ms;

	return begun_ms > closed_ms ? begun_ms - closed_ms : 0;
}

/* Of the pauses from the write at `from` up to the next one of that name. */
static int64_t longest_pause(const struct detector *detector, const struct tracked_file *again,
			     uint64_t from)
{
	int64_t longest = pause_behind(detector, detector->write_count - 1, again->begun_ms);

	for (uint64_t i = from + 1; i < detector->write_count; i++) {
		int64_t pause = pause_behind(detector, i - 1, write_at(detector, i)->begun_ms);

		longest = pause > longest ? pause : longest;
	}
	return longest;
}

/*
 * The same without the time in which we were stalled: when in it the job wrote, nobody knows. Taken
 * for a pause between two saves, it would make two sets of one, and a mixture of two saves would be
 * complete. A set that is taken for larger than it is is only waited for.
 */
static int64_t pause_observed(const struct detector *detector, uint64_t index)
{
	const struct fixed_write *write = write_at(detector, index);
	int64_t stalled_ms = write->stalled_ms - write_at(detector, index - 1)->stalled_ms;
	int64_t pause = pause_behind(detector, index - 1, write->begun_ms);

	return pause > stalled_ms ? pause - stalled_ms : 0;
}

/* Is the pause one between two files of a save, and not one between two saves? */
static bool is_within_save(int64_t pause, int64_t longest)
{
	return pause <= NOISE_MS || pause * TOGETHER_NUM < longest * TOGETHER_DEN;
}

/* Where the save began in which the write at `from` is: other processes may have written their
 * files before it, and do so after it the next time. */
static uint64_t begin_of_save(const struct detector *detector, uint64_t from, int64_t longest)
{
	const struct fixed_write *own = write_at(detector, from);
	uint64_t begin = from;

	while (begin > 0 && detector->write_count - begin < DETECTOR_WRITES) {
		const struct fixed_write *before = write_at(detector, begin - 1);
		int64_t pause = write_at(detector, begin)->begun_ms - before->ms;

		if (before->name == own->name || before->pid == own->pid || before->pid == 0 ||
		    own->pid == 0 || !is_within_save(pause > 0 ? pause : 0, longest))
			break;
		begin--;
	}
	return begin;
}

/*
 * A fixed name was written again. What was written since its last time, up to a pause that is like
 * the one between two saves, is what is written together with it: the signature of saves that this
 * name begins. The best so far is in some of them only.
 */
static void learn_companions(struct detector *detector, const struct tracked_file *again,
			     uint64_t from)
{
	struct named_file names[DETECTOR_WRITES];
	int64_t longest = longest_pause(detector, again, from), pause_ms = 0;
	auto_free char *name = text_format(FAMILY_LED_BY "%016" PRIx64, again->name);
	size_t count = 0;

	for (uint64_t i = begin_of_save(detector, from, longest); i < detector->write_count; i++) {
		const struct fixed_write *write = write_at(detector, i);
		int64_t pause = i > from ? pause_observed(detector, i) : 0;

		if (!is_within_save(pause, longest))
			break;
		pause_ms = pause > pause_ms ? pause : pause_ms;
		if (write->name != WRITE_RENAMED && (!write->best || write->name == again->name) &&
		    !learned_already(names, count, write->name))
			names[count++] = (struct named_file){write->name, write->size};
	}
	if (count > 0)
		signature_learn(&checkpoint_table_family(&detector->table, name)->signature,
				(int64_t)detector->write_count, names, count, pause_ms);
	detector->saves++;
}

/* What lies beside checkpoints begins no save of the others. */
static bool begins_none(const struct tracked_file *file)
{
	if (!companion_file_is(file->path))
		return false;
	each_file (other, file->checkpoint)
		if ((other->marks & FILE_FRESH) && !companion_file_is(other->path))
			return true;
	return false;
}

bool detector_are_together(const struct detector *detector, const struct tracked_file *first,
			   const struct tracked_file *second)
{
	const struct family *family = detector_family_led_by(detector, first);

	return family && signature_has(&family->signature, second->name);
}

static bool lies_beside(const struct checkpoint *fixed, uint64_t name)
{
	each_file (file, fixed)
		if (file->name == name)
			return companion_file_is(file->path);
	return false;
}

/* Was it learned what is written together with it? The writes of what lies beside checkpoints say
 * nothing of that. */
static bool is_learned(const struct detector *detector, const struct tracked_file *file)
{
	for (const struct family *family = detector->table.families; family; family = family->next)
		if (family->leader != 0 && (family->leader == file->name ||
					    (signature_has(&family->signature, file->name) &&
					     !lies_beside(file->checkpoint, family->leader))))
			return true;
	return false;
}

/* It was written in this save already, so the next one has begun: what was not written since is at
 * rest. `last`: its write before this one. */
static void begin_round(struct detector *detector, const struct tracked_file *again,
			const struct fixed_write *last, int64_t now_ms)
{
	struct checkpoint *fixed = again->checkpoint;

	if (last->begun_ms < fixed->begun_ms || begins_none(again))
		return;
	each_file (file, fixed)
		if (file != again &&
		    (file->marks & (FILE_WITNESSED | FILE_TORN)) == FILE_WITNESSED &&
		    !writer_table_has_open(&detector->writers, file->path)) {
			fixed->overtaken |= (file->marks & FILE_FRESH) > 0;
			file->marks &= ~(unsigned)FILE_FRESH;
		}
	fixed->begun_ms = again->begun_ms > last->begun_ms ? again->begun_ms : now_ms;
}

/* In this attempt, or by what earlier ones have learned. */
static bool is_saved(const struct tracked_file *file)
{
	return tracked_file_was_written(file) ||
	       signature_has(&file->checkpoint->family->signature, file->name);
}

bool detector_may_be_one_set(const struct detector *detector, const struct tracked_file *first,
			     const struct tracked_file *second)
{
	return detector_are_together(detector, first, second) ||
	       detector_are_together(detector, second, first) ||
	       (is_saved(first) && is_saved(second) && !is_learned(detector, first) &&
		!is_learned(detector, second));
}

/* It is written together with nothing, whatever was learned. */
static void forget_write(struct detector *detector, struct fixed_write *write)
{
	for (struct family *family = detector->table.families; family; family = family->next)
		signature_forget(&family->signature, write->name);
	write->name = WRITE_RENAMED;
}

/* So many new names in a row, while the fixed names are under way for so many quiet times. */
#define STREAM_LEAST 5
#define STREAM_QUIET_TIMES 3

/*
 * Files that each have a name of their own and are written once, all the time (the parts of a
 * replay buffer), are whole once they are closed. Where they leave the fixed names no pause, they
 * are told apart: nothing waits for them any longer.
 */
static void note_stream(struct detector *detector, const struct tracked_file *file, bool again,
			int64_t now_ms)
{
	const struct checkpoint *fixed = file->checkpoint;
	auto_free char *name = checkpoint_name_stream(file->path);
	struct family *family = name ? checkpoint_table_family(&detector->table, name) : NULL;
	int64_t least_ms = STREAM_QUIET_TIMES * detector->quiet_ms;

	if (!family || family->parts)
		return;
	/* Also if another process writes them too, or what was under way was complete. */
	if (again || !(file->marks & FILE_CREATED) || file->pid != family->once_pid ||
	    family->once_ms < fixed->since_ms) {
		family->once = 0;
		family->once_ms = file->begun_ms;
		family->once_pid = file->pid;
	}
	family->parts |= again;
	family->once += !again;
	/* In the midst of a first save, all names are new. */
	if (!family->stream &&
	    (family->once < STREAM_LEAST || now_ms - fixed->since_ms < least_ms ||
	     detector->written_again_ms <= fixed->since_ms))
		return;
	checkpoint_table_make_stream(&detector->table, family);
	for (size_t i = 0; i < DETECTOR_WRITES; i++)
		if (detector->writes[i].stream == signature_hash(name))
			forget_write(detector, &detector->writes[i]);
}

/* What is in some saves only, what was measured of one, settings, and names that each save has of
 * its own are no partners of its number. */
static bool may_be_partner(const struct tracked_file *file, bool of_stream)
{
	return !of_stream && !companion_file_is(file->path) &&
	       !companion_file_is_best(file->path) && !companion_file_is_result(file->path);
}

static void note_fixed_write(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	uint64_t before = last_write_of(detector, file->name);
	auto_free char *stream = NULL;

	note_stream(detector, file, before != UINT64_MAX, now_ms);
	if (*file->checkpoint->key)
		return;
	stream = checkpoint_name_stream(file->path);
	if (before != UINT64_MAX) {
		detector->written_again_ms = now_ms;
		learn_companions(detector, file, before);
		begin_round(detector, file, write_at(detector, before), now_ms);
	}
	detector->writes[detector->write_count++ % DETECTOR_WRITES] = (struct fixed_write){
		.name = file->name,
		.size = file->size,
		.stream = stream ? signature_hash(stream) : 0,
		.begun_ms = file->begun_ms,
		.ms = now_ms,
		.stalled_ms = detector->stalled_ms,
		.pid = file->pid,
		.best = companion_file_is_best(file->path),
		.pairs = may_be_partner(file, stream != NULL),
	};
}

void detector_file_finished(struct detector *detector, struct tracked_file *file, int64_t now_ms)
{
	struct file_look look = detector_look(detector, file->path);
	uint64_t size = file->size;
	int64_t written = file->written;

	file->written = look.written;
	/* Both the kernel and the shim tell of a close, in any order. */
	if (written != 0 && look.written == written)
		return;
	file->size = look.size;
	if (*file->checkpoint->key)
		return;
	note_fixed_write(detector, file, now_ms);
	detector_note_growth(detector, file, size);
}

/* --- where a save goes on beside its number --- */

/* A fixed name is nearer to one number than to another by this ratio, or of neither. */
#define NEAR_NUM 3
#define NEAR_DEN 2
/* Nobody waits longer within a save than so many quiet times. */
#define LAG_MOST 10

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

/* A partner's name in the signature: odd, if it comes before the number. */
static uint64_t partner_name(uint64_t name, bool before)
{
	return before ? name | 1 : name & ~UINT64_C(1);
}

/* The next number is begun at `next_ms`. What came nearer behind the number than before the next
 * one is its partner; what came once, and nearer before the next one, is that one's. */
static void learn_partners(const struct detector *detector, struct family *family, int64_t next_ms)
{
	const struct save_round *round = &family->round;
	uint64_t first = first_write(detector), most = detector->write_count - first + 1;
	auto_free struct visit *visits = memory_new(most * sizeof(*visits));
	auto_free struct named_file *names = memory_new(most * sizeof(*names));
	size_t visited = 0, count = 0;
	int64_t longest_ms = 0;

	for (uint64_t i = detector->write_count; i > first; i--) {
		const struct fixed_write *write = write_at(detector, i - 1);

		if (write->ms < round->begun_ms)
			break;
		if (write->name != WRITE_RENAMED && write->pairs && is_since(round, write))
			note_visit(visits, &visited, write);
	}
	for (const struct visit *visit = visits; visit < visits + visited; visit++) {
		int64_t behind_ms =
			visit->first_ms > round->last_ms ? visit->first_ms - round->last_ms : 0;
		int64_t before_ms = next_ms > visit->last_ms ? next_ms - visit->last_ms : 0;
		bool behind = is_nearer(behind_ms, before_ms);
		bool before = visit->writes == 1 && is_nearer(before_ms, behind_ms);
		int64_t lag_ms = behind ? behind_ms : before_ms;

		if (!(behind || before) || lag_ms > LAG_MOST * detector->quiet_ms)
			continue;
		names[count++] = (struct named_file){partner_name(visit->name, before), 0};
		longest_ms = lag_ms > longest_ms ? lag_ms : longest_ms;
	}
	signature_learn(&family->partners, round->number, names, count, longest_ms);
}

/* Of the partner; NULL: it is not remembered. */
static const struct fixed_write *last_write(const struct detector *detector, uint64_t partner)
{
	uint64_t last = last_write_of(detector, partner);

	return last == UINT64_MAX ? NULL : write_at(detector, last);
}

/* Has it been written since the number was begun? */
static bool is_here(const struct detector *detector, const struct save_round *round,
		    uint64_t partner)
{
	const struct fixed_write *last = last_write(detector, partner);

	return last && is_since(round, last);
}

bool detector_is_followed(const struct detector *detector, const struct family *family,
			  int64_t number)
{
	const struct save_round *round = &family->round;

	if (number != round->number)
		return number == family->followed;
	for (size_t i = 0; i < family->partners.count && !round->said; i++) {
		const struct known_name *name = &family->partners.names[i];

		if (!(name->hash & 1) && signature_expects(&family->partners, name) &&
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

	if (family->stream || family->parts)
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

static bool is_being_written(const struct detector *detector, const struct save_round *round,
			     uint64_t partner)
{
	const struct checkpoint *fixed = checkpoint_table_find_key(&detector->table, "");

	if (!fixed || fixed->state != CHECKPOINT_UNDER_WAY)
		return false;
	each_file (file, fixed)
		if ((file->name | 1) == (partner | 1) && (file->marks & FILE_FRESH) &&
		    file->begun_ms >= round->begun_ms)
			return true;
	return false;
}

/* Until when the partners, or the number behind them, may come; 0: all are there, or their time
 * does not run. */
static int64_t expected_until_ms(const struct detector *detector, const struct family *family,
				 int64_t now_ms)
{
	const struct signature *partners = &family->partners;
	const struct save_round *round = &family->round;
	int64_t wait_ms = verdict_partner_ms(detector->quiet_ms, partners->kinds[0].pause_ms),
		until_ms = 0;

	for (size_t i = 0; i < partners->count; i++) {
		uint64_t name = partners->names[i].hash;
		bool before = name & 1, here = is_here(detector, round, name);
		int64_t at_ms = 0;

		if (!signature_expects(partners, &partners->names[i]))
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
	for (const struct family *family = detector->table.families; family;
	     family = family->next) {
		int64_t at_ms = expected_until_ms(detector, family, now_ms);

		until_ms = at_ms > until_ms ? at_ms : until_ms;
	}
	return until_ms > now_ms ? until_ms : 0;
}

/* A save may write a fixed name twice, and its end may cut it off in the next one. */
#define FIXED_WRITES 3

bool detector_went_on_after(const struct detector *detector, const struct tracked_file *file)
{
	uint64_t count = 0;

	for (uint64_t i = first_write(detector); i < detector->write_count; i++)
		count +=
			i >= detector->writes_complete && write_at(detector, i)->name == file->name;
	return detector->writes_complete > 0 && count >= FIXED_WRITES;
}
