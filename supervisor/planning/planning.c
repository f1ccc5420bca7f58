/* What to do with the time that there is: of a notice, and between two saves. */
#include "planning.h"

#include "base/clock.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

/* --- the time of a notice --- */

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

struct deadline_budget deadline_budget_split(int64_t now_ms, int64_t deadline_ms, int64_t upload_ms)
{
	int64_t window = deadline_ms - now_ms;
	int64_t margin, upload, stop;
	struct deadline_budget budget;

	if (window < 0)
		window = 0;
	/* A poll sees the notice late, clocks differ, and machines have been taken early. */
	margin = clamp(window / 20, window < 400 ? window / 2 : 200, 2000);
	/*
	 * Twice the measured time, because the network may be slower than it was then. Not
	 * measured yet: a fifth of the time. At least a tenth, because a job that saves until the
	 * last moment needs it to exit.
	 */
	upload = upload_ms < 0 ? window / 5 : clamp(2 * upload_ms, window / 10, window / 2);
	stop = clamp(window / 20, window < 1000 ? window / 20 : 50, 5000);

	budget.commit_until_ms = now_ms + window - margin;
	budget.stop_until_ms =
		clamp(budget.commit_until_ms - upload, now_ms, budget.commit_until_ms);
	budget.ask_until_ms = clamp(budget.stop_until_ms - stop, now_ms, budget.stop_until_ms);
	return budget;
}

int64_t deadline_budget_kill_ms(const struct deadline_budget *budget, int64_t told_ms, bool pending,
				int64_t closed_ms)
{
	int64_t commit_ms = budget->commit_until_ms;
	int64_t since_ms = closed_ms > told_ms ? closed_ms : told_ms, half_ms;

	if (!pending && closed_ms == 0)
		return commit_ms;
	half_ms = since_ms + (commit_ms - since_ms) / 2;
	return half_ms > budget->stop_until_ms ? half_ms : budget->stop_until_ms;
}

int64_t deadline_budget_rest_ms(int64_t since_ms, int64_t kill_ms, bool saving)
{
	int64_t quarter_ms = (kill_ms - since_ms) / 4;

	return since_ms + (saving ? 3 * quarter_ms : quarter_ms);
}

/* --- preemption_forecast --- */

/* The share that is done predicts the rest only after this time. */
#define MEASURED_MS 500
#define WARN_FIRST_MS (10 * 60 * 1000)
/* Writes that go on for longer than this, and than two saves, are not one save that will end: the
 * directory is never quiet. */
#define SAVE_MOST_MS 60000
/* A save that is late by a whole gap, and by this time, does not come any more. */
#define LATE_MOST_MS 1000
/* No save is punctual: it must be due this share of the gap, or of the time that is left, before
 * the last moment. */
#define SPARE_SHARE 4
/* Before its first save nothing tells when a job saves. The longer it has run without, the less
 * likely it does so just now: it is waited for if it has run at most so many times as long as what
 * is left. In its first second a job has nothing to lose. */
#define FIRST_MOST_WINDOWS 10
#define FIRST_LEAST_MS 1000

static int64_t known_or_zero(int64_t duration_ms)
{
	return duration_ms < 0 ? 0 : duration_ms;
}

/* Checkpoints are uploaded one at a time: the pending one while the job saves, then the fresh one.
 */
static bool fresh_save_fits(const struct preemption_facts *facts)
{
	int64_t rest = facts->pending ? known_or_zero(facts->rest_ms) : 0;
	int64_t save = known_or_zero(facts->save_ms);

	return (rest > save ? rest : save) + known_or_zero(facts->upload_ms) <= facts->window_ms;
}

int64_t preemption_forecast_rest_ms(int64_t elapsed_ms, uint64_t done, uint64_t total,
				    int64_t usual_ms)
{
	if (elapsed_ms >= MEASURED_MS && done > 0 && total >= done)
		return (int64_t)((double)elapsed_ms * (double)(total - done) / (double)done);
	if (usual_ms < 0)
		return -1;
	return usual_ms > elapsed_ms ? usual_ms - elapsed_ms : 0;
}

int64_t preemption_forecast_warn_ms(int64_t usual_gap_ms, unsigned said)
{
	int64_t first = 2 * usual_gap_ms > WARN_FIRST_MS ? 2 * usual_gap_ms : WARN_FIRST_MS;

	return said > 20 ? INT64_MAX : first << said;
}

bool preemption_forecast_is_too_long(const struct preemption_facts *facts)
{
	return facts->window_ms > 0 &&
	       known_or_zero(facts->save_ms) + known_or_zero(facts->upload_ms) > facts->window_ms;
}

