#include "start_end.h"

#include <stdio.h>

static const char *host_or(const char *host, const char *other)
{
	return host[0] ? host : other;
}

static int refuse_by_roster(struct gang_start *start, const struct gang_roster *roster,
			    struct cancel *cancel, struct err *err)
{
	struct gang_self *self = &start->self;
	const char *by = host_or(roster->by.host, "another machine");
	char reason[160], who[32] = "";

	/* It stays, for the others to see. */
	if (roster->state == ROSTER_CONTRADICTED || roster->state == ROSTER_DOUBLED)
		self->joined = false;
	if (roster->state == ROSTER_REFUSED) {
		storage_gang_reason(start->storage, self->after, &roster->by, reason, cancel);
		if (roster->by.members > 0)
			snprintf(who, sizeof(who), "member %u on ", roster->by.member);
		return err_set(err, ERR_INVALID, "not started: %s%s cannot take part: %s", who, by,
			       reason[0] ? reason : "its log says why");
	}
	if (roster->state == ROSTER_TWICE) {
		start->tells_all = true;
		return err_set(err, ERR_INVALID,
			       "not started: %s and %s both say that they are member %u of this "
			       "gang, and began at the same time: give each its own --member",
			       host_or(self->own.host, "this machine"), by, self->own.member);
	}
	if (roster->state == ROSTER_CONTRADICTED)
		return err_set(err, ERR_INVALID,
			       "not started: here the gang has %u members, and at member %u on %s, "
			       "which came within a minute of it, %u: give all the same --gang, or "
			       "each job its own --job",
			       self->own.members, roster->by.member, by, roster->by.members);
	if (roster->state == ROSTER_DOUBLED)
		return err_set(err, ERR_INVALID,
			       "not started: %s and %s both say that they are member %u of this "
			       "gang: give each its own --member",
			       by, host_or(roster->with.host, "another machine"),
			       roster->by.member);
	if (roster->state == ROSTER_OUTRUN)
		return err_set(err, ERR_INVALID,
			       "not started: the whole gang has been started once more, on %s "
			       "among others: that start counts, and this one is over",
			       by);
	return err_set(err, ERR_INVALID,
		       "not started: %s, which came later, is member %u of this gang too; this "
		       "machine is stale, or both were given the same --member",
		       by, self->own.member);
}

int start_end_explain(struct gang_start *start, const struct start_decision *decision,
		      struct cancel *cancel, struct err *err)
{
	const struct gang_claim *claim = &start->claim;

	switch (decision->end) {
	case START_END_ROSTER:
		return refuse_by_roster(start, &decision->roster, cancel, err);
	case START_END_STALE:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, has another machine as "
			       "member %u: this one is stale",
			       claim->attempt, claim->host, start->self.own.member);
	case START_END_OUTRUN:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, is of a later start of "
			       "the whole gang: that start counts, and this one is over",
			       claim->attempt, claim->host);
	case START_END_REFUSED:
		start->is_refused = true;
		return err_set(err, ERR_INVALID,
			       "not started: member %u on %s cannot take part: %s",
			       start->first.member, host_or(start->first.host, "another machine"),
			       start->first.reason);
	case START_END_OWN:
		return err_set(err, ERR_INVALID, "not started: %s", start->refusal);
	case START_END_OTHER_GANG:
	default:
		return err_set(err, ERR_INVALID,
			       "not started: attempt %u, claimed on %s, is not of a gang of %u: "
			       "give all the same --gang, or each job its own --job",
			       claim->attempt, claim->host, start->self.own.members);
	}
}
