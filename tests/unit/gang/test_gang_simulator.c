/*
 * Plays gangs of two to five members over a log in memory: each trains, saves at times of its own,
 * reads the log late, loses races for its events, uploads slowly, is restarted, dies. Each member
 * has the view and the decisions of the real one (gang_view.c, gang_rounds.h); the world around
 * them is as plain as it can be.
 *
 *	test_gang_simulator TEST	plays that scene alone (a pattern)
 *	REPRIEVE_TEST_SEEDS=N		so many seeds of each layout
 *	REPRIEVE_TEST_SEED=S		from that one on, and without those that failed once
 */
#include "effort.h"
#include "gang/gang_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define MEMBERS_MOST 5
#define EVENTS_MOST 4000
#define STEPS_KEPT 64
#define TICK_MS 10
#define TRAINED_MS 90000
#define FLUSH_MS 60000
/* So long after a notice all save, and after a checkpoint it is known that nothing follows it. */
#define ASKED_MS 60
#define QUIET_MS 300
#define GRACE_MS 30000
/* A job that saves on and on is ended so long after its answer, unless it is needed; and so long
 * after the notice, whatever it does. */
#define SETTLING_MS 1000
#define NEEDED_MS (GRACE_MS - 1000)

enum layout {
	ALL_SAVE,
	RANK_0_SAVES,
	ALL_SAVE_ALL_THE_TIME, /* ten times a second, and keep one */
	ONE_SKIPS,             /* member 1 saves every third */
	ONE_STOPS,             /* member 1 saves no more from some time on */
	RANK_0_SAVES_THE_END,  /* once, without a step, when others have ended perhaps */
	MORE_IN_THE_END,       /* all save, and member 0 adds something to the last one */
	LAYOUTS,
};

struct part {
	/* `is_void`: it is none, and there never will be one */
	bool there, is_void, empty, final, older;
	int64_t step, begun_ms;
	unsigned run;
	uint64_t generation;
};

struct simulated_member {
	struct gang_view view;
	struct gang_here here;
	bool dead, may_leave;
	/* what is added in the end is complete then */
	int64_t added_ms;
	/* when it looks next, and how long it has found nothing */
	int64_t look_ms, pause_ms;
	/* the event that is on its way, as number read + 1 */
	struct gang_event sending;
	int64_t sent_ms;
	/* the part that is on its way or waits for the others */
	struct part part;
	uint32_t taking;
	int64_t taken_ms, part_ms;
	bool given;
	int64_t poll_ms;
	/* the next checkpoint: of this step, begun and complete at these times */
	int64_t next_step, begin_ms, complete_ms;
	/* The first of a new run is begun so much later. */
	int64_t delay_ms;
	unsigned run, complete_run, saves;
	struct gang_runs runs;
	int64_t begun_ms, complete_begun_ms, completed_ms;
	int64_t step_begun_ms[STEPS_KEPT]; /* of step S at S % STEPS_KEPT */
	/* What it began last, and in which run */
	int64_t begun_step;
	unsigned begun_run;
	uint64_t durable;
	bool ended;
	/* since when it knows of the notice, and its job has answered it */
	int64_t noticed_ms, saw_ms;
	/* when it has looked after its part; 0: it does not */
	int64_t looked_after_ms;
};

struct simulated_gang {
	enum layout layout;
	uint32_t count;
	uint64_t seed, first_seed;
	int64_t now_ms, every_ms;
	bool restarts, deaths;
	/* A save may fail, and its part lie there all the same. */
	bool failures;
	/* Each begins its part of a checkpoint when it comes to it, up to so long after the others.
	 */
	int64_t slow_ms;
	/* As of an elastic job: once the ranks of one are gone, those of the others begin anew. */
	bool elastic;
	/* The job of one that leaves trains on until what it was asked for is durable, but no
	 * longer than this. */
	int64_t patience_ms;
	int64_t stops_ms;
	/* A machine gets a notice: all save once more and end; or (`late`) end with the checkpoint
	 * that is under way at some of them. 0: none */
	int64_t notice_ms;
	uint32_t noticed;
	bool late;
	/* The jobs train on at a notice, and save by themselves as before. Each is ended when its
	 * own member has heard of it; those of the others then hang in their next step. */
	bool train_on;
	int64_t settling_ms; /* SETTLING_MS; or longer than all: only the answer ends a job */
	/* These leave alone, from then on: all save once more, and the others go on. 0: none does.
	 */
	int64_t leave_ms[MEMBERS_MOST];
	/* The event by which each has gone; 0: it has not. */
	uint32_t gone_at[MEMBERS_MOST];
	/* A job that saves nothing ends by itself when it is asked to; else it is ended. */
	bool leaves;
	struct gang_event log[EVENTS_MOST];
	int64_t put_ms[EVENTS_MOST];
	uint32_t events;
	struct part parts[EVENTS_MOST][MEMBERS_MOST];
	bool committed[EVENTS_MOST];
	unsigned commits;
	int64_t last_commit_ms;
	/* The first that answers the notice. 0: none does. */
	int64_t answered_ms;
	struct simulated_member members[MEMBERS_MOST];
};

static uint64_t draw(struct simulated_gang *gang, uint64_t below)
{
	gang->seed ^= gang->seed << 13;
	gang->seed ^= gang->seed >> 7;
	gang->seed ^= gang->seed << 17;
	return gang->seed % below;
}

static bool saves(const struct simulated_gang *gang, uint32_t member, int64_t step)
{
	if (gang->layout == RANK_0_SAVES)
		return member == 0;
	if (gang->layout == RANK_0_SAVES_THE_END)
		return false;
	if (gang->layout == ONE_SKIPS && member == 1)
		return step % 3 == 0;
	return gang->layout != ONE_STOPS || member != 1 || gang->now_ms < gang->stops_ms;
}

/* --- the job --- */

