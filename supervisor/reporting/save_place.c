/*
 * Says when the job saves elsewhere than where it is watched, or nothing at all.
 *
 * What looks like a checkpoint (shim/saved_elsewhere.c) and is saved elsewhere is said at once,
 * with the directory to name instead. That nothing was seen at all is said after a minute where
 * saves are expected. At the end follows what came of it. A single file may be anything, as a data
 * set in a cache: it is not said where a checkpoint was found at the start, which says where the
 * job saves.
 *
 * Once the job has written to the checkpoint directory, what it saves elsewhere is its business:
 * data, curves, a final model. Only what it saves there again and again would be missed on another
 * machine: numbered files, or the same file of weights, that are not among data or logs. Then the
 * directory to name is the one that holds both.
 *
 * A job that saves checkpoints elsewhere and nothing here is not durable, and no first save of its
 * is waited for, where the user has not chosen the directory.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "process/process.h"
#include "reporting.h"
#include "shim/checkpoint_endings.h"
#include "workspace/workspace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* A process names a few, and a job has many of them. */
#define FILES_MOST 256

/* --- paths --- */

static void remove_last_part(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = '\0';
}

/* Of one attempt or one checkpoint: the next one writes beside it. A number at the end of another
 * name may be an experiment's. */
static bool is_of_one_attempt(const char *name, size_t length)
{
	static const char pattern[] = "^(version_[0-9]+|[0-9]{4}-?[0-9]{2}-?[0-9]{2}([-_T].*)?|[0-"
				      "9]{2}-[0-9]{2}-[0-9]{2})$";
	auto_free char *text = text_copy_n(name, length);
	auto_free char *as_directory = text_format("%s/", text);

	return text_matches(text, pattern) || checkpoint_name_parse(as_directory).certain;
}

const char *save_place_directory(const char *path, const char *watched, char *text, size_t size)
{
	const char *name;
	size_t same = 0;

	text_set(text, size, path);
	remove_last_part(text);
	while (text[same] && text[same] == watched[same])
		same++;
	while (same > 0 && text[same] != '/')
		same--;
	for (char *slash = strchr(text + same, '/'); slash; slash = strchr(slash + 1, '/'))
		if (is_of_one_attempt(slash + 1, strcspn(slash + 1, "/"))) {
			slash[slash == text] = '\0';
			break;
		}
	while ((name = strrchr(text, '/')) && name != text &&
	       checkpoint_number_of_name(name + 1, strlen(name + 1)) >= 0)
		remove_last_part(text);
	return text;
}

/* Cuts `text` to the innermost directory that holds it and `other`; "/" for none. */
static void cut_to_common(char *text, const char *other)
{
	size_t length;

	while ((length = strlen(text)) > 1 &&
	       !(strncmp(text, other, length) == 0 && (!other[length] || other[length] == '/')))
		remove_last_part(text);
}

/* Does its name bear the number of a checkpoint? Of the directories only the innermost counts:
 * those above are of the experiment. */
static bool is_numbered(const char *path)
{
	const char *start = path + strlen(path);

	for (int slashes = 0; start > path && slashes < 2; start--)
		slashes += start[-1] == '/';
	return checkpoint_name_parse(*start == '/' ? start + 1 : start).certain;
}

static bool is_among_data(const char *path)
{
	static const char *const names[] = {
		"/cache/", "/caches/",  "/data/",  "/dataset/", "/datasets/", "/features/", "/log/",
		"/logs/",  "/metrics/", "/wandb/", "/mlruns/",  "/tmp/",      "/temp/",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(path, names[i]))
			return true;
	return false;
}

/* --- what is known --- */

static bool found_here(const struct run_facts *run)
{
	return run->model->any_complete || !run->fresh;
}

static bool has_waited(const struct run_facts *run)
{
	return run->view.now_ms - run->model->launched_ms >= SAVE_PLACE_PATIENCE_MS;
}

bool save_place_is_elsewhere(const struct reports *reports)
{
	return reports->save_place.checkpoints_elsewhere && !reports->save_place.saved_here;
}

/* The directory to name with --checkpoint-dir. False, with the reason where there is one: it would
 * be refused at the next start, as a script may save beside itself. */
static bool find_better_place(const struct reports *reports, const struct run_facts *run,
			      char *place, size_t size, const char **advice, struct err *why)
{
	const struct directory_check check = {
		.directory = place,
		.store = run->store,
		.runtime = run->runtime,
		.command = run->command,
	};

	*why = (struct err){0};
	*advice = "";
	save_place_directory(reports->save_place.elsewhere, run->directory, place, size);
	if (reports->save_place.saved_here)
		cut_to_common(place, run->directory);
	if (!place[1] && reports->save_place.saved_here)
		return false;
	return !run->command || directory_check_ask(&check, advice, why) == 0;
}

/* --- the hint --- */

static void say_nowhere(struct reports *reports, const struct run_facts *run)
{
	char watched[512], time[32];

	text_elide(watched, sizeof(watched), run->directory);
	log_warn("nothing was saved in %s within %s: set --checkpoint-dir to where the job saves",
		 watched,
		 text_duration(run->view.now_ms - run->model->launched_ms, time, sizeof(time)));
	event_log_add(reports->events, "saves_nothing", "{s:s}", "watched", run->directory);
}

