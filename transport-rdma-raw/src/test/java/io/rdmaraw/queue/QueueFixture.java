package io.rdmaraw.queue;

import io.rdmaraw.verbs.abi.WcStatus;

/** What tests ask of a frame queue, and do to it, beyond what the transport needs. */
public final class QueueFixture {
    private QueueFixture() {
    }

    /** Returns whether a receive request is for several frames. */
    public static boolean isStriding(VerbsFrameQueue queue) {
        return queue.mode().contains("striding receive");
    }

    /** Returns whether the device compresses the completions of received frames. */
    public static boolean isCompressing(VerbsFrameQueue queue) {
        return queue.mode().contains("compressed completions");
    }

    /** Returns the number of the queue that frames come in by. */
    public static int receiveQueueNumber(VerbsFrameQueue queue) {
        return isStriding(queue) ? queue.workQueue().number() : queue.queuePair().number();
    }

    /** Returns whether there is a work queue that rules of several loops lead to. */
    public static boolean hasWorkQueue(VerbsFrameQueue queue) {
        return queue.receiveRing().sharedOrNull() != null;
    }

    /** Takes the work queue for failed, though the device does not: as when a completion cannot be right. */
    public static void failWorkQueue(VerbsFrameQueue queue) {
        queue.receiveRing().sharedOrNull().fail(WcStatus.LOC_QP_OP_ERR);
    }

    /** Returns how many receive requests the device has. */
    public static int postedReceives(VerbsFrameQueue queue) {
        ReceiveRequests shared = queue.receiveRing().sharedOrNull();
        return queue.receiveRing().own().posted() + (shared == null ? 0 : shared.posted());
    }
}
