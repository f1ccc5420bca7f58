/*
 * Whether weights are compressed before they are sent: worth it where the upload is what limits,
 * and a loss where the processors are. Measured in this process: readers wait for a buffer exactly
 * where the upload's bandwidth is less than what they read and hash, and the time that they wait is
 * what the coder may take.
 */
#ifndef WEIGHTS_POLICY_H
#define WEIGHTS_POLICY_H

#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum weights_policy {
	WEIGHTS_AUTO,
	WEIGHTS_ALWAYS,
	WEIGHTS_NEVER,
};

/* PURE. `text` as in REPRIEVE_STORE_WEIGHTS; NULL and "" are WEIGHTS_AUTO. ERR_INVALID says what
 * may be given. */
int weights_policy_parse(const char *text, enum weights_policy *policy, struct err *err);

/* Of the last WEIGHTS_WINDOW bytes or so. Zero-initialise it. From any thread. */
struct weights_meter {
	_Atomic uint64_t read_bytes, waited_us; /* of all readers */
	_Atomic uint64_t coded_bytes, coder_us; /* of the same; a part of read_bytes */
};

#define WEIGHTS_WINDOW ((uint64_t)256 << 20)

void weights_meter_read(struct weights_meter *meter, uint64_t bytes);
void weights_meter_waited(struct weights_meter *meter, int64_t us);
void weights_meter_coded(struct weights_meter *meter, uint64_t bytes, int64_t us);

struct weights_facts {
	enum weights_policy policy;
	bool remote;
	uint64_t read_bytes, waited_us, coded_bytes, coder_us;
};

void weights_meter_facts(const struct weights_meter *meter, struct weights_facts *facts);

/* PURE. */
bool weights_pay(const struct weights_facts *facts);

#endif
