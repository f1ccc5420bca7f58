#include "name_fields.h"

#include <string.h>
#include <strings.h>

enum {
	/* More digits are a time in milliseconds, or an id. */
	COUNTED_DIGITS_MOST = 15,
	/* Without a word, ten digits are a time in seconds. */
	NUMBER_DIGITS_MOST = 9,
	HASH_LENGTH_LEAST = 8,
	UUID_LENGTH = 36,
	/* "model010000" counts, "resnet50" does not. */
	PADDED_DIGITS_LEAST = 4,
	EXTENSION_LENGTH_MOST = 16,
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

/* Other bytes than ASCII are letters of some language. */
static bool is_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (unsigned char)byte >= 0x80;
}

static bool is_hex(char byte)
{
	return is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

static size_t digits_at(const struct name_fields *fields, size_t at)
{
	size_t end = at;

	while (end < fields->end && is_digit(fields->name[end]))
		end++;
	return end - at;
}

static char byte_at(const struct name_fields *fields, size_t at)
{
	return at < fields->end ? fields->name[at] : '\0';
}

static int64_t value_of(const char *digits, size_t length, size_t most)
{
	int64_t value = 0;

	while (length > 1 && *digits == '0') {
		digits++;
		length--;
	}
	if (length > most)
		return -1;
	for (size_t i = 0; i < length; i++)
		value = value * 10 + (digits[i] - '0');
	return value;
}

bool name_fields_is_among(const struct name_fields *fields, const struct field *field,
			  const char *const *words, size_t count)
{
	size_t length = field->end - field->begin;

	for (size_t i = 0; i < count; i++)
		if (field->kind == FIELD_WORD && length == strlen(words[i]) &&
		    strncasecmp(fields->name + field->begin, words[i], length) == 0)
			return true;
	return false;
}

static bool word_equals(const struct name_fields *fields, const struct field *field,
			const char *word)
{
	return name_fields_is_among(fields, field, &word, 1);
}

static bool starts_with(const struct name_fields *fields, size_t at, const char *text)
{
	size_t length = strlen(text);

	return fields->end - at >= length && strncasecmp(fields->name + at, text, length) == 0;
}

/* --- what marks a name as temporary --- */

static void strip_temporary_prefix(struct name_fields *fields)
{
	static const char *const words[] = {"tmp", "temp", "temporary", "incomplete"};
	size_t at = fields->begin;

	/* Not the "__" of "__0_0.distcp". */
	if (fields->end > at + 1 && (fields->name[at] == '.' || fields->name[at] == '~'))
		fields->begin = ++at;
	fields->temporary = at > 0;
	if (fields->end > at + 1 && fields->name[at] == '_' && fields->name[at + 1] != '_')
		at++;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		size_t behind = at + strlen(words[i]);

		/* "tmp.12345" has the number of a process. */
		if (starts_with(fields, at, words[i]) && behind + 1 < fields->end &&
		    strchr("-_", fields->name[behind])) {
			fields->begin = behind + 1;
			fields->temporary = fields->unfinished = true;
			return;
		}
	}
}

static bool is_temporary_mark(const struct name_fields *fields, size_t at)
{
	static const struct {
		const char *mark;
		char may_follow; /* 'x': anything; '-': no letter; '$': nothing */
	} marks[] = {{".tmp", 'x'},        {"-tmp", '-'},
		     {"_tmp", '-'},        {".temp", '-'},
		     {".partial", '-'},    {".incomplete", '-'},
		     {".inprogress", '-'}, {".orbax-checkpoint-tmp", 'x'},
		     {".part", '$'},       {"~", '$'}};

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		size_t end = at + strlen(marks[i].mark);

		if (starts_with(fields, at, marks[i].mark) &&
		    (end == fields->end || marks[i].may_follow == 'x' ||
		     (marks[i].may_follow == '-' && !is_letter(fields->name[end]))))
			return true;
	}
	return false;
}

static void strip_temporary_suffix(struct name_fields *fields)
{
	for (size_t at = fields->begin + 1; at < fields->end; at++)
		if (is_temporary_mark(fields, at)) {
			fields->unfinished |= fields->name[at] != '~';
			fields->end = at;
			fields->temporary = true;
		}
}

