#include "workspace.h"

#include "base/file.h"
#include "base/text.h"
#include "storage/storage.h"

#include <string.h>
#include <sys/stat.h>

/* --- deciding --- */

/* The rest of `path` below `above`; "": they are equal; NULL: `path` is not below it. */
static const char *rest_below(const char *path, const char *above)
{
	size_t length = text_equal(above, "/") ? 0 : strlen(above);

	if (!path || strncmp(path, above, length) != 0 ||
	    (path[length] != '\0' && path[length] != '/'))
		return NULL;
	return path + length + strspn(path + length, "/");
}

/* Is the directory a part of what a store keeps? */
static bool is_inside_store(const struct directory_check_facts *facts)
{
	const char *rest = facts->store ? rest_below(facts->directory, facts->store) : NULL;
	auto_free char *name = rest ? text_copy_n(rest, strcspn(rest, "/")) : NULL;

	return name && storage_is_reserved_name(name);
}

static int judge_store(const struct directory_check_facts *facts, struct err *err)
{
	if (rest_below(facts->store, facts->directory))
		return err_set(err, ERR_INVALID, "%s holds the store %s, not checkpoints alone",
			       facts->directory, facts->store);
	if (is_inside_store(facts))
		return err_set(err, ERR_INVALID, "%s is inside the content of the store %s",
			       facts->directory, facts->store);
	return 0;
}

/* What is not the store's. */
static int judge_rest(const struct directory_check_facts *facts, struct err *err)
{
	bool runs_there = facts->working && text_equal(facts->working, facts->directory);
	const struct {
		const char *path, *what;
	} others[] = {
		{facts->runtime, "the runtime directory"},
		{facts->program, "the program"},
		{facts->home, "the home directory"},
		{runs_there ? NULL : facts->working, "the working directory"},
	};

	if (text_equal(facts->directory, "/"))
		return err_set(err, ERR_INVALID, "/ holds everything, not checkpoints alone");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (rest_below(others[i].path, facts->directory))
			return err_set(err, ERR_INVALID, "%s holds %s %s, not checkpoints alone",
				       facts->directory, others[i].what, others[i].path);
	if (runs_there && facts->repository)
		return err_set(err, ERR_INVALID, "%s holds a git repository, not checkpoints alone",
			       facts->directory);
	return 0;
}

#define OWN_DIRECTORY                                                                         \
	"let the job save in a directory of its own, and name that with --checkpoint-dir. A " \
	"script that saves where it is started is started in one: mkdir run && cd run, and "  \
	"there the same command with `--checkpoint-dir .` and the script as ../NAME"
#define OTHER_STORE "keep the store outside of it, and name that with --store"
#define OTHER_DIRECTORY "; or let the job save elsewhere, and name that with --checkpoint-dir"

int directory_check_judge(const struct directory_check_facts *facts, const char **advice,
			  struct err *err)
{
	bool everything = text_equal(facts->directory, "/");
	struct err of_rest, of_store;
	bool rest = judge_rest(facts, &of_rest) < 0, store = judge_store(facts, &of_store) < 0;

	*advice = NULL;
	if (rest && store && is_inside_store(facts))
		*advice = OTHER_STORE "; and " OWN_DIRECTORY;
	else if (rest)
		*advice = OWN_DIRECTORY;
	else if (store)
		*advice = OTHER_STORE OTHER_DIRECTORY;
	return rest || store ? err_set(err, ERR_INVALID, "%s",
				       (store && !everything ? of_store : of_rest).text)
			     : 0;
}

/* --- what the command runs --- */

struct program_search {
	const char *directory;
	char *program; /* found below it; owned */
};

