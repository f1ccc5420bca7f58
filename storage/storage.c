/* Opening and closing; ids; the format marker; names of jobs. */
#include "storage.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/workers.h"
#include "scheme_table.h"
#include "storage/backend/backend.h"
#include "storage/format/format.h"
#include "storage/http/http.h"
#include "storage/records/records.h"
#include "storage/snapshots/snapshots.h"
#include "storage/transfer/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define JOB_MOST 128
#define THREADS_MOST 64

/* --- opening --- */

static bool job_is_valid(const char *job)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	return job && job[0] && job[0] != '.' && strlen(job) <= JOB_MOST &&
	       job[strspn(job, allowed)] == '\0';
}

char *storage_directory(const char *url)
{
	return text_starts(url, "file:///") ? file_absolute(url + strlen("file://")) : NULL;
}

bool storage_is_in_the_clear(const char *url)
{
	auto_(store_close) struct store *store = NULL;

	return store_open(url, false, true, &store, NULL, NULL) == 0 &&
	       store_read_health(store).in_the_clear;
}

bool storage_is_reserved_name(const char *name)
{
	return text_equal(name, FORMAT_KEY) || text_equal(name, "jobs") || text_equal(name, "tmp");
}

/* An opening. */
struct opening {
	struct storage *storage; /* NULL: none is made */
	struct store *store;
	const struct storage_options *options;
	bool made;        /* the marker was put */
	struct err there; /* the marker: why it was not read, or nothing */
	struct cancel *cancel;
};

static bool creates(const struct storage_options *options)
{
	return options->create && !options->read_only;
}

static int put_marker(struct opening *opening, struct err *err)
{
	struct err own = {0};

	opening->made = record_put_format(opening->store, opening->cancel, &own) == 0;
	if (opening->made || own.kind == ERR_EXISTS)
		return 0;
	err_pass(err, &own);
	return err_wrap(err, "store %s: cannot write to it", opening->options->url);
}

/* With `create` something is always put, although it is mostly there already: the answer "exists"
 * comes only from a store that can be written to. */
static int ask_writable(struct storage *storage, const void *about, void *answer,
			struct cancel *cancel, struct err *err)
{
	struct opening *opening = answer;

	(void)storage, (void)about;
	if (!creates(opening->options))
		return 0;
	return opening->store->condition
		       ? store_prove(opening->store, opening->options->url, cancel, err)
		       : put_marker(opening, err);
}

/* What it finds is not an error yet. */
static int ask_marker(struct storage *storage, const void *about, void *answer,
		      struct cancel *cancel, struct err *err)
{
	struct opening *opening = answer;
	auto_json json_t *body = NULL;

	(void)storage, (void)about, (void)err;
	opening->there = (struct err){0};
	(void)job_record_get(opening->store, FORMAT_KEY, RECORD_FORMAT, &body, cancel,
			     &opening->there);
	if (body)
		opening->there = (struct err){0};
	return 0;
}

/* What fails here is asked again. */
static int ask_draining(struct storage *storage, const void *about, void *answer,
			struct cancel *cancel, struct err *err)
{
	auto_free char *prefix = text_format("jobs/%s/draining/", storage->transfer.job);
	struct store *store = storage->transfer.store;
	auto_(store_listing_release) struct store_listing draining = {0};
	int64_t asked_ms = clock_monotonic_ms();

	(void)about, (void)answer, (void)err;
	if (store->ops->list(store, prefix, STORE_ALL, &draining, cancel, NULL) == 0)
		first_look_keep_draining(storage, &draining, asked_ms);
	return 0;
}

static int ask_lineage(struct storage *storage, const void *about, void *answer,
		       struct cancel *cancel, struct err *err)
{
	auto_(job_listing_release) struct job_listing listing = {0};

	(void)about, (void)answer, (void)err;
	if (job_records_list_lineage(storage, &listing, cancel, NULL) == 0)
		first_look_keep(storage, &listing, true);
	return 0;
}

static int check_marker(struct opening *opening, struct err *err)
{
	/* A run lists the attempts once no other start is under way here. */
	const struct question questions[] =
		{{ask_writable, NULL, opening},
		 {ask_marker, NULL, opening},
		 {opening->options->history_follows ? ask_lineage : ask_draining, NULL, NULL}};
	size_t count = opening->options->history_follows || opening->options->background ? 3 : 2;
	const struct err *there = &opening->there;

	if (ask_at_once(opening->storage, questions, count, opening->cancel, err) < 0)
		return -1;
	if (there->kind == ERR_NOT_FOUND && creates(opening->options)) {
		/* It may have been read before it was put. */
		if (!opening->made && put_marker(opening, err) < 0)
			return -1;
		if (opening->made)
			return 0;
		(void)ask_marker(NULL, NULL, opening, opening->cancel, NULL);
	}
	if (there->kind == ERR_NONE)
		return 0;
	if (there->kind == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND,
			       "%s is not a Reprieve store (no %s): nothing was saved there yet, "
			       "or --store has to be as `reprieve run` was given it",
			       opening->options->url, FORMAT_KEY);
	if (there->kind == ERR_CORRUPT)
		return err_set(err, there->kind,
			       "store %s is damaged: %s. Remove that file: the next start with the "
			       "Reprieve that made the store puts it there again",
			       opening->options->url, there->text);
	err_pass(err, there);
	return err_wrap(err, "store %s", opening->options->url);
}

