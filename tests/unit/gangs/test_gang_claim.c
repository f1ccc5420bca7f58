/* What member 0 claims for a gang, as the other members read it. */
#include "storage_fixture.h"

#include "base/json.h"
#include "storage/records/storage_handle.h"

#include <unistd.h>

#define MEMBERS 3

static void fill_joins(struct gang_join joins[MEMBERS])
{
	for (uint32_t i = 0; i < MEMBERS; i++) {
		joins[i] = (struct gang_join){
			.member = i,
			.members = MEMBERS,
			.birth_ms = 1700000000123 + i,
			.first_after = 4 + i,
			.turn = 7 + i,
			.launch = {.id = "fedcba9876543210", .after = 12, .put_ms = 1700000000456},
		};
		snprintf(joins[i].nonce, sizeof(joins[i].nonce), "nonce-%u", i);
		snprintf(joins[i].host, sizeof(joins[i].host), "host-%u", i);
	}
}

static void assert_same_member(const struct gang_claim *claim, const struct gang_join *join)
{
	assert_int_equal(claim->members, MEMBERS);
	assert_int_equal(claim->own.member, join->member);
	assert_int_equal(claim->own.members, MEMBERS);
	assert_string_equal(claim->own.nonce, join->nonce);
	assert_true(claim->own.birth_ms == join->birth_ms);
	assert_int_equal(claim->own.first_after, join->first_after);
	assert_int_equal(claim->own.turn, join->turn);
	assert_string_equal(claim->own.launch.id, join->launch.id);
	assert_int_equal(claim->own.launch.after, join->launch.after);
	assert_true(claim->own.launch.put_ms == join->launch.put_ms);
}

static void assert_all_told(const struct gang_claim *claim, const struct gang_join *joins)
{
	assert_int_equal(json_array_size(claim->nonces), MEMBERS);
	assert_int_equal(json_array_size(claim->hosts), MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		assert_string_equal(json_string_value(json_array_get(claim->nonces, i)),
				    joins[i].nonce);
		assert_string_equal(json_string_value(json_array_get(claim->hosts, i)),
				    joins[i].host);
	}
}

/* Each member finds itself, and all others, and whether the others go on without one. */
static void what_is_claimed_is_read(void **state)
{
	auto_(gang_claim_release) struct gang_claim newest = {0};
	struct gang_join joins[MEMBERS];
	struct fixture f;

	(void)state;
	fill_joins(joins);
	fixture_start(&f);
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		auto_json json_t *about =
			json_pack("{s:o}", "gang", storage_gang_describe(joins, MEMBERS, goes_on));
		struct claim claim = {
			.about = about,
			.is_next = true,
			.after = f.attempt.number,
		};

		attempt_release(&f.attempt);
		assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
		/* In the place of the one before. */
		assert_works(storage_gang_newest_claim(f.storage, 1, &newest, NULL, &err));
		assert_int_equal(newest.attempt, f.attempt.number);
		for (uint32_t i = 0; i < MEMBERS; i++) {
			auto_(gang_claim_release) struct gang_claim found = {0};

			assert_works(storage_gang_newest_claim(f.storage, i, &found, NULL, &err));
			assert_int_equal(found.attempt, f.attempt.number);
			assert_same_member(&found, &joins[i]);
			assert_all_told(&found, joins);
			assert_int_equal(found.goes_on, goes_on);
		}
	}
	/* And of a job that nobody has claimed, nothing is left of it. */
	{
		struct storage_options options = {.url = f.url, .job = "unclaimed"};
		struct storage *unclaimed = NULL;

		assert_works(storage_open(&options, &unclaimed, NULL, &err));
		assert_works(storage_gang_newest_claim(unclaimed, 1, &newest, NULL, &err));
		assert_int_equal(newest.attempt, 0);
		assert_null(newest.nonces);
		storage_close(unclaimed);
	}
	fixture_stop(&f);
}

