/*
 * PUBLIC. PURE. What the ending of a file's name says of checkpoints. This is the only list of such
 * endings: for the shim, which sees what is saved elsewhere, and for the supervisor.
 *
 * An archive or a compressed file ("checkpoint.pth.tar", "model.t7.gz") is what it holds by the
 * ending before; without one ("data.tar") its own says no more than that.
 */
#ifndef CHECKPOINT_ENDINGS_H
#define CHECKPOINT_ENDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum ending_trait {
	ENDING_IS_STATE = 1,   /* in the checkpoint directory such a file is a state, and no log */
	ENDING_TELLS = 2,      /* wherever it is saved, it may well be a checkpoint */
	ENDING_IS_WEIGHTS = 4, /* ... and is nothing else. (Arrays and pickles may be anything.) */
	ENDING_IS_FILLED = 8,  /* never empty when it is finished */
	ENDING_IS_PACKED = 16, /* an archive, or compressed: what it holds, its name may say */
};

/* The row of the ending of `name`, which need not be terminated, in `*ending`. 0: none. A name that
 * is nothing else (".pt") has no ending. */
static inline unsigned checkpoint_ending_row(const char *name, size_t length, size_t *ending)
{
	enum {
		KNOWN = ENDING_IS_STATE | ENDING_TELLS,
		WEIGHTS = KNOWN | ENDING_IS_WEIGHTS,
		PACKED = ENDING_IS_STATE | ENDING_IS_PACKED,
	};
	static const struct {
		const char *text;
		unsigned traits;
	} rows[] = {
		{".pt", WEIGHTS | ENDING_IS_FILLED},
		{".pth", WEIGHTS | ENDING_IS_FILLED},
		{".ckpt", WEIGHTS},
		{".ckp", WEIGHTS},
		{".chkpt", WEIGHTS},
		{".checkpoint", WEIGHTS},
		{".t7", WEIGHTS}, /* Torch7 */
		{".safetensors", WEIGHTS | ENDING_IS_FILLED},
		{".keras", WEIGHTS | ENDING_IS_FILLED},
		{".msgpack", WEIGHTS},  /* Flax */
		{".eqx", WEIGHTS},      /* Equinox */
		{".pdparams", WEIGHTS}, /* PaddlePaddle */
		{".pdopt", WEIGHTS},
		{".caffemodel", WEIGHTS},
		{".solverstate", WEIGHTS},
		{".distcp", KNOWN | ENDING_IS_FILLED}, /* PyTorch DCP */
		{".npz", KNOWN | ENDING_IS_FILLED},
		{".npy", ENDING_TELLS | ENDING_IS_FILLED},
		{".pkl", KNOWN},
		{".pickle", KNOWN},
		{".joblib", KNOWN},
		{".h5", KNOWN | ENDING_IS_FILLED},
		{".hdf5", KNOWN | ENDING_IS_FILLED},
		{".bin", KNOWN},
		{".weights", KNOWN}, /* Darknet */
		{".ubj", KNOWN | ENDING_IS_FILLED},
		{".cbm", KNOWN}, /* CatBoost */
		{".model", KNOWN},
		{".params", ENDING_TELLS}, /* MXNet */
		{".cbsnapshot", KNOWN},    /* CatBoost */
		{".cpt", KNOWN},           /* GROMACS */
		{".rst", ENDING_IS_STATE}, /* restart files of simulations */
		{".restart", ENDING_IS_STATE},
		{".index", ENDING_IS_STATE},
		{".onnx", ENDING_IS_STATE},
		{".orbax", ENDING_IS_STATE},
		{".dump", ENDING_IS_STATE},
		{".tar", PACKED},
		{".zip", PACKED},
		{".tgz", PACKED},
		{".gz", ENDING_IS_PACKED},
		{".xz", ENDING_IS_PACKED},
		{".bz2", ENDING_IS_PACKED},
		{".zst", ENDING_IS_PACKED},
		{".lz4", ENDING_IS_PACKED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		*ending = strlen(rows[i].text);
		if (length > *ending &&
		    memcmp(name + length - *ending, rows[i].text, *ending) == 0 &&
		    name[length - *ending - 1] != '/')
			return rows[i].traits;
	}
	return 0;
}

/* What `path` is by its ending: traits, or 0. */
static inline unsigned checkpoint_ending_traits(const char *path)
{
	size_t length = strlen(path), ending;
	unsigned traits = checkpoint_ending_row(path, length, &ending), packed = 0;

	while (traits & ENDING_IS_PACKED) {
		packed |= traits;
		length -= ending;
		traits = checkpoint_ending_row(path, length, &ending);
	}
	return traits ? traits | (packed & ENDING_IS_PACKED) : packed;
}

#endif