static bool is_saving(const struct preemption_facts *facts)
{
	return facts->saving_for_ms >= 0 &&
	       facts->saving_for_ms <= SAVE_MOST_MS + 2 * known_or_zero(facts->save_ms);
}

int64_t preemption_forecast_next_save_ms(const struct preemption_facts *facts)
{
	int64_t late_ms = facts->since_save_ms - facts->save_gap_ms;

	if (facts->save_gap_ms <= 0 || (late_ms > facts->save_gap_ms && late_ms > LATE_MOST_MS))
		return -1;
	return late_ms < 0 ? -late_ms : 0;
}

/* The next save is complete early enough to be uploaded, after the one that is pending. */
static bool next_save_fits(const struct preemption_facts *facts)
{
	struct deadline_budget budget =
		deadline_budget_split(0, facts->window_ms, facts->upload_ms);
	int64_t gap = facts->save_gap_ms, window = facts->window_ms;
	int64_t spare = (gap < window ? gap : window) / SPARE_SHARE;
	int64_t due = preemption_forecast_next_save_ms(facts), begin;

	if (due < 0)
		return false;
	begin = due + spare;
	if (facts->pending && facts->rest_ms > begin)
		begin = facts->rest_ms;
	return begin < budget.stop_until_ms &&
	       begin + known_or_zero(facts->upload_ms) < budget.commit_until_ms;
}

static bool first_save_may_come(const struct preemption_facts *facts)
{
	/* It is known how often it saves, and that is later. */
	if (facts->save_gap_ms > facts->window_ms &&
	    facts->save_gap_ms - facts->window_ms > facts->unsaved_for_ms)
		return false;
	return facts->unsaved_for_ms >= FIRST_LEAST_MS &&
	       facts->unsaved_for_ms / FIRST_MOST_WINDOWS <= facts->window_ms;
}

enum preemption_plan preemption_forecast_choose(const struct preemption_facts *facts)
{
	if (facts->can_ask && fresh_save_fits(facts))
		return PREEMPTION_SAVE;
	if (!facts->can_ask && is_saving(facts))
		return PREEMPTION_AWAIT_SAVE;
	if (!facts->can_ask && next_save_fits(facts))
		return PREEMPTION_AWAIT_NEXT;
	if (!facts->can_ask && first_save_may_come(facts))
		return PREEMPTION_AWAIT_FIRST;
	if (facts->pending && known_or_zero(facts->rest_ms) <= facts->window_ms)
		return PREEMPTION_FINISH_UPLOAD;
	return PREEMPTION_NOTHING;
}

static const char *known_time(int64_t duration_ms, char *buffer, size_t capacity)
{
	return duration_ms < 0 ? "an unknown time" : text_duration(duration_ms, buffer, capacity);
}

/* Neither a fresh checkpoint nor the rest of a pending upload fits. */
static const char *why_nothing(const struct preemption_facts *facts)
{
	if (!facts->any_durable)
		return facts->can_ask || facts->pending
			       ? "nothing is durable, and the time is too short; a checkpoint is "
				 "tried all the same"
			       : "nothing is durable, and the job cannot be asked for a checkpoint";
	return facts->can_ask
		       ? "rely on the newest durable checkpoint; a fresh one is tried, but usually "
			 "takes longer than the time left"
		       : "rely on the newest durable checkpoint: the job cannot be asked for a "
			 "fresh one";
}

const char *preemption_forecast_format_plan(const struct preemption_facts *facts, char *buffer,
					    size_t capacity)
{
	static const char *const plans[] = {
		[PREEMPTION_SAVE] = "a fresh checkpoint",
		[PREEMPTION_AWAIT_SAVE] = "wait for the save in progress",
		[PREEMPTION_AWAIT_NEXT] = "wait for the next save, due ",
		[PREEMPTION_AWAIT_FIRST] = "wait for the first save, which may come in time",
		[PREEMPTION_FINISH_UPLOAD] = "upload the newest complete checkpoint",
	};
	static const char trains_on[] = "the job trains on until no further save is due in time; "
					"the next one is due ";
	enum preemption_plan plan = preemption_forecast_choose(facts);
	int64_t due_ms = preemption_forecast_next_save_ms(facts);
	bool next = plan == PREEMPTION_AWAIT_NEXT, uploads = plan == PREEMPTION_FINISH_UPLOAD;
	char due[48] = "now", time[32], save[32], upload[32], window[32];

	if (plan == PREEMPTION_NOTHING) {
		snprintf(buffer, capacity, "plan: %s", why_nothing(facts));
		return buffer;
	}
	if (due_ms > 0)
		snprintf(due, sizeof(due), "in %s", text_duration(due_ms, time, sizeof(time)));
	snprintf(buffer, capacity, "plan: %s%s%s%s (save takes %s, upload %s; the notice gives %s)",
		 next && facts->trains_on ? trains_on : plans[plan], next ? due : "",
		 uploads && facts->can_ask ? ", then try a fresh one" : "",
		 facts->can_ask ? "" : "; the job cannot be asked for a fresh one",
		 known_time(facts->save_ms, save, sizeof(save)),
		 known_time(uploads ? facts->rest_ms : facts->upload_ms, upload, sizeof(upload)),
		 text_duration(facts->window_ms, window, sizeof(window)));
	return buffer;
}