/* --- what a word says of the number beside it --- */

/* Words before a number. `tail`: other letters may precede it ("globalstep"). */
static const struct count_word {
	const char *word;
	enum count_rank rank;
	bool tail;
} count_words[] = {
	{"step", COUNT_STEP, true},         {"iter", COUNT_STEP, true},
	{"iteration", COUNT_STEP, true},    {"update", COUNT_STEP, true},
	{"it", COUNT_STEP, false},          {"checkpoint", COUNT_SAVE, true},
	{"ckpt", COUNT_SAVE, true},         {"chkpt", COUNT_SAVE, false},
	{"ckp", COUNT_SAVE, false},         {"ck", COUNT_SAVE, false},
	{"cp", COUNT_SAVE, false},          {"chk", COUNT_SAVE, false},
	{"cpt", COUNT_SAVE, false},         {"snap", COUNT_SAVE, false},
	{"snapshot", COUNT_SAVE, false},    {"save", COUNT_SAVE, false},
	{"epoch", COUNT_EPOCH, true},       {"ep", COUNT_EPOCH, false},
	{"episode", COUNT_EPOCH, false},    {"round", COUNT_EPOCH, false},
	{"generation", COUNT_EPOCH, false}, {"gen", COUNT_EPOCH, false},
	{"batch", COUNT_BATCH, false},
};

/* Words behind a number: "rl_model_2560_steps.zip", "5_net_G.pth". */
static const struct count_word count_words_behind[] = {
	{"step", COUNT_STEP, true},      {"steps", COUNT_STEP, true},
	{"iter", COUNT_STEP, true},      {"iters", COUNT_STEP, true},
	{"iteration", COUNT_STEP, true}, {"iterations", COUNT_STEP, true},
	{"updates", COUNT_STEP, true},   {"epoch", COUNT_EPOCH, true},
	{"epochs", COUNT_EPOCH, true},   {"episodes", COUNT_EPOCH, false},
	{"rounds", COUNT_EPOCH, false},  {"net", COUNT_SAVE, false},
};

static const char *const part_words[] = {
	"part",   "shard",   "rank",    "worker",  "chunk",      "process", "proc",  "fold",
	"layer",  "tp",      "pp",      "dp",      "states",     "expert",  "node",  "host",
	"device", "gpu",     "replica", "slice",   "split",      "stage",   "block", "group",
	"pid",    "v",       "ver",     "version", "rev",        "run",     "job",   "consolidated",
	"task",   "attempt", "try",     "exp",     "experiment", "seed",    "lr",    "bs",
	"size",   "dim",     "hidden",  "heads",   "width",      "depth",   "beam",  "member",
	"level",  "of",      "chain",   "walker",
};

static const char *const metric_words[] = {
	"loss", "acc",  "accuracy", "val",  "valid", "score",  "metric",     "auc",
	"map",  "bleu", "ppl",      "psnr", "ssim",  "reward", "wer",        "cer",
	"mae",  "mse",  "rmse",     "miou", "iou",   "fid",    "perplexity", "f",
};

static enum count_rank rank_of(const struct name_fields *fields, const struct field *field,
			       const struct count_word *words, size_t count)
{
	size_t length = field->end - field->begin;

	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(words[i].word);

		if (field->kind == FIELD_WORD && length >= size &&
		    (words[i].tail || length == size) &&
		    strncasecmp(fields->name + field->end - size, words[i].word, size) == 0)
			return words[i].rank;
	}
	return COUNT_NONE;
}

/* --- dates and times of day, which look like numbers --- */

/* Two digits from `least` to `most`. */
static bool is_pair(const struct name_fields *fields, size_t at, int least, int most)
{
	char tens = byte_at(fields, at), ones = byte_at(fields, at + 1);
	int value = (tens - '0') * 10 + (ones - '0');

	return is_digit(tens) && is_digit(ones) && value >= least && value <= most;
}

