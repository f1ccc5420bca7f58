/* Requests by example; and by random histories, which hold what each client is promised. The
 * effects are then dropped one kind at a time: the histories must notice each. */
#include "core/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/cleanup.h"

static char clients[64];

/* A mutant drops one effect of one event. */
static struct {
	bool on;
	enum request_event_kind event;
	enum request_effect_kind effect;
} mutant;
static bool occurs[REQUEST_EVENTS][REQUEST_EFFECTS];

static struct request_effects step(struct request_table *table, struct request_event event)
{
	struct request_effects effects = {0};
	size_t kept = 0;

	request_table_step(table, &event, &effects);
	for (size_t i = 0; i < effects.count; i++) {
		enum request_effect_kind kind = effects.items[i].kind;

		occurs[event.kind][kind] = true;
		if (!mutant.on || mutant.event != event.kind || mutant.effect != kind)
			effects.items[kept++] = effects.items[i];
	}
	effects.count = kept;
	return effects;
}

/* "ask asked:A saved:B durable:C! ", "!" for the last reply. */
static char *words(struct request_effects *effects)
{
	static const char *const names[REQUEST_EFFECTS] = {"ask",   "stop",  "use",     "later",
							   "asked", "saved", "durable", "failed"};
	static char text[400];

	text[0] = '\0';
	for (size_t i = 0; i < effects->count; i++) {
		struct request_effect *effect = &effects->items[i];
		size_t length = strlen(text);

		snprintf(text + length, sizeof(text) - length, "%s%s", i ? " " : "",
			 names[effect->kind]);
		length = strlen(text);
		if (effect->client)
			snprintf(text + length, sizeof(text) - length, ":%c%s",
				 (int)('A' + ((char *)effect->client - clients)),
				 effect->last ? "!" : "");
	}
	request_effects_release(effects);
	return text;
}

struct row {
	struct request_event event;
	const char *effects;
};

#define BY(letter) .client = &clients[(letter) - 'A']
#define CLIENT(letter, ...)                                                         \
	{                                                                           \
		REQUEST_EV_MADE, .cause = SAVED_ON_REQUEST, BY(letter), __VA_ARGS__ \
	}
#define MADE(why, ...)                                             \
	{                                                          \
		.kind = REQUEST_EV_MADE, .cause = why, __VA_ARGS__ \
	}

// clang-format off
static const struct row one_client[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_SENT}, "asked:A"},
	{{.kind = REQUEST_EV_DURABLE, .generation = 4}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 5}, "saved:A stop"},
	{{.kind = REQUEST_EV_DURABLE, .generation = 4}, ""},
	{{.kind = REQUEST_EV_DURABLE, .generation = 5}, "durable:A!"},
	{{.kind = REQUEST_EV_ENDED}, ""},
	{{0}, NULL},
};

static const struct row two_share_a_save[] = {
	{CLIENT('A'), "ask"},
	{CLIENT('B'), ""},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_SENT}, "asked:A asked:B"},
	{CLIENT('C'), "asked:C"},
	{MADE(SAVED_AT_INTERVAL), ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "saved:A saved:B saved:C stop"},
	{{.kind = REQUEST_EV_GONE, BY('B')}, ""},
	{{.kind = REQUEST_EV_DURABLE, .generation = 2}, "durable:A! durable:C!"},
	{{0}, NULL},
};

static const struct row one_who_asks_during_the_save[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{CLIENT('B', .saving = true), "later asked:B"},
	{MADE(SAVED_AT_NOTICE, .saving = true), ""},
	{{.kind = REQUEST_EV_SAVE_OVER, .saving = true}, "later"},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "saved:A stop later"},
	{{.kind = REQUEST_EV_SAVE_OVER}, "ask"},
	{{.kind = REQUEST_EV_DURABLE, .generation = 1}, "durable:A!"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 2}, "saved:B stop"},
	{{.kind = REQUEST_EV_LOST, .generation = 2}, "failed:B!"},
	{{0}, NULL},
};

/* The job gets the SIGTERM as it is: its save answers all that wait. */
static const struct row a_sigterm_is_passed_on[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{CLIENT('B', .saving = true), "later asked:B"},
	{{.kind = REQUEST_EV_FORWARDED}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "saved:A saved:B stop"},
	{{.kind = REQUEST_EV_DURABLE, .generation = 1}, "durable:A! durable:B!"},
	{{0}, NULL},
};

