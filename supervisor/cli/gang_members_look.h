/* What of a gang's members is known on this machine. */
#ifndef GANG_MEMBERS_LOOK_H
#define GANG_MEMBERS_LOOK_H

#include <jansson.h>

/* Of a supervisor's answer: adds "supervisor" to those of "gang" > "list" that have not ended:
 * "answers", if it is one of all `answers` of this machine; "gone", if it ran here and was killed.
 * Of any other nothing is known here, and nothing is added. Reads session directories. */
void gang_members_look(json_t *answer, json_t *answers);

#endif