static bool is_year(const struct name_fields *fields, size_t at)
{
	return (is_pair(fields, at, 20, 20) && is_pair(fields, at + 2, 0, 99)) ||
	       (is_pair(fields, at, 19, 19) && is_pair(fields, at + 2, 70, 99));
}

static bool is_time_separator(char byte)
{
	return byte && strchr("-_.:", byte);
}

/* End of "14-36-21", "143621" or, behind a date, "14-36" or "1436"; 0: no time of day. */
static size_t time_of_day_end(const struct name_fields *fields, size_t at, bool behind_date)
{
	size_t apart = is_time_separator(byte_at(fields, at + 2)) ? 1 : 0;
	size_t minutes = at + 2 + apart, seconds = minutes + 2 + apart;

	if (!is_pair(fields, at, 0, 23) || !is_pair(fields, minutes, 0, 59) ||
	    (!behind_date && !apart))
		return 0;
	if (is_pair(fields, seconds, 0, 59) &&
	    (!apart || is_time_separator(byte_at(fields, seconds - 1))) &&
	    !is_digit(byte_at(fields, seconds + 2)))
		return seconds + 2;
	return behind_date && !is_digit(byte_at(fields, minutes + 2)) ? minutes + 2 : 0;
}

/* End of "2026-11-22", "20261122" or "22-11-2026"; 0: no date. More digits may follow. */
static size_t date_end(const struct name_fields *fields, size_t at)
{
	size_t apart = is_time_separator(byte_at(fields, at + 4)) ? 1 : 0;

	if (is_year(fields, at) && is_pair(fields, at + 4 + apart, 1, 12) &&
	    is_pair(fields, at + 6 + 2 * apart, 1, 31) &&
	    (!apart || is_time_separator(byte_at(fields, at + 7))))
		return at + 8 + 2 * apart;
	if (is_pair(fields, at, 1, 31) && is_time_separator(byte_at(fields, at + 2)) &&
	    is_pair(fields, at + 3, 1, 31) && is_time_separator(byte_at(fields, at + 5)) &&
	    is_year(fields, at + 6))
		return at + 10;
	return 0;
}

/* Milliseconds or microseconds: ".123". */
static size_t fraction_length(const struct name_fields *fields, size_t at)
{
	size_t digits = byte_at(fields, at) == '.' ? digits_at(fields, at + 1) : 0;

	return digits == 3 || digits == 6 ? digits + 1 : 0;
}

/* End of the date, the time of day, or both, that begin there with a whole run of digits; 0:
 * neither. "2026-11-22", "20261122", "22-11-2026", "2026-11-22_14-36-21", "20261122T143621.123",
 * "14-36-21"; not "143621" or "14-36" alone, which may be counts. */
static size_t moment_end(const struct name_fields *fields, size_t at)
{
	size_t date = date_end(fields, at), time;

	if (date == 0)
		return time_of_day_end(fields, at, false);
	time = time_of_day_end(fields, date + !is_digit(byte_at(fields, date)), true);
	if (time)
		return time + fraction_length(fields, time);
	return is_digit(byte_at(fields, date)) ? 0 : date;
}

/* --- fields --- */

static bool is_separator(char byte)
{
	return byte == '-' || byte == '_' || byte == '.';
}

/* End of "00001-of-00004"; 0: it is none. */
static size_t n_of_m_end(const struct name_fields *fields, size_t at)
{
	size_t of = at + digits_at(fields, at), behind;

	of += is_separator(byte_at(fields, of));
	behind = of + 2;
	behind += is_separator(byte_at(fields, behind));
	return starts_with(fields, of, "of") && digits_at(fields, behind) > 0
		       ? behind + digits_at(fields, behind)
		       : 0;
}

/* "f81d4fae-7dec-11d0-a765-00a0c91e6bf6" */
static bool is_uuid(const struct name_fields *fields, size_t at)
{
	for (size_t i = 0; i < UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		char byte = byte_at(fields, at + i);

		if (dash ? byte != '-' : !is_hex(byte))
			return false;
	}
	return !is_digit(byte_at(fields, at + UUID_LENGTH)) &&
	       !is_letter(byte_at(fields, at + UUID_LENGTH));
}

