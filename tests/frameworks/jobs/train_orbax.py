"""JAX with Orbax's CheckpointManager. --distributed: under jax.distributed, where SIGTERM makes it save at the next step."""
import os
import sys

import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp

from digits import CLASSES, PIXELS, arguments, batch, report, resumed

options = arguments("--distributed")
if options.distributed:
    jax.distributed.initialize(os.environ["COORDINATOR"], num_processes=1, process_id=0)
optimizer = optax.adam(0.01)
weights = jax.random.normal(jax.random.key(7), (PIXELS, CLASSES)) * 0.1
state = {"weights": weights, "moments": optimizer.init(weights)}


@jax.jit
def train(state, images, labels):
    def loss_of(weights):
        return optax.softmax_cross_entropy_with_integer_labels(images @ weights, labels).mean()
    loss, gradient = jax.value_and_grad(loss_of)(state["weights"])
    change, moments = optimizer.update(gradient, state["moments"])
    return {"weights": optax.apply_updates(state["weights"], change), "moments": moments}, loss


manager = ocp.CheckpointManager(os.path.abspath(options.dir), options=ocp.CheckpointManagerOptions(
    save_interval_steps=options.every or 10**9, max_to_keep=3))
first = manager.latest_step() or 0
if first:
    state = manager.restore(first, args=ocp.args.StandardRestore(state))
    resumed(first)
for step in range(first + 1, options.steps + 1):
    images, labels = batch(step)
    state, loss = train(state, jnp.asarray(images), jnp.asarray(labels))
    report(step, loss)
    manager.save(step, args=ocp.args.StandardSave(state))
    if manager.reached_preemption(step):
        manager.wait_until_finished()
        sys.exit(143)
manager.close()
