/*
 * Who asked for a checkpoint, and what each of them is told, by example. Each event is a word:
 *
 *	A, B, C, D	this client asks; "A." waits for the asking only
 *	i, n, r, o5	asked at an interval, at a notice, without a client, as event 5 by others
 *	s, t		the job is asked now, and was
 *	c1, l1		checkpoint 1 is complete; it began before the asking
 *	d1, x1		checkpoint 1 is durable, or lost
 *	f, w, q, p, e	SIGTERM forwarded, notice withdrawn, cannot be asked, stopped, ended
 *	v, gA		the save may be over; client A has hung up
 *	k2=9, h9	request 2 (0: the notice) is event 9 of the gang's log; 9 is durable
 *elsewhere
 *
 * "+" behind one: while the job saves for an earlier asking.
 */
#include "core/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

static char clients[4];

static void ask(const struct step *step, const char *word)
{
	bool client = *word >= 'A' && *word <= 'D';

	requests_make(step,
		      (struct request){
			      .cause = *word == 'i'   ? SAVED_AT_INTERVAL
				       : *word == 'n' ? SAVED_AT_NOTICE
						      : SAVED_ON_REQUEST,
			      .client = client ? &clients[*word - 'A'] : NULL,
			      .until_asked = strchr(word, '.'),
			      .event = *word == 'o' ? (uint32_t)atoi(word + 1) : 0,
		      },
		      strchr(word, '+'));
}

static void happen(const struct step *step, const char *word)
{
	int number = atoi(word + 1);

	switch (*word) {
	case 's':
		return on_sending(step, &(struct job_event){.kind = JOB_EV_SENDING});
	case 't':
		return on_asked(step);
	case 'c':
	case 'l':
		return requests_note_complete(step, (uint64_t)number, *word == 'l');
	case 'd':
	case 'x':
		return requests_note_stored(step, (uint64_t)number, *word == 'd');
	case 'f':
		return requests_note_forwarded(step);
	case 'w':
		return requests_withdraw(step);
	case 'q':
		return on_cannot_ask(step);
	case 'p':
		return requests_stop(step);
	case 'e':
		return requests_end(step);
	case 'v':
		return on_save_over_due(step);
	case 'g':
		return on_client_gone(step, &clients[word[1] - 'A']);
	case 'k':
		return requests_note_event(step, (uint64_t)number,
					   (uint32_t)atoi(strchr(word, '=') + 1));
	case 'h':
		return requests_note_elsewhere(step, (uint32_t)number);
	default:
		return ask(step, word);
	}
}

/* "ask asked:A saved:B durable:C! ", "!" for the last reply. */
static void tell(FILE *out, const struct job_effects *effects)
{
	static const char *const replies[] = {"asked", "saved", "durable", "failed"};

	for (size_t i = 0; i < effects->count; i++) {
		const struct job_effect *effect = &effects->items[i];

		if (effect->kind == JOB_DO_REPLY)
			fprintf(out, " %s:%c%s", replies[effect->reply],
				(int)('A' + ((char *)effect->client - clients)),
				effect->last ? "!" : "");
		else if (effect->kind == JOB_DO_ASK || effect->kind == JOB_DO_STOP_ASKING)
			fprintf(out, effect->kind == JOB_DO_ASK ? " ask" : " stop");
		else if (effect->kind == JOB_DO_SAY && effect->sentence == SAY_SAVE_IS_USED)
			fprintf(out, " use");
	}
}

/* The events, each with what follows from it; and what is seen of the gang's log after each. */
static void play(const char *events, char *effects, size_t size, char *saw)
{
	struct job_rules rules = {.ask = REQUEST_SIGNAL};
	struct job_view view = {0};
	struct job_model model = job_model_new(&rules);
	struct job_effects done = {0};
	const struct step step = {&model, &rules, &view, &done};
	char words[200], *rest = words;
	FILE *out = fmemopen(effects, size, "w");

	model.state = JOB_RUNNING;
	strcpy(words, events);
	for (char *word; (word = strsep(&rest, " "));) {
		done.count = 0;
		model.due_ms[TIMER_SAVE_OVER] = CLOCK_NEVER;
		view.directory.saving = strchr(word, '+');
		happen(&step, word);
		fprintf(out, "%s", word);
		tell(out, &done);
		fprintf(out, "%s%s", model.due_ms[TIMER_SAVE_OVER] != CLOCK_NEVER ? " later" : "",
			rest ? ", " : "");
		saw += sprintf(saw, "%u%s", request_table_saw(&model.requests), rest ? " " : "");
	}
	fclose(out);
	request_table_release(&model.requests);
	job_effects_release(&done);
}

