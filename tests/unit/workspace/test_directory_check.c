#include "workspace/workspace.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

/* The job saves in that directory, whatever it is called on our command line. */
static void follow_advice(struct directory_check_facts facts, const char *advice)
{
	const char *words = advice ? advice : "";
	bool moves_store = text_starts(words, "keep the store outside of it");
	bool moves_job = strstr(words, "mkdir run && cd run") != NULL;
	auto_free char *own = text_format("%s/new", facts.directory);
	struct directory_check_facts followed = facts;
	struct err err = {0};

	assert_true(moves_store || moves_job);
	if (moves_store)
		followed.store = "/another/place";
	if (moves_job) {
		followed.directory = followed.working = own;
		followed.repository = false;
	}
	if (directory_check_judge(&followed, &advice, &err) < 0)
		fail_msg("%s with the store %s, from %s: %s", facts.directory, facts.store,
			 facts.working, err.text);
}

static void test_what_lies_where_it_must_not(void **state)
{
	static const struct {
		struct directory_check_facts facts;
		const char *said; /* NULL: all is well */
	} rows[] = {
		{{.directory = "/w/ck"}, NULL},
		{{.directory = "/"}, "everything"},
		{{"/", .store = "/w", .home = "/home/u"}, "everything"},
		{{"/w/ck", .store = "/w/ck"}, "store"},
		{{"/w/ck", .store = "/w/ck/a/store"}, "store"},
		{{"/w/ck", .store = "/w/ck2"}, NULL},
		{{"/w/ck2", .store = "/w/ck"}, NULL},
		{{"/w/ck", .store = "/w"}, NULL},
		{{"/ck", .store = "/"}, NULL},
		{{"/w/jobs", .store = "/w"}, "inside the content"},
		{{"/w/jobs/a/packs", .store = "/w"}, "inside the content"},
		{{"/w/tmp/x", .store = "/w"}, "inside the content"},
		{{"/w/jobs2", .store = "/w"}, NULL},
		{{"/w/a/jobs", .store = "/w"}, NULL},
		{{"/tmp", .runtime = "/tmp/reprieve-0/7-ab"}, "runtime"},
		{{"/tmp/ck", .runtime = "/tmp/reprieve-0/7-ab"}, NULL},
		{{"/home/u", .home = "/home/u"}, "home"},
		{{"/home", .home = "/home/u"}, "home"},
		{{"/home/u/ck", .home = "/home/u"}, NULL},
		{{"/work/ck", .home = "/"}, NULL},
		{{"/w", .working = "/w/src"}, "working"},
		{{"/w", .working = "/w"}, NULL},
		{{"/w", .working = "/w", .repository = true}, "repository"},
		{{"/w/ck", .working = "/w", .repository = true}, NULL},
		{{"/w", .working = "/w", .program = "/w/train.py"}, "/w/train.py"},
		{{"/w/ck", .working = "/w", .program = "/w/train.py"}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct err err = {0};
		const char *advice = NULL;
		int status = directory_check_judge(&rows[i].facts, &advice, &err);
		if ((status < 0) != (rows[i].said != NULL) ||
		    (rows[i].said && (!strstr(err.text, rows[i].said) || err.kind != ERR_INVALID)))
			fail_msg("row %zu: %d, %s", i, status, err.text);
		if ((advice != NULL) != (status < 0))
			fail_msg("row %zu: advice %s", i, advice);
		if (status < 0)
			follow_advice(rows[i].facts, advice);
	}
}

/* Several things in the way at once, as where a job saves beside its script and its store is there
 * too. */
static void test_who_follows_the_advice_is_not_refused_again(void **state)
{
	static const char *const places[] = {NULL,          "/",         "/w",        "/w/ck",
					     "/w/ck/store", "/w/ck/run", "/elsewhere"};
	static const char *const directories[] = {"/", "/w", "/w/ck", "/w/jobs", "/w/jobs/a"};
	enum {
		PLACES = sizeof(places) / sizeof(places[0])
	};
	size_t refused = 0;

	(void)state;
	for (size_t i = 0; i < 5 * PLACES * PLACES * PLACES * PLACES * 2; i++) {
		struct directory_check_facts facts = {
			.directory = directories[i / 2 % 5],
			.store = places[i / 10 % PLACES],
			.working = places[i / 10 / PLACES % PLACES],
			.home = places[i / 10 / PLACES / PLACES % PLACES],
			.program = places[i / 10 / PLACES / PLACES / PLACES],
			.repository = i % 2,
		};
		const char *advice;

		if (directory_check_judge(&facts, &advice, NULL) == 0)
			continue;
		refused++;
		follow_advice(facts, advice);
	}
	assert_true(refused > 1000);
}

static void put(const char *path)
{
	assert_int_equal(file_write(path, "x", 1, NULL), 0);
}

static void test_which_word_is_the_program(void **state)
{
	static const struct {
		const char *command[8];
		bool refused;
	} rows[] = {
		{{"python3", "ck/train.py"}, true},
		{{"python3", "-u", "./ck/../ck/train.py"}, true},
		{{"ck/program", "x"}, true},
		{{"torchrun", "--nproc-per-node", "2", "ck/train.py"}, true},
		{{"python3", "-m", "ck.train"}, true},
		{{"python3", "-m", "ck.package"}, true},
		{{"python3", "-m", "torch.distributed.run", "ck/train.py"}, true},
		{{"sh", "-c", "set -e; python3 'ck/train.py' --lr 1"}, true},
		{{"sh", "-c", "python3 -m ck.train"}, true},
		{{"bash", "link/run.sh"}, true},
		/* Arguments may lie there. */
		{{"python3", "train.py", "ck/train.py"}, false},
		{{"python3", "train.py", "--resume", "ck/last.pt"}, false},
		{{"sh", "run.sh", "ck/run.sh"}, false},
		{{"./run.sh", "ck/run.sh"}, false},
		{{"python3", "-m", "installed.train", "ck/train.py"}, false},
		{{"sh", "-c", "python3 train.py --config ck/train.py"}, false},
		{{"program", "ck/last.pt"}, false},
		{{"python3", "ck/missing.py"}, false},
	};
	char root[] = "/tmp/test_own_directory.XXXXXX";
	auto_free char *before = getcwd(NULL, 0);

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_int_equal(chdir(root), 0);
	assert_int_equal(file_make_directories("ck/package", 0777, NULL), 0);
	assert_int_equal(symlink("ck", "link"), 0);
	put("train.py");
	put("run.sh");
	put("ck/train.py");
	put("ck/run.sh");
	put("ck/program");
	put("ck/last.pt");
	put("ck/package/__main__.py");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct directory_check own = {
			.directory = "ck",
			.store = "s3://bucket/runs",
			.command = (char *const *)rows[i].command,
		};
		struct err err = {0};
		const char *advice;
		int status = directory_check_run(&own, &advice, &err);

		if ((status < 0) != rows[i].refused)
			fail_msg("row %zu: %d, %s", i, status, err.text);
	}
	assert_int_equal(chdir(before), 0);
	file_remove_tree(root, NULL);
}

