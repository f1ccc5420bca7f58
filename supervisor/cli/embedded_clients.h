/* The files that jobs copy to be asked by a flag (shim/reprieve.h, shim/reprieve.py), as they were
 * when this program was built. */
#ifndef EMBEDDED_CLIENTS_H
#define EMBEDDED_CLIENTS_H

#include <stdbool.h>

/* Prints the one for "c" or "python" to stdout; false for another name. */
bool embedded_clients_print(const char *language);

#endif
