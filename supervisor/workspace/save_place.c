#include "save_place.h"

#include "base/text.h"
#include "checkpoint_name.h"

#include <stdio.h>
#include <string.h>

enum save_place_remark save_place_decide(const struct save_place_facts *facts)
{
	bool waited = facts->ran_ms >= SAVE_PLACE_PATIENCE_MS;

	if (facts->saved_here)
		return SAVE_PLACE_SILENT;
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
bool save_place_is_checkpoint(const char *path, bool again)
{
	const char *start = path + strlen(path);

	for (int slashes = 0; start > path && slashes < 2; start--)
		slashes += start[-1] == '/';
	return again || checkpoint_name_parse(*start == '/' ? start + 1 : start).certain;
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

const char *save_place_format(const struct save_place_facts *facts, enum save_place_remark remark,
			      char *text, size_t size)
{
	char directory[512], watched[512], time[32];
	const char *name = facts->elsewhere ? strrchr(facts->elsewhere, '/') : NULL;

	text_elide(watched, sizeof(watched), facts->watched);
	if (remark == SAVE_PLACE_ELSEWHERE && name)
		snprintf(text, size,
			 "the job %s %s in %s, and nothing in %s, which is watched: set "
			 "--checkpoint-dir %s if its checkpoints are there",
			 facts->ended ? "has saved" : "saves", name + 1,
			 save_place_directory(facts->elsewhere, directory, sizeof(directory)),
			 watched, directory);
	else
		snprintf(text, size,
			 "nothing was saved in %s within %s: set --checkpoint-dir to where the job "
			 "saves",
			 watched, text_duration(facts->ran_ms, time, sizeof(time)));
	return text;
}
