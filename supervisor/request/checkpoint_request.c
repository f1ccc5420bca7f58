/* Asks the job for a checkpoint: which processes get the signal, how they react, and when they get
 * a SIGTERM that the shim holds back for them. */
#include "request.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/text.h"
#include "monitor/monitor.h"

#include <signal.h>
#include <string.h>

/* --- which processes get the signal (PURE) --- */

/* What is derived for a row of the process table. */
struct row {
	int parent; /* its row, or -1 */
	enum process_role role;
	bool below_main; /* the main process and its descendants */
	bool catches_signal;
	bool is_helper; /* DataLoader workers and their descendants */
	bool chosen;
};

struct facts {
	const struct process_tree *tree;
	const struct checkpoint_request *request;
	struct row *rows; /* as tree->processes */
};

static bool catches_signal(const struct process *process, int signal)
{
	/* The Go runtime has a handler for every signal, and yet ends at these unless the program
	 * asked for them, which /proc does not show. */
	bool ends_go_program = signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
			       signal == SIGABRT || signal == SIGTERM;

	if (process_is_dead(process) || !(process->caught & process_signal_bit(signal)))
		return false;
	return !process_role_catches_every_signal(process) || !ends_go_program;
}

static void derive_rows(struct facts *facts)
{
	const struct checkpoint_request *request = facts->request;

	for (size_t i = 0; i < facts->tree->count; i++) {
		const struct process *process = &facts->tree->processes[i];
		const struct process *found = process_find(facts->tree, process->parent);
		int parent = found && found < process ? (int)(found - facts->tree->processes) : -1;
		const struct row *above = parent >= 0 ? &facts->rows[parent] : NULL;
		enum process_role role = process_role(process);

		facts->rows[i] = (struct row){
			.parent = parent,
			.catches_signal = catches_signal(process, request->signal),
			.role = role,
			/* A launcher beside the main process is one that it has handed its work
			 * to, as podman does to conmon. */
			.below_main = process->pid == request->child ||
				      (above ? above->below_main : role == ROLE_LAUNCHER),
			.is_helper =
				process_role_is_data_worker(process,
							    above ? &facts->tree->processes[parent]
								  : NULL) ||
				(above && above->is_helper),
		};
	}
}

static bool may_be_asked(const struct facts *facts, size_t row)
{
	return facts->rows[row].catches_signal && facts->rows[row].role == ROLE_JOB &&
	       !facts->rows[row].is_helper;
}

static bool is_below(const struct facts *facts, size_t row, size_t above)
{
	for (int next = facts->rows[row].parent; next >= 0; next = facts->rows[next].parent)
		if ((size_t)next == above)
			return true;
	return false;
}

static bool is_below_chosen(const struct facts *facts, size_t row)
{
	for (int above = facts->rows[row].parent; above >= 0; above = facts->rows[above].parent)
		if (facts->rows[above].chosen)
			return true;
	return false;
}

static bool is_above_chosen(const struct facts *facts, size_t row)
{
	for (size_t i = row + 1; i < facts->tree->count; i++)
		if (facts->rows[i].chosen && is_below(facts, i, row))
			return true;
	return false;
}

/* --- ranks by the environment --- */

static int64_t rank_number(const struct process *process)
{
	if (process->rank != PROCESS_NO_RANK)
		return process->rank;
	return process->mpi_rank != PROCESS_NO_RANK ? process->mpi_rank : process->local_rank;
}

/* A pod's RANK is in the environment of all its processes, so that all three numbers count. */
static bool same_rank(const struct process *a, const struct process *b)
{
	return a->rank == b->rank && a->mpi_rank == b->mpi_rank && a->local_rank == b->local_rank;
}

/*
 * multiprocessing passes os.environ on. If the parent has put a RANK there after its own start, its
 * workers show a RANK in /proc and the parent does not; the parent is then the rank. But workers
 * with different RANKs are ranks themselves.
 */
static bool inherits_rank(const struct facts *facts, size_t row)
{
	const struct process *processes = facts->tree->processes;
	int parent = facts->rows[row].parent;

	if (parent < 0 || !process_role_is_spawned(&processes[row]) ||
	    facts->rows[parent].role != ROLE_JOB || !facts->rows[parent].catches_signal)
		return false;
	if (rank_number(&processes[parent]) != PROCESS_NO_RANK)
		return true;
	for (size_t i = 0; i < facts->tree->count; i++)
		if (facts->rows[i].parent == parent && process_role_is_spawned(&processes[i]) &&
		    !same_rank(&processes[i], &processes[row]))
			return false;
	return true;
}

