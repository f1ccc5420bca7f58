/*
 * What must be true of a store that several machines use at once (store_model_audit.c), in all
 * histories in which one thing happens (a switch of machines where nothing waits, a fault, a
 *death), and by chance in those in which much happens. Then one rule of FORMAT.md at a time is
 *switched off, and the model must notice.
 *
 *	REPRIEVE_HISTORIES=N         so many; fewer than 10000: only by chance, and with all rules
 *	REPRIEVE_MODEL_DEPTH=N       so many things at most instead of one: 2 takes minutes
 *	REPRIEVE_MODEL_SCENE=NAME    that scene alone
 *	REPRIEVE_MODEL_CHOICES=TEXT  with it: that history, step by step
 *	REPRIEVE_MODEL_RULE=N        with these: without that rule
 *
 * Rules that it cannot notice, and why:
 *
 *	packs are listed first, young packs stay, orphaned packs are newer
 *	                             each is covered by the others: what a save relies on is newer
 *	                             than the newest good snapshot
 *	a manifest is put again only after a look for a newer claim
 *	                             two things in the right places of full-start; chance does not
 *	                             find them (test_put_again.c)
 */
#include "store_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HISTORIES 2000
#else
#define HISTORIES 10000
#endif
/* From so many on, there is time for more than chance. */
#define HISTORIES_ALL 10000
/* Of more machines the histories are too many to try them all. */
#define MACHINES_TRIED 3
/* Each scene gets this part of them by chance. */
#define SCENE_SHARE 25
/* At most, without a rule. */
#define RULE_HISTORIES 40000

#define RUN(count)                                       \
	{                                                \
		SCRIPT_RUN, RESTORE_LATEST, count, false \
	}
#define RUN_KEEPING(count)                              \
	{                                               \
		SCRIPT_RUN, RESTORE_LATEST, count, true \
	}
#define RUN_THIS(count)                                    \
	{                                                  \
		SCRIPT_RUN, RESTORE_SPECIFIC, count, false \
	}
#define RUN_AFRESH(count)                              \
	{                                              \
		SCRIPT_RUN, RESTORE_NONE, count, false \
	}
#define ONLY(script)                             \
	{                                        \
		script, RESTORE_LATEST, 0, false \
	}

/* So many packs are what is kept, with what was sent before all of them, and one more. */
#define FULL_ROOM 4

/* Scenes that a smaller one shows as well have no more machines than that. */
static const struct scene scenes[] = {
	{"handover", {RUN(2), RUN(1), RUN(1)}, 3, 1, false, 0},
	{"first", {RUN(2), RUN(1)}, 2, 0, false, 0},
	{"forget", {RUN(2), RUN(1), ONLY(SCRIPT_FORGET)}, 3, 2, true, 0},
	{"keep", {RUN_KEEPING(2), RUN_KEEPING(1)}, 2, 2, true, 0},
	{"days", {RUN(2), ONLY(SCRIPT_FORGET), ONLY(SCRIPT_DAYS)}, 3, 1, false, 0},
	{"this", {RUN(1), RUN_THIS(1), ONLY(SCRIPT_FORGET)}, 3, 3, true, 0},
	{"afresh", {RUN(1), RUN_AFRESH(1), ONLY(SCRIPT_FORGET)}, 3, 2, true, 0},
	{"pin", {RUN_KEEPING(1), ONLY(SCRIPT_PIN), ONLY(SCRIPT_FORGET)}, 3, 2, true, 0},
	{"pins", {ONLY(SCRIPT_FORGET), ONLY(SCRIPT_FORGET), ONLY(SCRIPT_PIN)}, 3, 2, true, 0},
	{"left", {ONLY(SCRIPT_FORGET), ONLY(SCRIPT_PIN_LEFT)}, 2, 2, true, 0},
	{"flip", {RUN(1), RUN(1), ONLY(SCRIPT_FLIP)}, 3, 2, true, 0},
	{"lose", {RUN(1), ONLY(SCRIPT_LOSE), ONLY(SCRIPT_FORGET)}, 3, 2, true, 0},
	{"away", {ONLY(SCRIPT_FORGET), ONLY(SCRIPT_AWAY)}, 2, 2, true, 0},
	{"lost", {RUN(2), ONLY(SCRIPT_LOSE)}, 2, 1, false, 0},
	{"empty", {RUN(3), RUN(2), ONLY(SCRIPT_EMPTY)}, 3, 1, false, 0},
	{"crowd", {RUN(3), RUN(2), RUN(2), ONLY(SCRIPT_EMPTY)}, 4, 1, false, 0},
	{"emptied", {RUN(1), RUN(1), ONLY(SCRIPT_EMPTY)}, 3, 1, false, 0},
	{"full", {RUN_KEEPING(4), RUN_KEEPING(2)}, 2, 2, false, FULL_ROOM},
	{"full-again", {RUN_KEEPING(3), RUN_AFRESH(1)}, 2, 2, false, FULL_ROOM},
	/* Of the four, what the attempt started from has one, which goes if nothing else can. */
	{"full-start", {RUN_KEEPING(4), RUN_KEEPING(2)}, 2, 2, false, FULL_ROOM - 1},
	/* What two attempts ago has put may be gone. */
	{"full-third", {RUN_KEEPING(1), RUN_KEEPING(2), RUN_KEEPING(3)}, 3, 2, false, FULL_ROOM},
	{"full-empty",
	 {RUN_KEEPING(4), RUN_KEEPING(1), ONLY(SCRIPT_EMPTY)},
	 3,
	 1,
	 false,
	 FULL_ROOM},
};
#define SCENES (sizeof(scenes) / sizeof(scenes[0]))

