/* What a member does about the rounds of its gang. */
#include "gang/gang_rounds.h"

#include <string.h>

#include "unit.h"

#define NOW 100000
#define LOG_MOST 6

/* Kinds, short. */
#define EVENT(name, by, ...)                                           \
	{                                                              \
		.kind = GANG_EVENT_##name, .member = (by), __VA_ARGS__ \
	}
#define ROUND(by, at) EVENT(ROUND, by, .step = (at))
#define AHEAD(by, at) EVENT(ROUND, by, .step = (at), .at_least = true)
#define LEFT_OUT(by, of, at) EVENT(LEFT_OUT, by, .round = (of), .step = (at))
#define PASSED(by, of, at) EVENT(PASSED, by, .round = (of), .step = (at))
#define ANSWERS(by, of, event) EVENT(ANSWERS, by, .round = (of), .answers = (event))
#define ENDED(by, with) EVENT(ENDED, by, .code = (with))
#define ENDED_MORE(by) EVENT(ENDED, by, .more = true)
#define GOES_ON(by) EVENT(GOES_ON, by)
#define NOTICE(by) EVENT(NOTICE, by)
#define ALONE(by) EVENT(LEAVING, by)
#define GONE(by) EVENT(GONE, by)
#define GONE_AT(by, at) EVENT(GONE, by, .saves = true, .step = (at))
#define ALL_ENDED ENDED(0, 0), ENDED_MORE(1), ENDED(2, 0)
#define REQUEST(by) EVENT(REQUEST, by)
#define REJOIN(by) EVENT(OVER, by)

/* What member 1 of 3 knows. */
struct rounds_row {
	const char *what;
	struct gang_event log[LOG_MOST];
	size_t events;
	uint32_t committed;
	struct gang_here here;
	enum gang_round_action action;
	int64_t step;
	bool at_least;
};

#define NONE .step = -1, .before = -1
#define AT(now, then) .generation = 2, .step = (now), .before = (then), .begun = true
#define FINISHED .ended = true, .finished = true, .ended_ms = NOW - 1000
#define GAVE(round) .given = (round), .given_step = 20, .given_generation = 2
#define LACKS .stale = 2
#define ALONE_BY(event) .leaves = (event), .stopping = true
#define WANTS .wants = true, .wanted_ms = NOW
#define WANTED .wants = true, .wanted_ms = NOW - GANG_OPEN_PAUSE_MS

