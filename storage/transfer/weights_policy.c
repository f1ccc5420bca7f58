#include "weights_policy.h"

#include "base/text.h"

#define MIB ((uint64_t)1 << 20)
/* Less says nothing. */
#define READ_LEAST (32 * MIB)
#define CODED_LEAST (8 * MIB)
/* Of the slower of the two widths, on an old processor: until it is measured. */
#define CODER_US_PER_MIB_GUESS 2500

int weights_policy_parse(const char *text, enum weights_policy *policy, struct err *err)
{
	static const char *const names[] = {"auto", "always", "never"};

	*policy = WEIGHTS_AUTO;
	if (!text || !text[0])
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!text_equal(text, names[i]))
			continue;
		*policy = (enum weights_policy)i;
		return 0;
	}
	return err_set(err, ERR_INVALID,
		       "REPRIEVE_STORE_WEIGHTS=\"%.60s\": expected auto, always or never", text);
}

/* Old measurements count for half, and then for a quarter. Two threads that do so at once halve
 * twice: no harm. */
static void age(_Atomic uint64_t *value)
{
	atomic_store(value, atomic_load(value) / 2);
}

void weights_meter_read(struct weights_meter *meter, uint64_t bytes)
{
	if (atomic_fetch_add(&meter->read_bytes, bytes) + bytes < WEIGHTS_WINDOW)
		return;
	age(&meter->read_bytes);
	age(&meter->waited_us);
	age(&meter->coded_bytes);
	age(&meter->coder_us);
}

void weights_meter_waited(struct weights_meter *meter, int64_t us)
{
	atomic_fetch_add(&meter->waited_us, us > 0 ? (uint64_t)us : 0);
}

void weights_meter_coded(struct weights_meter *meter, uint64_t bytes, int64_t us)
{
	atomic_fetch_add(&meter->coded_bytes, bytes);
	atomic_fetch_add(&meter->coder_us, us > 0 ? (uint64_t)us : 0);
}

void weights_meter_facts(const struct weights_meter *meter, struct weights_facts *facts)
{
	facts->read_bytes = atomic_load(&meter->read_bytes);
	facts->waited_us = atomic_load(&meter->waited_us);
	facts->coded_bytes = atomic_load(&meter->coded_bytes);
	facts->coder_us = atomic_load(&meter->coder_us);
}

/* In microseconds for the bytes that were read. What was coded among them is not to be waited for
 * again: its time counts as waited, or it would stop as soon as it helps. */
bool weights_pay(const struct weights_facts *facts)
{
	uint64_t cost = facts->read_bytes / MIB * CODER_US_PER_MIB_GUESS;

	if (facts->policy != WEIGHTS_AUTO)
		return facts->policy == WEIGHTS_ALWAYS;
	if (!facts->remote || facts->read_bytes < READ_LEAST)
		return false;
	if (facts->coded_bytes >= CODED_LEAST)
		cost = facts->read_bytes / MIB * (facts->coder_us / (facts->coded_bytes / MIB));
	/* Nobody waits any more: the processors limit, whatever the coder hides. */
	if (facts->waited_us * 10 < facts->coder_us)
		return false;
	return facts->waited_us + facts->coder_us > cost;
}