/* End of a run of letters and digits that is a hash, or of a UUID; 0: it is none. */
static size_t hash_end(const struct name_fields *fields, size_t at)
{
	size_t end = at;
	bool digit = false, letter = false;

	if (at > fields->begin &&
	    (is_digit(fields->name[at - 1]) || is_letter(fields->name[at - 1])))
		return 0;
	if (is_uuid(fields, at))
		return at + UUID_LENGTH;
	for (; end < fields->end && is_hex(fields->name[end]); end++) {
		digit |= is_digit(fields->name[end]);
		letter |= is_letter(fields->name[end]);
	}
	return digit && letter && end - at >= HASH_LENGTH_LEAST && !is_letter(byte_at(fields, end))
		       ? end
		       : 0;
}

/* Digits with a fraction or an exponent are a METRIC, with two points a version. */
static void set_number(const struct name_fields *fields, struct field *field)
{
	size_t end = field->begin + digits_at(fields, field->begin), points = 0, exponent;

	field->kind = FIELD_NUMBER;
	field->value =
		value_of(fields->name + field->begin, end - field->begin, COUNTED_DIGITS_MOST);
	while (byte_at(fields, end) == '.' && digits_at(fields, end + 1) > 0) {
		end += 1 + digits_at(fields, end + 1);
		points++;
	}
	exponent = end + 1;
	exponent += byte_at(fields, exponent) == '-' || byte_at(fields, exponent) == '+';
	if ((byte_at(fields, end) | 0x20) == 'e' && digits_at(fields, exponent) > 0) {
		end = exponent + digits_at(fields, exponent);
		points = 1;
	}
	field->end = end;
	if (points > 0)
		field->kind = points == 1 ? FIELD_METRIC : FIELD_WORD;
}

static void set_field(const struct name_fields *fields, struct field *field, size_t at)
{
	size_t end;

	*field = (struct field){.kind = FIELD_WORD, .begin = at, .value = -1};
	if ((end = hash_end(fields, at))) {
		field->hash = true;
		field->end = end;
	} else if (!is_digit(fields->name[at])) {
		for (end = at; end < fields->end && is_letter(fields->name[end]);)
			end++;
		field->end = end;
	} else if ((end = moment_end(fields, at))) {
		field->kind = FIELD_TIME;
		field->end = end;
	} else if ((end = n_of_m_end(fields, at))) {
		field->kind = FIELD_PART;
		field->end = end;
	} else {
		set_number(fields, field);
	}
}

static bool is_glued_before(const struct name_fields *fields, const struct field *field)
{
	return field->begin > fields->begin && is_letter(fields->name[field->begin - 1]);
}

static bool is_of_part(const struct name_fields *fields, const struct field *number)
{
	const struct field *word = number - 1;

	if (name_fields_is_among(fields, word, part_words, COUNT_OF(part_words)))
		return true;
	return word_equals(fields, word, "state") && word > fields->items &&
	       (word_equals(fields, word - 1, "rng") || word_equals(fields, word - 1, "random"));
}

/* Also "train_loss_step=0.83". */
static bool is_of_metric(const struct name_fields *fields, size_t at, enum count_rank rank)
{
	size_t words = rank == COUNT_NONE ? 1 : 2;

	return at >= words && name_fields_is_among(fields, &fields->items[at - words], metric_words,
						   COUNT_OF(metric_words));
}