static bool has_own_rank(const struct facts *facts, size_t row)
{
	const struct process *process = &facts->tree->processes[row];

	return rank_number(process) != PROCESS_NO_RANK && facts->rows[row].role == ROLE_JOB &&
	       !process_is_dead(process) && !facts->rows[row].is_helper &&
	       !inherits_rank(facts, row);
}

/* Is it a launcher of the user's own, in a pod that has a RANK? The processes that it started then
 * have another rank. */
static bool launches_ranks(const struct facts *facts, size_t row)
{
	const struct process *processes = facts->tree->processes;

	for (size_t i = row + 1; i < facts->tree->count; i++)
		if (has_own_rank(facts, i) && is_below(facts, i, row) &&
		    !same_rank(&processes[i], &processes[row]))
			return true;
	return false;
}

static bool is_rank_chosen(const struct facts *facts, size_t row)
{
	const struct process *processes = facts->tree->processes;

	for (size_t i = 0; i < facts->tree->count; i++)
		if (facts->rows[i].chosen && same_rank(&processes[i], &processes[row]))
			return true;
	return false;
}

/* If a main process starts the other ranks itself (Lightning does), they have the numbers 1, 2,
 * ..., and the main process is rank 0 without a number in its environment. */
static void choose_unnumbered(struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	int parent = -1;

	for (size_t i = 0; i < facts->tree->count; i++) {
		if (!facts->rows[i].chosen)
			continue;
		if (processes[i].local_rank <= 0 ||
		    (parent >= 0 && facts->rows[i].parent != parent))
			return;
		parent = facts->rows[i].parent;
	}
	if (parent >= 0 && may_be_asked(facts, (size_t)parent) &&
	    process_role_script(&processes[parent]))
		facts->rows[parent].chosen = true;
}

/*
 * Workers of a rank inherit its environment and its handler, so that the first process in the
 * table, which is the topmost, is the rank. Orphans come last: such a process may be a worker of a
 * rank that died and was started again.
 */
static void choose_ranks(struct facts *facts)
{
	for (int orphans = 0; orphans <= 1; orphans++)
		for (size_t i = 0; i < facts->tree->count; i++)
			if (facts->rows[i].below_main == !orphans && may_be_asked(facts, i) &&
			    has_own_rank(facts, i) && !is_rank_chosen(facts, i) &&
			    !launches_ranks(facts, i))
				facts->rows[i].chosen = true;
	choose_unnumbered(facts);
}

/* Number of ranks in the environment, with those that have no handler. */
static size_t count_ranks(const struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	size_t count = 0;

	for (size_t i = 0; i < facts->tree->count; i++) {
		bool counts = has_own_rank(facts, i) && !launches_ranks(facts, i);

		for (size_t j = 0; j < i && counts; j++)
			counts =
				!has_own_rank(facts, j) || !same_rank(&processes[i], &processes[j]);
		count += counts;
	}
	return count;
}

/* --- jobs without ranks in the environment --- */

static const struct recent_writer *find_writer(const struct checkpoint_request *request, pid_t pid)
{
	const struct recent_writers *writers = request->writers;

	for (size_t i = 0; writers && i < writers->count; i++)
		if (writers->items[i].pid == pid)
			return &writers->items[i];
	return NULL;
}

/* Does it write, and has it begun with the save that is under way? What copies a checkpoint does.
 */
static bool is_new_writer(const struct checkpoint_request *request, pid_t pid)
{
	const struct recent_writer *writer = find_writer(request, pid);

	return writer && writer->first_ms > request->saved_ms;
}

static void choose_savers(struct facts *facts)
{
	const struct checkpoint_request *request = facts->request;

	for (size_t i = 0; i < facts->tree->count; i++)
		facts->rows[i].chosen = find_writer(request, facts->tree->processes[i].pid) &&
					!is_new_writer(request, facts->tree->processes[i].pid) &&
					may_be_asked(facts, i) && !is_below_chosen(facts, i);
}

/* `xargs -P 4 python train.py`: if one of them has saved already, the others are to be asked as
 * well. */
static void choose_beside_savers(struct facts *facts, size_t chosen)
{
	const struct process *processes = facts->tree->processes;

	for (size_t i = 0; i < facts->tree->count && chosen > 0; i++)
		for (size_t j = 0; j < facts->tree->count && !facts->rows[i].chosen; j++)
			facts->rows[i].chosen =
				facts->rows[j].chosen && facts->rows[i].below_main &&
				may_be_asked(facts, i) && !is_below_chosen(facts, i) &&
				!is_above_chosen(facts, i) &&
				process_role_same_program(&processes[i], &processes[j]);
}