static const struct row another_member_saves[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_TOLD, .id = 1, .event = 4}, ""},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "saved:A stop"},
	{CLIENT('B'), "ask"},
	{{.kind = REQUEST_EV_TOLD, .id = 2, .event = 6}, ""},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{CLIENT('C', .saving = true), "later asked:C"},
	{CLIENT('D'), "asked:D"},
	{{.kind = REQUEST_EV_TOLD, .id = 4, .event = 9}, ""},
	{{.kind = REQUEST_EV_ELSEWHERE, .event = 5}, "durable:A!"},
	{{.kind = REQUEST_EV_ELSEWHERE, .event = 9}, "durable:B! durable:D! stop later"},
	/* It was told to nobody yet. */
	{{.kind = REQUEST_EV_ENDED}, "failed:C!"},
	{{0}, NULL},
};

static const struct row a_notice_is_answered_elsewhere[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_TOLD, .id = 1, .event = 2}, ""},
	{MADE(SAVED_AT_NOTICE), ""},
	{{.kind = REQUEST_EV_TOLD, .event = 3}, ""},
	/* The first one counts. */
	{{.kind = REQUEST_EV_TOLD, .event = 4}, ""},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_ELSEWHERE, .event = 2}, "durable:A!"},
	{{.kind = REQUEST_EV_ELSEWHERE, .event = 3}, "stop"},
	{{0}, NULL},
};

static const struct row a_save_that_comes_to_nothing[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{CLIENT('B', .saving = true), "later asked:B"},
	{{.kind = REQUEST_EV_SAVE_OVER}, "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "saved:A saved:B stop"},
	{{0}, NULL},
};

static const struct row who_does_not_wait[] = {
	{CLIENT('A', .until_asked = true), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_SENT}, "asked:A!"},
	{CLIENT('B', .until_asked = true), "asked:B!"},
	{CLIENT('C', .until_asked = true, .saving = true), "later asked:C!"},
	{MADE(SAVED_ON_REQUEST, .saving = true), ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "stop later"},
	{{0}, NULL},
};

static const struct row a_checkpoint_that_began_before[] = {
	{CLIENT('A'), "ask"},
	{MADE(SAVED_AT_NOTICE), ""},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1, .late = true}, "stop later"},
	{{.kind = REQUEST_EV_DURABLE, .generation = 1}, ""},
	{{.kind = REQUEST_EV_SAVE_OVER}, "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 2}, "saved:A stop"},
	{{.kind = REQUEST_EV_DURABLE, .generation = 2}, "durable:A!"},
	{{0}, NULL},
};

static const struct row a_withdrawn_notice[] = {
	{MADE(SAVED_AT_NOTICE), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{CLIENT('A'), "asked:A"},
	{{.kind = REQUEST_EV_WITHDRAWN}, ""},
	{{.kind = REQUEST_EV_NOT_ASKED}, "failed:A! stop"},
	{MADE(SAVED_AT_NOTICE), "ask"},
	{{.kind = REQUEST_EV_WITHDRAWN}, "stop"},
	{MADE(SAVED_AT_NOTICE, .saving = true), "use"},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, "stop"},
	{{0}, NULL},
};

static const struct row a_withdrawn_notice_whose_save_goes_on[] = {
	{MADE(SAVED_AT_NOTICE), "ask"},
	{{.kind = REQUEST_EV_SENDING}, ""},
	{CLIENT('A', .saving = true), "later asked:A"},
	{{.kind = REQUEST_EV_WITHDRAWN}, "stop later"},
	{{.kind = REQUEST_EV_SAVE_OVER}, "ask"},
	{{0}, NULL},
};

static const struct row a_job_that_ends[] = {
	{CLIENT('A'), "ask"},
	{{.kind = REQUEST_EV_STOPPED}, "stop"},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 1}, ""},
	{{.kind = REQUEST_EV_FORWARDED}, ""},
	{CLIENT('B', .saving = true), "later asked:B"},
	{{.kind = REQUEST_EV_STOPPED}, "stop"},
	{{.kind = REQUEST_EV_COMPLETE, .generation = 2}, "saved:A stop later"},
	{{.kind = REQUEST_EV_ENDED}, "failed:B! failed:A!"},
	{{0}, NULL},
};
// clang-format on

