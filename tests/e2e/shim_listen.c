/*
 * For test_shim.py: shim_listen SESSION_DIRECTORY CHECKPOINT_DIRECTORY [ALIAS] makes a channel and
 * prints what arrives on it, one JSON object per line, until its standard input ends. After each
 * line of input it hands out all that is pending and prints {"event": "synced"}.
 */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/loop.h"
#include "monitor/monitor.h"

#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct loop loop;
static struct shim_channel *shim_link;

static const char *const names[] = {
	[SHIM_HELLO] = "hello",         [SHIM_OPENED] = "opened",
	[SHIM_CLOSED] = "closed",       [SHIM_DUPLICATED] = "duplicated",
	[SHIM_RENAMED] = "renamed",     [SHIM_LINKED] = "linked",
	[SHIM_UNLINKED] = "unlinked",   [SHIM_EXITING] = "exiting",
	[SHIM_SIGTERM_HELD] = "held",   [SHIM_SAVED_ELSEWHERE] = "elsewhere",
	[SHIM_CHANNEL_SAVED] = "saved",
};

static void print(void *argument, const struct shim_message *message)
{
	json_t *line;

	(void)argument;
	if (message->lost)
		line = json_pack("{ss}", "event", "lost");
	else
		line = json_pack("{ss si si ss ss si sI}", "event", names[message->event], "pid",
				 message->pid, "fd", message->descriptor, "path", message->path,
				 "path2", message->path2, "flags", (int)message->flags, "inode",
				 (json_int_t)message->inode);
	json_print(line, false);
	fflush(stdout);
}

static void typed(struct source *source, uint32_t events)
{
	char bytes[64];
	ssize_t got = read(source->fd, bytes, sizeof(bytes));

	(void)events;
	if (got <= 0) {
		loop_stop(&loop);
		return;
	}
	shim_channel_poll(shim_link);
	json_print(json_pack("{ss}", "event", "synced"), false);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct source input = {.fd = STDIN_FILENO, .ready = typed};
	struct err err;

	if (argc < 3)
		return 64;
	if (loop_init(&loop, &err) < 0 ||
	    shim_channel_open(&loop, argv[1], argv[2], argc > 3 ? argv[3] : NULL, print, NULL,
			      &shim_link, &err) < 0 ||
	    loop_add(&loop, &input, EPOLLIN, &err) < 0) {
		log_error("%s", err.text);
		return 1;
	}
	/* So that all of these tests see it in the processes. */
	shim_channel_set_sigterm_hold(shim_link, SHIM_HOLD_ACTIVE);
	json_print(json_pack("{ss ss}", "event", "ready", "channel", shim_channel_path(shim_link)),
		   false);
	fflush(stdout);
	if (loop_run(&loop, &err) < 0)
		log_error("%s", err.text);
	shim_channel_close(shim_link);
	loop_release(&loop);
	return 0;
}
