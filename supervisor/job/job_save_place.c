/* Says when the job saves elsewhere than where it is watched, or nothing at all (save_place.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "job.h"

#include <sys/wait.h>

static bool has_saved_here(const struct job *job)
{
	return job->save_place.saved_here || job->model.any_complete ||
	       job->resume.kind != RESUME_FRESH;
}

bool job_saves_elsewhere(const struct job *job)
{
	return job->save_place.elsewhere && !has_saved_here(job);
}

static struct save_place_facts gather_facts(const struct job *job)
{
	return (struct save_place_facts){
		.watched = job->workspace.directory,
		.elsewhere = job->save_place.elsewhere,
		.saved_here = has_saved_here(job),
		.expected = job->expected != EXPECT_NOTHING,
		.chosen = job->expected == EXPECT_BY_OPTION,
		.ended = job->model.flush.began_ms > 0,
		.failed = job->model.flush.began_ms > 0 &&
			  wait_status_exit_code(job->model.facts.wait_status) != 0,
		.said_elsewhere = job->save_place.said_elsewhere,
		.said_nowhere = job->save_place.said_nowhere,
		.ran_ms = job->model.launched_ms > 0 ? clock_monotonic_ms() - job->model.launched_ms
						     : 0,
	};
}

static void say(struct job *job, const struct save_place_facts *facts,
		enum save_place_remark remark)
{
	char text[SAVE_PLACE_TEXT];

	if (remark == SAVE_PLACE_SILENT)
		return;
	job->save_place.said_elsewhere |= remark == SAVE_PLACE_ELSEWHERE;
	job->save_place.said_nowhere |= remark == SAVE_PLACE_NOWHERE;
	log_warn("%s", save_place_format(facts, remark, text, sizeof(text)));
	event_log_add(&job->events,
		      remark == SAVE_PLACE_ELSEWHERE ? "saves_elsewhere" : "saves_nothing",
		      "{s:s, s:s?}", "watched", facts->watched, "path", facts->elsewhere);
}

static void on_patience_over(struct timer *timer)
{
	struct job *job = container_of(timer, struct job, save_place.timer);
	struct save_place_facts facts = gather_facts(job);

	if (!job->observers.hurried)
		say(job, &facts, save_place_decide(&facts));
}

void job_expect_save(struct job *job)
{
	job->save_place.timer.fired = on_patience_over;
	loop_arm(&job->loop, &job->save_place.timer, clock_monotonic_ms() + SAVE_PLACE_PATIENCE_MS);
}

void job_on_saved_elsewhere(void *arg, const char *path)
{
	struct job *job = arg;
	struct save_place_facts facts;

	if (job->save_place.elsewhere)
		return;
	job->save_place.elsewhere = text_copy(path);
	text_to_line(job->save_place.elsewhere);
	facts = gather_facts(job);
	say(job, &facts, save_place_decide(&facts));
}

bool job_note_write(struct job *job, const char *path)
{
	bool ours = !text_starts(path, ".reprieve");

	job->save_place.saved_here |= ours;
	return ours;
}

void job_say_where_it_saved(struct job *job, bool nothing_is_said)
{
	struct save_place_facts facts = gather_facts(job);
	enum save_place_remark remark = save_place_decide(&facts);

	if (job->model.facts.launched && !(nothing_is_said && remark == SAVE_PLACE_NOWHERE))
		say(job, &facts, remark);
}