/* The first event whose effects are others; NULL: none. */
static const struct row *wrong_example(void)
{
	const struct row *wrong = NULL;
	static const struct row *const all[] = {
		one_client,
		two_share_a_save,
		one_who_asks_during_the_save,
		a_save_that_comes_to_nothing,
		a_sigterm_is_passed_on,
		another_member_saves,
		a_notice_is_answered_elsewhere,
		who_does_not_wait,
		a_checkpoint_that_began_before,
		a_withdrawn_notice,
		a_withdrawn_notice_whose_save_goes_on,
		a_job_that_ends,
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct request_table table = {0};

		for (size_t j = 0; all[i][j].effects; j++) {
			struct request_effects effects = step(&table, all[i][j].event);

			if (strcmp(words(&effects), all[i][j].effects) != 0 && !wrong)
				wrong = &all[i][j];
		}
		request_table_release(&table);
	}
	return wrong;
}

static void test_examples(void **state)
{
	const struct row *wrong = wrong_example();

	(void)state;
	if (wrong)
		fail_msg("event %d does not give: %s", (int)wrong->event.kind, wrong->effects);
}

/* --- what is seen of a gang's log --- */

struct saw_row {
	struct request_event event;
	uint32_t saw;
};

#define ASKED_BY_OTHERS(number, ...)                                                               \
	{                                                                                          \
		.kind = REQUEST_EV_MADE, .cause = SAVED_ON_REQUEST, .event = (number), __VA_ARGS__ \
	}
#define TOLD(request, number)                                               \
	{                                                                   \
		.kind = REQUEST_EV_TOLD, .id = (request), .event = (number) \
	}
#define SENDING                            \
	{                                  \
		.kind = REQUEST_EV_SENDING \
	}
#define COMPLETE(number, ...)                                                    \
	{                                                                        \
		.kind = REQUEST_EV_COMPLETE, .generation = (number), __VA_ARGS__ \
	}

// clang-format off
static const struct saw_row what_others_ask[] = {
	{ASKED_BY_OTHERS(3), 0}, {SENDING, 0}, {ASKED_BY_OTHERS(5), 0}, {COMPLETE(1), 5},
	{{.kind = REQUEST_EV_DURABLE, .generation = 1}, 5},
	{ASKED_BY_OTHERS(7), 5}, {{.kind = REQUEST_EV_NOT_ASKED}, 5}, {{0}, 0},
};

/* A save that was under way is no answer. */
static const struct saw_row during_a_save[] = {
	{ASKED_BY_OTHERS(3), 0}, {SENDING, 0}, {ASKED_BY_OTHERS(5, .saving = true), 0},
	{ASKED_BY_OTHERS(6, .saving = true), 0}, {COMPLETE(1), 3},
	{{.kind = REQUEST_EV_SAVE_OVER}, 3}, {SENDING, 3}, {COMPLETE(2), 6}, {{0}, 0},
};

static const struct saw_row under_way_before[] = {
	{ASKED_BY_OTHERS(3), 0}, {SENDING, 0}, {COMPLETE(1, .late = true), 0},
	{{.kind = REQUEST_EV_SAVE_OVER}, 0}, {SENDING, 0}, {COMPLETE(2), 3}, {{0}, 0},
};

/* What is asked for here has its place in the log only later; and what was asked for before it is
 * not answered by it. */
static const struct saw_row told_late[] = {
	{CLIENT('A'), 0}, {SENDING, 0}, {COMPLETE(1), 0}, {TOLD(1, 4), 4}, {TOLD(9, 8), 4}, {{0}, 0},
};
static const struct saw_row not_in_its_order[] = {
	{CLIENT('A'), 0}, {SENDING, 0}, {ASKED_BY_OTHERS(4, .saving = true), 0}, {COMPLETE(1), 0},
	{TOLD(1, 5), 0}, {{.kind = REQUEST_EV_SAVE_OVER}, 0}, {SENDING, 0}, {COMPLETE(2), 5}, {{0}, 0},
};

