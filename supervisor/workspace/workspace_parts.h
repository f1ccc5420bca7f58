/* Of workspace.c and install.c only: our folder beside the checkpoint directory. */
#ifndef WORKSPACE_PARTS_H
#define WORKSPACE_PARTS_H

#include "workspace.h"

/* Sets workspace->beside and workspace->folder, and makes the folder: DIR.reprieve if renames
 * between it and DIR can work, and if what lies there is ours; else DIR/.reprieve. ERR_DENIED also:
 * neither is ours. */
int workspace_make_beside(struct workspace *workspace, struct err *err);
/* The record of complete files, in our folder. */
#define RECORD "completion.json"
/* The list of what is being written or torn, there too. */
#define UNDER_WAY "under-way"

#endif
