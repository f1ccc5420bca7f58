/*
 * PURE. Of a pack that many snapshots ago was written as a whole, the newest snapshot may need a
 * few chunks only: the rest stays in the store because of them. Decides which packs are worn, so
 * that the next save sends anew what it needs of them. Nothing is removed for it: an old pack goes
 * with the last snapshot that names it, like any other.
 */
#ifndef PACK_WEAR_H
#define PACK_WEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_wear {
	uint64_t bytes; /* of the pack */
	uint64_t used;  /* so much of it the newest snapshot needs, with what goes with it */
	/* What is decided: it is no base for the next save. */
	bool worn;
};

/*
 * Of all packs that the newest snapshot names. While what it does not need of them is more than
 * half of what it does, for each of the `snapshots` that there are and that may need it (0: not
 * known, and none is worn), the pack with the least use is worn. At most a quarter of what the
 * snapshot needs is given up at once, and at most `most` bytes (0: no limit). Returns how much is.
 */
uint64_t pack_wear_decide(struct pack_wear *packs, size_t count, uint32_t snapshots, uint64_t most);

#endif
