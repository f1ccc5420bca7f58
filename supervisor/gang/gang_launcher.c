#include "gang_identity.h"

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Also with more behind a dot: mpiexec.hydra, mpirun.openmpi. */
static const char *const programs[] = {
	/* MPI's */
	"mpirun",
	"mpiexec",
	"mpirun_rsh",
	"orterun",
	"prterun",
	"prun",
	/* of clusters */
	"srun",
	"aprun",
	"jsrun",
	"ibrun",
	/* of frameworks */
	"horovodrun",
	"deepspeed",
	"ray",
	/* a shell on each machine */
	"pdsh",
	"pssh",
	"parallel-ssh",
	"clush",
	"dsh",
};

static const char *const modules[] = {"horovod.runner", "deepspeed.launcher.runner"};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_program(const char *word, const char *program)
{
	const char *name = base_name(word);
	size_t length = strlen(program);

	return strncmp(name, program, length) == 0 && (!name[length] || name[length] == '.');
}

/* The command behind `env`, its options and variables; NULL: there is none, or it is one text. */
static const char *const *skip_env(const char *const *argv)
{
	static const char *const with_value[] = {"-u", "--unset", "-C", "--chdir"};

	for (argv++; *argv && (**argv == '-' || strchr(*argv, '=')); argv++) {
		if (text_starts(*argv, "-S") || text_starts(*argv, "--split-string"))
			return NULL;
		for (size_t i = 0; i < sizeof(with_value) / sizeof(with_value[0]); i++)
			if (text_equal(*argv, with_value[i]) && argv[1]) {
				argv++;
				break;
			}
	}
	return *argv ? argv : NULL;
}

/* The word behind `python ... -m`; NULL: it runs no module. */
static const char *python_module(const char *const *argv)
{
	if (!text_starts(base_name(*argv), "python"))
		return NULL;
	for (argv++; *argv && **argv == '-'; argv++) {
		if (text_equal(*argv, "-m"))
			return argv[1];
		if ((text_equal(*argv, "-X") || text_equal(*argv, "-W")) && argv[1])
			argv++;
	}
	return NULL;
}

/* DeepSpeed's launcher may be started on each machine. */
static bool is_of_one_machine(const char *const *argv)
{
	for (; *argv; argv++)
		if (text_equal(*argv, "--no_ssh"))
			return true;
	return false;
}

const char *gang_launcher_of_all(const char *const *argv)
{
	const char *module;

	while (argv && *argv && is_program(*argv, "env"))
		argv = skip_env(argv);
	if (!argv || !*argv || is_of_one_machine(argv))
		return NULL;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (is_program(*argv, programs[i]))
			return base_name(*argv);
	module = python_module(argv);
	for (size_t i = 0; module && i < sizeof(modules) / sizeof(modules[0]); i++)
		if (text_equal(module, modules[i]))
			return module;
	return NULL;
}