// clang-format off
static const struct rounds_row rows[] = {
	{"nothing is known", {{0}}, 0, 0, {NONE}, GANG_WAIT, 0, false},
	{"nothing is to be saved", {{0}}, 0, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"the opener is given time", {{0}}, 0, 0, {AT(20, 10), WANTS}, GANG_WAIT, 0, false},
	{"it took too long", {{0}}, 0, 0, {AT(20, 10), WANTED}, GANG_OPEN, 20, false},
	{"at a notice", {{0}}, 0, 0, {AT(20, 10), WANTS, .urgent = true}, GANG_OPEN, 20, false},
	{"after the job's end", {{0}}, 0, 0, {AT(20, 10), WANTS, .ended = true}, GANG_OPEN, 20, false},
	{"who opened the last one", {ROUND(1, 10)}, 1, 1,
		{AT(20, 10), WANTS, .given = 1}, GANG_OPEN, 20, false},
	{"alone: a round that was open when its job ended", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), WANTS, ALONE_BY(1), .ended = true, .ended_in = 2}, GANG_TAKE, 0, false},
	{"alone: one that was opened after it", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), WANTS, ALONE_BY(1), .ended = true}, GANG_LEAVE_OUT, 20, false},
	{"alone: the same, with its part", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), WANTS, ALONE_BY(1), .ended = true, .given = 2, .lies = true}, GANG_LOOK_AFTER_PART, 0,
		false},
	{"alone: while its job goes on", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), WANTS, ALONE_BY(1)}, GANG_TAKE, 0, false},
	{"alone: it opens one", {ALONE(1)}, 1, 0,
		{AT(20, 10), WANTS, ALONE_BY(1), .urgent = true}, GANG_OPEN, 20, false},
	{"alone: but none after its job", {ALONE(1)}, 1, 0,
		{AT(20, 10), WANTS, ALONE_BY(1), .urgent = true, .ended = true}, GANG_WAIT, 0, false},
	{"not before the fate of the last is known", {ROUND(1, 10)}, 1, 0,
		{AT(20, 10), WANTS, .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"one that is left out, by one that all come to", {ROUND(1, 10), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .pace = 4}, GANG_OPEN, 25, false},
	{"one that is left out, by one that is there", {ROUND(1, 10), LEFT_OUT(0, 1, 20)}, 2, 0,
		{AT(20, 10), WANTS, .pace = 4}, GANG_OPEN, 20, false},
	{"one that is left out, by one that is behind", {ROUND(1, 10), LEFT_OUT(0, 1, 15)}, 2, 0,
		{AT(20, 10), WANTS, .pace = 4}, GANG_OPEN, 30, true},
	{"twice as far the second time",
		{ROUND(1, 10), LEFT_OUT(0, 1, 25), ROUND(1, 35), LEFT_OUT(0, 3, 25)}, 4, 0,
		{AT(20, 10), WANTS, .pace = 4}, GANG_OPEN, 45, true},
	{"one step at least", {ROUND(1, 10), LEFT_OUT(0, 1, -1)}, 2, 0,
		{AT(20, 10), WANTS}, GANG_OPEN, 21, true},
	{"a job that has finished tries its last step once", {ROUND(1, 10)}, 1, 1,
		{AT(20, 10), WANTS, FINISHED}, GANG_OPEN, 20, false},
	{"and no more", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, FINISHED, .over_ms = NOW}, GANG_WAIT, 0, false},
	{"one that was left out before does not count", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, FINISHED, .over_ms = NOW - 5000}, GANG_OPEN, 20, false},
	{"without a step it waits for the final round", {{0}}, 0, 0,
		{AT(-1, -1), WANTS, FINISHED}, GANG_WAIT, 0, false},
	{"so it does if only curves have grown", {{0}}, 0, 0,
		{AT(20, 10), WANTS, FINISHED, .durable = 2}, GANG_WAIT, 0, false},
	{"a job that has ended tries the same", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .ended = true}, GANG_OPEN, 20, false},
	{"but not at once", {ROUND(1, 20), LEFT_OUT(0, 1, 25)}, 2, 0,
		{AT(20, 10), WANTS, .ended = true, .over_ms = NOW - 100}, GANG_WAIT, 0, false},
	{"a job has failed", {ENDED(2, 1)}, 1, 0, {AT(20, 10), WANTED}, GANG_SAY_GOES_ON, 0, false},
	{"a job has failed, and this one has said that it goes on", {ENDED(2, 1), GOES_ON(1)}, 2, 0,
	 {AT(20, 10), WANTED}, GANG_WAIT, 0, false},
	{"one has ended and stays", {ENDED(2, 0)}, 1, 0, {AT(20, 10), WANTED}, GANG_OPEN, 20, false},
	{"the attempt is over", {REJOIN(2)}, 1, 0, {AT(20, 10), WANTED}, GANG_WAIT, 0, false},

	{"the same step", {ROUND(0, 20)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"also if nothing is due here", {ROUND(0, 20)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"a later round", {ROUND(0, 20), ROUND(0, 30)}, 2, 0,
		{AT(30, 20), .given = 1}, GANG_TAKE, 0, false},
	{"before it", {ROUND(0, 30)}, 1, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"before it, and no more comes", {ROUND(0, 30)}, 1, 0,
		{AT(20, 10), .ended = true}, GANG_LEAVE_OUT, 20, false},
	{"past it", {ROUND(0, 15)}, 1, 0, {AT(20, 10)}, GANG_LEAVE_OUT, 20, false},
	{"past it, and its part may lie there", {ROUND(0, 15)}, 1, 0,
		{AT(20, 10), .given = 1, .lies = true}, GANG_LOOK_AFTER_PART, 0, false},
	{"past it, and its part of another one may lie there", {ROUND(0, 10), ROUND(0, 15)}, 2, 0,
		{AT(20, 10), .given = 1, .lies = true}, GANG_LEAVE_OUT, 20, false},
	{"its job has ended, and its part may lie there", {ROUND(0, 30)}, 1, 0,
		{AT(20, 10), .given = 1, .lies = true, .ended = true}, GANG_LOOK_AFTER_PART, 0, false},
	{"it cannot once more, and its part may lie there", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .given = 1, .lies = true, .unable = 1, .unable_reason = "x"}, GANG_LOOK_AFTER_PART, 0,
		false},
	{"in the end, too", {ALL_ENDED}, 3, 0,
		{AT(15, 10), FINISHED, .given = 3, .lies = true, .torn_later = true}, GANG_LOOK_AFTER_PART, 0, false},
	{"its part may lie there, and those that have ended are told that it goes on",
		{ENDED(0, 0), ROUND(0, 15)}, 2, 0, {AT(20, 10), .given = 2, .lies = true}, GANG_SAY_GOES_ON, 0, false},
	{"the same step, and its part may lie there", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .given = 1, .lies = true}, GANG_LOOK_AFTER_PART, 0, false},
	{"the first from there on", {AHEAD(0, 15)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"exactly there", {AHEAD(0, 20)}, 1, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"the second from there on", {AHEAD(0, 10)}, 1, 0, {AT(20, 10)}, GANG_LEAVE_OUT, 20, false},
	{"not there yet", {AHEAD(0, 21)}, 1, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"not there yet, and it is to end: until then it may come there", {AHEAD(0, 21)}, 1, 0,
		{AT(20, 10), .stopping = true}, GANG_WAIT, 0, false},
	{"not there yet, and it has ended", {AHEAD(0, 21)}, 1, 0,
		{AT(20, 10), .stopping = true, .ended = true}, GANG_LEAVE_OUT, 20, false},
	{"its part could not be made", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .unable = 1, .unable_reason = "x"}, GANG_LEAVE_OUT, 20, false},
	{"begun anew", {ROUND(0, 20)}, 1, 0, {AT(20, 10), .fallen = 1}, GANG_LEAVE_OUT, 20, false},
	{"begun anew before", {ROUND(0, 30), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), .fallen = 1}, GANG_TAKE, 0, false},
	{"over already", {ROUND(0, 20), LEFT_OUT(2, 1, 30)}, 2, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"its own without a step", {ROUND(1, -1)}, 1, 0,
		{AT(-1, -1)}, GANG_TAKE, 0, false},
	{"another's without a step", {ROUND(0, -1)}, 1, 0,
		{AT(-1, -1)}, GANG_LEAVE_OUT, -1, false},

	{"it has written nothing yet", {ROUND(0, 20)}, 1, 0, {NONE}, GANG_WAIT, 0, false},
	{"as in the last snapshot", {ROUND(0, 20)}, 1, 0,
		{NONE, .learned = true}, GANG_GIVE_BESIDE, 0, false},
	{"of a step to come, nothing is learned", {AHEAD(0, 20)}, 1, 0,
		{NONE, .learned = true}, GANG_WAIT, 0, false},
	{"but now it writes", {ROUND(0, 20)}, 1, 0,
		{NONE, .learned = true, .begun = true}, GANG_WAIT, 0, false},
	{"another has gone on", {ROUND(0, 20), PASSED(0, 1, 30)}, 2, 0,
		{NONE}, GANG_GIVE_BESIDE, 0, false},
	{"another has gone on, but now it writes", {ROUND(0, 20), PASSED(0, 1, 30)}, 2, 0,
		{NONE, .begun = true}, GANG_WAIT, 0, false},
	{"in another round", {ROUND(0, 20), ROUND(0, 30), PASSED(0, 1, 30)}, 3, 0,
		{NONE}, GANG_WAIT, 0, false},
	{"its job has finished", {ROUND(0, 20)}, 1, 0,
		{NONE, .ended = true, .finished = true}, GANG_GIVE_BESIDE, 0, false},
	{"its job was asked to end, and has", {NOTICE(0), ROUND(0, 20), ANSWERS(0, 2, 1)}, 3, 0,
		{NONE, .ended = true, .in_order = true}, GANG_GIVE_BESIDE, 0, false},
	{"and the checkpoint was begun before that, perhaps", {NOTICE(0), ROUND(0, 20)}, 2, 0,
		{NONE, .ended = true, .in_order = true}, GANG_LEAVE_OUT, -1, false},
	{"in order, but nobody has asked it", {ROUND(0, 20)}, 1, 0,
		{NONE, .ended = true, .in_order = true}, GANG_LEAVE_OUT, -1, false},
	{"asked to end, while it wrote", {NOTICE(0), ROUND(0, 20)}, 2, 0,
		{NONE, .ended = true, .in_order = true, .begun = true}, GANG_LEAVE_OUT, -1, false},
	{"asked to end, of a member that has saved before", {NOTICE(0), ROUND(0, 20)}, 2, 0,
		{NONE, .ended = true, .in_order = true, .holds_start = true}, GANG_LEAVE_OUT, -1,
		false},
	{"its job has failed, or was ended", {NOTICE(0), ROUND(0, 20)}, 2, 0,
		{NONE, .ended = true}, GANG_LEAVE_OUT, -1, false},
	{"its job was cut while it wrote", {ROUND(0, 20)}, 1, 0,
		{NONE, .ended = true, .finished = true, .begun = true}, GANG_LEAVE_OUT, -1, false},

	{"those that have ended are told that it goes on", {ENDED(0, 0)}, 1, 0,
		{AT(20, 10)}, GANG_SAY_GOES_ON, 0, false},
	{"not all the time", {ENDED(0, 0)}, 1, 0,
		{AT(20, 10), .goes_on_ms = NOW - GANG_GOES_ON_MS + 1}, GANG_WAIT, 0, false},
	{"but again and again", {ENDED(0, 0)}, 1, 0,
		{AT(20, 10), .goes_on_ms = NOW - GANG_GOES_ON_MS}, GANG_SAY_GOES_ON, 0, false},
	{"by one member for all", {ENDED(2, 0)}, 1, 0, {AT(20, 10)}, GANG_WAIT, 0, false},
	{"not by one that has ended, too", {ENDED(0, 0)}, 1, 0,
		{AT(20, 10), FINISHED}, GANG_WAIT, 0, false},
	{"its part comes first", {ENDED(0, 0), ROUND(2, 20)}, 2, 0, {AT(20, 10)}, GANG_TAKE, 0, false},
	{"it has what it started from, which would be lost", {ROUND(0, 20)}, 1, 0,
		{NONE, FINISHED, .holds_start = true}, GANG_LEAVE_OUT, -1, false},

	{"in the end, whatever its step", {ALL_ENDED}, 3, 0,
		{AT(15, 10), FINISHED}, GANG_TAKE, 0, false},
	{"in the end, without a step", {ALL_ENDED}, 3, 0,
		{AT(-1, -1), FINISHED}, GANG_TAKE, 0, false},
	{"in the end, also what it has started from", {ALL_ENDED}, 3, 0,
		{NONE, FINISHED, .holds_start = true}, GANG_TAKE, 0, false},
	{"in the end, what lies beside", {ALL_ENDED}, 3, 0,
		{NONE, FINISHED}, GANG_GIVE_BESIDE, 0, false},
	{"it has begun a checkpoint, and none is whole", {ALL_ENDED}, 3, 0,
		{NONE, FINISHED, .begun = true}, GANG_LEAVE_OUT, -1, false},
	{"the same beside what it has started from", {ALL_ENDED}, 3, 0,
		{NONE, FINISHED, .begun = true, .holds_start = true}, GANG_LEAVE_OUT, -1, false},
	{"a later one is not whole", {ALL_ENDED}, 3, 0,
		{AT(15, 10), FINISHED, .torn_later = true}, GANG_LEAVE_OUT, 15, false},
	{"in the end, it cannot", {ALL_ENDED}, 3, 0,
		{AT(15, 10), FINISHED, .unable = 3, .unable_reason = "x"}, GANG_LEAVE_OUT, 15, false},
	{"in the end, given", {ALL_ENDED}, 3, 0,
		{AT(15, 10), FINISHED, .given = 3, .given_generation = 2, .given_step = 15},
		GANG_WAIT, 0, false},
	{"after the end, nothing", {ALL_ENDED}, 3, 3,
		{AT(15, 10), WANTED, FINISHED}, GANG_WAIT, 0, false},
	{"after the end in vain, too", {ALL_ENDED, LEFT_OUT(0, 3, 5)}, 4, 0,
		{AT(15, 10), WANTED, FINISHED}, GANG_WAIT, 0, false},

	{"given", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"given, and it answers a notice", {NOTICE(0), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), GAVE(2), .saw = 1}, GANG_SAY_ANSWERS, 0, false},
	{"which is said already", {NOTICE(0), ROUND(0, 20), ANSWERS(2, 2, 1)}, 3, 0,
		{AT(20, 10), GAVE(2), .saw = 1}, GANG_WAIT, 0, false},
	{"which is known only after the commit", {NOTICE(0), ROUND(0, 20)}, 2, 2,
		{AT(20, 10), GAVE(2), .saw = 1}, GANG_SAY_ANSWERS, 0, false},
	{"of another checkpoint that is known", {NOTICE(0), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), .given = 2, .given_step = 20, .given_generation = 1, .saw = 1}, GANG_WAIT, 0,
		false},
	{"given, and gone on", {ROUND(0, 20)}, 1, 0,
		{AT(30, 20), .given = 1, .given_step = 20}, GANG_SAY_PASSED, 30, false},
	{"given at the end, and there was one before it", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .stopping = true, .given = 1, .given_step = 20}, GANG_SAY_PASSED, 20,
		false},
	{"the first one, at the end", {ROUND(0, 20)}, 1, 0,
		{AT(20, -1), .stopping = true, .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"said already", {ROUND(0, 20), PASSED(2, 1, 30)}, 2, 0,
		{AT(30, 20), .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"an empty part passes nothing", {ROUND(0, 20)}, 1, 0,
		{AT(30, 20), .given = 1, .given_step = -1, .beside = true}, GANG_WAIT, 0, false},
	{"without a step, one more file is not the next one", {ROUND(1, -1)}, 1, 0,
		{AT(-1, -1), .given = 1, .given_step = -1, .given_generation = 1}, GANG_WAIT, 0, false},

	{"begun anew: what was complete is given no more", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2}, GANG_WAIT, 0, false},
	{"begun anew, not even in the end", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2, .ended = true}, GANG_LEAVE_OUT, -1, false},
	{"begun anew, and no round is opened for it", {{0}}, 0, 0,
		{AT(-1, -1), .stale = 2, WANTED}, GANG_WAIT, 0, false},
	{"begun anew, and saved", {ROUND(0, 20)}, 1, 0, {AT(20, -1), .stale = 1}, GANG_TAKE, 0, false},
	{"begun anew, and the log is not read yet", {ROUND(0, 20)}, 1, 0,
		{AT(20, -1), .stale = 1, .anew = true}, GANG_WAIT, 0, false},
	{"begun anew, in a round that was open", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2, .fallen = 1, .anew = true}, GANG_LEAVE_OUT, -1, false},
	{"begun anew, and its part was given before", {ROUND(0, 20)}, 1, 0,
		{AT(-1, -1), .stale = 2, .fallen = 1, .given = 1, .given_step = 20}, GANG_WAIT, 0, false},
	{"its writer is dead", {ROUND(0, 20)}, 1, 0, {AT(20, 10), .holds = true}, GANG_WAIT, 0, false},
	{"its writer is dead, and none is opened", {{0}}, 0, 0,
		{AT(20, 10), WANTED, .holds = true}, GANG_WAIT, 0, false},
	{"its writer is dead, and so is the job", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .holds = true, .ended = true}, GANG_TAKE, 0, false},
	{"what is asked for is told first", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), .telling = true}, GANG_WAIT, 0, false},
	{"before a round is opened, too", {{0}}, 0, 0,
		{AT(20, 10), WANTED, .telling = true}, GANG_WAIT, 0, false},
	{"but a round is left out", {ROUND(0, 15)}, 1, 0,
		{AT(20, 10), .telling = true}, GANG_LEAVE_OUT, 20, false},
	{"at a notice, one that all come to", {NOTICE(2), ROUND(1, 20), LEFT_OUT(0, 2, 25)}, 3, 0,
		{AT(20, 10), WANTS, .stopping = true}, GANG_OPEN, 25, false},
	{"at a notice, one ahead if they have left that behind, too",
		{NOTICE(2), ROUND(1, 20), LEFT_OUT(0, 2, 25), ROUND(1, 25), LEFT_OUT(0, 4, 35)}, 5, 0,
		{AT(30, 20), WANTS, .stopping = true, .pace = 4}, GANG_OPEN, 39, true},
	{"at a notice, the same once more if nobody has", {NOTICE(2), ROUND(1, 20), LEFT_OUT(0, 2, 20),
		ROUND(1, 20), LEFT_OUT(0, 4, 15)}, 5, 0,
		{AT(20, 10), WANTS, .stopping = true, .pace = 4}, GANG_OPEN, 20, false},
	{"at a notice, after the job's end", {NOTICE(2), ROUND(1, 20), LEFT_OUT(0, 2, 25)}, 3, 0,
		{AT(20, 10), WANTS, .stopping = true, .ended = true}, GANG_OPEN, 20, false},
	{"at a notice, its save is under way", {ROUND(0, 30), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true}, GANG_WAIT, 0, false},
	{"at a notice, it has saved, and trains on", {ROUND(0, 30), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true, .saw = 2}, GANG_WAIT, 0, false},
	{"at a notice, it has saved, and comes to no later step", {ROUND(0, 30), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true, .saw = 2, .ended = true}, GANG_LEAVE_OUT, 20, false},
	{"at a notice, it has saved just that, and says so first", {ROUND(0, 20), NOTICE(2)}, 2, 0,
		{AT(20, 10), .stopping = true, .saw = 2}, GANG_SAY_ANSWERS, 0, false},
	{"one has gone, and the next round is of the others", {GONE(0)}, 1, 0,
		{AT(20, 10), WANTED}, GANG_OPEN, 20, false},
	{"one had gone before it", {GONE(0), ROUND(2, 20)}, 2, 0,
		{AT(20, 10)}, GANG_TAKE, 0, false},
	{"one has gone while it was open", {ROUND(2, 20), GONE(0)}, 2, 0,
		{AT(20, 10)}, GANG_LEAVE_OUT, 20, false},
	{"begun before one that saves had gone: it opens none", {GONE_AT(0, 10)}, 1, 0,
		{AT(20, 10), WANTED, LACKS}, GANG_WAIT, 0, false},
	{"begun after it had gone", {GONE_AT(0, 10)}, 1, 0,
		{AT(20, 10), WANTED}, GANG_OPEN, 20, false},
	{"begun before it had gone, and another one has opened one",
		{GONE_AT(0, 10), ROUND(2, 20)}, 2, 0,
		{AT(20, 10), LACKS}, GANG_LEAVE_OUT, 20, false},
	{"begun after it, in the round of another one",
		{GONE_AT(0, 10), ROUND(2, 20)}, 2, 0,
		{AT(20, 10)}, GANG_TAKE, 0, false},
	{"begun before it, and the next one is to be of the round",
		{GONE_AT(0, 10), ROUND(2, 30)}, 2, 0,
		{AT(20, 10), LACKS}, GANG_WAIT, 0, false},
	{"begun before it, and its round was open before: the part that was put stays",
		{ROUND(2, 20), GONE_AT(0, 20)}, 2, 0,
		{AT(20, 10), LACKS, .given = 1, .lies = true}, GANG_LOOK_AFTER_PART, 0, false},
	{"without a step, begun before it", {GONE_AT(0, -1), ROUND(1, -1)}, 2, 0,
		{AT(-1, -1), LACKS}, GANG_LEAVE_OUT, -1, false},
	{"without a step, begun after it", {GONE_AT(0, -1), ROUND(1, -1)}, 2, 0,
		{AT(-1, -1)}, GANG_TAKE, 0, false},
	{"in the end, begun before it", {GONE_AT(0, 10), ENDED_MORE(1), ENDED_MORE(2)}, 3, 0,
		{AT(20, 10), FINISHED, LACKS}, GANG_LEAVE_OUT, 20, false},
	{"in the end, begun after it", {GONE_AT(0, 10), ENDED_MORE(1), ENDED_MORE(2)}, 3, 0,
		{AT(20, 10), FINISHED}, GANG_TAKE, 0, false},
	{"in the end, the same, and it saves nothing", {GONE(0), ENDED_MORE(1), ENDED_MORE(2)},
		3, 0, {NONE, FINISHED, .holds_start = true}, GANG_TAKE, 0, false},
	{"in the end, what lies beside", {GONE_AT(0, 10), ENDED_MORE(1), ENDED_MORE(2)},
		3, 0, {NONE, FINISHED}, GANG_GIVE_BESIDE, 0, false},
	{"one has, and its own part may lie there", {ROUND(2, 20), GONE(0)}, 2, 0,
		{AT(20, 10), .given = 1, .lies = true}, GANG_LOOK_AFTER_PART, 0, false},
	{"one has, after this one gave", {ROUND(2, 20), GONE(0)}, 2, 0,
		{AT(20, 10), GAVE(1)}, GANG_WAIT, 0, false},
	{"it leaves alone, and trains on until then", {ALONE(1), ROUND(0, 30)}, 2, 0,
		{AT(20, 10), .leaves = 1, .saw = 1, .stopping = true}, GANG_WAIT, 0, false},
	{"it leaves alone, and trains no more", {ALONE(1), ROUND(0, 30)}, 2, 0,
		{AT(20, 10), .leaves = 1, .saw = 1, .stopping = true, .ended = true},
		GANG_LEAVE_OUT, 20, false},
	{"it leaves alone, and the others have gone on", {ALONE(1), ROUND(1, 10), LEFT_OUT(0, 2, 15)},
		3, 0, {AT(20, 10), WANTS, .leaves = 1, .stopping = true, .pace = 4},
		GANG_OPEN, 30, true},
	{"it leaves alone, and had none when it was asked", {ALONE(1), ROUND(0, 30), ANSWERS(0, 2, 1)}, 3, 0,
		{NONE, .leaves = 1, .stopping = true, .ended = true, .in_order = true},
		GANG_GIVE_BESIDE, 0, false},
	{"another one leaves alone, and this one has ended", {ALONE(0), ROUND(0, 30)}, 2, 0,
		{NONE, .ended = true, .in_order = true}, GANG_LEAVE_OUT, -1, false},
};
// clang-format on

