/*
 * supervisor/telemetry/: MAP
 *
 * For other folders, through this header alone:
 *
 *	counters.h      PURE: What happened in this run, counted from its events (event_log.h), for
 *	                metrics and reports
 *	event_buffer.h	* PURE
 *	event_log.h	* What happened, as JSON lines: --events FILE
 *	health_probe.h	* PURE
 *	labels.h	PURE: What the user calls a run for reports and metrics: --label team=nlp
 *	metrics_format.h	* PURE
 *	metrics_server.h        * --metrics ADDRESS: /metrics for Prometheus, and /livez and /readyz
 *	                        for probes over HTTP (200 or 503; health_probe.h)
 *	notice_format.h Notices and the sources of them, for people and as JSON: one form for
 *	status, watch and the log
 *	notification.h	What a webhook is told of a preemption and of how it ended
 *	redact.h	* PURE: a job's command line without what must not leave the machine
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
#include "redact.h"

#endif
