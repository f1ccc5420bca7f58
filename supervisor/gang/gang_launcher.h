/*
 * PURE. Whether the command to run starts the job on all machines by itself, from this one: then
 * one supervisor stands for all of them, and what a launcher says of several machines is meant for
 * that command. Only what can be told for certain: the program, behind `env` and `python -m` too.
 * What is started on each machine (torchrun, accelerate) is none.
 */
#ifndef GANG_LAUNCHER_H
#define GANG_LAUNCHER_H

/* `argv` ends with NULL. The word that says so, of `argv`; NULL: none does. */
const char *gang_launcher_of_all(const char *const *argv);

#endif
