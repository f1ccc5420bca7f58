/* What a member does next at the start; test_start_model.c tries all orders. */
#include "gang/gang_start.h"

#include <string.h>

#include "unit.h"

#define AT 1000000

struct rules_row {
	const char *what;
	uint32_t member;
	/* 0: it has not joined. */
	bool joined;
	uint32_t after, restored, rejoined;
	/* The newest attempt, and who this one's member is in it. */
	uint32_t attempt, members;
	bool confirmed;
	const char *named;
	int64_t named_birth_ms;
	enum gang_first_event first;
	bool all_ready, patient, others;
	enum start_step step;
	enum start_end end;
	bool refused;
};

#define NONE GANG_FIRST_NONE
#define GO GANG_FIRST_GO
#define REJOIN GANG_FIRST_REJOIN
#define REFUSED GANG_FIRST_REFUSED

// clang-format off
static const struct rules_row rows[] = {
	{"it comes first of all", 0, false, 0, 0, 0, 0, 0, false, "", 0, NONE, false, false, false,
		START_STEP_JOIN, 0, false},
	{"it comes behind an attempt of one machine", 0, false, 0, 0, 0, 5, 1, true, "", 0, NONE,
		false, false, false, START_STEP_JOIN, 0, false},
	{"it comes behind one of other processes", 1, false, 0, 0, 0, 5, 2, true, "x", AT - 9000, GO,
		false, false, false, START_STEP_JOIN, 0, false},
	{"nothing is over that was no gang's", 0, true, 5, 0, 0, 5, 1, true, "", 0, NONE, false,
		true, false, START_STEP_WAIT_FOR_MEMBERS, 0, false},
	{"all have come: member 0 claims", 0, true, 5, 0, 0, 5, 1, true, "", 0, NONE, false, false,
		true, START_STEP_CLAIM, 0, false},
	{"all have come: the other waits", 1, true, 5, 0, 0, 5, 1, true, "", 0, NONE, false, false,
		true, START_STEP_WAIT_FOR_CLAIM, 0, false},
	{"what has not started is over at once", 1, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, NONE,
		false, false, false, START_STEP_REJOIN, 0, false},
	{"also if it is not confirmed", 1, true, 5, 0, 0, 5, 2, false, "x", AT - 9000, NONE, false,
		false, false, START_STEP_REJOIN, 0, false},
	{"what runs may end by itself", 1, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, GO, false,
		false, false, START_STEP_WAIT_FOR_MEMBERS, 0, false},
	{"but not for ever", 1, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, GO, false, true, false,
		START_STEP_REJOIN, 0, false},
	{"once is enough", 1, true, 5, 0, 5, 5, 2, true, "x", AT - 9000, GO, false, true, false,
		START_STEP_WAIT_FOR_MEMBERS, 0, false},
	{"member 0 says so before it claims", 0, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, GO,
		false, false, true, START_STEP_REJOIN, 0, false},
	{"and then claims", 0, true, 5, 0, 5, 5, 2, true, "x", AT - 9000, GO, false, false, true,
		START_STEP_CLAIM, 0, false},
	{"named, not confirmed", 1, true, 4, 0, 0, 5, 2, false, "own", AT, NONE, false, false, false,
		START_STEP_WAIT_FOR_CLAIM, 0, false},
	{"named", 1, true, 4, 0, 0, 5, 2, true, "own", AT, NONE, false, false, false,
		START_STEP_RESTORE, 0, false},
	{"restored", 1, true, 4, 5, 0, 5, 2, true, "own", AT, NONE, true, false, false,
		START_STEP_WAIT_FOR_READY, 0, false},
	{"all have restored", 0, true, 4, 5, 0, 5, 2, true, "own", AT, NONE, true, false, false,
		START_STEP_GO, 0, false},
	{"one has not", 0, true, 4, 5, 0, 5, 2, true, "own", AT, NONE, false, false, false,
		START_STEP_WAIT_FOR_READY, 0, false},
	{"go", 1, true, 4, 5, 0, 5, 2, true, "own", AT, GO, false, false, false,
		START_STEP_START, 0, false},
	{"somebody has come anew", 1, true, 4, 5, 0, 5, 2, true, "own", AT, REJOIN, false, false,
		false, START_STEP_JOIN, 0, false},
	{"also while the claim is not confirmed", 1, true, 4, 0, 0, 5, 2, false, "own", AT, REJOIN,
		false, false, false, START_STEP_JOIN, 0, false},
	{"it was replaced while it waited", 1, true, 4, 0, 0, 5, 2, true, "x", AT + 9000, NONE, false,
		false, false, START_STEP_END, START_END_ROSTER, false},
	{"it has replaced another, which was claimed", 1, true, 4, 0, 0, 5, 2, true, "x", AT - 9000,
		NONE, false, false, false, START_STEP_JOIN, 0, false},
	{"it stood still before it came at all", 1, true, 5, 0, 0, 5, 2, true, "x", AT + 9000, GO,
		false, true, true, START_STEP_END, START_END_ROSTER, false},
	{"one machine has begun meanwhile", 1, true, 4, 0, 0, 5, 1, true, "", 0, NONE, false, false,
		false, START_STEP_END, START_END_OTHER_GANG, false},
	{"the store was emptied", 1, true, 4, 0, 0, 0, 0, false, "", 0, NONE, false, false, false,
		START_STEP_JOIN, 0, false},
	{"another one of it cannot be a member", 1, true, 4, 5, 0, 5, 2, true, "own", AT, REFUSED,
		false, false, false, START_STEP_END, START_END_REFUSED, false},
	{"that was before this one came", 1, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, REFUSED,
		false, false, true, START_STEP_WAIT_FOR_CLAIM, 0, false},
	{"it cannot be a member, and says so", 1, false, 0, 0, 0, 5, 2, true, "x", AT - 9000, GO,
		false, false, false, START_STEP_JOIN, 0, true},
	{"what runs is not concerned", 1, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, GO, false,
		true, false, START_STEP_END, START_END_OWN, true},
	{"what has not started is over", 1, true, 5, 0, 0, 5, 2, true, "x", AT - 9000, NONE, false,
		false, false, START_STEP_REJOIN, 0, true},
	{"it has said so", 1, true, 5, 0, 5, 5, 2, true, "x", AT - 9000, NONE, false, false, false,
		START_STEP_END, START_END_OWN, true},
	{"it was claimed meanwhile, with another process of it", 1, true, 4, 0, 0, 5, 2, true, "x",
		AT - 9000, NONE, false, false, false, START_STEP_JOIN, 0, true},
	{"its successor can be one", 1, true, 5, 0, 0, 5, 2, true, "x", AT + 9000, NONE, false,
		false, false, START_STEP_END, START_END_OWN, true},
	{"it cannot restore", 1, true, 4, 0, 0, 5, 2, true, "own", AT, NONE, false, false, false,
		START_STEP_REJOIN, 0, true},
	{"it has said that it cannot", 1, true, 4, 0, 0, 5, 2, true, "own", AT, REFUSED, false, false,
		false, START_STEP_END, START_END_OWN, true},
	{"nothing is claimed yet", 1, true, 0, 0, 0, 0, 0, false, "", 0, NONE, false, false, false,
		START_STEP_END, START_END_OWN, true},
};
// clang-format on

