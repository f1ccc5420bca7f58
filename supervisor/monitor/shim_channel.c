#include "monitor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "process/process.h"
#include "shared_file.h"
#include "workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TICK_MS 1000
#define HOLE_TICK_MS 50
#define AWAKE_MS 10
#define HOLE_MS 200

/* Most records delivered in one call, so that a process that reports faster than we read does not
 * block the loop. */
#define MOST_AT_ONCE (2 * SHIM_RECORDS)

struct shim_channel {
	struct loop *loop;
	struct source pipe;   /* which the shim wakes us by */
	struct source socket; /* and those who use the page */
	struct timer tick;
	shim_channel_fn *received;
	void *argument;
	struct shared_file file;
	char *pipe_path, *socket_path, *known_path;
	char *directory;
	struct shim_header *header;
	struct shim_record *records;
	struct progress_page *page;
	/* what the header is made of, also again when the job has emptied it */
	struct shim_header intact;
	/* our own copy, because the job could change the one in the header */
	uint64_t tail;
	uint64_t dropped;
	/* since when the next record is reserved and not published; CLOCK_NEVER: it is not */
	int64_t hole_since_ms;
};

static void report_lost(struct shim_channel *channel)
{
	channel->received(channel->argument,
			  &(struct shim_message){.lost = true, .path = "", .path2 = ""});
}

/* False: it is not all that the process has to say, or no record of the library's. */
static bool deliver_record(struct shim_channel *channel, const struct shim_record *record,
			   uint64_t sequence)
{
	struct shim_record_paths paths;
	struct shim_message message;

	if (!shim_record_read(record, sequence, &paths, &message))
		return false;
	channel->received(channel->argument, &message);
	return !(record->flags & SHIM_FLAG_TRUNCATED_PATH) || record->event == SHIM_HELLO;
}

static void advance_tail(struct shim_channel *channel, uint64_t tail)
{
	channel->tail = tail;
	channel->hole_since_ms = CLOCK_NEVER;
	__atomic_store_n(&channel->header->tail, tail, __ATOMIC_RELEASE);
}

/* A record was reserved and not published. Its producer may still do so; one that was killed never
 * will. True: skip the record. */
static bool give_up_on_hole(struct shim_channel *channel)
{
	int64_t now = clock_monotonic_ms();

	if (channel->hole_since_ms == CLOCK_NEVER)
		channel->hole_since_ms = now;
	if (now - channel->hole_since_ms < HOLE_MS)
		return false;
	advance_tail(channel, channel->tail + 1);
	report_lost(channel);
	return true;
}

/* False: nothing more to read now. */
static bool read_one(struct shim_channel *channel)
{
	struct shim_record *place = &channel->records[channel->tail % SHIM_RECORDS];
	struct shim_record record;
	uint64_t head = __atomic_load_n(&channel->header->head, __ATOMIC_SEQ_CST);
	uint64_t sequence = channel->tail;

	if (head == sequence)
		return false;
	if (head - sequence > SHIM_RECORDS) {
		advance_tail(channel, head);
		report_lost(channel);
		return false;
	}
	if (__atomic_load_n(&place->published, __ATOMIC_SEQ_CST) != sequence + 1)
		return give_up_on_hole(channel);
	/* The job could change the record between the check and the use: check and use a copy. */
	memcpy(&record, place, sizeof(record));
	advance_tail(channel, sequence + 1);
	if (!deliver_record(channel, &record, sequence))
		report_lost(channel);
	return true;
}

static void note_dropped(struct shim_channel *channel)
{
	uint64_t dropped = __atomic_load_n(&channel->header->dropped, __ATOMIC_RELAXED);

	if (dropped == channel->dropped)
		return;
	channel->dropped = dropped;
	report_lost(channel);
}

static void hand_out_saved(void *argument, pid_t pid, int64_t step)
{
	struct shim_channel *channel = argument;

	channel->received(channel->argument,
			  &(struct shim_message){
				  .event = SHIM_CHANNEL_SAVED,
				  .pid = pid,
				  .descriptor = -1,
				  .step = step,
				  .path = "",
				  .path2 = "",
			  });
}

/* One wrong redirection in the job (": > $REPRIEVE_SHIM_CHANNEL") is enough. The sequences go on
 * where they were, so that no record of before is taken for a new one. */
static void mend_channel(struct shim_channel *channel)
{
	channel->intact.head = channel->intact.tail = channel->tail;
	channel->intact.unheard = 0;
	if (!shared_file_keep_whole(&channel->file, &channel->intact, sizeof(channel->intact),
				    "what the preload library writes to"))
		return;
	channel->dropped = 0;
	channel->hole_since_ms = CLOCK_NEVER;
	report_lost(channel);
}

