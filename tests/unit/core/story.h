/*
 * Short stories of a job, as scripts of words: what happens, what was done about it, and what is
 * known then.
 *
 *	start(signal)		a new job, restored and launched, which is asked in this way;
 *				"begin": before that; "renew" after its rules were changed
 *	notice(now+1000)	an event with its number (a generation, a deadline, a signal, an
 *				event of the gang's log); "t.budget": that timer; "at.budget": when
 *				it is due; "retry": if that one is armed
 *	+ask -say.plan		the last event had this effect, and not that
 *	saving=1		sets a value, of the job or of the next event
 *	due.retry:now+500	checks one, as "<" and ">" do
 *	[3 ... ]		three times; "[killed ... ]": until that is so
 */
#ifndef STORY_H
#define STORY_H

#include "core/core.h"

#include "base/clock.h"
#include "base/text.h"
#include "effect_names.h"

#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct story {
	struct job_rules rules;
	struct job_view view;
	struct job_model model;
	struct job_effects effects; /* of the last event */
	/* of the next event */
	struct claim_event claim;
	struct checkpoint checkpoint;
	struct snapshot_event snapshot;
	struct gang_told gang;
	bool ignored, foreign, by_flag, fresh;
	int status;
	/* what follows from the model, and from the effects; `reply` and `refusal`: -1: none */
	struct {
		struct outcome_facts facts;
		int64_t next_ms, behind_ms;
		int reply, refusal;
		bool last, pending, early, late, waiting, taken, forwarded, by_sigterm, awaits,
			open;
		bool stopping, over;
		unsigned saw;
		uintptr_t to;
	} seen;
	unsigned said[JOB_SENTENCES]; /* how often */
	int64_t mark, rounds;         /* of the last loop */
};

/* --- names --- */

struct word {
	const char *name;
	int64_t value;
};

static const struct word story_values[] = {
	{"never", CLOCK_NEVER},
	{"auto", REQUEST_AUTO},
	{"none", REQUEST_NONE},
	{"signal", REQUEST_SIGNAL},
	{"command", REQUEST_COMMAND},
	{"flag", REQUEST_FLAG},
	{"INT", SIGINT},
	{"QUIT", SIGQUIT},
	{"HUP", SIGHUP},
	{"USR2", SIGUSR2},
	{"TERM", SIGTERM},
	{"WINCH", SIGWINCH},
	{"RESTORING", JOB_RESTORING},
	{"RUNNING", JOB_RUNNING},
	{"CHECKPOINTING", JOB_CHECKPOINTING},
	{"STOPPING", JOB_STOPPING},
	{"UPLOADING", JOB_UPLOADING},
	{"OVER", JOB_OVER},
	{"NO_ATTEMPT", ATTEMPT_NONE},
	{"UNCLAIMED", ATTEMPT_UNCLAIMED},
	{"CLAIMING", ATTEMPT_CLAIMING},
	{"CLAIMED", ATTEMPT_CLAIMED},
	{"ERR_RETRY", ERR_RETRY},
	{"ERR_NOT_FOUND", ERR_NOT_FOUND},
	{"ERR_EXISTS", ERR_EXISTS},
	{"ERR_DENIED", ERR_DENIED},
	{"ERR_NO_SPACE", ERR_NO_SPACE},
	{"ERR_CANCELLED", ERR_CANCELLED},
	{"ERR_INVALID", ERR_INVALID},
	{"ERR_FAILED", ERR_FAILED},
	{"TOLD_ASKED", REPLY_ASKED},
	{"TOLD_SAVED", REPLY_SAVED},
	{"TOLD_DURABLE", REPLY_DURABLE},
	{"TOLD_FAILED", REPLY_FAILED},
	{"SUPERSEDED", REFUSED_SUPERSEDED},
	{"NOT_STARTED", REFUSED_NOT_STARTED},
	{"BEING_STOPPED", REFUSED_BEING_STOPPED},
	{"ENDS_WHEN_ASKED", REFUSED_ENDS_WHEN_ASKED},
	{"CANNOT_ASK", REFUSED_CANNOT_ASK},
	{"BY_ITSELF", SAVED_BY_ITSELF},
	{"ON_REQUEST", SAVED_ON_REQUEST},
	{"AT_EXIT", SAVED_AT_EXIT},
	{"AWAIT_SAVE", PREEMPTION_AWAIT_SAVE},
	{"SENT", ASKING_SENT},
	{NULL, 0},
};

