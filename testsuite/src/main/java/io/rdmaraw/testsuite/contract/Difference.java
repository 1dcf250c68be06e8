package io.rdmaraw.testsuite.contract;

import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An observation in which this transport differs from both NIO and epoll in all repetitions.
 *
 * @param rivalsThrew whether the program's receive allocator has thrown in each run of NIO or of epoll
 * @param rivalsEnded whether a loop has ended in each run of NIO and epoll, so that nothing can be compared
 */
record Difference(Program program, String key, Set<String> ours, Set<String> nio, Set<String> epoll,
        boolean rivalsThrew, boolean rivalsEnded) {
    private static final Pattern STEP = Pattern.compile("step([0-9]+)\\..*");
    private static final Pattern CHANNEL = Pattern.compile("(client|accepted)([0-9]+)\\..*");

    @Override
    public String toString() {
        return key + ": nio " + nio + ", epoll " + epoll + ", rdma-raw " + ours;
    }

    /** Returns whether the key is an observation of a kind, such as "received". */
    boolean is(String observation) {
        return kind().endsWith("." + observation) || kind().equals(observation);
    }

    /** Returns whether any value of this transport contains a text. */
    boolean oursHas(String text) {
        return ours.stream().anyMatch(each -> each.contains(text));
    }

    /** Returns whether any value of NIO or epoll contains a text. */
    boolean rivalsHave(String text) {
        return nio.stream().anyMatch(each -> each.contains(text)) || epoll.stream().anyMatch(each -> each.contains(
                text));
    }

    /** Returns the step of an observation such as "step3.promise", or null if the key names no step. */
    Step step() {
        Matcher step = STEP.matcher(key);
        return step.matches() ? program.step(Integer.parseInt(step.group(1))) : null;
    }

    /** Returns the number of the stream channel that the observation or its step belongs to, or -1. */
    int end() {
        Matcher channel = CHANNEL.matcher(key);
        if (channel.matches()) {
            return 2 * Integer.parseInt(channel.group(2)) + (channel.group(1).equals("accepted") ? 1 : 0);
        }
        return switch (step()) {
            case WriteSteps.Write write -> write.end();
            case WriteSteps.Region region -> region.end();
            case StreamSteps.Invoke call when call.end() < Program.DATAGRAM && call.end() >= 0 -> call.end();
            case null, default -> -1;
        };
    }

    /** Returns the kind of the observation, without the number of the channel or step. */
    String kind() {
        return key.replaceAll("[0-9]+", "");
    }
}
