/*
 * The program's own rule, driven in simulated time: the detector, the plan and the contents of a
 * snapshot, and when one is begun. It does what tracker_verdicts.c, snapshot_queue.c and the core
 * do around these, without their I/O. sim.py calls it; lists go as lines.
 */
#include "driver.h"

#include "base/json.h"
#include "completion/detector.h"
#include "planning/planning.h"

#include <stdio.h>
#include <string.h>

/* As in core/saving.c. */
#define REPLACING_MOST_MS 30000
/* --snapshot-interval, and what one takes here. */
#define INTERVAL_MS 10000
#define SNAPSHOT_MS 50

struct sim {
	struct detector detector;
	sim_look_fn *look;
	char *latest_key;
	int64_t latest_ms;
	uint64_t latest_save;
	/* what fails its format's check now, and the message of each */
	struct findings findings;
	struct path_set valid;
	int64_t now_ms;
	struct contents *contents;
	struct snapshot_pacer pacer;
	struct save_rhythm rhythm;
	char *text;
};

/* Takes the list. */
static const char *join(struct sim *sim, char **paths)
{
	size_t size = 1;

	for (char **path = paths; path && *path; path++)
		size += strlen(*path) + 1;
	free(sim->text);
	sim->text = memory_new(size);
	for (char **path = paths; path && *path; path++) {
		strcat(sim->text, *path);
		strcat(sim->text, "\n");
	}
	path_list_free(paths);
	return sim->text;
}

/* --- its life --- */

SIM struct sim *sim_new(int64_t quiet_ms, sim_look_fn *look)
{
	struct sim *sim = memory_new(sizeof(*sim));

	detector_init(&sim->detector, quiet_ms, NULL);
	sim->detector.questions = (struct detector_questions){.look = look_at, .arg = &sim->look};
	sim->look = look;
	return sim;
}

SIM void sim_free(struct sim *sim)
{
	contents_free(sim->contents);
	detector_release(&sim->detector);
	path_set_release(&sim->valid);
	free(sim->latest_key);
	free(sim->text);
	free(sim);
}

/* --- evidence --- */

SIM void sim_shim(struct sim *sim, int event, int pid, int descriptor, unsigned flags,
		  const char *path, const char *path2, uint64_t position, int64_t now_ms)
{
	struct shim_message message = {.event = event,
				       .pid = pid,
				       .descriptor = descriptor,
				       .flags = flags,
				       .step = -1,
				       .path = path,
				       .path2 = path2,
				       .lost = event == 0};

	sim->detector.table.position = position;
	detector_handle_shim(&sim->detector, &message, now_ms);
}

SIM void sim_kernel(struct sim *sim, int change, const char *path, const char *from, int directory,
		    int link, int64_t since_ms, int64_t now_ms)
{
	struct dir_event event = {.change = (enum dir_change)change,
				  .directory = directory,
				  .symlink = link,
				  .from = *from ? from : NULL,
				  .path = path,
				  .since_ms = since_ms};

	detector_handle_kernel(&sim->detector, &event, now_ms);
}

SIM void sim_process_ended(struct sim *sim, int pid, int end, int64_t now_ms)
{
	detector_process_ended(&sim->detector, pid, (enum writer_end)end, now_ms);
}

SIM void sim_job_ended(struct sim *sim, int end, int64_t now_ms)
{
	detector_job_ended(&sim->detector, (enum job_end)end, now_ms);
}

SIM void sim_stall(struct sim *sim, int64_t ms)
{
	sim->detector.stalled_ms += ms;
}

SIM void sim_requested(struct sim *sim, int64_t now_ms)
{
	detector_requested(&sim->detector, now_ms);
}

SIM int sim_needs_verify(const struct sim *sim)
{
	return detector_needs_verify(&sim->detector);
}

static enum open_files_descriptor query(void *arg, int pid, int descriptor)
{
	return ((sim_held_fn *)arg)(pid, descriptor) ? OPEN_FILES_DESCRIPTOR_OPEN
						     : OPEN_FILES_DESCRIPTOR_CLOSED;
}

SIM void sim_verify(struct sim *sim, sim_held_fn *held, int64_t now_ms)
{
	detector_verify(&sim->detector, query, (void *)held, now_ms);
}

SIM int sim_has_untracked(const struct sim *sim)
{
	return detector_has_untracked(&sim->detector);
}

SIM void sim_writer_seen(struct sim *sim, int pid)
{
	detector_writer_seen(&sim->detector, pid);
}

/* The files of writers without the library that somebody may still hold. */
SIM const char *sim_unclosed(struct sim *sim, int64_t now_ms)
{
	if (!detector_waits_for_untracked(&sim->detector, now_ms))
		return "";
	return join(sim, detector_list_marked(&sim->detector, FILE_UNCLOSED));
}