/* All train in step: checkpoint S is begun at the same time by all, and takes each a while. */
static void begin_save(struct simulated_gang *gang, struct simulated_member *m, uint32_t index)
{
	if (!saves(gang, index, m->next_step)) {
		m->next_step++;
		m->begin_ms += gang->every_ms;
		return;
	}
	m->here.begun = true;
	/* Its process has the number of the run. */
	if (gang_runs_note_write(&m->runs, (int)m->run + 1)) {
		gang_here_note_anew(&m->here, &m->view);
		m->look_ms = gang->now_ms;
	}
	m->begun_ms = m->begin_ms + m->delay_ms;
	m->step_begun_ms[m->next_step % STEPS_KEPT] = m->begun_ms;
	m->begun_step = m->next_step;
	m->begun_run = m->run;
	m->delay_ms = gang->slow_ms > 0 && draw(gang, 4) == 0
			      ? (int64_t)draw(gang, (uint64_t)gang->slow_ms)
			      : 0;
	m->complete_ms = gang->now_ms + (int64_t)draw(gang, (uint64_t)gang->every_ms * 4 / 5);
}

static uint32_t newest_asked_before(const struct simulated_gang *gang,
				    const struct simulated_member *m)
{
	for (uint32_t i = m->view.read; i > 0; i--)
		if ((gang->log[i].kind == GANG_EVENT_REQUEST ||
		     gang->log[i].kind == GANG_EVENT_LEAVING) &&
		    gang->put_ms[i] < m->begun_ms)
			return i;
	return 0;
}

static void end_save(struct simulated_gang *gang, struct simulated_member *m)
{
	uint32_t asked = newest_asked_before(gang, m);

	m->complete_ms = 0;
	m->complete_run = m->run;
	m->complete_begun_ms = m->begun_ms;
	m->completed_ms = gang->now_ms;
	m->here.now_ms = gang->now_ms;
	m->saves++;
	gang_runs_note_complete(&m->runs, m->next_step);
	gang_here_note_complete(&m->here, &m->view, m->here.generation + 1, m->next_step,
				m->begun_ms);
	if (gang->layout == ALL_SAVE_ALL_THE_TIME)
		m->here.steps.count = 1;
	if (asked > m->here.saw)
		m->here.saw = asked;
	m->next_step++;
	m->begin_ms += gang->every_ms;
	m->look_ms = gang->now_ms;
}

/* One that was under way when the notice came will do, once nothing has followed it. */
static void note_answer(const struct simulated_gang *gang, struct simulated_member *m)
{
	bool fresh = m->complete_begun_ms > m->noticed_ms;
	bool late = m->completed_ms > m->noticed_ms && m->complete_ms == 0 &&
		    gang->now_ms > m->completed_ms + QUIET_MS;

	uint32_t notice = gang_rounds_notice(&m->view, &m->here);

	if (m->noticed_ms > 0 && m->here.generation > 0 && (fresh || late) &&
	    notice > m->here.saw) {
		m->here.saw = notice;
		m->saw_ms = gang->now_ms;
	}
}

/* Another rank that is gone was to make the step with it. */
static bool hangs(const struct simulated_gang *gang, const struct simulated_member *m)
{
	for (uint32_t i = 0; gang->train_on && i < gang->count; i++)
		if (gang->members[i].ended && gang->members[i].next_step <= m->next_step)
			return true;
	return false;
}

static bool ends_in_training(const struct simulated_gang *gang, const struct simulated_member *m)
{
	bool needed = gang_rounds_awaits_step(&m->view, &m->here) &&
		      gang->now_ms < gang->notice_ms + NEEDED_MS;

	/* Nor in the very moment in which all begin to save: that is the limit (GANGS.md). */
	if (m->complete_ms > 0 || m->noticed_ms == 0 ||
	    (gang->now_ms >= m->begin_ms && !hangs(gang, m)))
		return false;
	return (m->view.notice > 0 && m->view.answered >= m->view.notice) ||
	       (m->saw_ms > 0 && gang->now_ms > m->saw_ms + gang->settling_ms && !needed) ||
	       gang->now_ms > gang->notice_ms + NEEDED_MS;
}

static void send_event(struct simulated_gang *gang, struct simulated_member *m,
		       struct gang_event event);

/* It comes to one machine, which tells the others; the job is asked through any rank of it, and all
 * ranks save at one step. */
static void take_notice(struct simulated_gang *gang, struct simulated_member *m, uint32_t index)
{
	bool none = !saves(gang, index, m->next_step), ends;

	if (gang->notice_ms == 0 || gang->now_ms < gang->notice_ms)
		return;
	if (index == gang->noticed && m->noticed_ms == 0)
		m->noticed_ms = gang->now_ms;
	m->here.telling = index == gang->noticed && m->view.notice == 0;
	if (m->here.telling && m->sent_ms == 0)
		send_event(gang, m, (struct gang_event){.kind = GANG_EVENT_NOTICE});
	if (gang->train_on) {
		ends = ends_in_training(gang, m);
	} else if (none && gang->leaves) {
		ends = m->noticed_ms > 0 && gang->now_ms > m->noticed_ms + ASKED_MS;
	} else if (none) {
		/* Its job is ended once the others have saved, or in the end. */
		ends = (m->view.notice > 0 && m->view.answered >= m->view.notice) ||
		       gang->now_ms > gang->notice_ms + GRACE_MS;
	} else {
		ends = m->complete_ms == 0 &&
		       (gang->late || m->complete_begun_ms > gang->notice_ms);
	}
	if (ends) {
		m->ended = m->here.ended = true;
		m->here.in_order = none && gang->leaves;
		m->look_ms = gang->now_ms;
	} else if (!gang->train_on && m->complete_ms == 0 &&
		   m->begin_ms > gang->notice_ms + ASKED_MS) {
		m->begin_ms = gang->notice_ms + ASKED_MS;
	}
}

