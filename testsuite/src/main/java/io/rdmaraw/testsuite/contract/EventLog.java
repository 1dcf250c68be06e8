package io.rdmaraw.testsuite.contract;

import java.util.regex.Pattern;

/** Normalizes the events of a channel, so that timing and segmentation have no effect. */
final class EventLog {
    private static final Pattern READS = Pattern.compile("(?<!\\S)(?:(?:r )*c |(?:r )+)+");
    /** An exception of a program's receive allocator, which throws once. */
    private static final Pattern EXCEPTION = Pattern.compile("!(?:AssertionError|IllegalStateException)");
    private static final Pattern READ_BEHIND_EXCEPTION = Pattern.compile("(" + EXCEPTION
            + ") read(?:Complete)?(?!\\S)");

    /** A read in which a handler has thrown. Its completion follows, possibly behind further messages. */
    private static final Pattern READ_WITH_EXCEPTION = Pattern.compile("(read-unfinished (?:!\\S+ )+)read(?!\\S)");

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
        // The exception ends a read. The segmentation decides whether it has left bytes for another one.
        joined = READ_BEHIND_EXCEPTION.matcher(joined).replaceAll("$1");
        joined = READ_WITH_EXCEPTION.matcher(joined).replaceAll("$1readComplete");
        // NIO completes its read between the two events of a half-closure, epoll does not.
        return joined.replace("readComplete inputShutdownReadComplete", "inputShutdownReadComplete");
    }

    /** Returns whether normalized events contain an exception of the program's receive allocator. */
    static boolean hasAllocatorException(String events) {
        return EXCEPTION.matcher(events).find();
    }

    /** Returns normalized events without reads and without the exception of the program's receive allocator. */
    static String withoutReads(String events) {
        return EXCEPTION.matcher(events).replaceAll("").replaceAll("\\bread(?:Complete|-unfinished)?(?!\\S)", "")
                .replaceAll(" +", " ").strip();
    }
}
