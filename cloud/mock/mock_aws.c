/* EC2's instance metadata service, version 2 only (HttpTokens=required). */
#include "mock_state.h"

#include "base/clock.h"
#include "base/datetime.h"
#include "base/file.h"

#include <string.h>

#define TOKEN_PATH "/latest/api/token"
#define TTL_HEADER "X-aws-ec2-metadata-token-ttl-seconds"
#define TEXT "text/plain"

static void reply_with_error(struct httpd_reply *reply, int status, const char *title)
{
	mock_reply(reply, status, "text/html",
		   "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n"
		   "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\"\n"
		   "\t\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
		   "<html xmlns=\"http://www.w3.org/1999/xhtml\" xml:lang=\"en\" lang=\"en\">\n"
		   " <head>\n  <title>%d - %s</title>\n </head>\n <body>\n  <h1>%d - %s</h1>\n "
		   "</body>\n</html>\n",
		   status, title, status, title);
}

void mock_issue_token(struct mock *mock, const char *asked, struct httpd_reply *reply)
{
	struct mock_token *token = &mock->locked.tokens[mock->locked.next_token];
	uint64_t ttl;

	if (!text_to_u64(asked, 21600, &ttl) || ttl == 0) {
		reply_with_error(reply, 400, "Bad Request");
		return;
	}
	random_hex(token->text);
	token->expires_ms = clock_monotonic_ms() + (int64_t)ttl * 1000;
	mock->locked.next_token = (mock->locked.next_token + 1) % MOCK_TOKENS_MOST;
	mock_reply(reply, 200, TEXT, "%s", token->text);
	httpd_reply_header(reply, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "%llu",
			   (unsigned long long)ttl);
}

const struct mock_token *mock_find_token(const struct mock *mock, const char *text)
{
	for (size_t i = 0; text && text[0] && i < MOCK_TOKENS_MOST; i++)
		if (strcmp(mock->locked.tokens[i].text, text) == 0)
			return clock_left_ms(mock->locked.tokens[i].expires_ms) > 0
				       ? &mock->locked.tokens[i]
				       : NULL;
	return NULL;
}

static bool reply_with_static(const struct mock *mock, const char *key, struct httpd_reply *reply)
{
	static const struct {
		const char *key, *value;
	} rows[] = {
		// clang-format off
		{"meta-data/", "ami-id\nautoscaling/\nevents/\ninstance-id\ninstance-life-cycle\n"
			       "instance-type\nlocal-ipv4\nplacement/\nspot/"},
		{"meta-data/ami-id", "ami-0123456789abcdef0"},
		{"meta-data/instance-id", "i-1234567890abcdef0"},
		{"meta-data/instance-life-cycle", "spot"},
		{"meta-data/instance-type", "p4d.24xlarge"},
		{"meta-data/local-ipv4", "172.16.34.43"},
		{"meta-data/placement/availability-zone", "us-east-1a"},
		{"meta-data/placement/region", "us-east-1"},
		{"meta-data/autoscaling/target-lifecycle-state", "InService"},
		{"meta-data/events/maintenance/scheduled", "[]"},
		{"meta-data/events/maintenance/history", "[]"},
		{"dynamic/instance-identity/document",
			"{\n  \"accountId\" : \"123456789012\",\n  \"architecture\" : \"x86_64\",\n"
			"  \"availabilityZone\" : \"us-east-1a\",\n  \"billingProducts\" : null,\n"
			"  \"imageId\" : \"ami-0123456789abcdef0\",\n"
			"  \"instanceId\" : \"i-1234567890abcdef0\",\n"
			"  \"instanceType\" : \"p4d.24xlarge\",\n"
			"  \"pendingTime\" : \"2026-01-01T00:00:00Z\",\n"
			"  \"privateIp\" : \"172.16.34.43\",\n  \"region\" : \"us-east-1\",\n"
			"  \"version\" : \"2017-09-30\"\n}"},
		// clang-format on
	};

	if (strcmp(key, "meta-data/tags/instance/Name") == 0) {
		mock_reply(reply, 200, TEXT, "%s", mock->vm_name);
		return true;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].key, key) == 0) {
			mock_reply(reply, 200, TEXT, "%s", rows[i].value);
			return true;
		}
	}
	return false;
}

/* Values that exist only after an event was fired. Their times are the same in every reply. */
static bool reply_with_notice(const struct mock *mock, const char *key, struct httpd_reply *reply)
{
	const struct mock_fired *stop = &mock->locked.stop, *advice = &mock->locked.advice;
	char at[32];

	if (advice->is_on && strcmp(key, "meta-data/events/recommendations/rebalance") == 0) {
		mock_reply(reply, 200, TEXT, "{\"noticeTime\":\"%s\"}",
			   datetime_iso(advice->at_wall_ms, at));
		return true;
	}
	if (!stop->is_on)
		return false;
	datetime_iso(stop->at_wall_ms + mock->notice_ms, at);
	if (strcmp(key, "meta-data/spot/instance-action") == 0)
		mock_reply(reply, 200, TEXT, "{\"action\": \"%s\", \"time\": \"%s\"}", mock->action,
			   at);
	/* The old name has terminations only. */
	else if (strcmp(key, "meta-data/spot/termination-time") == 0 &&
		 strcmp(mock->action, "terminate") == 0)
		mock_reply(reply, 200, TEXT, "%s", at);
	else if (strcmp(key, "meta-data/spot") == 0 || strcmp(key, "meta-data/spot/") == 0)
		mock_reply(reply, 200, TEXT, "instance-action\ntermination-time");
	else
		return false;
	return true;
}

static void reply_to_get(struct mock *mock, const struct httpd_request *request,
			 struct httpd_reply *reply)
{
	const struct mock_token *token =
		mock_find_token(mock, httpd_request_header(request, "X-aws-ec2-metadata-token"));
	const char *key = request->path + strlen("/latest/");

	if (!token) {
		reply_with_error(reply, 401, "Unauthorized");
		return;
	}
	if (mock_override_at(mock, request->path))
		mock_reply(reply, 200, TEXT, "%s", mock_override_at(mock, request->path));
	else if (!text_starts(request->path, "/latest/") ||
		 (!reply_with_notice(mock, key, reply) && !reply_with_static(mock, key, reply)))
		reply_with_error(reply, 404, "Not Found");
	httpd_reply_header(reply, "X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "%lld",
			   (long long)(clock_left_ms(token->expires_ms) / 1000));
}

void mock_aws_reply(struct mock *mock, const struct httpd_request *request,
		    struct httpd_reply *reply)
{
	bool is_put = strcmp(request->method, "PUT") == 0;
	bool is_token = strcmp(request->path, TOKEN_PATH) == 0;
	bool is_read = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;

	httpd_reply_header(reply, "Server", "EC2ws");
	if (is_put && is_token && !httpd_request_header(request, "X-Forwarded-For"))
		mock_issue_token(mock, httpd_request_header(request, TTL_HEADER), reply);
	/* A request that was forwarded by a proxy, has a trailing slash or a versioned path gets an
	 * empty reply, as from the real service. */
	else if (is_put)
		mock_reply(reply, 403, TEXT, "%s", "");
	else if (!is_read || is_token)
		mock_reply(reply, 405, TEXT, "%s", "");
	else
		reply_to_get(mock, request, reply);
}