static void choose_topmost(struct facts *facts)
{
	for (size_t i = 0; i < facts->tree->count; i++)
		facts->rows[i].chosen =
			facts->rows[i].below_main && may_be_asked(facts, i) &&
			!is_new_writer(facts->request, facts->tree->processes[i].pid) &&
			!process_role_catches_every_signal(&facts->tree->processes[i]) &&
			!is_below_chosen(facts, i);
}

/* `trap 'kill -USR1 $pid' USR1` in a script, or a Go program: the topmost, and only if no other
 * process catches the signal. */
static void choose_wrapper(struct facts *facts)
{
	for (size_t i = 0; i < facts->tree->count; i++) {
		facts->rows[i].chosen =
			facts->rows[i].below_main && facts->rows[i].catches_signal &&
			!facts->rows[i].is_helper && facts->rows[i].role < ROLE_LAUNCHER &&
			!is_new_writer(facts->request, facts->tree->processes[i].pid);
		if (facts->rows[i].chosen)
			return;
	}
}

/* --- the choice --- */

static size_t count_chosen(const struct facts *facts)
{
	size_t count = 0;

	for (size_t i = 0; i < facts->tree->count; i++)
		count += facts->rows[i].chosen;
	return count;
}

/* Keeps only the lowest rank; for RANK_0 none, if the lowest has another number than 0. */
static void keep_lowest_rank(struct facts *facts)
{
	const struct process *processes = facts->tree->processes;
	int best = -1;

	for (size_t i = 0; i < facts->tree->count; i++) {
		if (!facts->rows[i].chosen)
			continue;
		facts->rows[i].chosen = false;
		if (best < 0 || rank_number(&processes[i]) < rank_number(&processes[best]))
			best = (int)i;
	}
	if (best < 0 ||
	    (facts->request->whom == PROFILE_TARGET_RANK_0 && rank_number(&processes[best]) > 0))
		return;
	facts->rows[best].chosen = true;
}

static bool was_asked(const struct checkpoint_request *request, const struct process *process)
{
	int64_t number = rank_number(process);

	for (size_t i = 0; i < request->asked_count; i++) {
		const struct rank *asked = &request->asked[i];

		if (asked->pid == process->pid && asked->start_time == process->start_time)
			return true;
		if (number != PROCESS_NO_RANK && asked->number == number)
			return true;
	}
	return false;
}

static void choose_processes(struct facts *facts)
{
	choose_ranks(facts);
	if (count_chosen(facts) > 0)
		return;
	choose_savers(facts);
	choose_beside_savers(facts, count_chosen(facts));
	if (count_chosen(facts) == 0)
		choose_topmost(facts);
	if (count_chosen(facts) == 0)
		choose_wrapper(facts);
}

void rank_selection_make(const struct process_tree *tree, const struct checkpoint_request *request,
			 struct rank_selection *selection)
{
	bool all = request->whom == PROFILE_TARGET_ALL;
	auto_free struct row *rows = memory_new((tree->count + 1) * sizeof(*rows));
	struct facts facts = {tree, request, rows};
	char name[SIGNAL_NAME_SIZE];
	size_t candidates;

	*selection = (struct rank_selection){0};
	derive_rows(&facts);
	if (request->asked_count == 0)
		choose_processes(&facts);
	else if (all)
		choose_ranks(&facts);
	candidates = count_chosen(&facts);
	if (!all)
		keep_lowest_rank(&facts);
	selection->ranks = memory_new((candidates + 1) * sizeof(*selection->ranks));
	for (size_t i = 0; i < tree->count; i++) {
		const struct process *process = &tree->processes[i];

		if (facts.rows[i].chosen && !was_asked(request, process))
			selection->ranks[selection->count++] =
				(struct rank){.pid = process->pid,
					      .start_time = process->start_time,
					      .number = rank_number(process)};
	}
	selection->expected = all ? count_ranks(&facts) : 1;
	if (selection->expected < selection->count + request->asked_count)
		selection->expected = selection->count + request->asked_count;
	if (selection->count > 0)
		return;
	snprintf(selection->reason, sizeof(selection->reason),
		 candidates > 0 && !all
			 ? "only rank 0 may be asked, and no rank 0 on this machine catches %s"
			 : "no process of the job catches %s yet",
		 signal_name_format(request->signal, name));
}

void rank_selection_release(struct rank_selection *selection)
{
	free(selection->ranks);
	*selection = (struct rank_selection){0};
}

/* --- how they react --- */

