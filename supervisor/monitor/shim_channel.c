#include "shim_channel.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "held_file.h"
#include "process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define TICK_MS 1000
#define HOLE_TICK_MS 50
#define AWAKE_MS 20
#define HOLE_MS 200

/* Records handed out in one go; a process that reports faster than we read must not hold up the loop. */
#define MOST_AT_ONCE (2 * SHIM_RECORDS)

struct shim_link {
	struct loop *loop;
	struct source doorbell;
	struct timer tick;
	shim_link_fn *received;
	void *argument;
	char *channel_path;
	char *doorbell_path;
	char *directory;
	struct shim_header *header;
	struct shim_record *records;
	struct report_page *page;
	bool channel_made;
	uint64_t tail; /* ours; the one in the header is for the producers, who might write to it */
	uint64_t dropped;
	int64_t hole_since_ms; /* CLOCK_NEVER while there is none */
};

static bool path_is_sound(const char *path, size_t length)
{
	if (length > 0 && path[0] == '/')
		return false;
	if (memchr(path, '\0', length))
		return false;
	for (size_t at = 0; at < length;) {
		const char *slash = memchr(path + at, '/', length - at);
		size_t part = slash ? (size_t)(slash - path) - at : length - at;

		if (part == 2 && path[at] == '.' && path[at + 1] == '.')
			return false;
		at += part + 1;
	}
	return true;
}

static bool record_is_sound(const struct shim_record *record, uint64_t sequence)
{
	const char *path2 = record->text + record->path_length;

	if (record->path_length > SHIM_PATH_MOST || record->path2_length > SHIM_PATH_MOST)
		return false;
	if (record->checksum != shim_checksum(record, sequence))
		return false;
	if (record->event < SHIM_HELLO || record->event > SHIM_HELD || record->pid == 0 ||
		record->pid > INT_MAX)
		return false;
	if (record->event == SHIM_HELLO)
		return !memchr(record->text, '\0', record->path_length);
	return path_is_sound(record->text, record->path_length) &&
	       path_is_sound(path2, record->path2_length);
}

static void report_lost(struct shim_link *link)
{
	link->received(
		link->argument, &(struct shim_message){.lost = true, .path = "", .path2 = ""});
}

static void deliver(struct shim_link *link, const struct shim_record *record)
{
	char path[SHIM_PATH_MOST + 1];
	char path2[SHIM_PATH_MOST + 1];

	memcpy(path, record->text, record->path_length);
	path[record->path_length] = '\0';
	memcpy(path2, record->text + record->path_length, record->path2_length);
	path2[record->path2_length] = '\0';
	link->received(link->argument, &(struct shim_message){
					       .event = record->event,
					       .pid = (int)record->pid,
					       .descriptor = record->descriptor,
					       .flags = record->flags,
					       .device = record->device,
					       .inode = record->inode,
					       .path = path,
					       .path2 = path2,
				       });
	if ((record->flags & SHIM_FLAG_TRUNCATED_PATH) && record->event != SHIM_HELLO)
		report_lost(link);
}

static void advance(struct shim_link *link, uint64_t tail)
{
	link->tail = tail;
	link->hole_since_ms = CLOCK_NEVER;
	__atomic_store_n(&link->header->tail, tail, __ATOMIC_RELEASE);
}

/* A place was taken and not filled. Its producer may be about to; a producer that was killed never will. True when we should
 * go on behind it. */
static bool give_up_on_hole(struct shim_link *link)
{
	int64_t now = clock_monotonic_ms();

	if (link->hole_since_ms == CLOCK_NEVER)
		link->hole_since_ms = now;
	if (now - link->hole_since_ms < HOLE_MS)
		return false;
	advance(link, link->tail + 1);
	report_lost(link);
	return true;
}

