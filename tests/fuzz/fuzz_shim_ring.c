/*
 * The channel that the job's processes write to (shim/PROTOCOL.md), and the page beside it. The
 * input is a program of a hostile job: records that are right but for what they say, bytes
 * anywhere, files that are cut off.
 */
#include "fuzz.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "monitor/monitor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum action {
	ACT_REPORT, /* a record with the next bytes in it, and the right checksum */
	ACT_RAW,    /* the same with whatever checksum they make */
	ACT_CLAIM,  /* a place that is never published */
	ACT_HEADER, /* bytes into the header */
	ACT_RING,   /* bytes into the ring */
	ACT_PAGE,   /* bytes into the page */
	ACT_CUT,    /* one of the files is truncated */
	ACT_POLL,
	ACTIONS,
};

#define PAGE_SIZE ((size_t)4096 + 512 * 64)

static char directory[] = "/tmp/reprieve-fuzz-XXXXXX";
static struct loop loop;
static struct shim_channel *channel;
static char *shared, *page; /* as a job maps them */

static void received(void *argument, const struct shim_message *message)
{
	bool absolute = message->event == SHIM_HELLO || message->event == SHIM_SAVED_ELSEWHERE;

	(void)argument;
	if (message->lost)
		return;
	CHECK(message->pid > 0 || message->event == SHIM_CHANNEL_SAVED);
	CHECK(strlen(message->path) <= SHIM_PATH_MOST && strlen(message->path2) <= SHIM_PATH_MOST);
	CHECK(absolute || (message->path[0] != '/' && message->path2[0] != '/'));
	CHECK(absolute || strncmp(message->path, "../", 3) != 0);
	CHECK(absolute || !strstr(message->path, "/../"));
}

static char *map_as_a_job(const char *path, size_t size)
{
	auto_close int fd = open(path, O_RDWR | O_CLOEXEC);
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CHECK(memory != MAP_FAILED);
	return memory;
}

static void remove_channel(void)
{
	shim_channel_close(channel);
	rmdir(directory);
}

static void open_once(void)
{
	struct err err;

	if (channel)
		return;
	CHECK(mkdtemp(directory) && loop_init(&loop, &err) == 0);
	CHECK(shim_channel_open(&loop, directory, "/data/checkpoints", NULL, received, NULL,
				&channel, &err) == 0);
	shared = map_as_a_job(shim_channel_path(channel), SHIM_CHANNEL_SIZE);
	page = map_as_a_job(progress_page_path(shim_channel_page(channel)), PAGE_SIZE);
	atexit(remove_channel);
	/* What each truncation says. */
	CHECK(freopen("/dev/null", "w", stdout));
	log_set_level(LOG_LEVEL_QUIET);
}

static void put_record(const uint8_t *data, size_t size, bool right)
{
	struct shim_header *header = (struct shim_header *)shared;
	struct shim_record *ring = (struct shim_record *)(shared + SHIM_HEADER_SIZE), record = {0};
	uint64_t sequence = header->head;
	size_t from = offsetof(struct shim_record, pid), most = sizeof(record) - from;

	memcpy((char *)&record + from, data, size < most ? size : most);
	if (right) {
		record.path_length %= SHIM_PATH_MOST + 1;
		record.path2_length %= SHIM_PATH_MOST + 1;
		record.event = record.event % (SHIM_SAVED_ELSEWHERE + 1);
		record.checksum = shim_checksum(&record, sequence);
	}
	record.published = sequence + 1;
	ring[sequence % SHIM_RECORDS] = record;
	header->head = sequence + 1;
}

static void put_bytes(char *target, size_t capacity, const uint8_t *data, size_t size)
{
	size_t at = size >= 2 ? (size_t)(data[0] | data[1] << 8) * 8 % capacity : 0;
	size_t most = capacity - at;

	if (size > 2)
		memcpy(target + at, data + 2, size - 2 < most ? size - 2 : most);
}

/* No process of the job touches it before the next poll, which mends it. */
static void cut(const uint8_t *data, size_t size)
{
	bool of_page = size > 0 && data[0] & 1;
	const char *path = of_page ? progress_page_path(shim_channel_page(channel))
				   : shim_channel_path(channel);

	CHECK(truncate(path, size > 1 ? data[1] * 64 : 0) == 0);
	shim_channel_poll(channel);
	CHECK(*(uint32_t *)(of_page ? page : shared) != 0);
}

static void act(enum action action, const uint8_t *data, size_t size)
{
	switch (action) {
	case ACT_REPORT:
	case ACT_RAW:
		put_record(data, size, action == ACT_REPORT);
		return;
	case ACT_CLAIM:
		((struct shim_header *)shared)->head++;
		return;
	case ACT_HEADER:
		put_bytes(shared, SHIM_HEADER_SIZE, data, size);
		return;
	case ACT_RING:
		put_bytes(shared + SHIM_HEADER_SIZE, SHIM_CHANNEL_SIZE - SHIM_HEADER_SIZE, data,
			  size);
		return;
	case ACT_PAGE:
		put_bytes(page, PAGE_SIZE, data, size);
		return;
	case ACT_CUT:
		cut(data, size);
		return;
	case ACT_POLL:
	case ACTIONS:
		shim_channel_poll(channel);
	}
}

/* Action, length, bytes; and so on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	open_once();
	while (size >= 2) {
		size_t length = data[1] < size - 2 ? data[1] : size - 2;

		act((enum action)(data[0] % ACTIONS), data + 2, length);
		data += 2 + length;
		size -= 2 + length;
	}
	shim_channel_poll(channel);
	return 0;
}
