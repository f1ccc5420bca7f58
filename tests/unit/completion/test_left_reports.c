/* A supervisor is killed together with its job: what the next start makes of the reports that
 * nobody has read. One detector sees the job up to the kill, and its list is the one that lags. */
#include "completion/detector.h"
#include "completion/left_reports.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define REPORTS 32

/* One word for each report: what, the first letter, and of what. */
struct scene {
	const char *name;
	/* saves that were complete; what was seen of the next one; what nobody has read */
	const char *complete, *seen, *unread;
	/* the list, each with a blank behind it */
	const char *list;
};

static bool is_there(const char *path)
{
	return !strstr(path, ".gone") && !strstr(path, ".tmp");
}

/* All reports were sent, and all are killed. */
static bool is_over;

static struct file_look look(void *arg, const char *path)
{
	(void)arg;
	/* One was emptied by the last of the reports. */
	return (struct file_look){
		.exists = is_there(path),
		.size = is_over && strstr(path, "emptied") ? 0 : 1000,
	};
}

/* "o": opened empty; "r": opened with content; "c": closed; "f": closed, and it has failed; "d":
 * deleted; "m": renamed, "a>b". */
static void parse(const char *word, struct left_report *report)
{
	static const int events[] =
		{['o'] = SHIM_OPENED, ['r'] = SHIM_OPENED,   ['c'] = SHIM_CLOSED,
		 ['f'] = SHIM_CLOSED, ['d'] = SHIM_UNLINKED, ['m'] = SHIM_RENAMED};
	const char *to = strchr(word, '>');
	char what = *word;

	*report = (struct left_report){.message = {.event = events[(int)what], .pid = 7}};
	report->message.flags = what == 'o' ? SHIM_FLAG_EMPTY : what == 'f' ? SHIM_FLAG_FAILED : 0;
	text_set(report->paths.path, to ? (size_t)(to - word - 1) : sizeof(report->paths.path),
		 word + 2);
	if (to)
		text_set(report->paths.path2, sizeof(report->paths.path2), to + 1);
	/* Each file has one of its own. */
	for (const char *at = report->paths.path; *at; at++)
		report->message.descriptor += *at;
}

/* Appends the words, of which "w:x" is "o:x c:x". */
static void read_words(const char *words, struct left_report *reports, size_t *count)
{
	auto_free char *copy = text_copy(words);
	char *rest = NULL;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		bool whole = *word == 'w';

		assert_true(*count + 2 <= REPORTS);
		*word = whole ? 'o' : *word;
		parse(word, &reports[(*count)++]);
		if (!whole)
			continue;
		*word = 'c';
		parse(word, &reports[(*count)++]);
	}
}

static void decide(struct detector *detector, int64_t now_ms)
{
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(detector, now_ms, &judgement, &at_ms)))
		detector_decide(detector, checkpoint, judgement);
}

static void hear(struct detector *detector, struct left_report *report, int64_t now_ms)
{
	struct shim_message message = report->message;

	message.path = report->paths.path;
	message.path2 = report->paths.path2;
	detector_handle_shim(detector, &message, now_ms);
}

/* Each save, up to a "|", is complete 2 s after it; "e:x": that file lay there before. */
static void save(struct detector *detector, const char *saves, int64_t *now_ms)
{
	auto_free char *copy = text_copy(saves);
	char *rest = NULL;

	for (char *one = strtok_r(copy, "|", &rest); one; one = strtok_r(NULL, "|", &rest)) {
		struct left_report reports[REPORTS];
		size_t count = 0;

		if (text_starts(one, "e:")) {
			detector_note_existing(detector, one + 2);
			continue;
		}
		read_words(one, reports, &count);
		for (size_t i = 0; i < count; i++)
			hear(detector, &reports[i], *now_ms);
		*now_ms += 2000;
		decide(detector, *now_ms);
		*now_ms += 10000;
	}
}

static void check(const struct scene *scene)
{
	struct left_report reports[REPORTS];
	struct left_facts facts = {.reports = reports, .look = look};
	auto_(bytes_release) struct bytes list = {0};
	auto_json json_t *known = NULL;
	struct detector detector;
	int64_t now_ms = 1000;
	char **listed, **paths;

	is_over = false;
	detector_init(&detector, DETECTOR_QUIET_MS, NULL);
	detector.questions.look = look;
	save(&detector, scene->complete, &now_ms);
	known = detector_known_json(&detector);
	facts.known = known;
	read_words(scene->seen, reports, &facts.count);
	for (size_t i = 0; i < facts.count; i++)
		hear(&detector, &reports[i], now_ms);
	facts.listed = facts.count;
	facts.list = listed = detector_list(&detector, detector_each_under_way);
	read_words(scene->unread, reports, &facts.count);
	is_over = true;
	paths = left_reports_list(&facts);
	for (char **path = paths; *path; path++) {
		assert_int_equal(bytes_append(&list, *path, strlen(*path), NULL), 0);
		assert_int_equal(bytes_append(&list, " ", 1, NULL), 0);
	}
	assert_int_equal(bytes_append(&list, "", 1, NULL), 0);
	if (!text_equal((char *)list.data, scene->list))
		fail_msg("%s: \"%s\"", scene->name, (char *)list.data);
	path_list_free(paths);
	path_list_free(listed);
	detector_release(&detector);
}

