/* Walks every world that the job machine can reach, and holds what must be true in all of them. */
#include "core/model.h"

#include <string.h>

#include "unit.h"

struct world {
	enum job_state state;
	bool alive; /* the child */
	bool noticed;
	bool killed;
};

#define WORLDS (JOB_STATES * 8)

static size_t index_of(struct world world)
{
	return ((size_t)world.state * 8) + world.alive * 4u + world.noticed * 2u + world.killed;
}

/* What can happen there at all. */
static bool can_happen(struct world world, enum life_event event)
{
	switch (event) {
	case EV_RESTORED:
	case EV_RESTORE_FAILED:
		return world.state == JOB_RESTORING;
	case EV_CHILD_EXITED:
	case EV_CHECKPOINT_COMPLETE:
		return world.alive;
	case EV_LAUNCH_FAILED:
		return world.alive && !world.killed;
	case EV_CANCELLED:
		return world.noticed;
	case EV_BUDGET_SPENT:
		return world.noticed || world.state == JOB_STOPPING;
	case EV_UPLOADED:
		return world.state == JOB_UPLOADING;
	case EV_NOTICE:
	case LIFE_EVENTS:
		break;
	}
	return event == EV_NOTICE;
}

static struct world step(struct world world, enum life_event event)
{
	struct lifecycle_transition transition = lifecycle_step(world.state, event);

	if (event == EV_CHILD_EXITED || event == EV_LAUNCH_FAILED)
		world.alive = false;
	if (event == EV_NOTICE)
		world.noticed = true;
	if (event == EV_CANCELLED)
		world.noticed = false;
	if (transition.action == DO_LAUNCH_CHILD)
		world.alive = true;
	if (transition.action == DO_KILL_CHILD)
		world.killed = true;
	world.state = transition.next;
	return world;
}

static size_t reach_all(struct world *found)
{
	bool seen[WORLDS] = {false};
	size_t count = 1;

	found[0] = (struct world){.state = JOB_RESTORING};
	seen[index_of(found[0])] = true;
	for (size_t at = 0; at < count; at++) {
		for (int event = 0; event < LIFE_EVENTS; event++) {
			struct world next;

			if (!can_happen(found[at], (enum life_event)event))
				continue;
			next = step(found[at], (enum life_event)event);
			if (seen[index_of(next)])
				continue;
			seen[index_of(next)] = true;
			found[count++] = next;
		}
	}
	return count;
}

static void test_no_job_is_over_while_its_child_lives(void **state)
{
	struct world worlds[WORLDS];
	size_t count = reach_all(worlds);

	(void)state;
	assert_true(count >= 9);
	for (size_t i = 0; i < count; i++)
		assert_false(worlds[i].state == JOB_OVER && worlds[i].alive);
}

static void test_every_state_is_reached(void **state)
{
	struct world worlds[WORLDS];
	bool reached[JOB_STATES] = {false};
	size_t count = reach_all(worlds);

	(void)state;
	for (size_t i = 0; i < count; i++)
		reached[worlds[i].state] = true;
	for (int i = 0; i < JOB_STATES; i++)
		assert_true(reached[i]);
}

static void test_over_is_final(void **state)
{
	(void)state;
	for (int event = 0; event < LIFE_EVENTS; event++) {
		struct lifecycle_transition transition =
			lifecycle_step(JOB_OVER, (enum life_event)event);

		assert_int_equal(transition.next, JOB_OVER);
		assert_int_equal(transition.action, DO_NOTHING);
	}
}

/* After a notice, time alone ends every job, whatever the job does or does not do. */
static void test_time_alone_ends_a_noticed_job(void **state)
{
	struct world worlds[WORLDS];
	size_t count = reach_all(worlds);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct world world = worlds[i];
		int steps = 0;

		if (!world.noticed || world.state == JOB_RUNNING || world.state == JOB_RESTORING)
			continue;
		while (world.state != JOB_OVER && steps < 10) {
			/* SIGKILL does end a process. */
			world = step(world, world.killed && world.alive ? EV_CHILD_EXITED
									: EV_BUDGET_SPENT);
			steps++;
		}
		assert_int_equal(world.state, JOB_OVER);
		assert_true(steps <= 4);
	}
}