void shim_channel_poll(struct shim_channel *channel)
{
	unsigned count = 0;
	int64_t next_ms = TICK_MS;

	mend_channel(channel);
	progress_page_scan(channel->page, clock_monotonic_ms());
	__atomic_store_n(&channel->header->sleeping, 0, __ATOMIC_RELAXED);
	while (count < MOST_AT_ONCE && read_one(channel))
		count++;
	/*
	 * After one record more will follow: during a save, polling every 10 ms spares the writer a
	 * wake-up for each file. Otherwise we sleep. Then either we see a record that was published
	 * meanwhile, or its producer sees that we sleep and wakes us, because this store, the loads
	 * in read_one() and the producer's fence have one total order. There is no fence here,
	 * because ThreadSanitizer does not know fences.
	 */
	if (count == 0) {
		__atomic_store_n(&channel->header->sleeping, 1, __ATOMIC_SEQ_CST);
		while (count < MOST_AT_ONCE && read_one(channel))
			count++;
	}
	note_dropped(channel);
	/* If the ring holds more than one call delivers, earlier reports may still be in it. */
	if (count < MOST_AT_ONCE)
		progress_page_deliver_saved(channel->page, hand_out_saved, channel);
	if (count > 0)
		next_ms = count >= MOST_AT_ONCE ? 0 : AWAKE_MS;
	else if (channel->hole_since_ms != CLOCK_NEVER)
		next_ms = HOLE_TICK_MS;
	loop_arm(channel->loop, &channel->tick, clock_monotonic_ms() + next_ms);
}

static void tick_timer_fired(struct timer *timer)
{
	shim_channel_poll(container_of(timer, struct shim_channel, tick));
}

static void drain(const struct source *source)
{
	char bytes[64];

	while (read(source->fd, bytes, sizeof(bytes)) >= 0) {
	}
}

static void pipe_became_readable(struct source *source, uint32_t events)
{
	(void)events;
	drain(source);
	shim_channel_poll(container_of(source, struct shim_channel, pipe));
}

static void socket_became_readable(struct source *source, uint32_t events)
{
	(void)events;
	drain(source);
	shim_channel_poll(container_of(source, struct shim_channel, socket));
}