/* The launcher starts all ranks anew, from a checkpoint before. */
static void restart_ranks(struct simulated_gang *gang)
{
	int64_t step = gang->members[0].next_step;
	int64_t back = (int64_t)draw(gang, 6);

	/* A process that has written one says nothing. */
	for (uint32_t i = 0; i < gang->count; i++)
		if ((gang->layout != RANK_0_SAVES || i == 0) && gang->members[i].saves < 3)
			return;
	for (uint32_t i = 0; i < gang->count; i++) {
		struct simulated_member *m = &gang->members[i];

		gang_runs_note_dead(&m->runs, (int)m->run + 1);
		m->run++;
		m->saves = 0;
		m->complete_ms = 0;
		m->next_step = step > back ? step - back : 1;
		/* Not all begin to write at once. */
		m->begin_ms = gang->now_ms + gang->every_ms;
		m->delay_ms = (int64_t)draw(gang, (uint64_t)gang->every_ms / 8);
	}
}

/* All ranks save at one step when one of them is to leave. */
static void take_leave(struct simulated_gang *gang, struct simulated_member *m, uint32_t index)
{
	int64_t leave_ms = gang->leave_ms[index];
	bool answered;

	for (uint32_t i = 0; i < gang->count; i++)
		if (gang->leave_ms[i] > 0 && gang->now_ms >= gang->leave_ms[i] &&
		    gang->now_ms < gang->leave_ms[i] + TICK_MS && m->complete_ms == 0 &&
		    m->begin_ms > gang->leave_ms[i] + ASKED_MS)
			m->begin_ms = gang->leave_ms[i] + ASKED_MS;
	if (leave_ms == 0 || gang->now_ms < leave_ms)
		return;
	if (m->noticed_ms == 0)
		m->noticed_ms = gang->now_ms;
	m->here.telling = m->here.leaves == 0 && m->view.notice == 0;
	if (m->here.telling && m->sent_ms == 0)
		send_event(gang, m, (struct gang_event){.kind = GANG_EVENT_LEAVING});
	if (m->ended)
		return;
	answered = m->here.leaves > 0 && m->view.answered >= m->here.leaves;
	if (saves(gang, index, m->next_step)
		    ? m->complete_ms == 0 && m->complete_begun_ms > leave_ms &&
			      (answered || gang->now_ms > leave_ms + gang->patience_ms)
		    : answered) {
		m->ended = m->here.ended = true;
		m->here.ended_ms = gang->now_ms;
		m->here.ended_in = m->view.round.number;
		m->look_ms = gang->now_ms;
		if (gang->elastic)
			restart_ranks(gang);
	}
}

static void train(struct simulated_gang *gang, uint32_t index)
{
	struct simulated_member *m = &gang->members[index];

	take_notice(gang, m, index);
	take_leave(gang, m, index);
	if (m->ended)
		return;
	if (m->complete_ms > 0) {
		if (gang->now_ms >= m->complete_ms)
			end_save(gang, m);
		return;
	}
	if (m->begin_ms > TRAINED_MS && index == 0 && m->added_ms == 0 &&
	    gang->layout >= RANK_0_SAVES_THE_END) {
		m->added_ms = gang->now_ms + 10 + (int64_t)draw(gang, 8000);
		m->here.begun = true;
	} else if (gang->now_ms < m->added_ms) {
		return;
	} else if (m->begin_ms > TRAINED_MS) {
		if (m->added_ms > 0)
			gang_here_note_complete(&m->here, &m->view, m->here.generation + 1,
						m->here.step, gang->now_ms);
		m->here.ended_ms = gang->now_ms;
		m->ended = m->here.ended = m->here.finished = true;
		m->look_ms = gang->now_ms;
	} else if (gang->now_ms >= m->begin_ms + m->delay_ms && !hangs(gang, m)) {
		begin_save(gang, m, index);
	}
}

/* --- what is durable --- */

/* By the log alone, whatever any view says. */
static bool is_of_round(const struct simulated_gang *gang, uint32_t round, uint32_t member)
{
	return gang->gone_at[member] == 0 || gang->gone_at[member] > round;
}

static bool parts_are_one(const struct simulated_gang *gang, uint32_t round)
{
	const struct part *first = NULL;

	for (uint32_t i = 0; i < gang->count; i++) {
		const struct part *part = &gang->parts[round][i];

		if (part->is_void)
			return false;
		if (part->empty || !is_of_round(gang, round, i))
			continue;
		if (first && part->final)
			continue;
		if (first && part->step != first->step)
			return false;
		first = part;
	}
	return first != NULL;
}

/* Nothing in a part says so. What is left in the end may be of any. */
static void check_run(const struct simulated_gang *gang, uint32_t round)
{
	const struct part *first = NULL;

	for (uint32_t i = 0; i < gang->count; i++) {
		const struct part *part = &gang->parts[round][i];

		if (part->empty || part->final || !is_of_round(gang, round, i))
			continue;
		assert_true(!first || part->run == first->run);
		first = part;
	}
}

/* What a member that has gone has begun to save, its part belongs to. Nothing in the other parts
 * says so. */
static void check_those_that_have_gone(const struct simulated_gang *gang, uint32_t round)
{
	for (uint32_t i = 0; i < gang->count; i++) {
		const struct simulated_member *gone = &gang->members[i];

		for (uint32_t j = 0; j < gang->count && !is_of_round(gang, round, i); j++) {
			const struct part *part = &gang->parts[round][j];

			if (part->empty || !is_of_round(gang, round, j))
				continue;
			if (part->step == gone->begun_step && part->run == gone->begun_run)
				fail_msg("layout %d, seed %llu: the snapshot of step %lld lacks "
					 "the part of member %u, which has gone",
					 gang->layout, (unsigned long long)gang->first_seed,
					 (long long)part->step, i);
		}
	}
}

static bool all_parts_are_there(const struct simulated_gang *gang, uint32_t round)
{
	for (uint32_t i = 0; i < gang->count; i++)
		if (!gang->parts[round][i].there && is_of_round(gang, round, i))
			return false;
	return true;
}

