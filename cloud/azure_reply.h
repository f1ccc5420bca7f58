/* PRIVATE. PURE. Judges the replies of Azure's instance metadata service. */
#ifndef CLOUD_AZURE_REPLY_H
#define CLOUD_AZURE_REPLY_H

#include "reply.h"

enum {
	AZURE_NAME_MOST = 128,
	AZURE_EVENTS_MOST = 8,
	/* NotBefore is empty once the event has started: what is left then is the time of the
	 * guest's shutdown. */
	AZURE_STARTED_MS = 5 * 1000,
	/* Degraded hardware is announced days ahead: an event this far off is advice, and becomes a
	 * stop later. */
	AZURE_FAR_MS = 30 * 60 * 1000,
};

struct azure_events {
	enum verdict_kind kind; /* NEGATIVE: well-formed, and nothing concerns this VM */
	struct notice notices[AZURE_EVENTS_MOST];
	size_t count;
	size_t others; /* events for other VMs */
	char why[200];
};

/* compute/name as text. False: it cannot be the name of a VM. */
bool azure_name_reply(const struct reply *reply, char name[AZURE_NAME_MOST]);
/* scheduledevents, for the VM `name`. With "", any event makes it UNKNOWN. */
void azure_events_reply(const struct reply *reply, const char *name, struct azure_events *events);

#endif