static uint64_t histories_wanted(void)
{
	const char *text = getenv("REPRIEVE_HISTORIES");

	return text ? strtoull(text, NULL, 10) : HISTORIES;
}

static void print_history(const struct world *world)
{
	for (size_t i = 0; i < world->step_count; i++)
		printf("  %c %s\n", "ABCD-"[world->steps[i].machine], world -> steps[i].text);
}

static void show_history(const struct scene *scene, const char *choices)
{
	static struct world world;
	const char *rule = getenv("REPRIEVE_MODEL_RULE");
	struct search_result result;

	world_open(&world, scene, rule ? (enum rule)atoi(rule) : RULE_NONE);
	search_replay(&world, choices, &result);
	print_history(&world);
	printf("%s\n", world.wrong);
	world_close(&world);
}

static unsigned depth_wanted(void)
{
	const char *text = getenv("REPRIEVE_MODEL_DEPTH");

	return text ? (unsigned)atoi(text) : histories_wanted() >= HISTORIES_ALL;
}

static void check_scene(const struct scene *scene)
{
	static struct world world;
	struct search_result all, random = {0};

	world_open(&world, scene, RULE_NONE);
	search_all(&world, scene->machines > MACHINES_TRIED ? 0 : depth_wanted(), &all);
	if (!world.wrong[0])
		search_random(&world, 1, histories_wanted() / SCENE_SHARE, &random);
	printf("%-10s %llu histories, %llu states; %llu by chance\n", scene->name,
	       (unsigned long long)all.histories, (unsigned long long)all.states,
	       (unsigned long long)random.histories);
	if (world.wrong[0]) {
		print_history(&world);
		printf("%s: %s\nREPRIEVE_MODEL_SCENE=%s REPRIEVE_MODEL_CHOICES='%s' shows it\n",
		       scene->name, world.wrong, scene->name,
		       random.histories ? random.choices : all.choices);
	}
	world_close(&world);
	assert_int_equal(world.wrong[0], 0);
}

static void test_scenes(void **state)
{
	const char *one = getenv("REPRIEVE_MODEL_SCENE");

	(void)state;
	for (size_t i = 0; i < SCENES; i++) {
		if (one && strcmp(one, scenes[i].name) != 0)
			continue;
		if (getenv("REPRIEVE_MODEL_CHOICES"))
			show_history(&scenes[i], getenv("REPRIEVE_MODEL_CHOICES"));
		else
			check_scene(&scenes[i]);
	}
}

static const struct scene *scene_of(const char *name)
{
	for (size_t i = 0; i < SCENES; i++)
		if (strcmp(scenes[i].name, name) == 0)
			return &scenes[i];
	return NULL;
}

static void check_rule_is_missed(enum rule rule, const char *name)
{
	static struct world world;
	struct search_result result;
	bool missed;

	world_open(&world, scene_of(name), rule);
	search_random(&world, 1, RULE_HISTORIES, &result);
	missed = world.wrong[0];
	printf("without \"%s\": %s, history %llu: %s\n", rule_name(rule), name,
	       (unsigned long long)result.histories, missed ? world.wrong : "NOTHING");
	fflush(stdout);
	world_close(&world);
	assert_true(missed);
}

static void test_each_rule_is_missed(void **state)
{
	static const struct {
		enum rule rule;
		const char *scene;
	} rows[] = {
		{RULE_SECOND_LOOK, "handover"},
		{RULE_CONFIRM, "handover"},
		{RULE_CLAIM_NAMES_START, "handover"},
		{RULE_LOOK_AFTER_COMMIT, "handover"},
		{RULE_LOOK_BEFORE_COMMIT, "handover"},
		{RULE_READ_BACK, "first"},
		{RULE_BOTH_LOOKS, "handover"},
		{RULE_PACKS_BEFORE_COMMIT, "lost"},
		{RULE_EMPTIED_STORE, "empty"},
		{RULE_NEWEST_IS_KEPT, "forget"},
		{RULE_STARTS_ARE_KEPT, "forget"},
		{RULE_PIN_PLACE, "pin"},
		{RULE_PIN_LOOKS_AGAIN, "pin"},
		{RULE_FORGET_SIGN, "left"},
		{RULE_SET_ASIDE, "flip"},
		{RULE_NEWER_PACKS, "days"},
		{RULE_NEWER_ARE_KEPT, "away"},
		{RULE_FORGET_LOOKS_AGAIN, "this"},
		{RULE_NO_NEW_CLAIM, "full-again"},
		{RULE_SWEPT, "full-third"},
	};

	(void)state;
	if (histories_wanted() < HISTORIES_ALL || getenv("REPRIEVE_MODEL_SCENE"))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].rule == RULE_SWEPT && !getenv("STORE_MODEL_RARE")) {
			printf("\"%s\" is not looked at: STORE_MODEL_RARE=1 does, for minutes\n",
			       rule_name(rows[i].rule));
			continue;
		}
		check_rule_is_missed(rows[i].rule, rows[i].scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scenes),
		cmocka_unit_test(test_each_rule_is_missed),
	};
	int failed;

	scripts_prepare();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	scripts_clean();
	return failed;
}
