/* reprieve export: a snapshot as a tar.lz4 that GNU tar and lz4 read. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "scheduler/scheduler.h"
#include "store_command.h"
#include "verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct export_options {
	struct store_command store_command;
	int member; /* -1: all */
};

// clang-format off
const struct verb verb_export = {
	.name = "export",
	.summary = "write a snapshot as a standard tar.lz4",
	.examples = "reprieve export latest checkpoints.tar.lz4\n"
		"reprieve export latest - | lz4 -dc | tar -tv",
	.arguments = "ID|latest FILE|-",
	.arguments_least = 2,
	.arguments_most = 2,
	.groups = (const struct option_group[]){
		STORE_COMMAND_STORE,
		OPTION_GROUP("What", one_member_rows, offsetof(struct export_options, member)),
		STORE_COMMAND_TRANSFER, STORE_COMMAND_OTHER},
	.notes = "FILE must not be there yet.",
	.exits = store_command_exits,
};
// clang-format on

static int open_target(const char *name)
{
	int fd;

	if (!text_equal(name, "-")) {
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno == EEXIST)
			log_error("%s is there already: name a file that is not, or remove it",
				  name);
		else if (fd < 0)
			log_error("cannot make %s: %s: name another place for it", name,
				  strerror(errno));
		return fd;
	}
	if (isatty(STDOUT_FILENO)) {
		log_error("this would write an archive to the terminal: name a file, or send it to "
			  "a program");
		return -1;
	}
	return dup(STDOUT_FILENO);
}

static int export_once(struct store_command *command, struct snapshot_id id, int fd, bool *wrote,
		       struct err *err)
{
	struct progress_bar progress;
	int status;

	progress_bar_start(&progress, "exporting");
	storage_set_progress(command->storage, progress_bar_update, &progress);
	status = storage_export(command->storage, id, fd, wrote, NULL, err);
	progress_bar_stop(&progress);
	return status;
}

/* What went into a pipe cannot be taken back. */
static bool is_empty_again(int fd, bool wrote)
{
	return !wrote || (lseek(fd, 0, SEEK_SET) == 0 && ftruncate(fd, 0) == 0);
}

static int export_snapshot(struct store_command *command, struct snapshot_id *id, int fd,
			   struct err *err)
{
	bool wrote;

	while (export_once(command, *id, fd, &wrote, err) < 0)
		if (!is_empty_again(fd, wrote) ||
		    !store_command_find_again(command, command->words[0], id, err))
			return -1;
	return 0;
}

/* Nothing to standard output if that is the archive. */
static void print_exported(struct snapshot_id id, const char *name, int fd)
{
	char text[SNAPSHOT_ID_TEXT], size[24];
	struct stat status;

	if (!text_equal(name, "-") && fstat(fd, &status) == 0)
		terminal_line_print("exported %s to %s: %s", snapshot_id_format(id, text), name,
				    text_bytes((uint64_t)status.st_size, size, sizeof(size)));
}

int cmd_export(int argc, char **argv)
{
	auto_(store_command_end) struct export_options options = {.member = -1};
	struct store_command *command = &options.store_command;
	auto_close int fd = -1;
	struct snapshot_id id;
	struct err err;
	int code = store_command_begin(&verb_export, argc, argv, &options);

	if (code < 0)
		code = store_command_find_snapshot(command, command->words[0], &id);
	if (code >= 0)
		return code;
	if (options.member >= 0)
		storage_gang_look_at(command->storage, (uint32_t)options.member);
	fd = open_target(command->words[1]);
	if (fd < 0)
		return EXIT_CONFIGURATION;
	if (export_snapshot(command, &id, fd, &err) < 0) {
		if (!text_equal(command->words[1], "-"))
			unlink(command->words[1]);
		return store_command_fail_snapshot(command, id, &err);
	}
	print_exported(id, command->words[1], fd);
	return 0;
}
