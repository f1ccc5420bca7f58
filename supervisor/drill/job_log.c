#include "drill/job_log.h"

#include "base/log.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SAMPLES_MOST (1 << 18)
#define AT_ONCE 3
/* Greater ones are clocks (seconds since 1970). */
#define VALUE_MOST 1e9

// clang-format off
static const struct {
	const char *word;
	enum job_counter_kind kind;
} words[] = {
	{"step", COUNTER_STEP},
	{"steps", COUNTER_STEP},
	{"iteration", COUNTER_STEP},
	{"iterations", COUNTER_STEP},
	{"iter", COUNTER_STEP},
	{"it", COUNTER_STEP},
	{"batch", COUNTER_STEP},
	{"update", COUNTER_STEP},
	{"updates", COUNTER_STEP},
	{"round", COUNTER_STEP},
	{"trial", COUNTER_STEP},
	{"episode", COUNTER_STEP},
	{"generation", COUNTER_STEP},
	{"epoch", COUNTER_EPOCH},
	{"epochs", COUNTER_EPOCH},
};
// clang-format on

/* --- numbers --- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "120", "0.35", "1e-05": its end. `at` is at a digit. */
static const char *number_end(const char *at, const char *end)
{
	const char *exponent;

	while (at < end && is_digit(*at))
		at++;
	if (at + 1 < end && *at == '.' && is_digit(at[1]))
		for (at++; at < end && is_digit(*at); at++)
			continue;
	exponent = at + 1;
	if (exponent < end && (*at == 'e' || *at == 'E')) {
		if (exponent + 1 < end && (*exponent == '-' || *exponent == '+'))
			exponent++;
		if (is_digit(*exponent))
			for (at = exponent; at < end && is_digit(*at); at++)
				continue;
	}
	return at;
}

/* The number there, or -1. A fraction only if `fractions`. */
static double parse_value(const char *at, const char *end, bool fractions)
{
	char text[32];
	const char *stop;

	if (at >= end || !is_digit(*at))
		return -1;
	stop = number_end(at, end);
	if ((size_t)(stop - at) >= sizeof(text))
		return -1;
	memcpy(text, at, (size_t)(stop - at));
	text[stop - at] = '\0';
	if (!fractions && strspn(text, "0123456789") != strlen(text))
		return -1;
	/* "3ms", "4th" */
	if (stop < end && isalpha((unsigned char)*stop))
		return -1;
	return strtod(text, NULL) < VALUE_MOST ? strtod(text, NULL) : -1;
}

/* Copies [line, end) with each number as "#" and each run of spaces as one. A digit behind a letter
 * is part of a name ("rank0"). Of a long text the end is kept. */
static void make_label(const char *line, const char *end, const char *suffix,
		       char label[JOB_LABEL_SIZE])
{
	auto_free char *text = memory_new((size_t)(end - line) + strlen(suffix) + 1);
	size_t used = 0, total;

	for (const char *at = line; at < end;) {
		bool in_name = used > 0 && isalpha((unsigned char)text[used - 1]);

		if (is_digit(*at) && !in_name) {
			at = number_end(at, end);
			/* "-0.3" and "0.3" */
			if (used > 0 && text[used - 1] == '-' &&
			    (used == 1 || !isalnum((unsigned char)text[used - 2])))
				used--;
			text[used++] = '#';
			continue;
		}
		while (in_name && at + 1 < end && is_digit(*at) && is_digit(at[1]))
			text[used++] = *at++;
		if (!(isspace((unsigned char)*at) && used > 0 && text[used - 1] == ' '))
			text[used++] = isspace((unsigned char)*at) ? ' ' : *at;
		at++;
	}
	memcpy(text + used, suffix, strlen(suffix));
	total = used + strlen(suffix);
	text_set(label, JOB_LABEL_SIZE,
		 total >= JOB_LABEL_SIZE ? text + total - JOB_LABEL_SIZE + 1 : text);
}

/* --- samples --- */

static bool has_word(const char *line, size_t length, const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; i + size <= length; i++)
		if (strncasecmp(line + i, word, size) == 0)
			return true;
	return false;
}

static struct job_counter *find_counter(struct job_log *log, enum job_counter_kind kind,
					const char *label)
{
	for (size_t i = 0; i < log->count; i++)
		if (log->counters[i].kind == kind && text_equal(log->counters[i].label, label))
			return &log->counters[i];
	return NULL;
}

/* Forgets every second sample of a job that prints very much. */
static void thin_samples(struct job_counter *counter)
{
	for (size_t i = 0; i < counter->count / 2; i++)
		counter->samples[i] = counter->samples[2 * i];
	counter->count /= 2;
}

