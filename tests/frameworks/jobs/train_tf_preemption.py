"""A loop of one's own in TensorFlow under its PreemptionCheckpointHandler, which saves at SIGTERM and calls exit_fn."""
import sys

import tensorflow as tf

from digits import CLASSES, PIXELS, arguments, batch, report, resumed

options = arguments()
tf.random.set_seed(7)
weights = tf.Variable(tf.random.normal([PIXELS, CLASSES], stddev=0.1))
speed, step = tf.Variable(tf.zeros([PIXELS, CLASSES])), tf.Variable(0, dtype=tf.int64)
handler = tf.distribute.experimental.PreemptionCheckpointHandler(
    tf.distribute.cluster_resolver.SimpleClusterResolver(tf.train.ClusterSpec({})),
    tf.train.Checkpoint(weights=weights, speed=speed, step=step), options.dir,
    tf.distribute.experimental.TerminationConfig(exit_fn=lambda: sys.exit(143)))
if step > 0:
    resumed(int(step))


def train():
    images, labels = batch(int(step) + 1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, images @ weights))
    speed.assign(0.9 * speed + tape.gradient(loss, weights))
    weights.assign_sub(0.1 * speed)
    step.assign_add(1)
    report(int(step), loss)


while step < options.steps:
    handler.run(train)
