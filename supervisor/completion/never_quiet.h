/* A file that stays open, or saves that follow each other too closely: then nothing is ever complete, and that must be known. */
#ifndef NEVER_QUIET_H
#define NEVER_QUIET_H

#include "detector.h"

struct never_quiet {
	int64_t since_ms; /* 0: it is quiet now and then */
	bool warned;
};

/* After each decision. Warns once. `directory` is named. */
void never_quiet_decided(struct never_quiet *quiet, const struct sealing *sealing,
	enum sealing_verdict verdict, const char *directory, int64_t quiet_ms, int64_t now_ms);

#endif