/* Shortest time between two lines, so that ranks which begin to save one by one fill one line. */
#define LINE_EVERY_MS 1000
/* Whose main thread has not run for so long is in one call: between steps it would have. */
#define STILL_MS 3000
#define OBSERVE_EVERY_MS 250

void rank_progress_add(struct checkpoint_request *request, const struct rank *ranks, size_t count,
		       size_t expected, int64_t now_ms)
{
	request->asked =
		memory_grow(request->asked, request->asked_count + count, sizeof(*request->asked));
	for (size_t i = 0; i < count; i++) {
		request->asked[request->asked_count] = ranks[i];
		request->asked[request->asked_count++].asked_ms = now_ms;
	}
	request->expected = expected < request->asked_count ? request->asked_count : expected;
	request->newest_ms = now_ms;
}

void rank_progress_observe(struct rank *rank, const struct process_sample *sample, bool wrote,
			   bool writes, int64_t now_ms)
{
	rank->gone = !sample;
	rank->saving |= wrote;
	rank->writes |= writes;
	if (!sample)
		return;
	if (rank->moved_ms == 0 || sample->cpu_ticks != rank->seen.cpu_ticks ||
	    sample->switches != rank->seen.switches)
		rank->moved_ms = now_ms;
	rank->seen = *sample;
}

size_t rank_progress_saving(const struct checkpoint_request *request)
{
	size_t count = 0;

	for (size_t i = 0; i < request->asked_count; i++)
		count += request->asked[i].saving;
	return count;
}

/* Has this rank not begun to save for longer than the patience? In most jobs rank 0 writes for all:
 * once a rank saves, the others count as late only if they have written before, or if most save. */
static bool is_late(const struct checkpoint_request *request, const struct rank *rank,
		    size_t saving, int64_t now_ms)
{
	return !rank->saving && !rank->gone && now_ms - rank->asked_ms >= request->patience_ms &&
	       (saving == 0 || rank->writes || saving * 2 > request->asked_count);
}

/* `late`: the first one. */
static struct rank_counts count_asked(const struct checkpoint_request *request, int64_t now_ms,
				      const struct rank **late)
{
	struct rank_counts counts = {
		.asked = request->asked_count,
		.expected = request->expected,
		.saving = rank_progress_saving(request),
	};

	for (size_t i = 0; i < request->asked_count; i++) {
		const struct rank *rank = &request->asked[i];

		counts.gone += rank->gone && !rank->saving;
		if (is_late(request, rank, counts.saving, now_ms) && counts.late++ == 0)
			*late = rank;
	}
	return counts;
}

static bool has_got_signal(const struct checkpoint_request *request, const struct rank *rank)
{
	return rank->moved_ms > 0 && !(rank->seen.pending & process_signal_bit(request->signal));
}

/* Why, as far as /proc shows. A constant. */
static const char *late_reason(const struct checkpoint_request *request, const struct rank *rank,
			       int64_t now_ms)
{
	if (rank->seen.state == 'T' || rank->seen.state == 't')
		return "it is stopped";
	if (rank->seen.state == 'D')
		return "it hangs in the kernel, as for a disk";
	if (!has_got_signal(request, rank))
		return "it blocks the signal";
	return now_ms - rank->moved_ms >= STILL_MS ? "it waits in one long call"
						   : "it has got the signal, and goes on";
}

static bool all_have_numbers(const struct checkpoint_request *request)
{
	for (size_t i = 0; i < request->asked_count; i++)
		if (request->asked[i].number == PROCESS_NO_RANK)
			return false;
	return request->asked_count > 0;
}

/* "rank 3 has not begun to save for 12 s (it waits in one long call)", for the first of `count`. */
static void format_late(const struct checkpoint_request *request, const struct rank *rank,
			size_t count, int64_t now_ms, char *text, size_t capacity)
{
	bool numbered = rank->number != PROCESS_NO_RANK;
	char name[40], all[40];

	snprintf(name, sizeof(name), "%s %lld", numbered ? "rank" : "process",
		 numbered ? (long long)rank->number : (long long)rank->pid);
	snprintf(all, sizeof(all), "%zu have", count);
	snprintf(text, capacity, "%s%s not begun to save for %lld s (%s%s%s)",
		 count == 1 ? name : all, count == 1 ? " has" : "",
		 (long long)(now_ms - rank->asked_ms) / 1000, count == 1 ? "" : name,
		 count == 1 ? "" : ": ", late_reason(request, rank, now_ms));
}