/* False when there is nothing more to read now. */
static bool read_one(struct shim_link *link)
{
	struct shim_record *place = &link->records[link->tail % SHIM_RECORDS];
	struct shim_record record;
	uint64_t head = __atomic_load_n(&link->header->head, __ATOMIC_SEQ_CST);
	uint64_t sequence = link->tail;

	if (head == sequence)
		return false;
	if (head - sequence > SHIM_RECORDS) {
		advance(link, head);
		report_lost(link);
		return false;
	}
	if (__atomic_load_n(&place->published, __ATOMIC_SEQ_CST) != sequence + 1)
		return give_up_on_hole(link);
	/* A copy, so that what was checked is what is used. */
	memcpy(&record, place, sizeof(record));
	advance(link, sequence + 1);
	if (record_is_sound(&record, sequence))
		deliver(link, &record);
	else
		report_lost(link);
	return true;
}

static void note_dropped(struct shim_link *link)
{
	uint64_t dropped = __atomic_load_n(&link->header->dropped, __ATOMIC_RELAXED);

	if (dropped == link->dropped)
		return;
	link->dropped = dropped;
	report_lost(link);
}

static void hand_out_saved(void *argument, pid_t pid, int64_t step)
{
	struct shim_link *link = argument;

	link->received(link->argument, &(struct shim_message){.event = SHIM_LINK_SAVED,
					       .pid = pid,
					       .descriptor = -1,
					       .step = step,
					       .path = "",
					       .path2 = ""});
}

void shim_link_poll(struct shim_link *link)
{
	unsigned count = 0;
	int64_t next_ms = TICK_MS;

	report_page_look(link->page, clock_monotonic_ms());
	__atomic_store_n(&link->header->sleeping, 0, __ATOMIC_RELAXED);
	while (count < MOST_AT_ONCE && read_one(link))
		count++;
	/*
	 * Where one came, more will: while a save goes on, a look every 20 ms spares its writer a doorbell for each file. Otherwise
	 * we sleep, and then either we see a record that came in meanwhile, or its producer sees that we sleep and rings. One total
	 * order of this store, the loads in read_one() and the producer's fence; no fence here, which ThreadSanitizer does not know.
	 */
	if (count == 0) {
		__atomic_store_n(&link->header->sleeping, 1, __ATOMIC_SEQ_CST);
		while (count < MOST_AT_ONCE && read_one(link))
			count++;
	}
	note_dropped(link);
	/* With more in the ring than one go takes, what was reported before may still be in it. */
	if (count < MOST_AT_ONCE)
		report_page_tell(link->page, hand_out_saved, link);
	if (count > 0)
		next_ms = count >= MOST_AT_ONCE ? 0 : AWAKE_MS;
	else if (link->hole_since_ms != CLOCK_NEVER)
		next_ms = HOLE_TICK_MS;
	loop_arm(link->loop, &link->tick, clock_monotonic_ms() + next_ms);
}

static void ticked(struct timer *timer)
{
	shim_link_poll(container_of(timer, struct shim_link, tick));
}

