#include "gang_records.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- an event in the log of an attempt --- */

/* The kind of an event, the word that says more of it, and what it has beside its member, host and
 * reason. */
struct event_form {
	const char *kind, *word;
	bool round, step, answers, left, code, more;
};

static const struct event_form event_forms[] = {
	[GANG_EVENT_GO] = {.kind = "go", .word = ""},
	[GANG_EVENT_GOES_ON] = {.kind = "go", .word = "on"},
	[GANG_EVENT_OVER] = {.kind = "over", .word = "", .code = true},
	[GANG_EVENT_REQUEST] = {.kind = "notice", .word = "save"},
	[GANG_EVENT_NOTICE] = {.kind = "notice", .word = "end", .left = true},
	[GANG_EVENT_LEAVING] = {.kind = "notice", .word = "leave", .left = true},
	[GANG_EVENT_ROUND] =
		{.kind = "round", .word = "", .step = true, .answers = true},
	[GANG_EVENT_ANSWERS] = {.kind = "round", .word = "answers", .round = true, .answers = true},
	[GANG_EVENT_PASSED] = {.kind = "round", .word = "passed", .round = true, .step = true},
	[GANG_EVENT_LEFT_OUT] = {.kind = "round", .word = "void", .round = true, .step = true},
	[GANG_EVENT_ENDED] =
		{.kind = "ended", .word = "", .code = true, .more = true},
	[GANG_EVENT_GONE] = {.kind = "ended", .word = "gone"},
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
		       "event \"%.32s\" (\"%.32s\") is of another version of Reprieve: the members "
		       "of a gang must be of one version",
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

/* --- the name of a join --- */

static const char refused[] = "-refused";

/* What a name in a store may hold, wherever it is. */
static bool is_plain(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '.' || c == '_';
}

void gang_join_set_host(struct gang_join *join, const char *host)
{
	text_set(join->host, sizeof(join->host), host);
	for (char *c = join->host; *c; c++)
		if (!is_plain(*c))
			*c = '_';
}

char *gang_join_format(const struct gang_join *join)
{
	auto_free char *launch =
		join->launch.id[0] ? text_format("-%s-%06u-%lld", join->launch.id,
						 join->launch.after, (long long)join->launch.put_ms)
				   : text_copy("");

	return text_format("join-%05u-%05u-%06u-%05u-%lld-%s%s%s%s%s.json", join->member,
			   join->members, join->first_after, join->turn, (long long)join->age_ms,
			   join->nonce, launch, join->refused ? refused : "",
			   join->host[0] ? "." : "", join->host);
}

/* ".HOST.json", or ".json". */
static bool parse_host(const char *text, struct gang_join *join)
{
	static const char end[] = ".json";
	size_t length = strlen(text), size;

	if (!text_ends(text, end))
		return false;
	size = length - strlen(end);
	if (size == 0)
		return true;
	if (text[0] != '.' || size == 1 || size > sizeof(join->host))
		return false;
	for (size_t i = 1; i < size; i++)
		if (!is_plain(text[i]))
			return false;
	memcpy(join->host, text + 1, size - 1);
	return true;
}

/* Parses the optional part that the launcher gives. Returns the rest of the name. */
static const char *parse_ends(const char *ends, struct gang_join *join)
{
	struct gang_launch *launch = &join->launch;
	long long launch_ms = 0;
	int whole = 0;

	sscanf(ends, "-%16[0-9a-f]-%10u-%18lld%n", launch->id, &launch->after, &launch_ms, &whole);
	if (whole == 0)
		*launch = (struct gang_launch){0};
	else
		launch->put_ms = launch_ms;
	return ends + whole;
}

bool gang_join_parse(const char *name, struct gang_join *join)
{
	long long age_ms = 0;
	const char *ends;
	int end = 0;

	*join = (struct gang_join){0};
	if (sscanf(name, "join-%5u-%5u-%10u-%10u-%18lld-%32[0-9a-f]%n", &join->member,
		   &join->members, &join->first_after, &join->turn, &age_ms, join->nonce, &end) < 6)
		return false;
	join->age_ms = age_ms;
	ends = parse_ends(name + end, join);
	join->refused = text_starts(ends, refused);
	if (join->refused)
		ends += strlen(refused);
	return parse_host(ends, join) &&
	       (join->member < join->members ||
		(join->refused && join->members == 0 && join->member == 0)) &&
	       join->members <= STORAGE_GANG_MOST && age_ms >= 0;
}

/* Whether `a` says more of their process than `b`. */
static bool says_more(const struct gang_join *a, const struct gang_join *b)
{
	return a->refused != b->refused ? a->refused : a->birth_ms < b->birth_ms;
}

size_t gang_joins_unite(struct gang_join *joins, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		while (at < kept && (joins[at].member != joins[i].member ||
				     !text_equal(joins[at].nonce, joins[i].nonce)))
			at++;
		if (at == kept || says_more(&joins[i], &joins[at]))
			joins[at] = joins[i];
		kept += at == kept;
	}
	return kept;
}

/* --- the part of a member --- */

bool gang_part_parse_member(const char *name, uint32_t *member)
{
	size_t digits = strspn(name, "0123456789");
	auto_free char *number = text_copy_n(name, digits);
	uint64_t value;

	if (digits == 0 || !text_equal(name + digits, ".json") ||
	    !text_to_u64(number, UINT32_MAX, &value))
		return false;
	*member = (uint32_t)value;
	return true;
}