SIM void sim_all_closed(struct sim *sim, const char *path)
{
	detector_all_closed(&sim->detector, path);
}

/* --- verdicts, as in tracker_verdicts.c --- */

static void check_file(void *arg, const char *path)
{
	struct sim *sim = arg;
	struct sim_file file = {0};
	struct finding *item;

	sim->look(path, &file);
	if (file.content > 0)
		path_set_mark(&sim->valid, path, (unsigned)file.content);
	if (file.content >= 0)
		return;
	sim->findings.items = memory_grow(sim->findings.items, sim->findings.count + 1,
					  sizeof(sim->findings.items[0]));
	item = &sim->findings.items[sim->findings.count++];
	item->path = text_copy(path);
	item->why = text_copy("torn");
	item->wait_ms = FINDING_FORMAT_MS;
}

static bool is_of_pictures(const struct checkpoint *checkpoint)
{
	return *checkpoint->key &&
	       (detector_is_of_companions(checkpoint) || checkpoint_is_alone(checkpoint));
}

static bool note_complete(struct sim *sim, const struct checkpoint *checkpoint)
{
	bool settings = !*checkpoint->key && sim->detector.job_end != JOB_END_CLEAN &&
			detector_has_only_settings(checkpoint);
	bool newer = checkpoint->begun_ms == sim->latest_ms ? checkpoint->save >= sim->latest_save
							    : checkpoint->begun_ms > sim->latest_ms;

	if (!sim->latest_key && (is_of_pictures(checkpoint) || settings))
		return false;
	if (is_of_pictures(checkpoint))
		return true;
	if (!newer && sim->latest_key && detector_is_complete(&sim->detector, sim->latest_key))
		return true;
	free(sim->latest_key);
	sim->latest_key = text_copy(checkpoint->key);
	sim->latest_ms = checkpoint->begun_ms;
	sim->latest_save = checkpoint->save;
	return true;
}

/* `scanned_ms`: when the last look began that is known; INT64_MAX: none is needed. Returns 1 if a
 * checkpoint is newly complete. *at_ms: when to ask again. */
SIM int sim_decide(struct sim *sim, int64_t now_ms, int64_t scanned_ms, int64_t *at_ms)
{
	struct judgement judgement;
	struct checkpoint *checkpoint;
	int news = 0;

	sim->now_ms = now_ms;
	while ((checkpoint = detector_next_decided(&sim->detector, now_ms, &judgement, at_ms))) {
		bool by_quiet =
			judgement.reason == REASON_QUIET || judgement.reason == REASON_PATIENCE;
		int64_t since_ms =
			checkpoint->last_ms + (by_quiet ? sim->detector.quiet_ms / 2 : 1);

		if (judgement.verdict == VERDICT_COMPLETE && scanned_ms < since_ms) {
			*at_ms = now_ms + 100;
			return news;
		}
		if (judgement.verdict == VERDICT_COMPLETE) {
			detector_each_unchecked(checkpoint, check_file, sim);
			detector_note_findings(&sim->detector, checkpoint, &sim->findings,
					       &sim->valid, now_ms);
			findings_release(&sim->findings);
			sim->findings = (struct findings){0};
			judgement = detector_judge(&sim->detector, checkpoint, now_ms);
			if (judgement.verdict == VERDICT_UNDER_WAY)
				continue;
		}
		if (judgement.verdict == VERDICT_COMPLETE && !checkpoint->reduced &&
		    !detector_is_added_to(&sim->detector, checkpoint) &&
		    note_complete(sim, checkpoint)) {
			save_rhythm_note(&sim->rhythm, now_ms);
			news = 1;
		}
		detector_decide(&sim->detector, checkpoint, judgement);
	}
	return news;
}

/* --- a snapshot: its plan (contents.c has the rest) --- */

SIM struct contents *sim_plan(struct sim *sim)
{
	contents_free(sim->contents);
	sim->contents = contents_new();
	snapshot_plan_make(contents_plan(sim->contents), &sim->detector, sim->latest_key);
	return sim->contents;
}

SIM void sim_found_empty(struct sim *sim, const char *path, int64_t now_ms)
{
	detector_note_empty(&sim->detector, path, now_ms);
}

SIM int sim_confirm(struct sim *sim, int last_try)
{
	return contents_walked(sim->contents) &&
	       snapshot_plan_confirm(contents_plan(sim->contents), &sim->detector, last_try);
}

/* --- when: as in core/saving.c --- */

