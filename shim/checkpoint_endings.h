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
	/* The endings of a row have a blank behind each. */
	static const struct {
		const char *endings;
		unsigned traits;
	} rows[] = {
		{".pt .pth .safetensors .keras ", WEIGHTS | ENDING_IS_FILLED},
		/* Torch7, Flax, Equinox, PaddlePaddle, Caffe */
		{".ckpt .ckp .chkpt .checkpoint .t7 .msgpack .eqx .pdparams .pdopt .caffemodel "
		 ".solverstate ",
		 WEIGHTS},
		/* PyTorch DCP */
		{".distcp .npz .h5 .hdf5 .ubj ", KNOWN | ENDING_IS_FILLED},
		{".npy ", ENDING_TELLS | ENDING_IS_FILLED},
		/* Darknet, CatBoost, GROMACS */
		{".pkl .pickle .joblib .bin .weights .cbm .model .cbsnapshot .cpt ", KNOWN},
		{".params ", ENDING_TELLS}, /* MXNet */
		/* restart files of simulations */
		{".rst .restart .index .onnx .orbax .dump ", ENDING_IS_STATE},
		{".tar .zip .tgz ", PACKED},
		{".gz .xz .bz2 .zst .lz4 ", ENDING_IS_PACKED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (const char *at = rows[i].endings; *at; at += *ending + 1) {
			*ending = strcspn(at, " ");
			if (length > *ending && memcmp(name + length - *ending, at, *ending) == 0 &&
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