const char *preemption_forecast_format_loss(const struct preemption_facts *facts, char *buffer,
					    size_t capacity)
{
	bool fits = facts->can_ask && facts->save_ms >= 0 && facts->upload_ms >= 0 &&
		    facts->window_ms > 0 && !preemption_forecast_is_too_long(facts);
	char behind[32];

	text_duration(facts->behind_ms, behind, sizeof(behind));
	snprintf(buffer, capacity, "a preemption now would lose %s%s", behind,
		 fits ? " if it came without a notice" : "");
	return buffer;
}

/* As the clouds document it: AWS two minutes, Google Cloud and Azure (at least) 30 s. */
int64_t preemption_forecast_window_of(const char *cloud)
{
	if (text_equal(cloud, "aws"))
		return 120000;
	return text_equal(cloud, "gcp") || text_equal(cloud, "azure") ? 30000 : 0;
}

/* --- checkpoint_interval --- */

/* Even if all losses so far were announced, some machines just die. */
#define ANNOUNCED_MOST 0.95

/* One more interruption is assumed, after the default time, so that few data do not decide alone.
 */
static int64_t mean_time_to_loss(const struct checkpoint_interval_facts *facts)
{
	if (facts->mtbf_ms > 0)
		return facts->mtbf_ms;
	return (facts->past.ran_ms + CHECKPOINT_INTERVAL_MTBF_MS) /
	       ((int64_t)facts->past.interruptions + 1);
}

/* Laplace's rule of succession: one half until something has happened. */
static double announced_share(const struct checkpoint_interval_facts *facts)
{
	double total = (double)facts->past.announced + facts->past.unannounced;
	double share = (facts->past.announced + 1.0) / (total + 2.0);

	if (!facts->fits)
		return 0;
	return share < ANNOUNCED_MOST ? share : ANNOUNCED_MOST;
}

static int64_t clamp_double(double value, int64_t least, int64_t most)
{
	if (value < (double)least)
		return least;
	return value > (double)most ? most : (int64_t)value;
}

struct checkpoint_interval checkpoint_interval_choose(const struct checkpoint_interval_facts *facts)
{
	struct checkpoint_interval interval = {
		.save_ms = facts->save_ms >= 0 ? facts->save_ms : facts->past.save_ms,
		.mtbf_ms = mean_time_to_loss(facts),
		.announced = announced_share(facts),
	};
	double cost = (double)interval.save_ms, mean = (double)interval.mtbf_ms;
	double best;

	if (interval.save_ms < 0) {
		interval.every_ms = CHECKPOINT_INTERVAL_FIRST_MS;
		return interval;
	}
	/* Daly, FGCS 22(3), 2006: if a save costs more than twice the mean time, the best interval
	 * is the mean time. */
	best = cost < 2 * mean ? sqrt(2 * cost * mean / (1 - interval.announced)) : mean;
	/* A job that saves for more than half of the time gets nothing done. */
	interval.every_ms = clamp_double(best > 2 * cost ? best : 2 * cost,
					 CHECKPOINT_INTERVAL_LEAST_MS, CHECKPOINT_INTERVAL_MOST_MS);
	return interval;
}

bool checkpoint_interval_differs(const struct checkpoint_interval *old,
				 const struct checkpoint_interval *now)
{
	return 2 * now->every_ms > 3 * old->every_ms || 3 * now->every_ms < 2 * old->every_ms;
}

int64_t checkpoint_interval_smooth(int64_t known_ms, int64_t newest_ms)
{
	return known_ms < 0 ? newest_ms : (3 * known_ms + newest_ms) / 4;
}

/* --- save_rhythm --- */

/* Checkpoints that follow each other within this time, or within this share of the usual gap, are
 * one save. */
#define SAME_SAVE_MS 250
#define SAME_SAVE_SHARE 4
/* One long pause, such as an evaluation, says little about the next gap. */
#define LONG_GAPS 4

