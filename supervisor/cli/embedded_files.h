/* The files that the program prints, as they were when it was built: what jobs copy to be asked by
 * a flag, the completions of the shells, what is said of exit codes. */
#ifndef EMBEDDED_FILES_H
#define EMBEDDED_FILES_H

#include <stdbool.h>

/* Prints what `reprieve VERB WORD` prints; false for another word. */
bool embedded_file_print(const char *verb, const char *word);

extern const char embedded_restarts_begin[]; /* RESTARTS.md */
extern const char embedded_style_begin[];    /* page.css */
extern const char embedded_script_begin[];   /* examples/bash/trap_and_sync.sh */

#endif