/* "8/8 ranks asked in 0.2 s, 7 saving, rank 3 has not begun to save for 12 s (...)". */
static void format_line(const struct checkpoint_request *request, int64_t now_ms,
			char line[RANK_PROGRESS_LINE_SIZE])
{
	const struct rank *first = NULL;
	struct rank_counts counts = count_asked(request, now_ms, &first);
	char late[192] = "", saving[32] = "", gone[32] = "";

	if (first)
		format_late(request, first, counts.late, now_ms, late, sizeof(late));
	if (counts.saving > 0)
		snprintf(saving, sizeof(saving), ", %zu saving", counts.saving);
	if (counts.gone > 0)
		snprintf(gone, sizeof(gone), ", %zu gone", counts.gone);
	if (counts.expected == 1 && first)
		snprintf(line, RANK_PROGRESS_LINE_SIZE, "%s", late);
	else
		snprintf(line, RANK_PROGRESS_LINE_SIZE, "%zu/%zu %s asked in %.1f s%s%s%s%s",
			 counts.asked, counts.expected,
			 all_have_numbers(request) ? "ranks" : "processes",
			 (double)(request->newest_ms - request->sent_ms) / 1000, saving, gone,
			 first ? ", " : "", late);
}

static bool has_news(const struct checkpoint_request *request, const struct rank_counts *now,
		     int64_t now_ms)
{
	int64_t took_ms = now_ms - request->sent_ms;

	/* For a single process, "asked" and "saving" are logged elsewhere. */
	if (now->asked == 0 || (now->expected == 1 && now->late == 0))
		return false;
	if (request->said_ms == 0)
		return now->late > 0 || now->asked == now->expected || took_ms >= LINE_EVERY_MS;
	/* The same news again only after twice the time. */
	return now_ms - request->said_ms >= LINE_EVERY_MS &&
	       (memcmp(now, &request->said, sizeof(*now)) != 0 ||
		(now->late > 0 && took_ms >= 2 * (request->said_ms - request->sent_ms)));
}

bool rank_progress_report(struct checkpoint_request *request, int64_t now_ms,
			  char line[RANK_PROGRESS_LINE_SIZE])
{
	const struct rank *first;
	struct rank_counts now = count_asked(request, now_ms, &first);

	if (!has_news(request, &now, now_ms))
		return false;
	format_line(request, now_ms, line);
	request->said = now;
	request->said_ms = now_ms;
	return true;
}

json_t *rank_progress_json(const struct checkpoint_request *request)
{
	bool asking = job_is_asking(request->model);
	bool answered = !asking && request->model->asking.answered;
	int64_t now_ms = clock_monotonic_ms();
	size_t saving = rank_progress_saving(request);
	char line[RANK_PROGRESS_LINE_SIZE];
	json_t *ranks;

	if (request->asked_count == 0)
		return NULL;
	ranks = json_array();
	for (size_t i = 0; i < request->asked_count; i++) {
		const struct rank *rank = &request->asked[i];
		bool numbered = rank->number != PROCESS_NO_RANK;
		bool late = asking && is_late(request, rank, saving, now_ms);

		json_array_append_new(ranks,
				      json_pack("{s:o, s:i, s:b, s:b, s:b, s:b, s:f, s:s?}", "rank",
						numbered ? json_integer(rank->number) : json_null(),
						"pid", (int)rank->pid, "delivered",
						has_got_signal(request, rank), "saving",
						rank->saving, "saved", rank->saving && answered,
						"gone", rank->gone, "seconds",
						(double)(now_ms - rank->asked_ms) / 1000, "late",
						late ? late_reason(request, rank, now_ms) : NULL));
	}
	format_line(request, now_ms, line);
	return json_pack("{s:s, s:I, s:I, s:I, s:b, s:o}", "text", line, "asked",
			 (json_int_t)request->asked_count, "expected",
			 (json_int_t)request->expected, "saving", (json_int_t)saving, "active",
			 asking, "ranks", ranks);
}

/* --- observing the ranks --- */

/* Asynchronous savers write from a child process, whose writes count for the rank above it. */
static void observe_rank(struct checkpoint_request *request, struct rank *rank)
{
	static const struct recent_writers none;
	const struct recent_writers *writers =
		request->tracker ? tracker_writers(request->tracker) : &none;
	struct process_sample sample;
	bool lives =
		process_read_sample(rank->pid, &sample) && sample.start_time == rank->start_time;
	bool wrote = false, writes = false;

	for (size_t i = 0; i < writers->count; i++) {
		bool since = writers->items[i].ms >= rank->asked_ms;

		if (writers->items[i].pid != rank->pid &&
		    (!since || !process_is_below(writers->items[i].pid, rank->pid)))
			continue;
		wrote |= since;
		writes |= writers->items[i].ms < request->sent_ms;
	}
	rank_progress_observe(rank, lives ? &sample : NULL, wrote, writes, clock_monotonic_ms());
}

