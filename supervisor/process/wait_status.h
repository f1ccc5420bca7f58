/* PURE. The exit code of an ended process. */
#ifndef WAIT_STATUS_H
#define WAIT_STATUS_H

/* The exit code as shells have it: the process's own, or 128 + n if signal n killed it.
 * `wait_status` as waitpid(2) gives it for a process that has ended. */
int wait_status_exit_code(int wait_status);

#endif
