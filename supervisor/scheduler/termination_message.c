#include "scheduler.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/held_directory.h"
#include "base/log.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KUBERNETES_LOG "/dev/termination-log"
#define SAGEMAKER_OUTPUT "/opt/ml/output"

const char *termination_line(const struct termination_facts *facts,
			     char line[TERMINATION_LINE_SIZE])
{
	char notice[300] = "", end[180] = "";

	if (facts->source)
		snprintf(notice, sizeof(notice), "preempted: %s (%s)%s", facts->reason,
			 facts->source, facts->outcome ? "; " : "");
	if (facts->outcome)
		snprintf(end, sizeof(end), "%s%sdurable: %s; exit %d",
			 facts->source ? "" : facts->outcome, facts->source ? "" : "; ",
			 facts->durable[0] ? facts->durable : "nothing", facts->exit_code);
	snprintf(line, TERMINATION_LINE_SIZE, "%s%s", notice, end);
	return line;
}

/* `held` without our earlier line at its beginning. */
static const char *text_of_job(const char *before, const char *held)
{
	if (!text_starts(held, before) || !before[0])
		return held;
	held += strlen(before);
	return *held == '\n' ? held + 1 : held;
}

char *termination_text(const char *line, const char *before, const char *held)
{
	const char *words = text_of_job(before, held);
	size_t room = TERMINATION_TEXT_MOST - strlen(line) - 2, length = strlen(words);

	if (length > room)
		words += length - room;
	return text_format("%s%s%s", line, line[0] ? "\n" : "", words);
}

static int write_text(const char *path, const char *line, const char *before, struct err *err)
{
	auto_(bytes_release) struct bytes held = {.limit = 1 << 20};
	auto_free char *text = NULL;
	auto_close int old = -1;
	auto_close int fd = -1;
	struct err none;

	/* A text that cannot be read, or is too long, is not kept. */
	old = held_directory_open_file(path, O_RDONLY, 0, &none);
	if (old < 0 || file_read_all(old, &held, &none) < 0 ||
	    bytes_append(&held, "", 1, &none) < 0)
		bytes_release(&held);
	text = termination_text(line, before, held.data ? (const char *)held.data : "");
	fd = held_directory_open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0666, err);
	return fd < 0 ? -1 : file_write_all(fd, text, strlen(text), err);
}

static void write_line(const char *path, const char *line, const char *before)
{
	struct err err;

	if (write_text(path, line, before, &err) < 0)
		log_warn("cannot write the termination message: %s", err.text);
}

/* NULL: no file is to be written. */
static const char *path_of(const struct termination_message *message)
{
	if (message->path)
		return message->path[0] ? message->path : NULL;
	return access(KUBERNETES_LOG, W_OK) == 0 ? KUBERNETES_LOG : NULL;
}

static void replace_line(struct termination_message *message, const char *line)
{
	const char *path = path_of(message);

	if (!path)
		return;
	write_line(path, line, message->line);
	text_set(message->line, sizeof(message->line), line);
}

void termination_message_tell(struct termination_message *message,
			      const struct termination_facts *facts)
{
	bool wanted = !message->path || message->path[0];
	char line[TERMINATION_LINE_SIZE];

	if (!facts->source && !facts->outcome)
		return;
	replace_line(message, termination_line(facts, line));
	if (facts->outcome && wanted && getenv("TRAINING_JOB_NAME") &&
	    file_is_directory(SAGEMAKER_OUTPUT))
		write_line(SAGEMAKER_OUTPUT "/failure", line, "");
}

void termination_message_withdraw(struct termination_message *message)
{
	if (message->line[0])
		replace_line(message, "");
}