/* Open for writing too, it never ends: the loop would spin on a pipe whose last writer is gone. */
static int open_pipe(struct shim_channel *channel, struct err *err)
{
	if (strlen(channel->pipe_path) >= sizeof(channel->intact.doorbell))
		return err_set(err, ERR_INVALID,
			       "%s: longer than the %zu bytes that there is "
			       "room for",
			       channel->pipe_path, sizeof(channel->intact.doorbell) - 1);
	if (mkfifo(channel->pipe_path, 0600) < 0)
		return err_os(err, errno, "%s", channel->pipe_path);
	channel->pipe.fd = open(channel->pipe_path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (channel->pipe.fd < 0)
		return err_os(err, errno, "%s", channel->pipe_path);
	channel->pipe.ready = pipe_became_readable;
	return loop_add(channel->loop, &channel->pipe, EPOLLIN, err);
}

static int open_socket(struct shim_channel *channel, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(channel->socket_path) >= sizeof(address.sun_path))
		return err_set(err, ERR_INVALID, "%s: too long for a socket's name (107 bytes)",
			       channel->socket_path);
	text_set(address.sun_path, sizeof(address.sun_path), channel->socket_path);
	channel->socket.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (channel->socket.fd < 0)
		return err_os(err, errno, "socket");
	if (bind(channel->socket.fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_os(err, errno, "%s", channel->socket_path);
	channel->socket.ready = socket_became_readable;
	return loop_add(channel->loop, &channel->socket, EPOLLIN, err);
}

static void close_source(struct shim_channel *channel, struct source *source, const char *path)
{
	loop_remove(channel->loop, source);
	if (source->fd >= 0) {
		close(source->fd);
		unlink(path);
	}
}

static int map_channel(struct shim_channel *channel, const char *path, struct err *err)
{
	if (shared_file_make(&channel->file, path, SHIM_CHANNEL_SIZE, err) < 0)
		return -1;
	channel->header = channel->file.memory;
	channel->records = (struct shim_record *)((char *)channel->header + SHIM_HEADER_SIZE);
	return 0;
}

static void find_anchor(struct shim_header *header)
{
	auto_free char *path = text_copy(header->directory);
	struct stat status = {0};

	while (*path && stat(path, &status) < 0)
		*strrchr(path, '/') = '\0';
	header->anchor_device = status.st_dev;
	header->anchor_inode = status.st_ino;
	header->anchor_length = strlen(path);
}

static int fill_header(struct shim_channel *channel, const char *alias, struct err *err)
{
	struct shim_header *header = &channel->intact;

	if (strlen(channel->directory) >= sizeof(header->directory))
		return err_set(err, ERR_INVALID,
			       "%s: longer than the %zu bytes that the shim has room for",
			       channel->directory, sizeof(header->directory) - 1);
	header->version = SHIM_VERSION;
	header->sleeping = 1;
	header->supervisor_pid = (uint32_t)getpid();
	header->supervisor_start = process_start_time(getpid());
	(void)proc_pid_namespace(&header->namespace_device, &header->namespace_inode);
	workspace_read_boot(header->boot);
	header->directory_length = (uint32_t)strlen(channel->directory);
	text_set(header->directory, sizeof(header->directory), channel->directory);
	find_anchor(header);
	/* Too long or the same: then the shim knows one name, which is the one that the kernel
	 * uses. */
	if (alias && strlen(alias) < sizeof(header->alias) &&
	    !text_equal(alias, channel->directory))
		text_set(header->alias, sizeof(header->alias), alias);
	text_set(header->doorbell, sizeof(header->doorbell), channel->pipe_path);
	*channel->header = *header;
	header->magic = SHIM_MAGIC;
	__atomic_store_n(&channel->header->magic, SHIM_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

int shim_channel_open(struct loop *loop, const char *session_directory,
		      const char *checkpoint_directory, const char *alias,
		      shim_channel_fn *received, void *argument, struct shim_channel **channel,
		      struct err *err)
{
	auto_(shim_channel_close) struct shim_channel *made = memory_new(sizeof(*made));
	auto_free char *channel_path = text_format("%s/shim.channel", session_directory);
	auto_free char *page_path = text_format("%s/report.page", session_directory);

	made->loop = loop;
	made->received = received;
	made->argument = argument;
	made->pipe.fd = made->socket.fd = -1;
	made->tick.fired = tick_timer_fired;
	made->hole_since_ms = CLOCK_NEVER;
	made->directory = text_copy(checkpoint_directory);
	made->pipe_path = text_format("%s/shim.pipe", session_directory);
	made->socket_path = text_format("%s/shim.doorbell", session_directory);
	made->known_path = text_format("%s/" LEFT_CHANNEL_KNOWN, session_directory);
	made->file = (struct shared_file){.fd = -1, .slot = -1};
	if (map_channel(made, channel_path, err) < 0 || open_pipe(made, err) < 0 ||
	    open_socket(made, err) < 0 ||
	    progress_page_open(page_path, made->socket_path, &made->page, err) < 0 ||
	    fill_header(made, alias, err) < 0)
		return err_wrap(err, "shim channel");
	loop_arm(loop, &made->tick, clock_monotonic_ms() + TICK_MS);
	*channel = steal(&made);
	return 0;
}

void shim_channel_close(struct shim_channel *channel)
{
	loop_disarm(channel->loop, &channel->tick);
	close_source(channel, &channel->pipe, channel->pipe_path);
	close_source(channel, &channel->socket, channel->socket_path);
	progress_page_close(channel->page);
	if (channel->header) {
		__atomic_store_n(&channel->header->sigterm_hold, SHIM_HOLD_OFF, __ATOMIC_RELEASE);
		/* Processes that start from now on do nothing, and running ones do not wake us. */
		__atomic_store_n(&channel->header->magic, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&channel->header->sleeping, 0, __ATOMIC_RELEASE);
	}
	shared_file_remove(&channel->file);
	free(channel->pipe_path);
	free(channel->socket_path);
	unlink(channel->known_path);
	free(channel->known_path);
	free(channel->directory);
	free(channel);
}

const char *shim_channel_path(const struct shim_channel *channel)
{
	return channel->file.path;
}

uint64_t shim_channel_position(const struct shim_channel *channel)
{
	return channel->tail;
}

void shim_channel_note_listed(struct shim_channel *channel, uint64_t first)
{
	channel->intact.first = first;
	channel->intact.listed = channel->tail;
	channel->intact.unheard = channel->dropped;
	__atomic_store_n(&channel->header->first, first, __ATOMIC_RELAXED);
	__atomic_store_n(&channel->header->unheard, channel->dropped, __ATOMIC_RELAXED);
	__atomic_store_n(&channel->header->listed, channel->tail, __ATOMIC_RELEASE);
}

/* Best effort, and never synced: as the channel, it outlives a kill and no crash. */
void shim_channel_leave_known(const struct shim_channel *channel, const char *text)
{
	(void)file_replace(channel->known_path, text, strlen(text), NULL);
}

struct progress_page *shim_channel_page(const struct shim_channel *channel)
{
	return channel->page;
}

void shim_channel_set_sigterm_hold(struct shim_channel *channel, enum shim_hold state)
{
	channel->intact.sigterm_hold = (uint32_t)state;
	__atomic_store_n(&channel->header->sigterm_hold, (uint32_t)state, __ATOMIC_RELEASE);
}

void shim_channel_set_notice_signals(struct shim_channel *channel, uint32_t signals)
{
	channel->header->notice_signals = channel->intact.notice_signals = signals;
}
