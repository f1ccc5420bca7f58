#include "left_out.h"

#include "base/log.h"

#include <stdio.h>

void skipped_files_report(const struct save_result *result, const char *directory)
{
	char more[40] = "";

	if (result->left_out == 0)
		return;
	if (result->left_out > 1)
		snprintf(more, sizeof(more), " (and %u more)", result->left_out - 1);
	log_warn("%s in %s is %s, and is NOT in the snapshot%s: only files, directories and links "
		 "between them are; put there what is to be saved",
		 result->left_out_path, directory, result->left_out_what, more);
}
