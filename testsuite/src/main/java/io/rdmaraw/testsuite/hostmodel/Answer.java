package io.rdmaraw.testsuite.hostmodel;

import java.util.Set;
import java.util.TreeSet;

/**
 * The reaction of one host to a probe.
 *
 * @param delivered the sender as seen by the program, or null if nothing was delivered
 * @param replies   the packets on the wires, without duplicates
 * @param error     the error reported to the program, or null
 */
record Answer(String delivered, Set<Reply> replies, String error) {
    /**
     * A packet sent by the host.
     *
     * @param link    the outgoing link
     * @param nextHop the address of the peer with the destination MAC address
     * @param source  the source IP address
     * @param detail  the MSS of a SYN, the length of a first fragment, or echoed bytes
     */
    record Reply(int link, String nextHop, String source, String detail) implements Comparable<Reply> {
        @Override
        public int compareTo(Reply other) {
            return toString().compareTo(other.toString());
        }

        @Override
        public String toString() {
            return "up" + link + " via " + nextHop + " src " + source + (detail.isEmpty() ? "" : " " + detail);
        }
    }

    Answer {
        replies = new TreeSet<>(replies);
    }

    boolean isAnswered() {
        return !replies.isEmpty();
    }

    @Override
    public String toString() {
        return (delivered == null ? "" : "delivered from " + delivered + "; ")
                + (replies.isEmpty() ? "no packet" : String.join(", ", replies.stream().map(Reply::toString).toList()))
                + (error == null ? "" : "; error " + error);
    }
}
