package io.rdmaraw.microbench.profile;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The call stacks of event loops that a profiler recorded, with their counts.
 *
 * @param source which profiler, and what it counts
 */
record Samples(String source, List<Stack> stacks) {
    /** The method that every event loop of Netty runs in, with any transport. */
    static final String LOOP = "SingleThreadIoEventLoop.run";

    /** The generator that runs on the thread of the event loop; its time is not time of the loop. */
    static final String GENERATOR = "frames.VerbsEndpoint.";

    /** @param frames from the thread's first call to the one that ran */
    record Stack(List<StackFrame> frames, long count) {
        boolean isOfLoop() {
            return frames.stream().anyMatch(frame -> frame.name().endsWith(LOOP))
                    && frames.stream().noneMatch(frame -> frame.name().contains(GENERATOR));
        }
    }

    /**
     * Parses stacks in the collapsed format of async-profiler: frames separated by semicolons, then a space and a
     * count.
     *
     * @param lines any lines that are something else are skipped
     */
    static Samples ofCollapsed(String source, Stream<String> lines) {
        List<Stack> stacks = new ArrayList<>();
        lines.forEach(line -> {
            int blank = line.lastIndexOf(' ');
            if (blank > 0 && line.substring(blank + 1).chars().allMatch(Character::isDigit)) {
                stacks.add(new Stack(Stream.of(line.substring(0, blank).split(";")).map(StackFrame::ofAsyncProfiler)
                        .toList(), Long.parseLong(line.substring(blank + 1))));
            }
        });
        return new Samples(source, stacks);
    }

    Samples ofLoops() {
        return new Samples(source, stacks.stream().filter(Stack::isOfLoop).toList());
    }

    long count() {
        return stacks.stream().mapToLong(Stack::count).sum();
    }
}
