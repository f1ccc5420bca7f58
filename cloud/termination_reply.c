#include "reply.h"

#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

const struct termination_form termination_alibaba = {.source = "alibaba", .id_prefix = "i-"};
/* "2018-08-18 12:05:33", in Beijing time without saying so. */
const struct termination_form termination_tencent = {
	.source = "tencent",
	.id_prefix = "ins-",
	.zone_ms = 8 * 3600 * 1000,
};

bool termination_instance_reply(const struct termination_form *form, const struct reply *reply)
{
	char id[64];

	if (reply->status != 200 || reply->flavor || !reply_text(reply, id, sizeof(id)) ||
	    !text_starts(id, form->id_prefix) || !id[strlen(form->id_prefix)])
		return false;
	for (const char *at = id + strlen(form->id_prefix); *at; at++)
		if (!isalnum((unsigned char)*at))
			return false;
	return true;
}

static bool has_zone(const char *text)
{
	return strchr(text, 'Z') || strchr(text, 'z') || strchr(text, '+') ||
	       (strlen(text) > 10 && strchr(text + 10, '-'));
}

void termination_reply(const struct termination_form *form, const struct reply *reply,
		       struct verdict *verdict)
{
	char text[64], at[32];
	int64_t when, left;

	if (reply->status == 404 && !reply->flavor && reply_first_char(reply) != '{') {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (reply->status != 200 || reply->flavor || !reply_text(reply, text, sizeof(text))) {
		verdict_unexpected(verdict, reply);
		return;
	}
	if (!text[0]) {
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
		return;
	}
	if (!isdigit((unsigned char)text[0]) || !datetime_parse(text, &when)) {
		verdict_set(verdict, VERDICT_UNKNOWN, "answered 200 without a time");
		return;
	}
	if (!has_zone(text))
		when -= form->zone_ms;
	left = when - reply->arrived_wall_ms;
	datetime_iso(when, at);
	if (left < -TERMINATION_STALE_MS) {
		verdict_set(verdict, VERDICT_NEGATIVE, "an old notice for %s is left over", at);
		return;
	}
	if (left < 0)
		left = 0;
	if (left > TERMINATION_MOST_MS)
		left = TERMINATION_MOST_MS;
	verdict_notice(verdict, NOTICE_STOP, form->source, "termination", reply->arrived_ms + left,
		       reply->arrived_ms, "spot instance reclaimed at %s", at);
}
