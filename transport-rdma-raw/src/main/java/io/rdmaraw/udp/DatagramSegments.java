package io.rdmaraw.udp;

import io.netty.channel.unix.SegmentedDatagramPacket;

/** Support for Netty's packets of several datagrams in one buffer. Their class is in an optional jar. */
final class DatagramSegments {
    private static final boolean AVAILABLE = isClassThere();

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

    /** Returns the size of all datagrams except the last, or 0 if the message is a single datagram. */
    static int segmentBytes(Object msg) {
        return AVAILABLE ? Known.segmentBytes(msg) : 0;
    }

    private static final class Known {
        static int segmentBytes(Object msg) {
            return msg instanceof SegmentedDatagramPacket packet ? packet.segmentSize() : 0;
        }
    }
}
