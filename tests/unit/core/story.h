/* Short stories of a job: events, one by one, and what is done about each. */
#ifndef STORY_H
#define STORY_H

#include "core/core.h"

#include "base/clock.h"
#include "core/model.h"
#include "effect_names.h"

#include "unit.h"

#include <stdio.h>
#include <string.h>

struct story {
	struct job_rules rules;
	struct job_view view;
	struct job_model model;
	struct job_effects effects; /* of the last event */
};

static inline void post(struct story *story, struct job_event event)
{
	story->effects.count = 0;
	job_step(&story->model, &story->rules, &story->view, &event, &story->effects);
}

static inline void post_kind(struct story *story, enum job_event_kind kind)
{
	post(story, (struct job_event){.kind = kind});
}

static inline const struct job_effect *find(const struct story *story, enum job_effect_kind kind)
{
	for (size_t i = 0; i < story->effects.count; i++)
		if (story->effects.items[i].kind == kind)
			return &story->effects.items[i];
	return NULL;
}

static inline bool says(const struct story *story, enum job_sentence sentence)
{
	for (size_t i = 0; i < story->effects.count; i++)
		if (story->effects.items[i].kind == JOB_DO_SAY &&
		    story->effects.items[i].sentence == sentence)
			return true;
	return false;
}

static inline void check_done(const struct story *story, enum job_effect_kind kind, bool done)
{
	if ((find(story, kind) != NULL) != done)
		fail_msg("%s: %s", job_effect_name(kind), done ? "missing" : "not expected");
}

static inline void begin(struct story *story, enum request_method ask)
{
	*story = (struct story){
		.rules = {.ask = ask,
			  .has_store = true,
			  .snapshot_interval_ms = 600000,
			  .quiet_ms = 1000,
			  .flush_ms = 60000,
			  .grace_ms = 10000},
		.view = {.now_ms = 1000000, .directory = {.reported_step = -1}},
	};
	story->model = job_model_new(&story->rules);
}

/* Restored and launched. */
static inline void start(struct story *story, enum request_method ask)
{
	begin(story, ask);
	post(story, (struct job_event){.kind = JOB_EV_RESTORED,
				       .claim = {.phase = ATTEMPT_CLAIMED, .step = -1}});
	check_done(story, JOB_DO_LAUNCH, true);
	story->view.child_running = true;
	post_kind(story, JOB_EV_LAUNCHED);
}

static inline void complete(struct story *story, uint64_t generation, bool fresh)
{
	post(story, (struct job_event){.kind = JOB_EV_COMPLETE,
				       .checkpoint = {.generation = generation, .step = 7},
				       .fresh = fresh});
}

static inline void end_snapshot(struct story *story, struct snapshot_event snapshot)
{
	snapshot.checkpoint = story->model.newest;
	post(story, (struct job_event){.kind = JOB_EV_SNAPSHOT_DONE, .snapshot = snapshot});
}

static inline void stop(struct story *story)
{
	job_end_requests(&story->model, &story->effects);
	request_table_release(&story->model.requests);
	job_effects_release(&story->effects);
}

static inline struct outcome_facts facts_of(const struct story *story)
{
	return job_outcome_facts(&story->model, &story->rules, &story->view, UNSAVED_NOTHING);
}

static inline void post_timer(struct story *story, enum job_timer timer)
{
	post(story, (struct job_event){.kind = JOB_EV_TIMER, .timer = timer});
}

/* `alone`: there is no other notice. */
static inline void announce(struct story *story, int64_t deadline_ms, bool alone)
{
	post(story, (struct job_event){.kind = JOB_EV_STOP_ANNOUNCED,
				       .stop = {.deadline_ms = deadline_ms, .alone = alone}});
}

static inline void exit_with_pending(struct story *story, bool noticed)
{
	start(story, REQUEST_NONE);
	complete(story, 1, true);
	check_done(story, JOB_DO_TAKE_SNAPSHOT, true);
	if (noticed)
		announce(story, 2000000, true);
	story->view.child_running = false;
	post_kind(story, JOB_EV_CHILD_EXITED);
	assert_int_equal(story->model.state, JOB_UPLOADING);
	check_done(story, JOB_DO_END, false);
}

static inline void is_durable(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.durable = true});
}

static inline void store_fails(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.error = ERR_RETRY});
}

static inline void is_superseded(struct story *story)
{
	complete(story, 1, true);
	end_snapshot(story, (struct snapshot_event){.error = ERR_EXISTS});
}

static inline void begin_save(struct story *story)
{
	story->view.directory.saving = true;
	post_kind(story, JOB_EV_SAVE_STARTED);
	story->view.now_ms += 3000;
}

static inline void end_save(struct story *story, uint64_t generation)
{
	story->view.directory.saving = false;
	story->view.directory.last_write_ms = story->view.now_ms;
	complete(story, generation, true);
}

#endif
