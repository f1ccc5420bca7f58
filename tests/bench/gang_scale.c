/*
 * What a gang costs by its size: MEMBERS members in this process, with the code that they have on
 * their machines, over one store in memory. Each request takes 20 ms, and there are at most 3,500
 * PUT (with LIST and DELETE) and 5,500 GET in a second, as S3 allows below one prefix; a listing is
 * one request for each 1,000 names. Prints one row of each table; nothing is asserted.
 *
 *	gang_scale MEMBERS [SECONDS]	SECONDS: that nothing happens, from which an hour follows
 *
 * All members share the processors of this machine, which what N machines compute has not to do.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "base/workers.h"
#include "gang/gang.h"
#include "memory_store.h"
#include "storage/records/storage_handle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define REQUEST_MS 20
#define PUTS_A_SECOND 3500
#define GETS_A_SECOND 5500
#define PAGE 1000
#define CONTENT 2000
/* The checkpoints of all are complete within so long. */
#define SPREAD_MS 200
/* A member's machine is to be taken away then. */
#define NOTICE_LEFT_MS 30000

enum kind {
	PUT,
	GET,
	LIST,
	REMOVE,
	KINDS
};

/* --- the store --- */

static struct {
	struct store store;
	struct memory_objects objects;
	pthread_mutex_t mutex;
	unsigned long counts[KINDS];
	/* When the next request may begin. */
	int64_t next_us[2];
	int64_t last_part_ms, manifest_ms;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void sleep_until(int64_t at_us)
{
	struct timespec at = {at_us / 1000000, at_us % 1000000 * 1000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
		;
}

/* Takes the time that the request takes. */
static void make_request(enum kind kind)
{
	bool reads = kind == GET;
	int64_t *next = &shared.next_us[reads], begins = now_us();

	pthread_mutex_lock(&shared.mutex);
	shared.counts[kind]++;
	if (*next > begins)
		begins = *next;
	*next = begins + 1000000 / (reads ? GETS_A_SECOND : PUTS_A_SECOND);
	pthread_mutex_unlock(&shared.mutex);
	sleep_until(begins + REQUEST_MS * 1000);
}

static void note_put(const char *key)
{
	memory_objects_find(&shared.objects, key)->put_ms = clock_wall_ms();
	if (strstr(key, "/parts/"))
		shared.last_part_ms = clock_monotonic_ms();
	if (strstr(key, "/snapshots/"))
		shared.manifest_ms = clock_monotonic_ms();
}

static int shared_put(struct store *store, const char *key, const void *data, size_t size,
		      enum store_put_mode mode, struct cancel *cancel, struct err *err)
{
	bool exists;

	(void)store;
	(void)cancel;
	make_request(PUT);
	pthread_mutex_lock(&shared.mutex);
	exists = mode != STORE_UNIQUE && memory_objects_find(&shared.objects, key) != NULL;
	if (!exists) {
		memory_objects_put(&shared.objects, key, data, size);
		note_put(key);
	}
	pthread_mutex_unlock(&shared.mutex);
	return exists ? err_set(err, ERR_EXISTS, "%s exists", key) : 0;
}

static int shared_get(struct store *store, const char *key, uint64_t offset, size_t size,
		      struct bytes *out, struct cancel *cancel, struct err *err)
{
	const struct memory_object *object;
	size_t there = 0;

	(void)store;
	(void)cancel;
	make_request(GET);
	pthread_mutex_lock(&shared.mutex);
	object = memory_objects_find(&shared.objects, key);
	if (object && offset < object->content->size) {
		there = object->content->size - (size_t)offset;
		if (size < there)
			there = size;
		/* Without memory it is short. */
		if (bytes_append(out, object->content->data + offset, there, NULL) < 0)
			there = 0;
	}
	pthread_mutex_unlock(&shared.mutex);
	if (!object)
		return err_set(err, ERR_NOT_FOUND, "%s is not there", key);
	return size == STORE_TO_END || there == size
		       ? 0
		       : err_set(err, ERR_CORRUPT, "%s is short", key);
}

static int shared_list(struct store *store, const char *prefix, enum store_depth depth,
		       struct store_listing *listing, struct cancel *cancel, struct err *err)
{
	size_t before = listing->count;

	(void)store;
	(void)cancel;
	(void)err;
	make_request(LIST);
	pthread_mutex_lock(&shared.mutex);
	memory_objects_list(&shared.objects, prefix, depth, listing);
	pthread_mutex_unlock(&shared.mutex);
	for (size_t left = listing->count - before; left > PAGE; left -= PAGE)
		make_request(LIST);
	return 0;
}

static int shared_remove(struct store *store, const char *key, struct cancel *cancel,
			 struct err *err)
{
	(void)store;
	(void)cancel;
	(void)err;
	make_request(REMOVE);
	pthread_mutex_lock(&shared.mutex);
	memory_objects_remove(&shared.objects, key);
	pthread_mutex_unlock(&shared.mutex);
	return 0;
}

static void shared_close(struct store *store)
{
	(void)store;
}

static const struct store_ops shared_ops = {
	.scheme = "memory",
	.close = shared_close,
	.put = shared_put,
	.get = shared_get,
	.list = shared_list,
	.remove = shared_remove,
};

/* Here it would go through the memory of all members for each of them. */
void __wrap_job_records_trim_memory(void);
void __wrap_job_records_trim_memory(void)
{
}

/* --- the members --- */

struct member {
	struct timer timer;
	uint32_t number;
	char directory[96];
	struct storage *storage;
	struct attempt attempt;
	struct gang_feed feed;
	uint64_t generation;
	int64_t step, wanted_ms, known_ms, durable_ms;
	uint32_t round, parent;
	bool wants, saving;
	int failed;
	struct err err;
};

static struct {
	char root[64];
	uint32_t count;
	struct member *members;
	struct loop loop;
	struct workers *savers;
	/* So many have done what the loop waits for. */
	uint32_t done;
	int64_t began_ms;
	double began_cpu;
} gang;

static void die(const char *what, const struct err *err)
{
	fprintf(stderr, "gang_scale: %s: %s\n", what, err->text);
	exit(1);
}

static void open_storage(struct member *member)
{
	auto_free char *url = text_format("file://%s/store", gang.root);
	struct storage_options options = {.url = url, .job = "job", .create = true, .threads = 1};
	struct transfer_plan_facts facts =
		{.processors = 1, .connections = 1, .memory = 32 << 20, .remote = true};
	struct err err;

	if (storage_open(&options, &member->storage, NULL, &err) < 0)
		die("open", &err);
	store_close(member->storage->transfer.store);
	member->storage->transfer.store = &shared.store;
	member->storage->transfer.remote = true;
	transfer_plan(&facts, &member->storage->transfer.plan);
	storage_set_gang(member->storage, gang.count, member->number);
	storage_gang_choose_parts(member->storage, GANG_PARTS_AUTO);
}

static void write_checkpoint(const struct member *member)
{
	auto_free char *path = text_format("%s/weights.bin", member->directory);
	FILE *file;
	char content[CONTENT];

	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)rand();
	file = fopen(path, "we");
	if (!file || fwrite(content, sizeof(content), 1, file) != 1 || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* --- a start --- */

static int claim_for_all(struct member *member, struct gang_start *start, struct err *err)
{
	auto_json json_t *about = json_object();
	struct claim claim = {
		.policy = RESTORE_LATEST,
		.about = about,
		.is_next = true,
		.after = start->claim.attempt,
	};

	json_object_set_new(about, "gang", storage_gang_describe(start->chosen, gang.count, false));
	return storage_claim(member->storage, &claim, &member->attempt, NULL, err);
}

static int restore_part(struct member *member, struct err *err)
{
	auto_free char *target = text_format("%s.restored", member->directory);
	struct restore_request request = {.id = member->attempt.start,
					  .directory = target,
					  .unsynced = true};
	struct restore_result result;

	if (snapshot_id_is_none(member->attempt.start))
		return 0;
	if (storage_restore(member->storage, &request, &result, NULL, err) < 0)
		return -1;
	return file_remove_tree(target, err);
}

static int start_member(struct member *member, struct err *err)
{
	enum start_step step = START_STEP_JOIN;
	auto_(gang_start_release) struct gang_start start = {
		.storage = member->storage,
		.identity = {.members = gang.count,
			     .member = member->number,
			     .began_ms = clock_boot_ms()},
		.join_ms = 600000,
	};

	while (step != START_STEP_START) {
		if (gang_start_next(&start, &step, err) < 0 ||
		    (step == START_STEP_CLAIM && claim_for_all(member, &start, err) < 0))
			return -1;
		if (step != START_STEP_RESTORE)
			continue;
		if ((member->attempt.number != start.claim.attempt &&
		     storage_gang_adopt(member->storage, start.claim.attempt, &member->attempt,
					NULL, err) < 0) ||
		    restore_part(member, err) < 0 || gang_start_restored(&start, err) < 0)
			return -1;
	}
	if (member->number == 0)
		gang_start_sweep(&start);
	return 0;
}

static void start_worker(void *arg, size_t index)
{
	struct member *member = &gang.members[index];

	(void)arg;
	/* As a launcher starts them. */
	sleep_until(now_us() + rand() % (SPREAD_MS * 1000));
	open_storage(member);
	member->failed = start_member(member, &member->err);
}

/* --- the rounds --- */

static void count_done(void)
{
	if (++gang.done == gang.count)
		loop_stop(&gang.loop);
}

static void look_at_member(void *arg, struct gang_here *here)
{
	const struct member *member = arg;

	here->wants = member->wants && !member->saving;
	here->wanted_ms = member->wanted_ms;
	here->begun = true;
}

static bool is_settled(void *arg)
{
	const struct member *member = arg;

	return gang_feed_is_settled(&member->feed, member->round);
}

static void save_part(void *arg)
{
	struct member *member = arg;
	struct save_result result;
	struct save_request request = {
		.id = {member->attempt.number, member->round},
		.parent = {member->attempt.number, member->parent},
		.directory = member->directory,
		.reason = "interval",
		.step = member->step,
		.gang_over = is_settled,
		.arg = member,
	};

	if (member->parent == 0)
		request.parent = member->attempt.start;
	member->failed = storage_save(member->storage, &request, &result, NULL, &member->err);
}

static void part_saved(void *arg)
{
	struct member *member = arg;

	member->saving = false;
	if (member->failed < 0) {
		fprintf(stderr, "gang_scale: member %u: %s\n", member->number, member->err.text);
	} else {
		member->wants = false;
		member->parent = member->round;
		member->durable_ms = clock_monotonic_ms();
		count_done();
	}
	gang_feed_note_part_ended(&member->feed, member->round, member->failed == 0, GANG_FATE_LIES,
				  true, member->err.text);
}

static void on_committed(void *arg, uint32_t round, uint64_t generation)
{
	(void)arg;
	(void)round;
	(void)generation;
}

static void give_part(void *arg, const struct gang_round_decision *decision)
{
	struct member *member = arg;

	if (member->saving || !member->wants)
		return;
	member->saving = true;
	member->round = decision->round;
	gang_here_note_part(&member->feed.here, decision->round, member->feed.here.generation,
			    member->feed.here.step, false);
	workers_run(gang.savers, save_part, part_saved, member);
}

static void on_event(void *arg, const struct gang_event *event, uint64_t request)
{
	struct member *member = arg;

	(void)request;
	if (event->kind != GANG_EVENT_NOTICE)
		return;
	member->known_ms = clock_monotonic_ms();
	count_done();
}

static void on_checkpoint(struct timer *timer)
{
	struct member *member = container_of(timer, struct member, timer);

	member->wants = true;
	member->wanted_ms = clock_monotonic_ms();
	gang_feed_note_complete(&member->feed, ++member->generation, member->step,
				clock_monotonic_ms());
}

static void on_end_of_wait(struct timer *timer)
{
	(void)timer;
	loop_stop(&gang.loop);
}

/* Until all have done what they are to do. */
static void run_loop(void)
{
	struct err err;

	gang.loop.stopped = false;
	if (loop_run(&gang.loop, &err) < 0)
		die("loop", &err);
	gang.loop.stopped = false;
	gang.done = 0;
}

static void wait_for_seconds(unsigned seconds)
{
	struct timer timer = {.fired = on_end_of_wait};

	loop_arm(&gang.loop, &timer, clock_monotonic_ms() + seconds * 1000LL);
	run_loop();
}

static void start_feeds(void)
{
	for (uint32_t i = 0; i < gang.count; i++) {
		struct member *member = &gang.members[i];
		struct gang_feed_options options = {
			.loop = &gang.loop,
			.storage = member->storage,
			.identity = {.members = gang.count, .member = i},
			.attempt = member->attempt.number,
			.look = look_at_member,
			.committed = on_committed,
			.give = give_part,
			.happened = on_event,
			.arg = member,
		};
		struct err err;

		if (gang_feed_start(&member->feed, &options, &err) < 0)
			die("feed", &err);
	}
}

/* --- the tables --- */

/* Of all members, and of the store: on one machine each of them has its own. */
static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void begin_phase(void)
{
	pthread_mutex_lock(&shared.mutex);
	memset(shared.counts, 0, sizeof(shared.counts));
	shared.last_part_ms = shared.manifest_ms = 0;
	pthread_mutex_unlock(&shared.mutex);
	gang.began_ms = clock_monotonic_ms();
	gang.began_cpu = cpu_seconds();
}

/* Of S3, for a million requests in cents: $0.005 and $0.0004 a thousand. Removing is free. */
static double dollars(double puts, double gets)
{
	return puts * 5e-6 + gets * 0.4e-6;
}

static void print_phase(const char *what, const char *more)
{
	const unsigned long *counts = shared.counts;
	double members = gang.count, took = (double)(clock_monotonic_ms() - gang.began_ms) / 1000;

	printf("| %5u | %-14s | %7.2f s | CPU %7.2f s | %6lu | %6lu | %5lu | %6lu | %8.1f | %s |\n",
	       gang.count, what, took, cpu_seconds() - gang.began_cpu, counts[PUT], counts[GET],
	       counts[LIST], counts[REMOVE],
	       (double)(counts[PUT] + counts[GET] + counts[LIST] + counts[REMOVE]) / members, more);
	fflush(stdout);
}

static void start_all(const char *what)
{
	begin_phase();
	parallel_run(gang.count, start_worker, NULL);
	print_phase(what, "");
	for (uint32_t i = 0; i < gang.count; i++)
		if (gang.members[i].failed < 0)
			die("start", &gang.members[i].err);
}

static void save_all(const char *what, int64_t step)
{
	int64_t durable_ms = 0;
	char more[96];

	for (uint32_t i = 0; i < gang.count; i++) {
		struct member *member = &gang.members[i];

		write_checkpoint(member);
		member->step = step;
		member->timer.fired = on_checkpoint;
	}
	begin_phase();
	for (uint32_t i = 0; i < gang.count; i++)
		loop_arm(&gang.loop, &gang.members[i].timer, gang.began_ms + rand() % SPREAD_MS);
	run_loop();
	for (uint32_t i = 0; i < gang.count; i++)
		if (gang.members[i].durable_ms > durable_ms)
			durable_ms = gang.members[i].durable_ms;
	snprintf(more, sizeof(more), "last part to commit %.2f s, to all knowing %.2f s",
		 (double)(shared.manifest_ms - shared.last_part_ms) / 1000,
		 (double)(durable_ms - shared.last_part_ms) / 1000);
	print_phase(what, more);
}

static void wait_idle(unsigned seconds)
{
	double hours = 3600.0 / seconds;
	char more[96];

	wait_for_seconds(6); /* what the round has left to do */
	begin_phase();
	wait_for_seconds(seconds);
	snprintf(more, sizeof(more), "an hour: %.0f PUT and LIST, %.0f GET, $%.3f",
		 hours * (double)(shared.counts[PUT] + shared.counts[LIST]),
		 hours * (double)shared.counts[GET],
		 dollars(hours * (double)(shared.counts[PUT] + shared.counts[LIST]),
			 hours * (double)shared.counts[GET]));
	print_phase("nothing", more);
}

static void tell_all(void)
{
	struct gang_event event = {.kind = GANG_EVENT_NOTICE, .left_ms = NOTICE_LEFT_MS};
	int64_t known_ms = 0;
	char more[96];

	begin_phase();
	gang_feed_tell(&gang.members[gang.count - 1].feed, &event, 0);
	run_loop();
	for (uint32_t i = 0; i < gang.count; i++)
		if (gang.members[i].known_ms > known_ms)
			known_ms = gang.members[i].known_ms;
	snprintf(more, sizeof(more), "known to all after %.2f s",
		 (double)(known_ms - gang.began_ms) / 1000);
	print_phase("a notice", more);
}

static void end_all(void)
{
	for (uint32_t i = 0; i < gang.count; i++) {
		struct member *member = &gang.members[i];

		gang_feed_release(&member->feed);
		storage_close(member->storage);
		attempt_release(&member->attempt);
		member->feed = (struct gang_feed){0};
	}
}

static void make_members(uint32_t count)
{
	struct err err;

	text_set(gang.root, sizeof(gang.root), "/tmp/gang-scale-XXXXXX");
	if (!mkdtemp(gang.root))
		exit(1);
	gang.count = count;
	gang.members = memory_new(count * sizeof(*gang.members));
	for (uint32_t i = 0; i < count; i++) {
		gang.members[i].number = i;
		snprintf(gang.members[i].directory, sizeof(gang.members[i].directory), "%s/%u",
			 gang.root, i);
		if (file_make_directories(gang.members[i].directory, 0755, &err) < 0)
			die("directory", &err);
	}
	if (loop_init(&gang.loop, &err) < 0 ||
	    workers_new(&gang.loop, count, &gang.savers, &err) < 0)
		die("loop", &err);
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
	unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 20;
	struct rlimit files;

	if (count < 2 || count > STORAGE_GANG_MOST || seconds == 0) {
		fprintf(stderr, "usage: gang_scale MEMBERS [SECONDS]\n");
		return 64;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	log_set_level(LOG_LEVEL_WARN);
	shared.store.ops = &shared_ops;
	make_members(count);
	start_all("first start");
	start_feeds();
	save_all("first save", 100);
	wait_idle(seconds);
	save_all("second save", 200);
	tell_all();
	end_all();
	start_all("next start");
	for (uint32_t i = 0; i < count; i++)
		file_remove_tree(gang.root, NULL);
	return 0;
}
