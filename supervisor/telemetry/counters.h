/* PURE. Counts the events of this run (event_log.h), for metrics and status. */
#ifndef COUNTERS_H
#define COUNTERS_H

#include <jansson.h>
#include <stdint.h>

struct counters {
	uint64_t snapshots, snapshot_failures, requests, notices, cancelled;
	uint64_t bytes, bytes_sent; /* of all snapshots */
	double snapshot_seconds;    /* of the newest snapshot, from complete to durable */
	uint64_t snapshot_bytes;    /* of the newest snapshot */
	double restore_seconds;
	uint64_t restored_bytes;
	char source[32]; /* of the newest notice; "": none */
};

/* `event`: its name in the event log. `line`: its object, borrowed. */
void counters_add(struct counters *counters, const char *event, json_t *line);

/* An object; the caller owns it. */
json_t *counters_json(const struct counters *counters);

#endif