static const struct word story_events[] = {
	{"restored", JOB_EV_RESTORED},
	{"claimed", JOB_EV_CLAIMED},
	{"launched", JOB_EV_LAUNCHED},
	{"signal", JOB_EV_SIGNAL},
	{"notice", JOB_EV_STOP_ANNOUNCED},
	{"notice_of_many", JOB_EV_STOP_ANNOUNCED},
	{"sigterm", JOB_EV_STOP_ANNOUNCED},
	{"withdraw", JOB_EV_STOP_CANCELLED},
	{"advice", JOB_EV_ADVICE},
	{"client", JOB_EV_CLIENT},
	{"other_client", JOB_EV_CLIENT},
	{"sending", JOB_EV_SENDING},
	{"asked", JOB_EV_ASKED},
	{"cannot_ask", JOB_EV_CANNOT_ASK},
	{"save_started", JOB_EV_SAVE_STARTED},
	{"running_written", JOB_EV_RUNNING_WRITTEN},
	{"complete", JOB_EV_COMPLETE},
	{"stale", JOB_EV_COMPLETE},
	{"exit", JOB_EV_CHILD_EXITED},
	{"planned", JOB_EV_PLANNED},
	{"durable", JOB_EV_SNAPSHOT_DONE},
	{"durable_before", JOB_EV_SNAPSHOT_DONE},
	{"fails", JOB_EV_SNAPSHOT_DONE},
	{"gang_round", JOB_EV_GANG_ROUND},
	{"gang_asks", JOB_EV_GANG_ASKS},
	{"gang_told", JOB_EV_GANG_TOLD},
	{"gang_answered", JOB_EV_GANG_ANSWERED},
	{"gang_left", JOB_EV_GANG_LEFT},
	{NULL, 0},
};

static const char *const story_timers[JOB_TIMERS] = {
	[TIMER_BUDGET] = "budget",     [TIMER_SAVE_OVER] = "save_over",
	[TIMER_SETTLING] = "settling", [TIMER_INTERVAL] = "interval",
	[TIMER_SNAPSHOT] = "snapshot", [TIMER_RETRY] = "retry",
	[TIMER_FLUSH] = "flush",       [TIMER_RISK] = "risk",
};

static const char *const story_sentences[JOB_SENTENCES] = {
	[SAY_PLAN] = "plan",
	[SAY_WITHDRAWN] = "withdrawn",
	[SAY_CANNOT_ASK] = "cannot_ask",
	[SAY_NO_WAY_TO_ASK] = "no_way_to_ask",
	[SAY_SAVE_IS_USED] = "save_is_used",
	[SAY_DEFERRED] = "deferred",
	[SAY_KILLING] = "killing",
	[SAY_OUT_OF_TIME] = "out_of_time",
	[SAY_DURABLE] = "durable",
	[SAY_DURABLE_QUIETLY] = "durable_quietly",
	[SAY_STORE_WORKS] = "store_works",
	[SAY_NOT_DURABLE] = "not_durable",
	[SAY_STILL_FAILING] = "still_failing",
	[SAY_WINDOW_TOO_SHORT] = "window_too_short",
	[SAY_AT_RISK] = "at_risk",
	[SAY_INTERVAL] = "interval",
};

#define FIELD(name, member)                                                                  \
	{                                                                                    \
		name, offsetof(struct story, member), sizeof(((struct story *)NULL)->member) \
	}