static struct gang_view view_of(const struct gang_event *log, size_t events, uint32_t committed)
{
	struct gang_view view = gang_view_new(3, 0);

	for (size_t i = 0; i < events; i++) {
		struct gang_event event = log[i];

		event.number = (uint32_t)i + 1;
		assert_true(gang_view_fold(&view, &event, 0));
	}
	if (committed)
		gang_view_committed(&view, committed);
	return view;
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rounds_row *row = &rows[i];
		auto_(gang_view_release) struct gang_view view =
			view_of(row->log, row->events, row->committed);
		struct gang_here here = row->here;
		struct gang_round_decision decision;

		here.member = 1;
		here.now_ms = NOW;
		decision = gang_rounds_decide(&view, &here);
		if (decision.action != row->action || decision.step != row->step ||
		    decision.at_least != row->at_least)
			print_message("%s: action %d, step %lld\n", row->what, decision.action,
				      (long long)decision.step);
		assert_int_equal(decision.action, row->action);
		assert_true(decision.step == row->step && decision.at_least == row->at_least);
		if (decision.action == GANG_SAY_ANSWERS ||
		    (decision.action == GANG_OPEN && row->step == row->here.step))
			assert_int_equal(decision.answers, row->here.saw);
		else
			assert_int_equal(decision.answers, 0);
		if (decision.action == GANG_LEAVE_OUT)
			assert_non_null(decision.reason);
	}
}

