#include "program_output.h"

#include "cleanup.h"
#include "program.h"

#include <stdlib.h>
#include <string.h>

#define OUTPUT_MOST (1 << 20)

int program_output(char *const *argv, int64_t timeout_ms, char **output, struct err *err)
{
	return program_output_with(argv, NULL, timeout_ms, output, err);
}

int program_output_with(char *const *argv, char *const *environment, int64_t timeout_ms,
			char **output, struct err *err)
{
	const struct program program = {
		.argv = argv,
		.environment = environment,
		.with_errors = true,
		.timeout_ms = timeout_ms,
	};
	auto_(bytes_release) struct bytes bytes = {.limit = OUTPUT_MOST};
	int status, result = program_run(&program, &bytes, &status, err);

	*output = text_copy_n(bytes.data ? (const char *)bytes.data : "", bytes.size);
	if (result < 0)
		return err_wrap(err, "%s", argv[0]);
	if (status != 0)
		return err_set(err, ERR_FAILED, "%s: %.*s", argv[0], (int)strcspn(*output, "\n"),
			       *output);
	return 0;
}