/* An empty part stands for a member that writes nothing of that step. */
static void check_empty_parts(const struct simulated_gang *gang, uint32_t round)
{
	int64_t step = -1;

	for (uint32_t i = 0; i < gang->count; i++)
		if (!gang->parts[round][i].empty && is_of_round(gang, round, i))
			step = gang->parts[round][i].step;
	for (uint32_t i = 0; i < gang->count; i++)
		if (gang->parts[round][i].empty && gang->layout != ONE_STOPS &&
		    !gang->parts[round][i].final)
			assert_false(saves(gang, i, step));
}

/* By what the log says of it. */
static bool answers_notice(const struct simulated_gang *gang, uint32_t round)
{
	uint32_t event = gang->log[round].answers;

	for (uint32_t i = round; i <= gang->events; i++)
		if (gang->log[i].kind == GANG_EVENT_ANSWERS && gang->log[i].round == round)
			event = gang->log[i].answers > event ? gang->log[i].answers : event;
	for (uint32_t i = 1; i <= event; i++)
		if (gang->log[i].kind == GANG_EVENT_NOTICE)
			return true;
	return false;
}

static void try_commit(struct simulated_gang *gang, struct simulated_member *m, uint32_t round)
{
	if (!all_parts_are_there(gang, round) || gang->committed[round])
		return;
	if (!parts_are_one(gang, round)) {
		gang_here_note_fate(&m->here, &m->view, round, GANG_FATE_UNFIT);
		m->taking = 0;
		return;
	}
	check_empty_parts(gang, round);
	check_run(gang, round);
	check_those_that_have_gone(gang, round);
	gang->committed[round] = true;
	gang->commits++;
	gang->last_commit_ms = gang->now_ms;
	if (gang->answered_ms == 0 && answers_notice(gang, round))
		gang->answered_ms = gang->now_ms;
}

static void check_answers(const struct simulated_gang *gang, const struct simulated_member *m)
{
	uint32_t asked = m->view.answered;
	bool after = false;

	/* At a notice one that was under way will do. */
	if (asked == 0 || asked == m->view.notice || gang->log[asked].kind == GANG_EVENT_LEAVING)
		return;
	for (uint32_t i = 0; i < gang->count; i++)
		for (uint32_t k = 1; k <= m->view.committed; k++)
			after |= gang->committed[k] && !gang->parts[k][i].empty &&
				 gang->parts[k][i].begun_ms > gang->put_ms[asked];
	assert_true(after);
}

/* The snapshot has the part that was put, whatever its save has ended with. */
static void note_fate(struct simulated_gang *gang, struct simulated_member *m, uint32_t round)
{
	const struct part *part = &gang->parts[round][m->here.member];
	enum gang_part_fate fate = gang->committed[round] ? GANG_FATE_COMMITTED
				   : part->is_void        ? GANG_FATE_VOID
							  : GANG_FATE_LIES;

	gang_here_note_fate(&m->here, &m->view, round, fate);
	if (fate != GANG_FATE_COMMITTED)
		return;
	if (part->empty) {
		m->here.learned = true;
		return;
	}
	if (part->older)
		return;
	assert_true(m->here.durable == part->generation);
	m->durable = part->generation;
}

/* A look takes a moment. Who finds the parts of all commits. */
static void look_after_part(struct simulated_gang *gang, struct simulated_member *m)
{
	uint32_t round = m->view.round.number;
	struct part *part = &gang->parts[round][m->here.member];

	if (m->looked_after_ms == 0)
		m->looked_after_ms = gang->now_ms + 10 + (int64_t)draw(gang, 60);
	if (gang->now_ms < m->looked_after_ms)
		return;
	m->looked_after_ms = 0;
	if (!gang->committed[round] && !part->there)
		part->there = part->is_void = true;
	if (!part->is_void)
		try_commit(gang, m, round);
	if (m->here.unable != round)
		note_fate(gang, m, round);
}

/* The store has refused something, and healed; what was put is there. */
static bool fails(struct simulated_gang *gang, struct simulated_member *m)
{
	if (!gang->failures || draw(gang, 60) > 0)
		return false;
	m->here.lies = m->given;
	if (!m->given)
		m->here.given = 0;
	m->taking = 0;
	return true;
}

static void end_waiting(struct simulated_gang *gang, struct simulated_member *m, uint32_t index)
{
	uint32_t round = m->taking;

	m->taking = 0;
	m->look_ms = gang->now_ms;
	if (!gang->committed[round])
		return;
	assert_true(gang->parts[round][index].there);
	gang_view_committed(&m->view, round);
	if (m->part.empty) {
		m->here.learned = true;
		return;
	}
	gang_here_note_shared(&m->here, round);
	if (m->part.older)
		return;
	m->here.durable = m->part.generation;
	m->durable = m->part.generation;
}

static void save_part(struct simulated_gang *gang, struct simulated_member *m, uint32_t index)
{
	if (m->taking == 0)
		return;
	/* Its files are opened a moment after the decision; of this layout they may be gone. */
	if (m->taken_ms > 0 && gang->now_ms >= m->taken_ms) {
		m->taken_ms = 0;
		if (gang->layout == ALL_SAVE_ALL_THE_TIME && !m->part.empty &&
		    m->part.generation != m->here.generation) {
			if (m->part.older)
				gang_here_forget_step(&m->here, m->part.step);
			m->here.given = 0;
			m->taking = 0;
			m->look_ms = gang->now_ms;
			return;
		}
	}
	if (fails(gang, m))
		return;
	if (!m->given && gang->now_ms >= m->part_ms) {
		m->given = true;
		m->part.there = true;
		assert_false(gang->parts[m->taking][index].there);
		gang->parts[m->taking][index] = m->part;
		try_commit(gang, m, m->taking);
	}
	if (!m->given || m->taking == 0 || gang->now_ms < m->poll_ms)
		return;
	m->poll_ms = gang->now_ms + 50 + (int64_t)draw(gang, 1000);
	if (gang->committed[m->taking] || m->view.round.number != m->taking ||
	    m->view.round.state == GANG_ROUND_OVER)
		end_waiting(gang, m, index);
	else
		try_commit(gang, m, m->taking);
}

