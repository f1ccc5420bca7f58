#include "gang_event.h"

#include "base/json.h"
#include "base/text.h"

#include <limits.h>
#include <string.h>

/* The kind of an event, the word that says more of it, and what it has beside its member, host and
 * reason. */
struct event_form {
	const char *kind, *word;
	bool round, step, answers, left, code, more, gone;
};

static const struct event_form event_forms[] = {
	[GANG_EVENT_GO] = {.kind = "go", .word = ""},
	[GANG_EVENT_GOES_ON] = {.kind = "go", .word = "on"},
	[GANG_EVENT_OVER] = {.kind = "over", .word = "", .code = true},
	[GANG_EVENT_REQUEST] = {.kind = "notice", .word = "save"},
	[GANG_EVENT_NOTICE] = {.kind = "notice", .word = "end", .left = true},
	[GANG_EVENT_LEAVING] = {.kind = "notice", .word = "leave", .left = true},
	[GANG_EVENT_ROUND] =
		{.kind = "round", .word = "", .step = true, .answers = true, .gone = true},
	[GANG_EVENT_ANSWERS] = {.kind = "round", .word = "answers", .round = true, .answers = true},
	[GANG_EVENT_PASSED] = {.kind = "round", .word = "passed", .round = true, .step = true},
	[GANG_EVENT_LEFT_OUT] = {.kind = "round", .word = "void", .round = true, .step = true},
	[GANG_EVENT_ENDED] =
		{.kind = "ended", .word = "", .code = true, .more = true, .gone = true},
	[GANG_EVENT_GONE] = {.kind = "ended", .word = "gone", .gone = true},
};

#define EVENT_KINDS (sizeof(event_forms) / sizeof(event_forms[0]))

static json_t *encode_steps(const struct gang_steps *steps)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < steps->count; i++)
		json_array_append_new(array, json_integer(steps->at[i]));
	return array;
}

static void decode_steps(json_t *body, struct gang_steps *steps)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(body, "steps"), i,
			   item) if (json_is_integer(item) && steps->count < GANG_STEPS_MOST)
		steps->at[steps->count++] = json_integer_value(item);
}

json_t *gang_event_encode(const struct gang_event *event, uint32_t attempt, const char *created,
			  struct err *err)
{
	const struct event_form *form = &event_forms[event->kind];
	json_t *body =
		json_pack("{s:I, s:I, s:s, s:I, s:s, s:s, s:s, s:s}", "attempt",
			  (json_int_t)attempt, "number", (json_int_t)event->number, "kind",
			  form->kind, "member", (json_int_t)event->member, "nonce", event->nonce,
			  "created", created, "host", event->host, "reason", event->reason);

	if (!body) {
		err_set(err, ERR_FAILED, "cannot write the event \"%s\" as JSON", form->kind);
		return NULL;
	}
	if (*form->word)
		json_object_set_new(body, "word", json_string(form->word));
	if (form->round)
		json_object_set_new(body, "round", json_integer(event->round));
	if (form->step || event->saves)
		json_object_set_new(body, "step",
				    event->step < 0 ? json_null() : json_integer(event->step));
	if (form->answers && event->answers > 0)
		json_object_set_new(body, "answers", json_integer(event->answers));
	if (event->kind == GANG_EVENT_LEFT_OUT)
		json_object_set_new(body, "steps", encode_steps(&event->steps));
	if (event->kind == GANG_EVENT_ROUND)
		json_object_set_new(body, "at_least", json_boolean(event->at_least));
	if (form->left)
		json_object_set_new(body, "left_ms", json_integer(event->left_ms));
	if (form->code)
		json_object_set_new(body, "code", json_integer(event->code));
	if (form->more)
		json_object_set_new(body, "more", json_boolean(event->more));
	if (form->gone && event->gone > 0)
		json_object_set_new(body, "gone", json_integer(event->gone));
	return body;
}

