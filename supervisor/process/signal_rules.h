/*
 * PURE. What happens to received signals: rewritten to another one, dropped, or forwarded, and to
 * whom. Covers tini's -g, -e and -p, dumb-init's --rewrite and --single-child, and catatonit's -g.
 */
#ifndef SIGNAL_RULES_H
#define SIGNAL_RULES_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define SIGNAL_RULES_COUNT 65 /* by number; Linux has 1 to 64 */
#define SIGNAL_RULES_DROPPED 255

/* All zero: every signal is forwarded unchanged to the main process. */
struct signal_rules {
	uint8_t counts_as[SIGNAL_RULES_COUNT]; /* 0: itself; SIGNAL_RULES_DROPPED: nothing */
	uint8_t parent_death;     /* signal that we get when our parent dies; 0: none */
	bool parent_death_chosen; /* by the user; "none" is a choice too */
	bool to_group;            /* forward to the job's whole process group */
	uint64_t success[4];      /* bit n: exit code n of the job means success */
};

/* The setters parse an option's value. ERR_INVALID: the sentence says what is allowed. */

/* `text`: "INT=TERM", "HUP=none", or several with commas; a name or a number on each side. */
int signal_rules_add_rewrite(struct signal_rules *signal_rules, const char *text, struct err *err);

/* `text`: a signal, or "none". */
int signal_rules_set_parent_death(struct signal_rules *signal_rules, const char *text,
				  struct err *err);

/* `text`: "143", or several exit codes with commas. */
int signal_rules_add_success(struct signal_rules *signal_rules, const char *text, struct err *err);

/* The signal that a received one is rewritten to; 0: it is dropped. */
int signal_rules_map(const struct signal_rules *signal_rules, int signal);

/* A wait status of the job as in waitpid(2); exit codes that mean success become 0. */
int signal_rules_map_wait_status(const struct signal_rules *signal_rules, int wait_status);

/* PURE: signals by name. */

/* Number of "USR1", "SIGUSR1", "usr1", "10", "RTMIN", "RTMIN+1" or "RTMAX-2"; 0: no such signal, or
 * one of the two that the C library reserves. */
int signal_name_parse(const char *text);

#define SIGNAL_NAME_SIZE 16

/* 10 -> "SIGUSR1", 35 -> "SIGRTMIN+1", 99 -> "signal 99"; returns `buffer`
 * (SIGNAL_NAME_SIZE bytes). */
const char *signal_name_format(int number, char *buffer);

/* PURE. The exit code of an ended process. */

/* The exit code as shells have it: the process's own, or 128 + n if signal n killed it.
 * `wait_status` as waitpid(2) gives it for a process that has ended. */
int wait_status_exit_code(int wait_status);

#endif
