#include "frameworks.h"

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "process/process.h"
#include "workspace/workspace.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Unmistakable names of unfinished files: no framework uses them for finished ones. */
static const char *const temporary_anywhere[] = {".metadata.tmp", "*.orbax-checkpoint-tmp*",
						 "tmp-checkpoint-[0-9]*", NULL};

/* --- the table --- */

static bool is_called(const char *name, const char *const *names)
{
	while (*names && strcasecmp(name, *names) != 0)
		names++;
	return *names;
}

const struct profile *profile_find(const char *name)
{
	for (size_t i = 0; i < profile_count; i++)
		if (text_equal(profile_rows[i].name, name))
			return &profile_rows[i];
	for (size_t i = 0; i < profile_count; i++)
		if (is_called(name, profile_rows[i].also) ||
		    is_called(name, profile_rows[i].imports))
			return &profile_rows[i];
	return NULL;
}

char *profile_names(void)
{
	char *names = text_copy("");

	for (size_t i = 0; i < profile_count; i++)
		text_append(&names, "%s%s", i > 0 ? ", " : "", profile_rows[i].name);
	return names;
}

/* --- recognising --- */

/* "import x, M", "from M import x", and for M = "P.L" also "from P import x, L". Whose name goes on
 * with a dot is a part of M. */
bool profile_imports(const char *script, const char *module)
{
	const char *dot = strrchr(module, '.');
	auto_free char *parent = text_copy_n(module, dot ? (size_t)(dot - module) : 0);
	auto_free char *by_parent =
		text_format("|from[ \t]+%s[ \t]+import[ \t]+(.*[^[:alnum:]_])?%s", parent,
			    dot ? dot + 1 : "");
	auto_free char *pattern = text_format("^[ \t]*(import[ \t]+([^,]*,[ \t]*)*%s|from[ "
					      "\t]+%s%s)([^[:alnum:]_]|$)",
					      module, module, dot ? by_parent : "");

	return text_matches(script, pattern);
}

/* Is a word of the command line the wanted program, module or option (also "option=value")? */
static bool is_command_word(const char *word, size_t length, const char *wanted)
{
	const char *slash = memrchr(word, '/', length);
	size_t size = strlen(wanted);

	if (slash && *word != '-') {
		length -= (size_t)(slash + 1 - word);
		word = slash + 1;
	}
	return length >= size && strncmp(word, wanted, size) == 0 &&
	       (length == size || (*wanted == '-' && word[size] == '='));
}

/* The first word of a shell script's text, roughly: without expansions and quoting. NULL: there is
 * none, or no text. */
static const char *shell_word(const char *shell, size_t *length)
{
	static const char separators[] = " \t\n\\;&|\"'";
	const char *word = shell ? shell + strspn(shell, separators) : "";

	*length = strcspn(word, separators);
	return *length > 0 ? word : NULL;
}

/* `program`: the value of an option is none. */
static bool has_word(const struct profile_evidence *evidence, const char *wanted, bool program)
{
	const char *at = evidence->shell, *before = "";
	size_t length;

	for (char *const *word = evidence->command; word && *word; before = *word++)
		if (is_command_word(*word, strlen(*word), wanted) && !(program && *before == '-'))
			return true;
	for (before = ""; (at = shell_word(at, &length)); before = at, at += length)
		if (is_command_word(at, length, wanted) && !(program && *before == '-'))
			return true;
	return false;
}

static const char *first_word(const struct profile_evidence *evidence, const char *const *words,
			      bool program)
{
	for (; *words; words++)
		if (has_word(evidence, *words, program))
			return *words;
	return NULL;
}

/* Does the command contain a launcher of several processes? */
static bool is_launched(const struct profile_evidence *evidence)
{
	static const char *const launchers[] = {
		"torchrun",
		"torch.distributed.run",
		"torch.distributed.launch",
		"accelerate",
		"deepspeed",
		"mpirun",
		"mpiexec",
		"horovodrun",
		"srun",
		"fabric",
		"lightning",
		NULL,
	};

	return first_word(evidence, launchers, false) != NULL;
}

static const char *first_text(const struct profile_evidence *evidence, const char *const *texts)
{
	for (; evidence->script && *texts; texts++)
		if (strstr(evidence->script, *texts))
			return *texts;
	return NULL;
}

static const char *first_import(const struct profile_evidence *evidence, const char *const *imports)
{
	for (; evidence->script && *imports; imports++)
		if (profile_imports(evidence->script, *imports))
			return *imports;
	return NULL;
}

static const char *first_file(const struct profile_evidence *evidence, const char *const *patterns)
{
	for (; evidence->checkpoints && *patterns; patterns++) {
		for (size_t i = 0; i < evidence->checkpoints->count; i++) {
			const char *path = evidence->checkpoints->items[i].path;

			if (fnmatch(*patterns, text_last_part(path), 0) == 0)
				return path;
		}
	}
	return NULL;
}