static void start_part(struct simulated_gang *gang, struct simulated_member *m,
		       const struct gang_round_decision *decision)
{
	bool empty = decision->action == GANG_GIVE_BESIDE, older = decision->older;
	uint64_t generation = older ? 0 : m->here.generation;
	int64_t step = older ? decision->step : m->here.step;

	for (uint32_t i = 0; i < gang->count; i++)
		assert_int_equal(gang_view_does_without(&m->view, i),
				 !is_of_round(gang, m->view.round.number, i));
	m->taking = m->view.round.number;
	gang_here_note_part(&m->here, m->taking, empty ? 0 : generation, step, empty);
	m->here.given_generation = generation;
	m->part = (struct part){
		.empty = empty,
		.final = m->view.round.final,
		.older = older,
		.step = step,
		.run = m->complete_run,
		.begun_ms = older ? m->step_begun_ms[step % STEPS_KEPT] : m->begun_ms,
		.generation = generation,
	};
	m->given = false;
	m->taken_ms = gang->now_ms + 20;
	m->part_ms = m->taken_ms + (int64_t)draw(gang, draw(gang, 4) ? 300 : 6000);
	m->poll_ms = m->part_ms;
}

/* --- the log --- */

static void send_event(struct simulated_gang *gang, struct simulated_member *m,
		       struct gang_event event)
{
	event.number = m->view.read + 1;
	event.member = m->here.member;
	m->sending = event;
	m->sent_ms = gang->now_ms + 10 + (int64_t)draw(gang, 60);
}

static void put_event(struct simulated_gang *gang, struct simulated_member *m)
{
	uint32_t number = m->sending.number;

	if (m->sent_ms == 0 || gang->now_ms < m->sent_ms)
		return;
	m->sent_ms = 0;
	m->look_ms = gang->now_ms;
	if (number != gang->events + 1 || number >= EVENTS_MOST)
		return;
	gang->events = number;
	gang->log[number] = m->sending;
	if (m->sending.kind == GANG_EVENT_GONE) {
		/* The others do not wait for what it has not given. */
		assert_true(!gang_view_is_open(&m->view) ||
			    gang->parts[m->view.round.number][m->here.member].there);
		gang->gone_at[m->here.member] = number;
	}
	gang->put_ms[number] = gang->now_ms;
	if (m->sending.kind == GANG_EVENT_ANSWERS && gang->committed[m->sending.round] &&
	    gang->answered_ms == 0 && answers_notice(gang, m->sending.round))
		gang->answered_ms = gang->now_ms;
}

static void act_on_decision(struct simulated_gang *gang, struct simulated_member *m,
			    const struct gang_round_decision *decision)
{
	struct gang_event event = {.round = decision->round,
				   .step = decision->step,
				   .answers = decision->answers};

	switch (decision->action) {
	case GANG_WAIT:
		return;
	case GANG_TAKE:
	case GANG_GIVE_BESIDE:
		start_part(gang, m, decision);
		return;
	case GANG_OPEN:
		event.kind = GANG_EVENT_ROUND;
		event.at_least = decision->at_least;
		break;
	case GANG_LEAVE_OUT:
		/* Whoever has given a part in it leaves it out only if no commit can come of it. */
		assert_true(!gang->parts[decision->round][m->here.member].there ||
			    !parts_are_one(gang, decision->round));
		event.kind = GANG_EVENT_LEFT_OUT;
		event.steps = m->here.steps;
		break;
	case GANG_LOOK_AFTER_PART:
		look_after_part(gang, m);
		return;
	case GANG_SAY_GOES_ON:
		m->here.goes_on_ms = gang->now_ms;
		event.kind = GANG_EVENT_GOES_ON;
		break;
	case GANG_SAY_PASSED:
		event.kind = GANG_EVENT_PASSED;
		break;
	case GANG_SAY_ANSWERS:
		event.kind = GANG_EVENT_ANSWERS;
		break;
	}
	send_event(gang, m, event);
}

static struct gang_event gone(const struct simulated_member *m)
{
	return (struct gang_event){
		.kind = GANG_EVENT_GONE,
		.saves = m->here.begun,
		.step = m->begun_step,
	};
}

/* Its time is over. What is on its way to the store is given up. */
static void say_last_word(struct simulated_gang *gang, struct simulated_member *m)
{
	uint32_t round = m->view.round.number;
	struct part *part = &gang->parts[round][m->here.member];
	struct gang_round_decision decision;

	if (m->view.over || m->view.ends[m->here.member] == GANG_HAS_GONE) {
		m->may_leave = true;
		return;
	}
	m->taking = 0;
	m->here.given = part->there || (m->here.given == round && draw(gang, 2)) ? round : 0;
	m->here.lies = true;
	m->here.unable = round;
	m->here.unable_reason = "its time is over";
	decision = gang_rounds_decide(&m->view, &m->here);
	if (decision.action == GANG_LOOK_AFTER_PART) {
		part->is_void |= !part->there && !gang->committed[round];
		part->there |= part->is_void;
		note_fate(gang, m, round);
		m->here.lies = false;
		decision = gang_rounds_decide(&m->view, &m->here);
	}
	if (decision.action == GANG_LEAVE_OUT)
		act_on_decision(gang, m, &decision);
	else
		send_event(gang, m, gone(m));
}

/* Once the notice of all is answered, nobody waits any longer for a round, or for the parts of
 * others: it has ended without a word then. */