void save_rhythm_note(struct save_rhythm *rhythm, int64_t now_ms)
{
	int64_t gap_ms = now_ms - rhythm->last_ms;
	int64_t most_ms = LONG_GAPS * rhythm->gap_ms;

	if (rhythm->last_ms == 0) {
		rhythm->last_ms = now_ms;
		return;
	}
	if (gap_ms < SAME_SAVE_MS || gap_ms < rhythm->gap_ms / SAME_SAVE_SHARE)
		return;
	rhythm->last_ms = now_ms;
	if (rhythm->gap_ms == 0)
		rhythm->gap_ms = gap_ms;
	else
		rhythm->gap_ms = (3 * rhythm->gap_ms + (gap_ms < most_ms ? gap_ms : most_ms)) / 4;
}

/* --- snapshot_pacing --- */

/* A checkpoint is often followed by a small file that names it: it is waited for until nothing was
 * written for SETTLE_MS, or for SETTLE_MOST_MS if the writes go on. */
#define SETTLE_MS 50
#define SETTLE_MOST_MS 200
/* Fixed names that belong to the checkpoint are waited for at most so long. */
#define PARTNERS_MOST_MS 30000
/* Running files alone are saved once in each interval, and in 1/RUNNING_SHARE of the run's time. */
#define RUNNING_SHARE 100
/* ... and once a second when it is urgent. */
#define RUNNING_URGENT_MS 1000
/* Once the few that may follow each other are used up, urgent ones are begun so far apart. */
#define URGENT_MS 500

static int64_t later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t earlier_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Until the directory has settled. */
static int64_t settled_at_ms(const struct snapshot_pacing_facts *facts)
{
	int64_t at_ms =
		earlier_of(facts->last_write_ms + SETTLE_MS, facts->pending_ms + SETTLE_MOST_MS);

	at_ms = later_of(at_ms, facts->replacing_most_ms > 0
					? facts->pending_ms + facts->replacing_most_ms
					: 0);
	return later_of(at_ms,
			earlier_of(facts->partners_until_ms, facts->pending_ms + PARTNERS_MOST_MS));
}

static int64_t running_at_ms(const struct snapshot_pacing_facts *facts)
{
	int64_t since_ms = facts->begun_ms > 0 ? facts->begun_ms : facts->launched_ms;
	int64_t every_ms =
		later_of(facts->interval_ms, (facts->now_ms - facts->launched_ms) / RUNNING_SHARE);

	return since_ms + (facts->urgent ? earlier_of(every_ms, RUNNING_URGENT_MS) : every_ms);
}

/* As far as the cost goes. */
static int64_t allowed_at_ms(const struct snapshot_pacer *pacer,
			     const struct snapshot_pacing_facts *facts)
{
	int64_t at_ms = pacer->paid_until_ms - (SNAPSHOT_PACING_BURST - 1) * facts->interval_ms;

	return facts->urgent ? earlier_of(at_ms, facts->begun_ms + URGENT_MS) : at_ms;
}

int64_t snapshot_pacing_wait_ms(const struct snapshot_pacer *pacer,
				const struct snapshot_pacing_facts *facts)
{
	int64_t at_ms;

	if (facts->pending_ms == 0 && !facts->only_running)
		return SNAPSHOT_PACING_NEVER;
	at_ms = facts->pending_ms > 0 ? settled_at_ms(facts) : running_at_ms(facts);
	if (facts->interval_ms > 0 && !facts->last)
		at_ms = later_of(at_ms, allowed_at_ms(pacer, facts));
	return later_of(at_ms - facts->now_ms, 0);
}

void snapshot_pacing_note_begun(struct snapshot_pacer *pacer, int64_t now_ms, int64_t interval_ms)
{
	int64_t until_ms = later_of(pacer->paid_until_ms, now_ms) + interval_ms;

	/* However many urgent ones there were: the next one waits for one interval at most. */
	pacer->paid_until_ms = earlier_of(until_ms, now_ms + SNAPSHOT_PACING_BURST * interval_ms);
}

/* --- what is lost --- */

int64_t recovery_point_kept_ms(const struct attempt_work *work)
{
	return work->written_ms > work->launched_ms ? work->written_ms - work->launched_ms : 0;
}

int64_t recovery_point_lost_ms(const struct attempt_work *work)
{
	bool kept = work->written_ms >= work->launched_ms;
	bool obeyed = work->told_ms > 0 && (!work->killed || work->answered);
	int64_t from_ms = kept ? work->written_ms : work->launched_ms;
	int64_t end_ms =
		obeyed && work->told_ms < work->exited_ms ? work->told_ms : work->exited_ms;

	if (kept && work->lost_steps == 0)
		return 0;
	return end_ms > from_ms ? end_ms - from_ms : 0;
}
