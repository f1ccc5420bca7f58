/* Says when the job saves elsewhere than where it is watched, or nothing at all (save_place.h). */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"
#include "reports.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <sys/wait.h>

/* A process names a few (shim/saved_elsewhere.h), and a job has many of them. */
#define FILES_MOST 256

bool save_place_is_elsewhere(const struct reports *reports)
{
	return reports->save_place.checkpoints_elsewhere && !reports->save_place.saved_here;
}

static struct save_place_facts gather_facts(const struct reports *reports)
{
	struct run_facts run = reports->look(reports->arg, LOOK_AT_MODEL);
	const struct job_model *model = run.model;

	return (struct save_place_facts){
		.watched = run.directory,
		.elsewhere = reports->save_place.elsewhere,
		.checkpoints = reports->save_place.checkpoints_elsewhere,
		.saved_here = reports->save_place.saved_here,
		.found_here = model->any_complete || !run.fresh,
		.expected = run.expected,
		.chosen = run.rules->expects_saves,
		.ended = model->flush.began_ms > 0,
		.failed = model->flush.began_ms > 0 &&
			  wait_status_exit_code(model->facts.wait_status) != 0,
		.also = reports->save_place.also,
		.said_elsewhere = reports->save_place.said_elsewhere,
		.said_nowhere = reports->save_place.said_nowhere,
		.said_also = reports->save_place.said_also,
		.ran_ms = model->launched_ms > 0 ? run.view.now_ms - model->launched_ms : 0,
	};
}

/* What is advised must not be refused at the next start: a script may save beside itself. NULL:
 * there is nothing to ask for. */
static bool is_refused(const struct reports *reports, const char *directory, const char **advice,
		       struct err *why)
{
	struct run_facts run = reports->look(reports->arg, LOOK_AT_MODEL);

	return directory && run.command &&
	       directory_check_ask(
		       &(struct directory_check){
			       .directory = directory,
			       .store = run.store,
			       .runtime = run.runtime,
			       .command = run.command,
		       },
		       advice, why) < 0;
}

static bool are_both_refused(const struct reports *reports, const struct save_place_facts *facts)
{
	char both[512];
	const char *advice;

	return is_refused(reports, save_place_both(facts, both, sizeof(both)), &advice, NULL);
}

static void say(struct reports *reports, const struct save_place_facts *facts,
		enum save_place_remark remark)
{
	static const char *const events[] = {
		[SAVE_PLACE_ELSEWHERE] = "saves_elsewhere",
		[SAVE_PLACE_NOWHERE] = "saves_nothing",
		[SAVE_PLACE_ALSO] = "saves_also_elsewhere",
	};
	struct save_place_facts told = *facts;
	char text[SAVE_PLACE_TEXT], place[512];
	struct err why;

	if (remark == SAVE_PLACE_SILENT)
		return;
	if (remark == SAVE_PLACE_ALSO)
		told.both_refused = are_both_refused(reports, facts);
	else if (facts->elsewhere &&
		 is_refused(reports, save_place_directory(facts->elsewhere, place, sizeof(place)),
			    &told.advice, &why))
		told.refused = why.text;
	reports->save_place.said_elsewhere |= remark == SAVE_PLACE_ELSEWHERE;
	reports->save_place.said_nowhere |= remark == SAVE_PLACE_NOWHERE;
	reports->save_place.said_also |= remark == SAVE_PLACE_ALSO;
	log_warn("%s", save_place_format(&told, remark, text, sizeof(text)));
	event_log_add(reports->events, events[remark], "{s:s, s:s?}", "watched", facts->watched,
		      "path", remark == SAVE_PLACE_ALSO ? facts->also : facts->elsewhere);
}

static void on_patience_over(struct timer *timer)
{
	struct reports *reports = container_of(timer, struct reports, save_place.timer);
	struct save_place_facts facts = gather_facts(reports);

	/* A checkpoint has to become durable soon. */
	if (reports->look(reports->arg, LOOK_AT_MODEL).model->state == JOB_RUNNING)
		say(reports, &facts, save_place_decide(&facts));
}

void save_place_expect(struct reports *reports)
{
	reports->save_place.timer.fired = on_patience_over;
	loop_arm(reports->loop, &reports->save_place.timer,
		 clock_monotonic_ms() + SAVE_PLACE_PATIENCE_MS);
}

/* It is from then on. */
static bool is_known_file(struct reports *reports, const char *path)
{
	struct path_list *files = &reports->save_place.files;

	for (size_t i = 0; i < files->count; i++)
		if (text_equal(files->paths[i], path))
			return true;
	if (files->count < FILES_MOST)
		path_list_add(files, path);
	return false;
}

static char *copy_line(const char *path)
{
	char *line = text_copy(path);

	text_to_line(line);
	return line;
}

void save_place_note_elsewhere(struct reports *reports, const char *path)
{
	struct path_list *files = &reports->save_place.files;
	const char *watched = reports->look(reports->arg, LOOK_AT_MODEL).directory;
	size_t before = files->count;
	bool again = is_known_file(reports, path);
	bool checkpoint = save_place_is_checkpoint(path, again);
	bool second = !reports->save_place.also &&
		      save_place_is_second(path, watched, again, files->paths, before);
	bool first = !reports->save_place.elsewhere ||
		     (checkpoint && !reports->save_place.checkpoints_elsewhere);
	struct save_place_facts facts;

	reports->save_place.checkpoints_elsewhere |= checkpoint;
	if (first) {
		free(reports->save_place.elsewhere);
		reports->save_place.elsewhere = copy_line(path);
	}
	if (second)
		reports->save_place.also = copy_line(path);
	facts = gather_facts(reports);
	if (first || second)
		say(reports, &facts, save_place_decide(&facts));
}

bool save_place_note_write(struct reports *reports, const char *path)
{
	bool ours = !text_starts(path, ".reprieve");

	reports->save_place.saved_here |= ours;
	return ours;
}

bool save_place_elsewhere_is_refused(const struct reports *reports)
{
	const char *elsewhere = reports->save_place.elsewhere, *advice;
	char place[512];

	return elsewhere &&
	       is_refused(reports, save_place_directory(elsewhere, place, sizeof(place)), &advice,
			  NULL);
}

void save_place_say_at_end(struct reports *reports, enum last_line last_line)
{
	struct save_place_facts facts = gather_facts(reports);
	enum save_place_remark remark = save_place_decide(&facts);

	if (last_line != LAST_LINE_OTHER && remark == SAVE_PLACE_NOWHERE)
		return;
	if (last_line == LAST_LINE_PLACE && remark == SAVE_PLACE_ELSEWHERE && facts.said_elsewhere)
		return;
	say(reports, &facts, remark);
}
