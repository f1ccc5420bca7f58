/*
 * The state of sending and fetching for one job. A save, an early upload and a restore share one
 * struct transfer, so that what one has sent or measured serves the next.
 */
#ifndef JOB_TRANSFER_H
#define JOB_TRANSFER_H

#include "chunk_index.h"
#include "storage/backend/backend.h"

#include <stdatomic.h>
#include <stdbool.h>

struct transfer_plan_facts {
	unsigned processors; /* for hashing and verifying */
	/* 0: 8 to 24 up and 16 down for a remote store, one per processor for a local one */
	unsigned connections;
	uint64_t memory;    /* bytes for buffers; 0: 256 MiB */
	uint64_t bandwidth; /* bytes per second; 0: no limit */
	bool remote;
};

struct transfer_plan {
	/* uploading */
	unsigned readers;                    /* read, hash and pack: each fills one buffer */
	unsigned uploaders_first, uploaders; /* connections: at the begin, and at most */
	unsigned buffers;                    /* of one pack each */
	size_t pack_target;                  /* payload of a pack: whole chunks, 8 to 32 MiB */
	/* fetching */
	unsigned fetchers; /* each has at most one chunk in memory, compressed and not */
	size_t span;       /* bytes that one request for neighbouring chunks may ever cover */
};

/* Memory below the minimum that works (about 32 MiB) counts as that minimum. */
void transfer_plan(const struct transfer_plan_facts *facts, struct transfer_plan *plan);

/* Bytes that the next request may cover when `left` are to be fetched: large ones while there are
 * many, which is cheap, and small ones at the end, so that all connections end at about the same
 * time. */
size_t transfer_plan_span(const struct transfer_plan *plan, uint64_t left);

/* The part of the time left before the deadline, in ms, that packs may not use: checking for a
 * newer attempt and writing the manifest come after them. */
int64_t transfer_plan_reserve_ms(int64_t left_ms, bool remote);

#define HEDGE_SAMPLES 64

/* The durations of the last uploads. Zero-initialised is empty. */
struct hedge {
	int64_t took_ms[HEDGE_SAMPLES];
	unsigned count; /* samples ever added */
};

void hedge_add_sample(struct hedge *hedge, int64_t took_ms);

/* The age in ms from which an upload is late: max(1 s, P90 + 0.7 s). CLOCK_NEVER: too few
 * samples. */
int64_t hedge_late_ms(const struct hedge *hedge);

struct hedge_facts {
	int64_t age_ms;      /* since it was first sent */
	unsigned sent;       /* puts begun for this pack */
	unsigned hedged_now; /* packs that are being sent twice now */
	unsigned connections;
};

/* Whether to send the pack a second time: once per pack, and for at most a quarter of the
 * connections at a time, because sending twice makes it worse when all uploads are slow. */
bool hedge_is_due(const struct hedge *hedge, const struct hedge_facts *facts);

struct rate_limit {
	/* 0: no limit */
	uint64_t bytes_per_second;
	/* when the debt is paid; zero-initialised is long ago */
	int64_t paid_ms;
};

/* Takes `bytes` from the bucket; returns the ms to wait before sending them. Unused bandwidth
 * counts for one second at most. `now_ms` is monotonic. */
int64_t rate_limit_consume(struct rate_limit *rate, uint64_t bytes, int64_t now_ms);

enum weights_policy {
	WEIGHTS_AUTO,
	WEIGHTS_ALWAYS,
	WEIGHTS_NEVER,
};

/* PURE. `text` as in REPRIEVE_STORE_WEIGHTS; NULL and "" are WEIGHTS_AUTO. ERR_INVALID says what
 * may be given. */
int weights_policy_parse(const char *text, enum weights_policy *policy, struct err *err);

/* PURE. Whether weights are compressed before they are sent. `slack_ms`: how long what is queued
 * keeps the connections busy. */
bool weights_pay(enum weights_policy policy, bool remote, int64_t slack_ms);

/* How many connections send. Zero-initialise it. */
struct upload_growth {
	unsigned connections;
	uint64_t best; /* bytes per second */
	/* Since a moment at which nothing was under way, or the last decision. */
	int64_t began_ms;
	unsigned packs;
	uint64_t bytes;
};

/* PURE. Nothing was under way: what comes is measured from now on. */
void upload_growth_begin(struct upload_growth *growth, const struct transfer_plan *plan,
			 int64_t now_ms);
/* PURE. A pack was stored. As soon as each connection has sent one, there are half as many more, if
 * all together have become faster. */
void upload_growth_add(struct upload_growth *growth, const struct transfer_plan *plan,
		       uint64_t bytes, int64_t now_ms);

struct pack_uploader;

/* A whole pack that was fetched before it was certain that it is wanted. What it holds is checked
 * like what comes from the store. */
struct early_pack {
	char *key; /* as a manifest names it; NULL: there is none */
	struct bytes data;
};

struct transfer {
	struct store *store;
	/* The job's name: its packs are below jobs/<job>/packs/. */
	char *job;
	/* The chunks that need not be sent again. */
	struct chunk_index index;
	/* For file_stamp_mark(): this boot of this machine, or, where that is not known, by
	 * chance. */
	uint64_t boot;
	/* The store is reached over the network. */
	bool remote;
	/* Runs beside a job: low priority, until `urgent`. */
	bool background;
	/* Set by storage_set_urgent(), from any thread. */
	atomic_bool urgent;
	struct transfer_plan plan;
	enum weights_policy weights;
	/* Used by the uploader alone, under its mutex. */
	struct hedge hedge;
	struct upload_growth growth;
	struct rate_limit rate;
	/* Kept from an early upload to the save that follows; else NULL. */
	struct pack_uploader *uploader;
	/* How far early uploads have read growing files. */
	struct append_progress append_progress;
	struct early_pack early;
};

/* Not while others read it. */
void transfer_drop_early(struct transfer *transfer);

/* The store key of a pack whose key in a manifest is `key`, "packs/...". The caller frees. */
char *transfer_pack_key(const struct transfer *transfer, const char *key);
/* Of its copy, where it was found damaged and set aside. */
char *transfer_aside_key(const struct transfer *transfer, const char *key);

#endif
