/*
 * PURE. What becomes of the signals that we receive: which one each counts as, and who gets those
 * that are passed on. What tini's -g, -e and -p, dumb-init's --rewrite and --single-child and
 * catatonit's -g are for.
 */
#ifndef SIGNAL_RULES_H
#define SIGNAL_RULES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_RULES_COUNT 65 /* by number; Linux has 1 to 64 */
#define SIGNAL_RULES_DROPPED 255

/* All zero: every signal counts as itself and goes to the main process, and
 * nothing is asked of the kernel. */
struct signal_rules {
	uint8_t counts_as[SIGNAL_RULES_COUNT]; /* 0: as itself; SIGNAL_RULES_DROPPED: as nothing */
	uint8_t parent_death; /* the signal that we get when our parent dies; 0: none */
	bool to_group;        /* to the job's whole process group */
	uint64_t success[4];  /* bit n: exit code n of the job is success */
};

/* "INT=TERM", "HUP=none", several with commas; a name or a number on each side.
 * ERR_INVALID says what to write. */
int signal_rules_add_rewrite(struct signal_rules *signal_rules, const char *text, struct err *err);

/* A signal, or "none". */
int signal_rules_set_parent_death(struct signal_rules *signal_rules, const char *text,
				  struct err *err);

/* "143", or several with commas. */
int signal_rules_add_success(struct signal_rules *signal_rules, const char *text, struct err *err);

/* What a received signal counts as; 0: it is dropped. */
int signal_rules_map(const struct signal_rules *signal_rules, int signal);

/* How the job ended, as from waitpid(2), with what means success turned into an exit with 0. */
int signal_rules_map_wait_status(const struct signal_rules *signal_rules, int wait_status);

#endif