/* What the words beside a number say of it. */
static void judge_number(struct name_fields *fields, size_t at)
{
	struct field *field = &fields->items[at];
	const struct field *behind = at + 1 < fields->count ? field + 1 : NULL;
	enum count_rank rank = COUNT_NONE;
	bool whole = field->kind == FIELD_NUMBER;

	if (!whole && field->kind != FIELD_METRIC && field->kind != FIELD_TIME)
		return;
	if (at > 0)
		rank = rank_of(fields, field - 1, count_words, COUNT_OF(count_words));
	/* "step_20261122" is a step, "ckpt_20261122" has a date. */
	if (field->kind == FIELD_TIME &&
	    (rank != COUNT_STEP || digits_at(fields, field->begin) != field->end - field->begin))
		return;
	if (field->kind == FIELD_TIME)
		field->value = value_of(fields->name + field->begin, field->end - field->begin,
					COUNTED_DIGITS_MOST);
	if (at > 0 && rank == COUNT_NONE && is_of_part(fields, field)) {
		field->kind = FIELD_PART;
		return;
	}
	if (is_of_metric(fields, at, rank)) {
		field->kind = FIELD_METRIC;
		return;
	}
	if (rank == COUNT_NONE && whole && behind && !is_glued_before(fields, field) &&
	    (at + 2 >= fields->count || !is_digit(fields->name[behind[1].begin])))
		rank = rank_of(fields, behind, count_words_behind, COUNT_OF(count_words_behind));
	if (rank != COUNT_NONE && field->value >= 0) {
		field->kind = FIELD_COUNTED;
		field->rank = rank;
	}
}

/* "recovery-3-120", as timm writes it: the epoch, and the batch in it, which begins anew with each
 * epoch. Neither counts alone: together they name a moment, as a date does. */
static bool is_position(const struct name_fields *fields, const struct field *word)
{
	return word_equals(fields, word, "recovery") && word[1].kind == FIELD_NUMBER &&
	       word[2].kind == FIELD_NUMBER;
}

static void strip_extensions(struct name_fields *fields)
{
	fields->stem_end = fields->end;
	for (;;) {
		size_t dot = fields->stem_end, length;
		bool digits = true;

		while (dot > fields->begin &&
		       (is_digit(fields->name[dot - 1]) || is_letter(fields->name[dot - 1])))
			digits &= is_digit(fields->name[--dot]);
		length = fields->stem_end - dot;
		if (dot <= fields->begin + 1 || fields->name[dot - 1] != '.' || length == 0 ||
		    length > EXTENSION_LENGTH_MOST)
			return;
		/* "model.120" has a number; "model.pt.120.tmp" has that of a process. */
		if (digits && !(fields->temporary && fields->stem_end == fields->end &&
				memchr(fields->name + fields->begin, '.', dot - 1 - fields->begin)))
			return;
		fields->stem_end = dot - 1;
	}
}

void name_fields_split(struct name_fields *fields, const char *name, size_t length)
{
	*fields = (struct name_fields){.name = name, .end = length};
	strip_temporary_prefix(fields);
	strip_temporary_suffix(fields);
	strip_extensions(fields);
	for (size_t at = fields->begin; at < fields->end && fields->count < NAME_FIELDS_MOST;) {
		if (is_digit(name[at]) || is_letter(name[at])) {
			set_field(fields, &fields->items[fields->count], at);
			at = fields->items[fields->count++].end;
		} else {
			at++;
		}
	}
	for (size_t i = 0; i < fields->count; i++) {
		/* PyTorch's distributed checkpoints: "__RANK_FILE.distcp". */
		if (length >= 2 && strncmp(name, "__", 2) == 0 &&
		    fields->items[i].kind == FIELD_NUMBER)
			fields->items[i].kind = FIELD_PART;
		judge_number(fields, i);
	}
	for (size_t i = 0; i + 2 < fields->count; i++)
		if (is_position(fields, &fields->items[i]))
			fields->items[i + 1].kind = fields->items[i + 2].kind = FIELD_TIME;
}

/* A date without a time of day: several files of it may be written on that day. */
static bool is_date(const struct name_fields *fields, const struct field *time)
{
	size_t digits = 0;

	for (size_t at = time->begin; at < time->end; at++)
		digits += is_digit(fields->name[at]);
	return digits <= 8;
}

/* May this number without a word be that of a checkpoint? */
static bool is_plain_count(const struct name_fields *fields, const struct field *field)
{
	size_t digits = field->end - field->begin;
	bool padded = digits >= PADDED_DIGITS_LEAST && fields->name[field->begin] == '0';

	return value_of(fields->name + field->begin, digits, NUMBER_DIGITS_MOST) >= 0 &&
	       !is_letter(byte_at(fields, field->end)) &&
	       (!is_glued_before(fields, field) || padded);
}

