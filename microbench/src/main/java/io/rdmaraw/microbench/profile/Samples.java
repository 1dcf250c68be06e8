package io.rdmaraw.microbench.profile;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The call stacks that a profiler recorded, with their counts.
 *
 * @param source name of the profiler, and its limits if it has any
 */
record Samples(String source, List<Stack> stacks) {
    /** The method in which every event loop of Netty runs, with any transport. */
    static final String LOOP = "SingleThreadIoEventLoop.run";

    /** Package and class of the generator. It runs on the thread of the event loop, but its time must not count. */
    static final String GENERATOR = "frames.VerbsEndpoint.";

    /** @param frames calls from the outermost to the innermost */
    record Stack(List<StackFrame> frames, long count) {
        boolean isOfLoop() {
            return frames.stream().anyMatch(frame -> frame.name().endsWith(LOOP))
                    && frames.stream().noneMatch(frame -> frame.name().contains(GENERATOR));
        }
    }

    /**
     * Parses stacks in the collapsed format of async-profiler. Each line contains frames separated by semicolons, then
     * a space and a count.
     *
     * @param lines lines of the output; lines in any other format are skipped
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
