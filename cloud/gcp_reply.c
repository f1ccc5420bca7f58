#include "gcp_reply.h"

#include "base/clock.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

/* False where `verdict` is set: not an answer of this server that holds a value. */
static bool read_value(
	const struct answer *answer, char *value, size_t capacity, struct verdict *verdict)
{
	bool is_google = answer->flavor && text_equal(answer->flavor, "Google");
	bool is_gke = answer->server && strstr(answer->server, "GKE");

	if (is_google && answer->status == 404) {
		verdict_set(verdict, VERDICT_ABSENT, "%s",
			is_gke ? "GKE's metadata server does not serve this key: use hostNetwork, "
				 "or "
				 "rely on SIGTERM (about 15 s)"
			       : "the metadata server does not serve this key here (GKE's does "
				 "not): "
				 "use hostNetwork, or rely on SIGTERM");
		return false;
	}
	if (answer->status != 200) {
		verdict_unexpected(verdict, answer);
		return false;
	}
	if (!is_google) {
		verdict_set(verdict, VERDICT_UNKNOWN,
			"answered 200 without Metadata-Flavor: this is not Google's metadata "
			"server");
		return false;
	}
	if (!answer_text(answer, value, capacity) || !value[0]) {
		verdict_unexpected(verdict, answer);
		return false;
	}
	return true;
}

void gcp_preempted_reply(const struct answer *answer, struct verdict *verdict)
{
	char value[64];

	if (!read_value(answer, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "FALSE") == 0)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (strcmp(value, "TRUE") == 0)
		verdict_notice(verdict, NOTICE_STOP, "gcp", "preempted",
			answer->arrived_ms + GCP_NOTICE_MS, answer->arrived_ms,
			"spot VM preempted");
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered neither TRUE nor FALSE");
}

void gcp_maintenance_reply(const struct answer *answer, struct verdict *verdict)
{
	char value[64];

	if (!read_value(answer, value, sizeof(value), verdict))
		return;
	if (strcmp(value, "NONE") == 0)
		verdict_set(verdict, VERDICT_NEGATIVE, "%s", "");
	else if (strcmp(value, "MIGRATE_ON_HOST_MAINTENANCE") == 0)
		verdict_notice(verdict, NOTICE_ADVICE, "gcp", "maintenance", CLOCK_NEVER,
			answer->arrived_ms, "the VM will be migrated for host maintenance");
	else if (strcmp(value, "TERMINATE_ON_HOST_MAINTENANCE") == 0)
		verdict_notice(verdict, NOTICE_ADVICE, "gcp", "maintenance", CLOCK_NEVER,
			answer->arrived_ms,
			"the VM will be stopped for host maintenance within the hour");
	else
		verdict_set(verdict, VERDICT_UNKNOWN, "answered an unknown maintenance event");
}

bool gcp_etag_is_usable(const char *etag)
{
	size_t length = 0;

	for (; etag && etag[length]; length++)
		if (!isalnum((unsigned char)etag[length]) || length == 64)
			return false;
	return length > 0;
}

int64_t gcp_backoff_ms(unsigned failures)
{
	/* The server is away for less than a second just when a maintenance event begins: never wait longer than that. */
	if (failures <= 1)
		return 200;
	return failures == 2 ? 400 : failures == 3 ? 800 : 1000;
}
