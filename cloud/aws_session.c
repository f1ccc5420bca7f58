#include "aws_session.h"

#include "watcher.h"

#include <errno.h>

/* How the client's last request went. */
static struct aws_attempt attempt_of(const struct instance_metadata *client, const struct err *err)
{
	if (client->response.status == 0)
		return (struct aws_attempt){.timed_out = err->os == ETIMEDOUT};
	return (struct aws_attempt){.status = client->response.status,
				    .foreign = http_header(&client->response, "Metadata-Flavor") !=
					       NULL};
}

enum aws_access aws_session_open(struct aws_session *session)
{
	bool allowed = watcher_environment(session->watcher)->aws.allows_tokenless;
	struct cancel *cancel = watcher_cancel(session->watcher);
	struct instance_metadata *client = &session->client;
	struct aws_attempt put, tokenless = {0};
	struct reply reply;
	struct err err = {0};
	bool has_token;

	client->token_header[0] = '\0';
	has_token = instance_metadata_renew_token(client, cancel, &err) == 0;
	put = attempt_of(client, &err);
	put.shaped = has_token;
	if (put.status != 200) {
		err = (struct err){0};
		instance_metadata_send(client, "GET", AWS_INSTANCE_PATH, NULL, NULL, cancel, &err);
		tokenless = attempt_of(client, &err);
		metadata_request_reply(client, &reply);
		tokenless.shaped = aws_instance_reply(&reply);
	}
	return aws_access_decide(&put, &tokenless, allowed);
}

int aws_session_get(struct aws_session *session, const char *path, struct reply *reply,
		    struct err *err)
{
	return metadata_request_get(&session->client, path, reply, watcher_cancel(session->watcher),
				    err);
}

int aws_session_init(struct aws_session *session, struct watcher *watcher, struct err *err)
{
	const struct environment *environment = watcher_environment(watcher);

	*session = (struct aws_session){.watcher = watcher};
	return instance_metadata_open(&session->client, METADATA_AWS,
				      environment->endpoints[METADATA_AWS].url,
				      environment->aws.timeout_ms, err);
}

void aws_session_release(struct aws_session *session)
{
	instance_metadata_close(&session->client);
}