static void test_decide(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rules_row *row = &rows[i];
		struct gang_join joins[2] = {
			{.member = row->member, .members = 2, .nonce = "own", .birth_ms = AT},
			{.member = !row->member, .members = 2, .nonce = "other", .birth_ms = AT},
		};
		struct gang_claim claim = {
			.attempt = row->attempt,
			.confirmed = row->confirmed,
			.members = row->members,
			.own = {.member = row->member, .birth_ms = row->named_birth_ms},
		};
		struct gang_self self = {
			.own = joins[0],
			.joined = row->joined,
			.after = row->after,
			.restored = row->restored,
			.rejoined = row->rejoined,
		};
		struct gang_seen seen = {
			.claim = &claim,
			.joins = joins,
			.join_count = row->others ? 2 : 1,
			.first = row->first,
			.all_ready = row->all_ready,
			.patient = row->patient,
			.settled = true,
		};
		struct start_decision decision;

		self.own.refused = row->refused;
		strcpy(claim.own.nonce, row->named);
		decision = gang_start_decide(&self, &seen);
		if (decision.step != row->step)
			fail_msg("%s: step %d", row->what, decision.step);
		if (row->step == START_STEP_END && decision.end != row->end)
			fail_msg("%s: ends by %d", row->what, decision.end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