/* --- folding --- */

static void test_events_come_in_their_order(void **state)
{
	static const struct gang_event log[] = {ROUND(0, 10)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 1, 0);
	struct gang_event twice = {.number = 1}, gap = {.number = 3};
	struct gang_event stranger = {.number = 2, .member = 3};

	(void)state;
	assert_false(gang_view_fold(&view, &twice, 0));
	assert_false(gang_view_fold(&view, &gap, 0));
	assert_false(gang_view_fold(&view, &stranger, 0));
	assert_int_equal(view.read, 1);
}

static void test_what_a_commit_answers(void **state)
{
	static const struct gang_event log[] =
		{REQUEST(0),   {.kind = GANG_EVENT_ROUND, .step = 20, .answers = 1},
		 REQUEST(1),   ANSWERS(1, 2, 3),
		 ROUND(1, 30), ANSWERS(1, 2, 3)};
	auto_(gang_view_release) struct gang_view view = view_of(log, 2, 0);

	(void)state;
	assert_true(view.asked == 1 && view.answered == 0);
	gang_view_committed(&view, 2);
	assert_int_equal(view.answered, 1);
	/* Known later; and of one that is not the newest any more nothing is. */
	for (uint32_t i = 2; i < 6; i++) {
		struct gang_event event = log[i];

		event.number = i + 1;
		assert_true(gang_view_fold(&view, &event, 0));
		assert_int_equal(view.answered, i < 3 ? 1 : 3);
	}
	gang_view_committed(&view, 5);
	assert_true(view.answered == 3 && view.asked == 3);
}