static void add_sample(struct job_counter *counter, double value, int64_t at_ms)
{
	if (counter->count > 0) {
		double before = counter->samples[counter->count - 1].value;

		if (value < before) {
			counter->fell = true;
			counter->fell_at_once |= counter->count < AT_ONCE;
		} else if (value - before > counter->stride) {
			counter->stride = value - before;
		}
	}
	if (counter->count == SAMPLES_MOST)
		thin_samples(counter);
	if (counter->count == counter->capacity) {
		counter->capacity = counter->capacity ? 2 * counter->capacity : 64;
		counter->samples =
			memory_grow(counter->samples, counter->capacity, sizeof(*counter->samples));
	}
	counter->samples[counter->count++] = (struct job_sample){.at_ms = at_ms, .value = value};
}

/* NULL: there are too many. */
static struct job_counter *take_counter(struct job_log *log, enum job_counter_kind kind,
					const char *label, const char *word)
{
	struct job_counter *counter = find_counter(log, kind, label);

	if (counter || log->count == JOB_COUNTERS_MOST)
		return counter;
	counter = &log->counters[log->count++];
	*counter = (struct job_counter){.kind = kind, .stride = 1};
	text_set(counter->label, sizeof(counter->label), label);
	text_set(counter->word, sizeof(counter->word), word);
	counter->nested =
		kind != COUNTER_EPOCH && has_word(counter->label, strlen(counter->label), "epoch");
	return counter;
}

enum job_counter_kind job_counter_kind_of_epoch(enum job_counter_kind kind)
{
	return kind == COUNTER_STEP   ? COUNTER_STEP_OF_EPOCH
	       : kind == COUNTER_BAR  ? COUNTER_BAR_OF_EPOCH
	       : kind == COUNTER_BARE ? COUNTER_BARE_OF_EPOCH
				      : COUNTER_KINDS;
}

/* Counted on through the epochs: not if they did not have all of the steps, from the first on, or
 * if their length changes. */
static void add_of_epoch(struct job_log *log, const struct job_counter *steps, double value,
			 double total, int64_t at_ms)
{
	enum job_counter_kind kind = job_counter_kind_of_epoch(steps->kind);
	struct job_counter *counter;

	if (kind == COUNTER_KINDS || total <= 0 || value > total || !log->in_epochs)
		return;
	counter = take_counter(log, kind, steps->label, "step");
	if (!counter)
		return;
	if (log->in_fractions || counter->count + 1 < steps->count ||
	    (counter->count > 0 && counter->total != total))
		counter->fell = counter->fell_at_once = true;
	counter->total = total;
	add_sample(counter, log->epoch * total + value, at_ms);
}

/* `total`: of so many; 0: unknown. */
static void add_value(struct job_log *log, enum job_counter_kind kind, const char *label,
		      const char *word, double value, double total, int64_t at_ms)
{
	struct job_counter *counter = take_counter(log, kind, label, word);

	if (!counter)
		return;
	counter->total = total;
	add_sample(counter, value, at_ms);
	add_of_epoch(log, counter, value, total, at_ms);
}

/* --- lines --- */

/* "/500" or " / 500" behind a number, or 0. */
static double total_behind(const char *at, const char *end)
{
	double total;

	while (at < end && *at == ' ')
		at++;
	if (at == end || *at++ != '/')
		return 0;
	while (at < end && *at == ' ')
		at++;
	total = parse_value(at, end, false);
	return total > 0 ? total : 0;
}

static void note_epoch(struct job_log *log, double value)
{
	log->in_fractions |= value != (double)(int64_t)value;
	log->in_epochs = true;
	log->epoch = value;
}

/* At `at` stands one of the words of this kind, and behind it its number. */
static void add_word(struct job_log *log, const char *line, const char *at, const char *end,
		     size_t index, int64_t at_ms)
{
	size_t length = strlen(words[index].word);
	const char *number = at + length;
	char label[JOB_LABEL_SIZE];
	double value;

	if (number >= end || strncasecmp(at, words[index].word, length) != 0)
		return;
	while (number < end && *number && strchr(" \t:=#\"'[(", *number))
		number++;
	if (number == at + length)
		return;
	value = parse_value(number, end, words[index].kind == COUNTER_EPOCH);
	if (value < 0)
		return;
	if (words[index].kind == COUNTER_EPOCH)
		note_epoch(log, value);
	make_label(line, number, "", label);
	add_value(log, words[index].kind, label, words[index].word, value,
		  total_behind(number_end(number, end), end), at_ms);
}

static void add_words(struct job_log *log, enum job_counter_kind kind, const char *line,
		      const char *end, int64_t at_ms)
{
	for (const char *at = line; at < end; at++) {
		if (at > line && (isalnum((unsigned char)at[-1]) || at[-1] == '/'))
			continue;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (words[i].kind == kind)
				add_word(log, line, at, end, i, at_ms);
	}
}

