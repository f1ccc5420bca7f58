/* Chooses the fault that a request meets, and makes the faulty reply. */
#include "mock_state.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* --- "503x3@fire" --- */

static bool parse_count(char *name, int *count)
{
	char *x = strrchr(name, 'x');
	uint64_t number;

	if (!x || x == name || !text_to_u64(x + 1, 1000000, &number) || number == 0)
		return false;
	*x = '\0';
	*count = (int)number;
	return true;
}

static int parse_name(const char *name, struct mock_fault *fault, struct err *err)
{
	uint64_t number;

	if (text_to_u64(name, 599, &number) && number >= 200)
		fault->status = (int)number;
	else if (strcmp(name, "hang") == 0)
		fault->hang = true;
	else if (strcmp(name, "reset") == 0)
		fault->reset = true;
	else if (strcmp(name, "html") == 0)
		fault->html = true;
	else if (strcmp(name, "truncate") == 0)
		fault->truncate = true;
	else if (strcmp(name, "slow") == 0)
		fault->slow_ms = 100;
	else if (strcmp(name, "hop-limit") == 0) {
		fault->hang = true;
		text_set(fault->method, sizeof(fault->method), "PUT");
	} else if (text_starts(name, "as:") && mock_cloud_by_name(name + 3, &fault->other))
		fault->is_other = true;
	else if (!text_starts(name, "delay:") ||
		 !text_to_duration_ms(name + strlen("delay:"), &fault->delay_ms))
		return err_set(
			err, ERR_INVALID,
			"fault \"%s\" is not known: use a status (503), hang, reset, slow, html, "
			"truncate, hop-limit, as:CLOUD or delay:TIME, with x3 for a count and "
			"@fire or @10s for when",
			name);
	return 0;
}

int mock_fault_parse(const char *text, struct mock_fault *fault, struct err *err)
{
	char name[64], *when;

	*fault = (struct mock_fault){.count = -1};
	text_set(name, sizeof(name), text);
	when = strchr(name, '@');
	if (when)
		*when++ = '\0';
	if (when && strcmp(when, "fire") == 0)
		fault->at_fire = true;
	else if (when && !text_to_duration_ms(when, &fault->after_ms))
		return err_set(err, ERR_INVALID,
			       "fault \"%s\" is not known: after @ comes fire, or a time such as "
			       "10s",
			       text);
	parse_count(name, &fault->count);
	return parse_name(name, fault, err);
}

/* --- choosing --- */

int mock_add_fault(struct mock *mock, const struct mock_fault *fault, struct err *err)
{
	int result = 0;

	pthread_mutex_lock(&mock->mutex);
	if (mock->locked.fault_count == MOCK_FAULTS_MOST) {
		result = err_set(err, ERR_INVALID, "more than %d faults", MOCK_FAULTS_MOST);
	} else {
		mock->locked.faults[mock->locked.fault_count] = *fault;
		mock->locked.fault_set_ms[mock->locked.fault_count++] = clock_monotonic_ms();
	}
	pthread_mutex_unlock(&mock->mutex);
	return result;
}

void mock_set_fault(struct mock *mock, const struct mock_fault *fault)
{
	pthread_mutex_lock(&mock->mutex);
	mock->locked.fault_count = 0;
	pthread_mutex_unlock(&mock->mutex);
	if (fault->count != 0)
		mock_add_fault(mock, fault, NULL);
}

static bool fault_is_due(const struct mock *mock, size_t index)
{
	const struct mock_fault *fault = &mock->locked.faults[index];
	int64_t since = mock->locked.fault_set_ms[index];

	if (fault->at_fire) {
		if (!mock->locked.stop.is_on)
			return false;
		since = mock->locked.stop.at_ms;
	}
	return fault->count != 0 && clock_left_ms(since + fault->after_ms) == 0;
}

bool mock_match_fault(struct mock *mock, const struct httpd_request *request,
		      struct mock_fault *fault)
{
	for (size_t i = 0; i < mock->locked.fault_count; i++) {
		struct mock_fault *item = &mock->locked.faults[i];

		if (!fault_is_due(mock, i) ||
		    (item->method[0] && strcmp(item->method, request->method) != 0) ||
		    !text_starts(request->path, item->path))
			continue;
		*fault = *item;
		if (item->count > 0)
			item->count--;
		return true;
	}
	return false;
}

/* --- replying --- */

bool mock_reply_with_fault(const struct mock_fault *fault, const struct httpd_request *request,
			   struct httpd_reply *reply)
{
	if (fault->delay_ms > 0)
		cancel_sleep(request->cancel, fault->delay_ms, NULL);
	if (fault->hang) {
		cancel_sleep(request->cancel, CLOCK_NEVER / 2, NULL);
		reply->delivery = HTTPD_RESET;
	} else if (fault->reset) {
		reply->delivery = HTTPD_RESET;
	} else if (fault->html) {
		mock_reply(reply, 200, "text/html", "%s",
			   "<!DOCTYPE html><html><body>Sign in to the network</body></html>\n");
	} else if (fault->status) {
		mock_reply(reply, fault->status, "text/plain", "fault %d\n", fault->status);
	} else {
		return false;
	}
	return true;
}

void mock_corrupt(const struct mock_fault *fault, struct httpd_reply *reply)
{
	if (fault->truncate)
		reply->body.size /= 2;
	if (fault->slow_ms) {
		reply->delivery = HTTPD_SLOW;
		reply->pause_ms = fault->slow_ms;
	}
}
