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
		snprintf(joins[i].address, sizeof(joins[i].address), "7f00000104d%u", i);
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
	assert_int_equal(json_array_size(claim->addresses), MEMBERS);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		assert_string_equal(json_string_value(json_array_get(claim->nonces, i)),
				    joins[i].nonce);
		assert_string_equal(json_string_value(json_array_get(claim->hosts, i)),
				    joins[i].host);
		assert_string_equal(json_string_value(json_array_get(claim->addresses, i)),
				    joins[i].address);
	}
}

/* Each member finds itself, and all others, and whether the others go on without one. */
static void what_is_claimed_is_read(void **state)
{
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
		for (uint32_t i = 0; i < MEMBERS; i++) {
			auto_(gang_claim_release) struct gang_claim found = {0};

			assert_works(storage_gang_newest_claim(f.storage, i, &found, NULL, &err));
			assert_int_equal(found.attempt, f.attempt.number);
			assert_same_member(&found, &joins[i]);
			assert_all_told(&found, joins);
			assert_int_equal(found.goes_on, goes_on);
		}
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
	assert_true(adopted.start_is_damaged);
	assert_int_equal(snapshot_id_compare(adopted.start, f.attempt.start), 0);
	assert_int_equal(adopted.damaged_count, 1);
	assert_int_equal(snapshot_id_compare(adopted.damaged[0].id, f.attempt.start), 0);
	assert_string_equal(adopted.damaged[0].text, f.attempt.damaged[0].text);
	attempt_release(&adopted);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_claimed_is_read),
		cmocka_unit_test(damage_is_told_to_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
