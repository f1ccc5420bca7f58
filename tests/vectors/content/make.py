#!/usr/bin/env python3
"""Makes the files of this folder anew, with the libraries themselves: pip install torch numpy safetensors h5py xgboost."""
import pickle
import zipfile

import h5py
import numpy
import safetensors.numpy
import torch
import xgboost

numpy.save("array.npy", numpy.arange(12, dtype="<f4").reshape(3, 4))
numpy.save("scalar.npy", numpy.float64(1.5))
numpy.save("text.npy", numpy.array(["one", "three"]))
with open("version2.npy", "wb") as file:
    numpy.lib.format.write_array(file, numpy.arange(5, dtype="<i8"), version=(2, 0))
with open("two.npy", "wb") as file:
    numpy.save(file, numpy.arange(3, dtype="<i2"))
    numpy.save(file, numpy.arange(4, dtype="<i2"))
numpy.savez("arrays.npz", a=numpy.arange(6), b=numpy.zeros(3))
torch.save({"step": 7, "weights": torch.arange(6.0)}, "model.pt")
safetensors.numpy.save_file({"a": numpy.arange(6, dtype="f4"), 'b "data_offsets"': numpy.zeros(2, "f8")},
                            "model.safetensors", metadata={"note": '"data_offsets":[0,99999]'})
safetensors.numpy.save_file({}, "empty.safetensors")
for name, version in (("old.h5", "earliest"), ("middle.h5", ("v108", "v108")), ("new.h5", "latest")):
    with h5py.File(name, "w", libver=version) as file:
        file["weights"] = numpy.arange(6.0)
with zipfile.ZipFile("comment.zip", "w") as archive:
    archive.writestr("a", "content")
    archive.comment = b"a comment behind the end record"
with zipfile.ZipFile("nothing.zip", "w"):
    pass
with zipfile.ZipFile("large.zip", "w") as archive:
    with archive.open("a", "w", force_zip64=True) as member:
        member.write(b"content")
zipfile.ZIP_FILECOUNT_LIMIT = 0  # so that it writes the records of zip64
with zipfile.ZipFile("zip64.zip", "w") as archive:
    archive.writestr("a", "content")
matrix = xgboost.DMatrix(numpy.arange(8.0).reshape(4, 2), label=[0, 1, 0, 1])
xgboost.train({"max_depth": 1}, matrix, 1).save_model("model.ubj")
for protocol in (2, 3, 4, 5):
    with open(f"state{protocol}.pkl", "wb") as file:
        state = {"step": 120, "weights": [0.5, -1.0], "rng": (b"\x00" * 300, 2**70, None), "done": {False}}
        pickle.dump(state, file, protocol=protocol)