static void say_elsewhere(struct reports *reports, const struct run_facts *run)
{
	const char *path = reports->save_place.elsewhere, *name = strrchr(path, '/'), *advice;
	bool here = reports->save_place.saved_here;
	char own[512], place[512], watched[512];
	struct err why;
	bool good = find_better_place(reports, run, place, sizeof(place), &advice, &why);
	auto_free char *word = text_shell_word(place);
	auto_free char *how = good ? text_format("--checkpoint-dir %s", word)
				   : text_format("%s; %s", why.text, advice);

	save_place_directory(path, run->directory, own, sizeof(own));
	text_elide(watched, sizeof(watched), run->directory);
	name = name ? name + 1 : path;
	if (here)
		log_warn("the job also saves in %s (%s), which is not watched: set "
			 "--checkpoint-dir to one directory for all%s%s%s",
			 own, name, good ? ": " : "", good ? place : "", good ? " holds both" : "");
	else if (run->model->flush.began_ms > 0)
		log_warn("%s is durable: the job has saved in %s, and nothing in %s, which is "
			 "watched (%s)",
			 snapshot_id_is_none(run->durable) ? "nothing of this run" : "nothing new",
			 own, watched, how);
	else
		log_warn("the job saves %s in %s, and nothing in %s, which is watched. If its "
			 "checkpoints are there: %s",
			 name, own, watched, how);
	event_log_add(reports->events, here ? "saves_also_elsewhere" : "saves_elsewhere",
		      "{s:s, s:s}", "watched", run->directory, "path", path);
	*(here ? &reports->save_place.said_also : &reports->save_place.said_elsewhere) = true;
}

/* --- what comes in --- */

/* Was a file of that name, but for its numbers, seen before? From now on it was. */
static bool was_seen(struct path_list *files, const char *path)
{
	auto_free char *kind = checkpoint_name_template(path);

	for (size_t i = 0; i < files->count; i++)
		if (text_equal(files->paths[i], kind))
			return true;
	if (files->count < FILES_MOST)
		path_list_add(files, kind);
	return false;
}

/* Beside the saves in the directory: would this file be missed on another machine? */
static bool would_be_missed(const struct run_facts *run, const char *path)
{
	char place[512];

	save_place_directory(path, run->directory, place, sizeof(place));
	cut_to_common(place, run->directory);
	return (is_numbered(path) || (checkpoint_ending_traits(path) & ENDING_IS_WEIGHTS)) &&
	       !is_among_data(path + (place[1] ? strlen(place) : 0));
}

void save_place_note_elsewhere(struct reports *reports, const char *path)
{
	struct run_facts run = reports->look(reports->arg, LOOK_AT_MODEL);
	bool again = was_seen(&reports->save_place.files, path);
	bool checkpoint = again || is_numbered(path), here = reports->save_place.saved_here, news;

	if (here)
		news = !reports->save_place.said_also && again && would_be_missed(&run, path);
	else
		news = checkpoint ? !reports->save_place.checkpoints_elsewhere
				  : !reports->save_place.elsewhere;
	reports->save_place.checkpoints_elsewhere |= checkpoint;
	if (!news)
		return;
	free(reports->save_place.elsewhere);
	reports->save_place.elsewhere = text_copy(path);
	text_to_line(reports->save_place.elsewhere);
	if (here || (!reports->save_place.said_elsewhere && (checkpoint || !found_here(&run))))
		say_elsewhere(reports, &run);
}

bool save_place_note_write(struct reports *reports, const char *path)
{
	bool ours = !text_starts(path, ".reprieve");

	reports->save_place.saved_here |= ours;
	return ours;
}

/* A checkpoint has to become durable soon: who is asked for one is not told then. */
static void on_patience_over(struct timer *timer)
{
	struct reports *reports = container_of(timer, struct reports, save_place.timer);
	struct run_facts run = reports->look(reports->arg, LOOK_AT_MODEL);

	if (run.model->state == JOB_RUNNING && run.expected && !reports->save_place.saved_here &&
	    !reports->save_place.said_elsewhere && !found_here(&run) && has_waited(&run))
		say_nowhere(reports, &run);
}

void save_place_expect(struct reports *reports)
{
	reports->save_place.timer.fired = on_patience_over;
	loop_arm(reports->loop, &reports->save_place.timer,
		 clock_monotonic_ms() + SAVE_PLACE_PATIENCE_MS);
}

void save_place_say_at_end(struct reports *reports, const struct run_facts *run, bool unsaved)
{
	bool found = found_here(run);

	if (reports->save_place.saved_here)
		return;
	if (reports->save_place.elsewhere && (save_place_is_elsewhere(reports) || !found))
		say_elsewhere(reports, run);
	/* A job that fails at its start, or a short one that was only recognised, owes nothing. */
	else if (!unsaved && run->expected && !found &&
		 (has_waited(run) || (run->rules->expects_saves &&
				      wait_status_exit_code(run->model->facts.wait_status) == 0)))
		say_nowhere(reports, run);
}
