/*
 * Named fault points, for tests which prove that a kill at any of them loses nothing that was
 * committed. REPRIEVE_FAULT=name kills this process (SIGKILL) when it reaches that point,
 * REPRIEVE_FAULT=name:3 at the third time; with "/stop" behind it, the process stands still
 * (SIGSTOP) instead. Without the variable, a point costs one load.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

void fault_point(const char *name);

#endif
