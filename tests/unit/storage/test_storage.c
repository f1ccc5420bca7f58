/* Opening: what is refused, with which words; ids; jobs. */
#include "storage_fixture.h"

#include "storage/records/storage_handle.h"

static void test_ids(void **state)
{
	static const struct {
		const char *text;
		uint32_t attempt, sequence;
		// clang-format off
	} rows[] = {
		{"000003-000012", 3, 12}, {"3-12", 3, 12}, {"1000000-1", 1000000, 1}, {"", 0, 0},
		{"3", 0, 0}, {"3-", 0, 0}, {"-3", 0, 0}, {"0-1", 0, 0}, {"1-0", 0, 0},
		{"3-12x", 0, 0}, {"3-+1", 0, 0}, {"4294967296-1", 0, 0},
		{"00000000000000000003-1", 0, 0},
	};
	// clang-format on
	char text[SNAPSHOT_ID_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot_id id = {0};

		assert_int_equal(snapshot_id_parse(rows[i].text, &id), rows[i].attempt != 0);
		assert_int_equal(id.attempt, rows[i].attempt);
		assert_int_equal(id.sequence, rows[i].sequence);
	}
	assert_string_equal(snapshot_id_format((struct snapshot_id){3, 12}, text), "000003-000012");
	assert_true(snapshot_id_compare((struct snapshot_id){2, 9}, (struct snapshot_id){10, 1}) <
		    0);
	assert_true(snapshot_id_compare((struct snapshot_id){2, 9}, (struct snapshot_id){2, 1}) >
		    0);
}