static void test_a_job_is_launched_once(void **state)
{
	struct world worlds[WORLDS];
	size_t count = reach_all(worlds);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (int event = 0; event < LIFE_EVENTS; event++)
			if (lifecycle_step(worlds[i].state, (enum life_event)event).action ==
			    DO_LAUNCH_CHILD)
				assert_int_equal(worlds[i].state, JOB_RESTORING);
}

/* The child's end always leads to shipping what it left. */
static void test_the_childs_end_always_flushes(void **state)
{
	struct world worlds[WORLDS];
	size_t count = reach_all(worlds);

	(void)state;
	for (size_t i = 0; i < count; i++)
		if (worlds[i].alive)
			assert_int_equal(lifecycle_step(worlds[i].state, EV_CHILD_EXITED).action,
					 DO_FLUSH_SNAPSHOTS);
}

static void test_cells(void **state)
{
	static const struct {
		enum job_state state;
		enum life_event event;
		enum life_action action;
		enum job_state next;
	} rows[] = {
		{JOB_RESTORING, EV_RESTORED, DO_LAUNCH_CHILD, JOB_RUNNING},
		{JOB_RESTORING, EV_NOTICE, DO_CANCEL_RESTORE, JOB_OVER},
		{JOB_RESTORING, EV_RESTORE_FAILED, DO_NOTHING, JOB_OVER},
		{JOB_RUNNING, EV_LAUNCH_FAILED, DO_NOTHING, JOB_OVER},
		{JOB_CHECKPOINTING, EV_LAUNCH_FAILED, DO_NOTHING, JOB_OVER},
		{JOB_STOPPING, EV_LAUNCH_FAILED, DO_NOTHING, JOB_OVER},
		{JOB_RUNNING, EV_NOTICE, DO_REQUEST_CHECKPOINT, JOB_CHECKPOINTING},
		{JOB_RUNNING, EV_CHECKPOINT_COMPLETE, DO_NOTHING, JOB_RUNNING},
		{JOB_RUNNING, EV_BUDGET_SPENT, DO_NOTHING, JOB_RUNNING},
		{JOB_CHECKPOINTING, EV_CHECKPOINT_COMPLETE, DO_STOP_CHILD, JOB_STOPPING},
		{JOB_CHECKPOINTING, EV_BUDGET_SPENT, DO_STOP_CHILD, JOB_STOPPING},
		{JOB_CHECKPOINTING, EV_CANCELLED, DO_WITHDRAW_REQUEST, JOB_RUNNING},
		{JOB_CHECKPOINTING, EV_NOTICE, DO_REPLAN, JOB_CHECKPOINTING},
		{JOB_STOPPING, EV_BUDGET_SPENT, DO_KILL_CHILD, JOB_STOPPING},
		{JOB_STOPPING, EV_CANCELLED, DO_REPLAN, JOB_STOPPING},
		{JOB_UPLOADING, EV_CANCELLED, DO_REPLAN, JOB_UPLOADING},
		{JOB_UPLOADING, EV_UPLOADED, DO_NOTHING, JOB_OVER},
		{JOB_UPLOADING, EV_BUDGET_SPENT, DO_CANCEL_SNAPSHOTS, JOB_OVER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct lifecycle_transition transition =
			lifecycle_step(rows[i].state, rows[i].event);

		assert_int_equal(transition.action, rows[i].action);
		assert_int_equal(transition.next, rows[i].next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_job_is_over_while_its_child_lives),
		cmocka_unit_test(test_every_state_is_reached),
		cmocka_unit_test(test_over_is_final),
		cmocka_unit_test(test_time_alone_ends_a_noticed_job),
		cmocka_unit_test(test_a_job_is_launched_once),
		cmocka_unit_test(test_the_childs_end_always_flushes),
		cmocka_unit_test(test_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
