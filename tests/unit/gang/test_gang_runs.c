/* Whether the job has begun anew within the attempt, told by who writes its checkpoints. */
#include "gang/gang_rounds.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

/*
 * Words: "a" to "z": this process writes; "100": a checkpoint of that step is complete; "-a": it is
 * dead. After a word, "!" says that the job has begun anew with it, and "?" that nothing is given
 * from then on.
 */
struct runs_row {
	const char *what;
	const char *story;
};

// clang-format off
static const struct runs_row rows[] = {
	{"it trains", "a 100 a 200 a 300"},
	{"it is dead, and who follows has written none", "a 100 a 200 -a? b! 100"},
	{"it had written one: it may have been made for that", "a 100 -a b 200 -b c 300"},
	{"the same step twice is one checkpoint", "a 100 a 100 -a b 200"},
	{"two parts of one checkpoint", "a b 100 a b 100 -a -b c d 200"},
	{"several ranks", "a b 100 a b 200 -a? -b? c! d 100"},
	{"one of them is dead", "a b 100 a b 200 -b? a? c! 200"},
	{"an old process writes on", "a b 100 a b 200 -b? a? 300 a 400"},
	{"it is begun once", "a 100 a 200 -a? b! c d 200"},
	{"and once more", "a 100 a 200 -a? b! 200 b 300 -b? c! 300"},
	{"the second run was short", "a 100 a 200 -a? b! 200 -b c 300"},
	{"somebody else wrote the newest one", "a b 100 a b 200 a 300 -b a 400"},
	{"until another one is complete", "a 100 a 200 -a? b!"},
	{"its number is taken by another process", "a 100 a 200 -a? a! 200"},
	{"no step in the names", "a 0 a 0 -a b 0"},
	{"nothing is complete twice", "a 100 200 -a b"},
};
// clang-format on

static void play(const struct runs_row *row)
{
	struct gang_runs *runs = test_calloc(1, sizeof(*runs));
	char story[200], *rest = story;
	bool holds = false;

	strncpy(story, row->story, sizeof(story) - 1);
	for (char *word; (word = strsep(&rest, " ")) != NULL;) {
		bool anew = false, expected = strchr(word, '!') != NULL;

		if (*word == '-')
			gang_runs_note_dead(runs, word[1]);
		else if (*word >= '0' && *word <= '9')
			gang_runs_note_complete(runs, atoi(word));
		else
			anew = gang_runs_note_write(runs, *word);
		holds = strchr(word, '?') != NULL;
		if (anew != expected)
			fail_msg("%s: at %s: anew %d", row->what, word, anew);
		if (gang_runs_holds(runs) != holds)
			fail_msg("%s: at %s: holds %d", row->what, word, !holds);
	}
	test_free(runs);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		play(&rows[i]);
}

/* Savers that fork: those that are dead make room. */
static void test_many_writers(void **state)
{
	struct gang_runs *runs = test_calloc(1, sizeof(*runs));

	(void)state;
	for (int step = 1; step <= 2; step++) {
		gang_runs_note_write(runs, 1);
		gang_runs_note_complete(runs, step);
	}
	for (int pid = 2; pid < 5000; pid++) {
		assert_false(gang_runs_note_write(runs, pid));
		gang_runs_note_complete(runs, pid);
		gang_runs_note_dead(runs, pid);
		assert_true(gang_runs_knows(runs, 1) && !gang_runs_knows(runs, pid));
	}
	gang_runs_note_dead(runs, 1);
	assert_true(gang_runs_note_write(runs, 5000));
	test_free(runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_many_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