/* A notice is content with what was under way, whenever its number is known. */
static const struct saw_row at_a_notice[] = {
	{TOLD(0, 2), 0}, {MADE(SAVED_AT_NOTICE, .saving = true), 0}, {COMPLETE(1, .late = true), 2},
	{TOLD(0, 6), 2}, {{0}, 0},
};
static const struct saw_row at_a_notice_here[] = {
	{MADE(SAVED_AT_NOTICE), 0}, {SENDING, 0}, {COMPLETE(1), 0},
	{{.kind = REQUEST_EV_DURABLE, .generation = 1}, 0}, {TOLD(0, 2), 2}, {{0}, 0},
};
static const struct saw_row at_a_notice_during_a_request[] = {
	{ASKED_BY_OTHERS(3), 0}, {SENDING, 0}, {TOLD(0, 4), 0}, {MADE(SAVED_AT_NOTICE), 0},
	{COMPLETE(1, .late = true), 4}, {{0}, 0},
};
static const struct saw_row a_forwarded_sigterm[] = {
	{TOLD(0, 4), 0}, {{.kind = REQUEST_EV_FORWARDED}, 0}, {COMPLETE(1), 4}, {{0}, 0},
};
/* A notice that has no number yet takes none away. */
static const struct saw_row a_notice_without_a_number[] = {
	{ASKED_BY_OTHERS(3), 0}, {SENDING, 0}, {COMPLETE(1), 3},
	{MADE(SAVED_AT_NOTICE), 3}, {SENDING, 3}, {COMPLETE(2), 3}, {TOLD(0, 5), 5}, {{0}, 0},
};
/* Another notice is not answered by what the one before it was. */
static const struct saw_row a_second_notice[] = {
	{ASKED_BY_OTHERS(3), 0}, {SENDING, 0}, {COMPLETE(1), 3},
	{MADE(SAVED_AT_NOTICE), 3}, {SENDING, 3}, {COMPLETE(2), 3},
	{{.kind = REQUEST_EV_WITHDRAWN}, 3}, {MADE(SAVED_AT_NOTICE), 3}, {TOLD(0, 8), 3}, {SENDING, 3},
	{COMPLETE(3), 8}, {{0}, 0},
};
// clang-format on

static void test_what_is_seen_of_the_log(void **state)
{
	static const struct saw_row *const all[] = {
		what_others_ask,
		during_a_save,
		under_way_before,
		told_late,
		not_in_its_order,
		at_a_notice,
		at_a_notice_here,
		a_forwarded_sigterm,
		at_a_notice_during_a_request,
		a_notice_without_a_number,
		a_second_notice,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct request_table table = {0};

		for (size_t j = 0; j == 0 || all[i][j].event.kind != REQUEST_EV_MADE ||
				   all[i][j].event.cause != SAVED_BY_ITSELF;
		     j++) {
			struct request_effects effects = {0};

			request_table_step(&table, &all[i][j].event, &effects);
			request_effects_release(&effects);
			if (request_table_saw(&table) != all[i][j].saw)
				fail_msg("story %zu, event %zu: %u", i, j,
					 request_table_saw(&table));
		}
		request_table_release(&table);
	}
}