static void rang(struct source *source, uint32_t events)
{
	struct shim_link *link = container_of(source, struct shim_link, doorbell);
	char bytes[64];

	(void)events;
	while (recv(source->fd, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0) {
	}
	shim_link_poll(link);
}

static int open_doorbell(struct shim_link *link, struct err *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(link->doorbell_path) >= sizeof(address.sun_path))
		return err_set(err, ERR_INVALID, "%s: too long for a socket's name (107 bytes)",
			link->doorbell_path);
	text_set(address.sun_path, sizeof(address.sun_path), link->doorbell_path);
	link->doorbell.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->doorbell.fd < 0)
		return err_os(err, errno, "socket");
	if (bind(link->doorbell.fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_os(err, errno, "%s", link->doorbell_path);
	link->doorbell.ready = rang;
	return loop_add(link->loop, &link->doorbell, EPOLLIN, err);
}

static int map_channel(struct shim_link *link, struct err *err)
{
	auto_close int fd =
		open(link->channel_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	void *memory;
	int failed;

	if (fd < 0)
		return err_os(err, errno, "%s", link->channel_path);
	link->channel_made = true;
	failed = posix_fallocate(fd, 0, SHIM_CHANNEL_SIZE);
	if (failed)
		return err_os(err, failed, "%s", link->channel_path);
	memory = mmap(NULL, SHIM_CHANNEL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return err_os(err, errno, "mmap %s", link->channel_path);
	link->header = memory;
	link->records = (struct shim_record *)((char *)memory + SHIM_HEADER_SIZE);
	return 0;
}

static int fill_header(struct shim_link *link, const char *alias, struct err *err)
{
	struct shim_header *header = link->header;
	struct stat space;

	if (strlen(link->directory) >= sizeof(header->directory))
		return err_set(err, ERR_INVALID,
			"%s: longer than the %zu bytes that the shim has room for", link->directory,
			sizeof(header->directory) - 1);
	header->version = SHIM_VERSION;
	header->sleeping = 1;
	header->supervisor_pid = (uint32_t)getpid();
	header->supervisor_start = process_start_time(getpid());
	if (stat("/proc/self/ns/pid", &space) == 0) {
		header->namespace_device = space.st_dev;
		header->namespace_inode = space.st_ino;
	}
	header->directory_length = (uint32_t)strlen(link->directory);
	text_set(header->directory, sizeof(header->directory), link->directory);
	/* Too long or the same: then the shim knows one name, and the kernel tells it that anyway. */
	if (alias && strlen(alias) < sizeof(header->alias) && !text_equal(alias, link->directory))
		text_set(header->alias, sizeof(header->alias), alias);
	text_set(header->doorbell, sizeof(header->doorbell), link->doorbell_path);
	__atomic_store_n(&header->magic, SHIM_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

AUTO_POINTER(struct shim_link, shim_link_close);

int shim_link_open(struct loop *loop, const char *session_directory,
	const char *checkpoint_directory, const char *alias, shim_link_fn *received, void *argument,
	struct shim_link **link, struct err *err)
{
	auto_(shim_link_close) struct shim_link *made = memory_new(sizeof(*made));
	auto_free char *page_path = NULL;

	made->loop = loop;
	made->received = received;
	made->argument = argument;
	made->doorbell.fd = -1;
	made->tick.fired = ticked;
	made->hole_since_ms = CLOCK_NEVER;
	made->directory = text_copy(checkpoint_directory);
	made->channel_path = text_format("%s/shim.channel", session_directory);
	made->doorbell_path = text_format("%s/shim.doorbell", session_directory);
	page_path = text_format("%s/report.page", session_directory);
	if (map_channel(made, err) < 0 || open_doorbell(made, err) < 0 ||
		report_page_open(page_path, made->doorbell_path, &made->page, err) < 0 ||
		fill_header(made, alias, err) < 0)
		return err_wrap(err, "shim channel");
	loop_arm(loop, &made->tick, clock_monotonic_ms() + TICK_MS);
	*link = take(&made);
	return 0;
}

void shim_link_close(struct shim_link *link)
{
	loop_disarm(link->loop, &link->tick);
	loop_remove(link->loop, &link->doorbell);
	if (link->doorbell.fd >= 0) {
		close(link->doorbell.fd);
		unlink(link->doorbell_path);
	}
	report_page_close(link->page);
	if (link->header) {
		__atomic_store_n(&link->header->shield, SHIM_SHIELD_OFF, __ATOMIC_RELEASE);
		/* An image that starts from now on does nothing, and those that run ring no more. */
		__atomic_store_n(&link->header->magic, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&link->header->sleeping, 0, __ATOMIC_RELEASE);
		munmap(link->header, SHIM_CHANNEL_SIZE);
	}
	if (link->channel_made)
		unlink(link->channel_path);
	free(link->channel_path);
	free(link->doorbell_path);
	free(link->directory);
	free(link);
}

const char *shim_link_channel(const struct shim_link *link)
{
	return link->channel_path;
}

struct report_page *shim_link_page(const struct shim_link *link)
{
	return link->page;
}

void shim_link_shield(struct shim_link *link, enum shim_shield state)
{
	__atomic_store_n(&link->header->shield, (uint32_t)state, __ATOMIC_RELEASE);
}

enum shim_link_held shim_link_holds(const struct shim_link *link, int pid, int descriptor)
{
	return held_file_look(link->directory, pid, descriptor);
}