static const struct field {
	const char *name;
	size_t offset, size;
} story_fields[] = {
	/* the rules */
	FIELD("rule.may_flag", rules.may_flag),
	FIELD("rule.ends", rules.ends_when_asked),
	FIELD("rule.expects", rules.expects_saves),
	FIELD("rule.chosen", rules.place_chosen),
	FIELD("rule.gang", rules.of_gang),
	FIELD("rule.auto", rules.every_auto),
	FIELD("rule.every", rules.every_ms),
	FIELD("rule.apart", rules.snapshot_interval_ms),
	FIELD("rule.flush", rules.flush_ms),
	/* what the parts say */
	FIELD("now", view.now_ms),
	FIELD("runs", view.child_running),
	FIELD("elsewhere", view.saves_elsewhere),
	FIELD("handled", view.has_target),
	FIELD("rank_saving", view.rank_saving),
	FIELD("awaits_gang", view.awaits_gang),
	FIELD("needed", view.gang_needs_job),
	FIELD("saving", view.directory.saving),
	FIELD("last_write", view.directory.last_write_ms),
	FIELD("closed", view.directory.closed_ms),
	FIELD("partners", view.directory.partners_until_ms),
	FIELD("unknown", view.directory.unknown_until_ms),
	FIELD("own_word", view.directory.own_word),
	FIELD("polled", view.directory.polled),
	FIELD("holds_less", view.directory.holds_less),
	FIELD("running", view.directory.running_generation),
	FIELD("running.only", view.directory.only_running),
	FIELD("running.work", view.directory.running_work),
	/* of the next event */
	FIELD("claim.phase", claim.phase),
	FIELD("claim.step", claim.step),
	FIELD("claim.restored", claim.restored),
	FIELD("claim.any", claim.any_checkpoint),
	FIELD("claim.managed", claim.managed),
	FIELD("saved.step", checkpoint.step),
	FIELD("saved.reported", checkpoint.reported_step),
	FIELD("saved.written", checkpoint.written_ms),
	FIELD("part.empty", snapshot.empty),
	FIELD("part.changed", snapshot.changed),
	FIELD("part.lacks", snapshot.lacks_newest),
	FIELD("part.not_whole", snapshot.not_whole),
	FIELD("part.step", snapshot.checkpoint.step),
	FIELD("part.took", snapshot.took_ms),
	FIELD("of_request", gang.request),
	FIELD("notice_is_over", gang.notice_is_over),
	FIELD("unanswered", gang.unanswered),
	FIELD("ignored", ignored),
	FIELD("foreign", foreign),
	FIELD("by_flag", by_flag),
	FIELD("fresh", fresh),
	FIELD("status", status),
	/* the model */
	FIELD("state", model.state),
	FIELD("managed", model.facts.managed),
	FIELD("refused_with", model.facts.refusal),
	FIELD("told", model.facts.told_to_end),
	FIELD("noticed", model.facts.noticed),
	FIELD("noticed_late", model.facts.noticed_late),
	FIELD("signal_only", model.facts.by_signal_only),
	FIELD("launched_at", model.launched_ms),
	FIELD("ask_until", model.budget.ask_until_ms),
	FIELD("stop_until", model.budget.stop_until_ms),
	FIELD("plan.made", model.plan.made),
	FIELD("plan.choice", model.plan.choice),
	FIELD("plan.can_ask", model.plan.facts.can_ask),
	FIELD("saving_for", model.deferral.facts.saving_for_ms),
	FIELD("killed", model.killed),
	FIELD("asking", model.requests.asking),
	FIELD("sent", model.asking.sent_ms),
	FIELD("asked_by_flag", model.asking.by_flag),
	FIELD("answered", model.asking.answered),
	FIELD("answered_at", model.asking.first_answer_ms),
	FIELD("newest", model.newest.generation),
	FIELD("newest.step", model.newest.step),
	FIELD("newest.reason", model.newest.reason),
	FIELD("newest.as_of_start", model.newest.as_of_start),
	FIELD("newest.curves", model.newest.curves_only),
	FIELD("attempt", model.attempt),
	FIELD("any_durable", model.snapshots.any_durable),
	FIELD("durable.step", model.durable.step),
	FIELD("durable.reported", model.durable.reported_step),
	FIELD("durable.written", model.durable.written_ms),
	FIELD("durable.gap", model.durable.gap_ms),
	FIELD("flush.given_up", model.flush.given_up),
	FIELD("save_ms", model.measured.save_ms),
	FIELD("upload_ms", model.measured.upload_ms),
	FIELD("gap_ms", model.measured.rhythm.gap_ms),
	FIELD("every_ms", model.measured.interval.every_ms),
	FIELD("interval.save_ms", model.measured.interval.save_ms),
	/* what follows */
	FIELD("facts.launched", seen.facts.launched),
	FIELD("facts.managed", seen.facts.managed),
	FIELD("facts.noticed", seen.facts.noticed),
	FIELD("facts.durable", seen.facts.all_durable),
	FIELD("next", seen.next_ms),
	FIELD("behind", seen.behind_ms),
	FIELD("reply", seen.reply),
	FIELD("refusal", seen.refusal),
	FIELD("last", seen.last),
	FIELD("to", seen.to),
	FIELD("pending", seen.pending),
	FIELD("early", seen.early),
	FIELD("late", seen.late),
	FIELD("waiting", seen.waiting),
	FIELD("taken", seen.taken),
	FIELD("forwarded", seen.forwarded),
	FIELD("by_sigterm", seen.by_sigterm),
	FIELD("awaits", seen.awaits),
	FIELD("open", seen.open),
	FIELD("stopping", seen.stopping),
	FIELD("over", seen.over),
	FIELD("saw", seen.saw),
	FIELD("mark", mark),
	FIELD("rounds", rounds),
};