static bool gives_up_waiting(const struct simulated_member *m)
{
	bool answered = m->view.notice > 0 && m->view.answered >= m->view.notice;

	return m->ended && answered && (m->taking > 0 ? m->given : m->here.wants);
}

static void leave(struct simulated_gang *gang, struct simulated_member *m)
{
	struct gang_end_decision decision;
	int64_t leave_ms = gang->leave_ms[m->here.member];

	m->here.saving = m->taking > 0;
	m->here.leaving = m->ended && !m->here.wants && m->taking == 0;
	if (m->sent_ms > 0 || m->here.telling)
		return;
	if (leave_ms > 0 && gang->now_ms > leave_ms + GRACE_MS) {
		m->ended = m->here.ended = true;
		say_last_word(gang, m);
		return;
	}
	decision = gang_leave_decide(&m->view, &m->here, m->noticed_ms > 0 ? m->view.asked : 0);
	if (decision.action == GANG_SAY_GONE)
		send_event(gang, m, gone(m));
	if (decision.action == GANG_SAY_ENDED)
		send_event(gang, m,
			   (struct gang_event){.kind = GANG_EVENT_ENDED, .more = decision.more});
	else if (decision.action == GANG_LEAVE)
		m->may_leave = true;
}

static void look(struct simulated_gang *gang, struct simulated_member *m)
{
	struct gang_round_decision decision;
	uint32_t before = m->view.read;

	if (m->may_leave || m->sent_ms > 0)
		return;
	m->here.now_ms = gang->now_ms;
	m->here.wants = m->here.generation != m->durable && m->taking == 0;
	m->here.wanted_ms = m->completed_ms;
	m->here.stopping = m->here.urgent = m->noticed_ms > 0;
	if (gives_up_waiting(m)) {
		if (m->taking > 0)
			end_waiting(gang, m, m->here.member);
		m->may_leave = true;
		return;
	}
	if (gang->now_ms >= m->look_ms) {
		while (m->view.read < gang->events) {
			const struct gang_event *event = &gang->log[m->view.read + 1];

			assert_true(gang_view_fold(&m->view, event, 0));
			if (event->kind == GANG_EVENT_LEFT_OUT)
				m->here.over_ms = gang->now_ms;
			if (event->kind == GANG_EVENT_GONE && event->saves) {
				gang_here_note_gone(&m->here);
				m->here.gone_seen_ms = gang->now_ms;
			}
			if (event->kind == GANG_EVENT_LEAVING && event->member == m->here.member)
				m->here.leaves = event->number;
		}
		if (m->view.notice > 0 && m->noticed_ms == 0)
			m->noticed_ms = gang->now_ms;
		gang_here_note_read(&m->here, &m->view);
		m->pause_ms = m->view.read > before ? 50 : m->pause_ms * 2;
		if (m->pause_ms > 2000)
			m->pause_ms = m->here.wants || m->taking > 0 || m->ended ? 2000 : 5000;
		m->look_ms = gang->now_ms + m->pause_ms;
		check_answers(gang, m);
	}
	if (m->taking > 0 && m->taking != m->view.round.number)
		return;
	note_answer(gang, m);
	m->here.holds = gang_runs_holds(&m->runs);
	decision = gang_rounds_decide(&m->view, &m->here);
	act_on_decision(gang, m, &decision);
	leave(gang, m);
}

/* --- a life --- */

static void disturb(struct simulated_gang *gang)
{
	struct simulated_member *m = &gang->members[draw(gang, gang->count)];

	if (gang->restarts && draw(gang, 2000) == 0 && gang->now_ms < TRAINED_MS - 20000)
		restart_ranks(gang);
	if (gang->deaths && draw(gang, 6000) == 0)
		m->dead = true;
	if (gang->notice_ms == 0 && draw(gang, 1500) == 0 && m->sent_ms == 0 && !m->dead &&
	    !m->ended)
		send_event(gang, m, (struct gang_event){.kind = GANG_EVENT_REQUEST});
}

static bool is_over(const struct simulated_gang *gang)
{
	for (uint32_t i = 0; i < gang->count; i++)
		if (!gang->members[i].dead && !gang->members[i].may_leave)
			return false;
	return true;
}

static void play(struct simulated_gang *gang)
{
	while (gang->now_ms < TRAINED_MS + FLUSH_MS && !is_over(gang)) {
		gang->now_ms += TICK_MS;
		if (gang->now_ms < TRAINED_MS)
			disturb(gang);
		for (uint32_t i = 0; i < gang->count; i++) {
			struct simulated_member *m = &gang->members[i];

			if (m->dead)
				continue;
			train(gang, i);
			put_event(gang, m);
			save_part(gang, m, i);
			look(gang, m);
		}
	}
}

static struct simulated_gang *gang_of(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = test_calloc(1, sizeof(*gang));

	gang->layout = layout;
	gang->first_seed = seed;
	gang->seed = seed * 2654435761U + 88172645463325252U;
	gang->count = 2 + (uint32_t)draw(gang, MEMBERS_MOST - 1);
	gang->every_ms = 500 + (int64_t)draw(gang, 12000);
	gang->stops_ms = (int64_t)draw(gang, TRAINED_MS);
	gang->patience_ms = (int64_t)draw(gang, GRACE_MS);
	if (layout == ALL_SAVE_ALL_THE_TIME)
		gang->every_ms = 100;
	for (uint32_t i = 0; i < gang->count; i++)
		gang->members[i] = (struct simulated_member){
			.view = gang_view_new(gang->count, 0),
			.here = gang_here_new(i),
			.next_step = 1,
			.begin_ms = gang->every_ms,
			.pause_ms = 50,
		};
	return gang;
}

static void gang_free(struct simulated_gang *gang)
{
	for (uint32_t i = 0; i < gang->count; i++)
		gang_view_release(&gang->members[i].view);
	test_free(gang);
}