static bool is_recognised(const struct profile *profile, const struct profile_evidence *evidence,
			  char *why, size_t size)
{
	const char *script = evidence->script_name ? evidence->script_name : "the script";
	const char *found = first_word(evidence, profile->words, false);

	if (!found)
		found = first_word(evidence, profile->programs, true);
	if (found) {
		snprintf(why, size, "the command contains %s", found);
		return true;
	}
	found = first_text(evidence, profile->texts);
	if (found) {
		snprintf(why, size, "%s contains %s", script, found);
		return true;
	}
	found = first_import(evidence, profile->imports);
	if (found && (!profile->with[0] || first_text(evidence, profile->with))) {
		snprintf(why, size, "%s imports %s", script, found);
		return true;
	}
	return false;
}

/* Can a job of this profile be asked to save, as far as the evidence shows? */
static bool can_be_asked(const struct profile *profile, const struct profile_evidence *evidence)
{
	if (profile->ask == PROFILE_ASK_NONE)
		return false;
	/* A script that was not read may contain it. Asking does no harm then, because a signal is
	 * sent only to a process that catches it. */
	if (!profile->enables[0] || !evidence->script)
		return true;
	for (const char *const *text = profile->enables; *text; text++) {
		if (strstr(evidence->script, *text) ||
		    (evidence->shell && strstr(evidence->shell, *text)))
			return true;
		for (char *const *word = evidence->command; word && *word; word++)
			if (strstr(*word, *text))
				return true;
	}
	return false;
}

/* It names signals, and this one is not among them. */
static bool handles_others(const char *script, int signal)
{
	char name[SIGNAL_NAME_SIZE];
	bool others = false;

	if (strstr(script, signal_name_format(signal, name)))
		return false;
	for (const char *at = strstr(script, "SIG"); at; at = strstr(at + 1, "SIG"))
		others |= isupper((unsigned char)at[3]) != 0;
	return others;
}

/* Must the job's script handle the signal, and does it not, as far as its text shows? */
static bool handler_is_unseen(const struct profile *profile,
			      const struct profile_evidence *evidence)
{
	static const char *const handlers[] = {
		"signal.signal(", "from signal import", "add_signal_handler", "sigaction",
		"sigwait",        "set_wakeup_fd",      "signalfd",           NULL,
	};

	if (evidence->shell && strstr(evidence->shell, "trap "))
		return false;
	return profile->ask == PROFILE_ASK_SIGNAL && profile->script_handles && evidence->script &&
	       (!first_text(evidence, handlers) ||
		handles_others(evidence->script, profile->signal)) &&
	       !profile_imports(evidence->script, "reprieve");
}

static void judge_asking(const struct profile_evidence *evidence, struct profile_choice *choice)
{
	choice->can_be_asked = choice->profile && can_be_asked(choice->profile, evidence);
	choice->handler_unseen = choice->profile && handler_is_unseen(choice->profile, evidence);
}

/* The command and its script come first: the directory's files may be another program's. */
void profile_choose(const struct profile_evidence *evidence, struct profile_choice *choice)
{
	*choice = (struct profile_choice){0};
	for (size_t i = 0; i < profile_count && !choice->profile; i++)
		if (is_recognised(&profile_rows[i], evidence, choice->why, sizeof(choice->why)))
			choice->profile = &profile_rows[i];
	for (size_t i = 0; i < profile_count && !choice->profile; i++) {
		const char *path = first_file(evidence, profile_rows[i].files);

		if (!path)
			continue;
		choice->profile = &profile_rows[i];
		snprintf(choice->why, sizeof(choice->why), "%.100s is in the checkpoint directory",
			 path);
	}
	judge_asking(evidence, choice);
}

/* --- what a command and its directory show --- */

/* Larger files are not read: training scripts are far smaller. */
#define SCRIPT_MOST (256 * 1024)

/* Owned. */
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

	for (; (at = shell_word(at, &length)); at += length) {
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
	judge_asking(evidence, choice);
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
		lightning_slurm_is_available(scan.script, is_launched(&evidence), directory);
	free(scan.script);
	free(scan.shell);
	free(scan.script_name);
	return status;
}

/* --- names --- */

static bool matches_one(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, name, 0) == 0)
			return true;
	return false;
}

bool profile_is_temporary_path(const struct profile *profile, const char *path)
{
	auto_free char *copy = text_copy(path);
	char *rest = copy;
	char *part;

	while ((part = strsep(&rest, "/")))
		if (matches_one(part, temporary_anywhere) ||
		    (profile && matches_one(part, profile->temporary)))
			return true;
	return false;
}

bool profile_is_completion_marker(const struct profile *profile, const char *path)
{
	return profile && matches_one(text_last_part(path), profile->completion_markers);
}

bool profile_has_marker(const struct profile *profile, enum profile_rule_kind kind,
			const char *path)
{
	for (size_t i = 0; i < profile_count; i++)
		for (size_t j = 0; j < PROFILE_RULES; j++) {
			const struct profile_rule *rule = &profile_rows[i].rules[j];

			if (rule->kind == kind && (rule->anywhere || profile == &profile_rows[i]) &&
			    fnmatch(rule->marker, text_last_part(path), 0) == 0)
				return true;
		}
	return false;
}

bool profile_is_resume_code(const struct profile *profile, int code)
{
	if (!profile)
		return false;
	for (const int *listed = profile->resume_codes; *listed; listed++)
		if (*listed == code)
			return true;
	return code == 0 && profile->zero_is_asked;
}
