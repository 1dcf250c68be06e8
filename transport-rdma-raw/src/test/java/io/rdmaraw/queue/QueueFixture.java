package io.rdmaraw.queue;

import io.rdmaraw.verbs.abi.WcStatus;

/** Gives tests access to the internals of a frame queue. */
public final class QueueFixture {
    private QueueFixture() {
    }

    /** Returns whether the device's rings are accessed directly. */
    public static boolean isDirect(FrameQueue queue) {
        return queue.mode().startsWith("rings");
    }

    /** Returns whether a receive request holds several frames. */
    public static boolean isStriding(FrameQueue queue) {
        return queue.mode().contains("striding receive");
    }

    /** Returns whether the device compresses receive completions. */
    public static boolean isCompressing(FrameQueue queue) {
        return queue.mode().contains("compressed completions");
    }

    /** Returns the number of the receiving queue. */
    public static int receiveQueueNumber(FrameQueue queue) {
        return isStriding(queue) ? queue.workQueue().number() : queue.queuePair().number();
    }

    /** Returns whether there is a work queue for rules shared by several loops. */
    public static boolean hasWorkQueue(FrameQueue queue) {
        return queue.receiveRing().workQueueRequestsOrNull() != null;
    }

    /** Marks the work queue as failed although the device has not failed, as after an inconsistent completion. */
    public static void failWorkQueue(FrameQueue queue) {
        queue.receiveRing().workQueueRequestsOrNull().handleError(WcStatus.LOC_QP_OP_ERR);
    }

    /** Returns the number of posted receive requests. */
    public static int postedReceives(FrameQueue queue) {
        ReceiveRequests workQueueRequests = queue.receiveRing().workQueueRequestsOrNull();
        return queue.receiveRing().queuePairRequests().postedCount()
                + (workQueueRequests == null ? 0 : workQueueRequests.postedCount());
    }
}
