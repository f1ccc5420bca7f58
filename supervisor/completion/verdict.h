/*
 * PURE. What is known of one checkpoint -> is it complete, and why. This is the rule of the whole
 * folder; COMPLETENESS.md explains it. No I/O, no clock, no strings to compare.
 */
#ifndef CHECKPOINT_VERDICT_H
#define CHECKPOINT_VERDICT_H

#include "completion/directory_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
	VERDICT_UNDER_WAY, /* it is being written, or what would complete it may still come */
	VERDICT_COMPLETE,
	VERDICT_TORN, /* it is known that it will never be complete */
};

/* Why. In the order of their strength for COMPLETE: the first one that is there decides. */
enum verdict_reason {
	/* UNDER_WAY */
	REASON_OPEN,   /* a file of it is open for writing */
	REASON_MOVING, /* it was written a moment ago, and nothing stronger than quiet is there */
	REASON_FEWER,  /* it has fewer files than its signature */
	REASON_TEMPORARY, /* a file of it still has a temporary name */
	REASON_PENDING,   /* its content or its layout lacks something that may still come */
	REASON_LOOKED_AT, /* only shown: see verdict_reason_shown() */
	/* COMPLETE */
	REASON_OWN_WORD,  /* the job called it complete */
	REASON_COMMIT,    /* the framework's marker, or the rename of its directory into place */
	REASON_SIGNATURE, /* all files that earlier ones had, none smaller, each closed by its
			     writer */
	REASON_NEXT,      /* its writer has begun the next one, and it lacks nothing */
	REASON_QUIET,     /* none of its files was touched for the quiet time */
	REASON_PATIENCE,  /* fewer files than its signature, but nothing came for much longer, or
			     before the second one after it */
	REASON_FORMAT,    /* its writer died, but had closed its file, whole by its format */
	REASON_ENDED,     /* the job ended by itself, with nothing open */
	/* TORN */
	REASON_DIED,   /* its writer ended before all of it was known to be complete */
	REASON_DEFECT, /* its content or its layout lacks something, and nobody adds it any more */
	REASON_COUNT,
};

/* Compared with the names that earlier complete checkpoints of its kind had (signature.h). */
enum signature_match {
	SIGNATURE_UNKNOWN, /* it is the first of its kind */
	SIGNATURE_FEWER,
	/* all that each of them had, but not a name that one of the last few had */
	SIGNATURE_OTHER,
	/* all names, but a file is smaller than the one before: a write may have failed */
	SIGNATURE_SMALLER,
	SIGNATURE_FULL,
};

/* Of one whose only file was closed by a writer that has died since: is it whole? */
enum format_evidence {
	FORMAT_NOT_ASKED, /* nobody has died, or not before it was closed */
	FORMAT_UNCHECKED, /* it counts as whole; it is checked before that takes effect */
	FORMAT_WHOLE,     /* by a format that records its end */
	FORMAT_UNKNOWN,   /* it has no such format */
};

struct checkpoint_facts {
	/* a file is open for writing, or the kernel reported a write without a close */
	bool open;
	/* the shim reported who closed each of its files, so that no death can hide behind a close
	 */
	bool witnessed;
	/* a process that wrote to it ended badly before it was complete */
	bool writer_died;
	/* a file of it has a name that its writer will change when it is finished; once it was
	 * still for long, the name is taken to stay */
	bool temporary;
	enum format_evidence format;
	/* nothing was written since: the job's word; the framework's commit */
	bool own_word, committed;
	/* that commit was the rename of its directory into place, and the one before it got
	 * nothing after its own: then it has all that it will have, whatever the files of others
	 * were called */
	bool placed;
	/* how many later ones all of its writers have begun */
	unsigned later;
	enum signature_match signature;
	enum job_end job_end;
	/* its last file was closed or renamed after the job had been asked */
	bool answers;
	/* nothing of its own was touched for so long, as far as we were awake to see it */
	int64_t still_ms;
	/* the longest pause between two files of an earlier one of its kind */
	int64_t pause_ms;
	/* the quiet time */
	int64_t quiet_ms;
	/* the content check found something missing (content_check.h), which may still come for
	 * `defect_wait_ms` */
	bool defect;
	int64_t defect_wait_ms;
};

struct judgement {
	enum verdict verdict;
	enum verdict_reason reason;
	/* UNDER_WAY: the verdict may be another after so many ms without an event; INT64_MAX: only
	 * an event changes it */
	int64_t wait_ms;
};

struct judgement verdict_of(const struct checkpoint_facts *facts);

/* How long one with fewer files than its signature, or with temporary names, is waited for. */
int64_t verdict_patience_ms(int64_t quiet_ms, int64_t pause_ms);

/* How long a file is waited for that may come as late as it did before, by `lag_ms`, and need not
 * come. */
int64_t verdict_partner_ms(int64_t quiet_ms, int64_t lag_ms);

/* The reason to show of a checkpoint that has this verdict. A verdict by its files alone takes
 * effect after a look at the directory and at what is in the files; what is written again before
 * that stays under way, and is said to be neither complete nor torn. */
enum verdict_reason verdict_reason_shown(enum verdict verdict, enum verdict_reason reason);

/* For people: "all files that earlier checkpoints had are closed". Static. */
const char *verdict_reason_text(enum verdict_reason reason);
/* For programs: "signature". Static. */
const char *verdict_reason_name(enum verdict_reason reason);

#endif
