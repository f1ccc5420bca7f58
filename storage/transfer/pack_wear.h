/*
 * PURE. Of a pack that many snapshots ago was written as a whole, the newest snapshot may need a
 * few chunks only: the rest stays in the store because of them. Decides which packs are worn, so
 * that a save sends anew what it needs of them. Nothing is removed for it: an old pack goes with
 * the last snapshot that names it, like any other.
 */
#ifndef PACK_WEAR_H
#define PACK_WEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_wear {
	uint64_t bytes; /* of the pack */
	uint64_t used;  /* so much of it the snapshot needs, with what goes with it */
	/* What is decided: it is no base. */
	bool worn;
};

/* The snapshot needs one more chunk of the pack, which has so many bytes there. A pack of which all
 * is needed has nothing dead: what every pack has goes with the first. */
void pack_wear_add_chunk(struct pack_wear *pack, uint64_t stored);

struct pack_wear_bounds {
	/* That there are, and that may need what is dead here; 0: not known, or it does not matter.
	 */
	uint32_t snapshots;
	/* So much is given up at most; 0: no limit. */
	uint64_t most;
	/* What the job's packs may take in the store, as it is and with what is still free; 0: the
	 * store does not say, or there is enough whatever is dead. */
	uint64_t room;
	/* With `room`: so much can be sent before the commit; and how many snapshots there are
	 * beside each that follows. */
	uint64_t left;
	uint32_t kept;
};

/*
 * Of all packs that the snapshot names. The packs with the least use are worn, while
 *
 *	- more is dead than half of what is needed, for each of the `snapshots`. Then a quarter of
 *	  what is needed is given up at once, and at most `most`;
 *	- or, in a store with `room` for the next snapshot beside those that are `kept`, each with
 *	  nothing in common with the others, so much is dead that it has none: then at most `left`.
 *	  Where one is kept, also in a smaller store.
 *
 * Returns how much is given up.
 */
uint64_t pack_wear_decide(struct pack_wear *packs, size_t count,
			  const struct pack_wear_bounds *bounds);

/* So much room is enough where so much is dead, and `kept` snapshots are. */
uint64_t pack_wear_room(uint64_t used, uint64_t dead, uint32_t kept);
/* What is kept free for records and for the blocks of a file system. */
uint64_t pack_wear_reserve(uint64_t used);

#endif