bool gang_part_has_checkpoint(const struct manifest *part)
{
	return part->piece_count > 0 && !part->without_checkpoint;
}

json_t *gang_part_encode(const struct manifest *part, uint32_t member, struct err *err)
{
	json_t *body;

	if (part->piece_count == 0 && part->entry_count > 0) {
		err_set(err, ERR_FAILED, "the list of files of member %u does not fit into pieces",
			member);
		return NULL;
	}
	body = manifest_encode(part, err);
	if (!body)
		return NULL;
	json_object_set_new(body, "member", json_integer(member));
	json_object_set_new(body, "checkpoint", json_boolean(gang_part_has_checkpoint(part)));
	json_object_set_new(body, "final", json_boolean(part->final));
	if (part->kept)
		json_object_set_new(body, "keeper", json_integer(part->keeper));
	return body;
}

int gang_part_decode(json_t *body, const char *job, struct snapshot_id id, uint32_t member,
		     struct manifest *part, struct err *err)
{
	uint64_t of, keeper = 0;

	*part = (struct manifest){.step = -1, .without_checkpoint = true, .gone = true};
	if (json_true_or(body, "gone", false))
		return 0;
	*part = (struct manifest){0};
	if (json_get_u64(body, "member", UINT32_MAX, &of, err) < 0 ||
	    (json_object_get(body, "keeper") &&
	     json_get_u64(body, "keeper", UINT32_MAX, &keeper, err) < 0) ||
	    manifest_decode(body, job, id, part, err) < 0)
		return -1;
	part->without_checkpoint =
		part->piece_count == 0 || !json_true_or(body, "checkpoint", true);
	part->final = json_true_or(body, "final", false);
	part->kept = json_object_get(body, "keeper") != NULL;
	part->keeper = (uint32_t)keeper;
	if (of == member && (part->piece_count > 0 || part->entry_count == 0) &&
	    part->part_count == 0)
		return 0;
	manifest_release(part);
	return err_set(err, ERR_CORRUPT, "it is not the part of one member");
}

/* In a final round there may be parts of several steps, and none with a checkpoint. */
static bool leads(const struct manifest *part, const struct manifest *than)
{
	if (part->piece_count == 0 || (!part->final && !gang_part_has_checkpoint(part)))
		return false;
	if (!than || !part->final)
		return !than;
	if (gang_part_has_checkpoint(part) != gang_part_has_checkpoint(than))
		return gang_part_has_checkpoint(part);
	return part->step > than->step;
}

const struct manifest *gang_parts_leader(const struct manifest *parts, size_t count)
{
	const struct manifest *leader = NULL;

	for (size_t i = 0; i < count; i++)
		if (leads(&parts[i], leader))
			leader = &parts[i];
	return leader;
}

static int refuse_steps(const struct manifest *parts, size_t first, size_t second, struct err *err)
{
	return err_set(err, ERR_UNFIT,
		       "the parts are of different checkpoints: member %zu is at step %lld, and "
		       "member %zu at step %lld",
		       first, (long long)parts[first].step, second, (long long)parts[second].step);
}

/* Whose files are in the part of another: that one has read them when they were complete. */
static int refuse_kept(const struct manifest *parts, size_t count, size_t at, struct err *err)
{
	const struct manifest *own = &parts[at];
	const struct manifest *keeper = own->keeper < count ? &parts[own->keeper] : NULL;

	if (!keeper || keeper->kept || keeper->gone || parts[at].piece_count > 0)
		return err_set(err, ERR_UNFIT, "the part of member %zu makes no sense", at);
	if (own->step < 0 || own->final)
		return 0;
	if (!gang_part_has_checkpoint(keeper))
		return err_set(err, ERR_UNFIT,
			       "member %zu has written files of step %lld into the directory that "
			       "member %u saves, and that one knows of no checkpoint",
			       at, (long long)own->step, own->keeper);
	return own->step == keeper->step ? 0 : refuse_steps(parts, at, own->keeper, err);
}

/* All that have not gone know it for the same: opened in the end or not. */
static int refuse_other_rounds(const struct manifest *parts, size_t count, struct err *err)
{
	size_t first = 0;

	while (first < count && parts[first].gone)
		first++;
	for (size_t i = first; i < count; i++)
		if (!parts[i].gone && parts[i].final != parts[first].final)
			return err_set(err, ERR_UNFIT,
				       "for members %zu and %zu it is not the same round", first,
				       i);
	return 0;
}

int gang_parts_agree(const struct manifest *parts, size_t count, struct err *err)
{
	const struct manifest *leader = gang_parts_leader(parts, count);
	size_t first;

	if (refuse_other_rounds(parts, count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (parts[i].kept && refuse_kept(parts, count, i, err) < 0)
			return -1;
	if (!leader)
		return err_set(err, ERR_UNFIT,
			       "the parts of all members are empty, or have no checkpoint");
	first = (size_t)(leader - parts);
	/* What the jobs have left when all had ended is of one moment. */
	for (size_t i = first + 1; i < count && !leader->final; i++) {
		if (!gang_part_has_checkpoint(&parts[i]))
			continue;
		/* Without a step nothing says that they are of one. */
		if (leader->step < 0 && parts[i].step < 0)
			return err_set(err, ERR_UNFIT,
				       "the checkpoints of members %zu and %zu have no step, by "
				       "which they could be known for one",
				       first, i);
		if (parts[i].step != leader->step)
			return refuse_steps(parts, first, i, err);
	}
	return 0;
}