/* Until a snapshot is begun; -1: there is nothing to save. `deadline_ms` 0: no notice. */
SIM int64_t sim_wait(struct sim *sim, int64_t now_ms, int64_t pending_ms, int64_t begun_ms,
		     int64_t deadline_ms, int ended)
{
	int64_t left_ms = deadline_ms > 0 ? (deadline_ms - now_ms) / 2 : REPLACING_MOST_MS;
	bool replacing = detector_is_replacing(&sim->detector) && left_ms > 0;
	struct snapshot_pacing_facts facts = {
		.now_ms = now_ms,
		.interval_ms = INTERVAL_MS,
		.pending_ms = pending_ms,
		.last_write_ms = ended ? 0 : sim->detector.last_ms,
		.replacing_most_ms = ended || !replacing           ? 0
				     : left_ms < REPLACING_MOST_MS ? left_ms
								   : REPLACING_MOST_MS,
		.partners_until_ms = ended ? 0 : detector_partners_until_ms(&sim->detector, now_ms),
		.urgent = deadline_ms > 0 || ended,
		.last = ended,
		.begun_ms = begun_ms,
	};
	int64_t wait_ms = snapshot_pacing_wait_ms(&sim->pacer, &facts);

	return wait_ms == SNAPSHOT_PACING_NEVER ? -1 : wait_ms;
}

SIM void sim_begun(struct sim *sim, int64_t now_ms)
{
	snapshot_pacing_note_begun(&sim->pacer, now_ms, INTERVAL_MS);
}

SIM int sim_is_saving(struct sim *sim, int64_t now_ms)
{
	return detector_is_busy(&sim->detector) ||
	       detector_partners_until_ms(&sim->detector, now_ms) > 0;
}

SIM int64_t sim_last_ms(const struct sim *sim)
{
	return sim->detector.last_ms;
}

/* At a notice to a job that cannot be asked: does it wait for a save? As core/saving.c. The job
 * was launched at 0. `saving_ms`, `durable_ms`: when a save began, and what is durable was
 * complete; 0: none is. */
SIM int sim_awaits(const struct sim *sim, int64_t now_ms, int64_t left_ms, int64_t saving_ms,
		   int64_t durable_ms, int pending)
{
	struct preemption_facts facts = {
		.window_ms = left_ms,
		.save_ms = -1,
		.upload_ms = SNAPSHOT_MS,
		.rest_ms = pending ? SNAPSHOT_MS : -1,
		.behind_ms = now_ms - durable_ms,
		.saving_for_ms = saving_ms > 0 ? now_ms - saving_ms : -1,
		.save_gap_ms = sim->rhythm.gap_ms,
		.since_save_ms = now_ms - sim->rhythm.last_ms,
		.unsaved_for_ms = sim->rhythm.last_ms == 0 ? now_ms : -1,
		.pending = pending,
		.any_durable = durable_ms > 0,
	};
	enum preemption_plan plan = preemption_forecast_choose(&facts);

	return plan == PREEMPTION_AWAIT_SAVE || plan == PREEMPTION_AWAIT_NEXT ||
	       plan == PREEMPTION_AWAIT_FIRST;
}

/* How long the directory has to be still before the job is told to end, as core/stopping.c. */
SIM int64_t sim_still_ms(const struct sim *sim)
{
	int64_t quiet_ms = sim->detector.quiet_ms, share_ms = sim->rhythm.gap_ms / 10;

	if (sim->rhythm.gap_ms == 0 || share_ms >= quiet_ms)
		return quiet_ms;
	return share_ms > 50 ? share_ms : 50;
}

/* --- what is left for the next start --- */

SIM const char *sim_under_way(struct sim *sim)
{
	return join(sim, detector_list(&sim->detector, detector_each_under_way));
}

SIM uint64_t sim_first_position(const struct sim *sim, uint64_t none)
{
	return detector_first_position(&sim->detector, none);
}

static const char *take_json(struct sim *sim, json_t *json)
{
	free(sim->text);
	sim->text = json ? json_dumps(json, JSON_COMPACT) : text_copy("");
	json_decref(json);
	return sim->text;
}

SIM const char *sim_known(struct sim *sim)
{
	return take_json(sim, detector_known_json(&sim->detector));
}

SIM const char *sim_signatures(struct sim *sim)
{
	return take_json(sim, detector_signatures_json(&sim->detector));
}

/* Into a new one: a second attempt. */
SIM void sim_learned(struct sim *sim, const char *signatures)
{
	auto_json json_t *json = json_parse(signatures, strlen(signatures), NULL);

	detector_load_signatures(&sim->detector, json);
}

SIM void sim_existing(struct sim *sim, const char *path)
{
	detector_note_existing(&sim->detector, path);
}