/* What the others save from then on is no checkpoint of all. */
static void test_a_member_that_has_left_by_a_notice(void **state)
{
	static const struct {
		struct gang_event log[4];
		size_t events;
		uint32_t committed;
		bool parted;
	} of[] = {
		{{ROUND(0, 10), NOTICE(0), ENDED(0, 0)}, 3, 1, false},
		{{ROUND(0, 10), NOTICE(0), ENDED(0, 0), ENDED(0, 0)}, 4, 1, true},
		/* It is not said of a job that has failed what it had. */
		{{ROUND(0, 10), NOTICE(0), ENDED(0, 1)}, 3, 1, false},
		{{ROUND(0, 10), REQUEST(0), ENDED(0, 0), ENDED(0, 0)}, 4, 1, false},
		/* There is no snapshot. */
		{{NOTICE(0), ENDED(0, 0), ENDED(0, 0)}, 3, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		for (int more = 0; more < 2; more++) {
			auto_(gang_view_release) struct gang_view view = gang_view_new(3, 0);

			for (size_t j = 0; j < of[i].events; j++) {
				struct gang_event event = of[i].log[j];

				event.number = (uint32_t)j + 1;
				event.more = more;
				if (j == 1 && of[i].committed)
					gang_view_committed(&view, of[i].committed);
				assert_true(gang_view_fold(&view, &event, 0));
			}
			assert_int_equal(view.parted, of[i].parted && !more);
		}
	}
}

/* --- the final round --- */

static void test_what_opens_the_final_round(void **state)
{
	static const struct {
		const char *what;
		struct gang_event log[LOG_MOST];
		size_t events;
		uint32_t round; /* 0: none is opened */
	} of[] = {
		{"one has more", {ENDED(2, 0), ENDED_MORE(0), ENDED(1, 0)}, 3, 3},
		{"the last one has", {ENDED(2, 0), ENDED(0, 0), ENDED_MORE(1)}, 3, 3},
		{"behind another round",
		 {ENDED_MORE(2), ROUND(1, 9), ENDED(0, 0), ENDED(1, 0)},
		 4,
		 4},
		{"nobody has", {ENDED(2, 0), ENDED(0, 0), ENDED(1, 0)}, 3, 0},
		{"one goes on", {ENDED_MORE(2), ENDED_MORE(0)}, 2, 0},
		{"one has failed", {ENDED_MORE(2), ENDED(0, 1), ENDED(1, 0)}, 3, 0},
		{"the last one has failed", {ENDED_MORE(2), ENDED(0, 0), ENDED(1, 7)}, 3, 0},
		{"one has left", {ENDED_MORE(2), ENDED(2, 0), ENDED(0, 0), ENDED(1, 0)}, 4, 0},
		{"by a notice", {NOTICE(1), ENDED_MORE(2), ENDED(0, 0), ENDED(1, 0)}, 4, 0},
		{"a notice comes later",
		 {ENDED_MORE(2), ENDED(0, 0), ENDED(1, 0), NOTICE(1)},
		 4,
		 3},
		{"the attempt is over", {ENDED_MORE(2), REJOIN(1), ENDED(0, 0), ENDED(1, 0)}, 4, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(gang_view_release) struct gang_view view =
			view_of(of[i].log, of[i].events, 0);

		if (view.round.final != (of[i].round > 0) ||
		    (of[i].round > 0 && (view.round.number != of[i].round ||
					 !gang_view_is_open(&view) || view.round.step != -1)))
			fail_msg("%s", of[i].what);
	}
}

/* --- the end of a member --- */

struct end_row {
	const char *what;
	struct gang_event log[LOG_MOST];
	size_t events;
	uint32_t committed;
	struct gang_here here;
	uint32_t asked;
	struct gang_end_decision decision;
};

#define LEAVING .ended = true, .finished = true, .leaving = true
#define ACTION(name, ...)                          \
	{                                          \
		.action = GANG_##name, __VA_ARGS__ \
	}
#define STAYS ACTION(STAY)
#define SAYS ACTION(SAY_ENDED)
#define GOES ACTION(SAY_GONE)
#define SAYS_MORE ACTION(SAY_ENDED, .more = true)
#define LEAVES ACTION(LEAVE)
#define LOSES ACTION(LEAVE, .lost = true)
#define FINDS_LOST ACTION(LEAVE, .is_silent = true)
#define FAILED(ago) .ended = true, .leaving = true, .code = 3, .ended_ms = NOW - (ago)

// clang-format off
static const struct end_row end_rows[] = {
	{"its job goes on", {{0}}, 0, 0, {AT(20, 10)}, 0, STAYS},
	{"all is durable", {{0}}, 0, 0, {AT(20, 10), LEAVING}, 0, SAYS},
	{"a round needs it", {ROUND(0, 20)}, 1, 0, {AT(20, 10), LEAVING}, 0, STAYS},
	{"its part is on its way", {ROUND(0, 20)}, 1, 0,
		{AT(20, 10), LEAVING, .given = 1, .saving = true}, 0, STAYS},
	{"a step is to be saved", {{0}}, 0, 0, {AT(20, 10), WANTS, FINISHED}, 0, STAYS},
	{"no step", {{0}}, 0, 0, {AT(-1, -1), WANTS, FINISHED}, 0, SAYS_MORE},
	{"curves alone", {{0}}, 0, 0, {NONE, WANTS, FINISHED}, 0, SAYS_MORE},
	{"a step that others do not have", {ROUND(1, 20), LEFT_OUT(0, 1, 15)}, 2, 0,
		{AT(20, 10), WANTS, FINISHED, .over_ms = NOW}, 0, SAYS_MORE},
	{"not before the fate of the round", {ROUND(0, 10)}, 1, 0,
		{AT(-1, -1), WANTS, FINISHED}, 0, STAYS},
	{"it has failed, and is to save", {{0}}, 0, 0, {AT(-1, -1), WANTS, .ended = true}, 0, STAYS},

	{"the others still train", {ENDED(1, 0)}, 1, 0, {AT(20, 10), LEAVING}, 0, STAYS},
	{"the others still train, and it has more", {ENDED_MORE(1)}, 1, 0,
		{AT(-1, -1), WANTS, FINISHED}, 0, STAYS},
	{"all have ended", {ENDED(1, 0), ENDED(0, 0), ENDED(2, 0)}, 3, 0,
		{AT(20, 10), LEAVING}, 0, LEAVES},
	{"the final round is open", {ALL_ENDED}, 3, 0, {AT(20, 10), LEAVING}, 0, STAYS},
	{"also with its part", {ALL_ENDED}, 3, 0, {AT(20, 10), LEAVING, .given = 3}, 0, STAYS},
	{"for what it has, too", {ALL_ENDED}, 3, 0, {AT(20, 10), WANTS, FINISHED}, 0, STAYS},
	{"it is committed", {ALL_ENDED}, 3, 3, {AT(20, 10), LEAVING, .given = 3}, 0, LEAVES},
	{"it is left out", {ALL_ENDED, LEFT_OUT(2, 3, -1)}, 4, 0,
		{AT(20, 10), LEAVING, .given = 3}, 0, LOSES},
	{"it is left out, and it waits", {ALL_ENDED, LEFT_OUT(2, 3, -1)}, 4, 0,
		{AT(20, 10), WANTS, FINISHED}, 0, LOSES},
	{"but not while its save ends", {ALL_ENDED, LEFT_OUT(2, 3, -1)}, 4, 0,
		{AT(20, 10), LEAVING, .given = 3, .saving = true}, 0, STAYS},
	{"it has more, and one has left", {ENDED_MORE(1), ENDED(2, 1)}, 2, 0,
		{AT(-1, -1), WANTS, FINISHED}, 0, LOSES},
	{"it has more, but all end by a notice",
		{ENDED_MORE(1), NOTICE(0), ENDED(0, 0), ENDED(2, 0)}, 4, 0,
		{AT(-1, -1), WANTS, FINISHED}, 0, LOSES},

	{"one has left", {ENDED(1, 0), ENDED(2, 1)}, 2, 0, {AT(20, 10), LEAVING}, 0, SAYS},
	{"it has, too", {ENDED(1, 0), ENDED(2, 1), ENDED(1, 0)}, 3, 0,
		{AT(20, 10), LEAVING}, 0, LEAVES},
	{"it has failed, and saves its last one", {{0}}, 0, 0, {AT(20, 10), FAILED(1000), .saving = true}, 0, STAYS},
	{"which takes too long", {{0}}, 0, 0, {AT(20, 10), FAILED(6000), .saving = true}, 0, SAYS},
	{"it has failed, and the others may say that they have", {ENDED(1, 3), ENDED(2, 0)}, 2, 0,
		{AT(20, 10), FAILED(6000), .saving = true}, 0, STAYS},
	{"one has not", {ENDED(1, 3), ENDED(2, 0)}, 2, 0, {AT(20, 10), FAILED(21000)}, 0, FINDS_LOST},
	{"all have", {ENDED(1, 3), ENDED(2, 0), ENDED(0, 0)}, 3, 0, {AT(20, 10), FAILED(6000)}, 0, LEAVES},
	{"its job has failed", {ENDED(1, 1)}, 1, 0,
		{AT(20, 10), .ended = true, .leaving = true}, 0, LEAVES},
	{"it can give nothing", {ENDED(1, 0), ROUND(0, 20)}, 2, 0,
		{NONE, .begun = true, .ended = true, .leaving = true}, 0, SAYS},
	{"it has begun nothing, and the others may say that they have passed it",
		{ENDED(1, 0), ROUND(0, 20)}, 2, 0,
		{NONE, .ended = true, .leaving = true}, 0, STAYS},
	{"at a notice", {NOTICE(0), ENDED(1, 0)}, 2, 0,
		{AT(20, 10), .ended = true, .leaving = true}, 1, SAYS},
	{"at a notice, for those that save", {NOTICE(0), ENDED(1, 0)}, 2, 0,
		{NONE, .learned = true, .ended = true, .leaving = true}, 1, STAYS},
	{"it has finished, and can give in the end", {ENDED(1, 0)}, 1, 0,
		{NONE, .begun = true, LEAVING}, 0, STAYS},
	{"the attempt is over", {REJOIN(0)}, 1, 0, {AT(20, 10), LEAVING}, 0, LEAVES},

	{"alone: it still saves", {ALONE(1)}, 1, 0, {AT(20, 10), ALONE_BY(1), .ended = true}, 1, STAYS},
	{"alone: no round will be opened for what it waits for", {ALONE(1)}, 1, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, WANTS}, 1, GOES},
	{"alone: all is durable", {ALONE(1)}, 1, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true}, 1, GOES},
	{"alone: the others train on, for which nobody waits", {ALONE(1), ENDED(0, 0)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true}, 1, GOES},
	{"alone: a round needs it", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true}, 1, STAYS},
	{"alone: also one that it knows nothing of", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{NONE, ALONE_BY(1), .ended = true, .leaving = true}, 1, STAYS},
	{"alone: its part waits", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true, .given = 2, .saving = true},
		1, STAYS},
	{"alone: it has given it", {ALONE(1), ROUND(0, 20)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true, .given = 2}, 1, GOES},
	{"alone: it has said so", {ALONE(1), GONE(1)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true}, 1, LEAVES},
	{"alone: and then all end", {ALONE(1), NOTICE(0)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true}, 1, GOES},
	{"alone: the attempt is over", {ALONE(1), REJOIN(0)}, 2, 0,
		{AT(20, 10), ALONE_BY(1), .ended = true, .leaving = true}, 1, LEAVES},
	{"the others have gone", {GONE(0), GONE(2)}, 2, 0, {AT(20, 10), LEAVING}, 0, SAYS},
	{"the others have gone, and it has said so", {GONE(0), GONE(2), ENDED(1, 0)}, 3, 0,
		{AT(20, 10), LEAVING}, 0, LEAVES},
};
// clang-format on

