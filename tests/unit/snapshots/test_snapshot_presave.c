/* What was sent before the take, by a presend. */
#include "slow_store.h"

#include "storage/transfer/sending.h"

#include <fcntl.h>
#include <unistd.h>

static struct presave_result presended;

static int presend(struct fixture *f, const char *const *paths, size_t count,
		   bool (*enough)(void *arg), struct cancel *cancel)
{
	struct presave_request request = {
		.id = {f->attempt.number, f->sequence + 1},
		.parent = f->sequence ? (struct snapshot_id){f->attempt.number, f->sequence}
				      : f->attempt.start,
		.directory = f->source,
		.paths = paths,
		.path_count = count,
		.enough = enough,
	};

	return storage_presave(f->storage, &request, &presended, cancel, &err);
}

/* As a killed process would at best: all packs are there, nothing is committed. */
static void wait_for_uploads(struct fixture *f)
{
	while (f->storage->transfer.uploader &&
	       !pack_uploader_wait(f->storage->transfer.uploader, 50))
		;
}

static void test_the_take_sends_the_rest(void **state)
{
	static const char *const paths[] = {"deep/b", "a", "not there"};
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 3 * CHUNK_SIZE, 1);
	fixture_write(&f, "deep/b", 2 * CHUNK_SIZE, 2);
	fixture_write(&f, "deep/c", 100, 3);
	assert_works(presend(&f, paths, 3, NULL, NULL));
	assert_int_equal(presended.files, 2);
	assert_int_equal(presended.bytes, 5 * CHUNK_SIZE);
	assert_int_equal(presended.chunks_sent, 5);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.files, 3);
	assert_int_equal(result.chunks_sent, 1);
	assert_int_equal(result.chunks_kept, 5);
	assert_true(result.bytes_sent > 5 * CHUNK_SIZE);
	fixture_check(&f, (struct snapshot_id){1, 1});
	/* The same again costs nothing, also by another process. */
	fixture_claim(&f);
	assert_works(presend(&f, paths, 3, NULL, NULL));
	assert_int_equal(presended.chunks_sent, 0);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 0);
	fixture_check(&f, (struct snapshot_id){2, 1});
	fixture_stop(&f);
}

static void test_a_file_that_changed_since(void **state)
{
	static const char *const paths[] = {"a", "b"};
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 3 * CHUNK_SIZE, 1);
	fixture_write(&f, "b", 3 * CHUNK_SIZE, 2);
	assert_works(presend(&f, paths, 2, NULL, NULL));
	fixture_write(&f, "a", 3 * CHUNK_SIZE, 3);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 3);
	assert_int_equal(result.chunks_kept, 3);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

static void patch(struct fixture *f, const char *path, off_t offset, const char *text)
{
	auto_free char *full = text_format("%s/%s", f->source, path);
	auto_close int fd = open(full, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, text, strlen(text), offset), (ssize_t)strlen(text));
}

/* A file that is being written: in order, and then not quite. */
static void test_what_a_file_grows_by(void **state)
{
	static const char *const paths[] = {"a"};
	struct presave_request request = {.paths = paths, .path_count = 1, .growing = true};
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	request.directory = f.source;
	request.id = (struct snapshot_id){f.attempt.number, 1};
	request.parent = f.attempt.start;
	fixture_write(&f, "a", APPEND_PROGRESS_STEP * CHUNK_SIZE + 9, 1);
	assert_works(storage_presave(f.storage, &request, &presended, NULL, &err));
	assert_int_equal(presended.chunks_sent, APPEND_PROGRESS_STEP);
	assert_int_equal(presended.files, 0); /* none is complete */
	assert_works(storage_presave(f.storage, &request, &presended, NULL, &err));
	assert_int_equal(presended.chunks_sent + presended.chunks_kept, 0); /* not even read */
	fixture_write(&f, "a", 2 * APPEND_PROGRESS_STEP * CHUNK_SIZE, 1);
	assert_works(storage_presave(f.storage, &request, &presended, NULL, &err));
	assert_int_equal(presended.chunks_sent, APPEND_PROGRESS_STEP);
	assert_int_equal(presended.chunks_kept, APPEND_PROGRESS_STEP); /* looked at again */
	fixture_write(&f, "a", (2 * APPEND_PROGRESS_STEP + 1) * CHUNK_SIZE + 1, 1);
	patch(&f, "a", CHUNK_SIZE + 5, "changed after it was sent");
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 3);
	assert_int_equal(result.chunks_kept, 2 * APPEND_PROGRESS_STEP - 1);
	fixture_check(&f, (struct snapshot_id){1, 1});
	/* The next checkpoint under the same name begins from nothing. */
	fixture_write(&f, "a", (3 * APPEND_PROGRESS_STEP) * CHUNK_SIZE, 2);
	request.id = (struct snapshot_id){f.attempt.number, 2};
	request.parent = (struct snapshot_id){f.attempt.number, 1};
	assert_works(storage_presave(f.storage, &request, &presended, NULL, &err));
	assert_int_equal(presended.chunks_sent, 3 * APPEND_PROGRESS_STEP);
	fixture_stop(&f);
}

