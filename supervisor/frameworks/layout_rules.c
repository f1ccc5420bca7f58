#include "frameworks.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct profile *profile; /* the one that has the rule */
	bool own;                      /* it is the job's profile */
	const struct profile_rule *rule;
	const struct layout_view *view;
	layout_rules_fn *report;
	void *arg;
	struct path_set *reported;
	/* the one that was checked last: files are sorted, so those of a checkpoint are adjacent */
	char *last_checkpoint;
};

/* --- finding files --- */

static const char *path_of(const struct check *check, size_t i)
{
	return check->view->files->items[i].path;
}

/* Index of the first path that does not sort before `text`. */
static size_t lower_bound(const struct check *check, const char *text)
{
	size_t low = 0, high = check->view->files->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(path_of(check, middle), text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is there a file whose path is `start` ("" or "x/y/" or "x/y/stem") and a rest without slashes
 * that matches? `fresh`: only one that was written in this save counts, if the view knows that. */
static bool has_file(const struct check *check, const char *start, const char *pattern, bool fresh)
{
	const struct layout_view *view = check->view;
	size_t length = strlen(start);

	for (size_t i = lower_bound(check, start);
	     i < view->files->count && text_starts(path_of(check, i), start); i++) {
		const char *name = path_of(check, i) + length;

		if (!strchr(name, '/') && fnmatch(pattern, name, FNM_PERIOD) == 0 &&
		    (!fresh || !view->fresh || view->fresh(view->arg, path_of(check, i))))
			return true;
	}
	return false;
}

static void report_once(const struct check *check, const char *path, const char *why)
{
	if (path_set_marks(check->reported, path))
		return;
	path_set_mark(check->reported, path, 1);
	check->report(check->arg, path, why);
}

/* Reports the numbered checkpoint that contains the file, or the file if there is none. */
static void report_file(const struct check *check, const char *path, const char *why)
{
	auto_free char *checkpoint = text_copy_n(path, checkpoint_directory_length(path));

	report_once(check, *checkpoint ? checkpoint : path, why);
}

static char *directory_of(const char *path)
{
	return text_copy_n(path, (size_t)(text_last_part(path) - path));
}

/* --- the rules --- */

/* Outermost directory of the path to which the rule applies, with its slash; NULL: none. */
static char *find_rule_directory(const struct check *check, const char *path)
{
	for (const char *name = path, *slash; (slash = strchr(name, '/')); name = slash + 1) {
		auto_free char *part = text_copy_n(name, (size_t)(slash - name));

		if (fnmatch(check->rule->checkpoint, part, FNM_PERIOD) == 0 &&
		    strpbrk(part, "0123456789"))
			return text_copy_n(path, (size_t)(slash + 1 - path));
	}
	return NULL;
}

/* False: the checkpoint was checked just before. */
static bool is_new_checkpoint(struct check *check, const char *checkpoint)
{
	if (text_equal(check->last_checkpoint, checkpoint))
		return false;
	free(check->last_checkpoint);
	check->last_checkpoint = text_copy(checkpoint);
	return true;
}

static void report_checkpoint(const struct check *check, const char *checkpoint, const char *what)
{
	auto_free char *path = text_copy_n(checkpoint, strlen(checkpoint) - 1);
	auto_free char *why = text_format("%s %s %s", path, what, check->rule->marker);

	report_once(check, path, why);
}

/* NEEDS and FORBIDS. */
static void apply_marker(struct check *check, const char *path)
{
	const struct profile_rule *rule = check->rule;
	bool needed = rule->kind == PROFILE_RULE_NEEDS;
	auto_free char *checkpoint =
		rule->checkpoint ? find_rule_directory(check, path) : directory_of(path);
	auto_free char *why = NULL;
	bool fresh;

	if (!checkpoint)
		return;
	if (!rule->member) {
		if (is_new_checkpoint(check, checkpoint) &&
		    has_file(check, checkpoint, rule->marker, false) != needed)
			report_checkpoint(check, checkpoint, needed ? "has no" : "still holds");
		return;
	}
	if (strchr(path + strlen(checkpoint), '/') ||
	    fnmatch(rule->member, text_last_part(path), FNM_PERIOD) != 0)
		return;
	fresh = check->view->fresh && check->view->fresh(check->view->arg, path);
	if (has_file(check, checkpoint, rule->marker, fresh))
		return;
	why = text_format("%s has no %s%s with it", path, fresh ? "new " : "", rule->marker);
	if (rule->checkpoint)
		report_checkpoint(check, checkpoint, "has no");
	else
		report_file(check, path, why);
}

/* The last number in the text; -1: none. */
static int64_t number_in(const char *text)
{
	int64_t number = -1;

	for (const char *at = text; at && *at;) {
		size_t digits = strspn(at, "0123456789");

		if (digits > 0)
			number = checkpoint_number_at(at, digits);
		at += digits > 0 ? digits : 1;
	}
	return number;
}

static void apply_pointer(struct check *check, const char *path)
{
	const struct layout_view *view = check->view;
	auto_free char *checkpoint = find_rule_directory(check, path);
	auto_free char *bare = NULL;
	auto_free char *directory = NULL;
	auto_free char *pointer = NULL;
	auto_free char *why = NULL;
	int64_t here, reached = -1;

	if (!checkpoint || !is_new_checkpoint(check, checkpoint))
		return;
	bare = text_copy_n(checkpoint, strlen(checkpoint) - 1);
	directory = directory_of(bare);
	pointer = text_format("%s%s", directory, check->rule->marker);
	here = number_in(text_last_part(bare));
	if (file_list_find(view->files, pointer)) {
		const char *text = view->text(view->arg, pointer);

		reached = text ? number_in(text) : here;
		/* "release", or a tag that the user has chosen: it shows nothing about numbers. */
		if (text && reached < 0 && text[strspn(text, " \t\r\n")])
			return;
	} else if (!check->own) {
		return;
	}
	if (here <= reached)
		return;
	why = reached < 0 ? text_format("no %s names %s", pointer, bare)
			  : text_format("%s names number %lld, not yet %s", pointer,
					(long long)reached, bare);
	report_once(check, bare, why);
}

static void apply_rule(struct check *check)
{
	for (size_t i = 0; i < check->view->files->count; i++) {
		const char *path = path_of(check, i);

		if (profile_is_temporary_path(check->profile, path))
			continue;
		switch (check->rule->kind) {
		case PROFILE_RULE_NONE:
			return;
		case PROFILE_RULE_NEEDS:
		case PROFILE_RULE_FORBIDS:
			apply_marker(check, path);
			break;
		case PROFILE_RULE_POINTER:
			apply_pointer(check, path);
			break;
		}
	}
}

void layout_rules_find_incomplete(const struct profile *profile, const struct layout_view *view,
				  layout_rules_fn *report, void *arg)
{
	struct path_set reported = {0};

	for (size_t i = 0; i < profile_count; i++) {
		struct check check = {
			.profile = &profile_rows[i],
			.own = profile == &profile_rows[i],
			.view = view,
			.report = report,
			.arg = arg,
			.reported = &reported,
		};

		for (size_t j = 0; j < PROFILE_RULES; j++) {
			check.rule = &profile_rows[i].rules[j];
			if (check.rule->at_rank_0 && view->marker_elsewhere)
				continue;
			if (check.rule->kind && (check.own || check.rule->anywhere))
				apply_rule(&check);
			free(steal(&check.last_checkpoint));
		}
	}
	path_set_release(&reported);
}
