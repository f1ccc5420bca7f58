/* PURE: signals by name. */
#ifndef SIGNAL_NAME_H
#define SIGNAL_NAME_H

/* "USR1", "SIGUSR1", "usr1", "10", "RTMIN", "RTMIN+1", "RTMAX-2" -> number. 0 for anything else,
 * also for the two signals that the C library keeps for itself. */
int signal_name_parse(const char *text);

#define SIGNAL_NAME_SIZE 16

/* 10 -> "SIGUSR1", 35 -> "SIGRTMIN+1", 99 -> "signal 99"; returns `buffer`
 * (SIGNAL_NAME_SIZE bytes). */
const char *signal_name_format(int number, char *buffer);

#endif
