/* credential_process: a command that prints credentials. With it, single sign-on and any vault
 * can be a source. */
#include "aws_source.h"

#include "aws_reply_credentials.h"
#include "base/cleanup.h"
#include "base/program.h"

#include <string.h>
#include <sys/wait.h>

enum {
	OUTPUT_MOST = 64 * 1024,
	TIMEOUT_MS = 60 * 1000
};

static int run_command(const char *command, struct bytes *output, struct cancel *cancel,
		       struct err *err)
{
	char *const argv[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
	const struct program program = {.argv = argv, .timeout_ms = TIMEOUT_MS, .cancel = cancel};
	int status;

	if (program_run(&program, output, &status, err) < 0)
		return -1;
	if (status == 0)
		return 0;
	return err_set(err, ERR_DENIED, "it failed (%s %d)",
		       WIFEXITED(status) ? "exit code" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

int aws_source_process_run(const char *command, struct aws_credentials *credentials,
			   struct cancel *cancel, struct err *err)
{
	auto_(bytes_release) struct bytes output = {.limit = OUTPUT_MOST};
	int result = run_command(command, &output, cancel, err);

	if (result == 0)
		result = aws_reply_json(output.data, output.size, credentials, err);
	if (output.data)
		explicit_bzero(output.data, output.size);
	/* The command itself may hold a secret. */
	return result < 0 ? err_wrap(err, "credential_process") : 0;
}
