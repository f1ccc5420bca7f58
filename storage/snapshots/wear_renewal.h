/*
 * PRIVATE: once all files of a save are read, and before its commit: does so much dead stay that
 * the next one has no room? What is needed of worn packs is sent anew (FORMAT.md, "Worn packs").
 */
#ifndef WEAR_RENEWAL_H
#define WEAR_RENEWAL_H

#include "storage/records/records.h"
#include "storage/transfer/transfer.h"

/*
 * `reading`: as the files of its tree were read. They are read once more, those that rely on a worn
 * pack. If one of them is not what it was any more, or reading.enough() says so, all stays as it
 * is: nothing is lost by that. `keep_last`: of struct save_request. -1: the store has failed, or
 * ERR_CANCELLED; the tree is no use then.
 */
int wear_renewal_run(struct storage *storage, const struct file_reader_request *reading,
		     uint32_t keep_last, struct err *err);

#endif