/* As an archive is written: its header comes once what follows it is written, which was sent by
 * then. It is sent anew while the rest is being written, so that nothing of it is left to do. */
static void test_a_writer_that_goes_back(void **state)
{
	static const char *const paths[] = {"a"};
	struct presave_request request = {.paths = paths, .path_count = 1, .growing = true};
	struct fixture f;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	request.directory = f.source;
	request.id = (struct snapshot_id){f.attempt.number, 1};
	request.parent = f.attempt.start;
	for (size_t records = 1; records <= 4; records++) {
		fixture_write(&f, "a", records * APPEND_PROGRESS_STEP * CHUNK_SIZE, 1);
		for (size_t i = 0; i + 1 < records; i++)
			patch(&f, "a", (off_t)(i * APPEND_PROGRESS_STEP * CHUNK_SIZE), "header");
		assert_works(storage_presave(f.storage, &request, &presended, NULL, &err));
		assert_int_equal(presended.chunks_sent, APPEND_PROGRESS_STEP + (records > 1));
	}
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 0);
	assert_int_equal(result.chunks_kept, 4 * APPEND_PROGRESS_STEP);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

static struct presave_request growing_request(struct fixture *f, const char *const *paths,
					      size_t count)
{
	return (struct presave_request){
		.id = {f->attempt.number, 1},
		.parent = f->attempt.start,
		.directory = f->source,
		.paths = paths,
		.path_count = count,
		.growing = true,
	};
}

struct grower {
	struct fixture *f;
	unsigned asked;
};

