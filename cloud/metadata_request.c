#include "reply.h"
#include "watcher.h"

#include "base/clock.h"

void metadata_request_reply(const struct instance_metadata *client, struct reply *reply)
{
	const struct http_response *response = &client->response;

	*reply = (struct reply){
		.status = response->status,
		.body = (const char *)response->body.data,
		.size = response->body.size,
		.flavor = http_header(response, "Metadata-Flavor"),
		.etag = http_header(response, "ETag"),
		.server = http_header(response, "Server"),
		.arrived_ms = response->arrived_ms,
		.arrived_wall_ms = reply_wall_clock(http_header(response, "Date"), clock_wall_ms()),
	};
}

bool metadata_request_once(struct instance_metadata *client, enum metadata_service service,
			   const char *endpoint, const char *path, int64_t timeout_ms,
			   struct reply *reply, struct cancel *cancel)
{
	if (instance_metadata_open(client, service, endpoint, timeout_ms, NULL) < 0 ||
	    instance_metadata_get(client, path, cancel, NULL) < 0)
		return false;
	metadata_request_reply(client, reply);
	return true;
}

bool watcher_open(struct watcher *watcher, enum metadata_service service, int64_t timeout_ms,
		  struct instance_metadata *client)
{
	const char *endpoint = watcher->shared->environment.endpoints[service].url;
	struct err err;

	if (instance_metadata_open(client, service, endpoint, timeout_ms, &err) < 0) {
		watcher_unavailable(watcher, err.text);
		instance_metadata_close(client);
		return false;
	}
	watcher_set_endpoint(watcher, endpoint);
	return true;
}

int watcher_get(struct watcher *watcher, struct instance_metadata *client, const char *path,
		struct reply *reply, struct err *err)
{
	if (instance_metadata_get(client, path, &watcher->shared->cancel, err) < 0)
		return -1;
	metadata_request_reply(client, reply);
	return 0;
}
