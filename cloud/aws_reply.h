/* PRIVATE. PURE. Judges the replies of the EC2 metadata service. */
#ifndef CLOUD_AWS_REPLY_H
#define CLOUD_AWS_REPLY_H

#include "reply.h"

enum {
	/* For an invalid `time`: the notice is about 120 s long, and some of it has passed. */
	AWS_NOTICE_GUESSED_MS = 100 * 1000,
	AWS_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* If EC2 fails to terminate, the time stays in the past: it must not end every new
	 * start. */
	AWS_STALE_MS = 60 * 1000,
	/* An Auto Scaling group that removes an instance gives no time. Without a lifecycle hook 39
	 * s were seen (node-termination-handler issue 1022); with one there is more. */
	AWS_STATE_GUESSED_MS = 30 * 1000,
	/* Maintenance is announced days ahead; it is reported once more this long before. */
	AWS_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
	AWS_EVENTS_MOST = 8,
};

/* The result of one request at the start. */
struct aws_attempt {
	bool timed_out;
	int status;   /* 0: no reply */
	bool shaped;  /* the body is valid: a token or an instance id */
	bool foreign; /* the reply has another cloud's header */
};

enum aws_access {
	AWS_UNDECIDED,  /* try again soon */
	AWS_WITH_TOKEN, /* IMDSv2 */
	AWS_TOKENLESS,  /* IMDSv1 */
	AWS_HOP_LIMIT,  /* a token is required, and the reply with it does not reach us */
	AWS_DISABLED,
	AWS_ABSENT,  /* no reply */
	AWS_REFUSED, /* connections are refused or reset: try again soon */
	AWS_FOREIGN, /* something replies, but it is not EC2 */
};

/* Decides from the PUT for a token and the GET of instance-id without one. `get` is ignored if the
 * PUT returned a token. */
enum aws_access aws_access_decide(const struct aws_attempt *put, const struct aws_attempt *get,
				  bool tokenless_allowed);
/* For all but the first three: the reason and the fix, for the user. Static. */
const char *aws_access_why(enum aws_access access);

bool aws_instance_reply(const struct reply *reply);

/* spot/instance-action: STOP. hibernate is ADVICE, because the job is frozen and continues
 * later. */
void aws_action_reply(const struct reply *reply, struct verdict *verdict);
/* events/recommendations/rebalance: ADVICE. */
void aws_rebalance_reply(const struct reply *reply, struct verdict *verdict);

/* autoscaling/target-lifecycle-state: STOP for the states in which the machine ends. */
void aws_state_reply(const struct reply *reply, struct verdict *verdict);

struct aws_events {
	enum verdict_kind kind; /* NEGATIVE: well-formed, and nothing is planned */
	struct notice notices[AWS_EVENTS_MOST];
	size_t count;
	char why[200];
};
/* events/maintenance/scheduled: ADVICE, and STOP from AWS_MAINTENANCE_NEAR_MS before an event that
 * ends the instance. */
void aws_maintenance_reply(const struct reply *reply, struct aws_events *events);
/* Leaves out what need not be told: an event that was near when it was first seen, and so is told
 * as near, is not told a second time as one to come. `told`: the notices so far. */
void aws_events_leave_out_far(struct aws_events *events, const struct notice *told, size_t count);

#endif
