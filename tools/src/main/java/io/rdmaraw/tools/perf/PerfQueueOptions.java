package io.rdmaraw.tools.perf;

/**
 * The queues of one side.
 *
 * @param queuePairs     number of queue pairs, each with its own rings
 * @param sendDepth      maximum number of outstanding sends of a queue pair
 * @param receiveDepth   maximum number of outstanding receives of a queue pair
 * @param signalInterval number of sends per signalled send
 * @param postList       maximum number of frames posted with one doorbell
 * @param inlineBytes    maximum length of frames that are sent inline; 0 to disable
 * @param events         whether to sleep on completion events instead of polling
 * @param rss            whether received frames are distributed over work queues by a hash
 */
record PerfQueueOptions(int queuePairs, int sendDepth, int receiveDepth, int signalInterval, int postList,
        int inlineBytes, boolean events, boolean rss) {
    private static final int MIN_SLOT_BYTES = 2048;

    static int slotBytes(int frameBytes) {
        return Math.max(MIN_SLOT_BYTES, Integer.highestOneBit(frameBytes - 1) << 1);
    }
}