/* --- values --- */

static void fail_at(const char *what, const char *where)
{
	fail_msg("%s, before \"%.60s\"", what, where);
}

static int index_of(const char *const *names, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (names[i] && text_equal(names[i], name))
			return i;
	fail_at("no such name", name);
	return -1;
}

static bool find_word(const struct word *words, const char *name, int64_t *value)
{
	for (; words->name; words++)
		if (text_equal(words->name, name)) {
			*value = words->value;
			return true;
		}
	return false;
}

static struct field find_field(const char *name)
{
	if (text_starts(name, "due."))
		return (struct field){name,
				      offsetof(struct story, model.due_ms) +
					      sizeof(int64_t) *
						      (size_t)index_of(story_timers, JOB_TIMERS,
								       name + 4),
				      sizeof(int64_t)};
	if (text_starts(name, "said."))
		return (struct field){name,
				      offsetof(struct story, said) +
					      sizeof(unsigned) *
						      (size_t)index_of(story_sentences,
								       JOB_SENTENCES, name + 5),
				      sizeof(unsigned)};
	for (size_t i = 0; i < sizeof(story_fields) / sizeof(story_fields[0]); i++)
		if (text_equal(story_fields[i].name, name))
			return story_fields[i];
	fail_at("no such value", name);
	return story_fields[0];
}

static const struct job_effect *find_effect(const struct story *story, enum job_effect_kind kind)
{
	for (size_t i = 0; i < story->effects.count; i++)
		if (story->effects.items[i].kind == kind)
			return &story->effects.items[i];
	return NULL;
}

static bool has_effect(const struct story *story, const char *name)
{
	for (size_t i = 0; i < story->effects.count; i++) {
		const struct job_effect *effect = &story->effects.items[i];

		if (text_starts(name, "say.")
			    ? effect->kind == JOB_DO_SAY &&
				      (int)effect->sentence ==
					      index_of(story_sentences, JOB_SENTENCES, name + 4)
			    : text_equal(job_effect_name(effect->kind), name))
			return true;
	}
	return false;
}

static void look(struct story *story)
{
	const struct job_effect *reply = find_effect(story, JOB_DO_REPLY);
	const struct job_effect *refusal = find_effect(story, JOB_DO_REFUSE);
	const struct job_model *model = &story->model;
	enum job_timer timer;

	story->seen.facts = job_outcome_facts(model, &story->rules, &story->view, UNSAVED_NOTHING);
	story->seen.next_ms = job_next_due_ms(model, &timer);
	story->seen.behind_ms = job_forecast(model, &story->rules, &story->view).behind_ms;
	story->seen.reply = reply ? (int)reply->reply : -1;
	story->seen.refusal = refusal ? (int)refusal->refusal : -1;
	story->seen.to = (uintptr_t)(reply ? reply->client : refusal ? refusal->client : NULL);
	story->seen.last = reply && reply->last;
	story->seen.pending = job_has_pending(model);
	story->seen.early = job_can_save(model);
	story->seen.late = job_is_upload_behind(model, story->view.now_ms);
	story->seen.waiting = model->due_ms[TIMER_SNAPSHOT] != CLOCK_NEVER;
	story->seen.taken = find_effect(story, JOB_DO_TAKE_SNAPSHOT) != NULL;
	story->seen.forwarded = find_effect(story, JOB_DO_FORWARD_SIGTERM) != NULL;
	story->seen.by_sigterm = job_asked_by_sigterm(model, &story->rules);
	story->seen.awaits = request_table_awaits(&model->requests);
	story->seen.open = request_table_is_open(&model->requests);
	story->seen.saw = request_table_saw(&model->requests);
	story->seen.stopping = model->state == JOB_STOPPING;
	story->seen.over = model->state == JOB_OVER;
}

static int64_t read_field(struct story *story, const char *name)
{
	struct field field = find_field(name);
	int64_t wide = 0;
	int narrow;

	look(story);
	memcpy(&wide, (char *)story + field.offset, field.size);
	if (field.size != sizeof(narrow))
		return wide;
	memcpy(&narrow, &wide, sizeof(narrow));
	return narrow;
}

