/* Of workspace.c and install.c only: our folder beside the checkpoint directory. */
#ifndef WORKSPACE_PARTS_H
#define WORKSPACE_PARTS_H

#include "workspace.h"

/* Sets workspace->beside and makes the folder: DIR.reprieve if renames between it and DIR can work;
 * else DIR/.reprieve. */
int workspace_make_beside(struct workspace *workspace, struct err *err);
/* Of the record of complete files. The caller frees. */
char *workspace_record_path(const char *beside);

#endif
