/*
 * supervisor/telemetry/: how the outside learns what happens: the event log, and counters, metrics,
 * webhooks and probes that follow it.
 *
 * For other folders, through this header alone; read event_log.h first:
 *
 *	event_log.h		every event as a JSON line (--events); others subscribe to it
 *	observers.h		all that follows the events of one run
 *	event_buffer.h		PURE: events on their way to the store, bounded
 *	counters.h		PURE: counts the events, for metrics and status
 *	metrics_format.h	PURE: the status as Prometheus text
 *	metrics_server.h	--metrics: serves it over HTTP, with /livez and /readyz
 *	health_probe.h		PURE: what a liveness or readiness probe answers
 *	notification.h		the text and the JSON of a webhook (--notify); sends it
 *	notice_format.h		notices and their sources, for people and as JSON
 *	labels.h		PURE: the user's labels for a run (--label)
 *	redact.h		PURE: removes secrets from a command line
 *
 * Of this folder only:
 *
 */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include "counters.h"
#include "event_buffer.h"
#include "event_log.h"
#include "health_probe.h"
#include "labels.h"
#include "metrics_format.h"
#include "metrics_server.h"
#include "notice_format.h"
#include "notification.h"
#include "observers.h"
#include "redact.h"

#endif
