package io.rdmaraw.tools.perf;

/**
 * The queues of one side.
 *
 * @param queuePairs     queue pairs, each with its own rings
 * @param sendDepth      sends of a queue pair that can be outstanding
 * @param receiveDepth   receives of a queue pair that can be outstanding
 * @param signalInterval every so many sends one asks for a completion
 * @param postList       most frames that are posted with one doorbell
 * @param inlineBytes    frames up to this length are sent inline; 0 for none
 * @param events         whether to sleep on completion events in place of polling
 * @param rss            whether received frames are spread over work queues by a hash
 */
record PerfQueueOptions(int queuePairs, int sendDepth, int receiveDepth, int signalInterval, int postList,
        int inlineBytes, boolean events, boolean rss) {
    private static final int LEAST_SLOT_BYTES = 2048;

    static int slotBytes(int frameBytes) {
        return Math.max(LEAST_SLOT_BYTES, Integer.highestOneBit(frameBytes - 1) << 1);
    }
}
