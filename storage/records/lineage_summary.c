#include "lineage_summary.h"

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"

#include <stdlib.h>

/* The places in a row. The suspect is left out where there is none. */
enum row {
	ROW_NUMBER,
	ROW_POLICY,
	ROW_START,
	ROW_CONFIRMED,
	ROW_SUSPECT,
};

static json_t *encode_id(struct snapshot_id id)
{
	char text[SNAPSHOT_ID_TEXT];

	return snapshot_id_is_none(id) ? json_null() : json_string(snapshot_id_format(id, text));
}

static json_t *encode_row(const struct lineage_attempt *attempt)
{
	json_t *row = json_pack("[I, s?, o, b]", (json_int_t)attempt->number,
				attempt->known ? restore_policy_name(attempt->policy) : NULL,
				encode_id(attempt->start), !attempt->unconfirmed);

	if (row && !snapshot_id_is_none(attempt->suspect))
		json_array_append_new(row, encode_id(attempt->suspect));
	return row;
}

json_t *lineage_summary_body(uint32_t number, json_t *claim, json_t *end)
{
	return json_pack("{s:I, s:O?, s:O?}", "attempt", (json_int_t)number, "claim", claim, "end",
			 end);
}

json_t *lineage_summary_encode(const struct lineage_summary *summary)
{
	auto_json json_t *rows = json_array();

	for (size_t i = 0; i < summary->count; i++)
		if (json_array_append_new(rows, encode_row(&summary->attempts[i])) < 0)
			return NULL;
	return json_pack("{s:I, s:O, s:o}", "through", (json_int_t)summary->through, "attempts",
			 rows, "recent",
			 summary->recent ? json_incref(summary->recent) : json_array());
}

/* Null is none; anything else is an id. */
static bool decode_id(json_t *value, struct snapshot_id *id)
{
	*id = (struct snapshot_id){0};
	return json_is_null(value) ||
	       (json_is_string(value) && snapshot_id_parse(json_string_value(value), id));
}

static bool decode_row(json_t *row, uint32_t before, uint32_t through,
		       struct lineage_attempt *attempt)
{
	json_int_t number = json_integer_value(json_array_get(row, ROW_NUMBER));
	json_t *policy = json_array_get(row, ROW_POLICY);
	json_t *confirmed = json_array_get(row, ROW_CONFIRMED);
	json_t *suspect = json_array_get(row, ROW_SUSPECT);

	if (number <= (json_int_t)before || number > (json_int_t)through ||
	    !json_is_boolean(confirmed))
		return false;
	*attempt = (struct lineage_attempt){
		.number = (uint32_t)number,
		.known = json_is_string(policy),
		.unconfirmed = json_is_false(confirmed),
	};
	if (attempt->known && !restore_policy_parse(json_string_value(policy), &attempt->policy))
		return false;
	return decode_id(json_array_get(row, ROW_START), &attempt->start) &&
	       attempt->start.attempt < attempt->number &&
	       (!suspect || decode_id(suspect, &attempt->suspect));
}

static int decode_attempts(json_t *rows, struct lineage_summary *summary, struct err *err)
{
	uint32_t before = 0;

	summary->attempts = memory_new(json_array_size(rows) * sizeof(*summary->attempts));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (!decode_row(json_array_get(rows, i), before, summary->through,
				&summary->attempts[i]))
			return err_set(err, ERR_CORRUPT, "row %zu makes no sense", i + 1);
		before = summary->attempts[i].number;
		summary->count++;
	}
	return 0;
}

int lineage_summary_decode(json_t *body, uint32_t through, struct lineage_summary *summary,
			   struct err *err)
{
	json_t *rows, *recent = json_object_get(body, "recent");
	uint64_t said;

	*summary = (struct lineage_summary){.through = through};
	if (json_get_u64(body, "through", UINT32_MAX, &said, err) < 0 ||
	    json_get_array(body, "attempts", &rows, err) < 0)
		return -1;
	if (said != through)
		return err_set(err, ERR_CORRUPT, "it is a summary of the attempts up to %llu",
			       (unsigned long long)said);
	if (decode_attempts(rows, summary, err) < 0) {
		lineage_summary_release(summary);
		return -1;
	}
	if (json_is_array(recent))
		summary->recent = json_incref(recent);
	return 0;
}

static bool is_same(const struct lineage_attempt *a, const struct lineage_attempt *b)
{
	return a->number == b->number && a->known == b->known && a->unconfirmed == b->unconfirmed &&
	       a->policy == b->policy && snapshot_id_compare(a->start, b->start) == 0 &&
	       snapshot_id_compare(a->suspect, b->suspect) == 0;
}

bool lineage_summary_covers(const struct lineage_summary *whole, const struct lineage_summary *part)
{
	if (whole->through < part->through)
		return false;
	for (size_t i = 0; i < part->count; i++) {
		size_t at = lineage_attempt_from(whole->attempts, whole->count,
						 part->attempts[i].number);

		if (at == whole->count || !is_same(&whole->attempts[at], &part->attempts[i]))
			return false;
	}
	return true;
}

void lineage_summary_release(struct lineage_summary *summary)
{
	free(summary->attempts);
	json_decref(summary->recent);
	*summary = (struct lineage_summary){0};
}
