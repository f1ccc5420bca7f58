/* What a killed supervisor has left unread is put into the list of its own directory, and of no
 * other. */
#include "bare_job.h"

#include "base/log.h"
#include "heard.h"

static bool readable, in_use, rebooted, unknown, unwritable, unread, recorded;
static int last_supervisor;
static const char *left_in, *known, *recorded_job;
static bool lists;

void __wrap_session_each_dead(const char *directory, void (*each)(void *arg, const char *session),
			      void *arg);
void __wrap_session_each_dead(const char *directory, void (*each)(void *arg, const char *session),
			      void *arg)
{
	assert_string_equal(directory, "/nowhere/ckpt");
	each(arg, "/dead");
}

#define REMOVED "session_remove_dead /nowhere/ckpt 1; "

/* What is not read by then is lost. */
NOTED_WITH(session_remove_dead,
	   (const struct session *session, const char *directory, const char *boot), "%s %d",
	   directory, session &&boot)

int __wrap_left_channel_read(const char *session_directory, struct left_channel *left,
			     struct err *err);
int __wrap_left_channel_read(const char *session_directory, struct left_channel *left,
			     struct err *err)
{
	assert_string_equal(session_directory, "/dead");
	if (!readable)
		return err_set(err, ERR_NOT_FOUND, "nothing");
	left->directory = text_copy(left_in);
	left->supervisor = 77;
	left->listed = 3;
	left->count = unread ? 4 : 3;
	return bytes_append(&left->known, known, strlen(known), err);
}

int __wrap_workspace_last_supervisor(const struct workspace *workspace);
int __wrap_workspace_last_supervisor(const struct workspace *workspace)
{
	assert_non_null(workspace);
	return last_supervisor;
}

int __wrap_workspace_read_record(const struct workspace *workspace,
				 struct completion_record *record, struct err *err);
int __wrap_workspace_read_record(const struct workspace *workspace,
				 struct completion_record *record, struct err *err)
{
	assert_non_null(workspace);
	if (!recorded)
		return err_set(err, ERR_NOT_FOUND, "no record");
	record->job = text_copy(recorded_job);
	return 0;
}

bool __wrap_workspace_is_in_use(const struct workspace *workspace, struct err *err);
bool __wrap_workspace_is_in_use(const struct workspace *workspace, struct err *err)
{
	(void)err;
	assert_non_null(workspace);
	return in_use;
}

int __wrap_workspace_read_under_way(const struct workspace *workspace, struct path_list *paths,
				    bool *anew, struct err *err);
int __wrap_workspace_read_under_way(const struct workspace *workspace, struct path_list *paths,
				    bool *anew, struct err *err)
{
	assert_non_null(workspace);
	*anew = rebooted;
	if (lists)
		path_list_add(paths, "model.pt");
	return unknown ? err_set(err, ERR_CORRUPT, "unknown") : 0;
}

char **__wrap_left_reports_list(const struct left_facts *facts);
char **__wrap_left_reports_list(const struct left_facts *facts)
{
	struct path_list paths = {0};

	assert_string_equal(facts->arg, left_in);
	note_call("list %s", facts->list ? facts->list[0] : "-");
	path_list_add(&paths, "optimizer.pt");
	return paths.paths;
}

int __wrap_workspace_write_under_way(const struct workspace *workspace, char *const *paths,
				     struct err *err);
int __wrap_workspace_write_under_way(const struct workspace *workspace, char *const *paths,
				     struct err *err)
{
	assert_non_null(workspace);
	note_call("write %s", paths[0]);
	return unwritable ? err_set(err, ERR_DENIED, "denied") : 0;
}

static void begin(struct job *job)
{
	workspace_release(&job->workspace);
	bare_job_init(job);
	bare_config.checkpoint_dir = "/nowhere/ckpt";
	workspace_init(&job->workspace, bare_config.checkpoint_dir);
}

static void what_was_left_goes_into_its_own_list(void **state)
{
	static struct job job;
	static const char *const knowns[] = {"{\"rest\":[]}", "{\"rest\":1}", "[", ""};

	(void)state;
	for (unsigned bits = 0; bits < 256; bits++) {
		bool own = bits & 1, usable;

		begin(&job);
		left_in = own ? "/nowhere/ckpt" : "/nowhere/other";
		readable = !(bits & 2);
		last_supervisor = bits & 4 ? 78 : 77;
		in_use = bits & 8;
		rebooted = bits & 16;
		unknown = bits & 32;
		lists = bits & 64;
		unread = bits & 128;
		known = knowns[0];
		usable = own && readable && last_supervisor == 77 && !in_use && !rebooted &&
			 !unknown && unread;
		job_read_what_was_left(&job);
		assert_calls(!usable ? REMOVED
			     : lists ? "list model.pt; write optimizer.pt; " REMOVED
				     : "list -; write optimizer.pt; " REMOVED);
	}
	left_in = "/nowhere/ckpt";
	last_supervisor = 77;
	readable = lists = unread = true;
	in_use = rebooted = unknown = false;
	known = knowns[0];
	log_set_level(LOG_LEVEL_DEBUG);
	for (int fails = 0; fails < 2; fails++) {
		unwritable = fails;
		assert_int_equal(strstr(HEARD(job_read_what_was_left(&job)),
					"the list of what was being written stays as it was: "
					"denied") != NULL,
				 fails);
	}
	log_set_level(LOG_LEVEL_NOTE);
	calls[0] = '\0';
	for (size_t i = 0; i < 4; i++) {
		known = knowns[i];
		unwritable = true;
		job_read_what_was_left(&job);
		assert_calls(i == 0 ? "list model.pt; write optimizer.pt; " REMOVED : REMOVED);
	}
	workspace_release(&job.workspace);
}

/* Also where nothing was left unread, but only by the same job, and in its own directory. */
static void what_was_learned_is_known_to_the_same_job_alone(void **state)
{
	static struct job job;

	(void)state;
	readable = true;
	in_use = rebooted = unknown = unwritable = lists = false;
	last_supervisor = 77;
	known = "{\"rest\":[]}";
	for (unsigned bits = 0; bits < 16; bits++) {
		bool usable = bits == 7 || bits == 15;

		begin(&job);
		strcpy(job.name.text, "digits");
		recorded = bits & 1;
		recorded_job = bits & 2 ? "digits" : "letters";
		left_in = bits & 4 ? "/nowhere/ckpt" : "/nowhere/other";
		unread = bits & 8;
		job_read_what_was_left(&job);
		assert_int_equal(json_is_array(json_object_get(job.left_known, "rest")), usable);
		json_decref(job.left_known);
		job.left_known = NULL;
	}
	recorded = false;
	workspace_release(&job.workspace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_learned_is_known_to_the_same_job_alone),
		cmocka_unit_test(what_was_left_goes_into_its_own_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
