"""Which frameworks, and what is known of each."""
from elastic_proof import ElasticCase
from gang_proof import GangCase
from proof import HERE, ROOT, Case

PYTHON = "python"


def job(name, *more):
    return [PYTHON, HERE / "jobs" / f"train_{name}.py", *more]


TORCHRUN = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]

CASES = [
    Case("files", "plain files", "small", job("files"), ["numpy"], None, "SIGTERM", quick=True),
    Case("numpy", "NumPy", "small", job("numpy"), ["numpy"], "numpy", "SIGTERM", quick=True),
    Case("hdf5", "HDF5", "small", job("hdf5"), ["h5py"], "hdf5", "SIGTERM", quick=True),
    Case("torch", "torch.save", "torch", job("torch"), ["torch"], "torch", "SIGTERM"),
    Case("torch-deaf", "torch.save, no handler", "torch", job("torch", "--deaf"), ["torch"], "torch"),
    Case("safetensors", "safetensors", "torch", job("safetensors"), ["safetensors", "torch"], "safetensors", "SIGTERM"),
    Case("dcp", "PyTorch DCP", "torch", job("dcp"), ["torch"], "dcp", "SIGTERM"),
    Case("torchrun", "torchrun, 2 ranks", "torch", [*TORCHRUN, "2", *job("ddp")[1:]], ["torch"], "torchrun", "SIGTERM"),
    Case("lightning", "Lightning, zero code", "torch", job("lightning"), ["lightning", "torch"], "lightning", "SIGUSR1",
         most_lost=None),
    Case("lightning-exception", "Lightning, OnException", "torch", job("lightning_exception"), ["lightning", "torch"],
         "lightning", "SIGTERM"),
    Case("lightning-reprieve", "Lightning, reprieve.py", "torch", job("lightning_reprieve"), ["lightning", "torch"],
         "lightning", "flag",
         most_lost=None),
    Case("hf", "HF Trainer, jit", "torch", job("hf"), ["transformers", "accelerate", "torch"], "hf", "SIGTERM",
         most_lost=1, every=0),
    Case("hf-reprieve", "HF Trainer, reprieve.py", "torch", job("hf_reprieve"), ["transformers", "accelerate", "torch"],
         "hf", "flag", most_lost=None),
    Case("accelerate", "Accelerate", "torch", job("accelerate"), ["accelerate", "torch"], "accelerate", every=4),
    Case("loop-reprieve", "a loop, reprieve.py", "torch", job("loop_reprieve"), ["torch"], "torch", "flag", most_lost=None),
    Case("deepspeed", "DeepSpeed", "deepspeed", [*TORCHRUN, "1", *job("deepspeed")[1:]], ["deepspeed"], "deepspeed"),
    Case("megatron", "Megatron's layout", "torch", job("megatron_layout", "--exit-signal-handler"), ["torch"],
         "megatron", "SIGTERM"),
    Case("tf", "TF CheckpointManager", "tf", job("tf"), ["tensorflow-cpu"], "tf"),
    Case("tf-preemption", "TF PreemptionHandler", "tf", job("tf_preemption"), ["tensorflow-cpu"], "tf", "SIGTERM"),
    Case("keras", "Keras BackupAndRestore", "tf", job("keras"), ["keras", "tensorflow-cpu"], "keras"),
    Case("keras-reprieve", "Keras, reprieve.py", "tf", job("keras_reprieve"), ["keras", "tensorflow-cpu"], "keras",
         "flag", most_lost=None),
    Case("orbax", "JAX/Orbax", "jax", job("orbax"), ["orbax-checkpoint", "jax", "optax"], "orbax"),
    Case("orbax-distributed", "JAX/Orbax, distributed", "jax", job("orbax", "--distributed"), ["orbax-checkpoint", "jax",
         "optax"], "orbax", "SIGTERM"),
    Case("xgboost", "XGBoost", "small", job("xgboost"), ["xgboost-cpu"], "xgboost", near=1e-6, quick=True, every=4),
    Case("submitit", "submitit", "small", job("submitit"), ["submitit"], "submitit", "SIGUSR2", inside=True, quick=True),
    Case("joblib", "scikit-learn, joblib", "small", job("joblib"), ["scikit-learn"], None, quick=True),
    Case("lightgbm", "LightGBM", "small", job("lightgbm"), ["lightgbm"], None, near=1e-6, quick=True),
    Case("optuna", "Optuna, SQLite", "small", job("optuna"), ["optuna"], None, quick=True),
    Case("optuna-journal", "Optuna, journal", "small", job("optuna", "--journal"), ["optuna"], None, quick=True),
    Case("hydra", "Hydra", "small", job("hydra"), ["hydra-core"], None, quick=True),
    Case("gensim", "gensim", "small", job("gensim"), ["gensim"], "numpy", environment={"PYTHONHASHSEED": "0"}),
    Case("tensorboard", "TensorBoard's files", "small", job("tensorboard"), ["tensorboardX"], None),
    Case("wandb", "W&B offline", "small", job("wandb"), ["wandb"], None),
    Case("mlflow", "MLflow's file store", "small", job("mlflow"), ["mlflow-skinny"], None),
    Case("catboost", "CatBoost", "small", job("catboost"), ["catboost"], None, near=1e-6),
    # On several machines. Rank 0 saves for all.
    GangCase("gang-ddp", "DDP, a gang of 2", job("ddp"), 2),
    # With four, each on a machine of its own, gloo adds up the gradients in another order from run to run.
    GangCase("gang-ddp-4", "DDP, a gang of 4", job("ddp"), 4, near=1e-4, apart=True),
    GangCase("gang-example", "examples/torchrun, a gang of 2", [PYTHON, ROOT / "examples" / "torchrun" / "train.py", "--steps", "400"], 2,
             options=None, stands=False),
    # Each saves its own shards, and rank 0 the metadata: each needs the files of all.
    GangCase("gang-fsdp", "FSDP and DCP, a gang of 2", job("fsdp_dcp"), 2, ("--parts", "all")),
    GangCase("gang-fsdp-4", "FSDP and DCP, a gang of 4", job("fsdp_dcp"), 4, ("--parts", "all"), near=1e-4, apart=True),
    # One node leaves, and torchrun forms the other one anew.
    ElasticCase("gang-elastic", "elastic torchrun, a gang of 2", job("elastic"), 2,
                ("--on-preemption", "continue", "--checkpoint-signal", "USR1", "--grace", "60")),
]
