package io.rdmaraw.testsuite.contract;

import java.util.Set;

/** An observation in which this transport differs from both NIO and epoll in all repetitions. */
record Difference(Program program, String key, Set<String> ours, Set<String> nio, Set<String> epoll) {
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

    /** Returns the kind of the observation, without the number of the channel or step. */
    String kind() {
        return key.replaceAll("[0-9]+", "");
    }
}
