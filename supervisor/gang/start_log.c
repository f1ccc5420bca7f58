#include "start_log.h"

#include "base/text.h"

/* Others append at the same time. */
#define APPENDS_MOST 1000

/* An event of a newer program is one of those that say nothing of a start. */
static int read_event(struct storage *storage, uint32_t attempt, uint32_t number,
		      struct gang_event *event, bool *there, struct cancel *cancel, struct err *err)
{
	struct err own = {0};

	*event = (struct gang_event){.kind = GANG_EVENT_REQUEST};
	if (storage_gang_read(storage, attempt, number, event, there, cancel, &own) == 0)
		return 0;
	*there = own.kind == ERR_VERSION;
	if (*there) {
		*event = (struct gang_event){.kind = GANG_EVENT_REQUEST};
		return 0;
	}
	return err_set(err, own.kind, "%s", own.text);
}

int start_log_first(struct storage *storage, uint32_t attempt, enum gang_first_event *first,
		    struct gang_event *event, struct cancel *cancel, struct err *err)
{
	bool there;

	if (read_event(storage, attempt, 1, event, &there, cancel, err) < 0)
		return -1;
	if (!there)
		*first = GANG_FIRST_NONE;
	else if (event->kind != GANG_EVENT_REJOIN)
		*first = GANG_FIRST_GO;
	else
		*first = event->code != 0 ? GANG_FIRST_REFUSED : GANG_FIRST_REJOIN;
	return 0;
}

int start_log_is_over(struct storage *storage, uint32_t attempt, bool *over, struct cancel *cancel,
		      struct err *err)
{
	struct gang_event event;
	bool there = true;

	*over = false;
	for (uint32_t number = 2; there && !*over; number++) {
		if (read_event(storage, attempt, number, &event, &there, cancel, err) < 0)
			return -1;
		*over = there && event.kind == GANG_EVENT_REJOIN;
	}
	return 0;
}

int start_log_go(struct storage *storage, uint32_t attempt, struct cancel *cancel, struct err *err)
{
	struct gang_event event = {.number = 1, .kind = GANG_EVENT_GO};
	bool taken;

	return storage_gang_append(storage, attempt, &event, &taken, cancel, err);
}

/* The number of the last event, and what it is; 0: there is none. Since there are no gaps, the end
 * is found without reading all. */
static int find_last(struct storage *storage, uint32_t attempt, uint32_t *last,
		     struct gang_event *event, struct cancel *cancel, struct err *err)
{
	struct gang_event found;
	uint32_t beyond = 0;
	bool there;

	*last = 0;
	for (uint32_t step = 1; beyond == 0 || beyond - *last > 1;) {
		uint32_t number = beyond == 0 ? *last + step : *last + (beyond - *last) / 2;

		if (read_event(storage, attempt, number, &found, &there, cancel, err) < 0)
			return -1;
		if (there) {
			*last = number;
			*event = found;
			step *= 2;
		} else {
			beyond = number;
		}
	}
	return 0;
}

int start_log_rejoin(struct storage *storage, uint32_t attempt, const struct gang_join *own,
		     const char *reason, int code, bool *taken, struct cancel *cancel,
		     struct err *err)
{
	struct gang_event last = {0};
	struct gang_event event = {
		.kind = GANG_EVENT_REJOIN,
		.member = own->member,
		.code = code,
	};

	*taken = false;
	text_set(event.nonce, sizeof(event.nonce), own->nonce);
	text_set(event.reason, sizeof(event.reason), reason);
	if (code != 0) {
		event.number = 1;
		return storage_gang_append(storage, attempt, &event, taken, cancel, err);
	}
	if (find_last(storage, attempt, &event.number, &last, cancel, err) < 0)
		return -1;
	if (event.number > 0 && last.kind == GANG_EVENT_REJOIN)
		return 0;
	for (int i = 0; i < APPENDS_MOST; i++) {
		event.number++;
		if (storage_gang_append(storage, attempt, &event, taken, cancel, err) < 0)
			return -1;
		if (*taken)
			return 0;
	}
	return err_set(err, ERR_RETRY, "the log of attempt %u grows faster than it is read",
		       attempt);
}
