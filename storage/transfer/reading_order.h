/* PURE. The order in which the chunks of many files are read: first what is to be sent, of all
 * files, so that it is on its way while what was sent early is only recognised; at last the files
 * that must be read again. */
#ifndef READING_ORDER_H
#define READING_ORDER_H

#include <stdbool.h>
#include <stddef.h>

struct reading_order_file {
	size_t next, end; /* chunks to read */
	/* The chunks before it were sent early. At least `next`, or 0. */
	size_t sent_early;
	size_t taken; /* how many have been handed out */
	bool waiting; /* it is among `again` */
};

struct reading_order {
	struct reading_order_file *files; /* with room for all */
	size_t count;
	size_t *again; /* likewise */
	size_t again_count;
	size_t current;
	bool rest; /* all that is to be sent has been handed out */
};

void reading_order_init(struct reading_order *order, size_t files);
void reading_order_release(struct reading_order *order);
/* Adds a file of which the chunks from `first` up to `end` are to be read; its number is the count
 * of those before. */
void reading_order_add(struct reading_order *order, size_t first, size_t end, size_t sent_early);

/* The file of the next chunk, which stays the next one until it is taken. False: none is left. */
bool reading_order_next(struct reading_order *order, size_t *file);
/* Takes a chunk of the file; returns its number. */
size_t reading_order_take(struct reading_order *order, size_t file);
/* Nothing more of the file. */
void reading_order_skip(struct reading_order *order, size_t file);
/* All of the file once more, after all others. Any number of times, also before it has come. */
void reading_order_again(struct reading_order *order, size_t file);

#endif