static int open_store(struct opening *opening, struct err *err)
{
	struct err own = {0};

	if (store_open_unproven(opening->options->url, opening->options->create,
				opening->options->read_only, &opening->store, opening->cancel,
				&own) == 0) {
		if (opening->storage)
			opening->storage->transfer.store = opening->store;
		if (check_marker(opening, &own) == 0)
			return 0;
		store_close(opening->store);
		if (opening->storage)
			opening->storage->transfer.store = NULL;
	}
	/* A bucket's error has said which permission. */
	if (own.kind == ERR_DENIED && text_starts(opening->options->url, "file://"))
		return err_set(err, own.kind,
			       "%s: let this user %s there, or name another place with --store",
			       own.text, opening->options->read_only ? "read" : "write");
	return err_pass(err, &own);
}

/* A store that is full to the last byte opens for reading only: that is enough to use the room that
 * was kept for a claim. */
static bool use_claim_room(const struct opening *opening)
{
	const struct storage_options *options = opening->options;
	auto_(store_close) struct store *store = NULL;

	return !options->read_only &&
	       store_open(options->url, false, true, &store, opening->cancel, NULL) == 0 &&
	       claim_room_use(store, options->job, opening->cancel);
}

static int open_with_room(struct opening *opening, struct err *err)
{
	struct err own = {0};

	if (open_store(opening, &own) == 0)
		return 0;
	if (own.kind == ERR_NO_SPACE && use_claim_room(opening)) {
		opening->storage->used_claim_room = true;
		if (open_store(opening, &own) == 0)
			return 0;
	}
	return err_pass(err, &own);
}

static void plan_transfers(struct storage *storage, const struct storage_options *options)
{
	struct transfer_plan_facts facts = {
		.processors = storage->threads,
		.connections = options->transfer.connections,
		.memory = options->transfer.memory_bytes,
		.bandwidth = options->transfer.bandwidth_bytes_per_second,
		.remote = storage->transfer.store->ops != &file_store_ops,
	};

	transfer_plan(&facts, &storage->transfer.plan);
	storage->transfer.remote = facts.remote;
	storage->transfer.rate.bytes_per_second = facts.bandwidth;
}

/* What goes wrong, opening the store will say. */
static uint64_t random_key(void)
{
	char hex[33];

	random_hex(hex);
	hex[16] = '\0';
	return strtoull(hex, NULL, 16);
}

/* File times mean the same until the machine is booted anew. */
static uint64_t boot_key(void)
{
	auto_(bytes_release) struct bytes text = {.limit = 64};

	if (file_read("/proc/sys/kernel/random/boot_id", &text, NULL) < 0 || text.size == 0)
		return random_key();
	return checksum_bytes(text.data, text.size);
}

/* Nothing tells that its directory is wanted here: see STORAGE_MADE_FROM_NOTHING. */
static bool is_made_from_nothing(const char *url)
{
	auto_free char *directory = storage_directory(url);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (!slash || slash == directory || file_exists(directory))
		return false;
	*slash = '\0';
	return file_directory_is_empty(directory);
}

static void make_private_directory(const char *url)
{
	auto_free char *directory = storage_directory(url);
	char *slash = directory ? strrchr(directory, '/') : NULL;

	if (!slash || slash == directory)
		return;
	*slash = '\0';
	if (file_make_directories(directory, 0777, NULL) < 0)
		return;
	*slash = '/';
	(void)mkdir(directory, 0700);
}

static struct storage *make_handle(const struct storage_options *options)
{
	struct storage *storage = memory_new(sizeof(*storage));

	storage->transfer.background = options->background;
	storage->transfer.job = text_copy(options->job);
	storage->url = text_copy(options->url);
	storage->read_only = options->read_only;
	storage->will_claim = creates(options);
	storage->answers_at_once = network_fs_is_own_disk(options->url);
	storage->threads = options->threads ? options->threads : (unsigned)parallel_processors();
	if (storage->threads > THREADS_MOST)
		storage->threads = THREADS_MOST;
	if (gethostname(storage->host, sizeof(storage->host) - 1) < 0)
		text_set(storage->host, sizeof(storage->host), "unknown");
	chunk_index_init(&storage->transfer.index);
	pthread_mutex_init(&storage->claims.mutex, NULL);
	pthread_mutex_init(&storage->known_manifest.mutex, NULL);
	return storage;
}

