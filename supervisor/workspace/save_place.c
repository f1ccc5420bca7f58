#include "save_place.h"

#include "base/text.h"
#include "checkpoint_name.h"
#include "shim/checkpoint_endings.h"

#include <stdio.h>
#include <string.h>

enum save_place_remark save_place_decide(const struct save_place_facts *facts)
{
	bool waited = facts->ran_ms >= SAVE_PLACE_PATIENCE_MS;

	if (facts->saved_here)
		return facts->also && !facts->said_also ? SAVE_PLACE_ALSO : SAVE_PLACE_SILENT;
	if (facts->elsewhere && (facts->checkpoints || !facts->found_here))
		return facts->ended || !facts->said_elsewhere ? SAVE_PLACE_ELSEWHERE
							      : SAVE_PLACE_SILENT;
	if (!facts->expected || facts->found_here)
		return SAVE_PLACE_SILENT;
	/* A job that fails at its start, or a short one that was only recognised, owes nothing. */
	if (facts->ended)
		return waited || (facts->chosen && !facts->failed) ? SAVE_PLACE_NOWHERE
								   : SAVE_PLACE_SILENT;
	return waited && !facts->said_nowhere ? SAVE_PLACE_NOWHERE : SAVE_PLACE_SILENT;
}

/* Of the directories only the innermost: those above are of the experiment. */
static struct checkpoint_name name_of(const char *path)
{
	const char *start = path + strlen(path);

	for (int slashes = 0; start > path && slashes < 2; start--)
		slashes += start[-1] == '/';
	return checkpoint_name_parse(*start == '/' ? start + 1 : start);
}

bool save_place_is_checkpoint(const char *path, bool again)
{
	return again || name_of(path).certain;
}

static void remove_last_part(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = '\0';
}

const char *save_place_directory(const char *path, char *text, size_t size)
{
	const char *name;

	text_set(text, size, path);
	remove_last_part(text);
	while ((name = strrchr(text, '/')) && name != text &&
	       checkpoint_number_of_name(name + 1, strlen(name + 1)) >= 0)
		remove_last_part(text);
	return text;
}

/* The innermost directory that holds both; "/" for none. */
static const char *common_directory(const char *one, const char *other, char *text, size_t size)
{
	size_t length;

	text_set(text, size, one);
	while ((length = strlen(text)) > 1 &&
	       !(strncmp(text, other, length) == 0 && (!other[length] || other[length] == '/')))
		remove_last_part(text);
	return text;
}

static bool is_among(const char *const *words, const char *text, size_t length)
{
	for (; *words; words++)
		if (strlen(*words) == length && memcmp(*words, text, length) == 0)
			return true;
	return false;
}

/* Of the directories in which it is and the watched one is not. */
static bool is_among_data(const char *path)
{
	static const char *const names[] = {
		"cache", "caches",  "data",  "dataset", "datasets", "features", "log",
		"logs",  "metrics", "wandb", "mlruns",  "tmp",      "temp",     NULL,
	};
	size_t length;

	for (; *path; path += length) {
		path += *path == '/';
		length = strcspn(path, "/");
		if (path[length] == '/' && is_among(names, path, length))
			return true;
	}
	return false;
}

bool save_place_is_second(const char *path, const char *watched, bool again, char *const *before,
			  size_t count)
{
	struct checkpoint_name name = name_of(path), other;
	char place[512], place_before[512];

	common_directory(watched, path, place, sizeof(place));
	if (again && (checkpoint_ending_traits(path) & ENDING_IS_WEIGHTS) &&
	    !is_among_data(path + strlen(place)))
		return true;
	save_place_directory(path, place, sizeof(place));
	for (size_t i = 0; name.certain && i < count; i++) {
		other = name_of(before[i]);
		if (other.certain && other.number != name.number &&
		    text_equal(place,
			       save_place_directory(before[i], place_before, sizeof(place_before))))
			return true;
	}
	return false;
}

const char *save_place_both(const struct save_place_facts *facts, char *text, size_t size)
{
	char also[512];

	save_place_directory(facts->also, also, sizeof(also));
	return common_directory(facts->watched, also, text, size)[1] ? text : NULL;
}

static const char *format_also(const struct save_place_facts *facts, char *text, size_t size)
{
	char also[512], watched[512], both[512], how[600] = "";
	const char *name = strrchr(facts->also, '/');

	save_place_directory(facts->also, also, sizeof(also));
	text_elide(watched, sizeof(watched), facts->watched);
	if (!facts->both_refused && save_place_both(facts, both, sizeof(both)))
		snprintf(how, sizeof(how), ": %s holds both", both);
	snprintf(text, size,
		 "the job also saves in %s (%s), which is not watched: that does not come back on "
		 "another machine. If it resumes from there as well as from %s, set "
		 "--checkpoint-dir to one directory for all that it saves%s",
		 also, name ? name + 1 : facts->also, watched, how);
	return text;
}

/* What was said at its first save elsewhere stands above: here is what came of it. */
static const char *format_again(const struct save_place_facts *facts, char *text, size_t size)
{
	char directory[512], watched[512], how[600] = "see the warning above";
	auto_free char *word = NULL;

	save_place_directory(facts->elsewhere, directory, sizeof(directory));
	text_elide(watched, sizeof(watched), facts->watched);
	word = text_shell_word(directory);
	if (!facts->refused)
		snprintf(how, sizeof(how), "--checkpoint-dir %s", word);
	snprintf(text, size,
		 "nothing of this run is durable: the job has saved in %s, and nothing in %s, "
		 "which is watched (%s)",
		 directory, watched, how);
	return text;
}

const char *save_place_format(const struct save_place_facts *facts, enum save_place_remark remark,
			      char *text, size_t size)
{
	char directory[512], watched[512], time[32];
	const char *name = facts->elsewhere ? strrchr(facts->elsewhere, '/') : NULL;
	auto_free char *word = NULL;

	if (facts->elsewhere)
		word = text_shell_word(
			save_place_directory(facts->elsewhere, directory, sizeof(directory)));
	if (remark == SAVE_PLACE_ALSO)
		return format_also(facts, text, size);
	if (remark == SAVE_PLACE_ELSEWHERE && facts->ended && facts->said_elsewhere)
		return format_again(facts, text, size);
	text_elide(watched, sizeof(watched), facts->watched);
	if (remark == SAVE_PLACE_ELSEWHERE && name && facts->refused)
		snprintf(text, size,
			 "the job %s %s in %s, and nothing in %s, which is watched. If its "
			 "checkpoints are there: %s; %s",
			 facts->ended ? "has saved" : "saves", name + 1,
			 save_place_directory(facts->elsewhere, directory, sizeof(directory)),
			 watched, facts->refused, facts->advice);
	else if (remark == SAVE_PLACE_ELSEWHERE && name)
		snprintf(text, size,
			 "the job %s %s in %s, and nothing in %s, which is watched: set "
			 "--checkpoint-dir %s if its checkpoints are there",
			 facts->ended ? "has saved" : "saves", name + 1, directory, watched, word);
	else
		snprintf(text, size,
			 "nothing was saved in %s within %s: set --checkpoint-dir to where the job "
			 "saves",
			 watched, text_duration(facts->ran_ms, time, sizeof(time)));
	return text;
}
