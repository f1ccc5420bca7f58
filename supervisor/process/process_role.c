#include "process_tree.h"

#include "base/text.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

/* Number of handled signals from which on a runtime counts as handling all: a Go program handles
 * some 60 of the 64; Python, the JVM and MPI's libraries less than 20. */
#define CATCHES_EVERY_SIGNAL 40

/* Programs and Python modules, with a blank behind each. */
static const char *const programs[] = {
	[ROLE_WRAPPER] = "sh bash dash zsh ksh fish busybox tini tini-static docker-init "
			 "dumb-init catatonit s6-supervise conda mamba micromamba pixi sudo su "
			 "runuser timeout time make xargs parallel script uv poetry pipenv pdm "
			 "hatch strace nsys ncu ",
	[ROLE_LAUNCHER] =
		"torchrun torch.distributed.run torch.distributed.launch accelerate "
		"accelerate-launch accelerate.commands.launch "
		"accelerate.commands.accelerate_cli composer composer.cli.launcher "
		"deepspeed deepspeed.launcher.runner deepspeed.launcher.launch "
		"ft_launcher horovodrun mpirun mpiexec mpirun.real mpirun.openmpi "
		"mpiexec.openmpi orterun orted prterun prted prun hydra_pmi_proxy "
		"mpiexec.hydra srun ssh docker podman conmon ",
	[ROLE_COPIER] = "rsync rclone cp mv tar scp gsutil gcloud gcloud.py aws az azcopy "
			"s3cmd s5cmd mc restic ",
};

static enum process_role role_of_name(const char *name)
{
	size_t length;

	name = text_last_part(name);
	if (*name == '-') /* a login shell */
		name++;
	length = strlen(name);
	for (int role = ROLE_WRAPPER; length > 0 && role <= ROLE_COPIER; role++)
		for (const char *at = programs[role]; *at; at += strcspn(at, " ") + 1)
			if (strcspn(at, " ") == length && memcmp(at, name, length) == 0)
				return (enum process_role)role;
	return ROLE_JOB;
}

/* The next argument; NULL: end of the part that was read. */
static const char *next_argument(const struct process *process, const char *argument)
{
	const char *next = argument + strlen(argument) + 1;

	return next < process->command + process->command_size ? next : NULL;
}

static bool is_interpreter(const char *name)
{
	return text_starts(name, "python") || text_starts(name, "pypy") ||
	       text_starts(name, "perl");
}

/* "-m" and also "-um", "-Im": options without a value can be combined. */
static bool ends_in(const char *option, char letter)
{
	size_t length = strlen(option);

	if (option[1] == '-' || option[1] == 'W' || option[1] == 'X')
		return false;
	for (size_t i = 1; i < length; i++)
		if (!isalpha((unsigned char)option[i]))
			return false;
	return option[length - 1] == letter;
}

const char *process_role_script(const struct process *process)
{
	const char *argument;

	if (process->command_size == 0 || !is_interpreter(text_last_part(process->command)))
		return NULL;
	argument = next_argument(process, process->command);
	while (argument && argument[0] == '-' && argument[1] != '\0') {
		const char *next = next_argument(process, argument);

		if (ends_in(argument, 'm'))
			return next;
		if (ends_in(argument, 'c'))
			return NULL;
		if (next && (text_equal(argument, "-W") || text_equal(argument, "-X")))
			next = next_argument(process, next);
		argument = next;
	}
	return argument;
}

enum process_role process_role(const struct process *process)
{
	const char *name = process->command_size > 0 ? process->command : process->comm;
	enum process_role role;

	if (process->command_size > 0 && is_interpreter(text_last_part(name))) {
		const char *script = process_role_script(process);

		return script ? role_of_name(script) : ROLE_JOB;
	}
	role = role_of_name(name);
	/* argv[0] is the parent's choice ("-bash", a link's name): look at the executable too. */
	return role == ROLE_JOB && process->executable[0] ? role_of_name(process->executable)
							  : role;
}

static bool is_fork_of(const struct process *process, const struct process *parent)
{
	return process->command_size == parent->command_size &&
	       memcmp(process->command, parent->command, process->command_size) == 0 &&
	       text_equal(process->executable, parent->executable);
}

bool process_role_same_program(const struct process *a, const struct process *b)
{
	const char *left = process_role_script(a), *right = process_role_script(b);

	if (!text_equal(a->executable, b->executable) || !left != !right)
		return false;
	if (left)
		return text_equal(text_last_part(left), text_last_part(right));
	if (process_role_is_spawned(a) || process_role_is_spawned(b))
		return process_role_is_spawned(a) && process_role_is_spawned(b);
	if (a->command_size == 0 || b->command_size == 0)
		return false;
	/* An interpreter without a script runs code from an argument: only a fork is surely the
	 * same program. */
	if (is_interpreter(text_last_part(a->command)))
		return is_fork_of(a, b);
	return text_equal(text_last_part(a->command), text_last_part(b->command));
}

bool process_role_is_spawned(const struct process *process)
{
	const char *argument = process->command_size > 0 ? process->command : NULL;

	for (; argument; argument = next_argument(process, argument))
		if (text_starts(argument, "from multiprocessing.") ||
		    text_equal(argument, "--multiprocessing-fork"))
			return true;
	return false;
}

bool process_role_is_data_worker(const struct process *process, const struct process *parent)
{
	uint64_t its = process_signal_bit(SIGTERM) | process_signal_bit(SIGBUS) |
		       process_signal_bit(SIGSEGV) | process_signal_bit(SIGFPE);

	if (text_starts(process->comm, "pt_data_worker")) /* as newer releases call it */
		return true;
	if (!parent || process_role_catches_every_signal(process) || (process->caught & its) != its)
		return false;
	/* A rank may have all four handlers from elsewhere (faulthandler), and its workers inherit
	 * them. Only handlers that the parent lacks show a worker. */
	if ((parent->caught & its) == its)
		return false;
	return process_role_is_spawned(process) || is_fork_of(process, parent);
}

bool process_role_catches_every_signal(const struct process *process)
{
	return __builtin_popcountll(process->caught) >= CATCHES_EVERY_SIGNAL;
}