static void test_refused_urls_and_names(void **state)
{
	static const struct {
		const char *url, *job, *said;
	} rows[] = {
		{"ftp://host", "job", "file:///DIR"},
		{"/just/a/path", "job", "named file:///just/a/path"},
		{"file://relative", "job", "absolute"},
		{"relative", "job", "named file:///"},
		{"s3:/bucket/runs", "job", "s3://BUCKET"},
		{"file:///dev/null", "job", "not a directory"},
		{"file:///tmp", "", "job name"},
		{"file:///tmp", "a/b", "job name"},
		{"file:///tmp", "..", "job name"},
		{"file:///tmp", NULL, "job name"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct storage_options options = {
			.url = rows[i].url,
			.job = rows[i].job,
			.create = true,
		};
		struct storage *storage = NULL;

		assert_fails(storage_open(&options, &storage, NULL, &err), ERR_INVALID);
		assert_non_null(strstr(err.text, rows[i].said));
		assert_null(storage);
	}
}

/* Of letters, digits and "._-", at most 128, and never hidden. */
static void test_names_of_jobs(void **state)
{
	char longest[130];
	const struct {
		const char *job;
		bool valid;
		// clang-format off
	} rows[] = {
		{"a", true}, {"AZaz09._-", true}, {"-a", true}, {"_", true}, {"a.", true}, {"a..b", true},
		{".", false}, {".a", false}, {"a b", false}, {"a\n", false}, {"a\\b", false}, {"\xc3\xa4", false},
		{longest, false}, {longest + 1, true},
	};
	// clang-format on
	struct fixture f;

	(void)state;
	memset(longest, 'j', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	fixture_start(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct storage_options options = {.url = f.url, .job = rows[i].job, .create = true};
		struct storage *storage = NULL;

		err = (struct err){0};
		if ((storage_open(&options, &storage, NULL, &err) == 0) != rows[i].valid)
			fail_msg("\"%s\": %s", rows[i].job, err.text);
		storage_close(storage);
	}
	fixture_stop(&f);
}

/* What lies at the top of a directory's store, and nothing else: FORMAT.md. */
static void test_reserved_names(void **state)
{
	static const char *const reserved[] = {"format.json", "jobs", "tmp"};
	static const char *const others[] = {"", "job", "jobs2", "format", "tmp.", "Tmp"};

	(void)state;
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		assert_true(storage_is_reserved_name(reserved[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(storage_is_reserved_name(others[i]));
}

static void test_missing_store(void **state)
{
	struct fixture f;
	struct storage_options options = {.job = "job"};
	struct storage *storage = NULL;
	auto_free char *missing = NULL, *empty = NULL;

	(void)state;
	fixture_start(&f);
	missing = text_format("file://%s/nowhere", f.root);
	empty = text_format("file://%s", f.source);
	options.url = missing;
	assert_fails(storage_open(&options, &storage, NULL, &err), ERR_NOT_FOUND);
	options.url = empty;
	assert_fails(storage_open(&options, &storage, NULL, &err), ERR_NOT_FOUND);
	assert_true(file_directory_is_empty(f.source));
	fixture_stop(&f);
}

/* To ask about a store makes none. */
static void test_a_question_makes_no_store(void **state)
{
	struct fixture f;
	auto_free char *missing = NULL, *path = NULL;

	(void)state;
	fixture_start(&f);
	path = text_format("%s/nowhere", f.root);
	missing = text_format("file://%s", path);
	assert_false(storage_is_in_the_clear(missing));
	assert_false(file_exists(path));
	fixture_stop(&f);
}

/* The default store is its user's alone; what lies on the way is made as ever. */
static void test_a_private_store(void **state)
{
	struct fixture f;
	auto_free char *path = NULL, *url = NULL;

	(void)state;
	fixture_start(&f);
	path = text_format("%s/a/b", f.root);
	url = text_format("file://%s", path);
	for (int is_private = 0; is_private < 2; is_private++) {
		struct storage_options options = {
			.url = url,
			.job = "job",
			.create = true,
			.is_private = is_private,
		};
		struct storage *storage = NULL;
		struct stat status;

		assert_works(storage_open(&options, &storage, NULL, &err));
		storage_close(storage);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal((status.st_mode & 077) == 0, is_private);
		assert_works(file_remove_tree(path, &err));
	}
	fixture_stop(&f);
}

/* What the marker says, or does not, and what is to be done. */
static void test_other_markers(void **state)
{
	static const struct {
		const char *marker;
		enum err_kind kind;
		const char *what_to_do, *not_said;
	} rows[] = {
		{"{\"reprieve\":\"format\",\"version\":4,\"bytes\":2,\"sha256\":\"\"}\n{}",
		 ERR_VERSION, "upgrade", "Remove that file"},
		{"{\"reprieve\":\"format\",\"version\":2,\"bytes\":2,\"sha256\":\"\"}\n{}",
		 ERR_VERSION, "another store", "Remove that file"},
		{"", ERR_CORRUPT, "Remove that file", "upgrade"},
		{"something else\n", ERR_CORRUPT, "Remove that file", "upgrade"},
	};
	struct fixture f;
	struct storage_options options = {.job = "job", .create = true};
	struct storage *storage = NULL;
	auto_free char *path = NULL;

	(void)state;
	fixture_start(&f);
	options.url = f.url;
	path = text_format("%s/format.json", f.store);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_works(file_write(path, rows[i].marker, strlen(rows[i].marker), &err));
		assert_fails(storage_open(&options, &storage, NULL, &err), rows[i].kind);
		assert_non_null(strstr(err.text, f.url));
		assert_non_null(strstr(err.text, rows[i].what_to_do));
		assert_null(strstr(err.text, rows[i].not_said));
	}
	fixture_stop(&f);
}

/* How much, how fast and how politely. */
static void test_what_is_asked_of_transfers(void **state)
{
	struct fixture f;
	struct storage_options options = {
		.job = "job",
		.create = true,
		.threads = 2,
		.background = true,
		.transfer = {.connections = 5,
			     .memory_bytes = 1,
			     .bandwidth_bytes_per_second = 12345},
	};
	struct storage *storage = NULL;

	(void)state;
	fixture_start(&f);
	options.url = f.url;
	assert_works(storage_open(&options, &storage, NULL, &err));
	assert_int_equal(storage->transfer.rate.bytes_per_second, 12345);
	assert_int_equal(storage->transfer.plan.uploaders, 5);
	assert_int_equal(storage->transfer.plan.readers, 1); /* for two there is no memory */
	assert_true(storage->transfer.background);
	/* A directory is none of another machine. */
	assert_false(storage->transfer.remote);
	storage_close(storage);
	fixture_stop(&f);
}

static void test_unwritable_store(void **state)
{
	struct fixture f;
	struct storage_options options = {.job = "job", .create = true};
	struct storage *storage = NULL;

	(void)state;
	if (geteuid() == 0)
		skip(); /* root may write anywhere */
	fixture_start(&f);
	options.url = f.url;
	assert_int_equal(chmod(f.store, 0555), 0);
	assert_fails(storage_open(&options, &storage, NULL, &err), ERR_DENIED);
	assert_int_equal(chmod(f.store, 0755), 0);
	fixture_stop(&f);
}

static void test_jobs(void **state)
{
	struct fixture f;
	struct storage_job_names jobs;
	struct storage_options options = {.job = "another.one", .create = true};
	struct claim claim = {0};
	struct attempt attempt;
	struct storage *storage;

	(void)state;
	fixture_start(&f);
	options.url = f.url;
	assert_works(storage_open(&options, &storage, NULL, &err));
	assert_works(storage_claim(storage, &claim, &attempt, NULL, &err));
	attempt_release(&attempt);
	storage_close(storage);
	assert_works(storage_list_jobs(f.url, &jobs, NULL, &err));
	assert_int_equal(jobs.count, 2);
	assert_string_equal(jobs.names[0], "another.one");
	assert_string_equal(jobs.names[1], "job");
	storage_job_names_release(&jobs);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_refused_urls_and_names),
		cmocka_unit_test(test_names_of_jobs),
		cmocka_unit_test(test_reserved_names),
		cmocka_unit_test(test_missing_store),
		cmocka_unit_test(test_a_question_makes_no_store),
		cmocka_unit_test(test_a_private_store),
		cmocka_unit_test(test_other_markers),
		cmocka_unit_test(test_what_is_asked_of_transfers),
		cmocka_unit_test(test_unwritable_store),
		cmocka_unit_test(test_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
