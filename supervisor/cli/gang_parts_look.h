/* Who has given a part in a gang's open round: only the store knows it of all. */
#ifndef GANG_PARTS_LOOK_H
#define GANG_PARTS_LOOK_H

#include <jansson.h>

/* Adds to "gang" > "round" of a supervisor's answer, if that round is open, the numbers of the
 * members: "given" and "missing"; or, if the store does not say so within some seconds, "unknown":
 * why. One listing. Of any other answer nothing is changed. */
void gang_parts_look(json_t *answer);

#endif
