/*
 * What a scheduler shows of an ended container: Kubernetes' terminationMessagePath
 * (/dev/termination-log, 4096 bytes are read:
 * kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure) and SageMaker's
 * /opt/ml/output/failure (its first 1024 characters: DescribeTrainingJob, FailureReason). The
 * reason of the preemption comes first; what the job has written there by itself follows it and is
 * never lost.
 */
#ifndef TERMINATION_MESSAGE_H
#define TERMINATION_MESSAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define TERMINATION_LINE_SIZE 512
#define TERMINATION_TEXT_MOST 4096

struct termination_facts {
	const char *outcome; /* outcome.h; NULL: it has not ended yet */
	int exit_code;
	const char *source, *reason; /* of the notice; NULL: there was none */
	const char *durable;         /* "3-12, step 1200"; "" nothing */
};

/* PURE. "preempted: spot interruption (aws); durable: 3-12, step 1200; exit 75". Returns `line`. */
const char *termination_line(const struct termination_facts *facts,
			     char line[TERMINATION_LINE_SIZE]);

/*
 * PURE. `line` ("": none any more), then what the file held, if that is not ours: our line before,
 * which `before` is. At most TERMINATION_TEXT_MOST bytes; the newest of the job's words are kept.
 * The caller frees.
 */
char *termination_text(const char *line, const char *before, const char *held);

/* Blocks. In place: the path may be a mount of its own, which no rename replaces.
 * ERR_* as of the file. */
int termination_write(const char *path, const char *line, const char *before, struct err *err);

#endif
