#include "profile_detect.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "workspace/workspace.h"
#include "lightning_slurm.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Scripts are far smaller, and what is imported stands at the top. */
#define SCRIPT_MOST (256 * 1024)

struct search {
	char *script, *shell;
	char *script_name;
};

/* NULL unless it is a regular file that can be read. The caller frees. */
static char *read_text(const char *path)
{
	auto_(bytes_release) struct bytes text = {.limit = SCRIPT_MOST};
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > SCRIPT_MOST ||
		file_read(path, &text, NULL) < 0 || text.size == 0)
		return NULL;
	return text_copy_n((const char *)text.data, text.size);
}

static void take_script(struct search *search, const char *path)
{
	if (search->script)
		return;
	search->script = read_text(path);
	if (search->script)
		search->script_name = text_copy(path);
}

static void take_module(struct search *search, const char *module)
{
	auto_free char *file = python_module_file(module);
	auto_free char *package = python_module_package(module);

	take_script(search, file);
	take_script(search, package);
}

/* The program is a script itself: "./train", a console script, "./train.sh". */
static void take_program(struct search *search, const char *path)
{
	auto_free char *text = strchr(path, '/') ? read_text(path) : NULL;
	const char *line;

	if (!text || !text_starts(text, "#!"))
		return;
	line = text + strcspn(text, "\n");
	if (memmem(text, (size_t)(line - text), "python", 6) && !search->script) {
		search->script = take(&text);
		search->script_name = text_copy(path);
	} else if (!search->shell) {
		search->shell = take(&text);
	}
}

static void take_word(struct search *search, const char *before, const char *word)
{
	if (text_equal(before, "-m"))
		take_module(search, word);
	else if (text_ends(word, ".py"))
		take_script(search, word);
}

/* The words of a shell script, as far as they can be told without being a shell. */
static void take_words_of_shell(struct search *search)
{
	const char *at = search->shell;
	auto_free char *before = text_copy("");

	while (at && *at) {
		size_t length = strcspn(at, " \t\n\\;&|\"'");
		char *word;

		if (length == 0) {
			at++;
			continue;
		}
		word = text_copy_n(at, length);
		take_word(search, before, word);
		free(before);
		before = word;
		at += length;
	}
}

static void look_at_command(struct search *search, char *const *command)
{
	const char *before = "";

	if (command[0])
		take_program(search, command[0]);
	for (char *const *word = command; *word; before = *word++) {
		take_word(search, before, *word);
		if (!search->shell && (text_ends(*word, ".sh") || text_ends(*word, ".bash")))
			search->shell = read_text(*word);
		/* sh -c "..." */
		if (!search->shell && text_equal(before, "-c"))
			search->shell = text_copy(*word);
	}
	take_words_of_shell(search);
}

static int find_by_name(const char *name, const struct profile_evidence *evidence,
	struct profile_choice *choice, struct err *err)
{
	auto_free char *names = NULL;

	choice->profile = profile_find(name);
	if (!choice->profile) {
		names = profile_names();
		return err_set(err, ERR_INVALID,
			"there is no profile '%s': write auto, none, or one of %s", name, names);
	}
	text_set(choice->why, sizeof(choice->why), "chosen");
	choice->can_be_asked = profile_can_be_asked(choice->profile, evidence);
	return 0;
}

int profile_search(const char *name, char *const *command, const char *directory,
	struct profile_choice *choice, struct err *err)
{
	struct search search = {0};
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	struct profile_evidence evidence = {.command = command};
	int status = 0;

	*choice = (struct profile_choice){0};
	look_at_command(&search, command);
	evidence.script = search.script;
	evidence.shell = search.shell;
	evidence.script_name = search.script_name;
	if (text_equal(name, "auto")) {
		if (directory_files(directory, &files, NULL) == 0)
			evidence.checkpoints = &files;
		profile_choose(&evidence, choice);
	} else {
		status = find_by_name(name, &evidence, choice, err);
	}
	choice->polls = search.script && profile_imports(search.script, "reprieve");
	choice->like_slurm =
		choice->profile && choice->profile->slurm_road && !choice->can_be_asked &&
		!choice->polls &&
		slurm_road_is_open(search.script, profile_is_launched(&evidence), directory);
	free(search.script);
	free(search.shell);
	free(search.script_name);
	return status;
}