/* " 12%|###   | 120/1000 [00:12<01:30]". A bar begins with 0 whatever the job does next. */
static void add_bar(struct job_log *log, const char *line, const char *end, int64_t at_ms)
{
	const char *bar = memchr(line, '|', (size_t)(end - line));

	for (const char *at = bar; at && at < end; at++) {
		char label[JOB_LABEL_SIZE], suffix[24];
		const char *slash;
		double value, total;

		if (!is_digit(*at) || !strchr("| ", at[-1]))
			continue;
		slash = number_end(at, end);
		if (slash == end || *slash != '/')
			continue;
		value = parse_value(at, end, false);
		total = parse_value(slash + 1, end, false);
		if (value <= 0 || total <= 0)
			return;
		snprintf(suffix, sizeof(suffix), "/%.0f", total);
		make_label(line, bar, suffix, label);
		add_value(log, COUNTER_BAR, label, "step", value, total, at_ms);
		return;
	}
}

static void add_bare(struct job_log *log, const char *line, const char *end, int64_t at_ms)
{
	const char *at = line;
	const char *stop;
	double value, total;
	char label[24] = "";

	while (at < end && *at && strchr(" \t[(", *at))
		at++;
	value = parse_value(at, end, false);
	if (value < 0)
		return;
	stop = number_end(at, end);
	total = total_behind(stop, end);
	/* Keras: " 100/500 ... - loss: 0.3". A date (11/28/2026) has no such total. */
	if (total > 0)
		snprintf(label, sizeof(label), "/%.0f", total);
	if (stop == end || strchr(" \t:,/)]", *stop))
		add_value(log, COUNTER_BARE, label, total > 0 ? "step" : "number", value, total,
			  at_ms);
}

/* Without what moves a terminal's cursor and sets its colours, as in Keras' bars. The caller frees.
 */
static char *plain_text(const char *line, size_t *length)
{
	char *text = memory_new(*length + 1);
	size_t used = 0;

	for (size_t i = 0; i < *length; i++) {
		if (line[i] == '\x1b' && i + 1 < *length && line[i + 1] == '[')
			for (i += 2; i < *length && !(line[i] >= '@' && line[i] <= '~'); i++)
				continue;
		else if (line[i] != '\b')
			text[used++] = line[i];
	}
	*length = used;
	return text;
}

static void add_line(struct job_log *log, const char *line, size_t length, int64_t at_ms)
{
	const char *end = line + length;

	if (length == 0 || log_prefix_length(line, length) > 0)
		return;
	if (has_word(line, length, "resum") || has_word(line, length, "restor") ||
	    has_word(line, length, "loaded") || has_word(line, length, "loading"))
		return;
	/* The steps are those of the epoch that the line names, wherever. */
	add_words(log, COUNTER_EPOCH, line, end, at_ms);
	add_words(log, COUNTER_STEP, line, end, at_ms);
	add_bar(log, line, end, at_ms);
	add_bare(log, line, end, at_ms);
}

void job_log_add(struct job_log *log, const char *line, size_t length, int64_t at_ms)
{
	auto_free char *plain = NULL;

	if (memchr(line, '\x1b', length) || memchr(line, '\b', length))
		plain = plain_text(line, &length);
	add_line(log, plain ? plain : line, length, at_ms);
}

/* A label says the kind of file, and which of its numbers this is. */
void job_log_add_name(struct job_log *log, const char *name)
{
	const char *end = name + strlen(name);
	char kind[JOB_LABEL_SIZE - 16], label[JOB_LABEL_SIZE];
	unsigned index = 0;

	make_label(name, end, "", label);
	text_set(kind, sizeof(kind), label);
	for (const char *at = name; at < end; at++) {
		const char *digits = at;

		if (!is_digit(*at))
			continue;
		while (is_digit(*at))
			at++;
		snprintf(label, sizeof(label), "%s %u", kind, index++);
		if (at - digits < 10)
			add_value(log, COUNTER_NAME, label, "checkpoint", strtod(digits, NULL), 0,
				  0);
	}
}

void job_log_release(struct job_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		free(log->counters[i].samples);
	*log = (struct job_log){0};
}

/* --- questions --- */

const struct job_counter *job_log_match(const struct job_log *log,
					const struct job_counter *counter)
{
	return find_counter((struct job_log *)log, counter->kind, counter->label);
}

bool job_counter_value_at(const struct job_counter *counter, int64_t at_ms, double *value)
{
	bool found = false;

	for (size_t i = 0; i < counter->count && counter->samples[i].at_ms <= at_ms; i++) {
		*value = counter->samples[i].value;
		found = true;
	}
	return found;
}

size_t job_log_line_length(const char *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length] != '\n' && text[length] != '\r')
		length++;
	return length;
}

size_t job_log_tail(const char *text, size_t size, unsigned lines)
{
	size_t at = size;

	if (at && text[at - 1] == '\n')
		at--;
	while (at > 0) {
		if (text[at - 1] == '\n' && --lines == 0)
			break;
		at--;
	}
	return at;
}