/* Writes another part each time that it is asked, and then no more. */
static bool write_more(void *arg)
{
	struct grower *grower = arg;

	if (++grower->asked > 3)
		return false;
	fixture_write(grower->f, "a", (grower->asked + 1) * APPEND_PROGRESS_STEP * CHUNK_SIZE, 1);
	return true;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static void test_goes_on_while_a_file_grows(void **state)
{
	static const char *const paths[] = {"a"};
	struct presave_request request;
	struct fixture f;
	struct grower grower = {.f = &f};
	struct save_result result;

	(void)state;
	fixture_start(&f);
	request = growing_request(&f, paths, 1);
	request.go_on = write_more;
	request.enough = never;
	request.arg = &grower;
	fixture_write(&f, "a", APPEND_PROGRESS_STEP * CHUNK_SIZE, 1);
	assert_works(storage_presave(f.storage, &request, &presended, NULL, &err));
	assert_int_equal(grower.asked, 4);
	assert_int_equal(presended.chunks_sent, 4 * APPEND_PROGRESS_STEP);
	assert_int_equal(presended.chunks_kept, 3 * APPEND_PROGRESS_STEP);
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 0);
	assert_int_equal(result.chunks_kept, 4 * APPEND_PROGRESS_STEP);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

static bool at_once(void *arg)
{
	(void)arg;
	return true;
}

static void test_enough_and_cancelled(void **state)
{
	static const char *const paths[] = {"a"};
	struct fixture f;
	struct save_result result;
	struct cancel cancel;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", 3 * CHUNK_SIZE, 1);
	assert_works(presend(&f, paths, 1, at_once, NULL));
	assert_int_equal(presended.files, 0);
	assert_works(cancel_init(&cancel, &err));
	cancel_raise(&cancel);
	assert_fails(presend(&f, paths, 1, NULL, &cancel), ERR_CANCELLED);
	cancel_release(&cancel);
	assert_works(presend(&f, NULL, 0, NULL, NULL));
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 3);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

/* Uploads end only once the take has begun: it waits for them, and does not send
 * anew what is on its way. */
static int wait_for_the_take(struct slow_store *slow, unsigned number, unsigned again,
			     struct cancel *cancel, struct err *error)
{
	(void)number, (void)again;
	for (int i = 0; i < 4000 && !atomic_load((atomic_bool *)slow->arg); i++)
		if (cancel_sleep(cancel, 5, error) < 0)
			return -1;
	return 0;
}

static bool take_has_begun(void *arg)
{
	struct slow_store *slow = arg;

	atomic_store((atomic_bool *)slow->arg, true);
	return true;
}

static void test_the_take_waits_for_what_is_on_its_way(void **state)
{
	static const char *const paths[] = {"a"};
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;
	atomic_bool begun = false;
	struct save_request request = {.reason = "request", .step = -1, .frozen = take_has_begun};

	(void)state;
	fixture_start(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &begun;
	slow->put_pack = wait_for_the_take;
	fixture_write(&f, "a", 5 * CHUNK_SIZE, 1);
	assert_works(presend(&f, paths, 1, NULL, NULL));
	assert_int_equal(presended.chunks_sent, 5);
	request.id = fixture_next(&f);
	request.directory = f.source;
	request.arg = slow;
	assert_works(storage_save(f.storage, &request, &result, NULL, &err));
	assert_int_equal(result.chunks_sent, 0);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

static int refuse(struct slow_store *slow, unsigned number, unsigned again, struct cancel *cancel,
		  struct err *error)
{
	(void)slow, (void)number, (void)again, (void)cancel;
	return err_set(error, ERR_RETRY, "503");
}

static void test_uploads_that_fail_behind_its_back(void **state)
{
	static const char *const paths[] = {"a"};
	struct fixture f;
	struct slow_store *slow;
	struct save_result result;

	(void)state;
	fixture_start(&f);
	slow = slow_store_install(&f, NULL);
	slow->put_pack = refuse;
	fixture_write(&f, "a", 5 * CHUNK_SIZE, 1);
	/* May notice by itself, or not. */
	presend(&f, paths, 1, NULL, NULL);
	wait_for_uploads(&f);
	slow->put_pack = NULL;
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 5);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

static void test_packs_that_went_away_since(void **state)
{
	static const char *const paths[] = {"a"};
	struct fixture f;
	struct save_result result;
	auto_free char *pack = NULL;

	(void)state;
	fixture_start(&f);
	fixture_write(&f, "a", CHUNK_SIZE, 1);
	assert_works(presend(&f, paths, 1, NULL, NULL));
	wait_for_uploads(&f);
	pack = fixture_find(&f, ".pack");
	assert_int_equal(unlink(pack), 0);
	assert_fails(fixture_try_take(&f, &result), ERR_RETRY);
	assert_true(result.store_lacks);
	f.sequence--;
	assert_works(fixture_try_take(&f, &result));
	assert_int_equal(result.chunks_sent, 1);
	fixture_check(&f, (struct snapshot_id){1, 1});
	fixture_stop(&f);
}

static void test_closing_gives_up_what_is_under_way(void **state)
{
	static const char *const paths[] = {"a"};
	struct fixture f;
	struct slow_store *slow;
	atomic_bool never = false;

	(void)state;
	fixture_start(&f);
	slow = slow_store_install(&f, NULL);
	slow->arg = &never;
	slow->put_pack = wait_for_the_take;
	fixture_write(&f, "a", 5 * CHUNK_SIZE, 1);
	assert_works(presend(&f, paths, 1, NULL, NULL));
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_take_sends_the_rest),
		cmocka_unit_test(test_a_file_that_changed_since),
		cmocka_unit_test(test_what_a_file_grows_by),
		cmocka_unit_test(test_a_writer_that_goes_back),
		cmocka_unit_test(test_goes_on_while_a_file_grows),
		cmocka_unit_test(test_enough_and_cancelled),
		cmocka_unit_test(test_the_take_waits_for_what_is_on_its_way),
		cmocka_unit_test(test_uploads_that_fail_behind_its_back),
		cmocka_unit_test(test_packs_that_went_away_since),
		cmocka_unit_test(test_closing_gives_up_what_is_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
