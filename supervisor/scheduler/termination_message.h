/*
 * The message that a scheduler shows for an ended container: Kubernetes' terminationMessagePath
 * (/dev/termination-log, of which 4096 bytes are read:
 * kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure), and SageMaker's
 * /opt/ml/output/failure (its first 1024 characters: DescribeTrainingJob, FailureReason). Our line
 * comes first; text that the job has written there follows it and is kept.
 */
#ifndef TERMINATION_MESSAGE_H
#define TERMINATION_MESSAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TERMINATION_LINE_SIZE 512
#define TERMINATION_TEXT_MOST 4096

struct termination_facts {
	const char *outcome; /* outcome.h; NULL: the job has not ended yet */
	int exit_code;
	const char *source, *reason; /* of the notice; NULL: there was none */
	const char *durable;         /* "3-12, step 1200"; "": nothing */
};

/* PURE. "preempted: spot interruption (aws); durable: 3-12, step 1200; exit 75". Returns `line`. */
const char *termination_line(const struct termination_facts *facts,
			     char line[TERMINATION_LINE_SIZE]);

/*
 * PURE. The new text of the file: `line` (may be ""), then the text that it `held`, without our
 * earlier line, which is `before`. At most TERMINATION_TEXT_MOST bytes; the end of the job's text
 * is kept. The caller frees.
 */
char *termination_text(const char *line, const char *before, const char *held);

/*
 * The message of one run. The functions that write block for one small file each, and only log what
 * fails. Rewritten in place, because the path may be a mount point, which rename(2) cannot replace.
 */
struct termination_message {
	const char *path; /* --termination-log: "": none; NULL: Kubernetes' file, if it is there */
	char line[TERMINATION_LINE_SIZE]; /* ours, in the file; "": none */
};

/* A stop is announced, or (with `facts->outcome`) the job has ended; SageMaker's file is written at
 * the end only. Without a notice and an outcome there is nothing to tell. */
void termination_message_tell(struct termination_message *message,
			      const struct termination_facts *facts);
/* Removes our line, but no line of the job's: the notice was withdrawn, or the job finished in
 * spite of it. */
void termination_message_withdraw(struct termination_message *message);

#endif