#define PAIRS "w:model.npz w:opt.npz|w:model.npz w:opt.npz"
#define NUMBERS "w:step_1.npz w:opt_1.npz|w:step_2.npz w:opt_2.npz|w:step_3.npz w:opt_3.npz"
#define TREES "w:step_1/model.pt w:step_1/opt.pt|w:step_2/model.pt w:step_2/opt.pt"
#define WHOLE UNDER_WAY_UNLESS_WHOLE
#define REST UNDER_WAY_REST
#define WITH UNDER_WAY_WITH
#define BEFORE "e:model.npz|e:opt.npz"

static const struct scene scenes[] = {
	{"nothing is new", PAIRS, "", "", ""},
	{"half of a pair", PAIRS, "", "w:model.npz", REST "opt.npz " WITH "model.npz "},
	{"half of a pair, open", PAIRS, "", "o:model.npz",
	 REST "opt.npz "
	      "model.npz "},
	{"a pair whose last close is missing", PAIRS, "w:model.npz", "o:opt.npz",
	 WHOLE "opt.npz " WITH "model.npz "},
	{"a pair that was closed", PAIRS, "o:model.npz", "c:model.npz w:opt.npz", ""},
	{"and another one", PAIRS, "o:model.npz", "c:model.npz w:opt.npz w:model.npz",
	 REST "opt.npz " WITH "model.npz "},
	{"a write that failed", PAIRS, "o:model.npz", "c:model.npz o:opt.npz f:opt.npz",
	 "opt.npz " WITH "model.npz "},
	{"a whole pair, and the next one begins", "w:emptied.npz w:opt.npz", "",
	 "w:emptied.npz w:opt.npz o:emptied.npz",
	 REST "opt.npz "
	      "emptied.npz "},
	{"written in place", PAIRS, "", "r:model.npz",
	 REST "opt.npz "
	      "model.npz "},
	{"half a number", NUMBERS, "", "w:step_4.npz", "step_4.npz "},
	{"a whole number", NUMBERS, "o:step_4.npz", "c:step_4.npz w:opt_4.npz", ""},
	{"half a directory", TREES, "", "w:step_3/model.pt", "step_3/ "},
	{"a directory whose last close is missing", TREES, "o:step_3/model.pt",
	 "c:step_3/model.pt o:step_3/opt.pt", WHOLE "step_3/opt.pt " WHOLE "step_3/model.pt "},
	{"a whole directory", TREES, "w:step_3/model.pt", "w:step_3/opt.pt", ""},
	{"one file", "w:last.pt|w:last.pt", "", "o:last.pt", WHOLE "last.pt "},
	{"one file, closed", "w:last.pt|w:last.pt", "o:last.pt", "c:last.pt", ""},
	{"the first save of all", "", "o:last.pt", "c:last.pt", "./last.pt "},
	{"renamed one by one",
	 "w:model.pt.tmp m:model.pt.tmp>model.pt w:opt.pt.tmp m:opt.pt.tmp>opt.pt|"
	 "w:model.pt.tmp m:model.pt.tmp>model.pt w:opt.pt.tmp m:opt.pt.tmp>opt.pt",
	 "w:model.pt.tmp", "m:model.pt.tmp>model.pt", WITH "model.pt " REST "opt.pt "},
	{"the same, and both",
	 "w:model.pt.tmp m:model.pt.tmp>model.pt w:opt.pt.tmp m:opt.pt.tmp>opt.pt|"
	 "w:model.pt.tmp m:model.pt.tmp>model.pt w:opt.pt.tmp m:opt.pt.tmp>opt.pt",
	 "w:model.pt.tmp", "m:model.pt.tmp>model.pt w:opt.pt.tmp m:opt.pt.tmp>opt.pt", ""},
	{"a directory is renamed into place",
	 "w:step_1.tmp/a.pt w:step_1.tmp/b.pt m:step_1.tmp>step_1|"
	 "w:step_2.tmp/a.pt w:step_2.tmp/b.pt m:step_2.tmp>step_2",
	 "w:step_3.tmp/a.pt", "w:step_3.tmp/b.pt m:step_3.tmp>step_3", ""},
	{"deleted again", PAIRS, "", "o:new.gone c:new.gone d:new.gone", ""},
	{"what others write changes nothing", PAIRS, "o:step_7/model.pt", "w:curve.csv",
	 "step_7/ "},
	{"over what lay there before", BEFORE, "", "w:model.npz", ""},
	{"the same, open", BEFORE, "", "o:model.npz", "model.npz "},
	{"all of it", BEFORE, "w:model.npz", "w:opt.npz", "./model.npz ./opt.npz "},
	{"beside it", BEFORE, "", "w:new.npz", "./new.npz "},
	{"an output that was open before, and is when the save is closed", "", "",
	 "o:traj.dat o:run.out w:step_1.npz", "./step_1.npz "},
	{"the same, and the list had it already", "", "o:traj.dat", "w:step_1.npz",
	 "./step_1.npz "},
	{"an open file that was begun after the save", "", "", "w:step_1.npz o:traj.dat",
	 WHOLE "traj.dat ./step_1.npz "},
	{"the close of what began before is no write", PAIRS, "", "c:other.pt", ""},
};

static void test_what_was_under_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		check(&scenes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
