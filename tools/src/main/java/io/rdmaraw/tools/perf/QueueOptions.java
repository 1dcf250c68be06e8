package io.rdmaraw.tools.perf;

import picocli.CommandLine.Option;

/** The options for the sizes and the use of the queues. */
final class QueueOptions {
    @Option(names = {"-q", "--qp"}, paramLabel = "N", defaultValue = "1", description = "queue pairs, 1 to 64")
    private int queuePairs;

    @Option(names = {"-t", "--tx-depth"}, paramLabel = "N", defaultValue = "128",
            description = "sends that can be outstanding on each, 1 to 16384")
    private int sendDepth;

    @Option(names = {"-r", "--rx-depth"}, paramLabel = "N", defaultValue = "512",
            description = "receives that can be outstanding on each, 1 to 16384")
    private int receiveDepth;

    @Option(names = {"-Q", "--cq-mod"}, paramLabel = "N", defaultValue = "32",
            description = "every N-th send is signalled, 1 to 1024")
    private int signalInterval;

    @Option(names = {"-l", "--post_list", "--post-list"}, paramLabel = "N", defaultValue = "32",
            description = "frames that are posted with one doorbell, 1 to 256")
    private int postList;

    @Option(names = {"-I", "--inline_size", "--inline"}, paramLabel = "BYTES", defaultValue = "0",
            description = "send frames up to this length inline")
    private int inlineBytes;

    @Option(names = {"-G", "--use_rss", "--rss"}, description = "spread received frames over -q work queues by a hash")
    private boolean rss;

    int queuePairs() {
        return queuePairs;
    }

    PerfQueueOptions options(boolean events) {
        check(queuePairs, 64, "--qp");
        check(sendDepth, 16_384, "--tx-depth");
        check(receiveDepth, 16_384, "--rx-depth");
        check(signalInterval, 1024, "--cq-mod");
        check(postList, 256, "--post-list");
        if (rss && Integer.bitCount(queuePairs) != 1) {
            throw new IllegalArgumentException("--rss spreads over a power of two of queues: -q 2, 4, 8 ...");
        }
        return new PerfQueueOptions(queuePairs, sendDepth, receiveDepth, Math.min(signalInterval, sendDepth),
                Math.min(postList, sendDepth), inlineBytes, events, rss);
    }

    private static void check(int value, int most, String option) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(option + " must be 1 to " + most);
        }
    }
}