/* All that there are to go on from are damaged: every member is told, and why, as member 0 was. */
static void damage_is_told_to_all(void **state)
{
	struct claim claim = {.is_next = true};
	struct attempt adopted = {0};
	auto_free char *pack = NULL;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "weights", 1000, 1);
	fixture_take(&f);
	claim.after = f.attempt.number;
	pack = fixture_find(&f, "packs/000001/000001-");
	assert_int_equal(truncate(pack, 100), 0);
	attempt_release(&f.attempt);
	assert_works(storage_claim(f.storage, &claim, &f.attempt, NULL, &err));
	assert_true(f.attempt.start_is_damaged);
	assert_works(storage_gang_adopt(f.storage, f.attempt.number, &adopted, NULL, &err));
	assert_int_equal(adopted.number, f.attempt.number);
	assert_true(adopted.start_is_damaged);
	assert_int_equal(snapshot_id_compare(adopted.start, f.attempt.start), 0);
	assert_int_equal(adopted.damaged_count, 1);
	assert_int_equal(snapshot_id_compare(adopted.damaged[0].id, f.attempt.start), 0);
	assert_string_equal(adopted.damaged[0].text, f.attempt.damaged[0].text);
	attempt_release(&adopted);
	fixture_stop(&f);
}

/* The first member that comes writes down how it found the job; all others take that over. */
static void a_launch_is_known_by_its_first_member(void **state)
{
	struct gang_launch first, other, found, none;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	assert_works(storage_gang_know_launch(f.storage, "", 3, &none, NULL, &err));
	assert_string_equal(none.id, "");
	assert_int_equal(none.after, 3);
	assert_fails(storage_gang_find_launch(f.storage, "slurm-77", &found, NULL, &err),
		     ERR_NOT_FOUND);
	assert_works(storage_gang_know_launch(f.storage, "slurm-77", 4, &first, NULL, &err));
	assert_int_equal(strlen(first.id), 16);
	assert_int_equal(first.after, 4);
	assert_true(first.put_ms > 0);
	assert_works(storage_gang_know_launch(f.storage, "slurm-77", 9, &other, NULL, &err));
	assert_works(storage_gang_find_launch(f.storage, "slurm-77", &found, NULL, &err));
	assert_string_equal(other.id, first.id);
	assert_string_equal(found.id, first.id);
	assert_int_equal(other.after, 4);
	assert_int_equal(found.after, 4);
	assert_true(other.put_ms == first.put_ms && found.put_ms == first.put_ms);
	assert_works(storage_gang_know_launch(f.storage, "slurm-78", 9, &other, NULL, &err));
	assert_string_not_equal(other.id, first.id);
	assert_int_equal(other.after, 9);
	assert_fails(storage_gang_know_launch(f.storage, "\xff", 9, &other, NULL, &err),
		     ERR_INVALID);
	fixture_stop(&f);
}

/* How many have restored, and the first that has not. */
static void who_is_not_ready(void **state)
{
	static const struct {
		uint32_t member, there, missing;
	} steps[] = {{2, 1, 0}, {2, 1, 0}, {0, 2, 1}, {1, 3, 3}};
	uint32_t there, missing, attempt;
	struct fixture f;

	(void)state;
	fixture_start(&f);
	attempt = f.attempt.number;
	storage_set_gang(f.storage, MEMBERS, 0);
	assert_works(storage_gang_unready(f.storage, attempt, &there, &missing, NULL, &err));
	assert_int_equal(there, 0);
	assert_int_equal(missing, 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		storage_set_gang(f.storage, MEMBERS, steps[i].member);
		assert_works(storage_gang_ready(f.storage, attempt, NULL, &err));
		assert_works(
			storage_gang_unready(f.storage, attempt, &there, &missing, NULL, &err));
		assert_int_equal(there, steps[i].there);
		assert_int_equal(missing, steps[i].missing);
	}
	/* One of a larger gang is none of these. */
	storage_set_gang(f.storage, MEMBERS + 2, MEMBERS + 1);
	assert_works(storage_gang_ready(f.storage, attempt, NULL, &err));
	storage_set_gang(f.storage, MEMBERS, 0);
	assert_works(storage_gang_unready(f.storage, attempt, &there, &missing, NULL, &err));
	assert_int_equal(there, 3);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_claimed_is_read),
		cmocka_unit_test(damage_is_told_to_all),
		cmocka_unit_test(a_launch_is_known_by_its_first_member),
		cmocka_unit_test(who_is_not_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
