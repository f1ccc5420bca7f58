/*
 * PURE. What of an attempt's ledger stays when the attempt is old: the lines that `reprieve report`
 * counts with, which are a handful however long it ran. They are a ledger like any other.
 */
#ifndef LEDGER_SUMMARY_H
#define LEDGER_SUMMARY_H

#include "base/err.h"
#include "base/text.h"

/* Appends of each event that counts the last line, and the very last line, in their order. What is
 * no JSON is left out. -1: `out` has a limit, which it would exceed. A shorten_ledger_fn. */
int ledger_summary(const struct bytes *ledger, struct bytes *out, struct err *err);

#endif