static bool is_script(const char *word)
{
	static const char *const endings[] = {".py", ".sh", ".bash", ".jl", ".R", ".pl", ".lua"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		if (text_ends(word, endings[i]))
			return true;
	return false;
}

/* True: `path` is a file, below the directory or not. */
static bool search_file(struct program_search *search, const char *path)
{
	auto_free char *whole = NULL;
	struct stat status;

	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	whole = file_absolute(path);
	if (rest_below(whole, search->directory))
		search->program = steal(&whole);
	return true;
}

/* torch.distributed.run, accelerate.commands.launch: the program is a later argument. */
static bool is_launcher(const char *module)
{
	return text_ends(module, ".run") || strstr(module, "launch");
}

/* An installed module has no file here: then nothing is found. */
static void search_module(struct program_search *search, const char *module)
{
	auto_free char *file = python_module_path(module, PYTHON_MODULE);
	auto_free char *package = python_module_path(module, PYTHON_PACKAGE);

	if (!search_file(search, file))
		search_file(search, package);
}

/* True: the word is the program. Later words are its arguments, which may be paths of
 * checkpoints. */
static bool search_word(struct program_search *search, const char *before, const char *word)
{
	if (text_equal(before, "-m") && !is_launcher(word)) {
		search_module(search, word);
		return true;
	}
	return is_script(word) && search_file(search, word);
}

/* sh -c "cd src; python train.py": splits the text into words, roughly, without quoting. */
static bool search_shell_words(struct program_search *search, const char *text)
{
	auto_free char *before = text_copy("");

	while (*text) {
		size_t length = strcspn(text, " \t\n\\;&|\"'");
		auto_free char *word = text_copy_n(text, length);

		if (length > 0 && search_word(search, before, word))
			return true;
		if (length > 0) {
			free(before);
			before = steal(&word);
		}
		text += length;
		text += *text != '\0';
	}
	return false;
}

/* The program in the directory that the command runs; NULL: none was found. The caller frees. */
static char *find_program(char *const *command, const char *directory)
{
	struct program_search search = {.directory = directory};
	const char *before = "";

	if (command[0] && strchr(command[0], '/') && search_file(&search, command[0]) &&
	    (search.program || is_script(command[0])))
		return search.program;
	for (char *const *word = command; *word; before = *word++)
		if (text_equal(before, "-c") ? search_shell_words(&search, *word)
					     : search_word(&search, before, *word))
			break;
	return search.program;
}

/* --- this machine --- */

static char *working_directory(void)
{
	auto_free char *here = getcwd(NULL, 0);

	return here ? file_absolute(here) : NULL;
}

bool directory_check_is_working_directory(const char *directory)
{
	auto_free char *here = working_directory();
	auto_free char *whole = file_absolute(directory);

	return here && text_equal(here, whole);
}

int directory_check_ask(const struct directory_check *check, const char **advice, struct err *err)
{
	const char *home_variable = getenv("HOME");
	auto_free char *directory = file_absolute(check->directory);
	auto_free char *store = check->store ? storage_directory(check->store) : NULL;
	auto_free char *runtime = check->runtime ? file_absolute(check->runtime) : NULL;
	auto_free char *working = working_directory();
	auto_free char *home =
		home_variable && home_variable[0] == '/' ? file_absolute(home_variable) : NULL;
	auto_free char *program = find_program(check->command, directory);
	struct directory_check_facts facts = {.directory = directory};

	/* Without a store nothing is moved or replaced. */
	if (check->store)
		facts = (struct directory_check_facts){
			.directory = directory,
			.store = store,
			.runtime = runtime,
			.working = working,
			.home = home,
			.program = program,
			.repository = file_exists(".git"),
		};
	return directory_check_judge(&facts, advice, err);
}

int directory_check_run(const struct directory_check *check, const char **advice, struct err *err)
{
	return directory_check_ask(check, advice, err) < 0 ? err_wrap(err, "checkpoint directory")
							   : 0;
}

int directory_check_store(const char *directory, const char *store, struct err *err)
{
	auto_free char *whole = file_absolute(directory);
	auto_free char *place = storage_directory(store);

	return judge_store(&(struct directory_check_facts){.directory = whole, .store = place},
			   err);
}

/* --- "python -m" --- */

char *python_module_path(const char *module, const char *end)
{
	char *path = text_format("%s%s", module, end);

	for (size_t i = 0; i < strlen(module); i++)
		if (path[i] == '.')
			path[i] = '/';
	return path;
}
