/* Shared by sink.c (connections and HTTP) and sink_objects.c (what is kept, and S3's answers). */
#ifndef SINK_H
#define SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where bytes of the client come from and go to. */
struct peer;

/* Write all of it; false: the client is gone. */
bool peer_send(struct peer *peer, const void *data, size_t size);

#define KEY_MOST 2048

struct request {
	char method[8];
	char path[KEY_MOST];  /* decoded, without the first '/' */
	char query[KEY_MOST]; /* as it came */
	uint64_t body_size;
	uint64_t range_first, range_last; /* inclusive */
	bool ranged, if_absent, streaming, expects, close;
	uint8_t *body; /* of body_room(), owned by whoever answers */
};

/* Memory that is cheap to touch for the first time. */
uint8_t *body_room(uint64_t size);
void body_free(uint8_t *body, uint64_t size);

/* "%41" -> "A"; cut off where there is no room. */
void decode(const char *text, size_t length, char *target, size_t capacity);

/* Does what is asked for and answers; takes the body. False: the client is gone. */
bool objects_answer(struct peer *peer, struct request *request);

#endif
