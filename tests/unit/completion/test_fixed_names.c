/* The first save of fixed names after a restart: what the attempts before wrote says what it has.
 */
#include "completion/detector.h"
#include "completion/tracker.h"

#include "base/text.h"

#include <string.h>

#include "unit.h"

static struct detector detector;

static void write_file(const char *path, int64_t now_ms)
{
	struct shim_message message = {.pid = 1, .descriptor = 3, .path = path, .path2 = ""};

	message.event = SHIM_OPENED;
	message.flags = SHIM_FLAG_EMPTY;
	detector_handle_shim(&detector, &message, now_ms);
	message.event = SHIM_CLOSED;
	message.flags = 0;
	detector_handle_shim(&detector, &message, now_ms + 1);
}

static struct judgement decide(int64_t now_ms)
{
	struct judgement judgement, last = {VERDICT_UNDER_WAY, REASON_MOVING, 0};
	struct checkpoint *checkpoint;
	int64_t at_ms;

	while ((checkpoint = detector_next_decided(&detector, now_ms, &judgement, &at_ms))) {
		detector_decide(&detector, checkpoint, judgement);
		last = judgement;
	}
	return last;
}

/* "m": model.pt, "o": optimizer.pt, "c": config.json; "m o": quiet in between. */
static void write_files(const char *names, int64_t now_ms)
{
	for (; *names; names++, now_ms += 500) {
		if (*names == ' ')
			(void)decide(now_ms += 5000);
		else
			write_file(*names == 'm'   ? "model.pt"
				   : *names == 'o' ? "optimizer.pt"
						   : "config.json",
				   now_ms);
	}
}

static const struct {
	const char *before, *after;
	enum verdict_reason reason;
} restarts[] = {
	{"mo", "mo", REASON_SIGNATURE},
	/* One alone, be it whole, would stand beside the older other one. */
	{"mo", "m", REASON_DIED},
	{"mo", "o", REASON_DIED},
	/* Its first file was taken for all of it. */
	{"m o", "mo", REASON_SIGNATURE},
	{"m o", "m", REASON_DIED},
	/* Nobody knows whether it still comes. */
	{"c mo", "mo", REASON_DIED},
	{"c mo", "cmo", REASON_SIGNATURE},
	/* One of them is new: more may be. */
	{"mo", "moc", REASON_DIED},
	{"mo", "mc", REASON_DIED},
	/* Seen twice: what is written with model.pt is known. */
	{"c mo mo", "mo", REASON_SIGNATURE},
};

static void test_killed_after_the_first_save_of_a_restart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++) {
		json_t *signatures;

		detector_init(&detector, DETECTOR_QUIET_MS, NULL);
		write_files(restarts[i].before, 1000);
		(void)decide(90000);
		signatures = detector_signatures_json(&detector);
		detector_release(&detector);
		detector_init(&detector, DETECTOR_QUIET_MS, NULL);
		detector_load_signatures(&detector, signatures);
		json_decref(signatures);
		write_files(restarts[i].after, 100000);
		print_message("%s, %s\n", restarts[i].before, restarts[i].after);
		detector_process_ended(&detector, 1, WRITER_END_KILLED,
				       100000 + 500 * (int64_t)strlen(restarts[i].after));
		assert_int_equal(decide(109000).reason, restarts[i].reason);
		detector_release(&detector);
	}
}

/* Numbers that were seen to name parts do so from the first save of the next attempt on. */
static void test_parts_are_known_after_a_restart(void **state)
{
	static const char *const paths[] = {"model_0.bin", "model_1.bin"};
	json_t *signatures;

	(void)state;
	detector_init(&detector, DETECTOR_QUIET_MS, NULL);
	for (int64_t save_ms = 60000; save_ms <= 180000; save_ms += 60000) {
		for (size_t i = 0; i < 2; i++)
			write_file(paths[i], save_ms + 500 * (int64_t)i);
		(void)decide(save_ms + 20000);
	}
	signatures = detector_signatures_json(&detector);
	detector_release(&detector);
	detector_init(&detector, DETECTOR_QUIET_MS, NULL);
	detector_load_signatures(&detector, signatures);
	json_decref(signatures);
	write_file(paths[0], 300000);
	/* Half of it: no checkpoint 0, however long it is quiet. */
	assert_int_equal(decide(305000).verdict, VERDICT_UNDER_WAY);
	write_file(paths[1], 305000);
	assert_int_equal(decide(305001).verdict, VERDICT_COMPLETE);
	detector_release(&detector);
}

/* A replay buffer that the job keeps open from its start is a running file in the next attempt from
 * its first write on; not if it is begun anew. */
static void test_running_files_are_known_after_a_restart(void **state)
{
	static const struct {
		uint32_t flags;
		bool running;
	} rows[] = {{0, true}, {SHIM_FLAG_EMPTY, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shim_message message = {.event = SHIM_OPENED,
					       .flags = rows[i].flags,
					       .pid = 1,
					       .descriptor = 9,
					       .path = "replay.dat",
					       .path2 = ""};
		json_t *known = json_pack("{s:[s]}", "running", "replay.dat"), *again;

		detector_init(&detector, DETECTOR_QUIET_MS, NULL);
		detector_load_signatures(&detector, known);
		detector_handle_shim(&detector, &message, 1000);
		assert_int_equal(detector_is_running(&detector, "replay.dat"), rows[i].running);
		again = detector_signatures_json(&detector);
		assert_true(rows[i].running ? json_equal(known, again) : again == NULL);
		json_decref(again);
		json_decref(known);
		detector_release(&detector);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running_files_are_known_after_a_restart),
		cmocka_unit_test(test_parts_are_known_after_a_restart),
		cmocka_unit_test(test_killed_after_the_first_save_of_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
