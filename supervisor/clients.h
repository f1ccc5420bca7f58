/* The files that jobs copy to be asked by a flag (shim/reprieve.h, shim/reprieve.py), as they were when this program was built. */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <stdbool.h>

/* Prints the one for "c" or "python" to stdout; false for another name. */
bool clients_print(const char *language);

#endif
