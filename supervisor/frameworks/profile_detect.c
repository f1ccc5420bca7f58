#include "frameworks.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "workspace/workspace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Larger files are not read: training scripts are far smaller. */
#define SCRIPT_MOST (256 * 1024)

struct scan {
	char *script, *shell;
	char *script_name;
};

/* NULL: not a readable regular file of that size. The caller frees. */
static char *read_text(const char *path)
{
	auto_(bytes_release) struct bytes text = {.limit = SCRIPT_MOST};
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > SCRIPT_MOST ||
	    file_read(path, &text, NULL) < 0 || text.size == 0)
		return NULL;
	return text_copy_n((const char *)text.data, text.size);
}

static void read_script(struct scan *scan, const char *path)
{
	if (scan->script)
		return;
	scan->script = read_text(path);
	if (scan->script)
		scan->script_name = text_copy(path);
}

static void scan_module(struct scan *scan, const char *module)
{
	auto_free char *file = python_module_path(module, PYTHON_MODULE);
	auto_free char *package = python_module_path(module, PYTHON_PACKAGE);

	read_script(scan, file);
	read_script(scan, package);
}

/* The program may be a script itself: "./train", a console script, "./train.sh". */
static void scan_program(struct scan *scan, const char *path)
{
	auto_free char *text = strchr(path, '/') ? read_text(path) : NULL;
	const char *line;

	if (!text || !text_starts(text, "#!"))
		return;
	line = text + strcspn(text, "\n");
	if (memmem(text, (size_t)(line - text), "python", 6) && !scan->script) {
		scan->script = steal(&text);
		scan->script_name = text_copy(path);
	} else if (!scan->shell) {
		scan->shell = steal(&text);
	}
}

static void scan_word(struct scan *scan, const char *before, const char *word)
{
	if (text_equal(before, "-m"))
		scan_module(scan, word);
	else if (text_ends(word, ".py"))
		read_script(scan, word);
}

static void scan_shell_words(struct scan *scan)
{
	const char *at = scan->shell;
	auto_free char *before = text_copy("");
	size_t length;

	for (; (at = profile_shell_word(at, &length)); at += length) {
		char *word = text_copy_n(at, length);

		scan_word(scan, before, word);
		free(before);
		before = word;
	}
}

static void scan_command(struct scan *scan, char *const *command)
{
	const char *before = "";

	if (command[0])
		scan_program(scan, command[0]);
	for (char *const *word = command; *word; before = *word++) {
		scan_word(scan, before, *word);
		if (!scan->shell && (text_ends(*word, ".sh") || text_ends(*word, ".bash")))
			scan->shell = read_text(*word);
		/* sh -c "..." */
		if (!scan->shell && text_equal(before, "-c"))
			scan->shell = text_copy(*word);
	}
	scan_shell_words(scan);
}

static int find_by_name(const char *name, const struct profile_evidence *evidence,
			struct profile_choice *choice, struct err *err)
{
	auto_free char *names = NULL;

	choice->profile = profile_find(name);
	if (!choice->profile) {
		names = profile_names();
		return err_set(err, ERR_INVALID, "no profile '%s': use auto, none, or one of %s",
			       name, names);
	}
	text_set(choice->why, sizeof(choice->why), "chosen");
	choice->can_be_asked = profile_can_be_asked(choice->profile, evidence);
	choice->handler_unseen = profile_handler_is_unseen(choice->profile, evidence);
	return 0;
}

int profile_detect(const char *name, char *const *command, const char *directory,
		   struct profile_choice *choice, struct err *err)
{
	struct scan scan = {0};
	auto_(snapshot_files_release) struct snapshot_files files = {0};
	struct profile_evidence evidence = {.command = command};
	int status = 0;

	*choice = (struct profile_choice){0};
	scan_command(&scan, command);
	evidence.script = scan.script;
	evidence.shell = scan.shell;
	evidence.script_name = scan.script_name;
	if (text_equal(name, "auto")) {
		if (file_list_read(directory, &files, NULL) == 0)
			evidence.checkpoints = &files;
		profile_choose(&evidence, choice);
	} else {
		status = find_by_name(name, &evidence, choice, err);
	}
	choice->polls = scan.script && profile_imports(scan.script, "reprieve");
	choice->like_slurm =
		choice->profile && choice->profile->lightning_slurm && !choice->can_be_asked &&
		!choice->polls &&
		lightning_slurm_is_available(scan.script, profile_is_launched(&evidence),
					     directory);
	free(scan.script);
	free(scan.shell);
	free(scan.script_name);
	return status;
}