/* "launched_at+500", up to the end or a bracket. */
static int64_t value_of(struct story *story, const char *text)
{
	int64_t sum = 0;

	while (*text && *text != ')') {
		int sign = *text == '-' ? -1 : 1;
		char term[40];
		int64_t value;

		text += *text == '-' || *text == '+';
		snprintf(term, sizeof(term), "%.*s", (int)strcspn(text, "+-)"), text);
		text += strlen(term);
		if (*term >= '0' && *term <= '9')
			value = strtoll(term, NULL, 10);
		else if (!find_word(story_values, term, &value))
			value = read_field(story, term);
		sum += sign * value;
	}
	return sum;
}

/* --- what happens --- */

static void post(struct story *story, struct job_event event)
{
	story->effects.count = 0;
	job_step(&story->model, &story->rules, &story->view, &event, &story->effects);
	for (size_t i = 0; i < story->effects.count; i++)
		if (story->effects.items[i].kind == JOB_DO_SAY)
			story->said[story->effects.items[i].sentence]++;
	story->claim = (struct claim_event){.phase = ATTEMPT_CLAIMED, .step = -1};
	story->checkpoint = (struct checkpoint){.step = 7};
	story->snapshot = (struct snapshot_event){0};
	story->gang = (struct gang_told){0};
}

static void post_timer(struct story *story, enum job_timer timer)
{
	post(story, (struct job_event){.kind = JOB_EV_TIMER, .timer = timer});
}

static void post_named(struct story *story, enum job_event_kind kind, const char *name,
		       int64_t value)
{
	struct job_event event = {.kind = kind};

	if (kind == JOB_EV_RESTORED || kind == JOB_EV_CLAIMED) {
		event.claim = story->claim;
	} else if (kind == JOB_EV_LAUNCHED && story->fresh) {
		event.checkpoint = story->checkpoint;
		event.fresh = true;
	} else if (kind == JOB_EV_SIGNAL) {
		event.signal = (int)value;
		event.ignored = story->ignored;
	} else if (kind == JOB_EV_STOP_ANNOUNCED) {
		event.stop = (struct stop_event){value, text_equal(name, "sigterm"),
						 !text_equal(name, "notice_of_many")};
	} else if (kind == JOB_EV_CLIENT) {
		event.client = (void *)(uintptr_t)(text_equal(name, "client") ? 1 : 2);
	} else if (kind == JOB_EV_SENDING || kind == JOB_EV_ASKED) {
		event.by_flag = story->by_flag;
	} else if (kind == JOB_EV_SAVE_STARTED || kind == JOB_EV_RUNNING_WRITTEN) {
		event.foreign = story->foreign;
	} else if (kind == JOB_EV_COMPLETE) {
		event.checkpoint = story->checkpoint;
		event.checkpoint.generation = (uint64_t)value;
		event.fresh = text_equal(name, "complete");
	} else if (kind == JOB_EV_CHILD_EXITED) {
		story->view.child_running = false;
		event.child.wait_status = event.child.mapped_status = story->status;
	} else if (kind == JOB_EV_PLANNED) {
		event.generation = (uint64_t)value;
	} else if (kind == JOB_EV_SNAPSHOT_DONE) {
		event.snapshot = story->snapshot;
		event.snapshot.durable = !text_equal(name, "fails");
		event.snapshot.error = event.snapshot.durable ? ERR_NONE : (enum err_kind)value;
		if (text_equal(name, "durable_before")) {
			event.snapshot.lacks_newest = true;
			event.snapshot.checkpoint.written_ms = value;
		} else {
			event.snapshot.checkpoint = story->model.newest;
		}
	} else {
		event.gang = story->gang;
		event.gang.event = (uint32_t)value;
	}
	post(story, event);
}

static void stop(struct story *story)
{
	job_end_requests(&story->model, &story->effects);
	request_table_release(&story->model.requests);
	job_effects_release(&story->effects);
}

static void begin(struct story *story, enum request_method ask)
{
	stop(story);
	*story = (struct story){
		.rules = {.ask = ask,
			  .has_store = true,
			  .snapshot_interval_ms = 600000,
			  .quiet_ms = 1000,
			  .flush_ms = 60000,
			  .grace_ms = 10000},
		.view = {.now_ms = 1000000, .directory = {.reported_step = -1}},
		.claim = {.phase = ATTEMPT_CLAIMED, .step = -1},
		.checkpoint = {.step = 7},
	};
	story->model = job_model_new(&story->rules);
}

