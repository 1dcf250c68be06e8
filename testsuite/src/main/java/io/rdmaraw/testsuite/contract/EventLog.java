package io.rdmaraw.testsuite.contract;

import java.util.regex.Pattern;

/** Normalizes the events of a channel, so that timing and segmentation have no effect. */
final class EventLog {
    private static final Pattern READS = Pattern.compile("(?<!\\S)(?:(?:r )*c |(?:r )+)+");

    private EventLog() {
    }

    /**
     * Joins consecutive reads: "read" stands for any number of reads with their completions, "readComplete" for a
     * completion without a read.
     */
    static String normalise(String log) {
        String text = log.replaceAll(" +", " ").strip() + ' ';
        String joined = READS.matcher(text).replaceAll(match -> {
            String reads = match.group();
            return !reads.contains("r") ? "readComplete " : reads.endsWith("r ") ? "read-unfinished " : "read ";
        }).strip();
        // NIO completes its read between the two events of a half-closure, epoll does not.
        return joined.replace("readComplete inputShutdownReadComplete", "inputShutdownReadComplete");
    }
}
