package io.rdmaraw.channel;

import io.netty.channel.unix.SegmentedDatagramPacket;

/**
 * Netty's packets of several datagrams in one buffer. Their class is in a jar that programs need not have; without it
 * there are no such packets.
 */
final class DatagramSegments {
    private static final boolean KNOWN = isClassThere();

    private DatagramSegments() {
    }

    private static boolean isClassThere() {
        try {
            Class.forName("io.netty.channel.unix.SegmentedDatagramPacket", false,
                    DatagramSegments.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Returns the bytes of each datagram but the last, or 0 when the message is one datagram. */
    static int segmentBytes(Object msg) {
        return KNOWN ? Known.segmentBytes(msg) : 0;
    }

    private static final class Known {
        static int segmentBytes(Object msg) {
            return msg instanceof SegmentedDatagramPacket packet ? packet.segmentSize() : 0;
        }
    }
}
