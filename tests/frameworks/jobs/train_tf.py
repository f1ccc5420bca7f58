"""A loop of one's own in TensorFlow with a CheckpointManager; no handler."""
import tensorflow as tf

from digits import CLASSES, PIXELS, arguments, batch, report, resumed

options = arguments()
tf.random.set_seed(7)
weights = tf.Variable(tf.random.normal([PIXELS, CLASSES], stddev=0.1))
speed, step = tf.Variable(tf.zeros([PIXELS, CLASSES])), tf.Variable(0, dtype=tf.int64)
manager = tf.train.CheckpointManager(
    tf.train.Checkpoint(weights=weights, speed=speed, step=step), options.dir, max_to_keep=3, checkpoint_name="ckpt")
if manager.restore_or_initialize():
    resumed(int(step))
while step < options.steps:
    images, labels = batch(int(step) + 1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, images @ weights))
    speed.assign(0.9 * speed + tape.gradient(loss, weights))
    weights.assign_sub(0.1 * speed)
    step.assign_add(1)
    report(int(step), loss)
    if options.every and int(step) % options.every == 0:
        manager.save(int(step))
