#include "webhook.h"

#include "base/cleanup.h"
#include "base/http.h"
#include "base/text.h"

#include <string.h>

#define TIMEOUT_MS 5000
#define REPLY_LIMIT (64 * 1024)

/* "https://hooks.example.com" of "https://hooks.example.com/services/SECRET". The caller frees. */
static char *origin_of(const char *url)
{
	const char *host = strstr(url, "://"), *end;

	if (!host)
		return text_copy("the webhook");
	end = host + 3 + strcspn(host + 3, "/?#");
	return text_copy_n(url, (size_t)(end - url));
}

int notification_post(const char *url, const char *body, struct cancel *cancel, struct err *err)
{
	static const char *const headers[] = {"Content-Type: application/json", NULL};
	auto_(http_response_release) struct http_response response = {.body.limit = REPLY_LIMIT};
	auto_(http_free) struct http *http = NULL;
	auto_free char *origin = origin_of(url);
	struct http_request request = {
		.method = "POST",
		.url = url,
		.headers = headers,
		.body = body,
		.body_size = strlen(body),
		.connect_timeout_ms = TIMEOUT_MS,
		.timeout_ms = TIMEOUT_MS,
	};
	struct err own;

	if (http_new(&http, err) < 0)
		return -1;
	if (http_perform(http, &request, &response, cancel, &own) < 0)
		return err_set(err, own.kind, "%s did not answer", origin);
	if (response.status < 200 || response.status > 299)
		return err_set(err, ERR_FAILED, "%s answered %d", origin, response.status);
	return 0;
}