/* --- scripts --- */

static void play(struct story *story, const char *script);

static void run_command(struct story *story, const char *word, const char *where)
{
	char name[40];
	int64_t value = 0, kind;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "("), word);
	if (strchr(word, '('))
		value = value_of(story, strchr(word, '(') + 1);
	if (text_starts(name, "t.")) {
		post_timer(story, (enum job_timer)index_of(story_timers, JOB_TIMERS, name + 2));
	} else if (text_starts(name, "at.")) {
		enum job_timer timer = (enum job_timer)index_of(story_timers, JOB_TIMERS, name + 3);

		story->view.now_ms = story->model.due_ms[timer];
		post_timer(story, timer);
	} else if (text_equal(name, "retry")) {
		if (story->model.due_ms[TIMER_RETRY] != CLOCK_NEVER)
			post_timer(story, TIMER_RETRY);
	} else if (text_equal(name, "commit")) {
		if (find_effect(story, JOB_DO_TAKE_SNAPSHOT))
			play(story, "durable");
	} else if (text_equal(name, "begin") || text_equal(name, "start")) {
		begin(story, (enum request_method)value);
		if (text_equal(name, "start"))
			play(story, "restored +launch runs=1 launched");
	} else if (text_equal(name, "renew")) {
		story->model = job_model_new(&story->rules);
	} else if (find_word(story_events, name, &kind)) {
		post_named(story, (enum job_event_kind)kind, name, value);
	} else {
		fail_at("no such word", where);
	}
}

static void run_word(struct story *story, const char *word, const char *where)
{
	char name[40];
	size_t length = strcspn(word, "=:<>");
	struct field field;
	int64_t found, value;

	if (*word == '+' || *word == '-') {
		if (has_effect(story, word + 1) != (*word == '+'))
			fail_at(*word == '+' ? "missing" : "not expected", where);
		return;
	}
	if (!word[length])
		return run_command(story, word, where);
	snprintf(name, sizeof(name), "%.*s", (int)length, word);
	value = value_of(story, word + length + 1);
	if (word[length] == '=') {
		field = find_field(name);
		memcpy((char *)story + field.offset, &value, field.size);
		return;
	}
	found = read_field(story, name);
	if (word[length] == '<'   ? found >= value
	    : word[length] == '>' ? found <= value
				  : found != value)
		fail_msg("%s is %lld, not %lld, at \"%.60s\"", name, (long long)found,
			 (long long)value, where);
}

static void play(struct story *story, const char *script)
{
	char word[80];
	int length;

	for (; sscanf(script, " %79s%n", word, &length) == 1 && *word != ']'; script += length) {
		const char *body = script + length;
		bool counted = word[1] >= '0' && word[1] <= '9';

		if (*word != '[') {
			run_word(story, word, script);
			continue;
		}
		for (story->rounds = 0;
		     counted ? story->rounds < atoi(word + 1) : !value_of(story, word + 1);
		     story->rounds++) {
			if (story->rounds > 10000)
				fail_at("for ever", script);
			play(story, body);
		}
		script = strchr(body, ']') + 1;
		length = 0;
	}
}

static void play_all(const char *const *scripts, size_t count)
{
	struct story story = {0};

	for (size_t i = 0; i < count; i++)
		play(&story, scripts[i]);
	stop(&story);
}

#define PLAY(...)                                                        \
	do {                                                             \
		static const char *const scripts[] = {__VA_ARGS__};      \
                                                                         \
		play_all(scripts, sizeof(scripts) / sizeof(scripts[0])); \
	} while (0)

/* A save begins; it is complete. */
#define SAVES "saving=1 save_started now=now+3000 "
#define HAS_SAVED(n) "saving=0 last_write=now complete(" #n ") "
/* The job has ended, and its newest checkpoint is not durable; after a notice. */
#define PENDING "start(none) complete(1) +take_snapshot exit state:UPLOADING -end "
#define NOTICED "start(none) complete(1) +take_snapshot notice(2000000) exit state:UPLOADING -end "
/* A SIGTERM is kept back, or was passed on: nobody has said what it means, so that it counts as an
 * asking. */
#define KEPT "-forward_sigterm told:0 "
#define FORWARDED "+forward_sigterm told:1 sent:now by_sigterm:1 asking:SENT "

#endif