int storage_open(const struct storage_options *options, struct storage **result,
		 struct cancel *cancel, struct err *err)
{
	struct storage *storage;
	struct opening opening = {.options = options, .cancel = cancel};
	enum weights_policy weights;
	bool from_nothing;

	if (!job_is_valid(options->job))
		return err_set(err, ERR_INVALID,
			       "invalid job name \"%s\": 1-%d characters of A-Z a-z 0-9 . _ -, not "
			       "starting with '.'",
			       options->job ? options->job : "", JOB_MOST);
	if (weights_policy_parse(getenv("REPRIEVE_STORE_WEIGHTS"), &weights, err) < 0)
		return -1;
	from_nothing = is_made_from_nothing(options->url);
	if (options->is_private && creates(options))
		make_private_directory(options->url);
	opening.storage = storage = make_handle(options);
	if (open_with_room(&opening, err) < 0) {
		storage_close(storage);
		(void)store_explain_full(options->job, err);
		return -1;
	}
	opening.store->manifest_most = record_manifest_most(options->transfer.memory_bytes);
	storage->transfer.weights = weights;
	storage->transfer.boot = options->transfer.check_content ? random_key() : boot_key();
	if (opening.made)
		storage->found = from_nothing ? STORAGE_MADE_FROM_NOTHING : STORAGE_MADE;
	plan_transfers(storage, options);
	*result = storage;
	return 0;
}

enum storage_found storage_was_found(const struct storage *storage)
{
	return storage->found;
}

const char *storage_describe(struct storage *storage, char *text, size_t capacity)
{
	return store_describe(storage->transfer.store, text, capacity);
}

char *storage_waiting_text(const char *url)
{
	int64_t patience_ms = retrying_client_patience_ms(NULL);
	char time[32];

	/* How long a file system hangs, it alone knows. */
	if (text_starts(url, "file:") || patience_ms < 0)
		return text_format(
			"store %s gives no good answer so far: waiting for its file system", url);
	return text_format("store %s gives no good answer so far: it is tried for up to %s "
			   "(REPRIEVE_STORE_PATIENCE)",
			   url, text_duration(patience_ms, time, sizeof(time)));
}

void storage_format_versions(int *store, int *manifest)
{
	*store = RECORD_VERSION;
	*manifest = RECORD_VERSION;
}

bool storage_looks_first(struct storage *storage)
{
	return store_read_health(storage->transfer.store).if_absent_guessed;
}

void storage_close(struct storage *storage)
{
	if (!storage)
		return;
	pack_uploader_free(storage->transfer.uploader);
	chunk_index_release(&storage->transfer.index);
	pthread_mutex_destroy(&storage->claims.mutex);
	free(storage->claims.items);
	pthread_mutex_destroy(&storage->known_manifest.mutex);
	bytes_release(&storage->known_manifest.record);
	first_look_release(&storage->first_look);
	transfer_drop_early(&storage->transfer);
	store_listing_release(&storage->aside);
	inventory_forget_known(storage);
	store_close(storage->transfer.store);
	free(storage->gang.sharers);
	free(storage->url);
	free(storage->transfer.job);
	free(storage);
}

void storage_set_urgent(struct storage *storage)
{
	atomic_store(&storage->transfer.urgent, true);
}

void storage_clear_urgent(struct storage *storage)
{
	atomic_store(&storage->transfer.urgent, false);
}

void storage_set_progress(struct storage *storage,
			  void (*progress)(void *arg, uint64_t bytes_done, uint64_t bytes_total),
			  void *arg)
{
	storage->progress = progress;
	storage->progress_arg = arg;
}

/* --- jobs --- */

int storage_list_jobs(const char *url, struct storage_job_names *jobs, struct cancel *cancel,
		      struct err *err)
{
	static const char prefix[] = "jobs/";
	auto_(store_listing_release) struct store_listing found = {0};
	const struct storage_options options = {.url = url, .read_only = true};
	struct opening opening = {.options = &options, .cancel = cancel};
	int result;

	*jobs = (struct storage_job_names){0};
	if (open_store(&opening, err) < 0)
		return -1;
	result = opening.store->ops->list(opening.store, prefix, STORE_LEVEL, &found, cancel, err);
	store_close(opening.store);
	if (result < 0)
		return err_wrap(err, "store %s", url);
	jobs->names = memory_new(found.count * sizeof(*jobs->names));
	for (size_t i = 0; i < found.count; i++) {
		const char *name = found.items[i].key + strlen(prefix);

		if (text_ends(name, "/"))
			jobs->names[jobs->count++] = text_copy_n(name, strlen(name) - 1);
	}
	return 0;
}

void storage_job_names_release(struct storage_job_names *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		free(jobs->names[i]);
	free(jobs->names);
	*jobs = (struct storage_job_names){0};
}
