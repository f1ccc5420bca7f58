/* PURE. The verdict as JUnit's XML, which CI systems show: one case for each preemption, the last
 * run and the comparison, and one for the whole. What has not passed is a failure, UNPROVEN too:
 * its type says which. */
#ifndef JUNIT_H
#define JUNIT_H

#include "base/text.h"
#include "drill/resumption.h"

struct junit {
	struct bytes cases;
	unsigned tests, failures;
};

/* `reason`: why it has not passed; of a pass it is shown as output. NULL: nothing to say. */
void junit_add(struct junit *junit, const char *name, enum drill_result result, const char *reason);
/* The whole file of a drill that has no verdict; the caller frees. */
char *junit_without_verdict(const char *reason);
/* The whole file; the caller frees. */
char *junit_format(const struct junit *junit);
void junit_release(struct junit *junit);
AUTO(struct junit, junit_release);

#endif
