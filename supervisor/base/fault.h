/*
 * Named fault points. REPRIEVE_FAULT=name kills this process with SIGKILL when it gets there,
 * REPRIEVE_FAULT=name:3 at the third time: the tests prove that nothing committed is lost at any of
 * them. With the variable unset a point costs one load.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

void fault_point(const char *name);

#endif
