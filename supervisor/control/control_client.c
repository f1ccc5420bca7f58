#include "control_client.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "control_socket.h"
#include "session.h"

#include <stdlib.h>

static void keep_reply(void *arg, json_t *reply)
{
	json_t **answer = arg;

	json_decref(*answer);
	*answer = json_incref(reply);
}

int control_client_query(const char *directory, const char *what, int64_t patience_ms,
			 json_t **answer, struct err *err)
{
	auto_free char *path = text_format("%s/%s", directory, SESSION_CONTROL);
	auto_json json_t *request = json_pack("{s:s}", "do", what);
	struct cancel cancel;
	int result;

	*answer = NULL;
	if (cancel_init(&cancel, err) < 0)
		return -1;
	cancel_set_deadline(&cancel, clock_monotonic_ms() + patience_ms);
	result = control_socket_call(path, request, keep_reply, answer, &cancel, err);
	cancel_release(&cancel);
	if (result == 0 && !*answer)
		return err_set(err, ERR_FAILED, "the supervisor exited before it replied");
	if (result == 0 && text_equal(json_text_or(*answer, "event", ""), "failed")) {
		result = err_set(err, ERR_RETRY, "the supervisor refuses: %s",
				 json_text_or(*answer, "error", "no reason given"));
		json_decref(*answer);
		*answer = NULL;
	}
	return result;
}