static void assert_all_durable(const struct simulated_gang *gang)
{
	for (uint32_t i = 0; i < gang->count; i++) {
		const struct simulated_member *m = &gang->members[i];

		if (m->may_leave && m->durable == m->here.generation)
			continue;
		print_message("member %u of %u, saving every %lld ms\n", i, gang->count,
			      (long long)gang->every_ms);
		fail();
	}
}

/* --- scenes --- */

/* One gang of a scene; what is asserted fails. */
typedef void play_scene(enum layout layout, uint64_t seed);

struct seed_that_failed {
	enum layout layout;
	uint64_t seed;
};

struct scene {
	play_scene *play;
	const enum layout *layouts;
	size_t layouts_count;
	/* so many times SEEDS of each layout */
	unsigned times;
	/* Those that have failed once, whatever else is played. */
	const struct seed_that_failed *failed;
	size_t failed_count;
};

/* Each third and each second of them has something of its own. */
#define SEEDS effort_count("seeds", 60, 6)

/* What is being played: it is said if it fails. */
static struct {
	bool plays;
	enum layout layout;
	uint64_t seed;
} playing;

static int say_what_failed(void **state)
{
	(void)state;
	if (playing.plays)
		print_message("layout %d, seed %llu has failed\n", (int)playing.layout,
			      (unsigned long long)playing.seed);
	playing.plays = false;
	return 0;
}

static void play_seed(const struct scene *scene, enum layout layout, uint64_t seed)
{
	playing.layout = layout;
	playing.seed = seed;
	playing.plays = true;
	scene->play(layout, seed);
	playing.plays = false;
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void play_scenes(const struct scene *scene)
{
	uint64_t first = number_from("REPRIEVE_TEST_SEED", 1);
	uint64_t count = number_from("REPRIEVE_TEST_SEEDS", (uint64_t)scene->times * SEEDS);

	for (size_t i = 0; i < scene->failed_count && first == 1; i++)
		play_seed(scene, scene->failed[i].layout, scene->failed[i].seed);
	for (uint64_t seed = first; seed < first + count; seed++)
		for (size_t i = 0; i < scene->layouts_count; i++)
			play_seed(scene, scene->layouts[i], seed);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Nobody dies, and all save the same: the last checkpoint of all is durable, and all leave. */
static void play_all_save(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed);

	/* One that saves nothing in the new run has only what is of the old one. */
	gang->restarts = seed % 3 == 0 && layout != ALL_SAVE_ALL_THE_TIME && layout != ONE_STOPS;
	play(gang);
	assert_all_durable(gang);
	if (layout == RANK_0_SAVES_THE_END)
		assert_int_equal(gang->commits, 1);
	else if (layout <= ALL_SAVE_ALL_THE_TIME)
		assert_true(gang->commits >= (gang->restarts ? 1 : 2));
	gang_free(gang);
}

static void test_what_all_save_is_committed_again_and_again(void **state)
{
	static const enum layout layouts[] = {
		ALL_SAVE,  RANK_0_SAVES,         ALL_SAVE_ALL_THE_TIME, ONE_SKIPS,
		ONE_STOPS, RANK_0_SAVES_THE_END, MORE_IN_THE_END,
	};

	(void)state;
	play_scenes(&(struct scene){play_all_save, layouts, COUNT(layouts), .times = 1});
}

/* What all were told to end by: the checkpoint that they save at it is durable, for all, and each
 * knows it. */
static void play_notice(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed);

	gang->noticed = (uint32_t)draw(gang, gang->count);
	gang->leaves = seed % 3 == 0;
	/* Before the second checkpoint nothing is known of a job that is ended. */
	gang->notice_ms = 30000 + (int64_t)draw(gang, 40000);
	gang->late = seed % 2 == 0;
	play(gang);
	assert_all_durable(gang);
	gang_free(gang);
}

static void test_what_is_saved_at_a_notice_is_committed(void **state)
{
	static const enum layout layouts[] = {ALL_SAVE, RANK_0_SAVES, ALL_SAVE_ALL_THE_TIME};

	(void)state;
	play_scenes(&(struct scene){play_notice, layouts, COUNT(layouts), .times = 2});
}

/* The jobs save by themselves, often, and each hears of the notice when it does: some are asked
 * when others have saved, and saved once more. One snapshot of all answers it, while there is time.
 */
static void play_notice_in_training(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed);

	gang->every_ms = 100 + (int64_t)draw(gang, 1000);
	gang->noticed = (uint32_t)draw(gang, gang->count);
	gang->train_on = true;
	gang->settling_ms = seed % 2 ? SETTLING_MS : GRACE_MS;
	gang->notice_ms = 10000 + (int64_t)draw(gang, 20000);
	play(gang);
	for (uint32_t i = 0; i < gang->count; i++)
		assert_true(gang->members[i].view.notice > 0 &&
			    gang->members[i].view.answered >= gang->members[i].view.notice);
	assert_true(gang->answered_ms > 0 && gang->answered_ms < gang->notice_ms + GRACE_MS);
	assert_true(is_over(gang));
	gang_free(gang);
}

static void test_jobs_train_on_at_a_notice(void **state)
{
	static const enum layout layouts[] = {ALL_SAVE, ALL_SAVE_ALL_THE_TIME};
	static const struct seed_that_failed failed[] = {
		{ALL_SAVE, 4988},
		{ALL_SAVE_ALL_THE_TIME, 2872},
		{ALL_SAVE_ALL_THE_TIME, 7302},
	};

	(void)state;
	play_scenes(&(struct scene){play_notice_in_training, layouts, COUNT(layouts), .times = 5,
				    .failed = failed, .failed_count = COUNT(failed)});
}

/* A round is never left out by a member whose part lies there, so that all are told the same of it:
 * what they save last is durable, for all, however often a save fails. */
static void play_failing_saves(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed);

	gang->failures = true;
	if (seed % 2 == 0 && layout != ONE_SKIPS) {
		gang->noticed = (uint32_t)draw(gang, gang->count);
		gang->leaves = true;
		gang->notice_ms = 30000 + (int64_t)draw(gang, 40000);
	}
	play(gang);
	assert_all_durable(gang);
	gang_free(gang);
}

