/* PURE: signals by name. */
#ifndef SIGNAL_NAME_H
#define SIGNAL_NAME_H

/* Number of "USR1", "SIGUSR1", "usr1", "10", "RTMIN", "RTMIN+1" or "RTMAX-2"; 0: no such signal, or
 * one of the two that the C library reserves. */
int signal_name_parse(const char *text);

#define SIGNAL_NAME_SIZE 16

/* 10 -> "SIGUSR1", 35 -> "SIGRTMIN+1", 99 -> "signal 99"; returns `buffer`
 * (SIGNAL_NAME_SIZE bytes). */
const char *signal_name_format(int number, char *buffer);

#endif