static void observe_ranks(struct checkpoint_request *request)
{
	for (size_t i = 0; i < request->asked_count; i++)
		observe_rank(request, &request->asked[i]);
}

static void publish(struct checkpoint_request *request)
{
	char line[RANK_PROGRESS_LINE_SIZE];

	if (!rank_progress_report(request, clock_monotonic_ms(), line))
		return;
	log_note("%s", line);
	request->news(request->arg, line);
}

static void on_observation_due(struct timer *timer)
{
	struct checkpoint_request *request =
		container_of(timer, struct checkpoint_request, watch_timer);

	observe_ranks(request);
	publish(request);
	loop_arm(request->loop, timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

void rank_progress_follow(struct checkpoint_request *request, const struct rank *ranks,
			  size_t count, size_t expected)
{
	rank_progress_add(request, ranks, count, expected, clock_monotonic_ms());
	publish(request);
	request->watch_timer.fired = on_observation_due;
	loop_arm(request->loop, &request->watch_timer, clock_monotonic_ms() + OBSERVE_EVERY_MS);
}

/* --- asking --- */

/* Time between two tries: a try takes some 20 us on the loop for each process on the machine. */
#define RETRY_MS 250
/* The same for late ranks, which may never have a handler. */
#define LATE_RANK_RETRY_MS 500

static void report_failure(struct checkpoint_request *request, const char *why)
{
	if (!request->failure_reported)
		request->failed(request->arg, why);
	request->failure_reported = true;
}

/* Sends the signal to the selected processes that still exist, moves them to the front and returns
 * their number. */
static size_t signal_ranks(struct checkpoint_request *request, struct rank_selection *selection)
{
	size_t sent = 0;

	for (size_t i = 0; i < selection->count; i++) {
		const struct rank rank = selection->ranks[i];
		uint64_t caught;

		/* Checked again just before the signal: a Python that exits removes its handlers,
		 * and then the signal would kill it. */
		if (process_read_caught(rank.pid, &caught, NULL) == 0 &&
		    (caught & process_signal_bit(request->signal)) &&
		    kill(rank.pid, request->signal) == 0)
			selection->ranks[sent++] = rank;
	}
	return sent;
}

static int select_ranks(struct checkpoint_request *request, struct rank_selection *selection,
			struct err *err)
{
	auto_(process_tree_release) struct process_tree tree = {0};
	const struct job_model *model = request->model;

	request->writers = request->tracker ? tracker_writers(request->tracker) : NULL;
	request->saved_ms = model->any_complete ? model->newest.completed_ms : INT64_MAX;
	/* The root is ourselves, because ranks whose launcher has died are our children. */
	if (process_tree_read(getpid(), PROCESS_TREE_FULL, &tree, err) < 0)
		return -1;
	rank_selection_make(&tree, request, selection);
	return 0;
}

bool checkpoint_request_finds(const struct checkpoint_request *request, pid_t child, int signal)
{
	auto_(rank_selection_release) struct rank_selection selection = {0};
	struct checkpoint_request other = *request;
	struct err err;

	other.signal = signal;
	other.child = child;
	return select_ranks(&other, &selection, &err) == 0 && selection.count > 0;
}

bool checkpoint_request_has_signalled(const struct checkpoint_request *request, pid_t pid,
				      int64_t since_ms)
{
	if (request->sent_ms <= since_ms)
		return false;
	for (size_t i = 0; i < request->asked_count; i++)
		if (request->asked[i].pid == pid)
			return true;
	return false;
}

/* True: all expected ranks have been asked. */
static bool send_signal(struct checkpoint_request *request)
{
	auto_(rank_selection_release) struct rank_selection selection = {0};
	size_t sent;
	struct err err;

	if (select_ranks(request, &selection, &err) < 0) {
		report_failure(request, err.text);
		return false;
	}
	if (selection.count > 0 && request->asked_count == 0) {
		request->sending(request->arg);
		request->sent_ms = clock_monotonic_ms();
	}
	sent = signal_ranks(request, &selection);
	if (sent > 0) {
		request->sent(request->arg, selection.ranks, sent, selection.expected);
		rank_progress_follow(request, selection.ranks, sent, selection.expected);
	} else if (request->asked_count == 0) {
		report_failure(request, selection.count ? "the process to ask has just ended"
							: selection.reason);
	}
	return request->asked_count > 0 && request->asked_count >= selection.expected;
}

static void start_command(struct checkpoint_request *request)
{
	char shell[] = "/bin/sh", option[] = "-c";
	auto_free char *command = text_copy(request->command);
	char *argv[] = {shell, option, command, NULL};
	auto_free char **environment = child_variables(request->environment, NULL);
	int failed;

	request->sending(request->arg);
	failed = program_start(argv, environment, NULL, 0, &request->command_pid);
	if (failed) {
		request->command_pid = 0;
		report_failure(request, strerror(failed));
		return;
	}
	request->sent(request->arg, NULL, 0, 0);
}

static size_t count_polling(const struct checkpoint_request *request)
{
	return request->page ? progress_page_count_polling(request->page) : 0;
}

/* True: a process polls. Until then the flag stays up for the first one that begins to. */
static bool raise_flag(struct checkpoint_request *request)
{
	size_t polling = count_polling(request);

	if (!request->by_flag) {
		request->by_flag = true;
		request->sending(request->arg);
		if (request->page)
			progress_page_request(request->page);
	}
	if (polling > 0)
		request->sent(request->arg, NULL, 0, polling);
	else
		report_failure(request, "no process of it asks reprieve_requested() yet");
	return polling > 0;
}

/* Never the flag and the signal for one request: a job that reacts to both would save twice. */
static bool send_request(struct checkpoint_request *request)
{
	if (request->method == REQUEST_FLAG || request->by_flag)
		return raise_flag(request);
	if (request->may_flag && request->asked_count == 0 && count_polling(request) > 0)
		return raise_flag(request);
	return send_signal(request);
}

static void send_until_heard(struct timer *timer)
{
	struct checkpoint_request *request =
		container_of(timer, struct checkpoint_request, retry_timer);

	if (!send_request(request))
		loop_arm(request->loop, &request->retry_timer,
			 clock_monotonic_ms() +
				 (request->asked_count ? LATE_RANK_RETRY_MS : RETRY_MS));
}

void checkpoint_request_start(struct checkpoint_request *request, pid_t child)
{
	request->child = child;
	request->failure_reported = false;
	request->by_flag = false;
	request->asked_count = request->expected = 0;
	request->said_ms = 0;
	request->retry_timer.fired = send_until_heard;
	loop_disarm(request->loop, &request->retry_timer);
	loop_disarm(request->loop, &request->watch_timer);
	if (request->method == REQUEST_COMMAND) {
		if (request->command_pid == 0)
			start_command(request);
		else
			report_failure(request, "the checkpoint command of the request before is "
						"still running");
		return;
	}
	send_until_heard(&request->retry_timer);
}

void checkpoint_request_stop(struct checkpoint_request *request)
{
	loop_disarm(request->loop, &request->retry_timer);
	if (!request->watch_timer.armed)
		return;
	observe_ranks(request);
	loop_disarm(request->loop, &request->watch_timer);
}

void checkpoint_request_release(struct checkpoint_request *request)
{
	free(request->asked);
	request->asked = NULL;
	request->asked_count = 0;
}

bool checkpoint_request_reaped(struct checkpoint_request *request, pid_t pid, int status)
{
	char why[96];
	int code = wait_status_exit_code(status);

	if (pid != request->command_pid || pid == 0)
		return false;
	request->command_pid = 0;
	request->failure_reported = false;
	snprintf(why, sizeof(why), "the checkpoint command ended with %d", code);
	if (code != 0)
		report_failure(request, why);
	return true;
}

/* --- a SIGTERM that is held back --- */

/* A longer pause between two decisions counts as this much waiting time: this process was stalled,
 * and the sender perhaps with it. */
#define DECIDE_EVERY_MS (SIGTERM_HOLD_PATIENCE_MS / 3)

enum sigterm_hold_verdict sigterm_hold_decide(const struct sigterm_hold *hold,
					      const struct held_process *process)
{
	if (!hold->active || process->sender_ours || process->for_ours)
		return SIGTERM_HOLD_RELEASE;
	if (hold->noticed)
		return SIGTERM_HOLD_KEEP;
	return process->held_ms < SIGTERM_HOLD_PATIENCE_MS ? SIGTERM_HOLD_WAIT
							   : SIGTERM_HOLD_RELEASE;
}

/* A process that holds no SIGTERM any more ignores this one: the shim knows it by its value. False:
 * the process has ended. */
static bool deliver_sigterm(const struct held_process *process)
{
	const union sigval take_it = {.sival_int = SHIM_RELEASE_VALUE};

	log_debug("process %d gets its SIGTERM", (int)process->pid);
	return process_start_time(process->pid) == process->start_time &&
	       sigqueue(process->pid, SIGTERM, take_it) == 0;
}

static void tell_meant(struct sigterm_hold *hold, const struct held_process *process)
{
	char sender[40] = "another program";

	if (process->sender > 0)
		snprintf(sender, sizeof(sender), "process %d", (int)process->sender);
	if (!hold->said_meant)
		log_note("%s has sent SIGTERM to process %d of the job, which is no notice (to "
			 "preempt the job, send it to process %d)",
			 sender, (int)process->pid, (int)getpid());
	hold->said_meant = true;
}

static void decide_held_processes(struct sigterm_hold *hold)
{
	int64_t now = clock_monotonic_ms(), awake_ms = now - hold->judged_ms;
	bool waits = false;
	size_t left = 0;

	awake_ms = awake_ms < DECIDE_EVERY_MS ? awake_ms : DECIDE_EVERY_MS;
	hold->judged_ms = now;

	for (size_t i = 0; i < hold->count; i++) {
		struct held_process process = hold->processes[i];
		enum sigterm_hold_verdict verdict;

		process.held_ms += awake_ms;
		verdict = sigterm_hold_decide(hold, &process);
		if (verdict == SIGTERM_HOLD_RELEASE) {
			/* Not what the job does to itself, or what was held back at a notice. */
			if (deliver_sigterm(&process) && hold->active && process.sender_outside &&
			    !process.for_ours)
				tell_meant(hold, &process);
			continue;
		}
		waits |= verdict == SIGTERM_HOLD_WAIT;
		if (verdict == SIGTERM_HOLD_KEEP && !hold->said)
			log_note("holding back the SIGTERM that also reached the job's processes "
				 "until the checkpoint is saved (--shield off)");
		hold->said |= verdict == SIGTERM_HOLD_KEEP;
		hold->processes[left++] = process;
	}
	hold->count = left;
	if (waits)
		loop_arm(hold->loop, &hold->timer, now + DECIDE_EVERY_MS);
}

static void on_hold_timer(struct timer *timer)
{
	decide_held_processes(container_of(timer, struct sigterm_hold, timer));
}

void sigterm_hold_start(struct sigterm_hold *hold, struct loop *loop, struct tracker *tracker)
{
	hold->loop = loop;
	hold->tracker = tracker;
	hold->timer.fired = on_hold_timer;
	hold->active = tracker != NULL;
	if (tracker)
		tracker_set_sigterm_hold(tracker, SHIM_HOLD_ACTIVE);
}

void sigterm_hold_add(struct sigterm_hold *hold, pid_t pid, pid_t sender, bool for_ours)
{
	struct process_sample sample;
	struct held_process process = {
		.pid = pid,
		.sender = sender,
		.start_time = process_start_time(pid),
		.for_ours = for_ours,
	};

	if (!hold->tracker || process.start_time == 0)
		return;
	/* The shim repeats its report. */
	for (size_t i = 0; i < hold->count; i++)
		if (hold->processes[i].pid == pid &&
		    hold->processes[i].start_time == process.start_time) {
			hold->processes[i].for_ours = for_ours;
			decide_held_processes(hold);
			return;
		}
	/* Soon, since a sender may have nothing else to do. What has ended is below nobody. */
	process.sender_ours = sender > 0 && process_is_below(sender, getpid());
	process.sender_outside =
		sender <= 0 || (!process.sender_ours && process_read_sample(sender, &sample));
	hold->processes = memory_grow(hold->processes, hold->count + 1, sizeof(*hold->processes));
	if (hold->count == 0)
		hold->judged_ms = clock_monotonic_ms();
	hold->processes[hold->count++] = process;
	decide_held_processes(hold);
}

void sigterm_hold_set_notice(struct sigterm_hold *hold, bool stands)
{
	hold->noticed = stands;
	hold->said = false;
	if (hold->tracker && !stands && !hold->active)
		sigterm_hold_start(hold, hold->loop, hold->tracker);
}

void sigterm_hold_end(struct sigterm_hold *hold)
{
	if (!hold->tracker || !hold->active)
		return;
	hold->active = false;
	tracker_set_sigterm_hold(hold->tracker, SHIM_HOLD_RELEASED);
	decide_held_processes(hold);
}

void sigterm_hold_release(struct sigterm_hold *hold)
{
	if (hold->tracker)
		loop_disarm(hold->loop, &hold->timer);
	free(hold->processes);
	*hold = (struct sigterm_hold){0};
}