static void test_a_save_fails_and_its_part_lies_there(void **state)
{
	static const enum layout layouts[] = {ALL_SAVE, ALL_SAVE_ALL_THE_TIME, RANK_0_SAVES,
					      ONE_SKIPS};

	(void)state;
	play_scenes(&(struct scene){play_failing_saves, layouts, COUNT(layouts), .times = 2});
}

static int64_t last_gone_ms(const struct simulated_gang *gang)
{
	int64_t last_ms = 0;

	for (uint32_t i = 0; i < gang->count; i++)
		if (gang->gone_at[i] > 0 && gang->put_ms[gang->gone_at[i]] > last_ms)
			last_ms = gang->put_ms[gang->gone_at[i]];
	return last_ms;
}

static void draw_leavers(struct simulated_gang *gang)
{
	bool one_saves = gang->layout == RANK_0_SAVES;
	uint32_t stays = one_saves ? 0 : (uint32_t)draw(gang, gang->count);
	int64_t first_ms = 15000 + (int64_t)draw(gang, 20000);

	for (uint32_t i = 0; i < gang->count; i++) {
		if (i == stays || (draw(gang, 2) == 0 && i != (stays ? 0 : 1)))
			continue;
		gang->leave_ms[i] = first_ms;
		if (draw(gang, 2) == 0)
			gang->leave_ms[i] += 500 * (int64_t)draw(gang, 40);
	}
}

/* Some leave alone, at one time or at several. What they save at it is durable, of all that were
 * there, or their time was over; and the others save again and again, without them. */
static void play_leavers(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed);

	if (seed % 2 == 0)
		gang->slow_ms = gang->every_ms / 2;
	draw_leavers(gang);
	play(gang);
	for (uint32_t i = 0; i < gang->count; i++) {
		if ((gang->gone_at[i] > 0) != (gang->leave_ms[i] > 0))
			fail_msg("member %u of %u, to go at %lld", i, gang->count,
				 (long long)gang->leave_ms[i]);
		if (gang->leave_ms[i] > 0)
			gang->members[i].durable = gang->members[i].here.generation;
	}
	/* If the others have saved once more since the last one has gone. */
	if (last_gone_ms(gang) + 3 * gang->every_ms < TRAINED_MS) {
		assert_true(gang->last_commit_ms > last_gone_ms(gang));
		assert_all_durable(gang);
	}
	gang_free(gang);
}

static void test_some_leave_and_the_others_go_on(void **state)
{
	static const enum layout layouts[] = {ALL_SAVE, ALL_SAVE_ALL_THE_TIME, RANK_0_SAVES};

	(void)state;
	play_scenes(&(struct scene){play_leavers, layouts, COUNT(layouts), .times = 2});
}

/* What it has saved last is never mixed with what the new ranks save, however early its job ends;
 * and the others save again and again. */
static void play_elastic(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed);
	uint32_t leaver = (uint32_t)draw(gang, gang->count);

	gang->elastic = true;
	if (seed % 3 == 0)
		gang->slow_ms = gang->every_ms / 2;
	gang->leave_ms[leaver] = 15000 + (int64_t)draw(gang, 20000);
	play(gang);
	assert_true(gang->gone_at[leaver] > 0);
	gang->members[leaver].durable = gang->members[leaver].here.generation;
	/* The last checkpoint of the new run may be the very step that the leaver had begun: that
	 * is the limit (GANGS.md). */
	if (gang->members[leaver ? 0 : 1].here.step != gang->members[leaver].begun_step) {
		assert_true(gang->last_commit_ms > gang->leave_ms[leaver] + GRACE_MS);
		assert_all_durable(gang);
	}
	gang_free(gang);
}

static void test_the_others_begin_anew_when_one_leaves(void **state)
{
	static const enum layout layouts[] = {ALL_SAVE};

	(void)state;
	play_scenes(&(struct scene){play_elastic, layouts, COUNT(layouts), .times = 5});
}

/* What is asserted along the way holds whatever happens. */
static void play_anything(enum layout layout, uint64_t seed)
{
	struct simulated_gang *gang = gang_of(layout, seed * 7919);

	gang->restarts = seed % 2 == 0 && layout != ONE_STOPS;
	gang->deaths = seed % 3 == 0;
	if (seed % 5 == 0 && layout == ALL_SAVE)
		gang->leave_ms[draw(gang, gang->count)] = 10000 + (int64_t)draw(gang, 60000);
	play(gang);
	gang_free(gang);
}

static void test_nothing_is_mixed_and_nobody_is_told_too_much(void **state)
{
	static const enum layout layouts[] = {
		ALL_SAVE,  RANK_0_SAVES,         ALL_SAVE_ALL_THE_TIME, ONE_SKIPS,
		ONE_STOPS, RANK_0_SAVES_THE_END, MORE_IN_THE_END,
	};
	static const struct seed_that_failed failed[] = {{ALL_SAVE, 3300}};

	(void)state;
	play_scenes(&(struct scene){play_anything, layouts, COUNT(layouts), .times = 1,
				    .failed = failed, .failed_count = COUNT(failed)});
}

int main(int argc, char **argv)
{
#define TEST(function) cmocka_unit_test_teardown(function, say_what_failed)
	const struct CMUnitTest tests[] = {
		TEST(test_what_all_save_is_committed_again_and_again),
		TEST(test_what_is_saved_at_a_notice_is_committed),
		TEST(test_jobs_train_on_at_a_notice),
		TEST(test_a_save_fails_and_its_part_lies_there),
		TEST(test_some_leave_and_the_others_go_on),
		TEST(test_the_others_begin_anew_when_one_leaves),
		TEST(test_nothing_is_mixed_and_nobody_is_told_too_much),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