static void test_of_whom_a_round_is(void **state)
{
	static const struct {
		const char *what;
		struct gang_event log[LOG_MOST];
		size_t events;
		uint32_t round;
		bool final, without[3];
		uint32_t first; /* who does for all what is done once */
	} of[] = {
		{"of all", {ROUND(0, 20)}, 1, 1, false, {0}, 0},
		{"one is to leave", {ALONE(0), ROUND(1, 20)}, 2, 2, false, {0}, 0},
		{"one has gone", {GONE(0), ROUND(1, 20)}, 2, 2, false, {true}, 1},
		{"one goes while it is open", {ROUND(1, 20), GONE(0)}, 2, 1, false, {0}, 1},
		{"and another one before",
		 {GONE(2), ROUND(1, 20), GONE(0)},
		 3,
		 2,
		 false,
		 {false, false, true},
		 1},
		{"two have gone",
		 {GONE(2), GONE(0), ROUND(1, 20)},
		 3,
		 3,
		 false,
		 {true, false, true},
		 1},
		{"all have", {GONE(2), GONE(0), GONE(1)}, 3, 0, false, {true, true, true}, 1},
		{"the others have ended",
		 {GONE(0), ENDED_MORE(1), ENDED_MORE(2)},
		 3,
		 3,
		 true,
		 {true},
		 1},
		{"they have waited for it",
		 {ENDED_MORE(1), ENDED_MORE(2), GONE(0)},
		 3,
		 3,
		 true,
		 {true},
		 1},
		{"one that had ended goes",
		 {ENDED_MORE(1), GONE(1), ENDED_MORE(2), ENDED_MORE(0)},
		 4,
		 4,
		 true,
		 {false, true},
		 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(gang_view_release) struct gang_view view =
			view_of(of[i].log, of[i].events, 0);

		if (view.round.number != of[i].round || view.round.final != of[i].final)
			fail_msg("%s: round %u", of[i].what, view.round.number);
		for (uint32_t j = 0; j < 3; j++)
			if ((of[i].round > 0 &&
			     gang_view_does_without(&view, j) != of[i].without[j]) ||
			    gang_view_is_first(&view, j) != (j == of[i].first))
				fail_msg("%s: member %u", of[i].what, j);
	}
}

static void test_the_end_of_a_member(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(end_rows) / sizeof(end_rows[0]); i++) {
		const struct end_row *row = &end_rows[i];
		auto_(gang_view_release) struct gang_view view =
			view_of(row->log, row->events, row->committed);
		struct gang_here here = row->here;
		struct gang_end_decision decision;

		here.member = 1;
		here.now_ms = NOW;
		decision = gang_leave_decide(&view, &here, row->asked);
		if (decision.action != row->decision.action ||
		    decision.lost != row->decision.lost ||
		    (decision.action == GANG_LEAVE &&
		     (decision.is_silent != row->decision.is_silent ||
		      (decision.is_silent && decision.silent != 0))) ||
		    (decision.action == GANG_SAY_ENDED && decision.more != row->decision.more))
			fail_msg("%s: action %d, more %d, lost %d", row->what, decision.action,
				 decision.more, decision.lost);
	}
}

