/* kill -9 at every named fault point: what was committed stays, what was not is not there, and the
 * next attempt works. */
#include "effort.h"
#include "storage_fixture.h"

#include <signal.h>
#include <sys/wait.h>

static const char *const points[] = {
	"before_claim_put",      "after_claim_put",     "before_pack_put",
	"after_pack_put",        "before_manifest_put", "after_manifest_put",
	"after_temporary_write", "before_link",         "after_link",
};

/* In the child: continue, change, save. Ends by the fault point's SIGKILL, or with
 * 0 if it never got there. */
static void run_and_die(struct fixture *f, const char *point, int time)
{
	struct storage_options options = {
		.url = f->url,
		.job = "job",
		.create = true,
		.threads = 2,
	};
	struct save_request request = {.reason = "notice", .step = 2};
	struct save_result result;
	struct claim claim = {0};
	struct attempt attempt;
	struct storage *storage;
	char fault[64];

	snprintf(fault, sizeof(fault), "%s:%d", point, time);
	setenv("REPRIEVE_FAULT", fault, 1);
	request.directory = f->source;
	if (storage_open(&options, &storage, NULL, NULL) < 0 ||
	    storage_claim(storage, &claim, &attempt, NULL, NULL) < 0)
		_exit(1);
	request.id = (struct snapshot_id){attempt.number, 1};
	request.parent = attempt.start;
	_exit(storage_save(storage, &request, &result, NULL, NULL) < 0);
}

/* Returns whether it was killed. */
static bool crash(struct fixture *f, const char *point, int time)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		run_and_die(f, point, time);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status)) {
		assert_int_equal(WTERMSIG(status), SIGKILL);
		return true;
	}
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void check_aftermath(struct fixture *f, const char *point, int time, bool killed)
{
	struct snapshot_list list;
	bool committed;

	if (fixture_damages(f) != 0)
		fail_msg("damage after %s:%d", point, time);
	assert_works(storage_list_snapshots(f->storage, &list, NULL, &err));
	committed = list.count == 2;
	/* Nothing good is lost, and the newest commit is the one to go on from. */
	assert_true(list.count == 1 || list.count == 2);
	assert_true(list.items[0].newest);
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.items[i].state, SNAPSHOT_GOOD);
	if (strcmp(point, "after_manifest_put") == 0 || !killed)
		assert_true(committed);
	else if (strstr(point, "claim_put") || strstr(point, "pack_put") ||
		 strstr(point, "before_manifest"))
		assert_false(committed);
	if (!committed)
		fixture_write(f, "w", 300000, 1);
	fixture_claim(f);
	assert_int_equal(snapshot_id_compare(f->attempt.start, list.items[0].id), 0);
	assert_works(fixture_try_restore(f, f->attempt.start));
	{
		auto_free char *command = text_format("cmp '%s/w' '%s/w'", f->source, f->target);

		assert_int_equal(system(command), 0);
	}
	snapshot_list_release(&list);
	fixture_check(f, fixture_take(f));
}

static void test_killed_at_every_point(void **state)
{
	int last = (int)effort_count("times at each point", 5, 2);

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		int kills = 0;

		for (int time = 1; time <= last; time++) {
			struct fixture f;
			bool killed;

			fixture_start(&f);
			fixture_write(&f, "w", 300000, 1);
			fixture_take(&f);
			fixture_write(&f, "w", 300000, 2);
			killed = crash(&f, points[i], time);
			kills += killed;
			check_aftermath(&f, points[i], time, killed);
			fixture_stop(&f);
		}
		/* A point that nothing passes proves nothing. */
		if (kills == 0)
			fail_msg("nothing got to %s", points[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_at_every_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
