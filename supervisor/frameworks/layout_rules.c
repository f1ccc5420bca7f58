#include "layout_rules.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search {
	const struct profile *profile; /* whose rule it is */
	bool own;                      /* the job's */
	const struct profile_rule *rule;
	const struct torn_set_view *view;
	torn_set_fn *tell;
	void *arg;
	struct path_set *told;
	char *last_unit; /* looked at just now: its files stand together */
};

/* --- looking --- */

static const char *path_of(const struct search *search, size_t i)
{
	return search->view->files->items[i].path;
}

/* The first path that does not come before `text`. */
static size_t lower_bound(const struct search *search, const char *text)
{
	size_t low = 0, high = search->view->files->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(path_of(search, middle), text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A file directly in `directory` ("" or "x/y/") whose name matches; `fresh`: written in this save, where that is known. */
static bool holds(
	const struct search *search, const char *directory, const char *pattern, bool fresh)
{
	const struct torn_set_view *view = search->view;
	size_t length = strlen(directory);

	for (size_t i = lower_bound(search, directory);
		i < view->files->count && text_starts(path_of(search, i), directory); i++) {
		const char *name = path_of(search, i) + length;

		if (!strchr(name, '/') && fnmatch(pattern, name, FNM_PERIOD) == 0 &&
			(!fresh || !view->fresh || view->fresh(view->arg, path_of(search, i))))
			return true;
	}
	return false;
}

static void tell_once(const struct search *search, const char *path, const char *why)
{
	if (path_set_marks(search->told, path))
		return;
	path_set_mark(search->told, path, 1);
	search->tell(search->arg, path, why);
}

/* The numbered checkpoint that the file is in, else the file. */
static void tell_of_file(const struct search *search, const char *path, const char *why)
{
	auto_free char *unit = text_copy_n(path, numbered_unit(path));

	tell_once(search, *unit ? unit : path, why);
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return text_copy_n(path, slash ? (size_t)(slash + 1 - path) : 0);
}

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- the rules --- */

/* The outermost directory of the path that the rule is about, with its slash; NULL. */
static char *unit_of_rule(const struct search *search, const char *path)
{
	for (const char *name = path, *slash; (slash = strchr(name, '/')); name = slash + 1) {
		auto_free char *part = text_copy_n(name, (size_t)(slash - name));

		if (fnmatch(search->rule->unit, part, FNM_PERIOD) == 0 &&
			strpbrk(part, "0123456789"))
			return text_copy_n(path, (size_t)(slash + 1 - path));
	}
	return NULL;
}

/* True when this unit was not looked at just before. */
static bool is_new_unit(struct search *search, const char *unit)
{
	if (text_equal(search->last_unit, unit))
		return false;
	free(search->last_unit);
	search->last_unit = text_copy(unit);
	return true;
}

static void tell_of_unit(const struct search *search, const char *unit, const char *what)
{
	auto_free char *path = text_copy_n(unit, strlen(unit) - 1);
	auto_free char *why = text_format("%s %s %s", path, what, search->rule->marker);

	tell_once(search, path, why);
}

static void apply_needs(struct search *search, const char *path)
{
	const struct profile_rule *rule = search->rule;
	auto_free char *unit = rule->unit ? unit_of_rule(search, path) : directory_of(path);
	auto_free char *why = NULL;
	bool fresh;

	if (!unit)
		return;
	if (!rule->member) {
		if (is_new_unit(search, unit) && !holds(search, unit, rule->marker, false))
			tell_of_unit(search, unit, "has no");
		return;
	}
	if (strchr(path + strlen(unit), '/') ||
		fnmatch(rule->member, name_of(path), FNM_PERIOD) != 0)
		return;
	fresh = search->view->fresh && search->view->fresh(search->view->arg, path);
	if (holds(search, unit, rule->marker, fresh))
		return;
	why = text_format("%s has no %s%s with it", path, fresh ? "new " : "", rule->marker);
	if (rule->unit)
		tell_of_unit(search, unit, "has no");
	else
		tell_of_file(search, path, why);
}

static void apply_forbids(struct search *search, const char *path)
{
	auto_free char *unit = unit_of_rule(search, path);

	if (unit && is_new_unit(search, unit) && holds(search, unit, search->rule->marker, false))
		tell_of_unit(search, unit, "still holds");
}

/* The stem's length when the name ends in the pattern, which begins with the literal character of its kind; 0. */
static size_t stem_of(const char *name, const char *pattern)
{
	for (const char *at = strchr(name, *pattern); at; at = strchr(at + 1, *pattern))
		if (at > name && fnmatch(pattern, at, 0) == 0)
			return (size_t)(at - name);
	return 0;
}

/* So that a name stands for itself in a pattern. */
static char *escape(const char *name, size_t length)
{
	char *escaped = memory_new(2 * length + 1);
	size_t at = 0;

	for (size_t i = 0; i < length; i++) {
		if (strchr("*?[]\\", name[i]))
			escaped[at++] = '\\';
		escaped[at++] = name[i];
	}
	return escaped;
}

static void apply_pair(struct search *search, const char *path)
{
	const struct profile_rule *rule = search->rule;
	const char *name = name_of(path);
	size_t stem = stem_of(name, rule->member);
	bool is_member = stem > 0;
	auto_free char *directory = directory_of(path);
	auto_free char *bare = NULL;
	auto_free char *partner = NULL;
	auto_free char *why = NULL;

	/* Only the members' names are unmistakable. */
	if (!is_member && search->own)
		stem = stem_of(name, rule->marker);
	if (stem == 0)
		return;
	bare = escape(name, stem);
	partner = text_format("%s%s", bare, is_member ? rule->marker : rule->member);
	if (holds(search, directory, partner, false))
		return;
	why = text_format("%s has no %.*s%s with it", path, (int)stem, name,
		is_member ? rule->marker : ".data");
	tell_of_file(search, path, why);
}

/* The last number in the text; -1. */
static int64_t number_in(const char *text)
{
	int64_t number = -1;

	for (const char *at = text; at && *at;) {
		size_t digits = strspn(at, "0123456789");

		if (digits > 0)
			number = numbered_at(at, digits);
		at += digits > 0 ? digits : 1;
	}
	return number;
}

static void apply_pointer(struct search *search, const char *path)
{
	const struct torn_set_view *view = search->view;
	auto_free char *unit = unit_of_rule(search, path);
	auto_free char *bare = NULL;
	auto_free char *directory = NULL;
	auto_free char *pointer = NULL;
	auto_free char *why = NULL;
	int64_t here, reached = -1;
	size_t at;

	if (!unit || !is_new_unit(search, unit))
		return;
	bare = text_copy_n(unit, strlen(unit) - 1);
	directory = directory_of(bare);
	pointer = text_format("%s%s", directory, search->rule->marker);
	at = lower_bound(search, pointer);
	here = number_in(name_of(bare));
	if (at < view->files->count && text_equal(path_of(search, at), pointer)) {
		const char *text = view->text(view->arg, pointer);

		reached = text ? number_in(text) : here;
		/* "release", or a tag of the user's own: it says nothing about numbers. */
		if (text && reached < 0 && text[strspn(text, " \t\r\n")])
			return;
	} else if (!search->own) {
		return;
	}
	if (here <= reached)
		return;
	why = reached < 0 ? text_format("no %s names %s", pointer, bare)
			  : text_format("%s names number %lld, not yet %s", pointer,
				    (long long)reached, bare);
	tell_once(search, bare, why);
}

static void apply(struct search *search)
{
	for (size_t i = 0; i < search->view->files->count; i++) {
		const char *path = path_of(search, i);

		if (profile_is_temporary(search->profile, path))
			continue;
		switch (search->rule->kind) {
		case PROFILE_RULE_NONE:
			return;
		case PROFILE_RULE_NEEDS:
			apply_needs(search, path);
			break;
		case PROFILE_RULE_FORBIDS:
			apply_forbids(search, path);
			break;
		case PROFILE_RULE_PAIR:
			apply_pair(search, path);
			break;
		case PROFILE_RULE_POINTER:
			apply_pointer(search, path);
			break;
		}
	}
}

void torn_set_find(const struct profile *profile, const struct torn_set_view *view,
	torn_set_fn *tell, void *arg)
{
	struct path_set told = {0};

	for (size_t i = 0; i < profile_count; i++) {
		struct search search = {.profile = &profile_rows[i],
			.own = profile == &profile_rows[i],
			.view = view,
			.tell = tell,
			.arg = arg,
			.told = &told};

		for (size_t j = 0; j < PROFILE_RULES; j++) {
			search.rule = &profile_rows[i].rules[j];
			if (search.rule->kind && (search.own || search.rule->anywhere))
				apply(&search);
			free(take(&search.last_unit));
		}
	}
	path_set_release(&told);
}

static bool is_marker(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile_count; i++) {
		const struct profile_rule *rule = profile_rows[i].rules;

		for (size_t j = 0; j < PROFILE_RULES; j++)
			if (rule[j].kind == PROFILE_RULE_NEEDS &&
				(rule[j].anywhere || profile == &profile_rows[i]) &&
				fnmatch(rule[j].marker, name, FNM_PERIOD) == 0)
				return true;
	}
	return false;
}

char *torn_set_later(
	const struct profile *profile, const struct torn_set_view *view, const char *path)
{
	auto_free char *directory = directory_of(path);
	const char *name = name_of(path);
	int64_t number = numbered_name(name, strlen(name));
	size_t above = strlen(directory);

	if (number < 0)
		return NULL;
	for (size_t i = 0; i < view->files->count; i++) {
		const char *other = view->files->items[i].path;
		size_t length = text_starts(other, directory) ? strcspn(other + above, "/") : 0;

		if (length > 0 && other[above + length] == '/' &&
			numbered_name(other + above, length) > number &&
			is_marker(profile, name_of(other)))
			return text_copy_n(other, above + length);
	}
	return NULL;
}