static void test_links_are_followed(void **state)
{
	char root[] = "/tmp/test_own_directory.XXXXXX";
	char *const command[] = {(char[]){"true"}, NULL};
	auto_free char *directory = NULL;
	auto_free char *link = NULL;
	auto_free char *store = NULL;
	const char *advice;
	auto_free char *missing = NULL;

	(void)state;
	assert_non_null(mkdtemp(root));
	directory = text_format("%s/ck", root);
	link = text_format("%s/link", root);
	store = text_format("file://%s/link/not/there/yet", root);
	missing = text_format("%s/no/such/ck", root);
	assert_int_equal(mkdir(directory, 0777), 0);
	assert_int_equal(symlink("ck", link), 0);
	struct directory_check own = {.directory = directory, .store = store, .command = command};
	assert_int_equal(directory_check_run(&own, &advice, NULL), -1);
	assert_int_equal(directory_check_store(directory, store, NULL), -1);
	own.directory = missing;
	assert_int_equal(directory_check_run(&own, &advice, NULL), 0);
	assert_int_equal(directory_check_store(missing, store, NULL), 0);
	assert_int_equal(directory_check_store("/", store, NULL), -1);
	/* Without a store nothing is touched. */
	own = (struct directory_check){.directory = "..", .command = command};
	assert_int_equal(directory_check_run(&own, &advice, NULL), 0);
	file_remove_tree(root, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_lies_where_it_must_not),
		cmocka_unit_test(test_who_follows_the_advice_is_not_refused_again),
		cmocka_unit_test(test_which_word_is_the_program),
		cmocka_unit_test(test_links_are_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
