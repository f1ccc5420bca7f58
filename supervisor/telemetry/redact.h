/*
 * PURE: a job's command line without what must not leave the machine. It goes into records in the
 * store, which whoever reads the bucket can read. By the names of options and variables alone: a
 * secret under any other name cannot be told from a path.
 */
#ifndef REDACT_H
#define REDACT_H

/*
 * `word` as it may be kept: "***" for the value of --api-key, --token=, HF_TOKEN=, DB_PASSWORD= and
 * the like, also inside the script of a shell. `before` is the word before it, NULL for the first.
 * The caller frees.
 */
char *redact_word(const char *before, const char *word);

#endif
