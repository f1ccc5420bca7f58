/* A file that stays open, or saves that follow each other too closely: then nothing is ever
 * complete, and that must be known. */
#ifndef STUCK_SAVE_H
#define STUCK_SAVE_H

#include "detector.h"

struct stuck_save {
	int64_t since_ms; /* 0: it is quiet now and then */
	bool warned;
};

/* After each decision. Warns once. `directory` is named. */
void stuck_save_update(struct stuck_save *stuck, const struct detector *detector,
		       enum detector_verdict verdict, const char *directory, int64_t quiet_ms,
		       int64_t now_ms);

#endif