/* "checkpoint_3_1200": the epoch, and the step, which is not lower. */
static const struct field *step_behind(const struct name_fields *fields,
				       const struct field *counted)
{
	const struct field *next = counted + 1;

	return counted->rank == COUNT_SAVE && next < fields->items + fields->count &&
			       next->kind == FIELD_NUMBER && next->end <= fields->stem_end &&
			       is_plain_count(fields, next) && next->value > counted->value
		       ? next
		       : counted;
}

const struct field *name_fields_counted(const struct name_fields *fields)
{
	const struct field *found = NULL;

	for (size_t i = 0; i < fields->count; i++) {
		const struct field *field = &fields->items[i];

		if (field->kind == FIELD_COUNTED && (!found || field->rank > found->rank))
			found = field;
	}
	return found ? step_behind(fields, found) : NULL;
}

const struct field *name_fields_lower_before(const struct name_fields *fields,
					     const struct field *number)
{
	const struct field *before = number > fields->items ? number - 1 : NULL;

	return before && (before->kind == FIELD_NUMBER || before->kind == FIELD_COUNTED) &&
			       is_plain_count(fields, before) && before->value <= number->value
		       ? before
		       : NULL;
}

/* Of two numbers in a row ("model-274-2", "model-3-500") one is a step, and the other a rank or an
 * epoch, which is lower. */
static const struct field *larger_of_pair(const struct name_fields *fields, size_t at)
{
	const struct field *last = &fields->items[at];
	const struct field *before = at > 0 ? last - 1 : NULL;

	return before && before->kind == FIELD_NUMBER && is_plain_count(fields, before) &&
			       before->value > last->value
		       ? before
		       : last;
}

bool name_fields_is_unique(const struct name_fields *fields)
{
	for (size_t i = 0; i < fields->count; i++)
		if (fields->items[i].hash ||
		    (fields->items[i].kind == FIELD_TIME && !is_date(fields, &fields->items[i])))
			return true;
	return false;
}

/* "20261122T140001-<uuid>-0-1024", "20261122T140001_5_501": a moment, and what it is of, with its
 * length: as replay buffers call their parts. */
static bool is_of_moment(const struct name_fields *fields, const struct field *number)
{
	const struct field *first = fields->items;
	bool hash = false;

	if (first->kind != FIELD_TIME || first == number || is_date(fields, first))
		return false;
	for (const struct field *field = first; field < number; field++)
		hash |= field->hash;
	return hash || (number > first + 1 && number[-1].kind == FIELD_NUMBER &&
			memchr(fields->name + first->begin, 'T', first->end - first->begin));
}

const struct field *name_fields_trailing(const struct name_fields *fields)
{
	size_t at = fields->count;

	/* mkstemp(3) and Python's tempfile: "tmp8x3k_21", "tmp.12345". */
	if (starts_with(fields, fields->begin, "tmp"))
		return NULL;
	while (at > 0 && fields->items[at - 1].begin >= fields->stem_end)
		at--;
	while (at > 0) {
		const struct field *field = &fields->items[--at];

		if (field->kind == FIELD_NUMBER)
			return is_plain_count(fields, field) && !is_of_moment(fields, field)
				       ? larger_of_pair(fields, at)
				       : NULL;
		if (field->kind == FIELD_WORD)
			return NULL;
		/* The words of a metric or a part: "model-160-val_loss=0.83", "model-160-rank0". */
		while (at > 0 && fields->items[at - 1].kind == FIELD_WORD &&
		       field->kind != FIELD_TIME)
			at--;
	}
	return NULL;
}

bool name_fields_is_bare_number(const struct name_fields *fields)
{
	const struct field *field = fields->items;

	return fields->count == 1 && field->kind == FIELD_NUMBER && field->begin == fields->begin &&
	       field->end == fields->end && is_plain_count(fields, field);
}

bool name_fields_is_time(const struct name_fields *fields)
{
	const struct field *field = fields->items;

	return fields->count == 1 && field->kind == FIELD_TIME && field->begin == fields->begin &&
	       field->end == fields->end;
}