static void test_who_made_which(void **state)
{
	struct request_table table = {0};
	static const struct {
		struct request_event event;
		uint64_t made;
	} of[] = {
		{CLIENT('A'), 1},
		/* The one that is open serves it. */
		{MADE(SAVED_AT_INTERVAL), 0},
		{CLIENT('B'), 2},
		{ASKED_BY_OTHERS(8), 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct request_effects effects = {0};

		request_table_step(&table, &of[i].event, &effects);
		request_effects_release(&effects);
		assert_int_equal(table.made, of[i].made);
	}
	request_table_release(&table);
}

static void test_the_most_urgent_cause_names_the_save(void **state)
{
	struct request_table table = {0};
	struct request_effects effects =
		step(&table,
		     (struct request_event){.kind = REQUEST_EV_MADE, .cause = SAVED_AT_INTERVAL});

	(void)state;
	request_effects_release(&effects);
	assert_int_equal(request_table_cause(&table), SAVED_AT_INTERVAL);
	assert_true(request_table_is_open(&table) && request_table_awaits(&table));
	effects = step(&table,
		       (struct request_event){.kind = REQUEST_EV_MADE, .cause = SAVED_AT_NOTICE});
	request_effects_release(&effects);
	assert_int_equal(request_table_cause(&table), SAVED_AT_NOTICE);
	request_table_release(&table);
	assert_int_equal(request_table_cause(&table), SAVED_BY_ITSELF);
	assert_false(request_table_awaits(&table));
}

/* --- random histories --- */

/* A job, its parts and its clients, as simple as can be. A save has what the job had worked when it
 * began. */
struct world {
	uint64_t seed;
	struct request_table table;
	int64_t work; /* counts every step: the time, too */
	bool being_asked, later;
	bool asked, saving; /* the job heard the request; it writes */
	int64_t save_work;
	/* the save began after the newest asking; or before it, and answers it all the same */
	bool fresh, late;
	uint64_t generation, durable;
	int64_t work_of[512]; /* of each generation */
	bool ended;
	struct {
		bool waits, answered, until_asked;
		int64_t asked_work;
	} client[sizeof(clients)];
	size_t client_count;
	const char *wrong;
};

static uint64_t random_next(struct world *world)
{
	world->seed ^= world->seed << 13;
	world->seed ^= world->seed >> 7;
	world->seed ^= world->seed << 17;
	return world->seed;
}

static void expect(struct world *world, bool fact, const char *what)
{
	if (!fact && !world->wrong)
		world->wrong = what;
}

static void perform(struct world *world, const struct request_effect *effect,
		    const struct request_event *event)
{
	size_t i = effect->client ? (size_t)((char *)effect->client - clients) : 0;

	if (effect->client)
		expect(world, world->client[i].waits, "a reply to nobody");
	if (effect->client && effect->last)
		world->client[i].waits = false;
	switch (effect->kind) {
	case REQUEST_DO_ASK:
		expect(world, !world->saving || !world->asked, "asked during its save");
		world->being_asked = true;
		break;
	case REQUEST_DO_STOP_ASKING:
		world->being_asked = false;
		break;
	case REQUEST_DO_BEGIN_LATER:
		world->later = true;
		break;
	case REQUEST_DO_REPLY_DURABLE:
		expect(world, world->work_of[event->generation] >= world->client[i].asked_work,
		       "durable, but older than the request");
		expect(world, event->generation <= world->durable, "not durable");
		world->client[i].answered = true;
		break;
	case REQUEST_DO_REPLY_FAILED:
		expect(world,
		       event->kind == REQUEST_EV_LOST || event->kind == REQUEST_EV_NOT_ASKED ||
			       event->kind == REQUEST_EV_ENDED,
		       "failed without a reason");
		break;
	case REQUEST_DO_REPLY_ASKED:
	case REQUEST_DO_REPLY_SAVED:
	case REQUEST_DO_USE_SAVE:
	case REQUEST_EFFECTS:
		break;
	}
}

static void post(struct world *world, struct request_event event)
{
	struct request_effects effects = step(&world->table, event);

	for (size_t i = 0; i < effects.count; i++)
		perform(world, &effects.items[i], &event);
	request_effects_release(&effects);
}

static void make_request(struct world *world)
{
	bool client = random_next(world) % 4 > 0 && world->client_count < sizeof(clients);
	struct request_event event = {
		.kind = REQUEST_EV_MADE,
		.cause = client ? SAVED_ON_REQUEST : SAVED_AT_INTERVAL + random_next(world) % 3,
		.until_asked = client && random_next(world) % 4 == 0,
		.saving = world->saving,
	};

	if (client) {
		world->client[world->client_count].waits = true;
		world->client[world->client_count].until_asked = event.until_asked;
		world->client[world->client_count].asked_work = world->work;
		event.client = &clients[world->client_count++];
	}
	post(world, event);
}

static void end_save(struct world *world, bool whole)
{
	world->saving = world->asked = false;
	if (!whole)
		return;
	world->work_of[++world->generation] = world->save_work;
	if (world->fresh || world->late)
		post(world, (struct request_event){.kind = REQUEST_EV_COMPLETE,
						   .generation = world->generation,
						   .late = !world->fresh});
}

static void happen(struct world *world)
{
	world->work++;
	switch (random_next(world) % 12) {
	case 0:
	case 1:
		make_request(world);
		break;
	case 2:
	case 3:
		if (!world->being_asked || world->table.asking != ASKING_BEGUN)
			break;
		post(world, (struct request_event){.kind = REQUEST_EV_SENDING});
		post(world, (struct request_event){.kind = REQUEST_EV_SENT});
		world->asked = true;
		world->late = world->saving && random_next(world) % 2;
		world->fresh = false;
		break;
	case 4:
	case 5:
		if (!world->asked || world->saving)
			break;
		world->saving = world->fresh = true;
		world->save_work = world->work;
		break;
	case 6:
	case 7:
		if (world->saving)
			end_save(world, random_next(world) % 8 > 0);
		break;
	case 8:
		if (world->durable == world->generation)
			break;
		world->durable = world->generation;
		post(world, (struct request_event){.kind = REQUEST_EV_DURABLE,
						   .generation = world->durable});
		break;
	case 9:
		if (random_next(world) % 4 == 0 && world->durable < world->generation)
			post(world, (struct request_event){.kind = REQUEST_EV_LOST,
							   .generation = world->generation});
		else if (random_next(world) % 4 == 0 && world->table.asking == ASKING_BEGUN)
			post(world, (struct request_event){.kind = REQUEST_EV_NOT_ASKED});
		else if (random_next(world) % 4 == 0)
			post(world, (struct request_event){.kind = REQUEST_EV_WITHDRAWN});
		break;
	default:
		if (!world->later)
			break;
		world->later = false;
		post(world,
		     (struct request_event){.kind = REQUEST_EV_SAVE_OVER, .saving = world->saving});
		break;
	}
}

/* From now on all goes well. Then nobody waits any more. */
static void settle(struct world *world)
{
	for (int i = 0; i < 8; i++) {
		if (world->later)
			post(world, (struct request_event){.kind = REQUEST_EV_SAVE_OVER,
							   .saving = world->saving});
		if (world->table.asking == ASKING_BEGUN && world->being_asked) {
			post(world, (struct request_event){.kind = REQUEST_EV_SENDING});
			post(world, (struct request_event){.kind = REQUEST_EV_SENT});
			world->fresh = false;
		}
		world->work++;
		if (!world->saving && world->table.asking == ASKING_SENT) {
			world->saving = world->fresh = true;
			world->save_work = world->work;
		}
		if (world->saving)
			end_save(world, true);
		world->durable = world->generation;
		post(world, (struct request_event){.kind = REQUEST_EV_DURABLE,
						   .generation = world->durable});
	}
	for (size_t i = 0; i < world->client_count; i++)
		expect(world, !world->client[i].waits, "a client waits for ever");
	expect(world, !world->being_asked || world->table.asking != ASKING_NONE,
	       "the job is asked for nobody");
}

static const char *live(uint64_t seed)
{
	struct world world = {.seed = seed * 0x9E3779B97F4A7C15u + 1};

	for (int i = 0; i < 150 && !world.wrong; i++)
		happen(&world);
	if (random_next(&world) % 4 > 0) {
		settle(&world);
	} else {
		if (random_next(&world) % 2)
			post(&world, (struct request_event){.kind = REQUEST_EV_STOPPED});
		post(&world, (struct request_event){.kind = REQUEST_EV_ENDED});
		expect(&world, !world.being_asked, "asked after the end");
		for (size_t i = 0; i < world.client_count; i++)
			expect(&world, !world.client[i].waits, "left without an answer at the end");
	}
	request_table_release(&world.table);
	return world.wrong;
}

static uint64_t setting(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : usual;
}

static void test_random_histories(void **state)
{
	uint64_t seed = setting("REPRIEVE_TEST_SEED", 1);
	uint64_t end = seed + setting("REPRIEVE_HISTORIES", 20000);

	(void)state;
	for (; seed < end; seed++) {
		const char *wrong = live(seed);

		if (wrong)
			fail_msg("REPRIEVE_TEST_SEED=%llu REPRIEVE_HISTORIES=1: %s",
				 (unsigned long long)seed, wrong);
	}
}

static bool is_noticed(void)
{
	if (wrong_example())
		return true;
	for (uint64_t seed = 1; seed < 500; seed++)
		if (live(seed))
			return true;
	return false;
}

static void test_mutants_are_noticed(void **state)
{
	unsigned count = 0, noticed = 0;

	(void)state;
	for (int event = 0; event < REQUEST_EVENTS; event++) {
		for (int effect = 0; effect < REQUEST_EFFECTS; effect++) {
			if (!occurs[event][effect])
				continue;
			mutant.on = true;
			mutant.event = (enum request_event_kind)event;
			mutant.effect = (enum request_effect_kind)effect;
			count++;
			noticed += is_noticed();
			mutant.on = false;
		}
	}
	print_message("mutants noticed: %u of %u\n", noticed, count);
	assert_true(count > 15 && noticed * 100 >= count * 95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_what_is_seen_of_the_log),
		cmocka_unit_test(test_who_made_which),
		cmocka_unit_test(test_the_most_urgent_cause_names_the_save),
		cmocka_unit_test(test_random_histories),
		cmocka_unit_test(test_mutants_are_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
