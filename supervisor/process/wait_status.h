/* PURE. What waitpid(2) says of a process that has ended. */
#ifndef WAIT_STATUS_H
#define WAIT_STATUS_H

/* The exit code as shells give it: the process's own, or 128 + n if signal n killed it.
 * `wait_status` is that of an end. */
int wait_status_exit_code(int wait_status);

#endif