static void test_what_each_is_told(void **state)
{
	static const char *const examples[] = {
		"A ask, s, t asked:A, d4, c5 saved:A stop, d4, d5 durable:A!, e",
		/* Two share a save. */
		"A ask, B, s, t asked:A asked:B, C asked:C, i, c1 saved:A saved:B saved:C stop, "
		"gB, d2 durable:A! durable:C!",
		/* One asks during the save. */
		"A ask, s, B+ asked:B later, n+, v+ later, c1 saved:A stop later, v ask, "
		"d1 durable:A!, s, c2 saved:B stop, x2 failed:B!",
		/* The save comes to nothing. */
		"A ask, s, B+ asked:B later, v ask, s, c1 saved:A saved:B stop",
		/* The job gets the SIGTERM as it is: its save answers all that wait. */
		"A ask, s, B+ asked:B later, f, c1 saved:A saved:B stop, d1 durable:A! durable:B!",
		/* Another member saves; C was told to nobody yet. */
		"A ask, k1=4, s, c1 saved:A stop, B ask, k2=6, s, C+ asked:C later, D asked:D, "
		"k4=9, h5 durable:A!, h9 durable:B! durable:D! stop later, e failed:C!",
		/* A notice is answered elsewhere, the first one. */
		"A ask, k1=2, n, k0=3, k0=4, s, h2 durable:A!, h3 stop",
		/* Who does not wait. */
		"A. ask, s, t asked:A!, B. asked:B!, C.+ asked:C! later, r+, c1 stop later",
		/* A checkpoint that began before. */
		"A ask, n, s, l1 stop later, d1, v ask, s, c2 saved:A stop, d2 durable:A!",
		/* A withdrawn notice, and one whose save goes on. */
		"n ask, s, A asked:A, w, q failed:A! stop, n ask, w stop, n+ use, c1 stop",
		"n ask, s, A+ asked:A later, w stop later, v ask",
		/* A job that ends. */
		"A ask, p stop, c1, f, B+ asked:B later, p stop, c2 saved:A stop later, "
		"e failed:A! failed:B!",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		char events[200] = "", effects[400], saw[200], all[400], *rest = all;

		strcpy(all, examples[i]);
		for (char *part; (part = strsep(&rest, ","));) {
			part += *part == ' ';
			sprintf(events + strlen(events), "%s%.*s", *events ? " " : "",
				(int)strcspn(part, " "), part);
		}
		play(events, effects, sizeof(effects), saw);
		assert_string_equal(effects, examples[i]);
	}
}

static void test_what_is_seen_of_the_log(void **state)
{
	static const struct {
		const char *events, *saw;
	} examples[] = {
		{"o3 s o5 c1 d1 o7 q", "0 0 0 5 5 5 5"},
		/* A save that was under way is no answer. */
		{"o3 s o5+ o6+ c1 v s c2", "0 0 0 0 3 3 3 6"},
		{"o3 s l1 v s c2", "0 0 0 0 0 3"},
		/* What is asked for here has its place in the log only later; and what was asked
		 * for before it is not answered by it. */
		{"A s c1 k1=4 k9=8", "0 0 0 4 4"},
		{"A s o4+ c1 k1=5 v s c2", "0 0 0 0 0 0 0 5"},
		/* A notice is content with what was under way, whenever its number is known. */
		{"k0=2 n+ l1 k0=6", "0 0 2 2"},
		{"n s c1 d1 k0=2", "0 0 0 0 2"},
		{"o3 s k0=4 n l1", "0 0 0 0 4"},
		{"k0=4 f c1", "0 0 4"},
		/* A notice that has no number yet takes none away. */
		{"o3 s c1 n s c2 k0=5", "0 0 3 3 3 3 5"},
		/* Another notice is not answered by what the one before it was. */
		{"o3 s c1 n s c2 w n k0=8 s c3", "0 0 3 3 3 3 3 3 3 3 8"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		char effects[400], saw[200];

		play(examples[i].events, effects, sizeof(effects), saw);
		assert_string_equal(saw, examples[i].saw);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_each_is_told),
		cmocka_unit_test(test_what_is_seen_of_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