static int find_kind(json_t *body, enum gang_event_kind *kind, struct err *err)
{
	const char *name, *word = json_text_or(body, "word", "");

	if (json_get_text(body, "kind", &name, err) < 0)
		return -1;
	for (size_t i = 0; i < EVENT_KINDS; i++)
		if (text_equal(event_forms[i].kind, name) &&
		    text_equal(event_forms[i].word, word)) {
			*kind = (enum gang_event_kind)i;
			return 0;
		}
	return err_set(err, ERR_VERSION,
		       "an event \"%.32s\" (\"%.32s\"), which only another version of Reprieve "
		       "knows: the members of a gang must be of one version",
		       name, word);
}

static int check_number(json_t *body, const char *name, uint32_t expected, struct err *err)
{
	uint64_t value;

	if (json_get_u64(body, name, UINT32_MAX, &value, err) < 0)
		return -1;
	if (value == expected)
		return 0;
	return err_set(err, ERR_CORRUPT, "\"%s\" is %llu instead of %u", name,
		       (unsigned long long)value, expected);
}

static int decode_earlier(json_t *body, const char *name, uint32_t own, uint32_t *number,
			  struct err *err)
{
	uint64_t value;

	if (json_get_u64(body, name, UINT32_MAX, &value, err) < 0)
		return -1;
	if (value == 0 || value >= own)
		return err_set(err, ERR_CORRUPT, "it is about event %llu, which is not before it",
			       (unsigned long long)value);
	*number = (uint32_t)value;
	return 0;
}

static int decode_step(json_t *body, struct gang_event *event, struct err *err)
{
	uint64_t step;

	event->step = -1;
	if (json_is_null(json_object_get(body, "step")))
		return 0;
	if (json_get_u64(body, "step", INT64_MAX, &step, err) < 0)
		return -1;
	event->step = (int64_t)step;
	return 0;
}

int gang_event_decode(json_t *body, uint32_t attempt, uint32_t number, struct gang_event *event,
		      struct err *err)
{
	const struct event_form *form;
	uint64_t member;
	int64_t code;

	*event = (struct gang_event){.number = number};
	if (check_number(body, "attempt", attempt, err) < 0 ||
	    check_number(body, "number", number, err) < 0 ||
	    find_kind(body, &event->kind, err) < 0 ||
	    json_get_u64(body, "member", STORAGE_GANG_MOST - 1, &member, err) < 0)
		return -1;
	event->member = (uint32_t)member;
	form = &event_forms[event->kind];
	event->saves = event->kind == GANG_EVENT_GONE && json_object_get(body, "step");
	if ((form->round && decode_earlier(body, "round", number, &event->round, err) < 0) ||
	    (form->answers && json_object_get(body, "answers") &&
	     decode_earlier(body, "answers", number, &event->answers, err) < 0) ||
	    (form->gone && json_object_get(body, "gone") &&
	     decode_earlier(body, "gone", number, &event->gone, err) < 0) ||
	    ((form->step || event->saves) && decode_step(body, event, err) < 0))
		return -1;
	event->at_least = event->kind == GANG_EVENT_ROUND && json_true_or(body, "at_least", false);
	if (form->left)
		event->left_ms = json_number_or(body, "left_ms", 0);
	event->more = form->more && json_true_or(body, "more", false);
	code = form->code ? json_number_or(body, "code", 0) : 0;
	if (code < INT_MIN || code > INT_MAX)
		return err_set(err, ERR_CORRUPT, "an exit code of %lld", (long long)code);
	event->code = (int)code;
	if (event->kind == GANG_EVENT_LEFT_OUT)
		decode_steps(body, &event->steps);
	text_set(event->nonce, sizeof(event->nonce), json_text_or(body, "nonce", ""));
	text_set(event->host, sizeof(event->host), json_text_or(body, "host", ""));
	text_set(event->reason, sizeof(event->reason), json_text_or(body, "reason", ""));
	return 0;
}

bool gang_event_equal(const struct gang_event *a, const struct gang_event *b)
{
	auto_json json_t *first = gang_event_encode(a, 0, "", NULL);
	auto_json json_t *second = gang_event_encode(b, 0, "", NULL);

	return first && second && json_equal(first, second);
}
