package io.rdmaraw.tools.profile;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a profiler saw of the event loops: call stacks, and how often each was met.
 *
 * @param source which profiler, and what it counts
 */
record Samples(String source, List<Stack> stacks) {
    /** The method in which every loop of Netty runs, whatever its transport. */
    static final String LOOP = "SingleThreadIoEventLoop.run";

    /** What feeds a loop from its own thread, which is no cost of the loop. */
    static final String GENERATOR = "bench.VerbsEndpoint.";

    /** @param frames from the thread's first call to the one that ran */
    record Stack(List<StackFrame> frames, long count) {
        boolean isOfLoop() {
            return frames.stream().anyMatch(frame -> frame.name().endsWith(LOOP))
                    && frames.stream().noneMatch(frame -> frame.name().contains(GENERATOR));
        }
    }

    /**
     * Reads stacks as async-profiler prints them: frames with semicolons between them, then a blank and a count.
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
