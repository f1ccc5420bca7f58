/* Alibaba's and Tencent's metadata services: a time under spot/termination-time once the
 * instance is reclaimed. */
#include "mock_state.h"

#include "base/clock.h"
#include "base/datetime.h"

#include <string.h>
#include <time.h>

#define TEXT "text/plain"

static void reply_not_found(struct httpd_reply *reply)
{
	mock_reply(reply, 404, "text/html",
		   "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n<html><head><title>404 - Not "
		   "Found</title></head></html>\n");
}

static void reply_with_key(const struct mock *mock, const char *path, const char *termination,
			   const char *at, const char *id, struct httpd_reply *reply)
{
	const char *set = mock_override_at(mock, path);

	if (set)
		mock_reply(reply, 200, TEXT, "%s", set);
	else if (strcmp(path, "/latest/meta-data/instance-id") == 0)
		mock_reply(reply, 200, TEXT, "%s", id);
	else if (strcmp(path, termination) == 0 && mock->locked.stop.is_on)
		mock_reply(reply, 200, TEXT, "%s", at);
	else
		reply_not_found(reply);
}

void mock_alibaba_reply(struct mock *mock, const struct httpd_request *request,
			struct httpd_reply *reply)
{
	char at[32];

	if (strcmp(request->method, "PUT") == 0 &&
	    strcmp(request->path, "/latest/api/token") == 0) {
		mock_issue_token(mock,
				 httpd_request_header(request,
						      "X-aliyun-ecs-metadata-token-ttl-seconds"),
				 reply);
		return;
	}
	/* The hardened mode requires a token. */
	if (mock->is_hardened &&
	    !mock_find_token(mock, httpd_request_header(request, "X-aliyun-ecs-metadata-token"))) {
		mock_reply(reply, 403, TEXT, "%s", "");
		return;
	}
	datetime_iso(mock->locked.stop.at_wall_ms + mock->notice_ms, at);
	reply_with_key(mock, request->path, "/latest/meta-data/instance/spot/termination-time", at,
		       "i-bp67acfmxazb4ph0mock", reply);
}

void mock_tencent_reply(struct mock *mock, const struct httpd_request *request,
			struct httpd_reply *reply)
{
	/* Beijing time, eight hours ahead of UTC, without saying so. */
	time_t seconds = (time_t)(mock->locked.stop.at_wall_ms + mock->notice_ms) / 1000 + 8 * 3600;
	struct tm parts;
	char at[32];

	gmtime_r(&seconds, &parts);
	strftime(at, sizeof(at), "%Y-%m-%d %H:%M:%S", &parts);
	reply_with_key(mock, request->path, "/latest/meta-data/spot/termination-time", at,
		       "ins-0mock123", reply);
}
