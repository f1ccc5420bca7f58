/* PRIVATE. PURE. What the EC2 metadata service's answers mean. */
#ifndef CLOUD_AWS_REPLY_H
#define CLOUD_AWS_REPLY_H

#include "reply.h"

enum {
	/* When `time` is no time: the notice is about 120 s long, and some of it is gone. */
	AWS_NOTICE_GUESSED_MS = 100 * 1000,
	AWS_NOTICE_MOST_MS = 10 * 60 * 1000,
	/* When EC2 fails to terminate, the time stays in the past: that must not
	 * end every new start. */
	AWS_STALE_MS = 60 * 1000,
	/* An Auto Scaling group that takes an instance out tells no time. Without a lifecycle hook
	 * 39 s were seen (node-termination-handler issue 1022); with one there is more. */
	AWS_STATE_GUESSED_MS = 30 * 1000,
	/* Maintenance is announced days ahead: advised once more when it is so near. */
	AWS_MAINTENANCE_NEAR_MS = 5 * 60 * 1000,
	AWS_EVENTS_MOST = 8,
};

/* How one request of the start went. */
struct aws_attempt {
	bool timed_out;
	int status;   /* 0: no answer */
	bool shaped;  /* the body is what it should be: a token, an instance id */
	bool foreign; /* another cloud's header stands on the answer */
};

enum aws_access {
	AWS_UNDECIDED,  /* try again soon */
	AWS_WITH_TOKEN, /* IMDSv2 */
	AWS_TOKENLESS,  /* IMDSv1 */
	AWS_HOP_LIMIT,  /* a token is required, and its answer does not reach us */
	AWS_DISABLED,
	AWS_ABSENT,  /* nothing answers */
	AWS_REFUSED, /* connections are refused or cut off: try again soon */
	AWS_FOREIGN, /* something answers, but it is not EC2 */
};

/* From the PUT for a token, and the GET of instance-id without one. `get` is not looked at where
 * the PUT gave a token. */
enum aws_access aws_access_decide(const struct aws_attempt *put, const struct aws_attempt *get,
				  bool tokenless_allowed);
/* For all but the first three: what to say, with the fix. Static. */
const char *aws_access_why(enum aws_access access);

bool aws_instance_reply(const struct reply *reply);

/* spot/instance-action: STOP; hibernate is ADVICE, for the job is frozen and goes
 * on where it was. */
void aws_action_reply(const struct reply *reply, struct verdict *verdict);
/* events/recommendations/rebalance: ADVICE. */
void aws_rebalance_reply(const struct reply *reply, struct verdict *verdict);

/* autoscaling/target-lifecycle-state: STOP for those in which the machine ends. */
void aws_state_reply(const struct reply *reply, struct verdict *verdict);

struct aws_events {
	enum verdict_kind kind; /* NEGATIVE: well-formed, and nothing is ahead */
	struct notice notices[AWS_EVENTS_MOST];
	size_t count;
	char why[200];
};
/* events/maintenance/scheduled: ADVICE, and STOP from AWS_MAINTENANCE_NEAR_MS before one that ends
 * the machine's run. */
void aws_maintenance_reply(const struct reply *reply, struct aws_events *events);

#endif
