/* What has a fixed name and is being written over stays in a snapshot as the parent has it. */
#include "storage_fixture.h"

#include <unistd.h>

/* The file that is being written over: it is no part of the save, and stays as the parent has it.
 */
static const char *written_over;
static unsigned asked;

static bool is_written_over(void *arg, const char *path)
{
	(void)arg;
	return written_over && text_equal(path, written_over);
}

static bool is_any(void *arg)
{
	(void)arg;
	asked++;
	return written_over != NULL;
}

static struct snapshot_id save(struct fixture *f)
{
	struct save_request request = {
		.id = fixture_next(f),
		.parent = f->sequence > 1 ? (struct snapshot_id){f->attempt.number, f->sequence - 1}
					  : f->attempt.start,
		.directory = f->source,
		.reason = "request",
		.step = -1,
		.exclude = is_written_over,
		.carried = is_written_over,
		.carries = is_any,
	};
	struct save_result result;

	assert_works(storage_save(f->storage, &request, &result, NULL, &err));
	return request.id;
}

static void write_text(struct fixture *f, const char *name, const char *text)
{
	auto_free char *path = text_format("%s/%s", f->source, name);

	assert_works(file_write(path, text, strlen(text), &err));
}

static void link_to(struct fixture *f, const char *name, const char *file)
{
	auto_free char *path = text_format("%s/%s", f->source, name);
	auto_free char *old = text_format("%s/%s", f->source, file);

	unlink(path);
	assert_int_equal(link(old, path), 0);
}

static void remove_file(struct fixture *f, const char *name)
{
	auto_free char *path = text_format("%s/%s", f->source, name);

	assert_int_equal(unlink(path), 0);
}

static void assert_holds(struct fixture *f, struct snapshot_id id, const char *name,
			 const char *text)
{
	auto_free char *path = text_format("%s/%s", f->target, name);
	auto_(bytes_release) struct bytes data = {0};

	assert_works(fixture_try_restore(f, id));
	assert_works(file_read(path, &data, &err));
	assert_int_equal(data.size, strlen(text));
	assert_memory_equal(data.data, text, data.size);
}

static void start(struct fixture *f)
{
	fixture_start(f);
	written_over = NULL;
	write_text(f, "step-1", "one");
	write_text(f, "last", "old");
}

static void what_is_written_over_stays_as_it_was(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	save(&f);
	written_over = "last";
	write_text(&f, "last", "ne");
	assert_holds(&f, save(&f), "last", "old");
	/* The next one has it from this one. */
	write_text(&f, "last", "new");
	assert_holds(&f, save(&f), "last", "old");
	written_over = NULL;
	assert_holds(&f, save(&f), "last", "new");
	fixture_stop(&f);
}

static void it_stays_in_the_first_save_of_an_attempt(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	save(&f);
	fixture_claim(&f);
	written_over = "last";
	write_text(&f, "last", "ne");
	assert_holds(&f, save(&f), "last", "old");
	fixture_stop(&f);
}

/* timm, and others, make last.pth.tar a hard link to the checkpoint of its epoch. */
static void a_hard_link_stays_as_a_file(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	link_to(&f, "step-2", "step-1");
	link_to(&f, "last", "step-1");
	save(&f);
	written_over = "last";
	assert_holds(&f, save(&f), "last", "one");
	/* What it is linked to is deleted, or written over. */
	remove_file(&f, "last");
	remove_file(&f, "step-2");
	write_text(&f, "step-1", "two");
	assert_holds(&f, save(&f), "last", "one");
	written_over = NULL;
	fixture_stop(&f);
}

/* The pointer of many scripts: latest -> step-1. */
static void a_symbolic_link_stays(void **state)
{
	struct fixture f;
	auto_free char *path = NULL;
	char target[16] = "";

	(void)state;
	start(&f);
	path = text_format("%s/latest", f.source);
	assert_int_equal(symlink("step-1", path), 0);
	save(&f);
	written_over = "latest";
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("step-2", path), 0);
	assert_holds(&f, save(&f), "latest", "one");
	free(path);
	path = text_format("%s/latest", f.target);
	assert_int_equal(readlink(path, target, sizeof(target) - 1), 6);
	assert_string_equal(target, "step-1");
	written_over = NULL;
	fixture_stop(&f);
}

static void what_nobody_asks_for_goes(void **state)
{
	struct fixture f;
	auto_free char *path = NULL;
	struct snapshot_id id;

	(void)state;
	start(&f);
	save(&f);
	remove_file(&f, "last");
	asked = 0;
	id = save(&f);
	assert_int_equal(asked, 1);
	assert_works(fixture_try_restore(&f, id));
	path = text_format("%s/last", f.target);
	assert_false(file_exists(path));
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_over_stays_as_it_was),
		cmocka_unit_test(it_stays_in_the_first_save_of_an_attempt),
		cmocka_unit_test(a_hard_link_stays_as_a_file),
		cmocka_unit_test(a_symbolic_link_stays),
		cmocka_unit_test(what_nobody_asks_for_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
