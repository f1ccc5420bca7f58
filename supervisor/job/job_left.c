/* What a supervisor that was killed together with its job has left unread: it goes into the list of
 * what was under way in its directory, before its session is removed. Only in that of this job:
 * another one may lie on a mount that hangs, and this job is not to wait for it. Of such, the
 * session stays for the start there. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "completion/completion.h"
#include "job.h"
#include "workspace/workspace.h"

#include <stdlib.h>

/* Was this supervisor the last one in the directory, and is nobody there now? Else the list is not
 * its own. */
static bool is_last_there(const struct workspace *workspace, const struct left_channel *left)
{
	return workspace_last_supervisor(workspace) == left->supervisor &&
	       !workspace_is_in_use(workspace, NULL);
}

static void complete_list(const struct job *job, struct workspace *workspace,
			  const struct left_channel *left, const json_t *known)
{
	bool rebooted;
	struct path_list listed = {0};
	struct left_facts facts = {
		.known = known,
		.reports = left->reports,
		.count = left->count,
		.listed = left->listed,
		.patterns = &job->options->patterns,
		.look = file_look_at,
		.is_database = file_look_is_database,
		.arg = workspace->directory,
	};
	char **paths;
	struct err err;

	if (workspace_read_under_way(workspace, &listed, &rebooted, &err) == 0 && !rebooted) {
		facts.list = listed.paths;
		paths = left_reports_list(&facts);
		if (workspace_write_under_way(workspace, paths, &err) < 0)
			log_debug("the list of what was being written stays as it was: %s",
				  err.text);
		path_list_free(paths);
	}
	path_list_free(listed.paths);
}

/* What it has learned of this job's saves need not be learned again. */
static void keep_known(struct job *job, const struct workspace *workspace, json_t *known)
{
	auto_(completion_record_release) struct completion_record record = {0};
	struct err err;

	if (workspace_read_record(workspace, &record, &err) < 0 ||
	    !text_equal(record.job, job->name.text))
		return;
	json_decref(job->left_known);
	job->left_known = json_incref(known);
}

static void read_left(void *arg, const char *session_directory)
{
	struct job *job = arg;
	auto_(left_channel_release) struct left_channel left = {0};
	struct workspace workspace = {0};
	auto_json json_t *known = NULL;
	struct err err;

	if (left_channel_read(session_directory, &left, &err) < 0) {
		log_debug("%s", err.text);
		return;
	}
	known = json_parse(left.known.data, left.known.size, NULL);
	workspace_init(&workspace, job->options->checkpoint_dir);
	if (text_equal(workspace.directory, left.directory) &&
	    json_is_array(json_object_get(known, "rest")) && is_last_there(&workspace, &left)) {
		if (left.count > left.listed)
			complete_list(job, &workspace, &left, known);
		keep_known(job, &workspace, known);
	}
	workspace_release(&workspace);
}

void job_read_what_was_left(struct job *job)
{
	char boot[40];

	workspace_read_boot(boot);
	session_each_dead(job->workspace.directory, read_left, job);
	session_remove_dead(&job->session, job->workspace.directory, boot);
}