/* A part stays where it was put, and whoever puts the last one commits: what the save here has
 * ended with says nothing of that. */
static void test_which_round_is_in_doubt(void **state)
{
	static const struct {
		const char *what;
		struct gang_event log[LOG_MOST];
		size_t events;
		uint32_t committed, given;
		uint64_t durable;
		uint32_t doubt;
	} of[] = {
		{"nothing was given", {ROUND(0, 20)}, 1, 0, 0, 0, 0},
		{"given, and nothing is known", {ROUND(0, 20)}, 1, 0, 1, 0, 1},
		{"it is known to be durable", {ROUND(0, 20)}, 1, 1, 1, 2, 0},
		{"left out", {ROUND(0, 20), LEFT_OUT(0, 1, 30)}, 2, 0, 1, 0, 0},
		{"a later one is open", {ROUND(0, 20), ROUND(0, 30)}, 2, 0, 1, 0, 1},
		{"committed, of which this one has not heard",
		 {ROUND(0, 20), ROUND(0, 30)},
		 2,
		 1,
		 1,
		 1,
		 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(gang_view_release) struct gang_view view =
			view_of(of[i].log, of[i].events, of[i].committed);
		struct gang_here here = gang_here_new(1);

		if (of[i].given > 0)
			gang_here_note_part(&here, of[i].given, 2, 20, false);
		/* As after a save that has failed. */
		here.lies = true;
		here.durable = of[i].durable;
		if (gang_here_in_doubt(&view, &here) != of[i].doubt)
			fail_msg("%s: %u", of[i].what, gang_here_in_doubt(&view, &here));
	}
}

/* Its job is not ended before a step that the others have left behind. */
static void test_which_step_is_awaited(void **state)
{
	static const struct {
		const char *what;
		struct gang_event log[LOG_MOST];
		size_t events;
		uint32_t committed;
		struct gang_here here;
		bool awaited;
	} of[] = {
		{"no round is open", {ROUND(0, 30)}, 1, 1, {AT(20, 10)}, false},
		{"it is still to come to it", {ROUND(0, 30)}, 1, 0, {AT(20, 10)}, true},
		{"or to one from there on", {AHEAD(0, 30)}, 1, 0, {AT(20, 10)}, true},
		{"it is there", {ROUND(0, 20)}, 1, 0, {AT(20, 10)}, false},
		{"it has given", {ROUND(0, 30)}, 1, 0, {AT(20, 10), GAVE(1)}, false},
		{"it cannot", {ROUND(0, 30)}, 1, 0, {AT(20, 10), .unable = 1}, false},
		{"it was open when the job began anew",
		 {ROUND(0, 30)},
		 1,
		 0,
		 {AT(20, 10), .fallen = 1},
		 false},
		{"it saves none", {ROUND(0, 30)}, 1, 0, {NONE}, false},
		{"the attempt is over", {ROUND(0, 30), REJOIN(2)}, 2, 0, {AT(20, 10)}, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(gang_view_release) struct gang_view view =
			view_of(of[i].log, of[i].events, of[i].committed);

		if (gang_rounds_awaits_step(&view, &of[i].here) != of[i].awaited)
			fail_msg("%s", of[i].what);
	}
}

/* Only what is begun once the event was read, and all that was begun before it is seen, is of those
 * that are left; and not what that one had begun, too. What is added to a checkpoint makes it no
 * other one. */
static void test_what_is_begun_without_one_that_has_gone(void **state)
{
	static const struct {
		int64_t seen_ms, begun_ms, step;
		bool can_give;
	} of[] = {
		{2100, 1900, 20, false}, {2100, 2050, 20, false}, /* between the two */
		{2100, 2100, 20, false}, {2100, 2101, 20, true},  {INT64_MAX, 3000, 20, false},
		{2100, 2101, 10, false}, /* the one that was complete before */
		{2100, 2101, 15, false}, /* the one that it had begun */
		{2100, 2101, -1, true},
	};
	static const struct gang_event log[] = {GONE_AT(0, 15)};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(gang_view_release) struct gang_view view = view_of(log, 1, 0);
		struct gang_here here = gang_here_new(1);

		here.now_ms = 1000;
		gang_here_note_complete(&here, &view, 1, 10, 900);
		assert_true(gang_here_can_give(&here));
		here.now_ms = 2000;
		gang_here_note_gone(&here);
		assert_true(here.gone_read_ms == 2000 && here.gone_seen_ms == INT64_MAX);
		assert_true(here.steps.count == 0 && !gang_here_can_give(&here));
		here.gone_seen_ms = of[i].seen_ms;
		gang_here_note_complete(&here, &view, 2, of[i].step, of[i].begun_ms);
		if (gang_here_can_give(&here) != of[i].can_give)
			fail_msg("row %zu", i);
	}
}

/* What was asked for, and is not durable, is asked for once more: the newest checkpoint may lack
 * the part of the one that has gone. */
static void test_what_one_that_has_gone_leaves_unanswered(void **state)
{
	static const struct {
		struct gang_event log[3];
		size_t events;
		uint32_t answered, asked;
	} of[] = {
		{{ALONE(0), GONE_AT(0, 10)}, 2, 0, 2},
		{{ALONE(0), GONE_AT(0, 10)}, 2, 1, 1},
		{{ALONE(0), GONE(0)}, 2, 0, 1},
		{{ALONE(0), REQUEST(1), GONE_AT(0, 10)}, 3, 1, 3},
		{{ALONE(0), NOTICE(1), GONE_AT(0, 10)}, 3, 0, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		auto_(gang_view_release) struct gang_view view =
			view_of(of[i].log, of[i].events - 1, 0);
		struct gang_event last = of[i].log[of[i].events - 1];

		view.answered = of[i].answered;
		last.number = (uint32_t)of[i].events;
		assert_true(gang_view_fold(&view, &last, 0));
		if (view.asked != of[i].asked)
			fail_msg("row %zu: event %u is asked for", i, view.asked);
	}
}

/* Else the next round is about a step that nobody comes to. */
static void test_two_that_are_complete_at_once_say_little_of_the_pace(void **state)
{
	auto_(gang_view_release) struct gang_view view = gang_view_new(3, 0);
	struct gang_here here = gang_here_new(1);

	(void)state;
	here.now_ms = 1000;
	gang_here_note_complete(&here, &view, 1, 10, here.now_ms);
	gang_here_note_complete(&here, &view, 2, 20, here.now_ms);
	assert_true(here.pace * GANG_READ_MS == 10 * 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_events_come_in_their_order),
		cmocka_unit_test(test_what_a_commit_answers),
		cmocka_unit_test(test_a_member_that_has_left_by_a_notice),
		cmocka_unit_test(test_what_opens_the_final_round),
		cmocka_unit_test(test_the_end_of_a_member),
		cmocka_unit_test(test_of_whom_a_round_is),
		cmocka_unit_test(test_which_round_is_in_doubt),
		cmocka_unit_test(test_which_step_is_awaited),
		cmocka_unit_test(test_what_is_begun_without_one_that_has_gone),
		cmocka_unit_test(test_what_one_that_has_gone_leaves_unanswered),
		cmocka_unit_test(test_two_that_are_complete_at_once_say_little_of_the_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
