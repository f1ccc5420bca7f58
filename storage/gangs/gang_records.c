#include "gang_records.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- an event in the log of an attempt --- */

/* The kind of an event, and the word that says more of it. */
struct event_form {
	const char *kind, *word;
	/* It is about a round that was opened before. */
	bool of_round;
};

static const struct event_form event_forms[] = {
	[GANG_EVENT_GO] = {"go", "", false},
	[GANG_EVENT_GOES_ON] = {"go", "on", false},
	[GANG_EVENT_OVER] = {"over", "", false},
	[GANG_EVENT_REQUEST] = {"notice", "save", false},
	[GANG_EVENT_NOTICE] = {"notice", "end", false},
	[GANG_EVENT_LEAVING] = {"notice", "leave", false},
	[GANG_EVENT_ROUND] = {"round", "", false},
	[GANG_EVENT_ANSWERS] = {"round", "answers", true},
	[GANG_EVENT_PASSED] = {"round", "passed", true},
	[GANG_EVENT_LEFT_OUT] = {"round", "void", true},
	[GANG_EVENT_ENDED] = {"ended", "", false},
	[GANG_EVENT_GONE] = {"ended", "gone", false},
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
	json_t *body = json_pack(
		"{s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:b, s:b, s:b, s:I, s:i, s:s, s:s, "
		"s:s, s:s}",
		"attempt", (json_int_t)attempt, "number", (json_int_t)event->number, "kind",
		form->kind, "word", form->word, "member", (json_int_t)event->member, "round",
		(json_int_t)event->round, "answers", (json_int_t)event->answers, "step",
		json_integer_or_null(event->step), "steps", encode_steps(&event->steps), "at_least",
		event->at_least, "more", event->more, "saves", event->saves, "left_ms",
		(json_int_t)event->left_ms, "code", event->code, "nonce", event->nonce, "created",
		created, "host", event->host, "reason", event->reason);

	if (!body)
		err_set(err, ERR_FAILED, "cannot write the event \"%s\" as JSON", form->kind);
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

/* ERR_CORRUPT unless it is from `least` to `most`. */
static int get_number(json_t *body, const char *name, int64_t least, int64_t most, int64_t *value,
		      struct err *err)
{
	*value = json_number_or(body, name, -1);
	if (*value >= least && *value <= most)
		return 0;
	return err_set(err, ERR_CORRUPT, "\"%s\" is %lld, and not from %lld to %lld", name,
		       (long long)*value, (long long)least, (long long)most);
}

int gang_event_decode(json_t *body, uint32_t attempt, uint32_t number, struct gang_event *event,
		      struct err *err)
{
	int64_t same, member, round, answers, code;

	*event = (struct gang_event){.number = number};
	if (get_number(body, "attempt", attempt, attempt, &same, err) < 0 ||
	    get_number(body, "number", number, number, &same, err) < 0 ||
	    find_kind(body, &event->kind, err) < 0 ||
	    get_number(body, "member", 0, STORAGE_GANG_MOST - 1, &member, err) < 0 ||
	    get_number(body, "round", event_forms[event->kind].of_round, number - 1, &round, err) <
		    0 ||
	    get_number(body, "answers", 0, number - 1, &answers, err) < 0 ||
	    get_number(body, "step", -1, INT64_MAX, &event->step, err) < 0 ||
	    get_number(body, "code", INT_MIN, INT_MAX, &code, err) < 0)
		return -1;
	event->member = (uint32_t)member;
	event->round = (uint32_t)round;
	event->answers = (uint32_t)answers;
	event->code = (int)code;
	event->at_least = json_true_or(body, "at_least", false);
	event->more = json_true_or(body, "more", false);
	event->saves = json_true_or(body, "saves", false);
	event->left_ms = json_number_or(body, "left_ms", 0);
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
	json_t *body = manifest_encode(part, err);

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

int gang_parts_agree(const struct manifest *parts, size_t count, struct err *err)
{
	const struct manifest *leader = gang_parts_leader(parts, count);
	size_t first;

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
